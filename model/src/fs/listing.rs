//! readdir and seekdir: listings of a directory that changes meanwhile (FS-DIR).
//!
//! An entry is the same entry as long as its number stays; what it names and is called may change. What was there from
//! the first call of a listing to its last is returned once; what was there for a part of it, at most once.

use std::collections::BTreeSet;

use super::{Answer, EntryId, FileSystem, Node, refusal};
use crate::Errno::{EINVAL, ENOTDIR};
use crate::bytes::Bytes;
use crate::outcome::{EntriesPattern, Entry, EntryPattern, Expected};
use crate::values::{FileKind, Handle, InodeId, ProcessId, Time};

/// How far a listing has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Listing {
    /// The entries that were returned, in order, since the handle was opened or put back to the beginning.
    returned: Vec<EntryId>,
    /// The entries that were there at the first call and have been ever since; None before the first call.
    throughout: Option<BTreeSet<EntryId>>,
    /// Every form of an entry since the first call, where a listing need not follow changes; else nothing.
    forms: BTreeSet<Form>,
}

/// An entry as it was at some time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Form {
    id: EntryId,
    name: Bytes,
    inode: InodeId,
    kind: FileKind,
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

    /// Gives the entries that it has returned, and those that are there, other numbers. Not their earlier forms: what is
    /// explored follows changes.
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
            let changed = listing.forms.iter().any(|form| match form.id == dentry.id {
                true => form.name != *name || form.inode != dentry.inode,
                false => form.name == *name,
            });
            let list = if !again && throughout && !changed { &mut due } else { &mut possible };
            list.push(pattern(name, dentry.inode));
        }
        for Form { id, name, inode, kind } in &listing.forms {
            let form = EntryPattern { name: name.clone(), inode: *inode, kind: *kind };
            if !returned.contains(id) && !due.contains(&form) && !possible.contains(&form) {
                possible.push(form);
            }
        }
        EntriesPattern { due, possible, most: count, ordered }
    }

    /// After every call: what has left a directory was not there throughout, also when it comes back.
    pub(super) fn note_departures(&mut self) {
        let Self { inodes, descriptions, profile, .. } = self;
        for description in descriptions.values_mut() {
            let Listing { throughout: Some(throughout), forms, .. } = &mut description.listing else {
                continue;
            };
            let Some(Node::Directory(directory)) = inodes.get(&description.inode).map(|inode| &inode.node)
            else {
                continue;
            };
            let present: BTreeSet<EntryId> = directory.entries.values().map(|dentry| dentry.id).collect();
            throughout.retain(|id| present.contains(id));
            if !profile.listing_follows_changes {
                forms.extend(directory.entries.iter().map(|(name, dentry)| Form {
                    id: dentry.id,
                    name: name.clone(),
                    inode: dentry.inode,
                    kind: inodes[&dentry.inode].kind(),
                }));
            }
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
            listing.forms.clear();
        }
        Ok(Expected::done())
    }

    /// The entries that a call of readdir returned.
    pub(super) fn returned(&mut self, who: ProcessId, handle: Handle, entries: &[Entry]) {
        let Some(inode) = self.descriptions.get(&(who, handle)).map(|description| description.inode) else {
            return;
        };
        let Some(directory) = self.directory(inode) else { return };
        let present = |entry: &Entry| Some(directory.entries.get(&entry.name)?.id);
        let present: Vec<_> = entries.iter().map(present).collect();
        let Listing { returned, forms, .. } = &mut self.description_mut(who, handle).listing;
        for (entry, present) in entries.iter().zip(present) {
            let mut as_it_was =
                forms.iter().filter(|form| form.name == entry.name && !returned.contains(&form.id));
            let id = as_it_was.next().map(|form| form.id).or(present);
            returned.extend(id);
        }
    }
}
