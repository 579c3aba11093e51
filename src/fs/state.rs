//! What a file system remembers beside the database: references, and answers that are dear to find.
//!
//! Keeps FS-REAP-1, FS-REAP-12, FS-NLINK-2, FS-NLINK-6, FS-DIR-3 and FS-DIR-8. Apart from the references, which
//! only the holders know, and what is remembered of lost groups, all of it can be found again in the database, and is
//! dropped whenever another connection has changed it.

use std::collections::{HashMap, HashSet};

use super::dentry;
use super::inode::Inode;
use super::losses::Losses;
use crate::error::{Errno, Result};
use crate::store::{EndedGroups, Extension, Session};
use crate::types::{Ino, Name, Timestamp};

/// Entries past which a map of remembered answers is emptied, or thinned out.
const REMEMBERED: usize = 65536;
/// Entries past which the subdirectories of a directory are not counted: each costs a look at an inode.
const COUNTED_ENTRIES: u32 = 10_000;
/// Directories whose positions are kept: as many listings may go on at once without finding them anew.
const LISTINGS: usize = 16;
/// Positions kept at most beside those of the present listing, 8 bytes each.
const KEPT_POSITIONS: usize = 1 << 20;

#[derive(Default)]
pub(super) struct State {
    /// References handed out and not given back.
    references: HashMap<Ino, u64>,
    /// Inodes without a name that somebody still refers to.
    pub(super) orphans: HashSet<Ino>,
    /// Reads that moved an access time which is not stored yet.
    pub(super) pending_atimes: HashMap<Ino, Timestamp>,
    /// None for a directory that is too large to be counted.
    subdirectories: HashMap<Ino, Option<u32>>,
    /// Where a directory was last seen; checked before it is believed.
    places: HashMap<Ino, (Ino, Vec<u8>)>,
    /// Places past which those that nobody refers to are dropped, when that is more than [`REMEMBERED`].
    most_places: usize,
    listings: Vec<(Ino, Vec<i64>)>,
    pub(super) entries: Option<u64>,
    pub(super) xattrs: Option<Extension>,
    foreign_changes: u64,
    pub(super) losses: Losses,
    last_number: Option<Ino>,
    /// A group was lost, and with it perhaps what the database knew of numbers given out.
    numbers_lost: bool,
    /// The first number that was given out in the group that is open.
    first_in_group: Option<Ino>,
    /// Inodes that were lost with their group, while somebody refers to them. Another process may have been given
    /// their numbers since.
    lost_inodes: HashSet<Ino>,
    /// What the present operation has handed out a reference on.
    handed_out: Option<Ino>,
}

impl State {
    /// Drops what another connection may have made wrong. True when there was a change.
    pub(super) fn revalidate(&mut self, session: &Session<'_>) -> bool {
        if self.foreign_changes == session.foreign_changes() {
            return false;
        }
        self.foreign_changes = session.foreign_changes();
        self.subdirectories.clear();
        self.listings.clear();
        self.entries = None;
        self.xattrs = None;
        true
    }

    pub(super) fn retain(&mut self, ino: Ino) {
        if ino != Ino::ROOT {
            *self.references.entry(ino).or_default() += 1;
        }
    }

    /// Takes the reference that the present operation hands out.
    pub(super) fn hand_out(&mut self, ino: Ino) {
        self.retain(ino);
        self.handed_out = Some(ino);
    }

    /// An operation begins.
    pub(super) fn begin(&mut self) {
        self.handed_out = None;
    }

    /// The operation failed, perhaps only with its group: its caller will give nothing back.
    pub(super) fn take_back(&mut self) {
        if let Some(ino) = self.handed_out.take() {
            self.release(ino, 1);
        }
    }

    /// Gives references back; true when that was the last.
    pub(super) fn release(&mut self, ino: Ino, count: u64) -> bool {
        let Some(held) = self.references.get_mut(&ino) else { return false };
        *held = held.saturating_sub(count);
        if *held > 0 {
            return false;
        }
        self.references.remove(&ino);
        self.lost_inodes.remove(&ino);
        true
    }

    pub(super) fn release_all(&mut self) {
        self.references.clear();
        self.lost_inodes.clear();
    }

    /// Whether somebody has this number from an inode that was lost, and must not take another for it.
    pub(super) fn is_lost(&self, ino: Ino) -> bool {
        self.lost_inodes.contains(&ino)
    }

    pub(super) fn is_referenced(&self, ino: Ino) -> bool {
        self.references.contains_key(&ino)
    }

    pub(super) fn referenced(&self) -> usize {
        self.references.len()
    }

    /// The number of subdirectories of a directory, or None when it would take long to count them.
    pub(super) fn subdirectories(&mut self, session: &Session<'_>, directory: Ino) -> Result<Option<u32>> {
        if let Some(&known) = self.subdirectories.get(&directory) {
            return Ok(known);
        }
        let few = dentry::count_up_to(session, directory, COUNTED_ENTRIES + 1)? <= COUNTED_ENTRIES;
        let count = if few { Some(dentry::count_subdirectories(session, directory)?) } else { None };
        self.note_subdirectories(directory, count);
        Ok(count)
    }

    /// A directory has just been made.
    pub(super) fn note_new_directory(&mut self, directory: Ino) {
        self.note_subdirectories(directory, Some(0));
    }

    fn note_subdirectories(&mut self, directory: Ino, count: Option<u32>) {
        if self.subdirectories.len() >= REMEMBERED {
            self.subdirectories.clear();
        }
        self.subdirectories.insert(directory, count);
    }

