//! One state for all that differ in nothing but the numbers that were given out: what makes a space of states finite.
//!
//! Numbers of inodes and of entries grow for ever. No call names one, and no answer depends on one by itself: numbers of
//! inodes are compared for equality alone, and those of entries with each other, where a later entry has a larger one. So
//! a state and the one that [`FileSystem::canonical`] makes of it answer every sequence of calls alike, up to the same
//! renaming of inodes in the answers, and break the same rules. Whether a number that is gone comes again (FMT-9) is
//! nothing that a state shows.

use super::{EntryId, FileSystem, Node};
use crate::values::InodeId;

impl FileSystem {
    /// The equal state with the smallest numbers.
    ///
    /// Inodes are numbered as they are met: from the root downwards by name, then by handle, then what ".." of removed
    /// directories leads to. Of the numbers of entries is kept:
    ///
    /// * where listings have an order ([`directory_order`](crate::profile::Profile::directory_order)), which of two is
    ///   larger, in the whole state, since a rename takes an entry's number to another directory; and between which two
    ///   of them a place is that a listing has passed, and whose entry is gone.
    /// * where they have none, which entries a listing under way has returned, and which were there throughout.
    ///
    /// Not for profiles whose listings need not follow changes: these remember entries as they were, for ever.
    ///
    /// # Panics
    /// With such a profile.
    #[must_use]
    pub fn canonical(mut self) -> Self {
        assert!(
            self.profile.listing_follows_changes,
            "a state that remembers what was has no canonical form"
        );
        self.forget_parents_of_removed();
        let order = self.inodes_as_met();
        if !order.iter().copied().eq((InodeId::ROOT.0..).map(InodeId).take(order.len())) {
            self.renumber_inodes(&order);
        }
        self.next_inode = InodeId::ROOT.0 + order.len() as u64;
        self.renumber_entries();
        self
    }

    /// Where a removed directory was decides nothing where ".." does not lead there, and may be gone.
    fn forget_parents_of_removed(&mut self) {
        if self.profile.parent_of_removed {
            return;
        }
        for (id, inode) in &mut self.inodes {
            if let (0, Node::Directory(directory)) = (inode.names, &mut inode.node) {
                directory.parent = *id;
            }
        }
    }

    fn inodes_as_met(&self) -> Vec<InodeId> {
        let mut order = Vec::with_capacity(self.inodes.len());
        self.meet(InodeId::ROOT, &mut order);
        for description in self.descriptions.values() {
            self.meet(description.inode, &mut order);
        }
        self.meet_parents(&mut order);
        // A state that breaks a rule may have more.
        for inode in self.inodes.keys() {
            self.meet(*inode, &mut order);
        }
        self.meet_parents(&mut order);
        order
    }

    fn meet_parents(&self, order: &mut Vec<InodeId>) {
        let mut next = 0;
        while let Some(inode) = order.get(next) {
            if let Some(Node::Directory(directory)) = self.inodes.get(inode).map(|inode| &inode.node) {
                self.meet(directory.parent, order);
            }
            next += 1;
        }
    }

    fn meet(&self, inode: InodeId, order: &mut Vec<InodeId>) {
        if order.contains(&inode) {
            return;
        }
        order.push(inode);
        if let Some(Node::Directory(directory)) = self.inodes.get(&inode).map(|inode| &inode.node) {
            for dentry in directory.entries.values() {
                self.meet(dentry.inode, order);
            }
        }
    }

    fn renumber_inodes(&mut self, order: &[InodeId]) {
        let new = |old: InodeId| {
            let place = order.iter().position(|inode| *inode == old).expect("every inode has been met");
            InodeId(InodeId::ROOT.0 + place as u64)
        };
        let renumbered = std::mem::take(&mut self.inodes).into_iter().map(|(id, mut inode)| {
            if let Node::Directory(directory) = &mut inode.node {
                directory.parent = new(directory.parent);
                directory.entries.values_mut().for_each(|dentry| dentry.inode = new(dentry.inode));
            }
            (new(id), inode)
        });
        self.inodes = renumbered.collect();
        for description in self.descriptions.values_mut() {
            description.inode = new(description.inode);
        }
    }

    fn renumber_entries(&mut self) {
        let ordered = self.profile.directory_order;
        let mut ids = Vec::new();
        for inode in self.inodes.values() {
            if let Node::Directory(directory) = &inode.node {
                ids.extend(directory.entries.values().map(|dentry| dentry.id));
            }
        }
        // Elsewhere they are numbered as they are met.
        if ordered {
            ids.sort_unstable();
        }
        // Even, so that there is a number between any two for what is gone.
        let rank = |place: usize| 2 * (place as EntryId + 1);
        let present = |id: EntryId| ids.iter().position(|known| *known == id).map(rank);
        self.next_entry = rank(ids.len());
        let is_changed = ids.iter().copied().ne((0..ids.len()).map(rank));
        if is_changed {
            for inode in self.inodes.values_mut() {
                if let Node::Directory(directory) = &mut inode.node {
                    for dentry in directory.entries.values_mut() {
                        dentry.id = present(dentry.id).expect("it has just been collected");
                    }
                }
            }
        }
        for description in self.descriptions.values_mut() {
            let gone = |id: EntryId| match ordered {
                true => rank(ids.iter().filter(|known| **known < id).count()) - 1,
                false => 0,
            };
            description.listing.renumber(|id| present(id).unwrap_or_else(|| gone(id)), present);
        }
    }
}
