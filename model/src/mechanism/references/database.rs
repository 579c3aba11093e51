//! The rows that matter here: entries, inodes, and the list of inodes that outlived their names (`ext_orphan`).
//!
//! An inode's rows come and go together here. The real ones of a large file go in several steps, of which the row in
//! the list goes last; what is left between two of them is an inode without a name that is still listed, as before
//! the first.

use super::inode::{Ino, Inodes, Name};

/// The database, as one process sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Database {
    /// What each name names.
    pub names: [Option<Ino>; Name::ALL.len()],
    /// Inodes that have their rows.
    pub rows: Inodes,
    /// Inodes in the list, where there is one.
    pub listed: Inodes,
    /// Whether there is a list; programs that know the core tables alone keep none.
    pub has_list: bool,
    /// How many numbers were given out.
    pub numbers: u8,
}

impl Database {
    /// As made by `agentfs init`: the root and the list.
    pub(super) fn new() -> Self {
        Self {
            names: [None; 2],
            rows: Inodes::only(Ino::ROOT),
            listed: Inodes::default(),
            has_list: true,
            numbers: 0,
        }
    }

    /// As left by a program without a list that was killed: one file with a name, one without.
    pub(super) fn foreign() -> Self {
        let (named, nameless) = (Ino::file(0), Ino::file(1));
        Self {
            names: [Some(named), None],
            rows: [Ino::ROOT, named, nameless].into_iter().collect(),
            listed: Inodes::default(),
            has_list: false,
            numbers: 2,
        }
    }

    /// What `name` names.
    #[must_use]
    pub fn named(&self, name: Name) -> Option<Ino> {
        self.names[name as usize]
    }

    /// Whether an entry names `ino`.
    #[must_use]
    pub fn has_name(&self, ino: Ino) -> bool {
        self.names.contains(&Some(ino))
    }

    /// Inodes that an entry names.
    #[must_use]
    pub fn with_names(&self) -> Inodes {
        self.names.into_iter().flatten().collect()
    }

    /// Files whose rows are there without a name.
    #[must_use]
    pub fn nameless(&self) -> Inodes {
        self.rows.without(self.with_names()).without(Inodes::only(Ino::ROOT))
    }

    pub(super) fn set_name(&mut self, name: Name, ino: Option<Ino>) {
        self.names[name as usize] = ino;
    }

    /// A new inode with its name.
    pub(super) fn add(&mut self, name: Name, ino: Ino) {
        self.numbers = ino.position();
        self.rows.put(ino);
        self.set_name(name, Some(ino));
    }

    /// `remove_rows`.
    pub(super) fn remove(&mut self, ino: Ino) {
        self.rows.take(ino);
        self.listed.take(ino);
    }
}