    /// A subdirectory was added to (1) or taken from (-1) `directory`.
    pub(super) fn adjust_subdirectories(&mut self, directory: Ino, by: i32) {
        if let Some(Some(count)) = self.subdirectories.get_mut(&directory) {
            *count = count.saturating_add_signed(by);
        }
    }

    /// Remembers where a directory is.
    pub(super) fn note_place(&mut self, inode: &Inode, parent: Ino, name: Name<'_>) {
        if !inode.mode.is_directory() {
            return;
        }
        if let Some((known, known_name)) = self.places.get(&inode.ino)
            && *known == parent
            && known_name == name.as_bytes()
        {
            return;
        }
        self.insert_place(inode.ino, parent, name.as_bytes().to_vec());
    }

    fn insert_place(&mut self, directory: Ino, parent: Ino, name: Vec<u8>) {
        if self.places.len() >= self.most_places.max(REMEMBERED) {
            // Who refers to a directory asks for it again, and finding it anew is a search of all entries.
            self.places.retain(|directory, _| self.references.contains_key(directory));
            self.most_places = 2 * self.places.len();
        }
        self.places.insert(directory, (parent, name));
    }

    /// The parent of a directory: the root's is the root.
    ///
    /// # Errors
    /// ENOENT when it has none.
    pub(super) fn parent(&mut self, session: &Session<'_>, directory: Ino) -> Result<Ino> {
        if directory == Ino::ROOT {
            return Ok(Ino::ROOT);
        }
        if let Some((parent, name)) = self.places.get(&directory)
            && let Ok(name) = Name::new(name)
            && dentry::find(session, *parent, name)?.is_some_and(|found| found.ino == directory)
        {
            return Ok(*parent);
        }
        let (parent, name) = dentry::locate(session, directory)?.ok_or(Errno::ENOENT)?;
        self.insert_place(directory, parent, name);
        Ok(parent)
    }

    /// The positions of a directory's entries that follow `after`, at most `limit`.
    ///
    /// Found anew when a listing starts, and kept while it goes on and after its end. Entries that
    /// come meanwhile stay unseen until the next start, so that a listing ends also when each entry
    /// that it shows makes another; entries that go are skipped when they are read.
    pub(super) fn positions(
        &mut self,
        session: &Session<'_>,
        directory: Ino,
        after: i64,
        limit: usize,
    ) -> Result<Vec<i64>> {
        let kept = self.listings.iter().position(|(listed, _)| *listed == directory);
        let positions = match kept.map(|index| self.listings.remove(index)) {
            Some((_, positions)) if after > 0 => positions,
            _ => dentry::positions(session, directory)?,
        };
        let start = positions.partition_point(|&position| position <= after);
        let end = positions.len().min(start.saturating_add(limit));
        let batch = positions[start..end].to_vec();
        self.listings.insert(0, (directory, positions));
        let mut kept = 0;
        self.listings.truncate(LISTINGS);
        self.listings.retain(|(listed, positions)| {
            kept += positions.len();
            *listed == directory || kept <= KEPT_POSITIONS
        });
        Ok(batch)
    }

    /// Takes over what became of the groups before the next operation joins one.
    pub(super) fn settle(&mut self, ended: &EndedGroups) {
        let settled = self.losses.settle(ended);
        self.numbers_lost |= settled.lost;
        if settled.own_lost {
            self.lose_inodes();
        }
        if settled.own_ended {
            self.first_in_group = None;
        }
    }

    /// The group in which numbers were given out is lost.
    fn lose_inodes(&mut self) {
        let Some(first) = self.first_in_group.take() else { return };
        let lost: Vec<Ino> = self.references.keys().copied().filter(|&ino| ino >= first).collect();
        for ino in lost {
            self.forget_inode(ino);
            self.lost_inodes.insert(ino);
        }
    }

    /// Remembers a number that was given to a new inode.
    pub(super) fn note_number(&mut self, ino: Ino) {
        self.last_number = self.last_number.max(Some(ino));
        self.first_in_group.get_or_insert(ino);
    }

    /// The largest number given out, when the database may have forgotten it with a lost group.
    pub(super) fn lost_number(&self) -> Option<Ino> {
        self.last_number.filter(|_| self.numbers_lost)
    }

    pub(super) fn touch(&mut self, inos: impl IntoIterator<Item = Ino>) {
        self.losses.touch(inos);
    }

    pub(super) fn forget_inode(&mut self, ino: Ino) {
        self.orphans.remove(&ino);
        self.pending_atimes.remove(&ino);
        self.subdirectories.remove(&ino);
        self.places.remove(&ino);
        self.listings.retain(|(directory, _)| *directory != ino);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::types::Options;

    // spec: FS-LOOKUP-3
    #[test]
    fn the_place_of_a_directory_that_somebody_refers_to_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("agent.db"), &Options::default()).unwrap();
        let root = store.read(|session| Inode::load(session, Ino::ROOT)).unwrap();
        let mut state = State::default();
        let referenced = 2..1000;
        referenced.clone().for_each(|ino| state.retain(Ino(ino)));
        for ino in 2..4 * REMEMBERED as u64 {
            state.note_place(&Inode { ino: Ino(ino), ..root }, Ino::ROOT, Name::new(b"d").unwrap());
        }
        assert!(referenced.clone().all(|ino| state.places.contains_key(&Ino(ino))));
        assert!(state.places.len() <= REMEMBERED);
    }
}
