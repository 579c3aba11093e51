//! readdir and seekdir: listings of a directory that changes meanwhile (FS-DIR).
//!
//! An entry is the same entry as long as its number stays; what it names and is called may change. What was there from
//! the first call of a listing to its last is returned once; what was there for a part of it, at most once.

use std::collections::BTreeSet;

use super::{Answer, EntryId, FileSystem, refusal};
use crate::Errno::{EINVAL, ENOTDIR};
use crate::bytes::Bytes;
use crate::outcome::{EntriesPattern, Entry, EntryPattern, Expected};
use crate::values::{Handle, InodeId, ProcessId, Time};

/// How far a listing has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Listing {
    /// The entries that were returned, in order, since the handle was opened or put back to the beginning.
    returned: Vec<EntryId>,
    /// The number that the next new entry had when the first call was made: older entries were there then.
    began: Option<EntryId>,
}

impl Listing {
    /// How many entries were returned.
    #[must_use]
    pub fn length(&self) -> usize {
        self.returned.len()
    }

    /// Whether it stands anywhere but at its beginning.
    pub(super) const fn has_begun(&self) -> bool {
        self.began.is_some()
    }
}

impl FileSystem {
    pub(super) fn readdir(&mut self, who: ProcessId, handle: Handle, count: u32, now: Time) -> Answer {
        let next_entry = self.next_entry;
        let inode = self.description(who, handle)?.inode;
        if self.directory(inode).is_none() {
            return Err(refusal(ENOTDIR, "FS-DIR-7"));
        }
        self.description_mut(who, handle).listing.began.get_or_insert(next_entry);
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
        let entries = self.directory(directory).into_iter().flat_map(|directory| &directory.entries);
        if self.profile.directory_order {
            let position = listing.returned.last().copied().unwrap_or_default();
            let mut after: Vec<_> = entries.filter(|(_, dentry)| dentry.id > position).collect();
            after.sort_by_key(|(_, dentry)| dentry.id);
            let due =
                after.into_iter().take(count as usize).map(|(name, dentry)| pattern(name, dentry.inode));
            return EntriesPattern { due: due.collect(), possible: Vec::new(), most: count, ordered: true };
        }
        let returned: BTreeSet<EntryId> = listing.returned.iter().copied().collect();
        let began = listing.began.unwrap_or_default();
        let (mut due, mut possible) = (Vec::new(), Vec::new());
        for (name, dentry) in entries {
            let again = returned.contains(&dentry.id);
            if again && self.profile.stable_positions {
                continue;
            }
            let list = if !again && dentry.id < began { &mut due } else { &mut possible };
            list.push(pattern(name, dentry.inode));
        }
        EntriesPattern { due, possible, most: count, ordered: false }
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
            listing.began = None;
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
