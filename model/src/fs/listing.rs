//! readdir and seekdir: listings of a directory that changes meanwhile (FS-DIR).
//!
//! An entry is the same entry as long as its number stays; what it names and is called may change. What was there from
//! the first call of a listing to its last is returned once; what was there for a part of it, at most once.

use std::collections::BTreeSet;

use super::{Answer, EntryId, FileSystem, Node, refusal};
use crate::Errno::{EINVAL, ENOTDIR};
use crate::bytes::Bytes;
use crate::outcome::{EntriesPattern, Entry, EntryPattern, Expected};
use crate::values::{Handle, InodeId, ProcessId, Time};

/// How far a listing has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Listing {
    /// The entries that were returned, in order, since the handle was opened or put back to the beginning.
    returned: Vec<EntryId>,
    /// The entries that were there at the first call and have been ever since; None before the first call.
    throughout: Option<BTreeSet<EntryId>>,
}

impl Listing {
    /// How many entries were returned.
    #[must_use]
    pub fn length(&self) -> usize {
        self.returned.len()
    }

    /// Whether it stands anywhere but at its beginning.
    pub(super) const fn has_begun(&self) -> bool {
        self.throughout.is_some()
    }

    /// Gives the entries that it has returned, and those that are there, other numbers.
    pub(super) fn renumber(
        &mut self,
        returned: impl Fn(EntryId) -> EntryId,
        present: impl Fn(EntryId) -> Option<EntryId>,
    ) {
        self.returned.iter_mut().for_each(|id| *id = returned(*id));
        if let Some(throughout) = &mut self.throughout {
            *throughout = throughout.iter().filter_map(|id| present(*id)).collect();
        }
    }
}

impl FileSystem {
    pub(super) fn readdir(&mut self, who: ProcessId, handle: Handle, count: u32, now: Time) -> Answer {
        let inode = self.description(who, handle)?.inode;
        let directory = self.directory(inode).ok_or(refusal(ENOTDIR, "FS-DIR-7"))?;
        let present = directory.entries.values().map(|dentry| dentry.id).collect();
        self.description_mut(who, handle).listing.throughout.get_or_insert(present);
        let pattern = self.entries_pattern(who, handle, inode, count);
        // Of a removed directory the kernel does not ask.
        if !(self.profile.kernel && self.is_removed(inode)) {
            self.accessed(inode, now);
        }
        Ok(Expected::Entries(pattern))
    }

    fn entries_pattern(
        &self,
        who: ProcessId,
        handle: Handle,
        directory: InodeId,
        count: u32,
    ) -> EntriesPattern {
        let listing = &self.descriptions[&(who, handle)].listing;
        let pattern = |name: &Bytes, inode: InodeId| EntryPattern {
            name: name.clone(),
            inode,
            kind: self.inodes[&inode].kind(),
        };
        let ordered = self.profile.directory_order;
        let position = listing.returned.last().copied().filter(|_| ordered).unwrap_or_default();
        let returned: BTreeSet<EntryId> = listing.returned.iter().copied().collect();
        let entries = self.directory(directory).into_iter().flat_map(|directory| &directory.entries);
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|(_, dentry)| dentry.id);
        let (mut due, mut possible) = (Vec::new(), Vec::new());
        for (name, dentry) in entries {
            let again = returned.contains(&dentry.id);
            let throughout = listing.throughout.as_ref().is_some_and(|ids| ids.contains(&dentry.id));
            // Where there is an order, nothing comes once its place has been passed.
            if (again && self.profile.stable_positions) || (!throughout && dentry.id < position) {
                continue;
            }
            let list = if !again && throughout { &mut due } else { &mut possible };
            list.push(pattern(name, dentry.inode));
        }
        EntriesPattern { due, possible, most: count, ordered }
    }

    /// After every call: what has left a directory was not there throughout, also when it comes back.
    pub(super) fn note_departures(&mut self) {
        let Self { inodes, descriptions, .. } = self;
        for description in descriptions.values_mut() {
            let Some(throughout) = &mut description.listing.throughout else { continue };
            let Some(Node::Directory(directory)) = inodes.get(&description.inode).map(|inode| &inode.node)
            else {
                continue;
            };
            let present: BTreeSet<EntryId> = directory.entries.values().map(|dentry| dentry.id).collect();
            throughout.retain(|id| present.contains(id));
        }
    }

    /// FS-DIR-4: any position that the handle has returned.
    pub(super) fn seekdir(&mut self, who: ProcessId, handle: Handle, after: u32) -> Answer {
        let inode = self.description(who, handle)?.inode;
        if self.directory(inode).is_none() {
            return Err(refusal(ENOTDIR, "FS-DIR-7"));
        }
        let listing = &mut self.description_mut(who, handle).listing;
        let after = after as usize;
        if after > listing.returned.len() {
            return Err(refusal(EINVAL, "CALL-8"));
        }
        listing.returned.truncate(after);
        if after == 0 {
            listing.throughout = None;
        }
        Ok(Expected::done())
    }

    /// The entries that a call of readdir returned.
    pub(super) fn returned(&mut self, who: ProcessId, handle: Handle, entries: &[Entry]) {
        let Some(inode) = self.descriptions.get(&(who, handle)).map(|description| description.inode) else {
            return;
        };
        let Some(directory) = self.directory(inode) else { return };
        let ids: Vec<EntryId> =
            entries.iter().filter_map(|entry| Some(directory.entries.get(&entry.name)?.id)).collect();
        self.description_mut(who, handle).listing.returned.extend(ids);
    }
}
