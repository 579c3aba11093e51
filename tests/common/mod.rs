//! What the suites share: a file system in a temporary folder, under a clock that stands still, and
//! short words for the operations.
#![allow(dead_code, reason = "each suite uses a part of it")]

use std::path::PathBuf;
use std::sync::Arc;

use agentfs::types::{Attributes, Caller, Ino, ManualClock, Name, SetAttributes, Target, Timestamp};
use agentfs::vfs::{DirectoryPosition, OpenFlags, RenameFlags, Vfs, WriteFlags};
use agentfs::{AgentFs, Errno, Options, Result};
use tempfile::TempDir;

/// When the clock of a [`Fixture`] starts.
pub const START: Timestamp = Timestamp { seconds: 1_700_000_000, nanoseconds: 123_456_789 };

/// A fresh file system with a root that anyone may write to.
pub struct Fixture {
    pub fs: AgentFs,
    pub clock: ManualClock,
    pub folder: TempDir,
    pub options: Options,
}

impl Fixture {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(adjust: impl FnOnce(&mut Options)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = ManualClock::new(START);
        let mut options = Options::default();
        options.clock = Arc::new(clock.clone());
        adjust(&mut options);
        let fs = AgentFs::create(&folder.path().join("agent.db"), &options).unwrap();
        let changes = SetAttributes { permissions: Some(0o777), ..SetAttributes::default() };
        fs.setattr(&Caller::root(), Ino::ROOT, &changes).unwrap();
        Self { fs, clock, folder, options }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("agent.db")
    }

    /// Closes the file system and opens it again.
    pub fn reopen(self) -> Self {
        let Self { fs, clock, folder, options } = self;
        fs.close().unwrap();
        let fs = AgentFs::open(&folder.path().join("agent.db"), &options).unwrap();
        Self { fs, clock, folder, options }
    }

    /// Closes the file system and opens it for reading only.
    pub fn read_only(mut self) -> Self {
        self.options.read_only = true;
        self.reopen()
    }

    /// Runs a statement as another program could, beside this one.
    pub fn foreign(&self, sql: &str) {
        self.fs.sync().unwrap();
        rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }

    /// What another process would find if this one were killed now: the files are copied to a new
    /// folder while they are in use, and opened there.
    pub fn kill(self) -> Self {
        self.fs.sync().unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["agent.db", "agent.db-wal"] {
            std::fs::copy(self.folder.path().join(name), folder.path().join(name)).unwrap();
        }
        let Self { clock, options, .. } = self;
        let fs = AgentFs::open(&folder.path().join("agent.db"), &options).unwrap();
        Self { fs, clock, folder, options }
    }

    pub fn file(&self, parent: Ino, name: &str, content: &[u8]) -> Attributes {
        let file = self.fs.create(&Caller::root(), parent, n(name), 0o644).unwrap();
        if !content.is_empty() {
            self.fs.write(file.ino, 0, content, WriteFlags::empty()).unwrap();
        }
        self.fs.getattr(file.ino).unwrap()
    }

    pub fn directory(&self, parent: Ino, name: &str) -> Ino {
        self.fs.mkdir(&Caller::root(), parent, n(name), 0o755).unwrap().ino
    }

    pub fn symlink(&self, parent: Ino, name: &str, target: &str) -> Ino {
        let target = Target::new(target.as_bytes()).unwrap();
        self.fs.symlink(&Caller::root(), parent, n(name), target).unwrap().ino
    }

    pub fn lookup(&self, parent: Ino, name: &str) -> Result<Attributes> {
        self.fs.lookup(&Caller::root(), parent, n(name))
    }

    pub fn stat(&self, ino: Ino) -> Attributes {
        self.fs.getattr(ino).unwrap()
    }

    pub fn rename(&self, from: (Ino, &str), to: (Ino, &str), flags: RenameFlags) -> Result<()> {
        self.fs.rename(&Caller::root(), from.0, n(from.1), to.0, n(to.1), flags)
    }

    pub fn unlink(&self, parent: Ino, name: &str) -> Result<()> {
        self.fs.unlink(&Caller::root(), parent, n(name))
    }

    pub fn rmdir(&self, parent: Ino, name: &str) -> Result<()> {
        self.fs.rmdir(&Caller::root(), parent, n(name))
    }

    pub fn chmod(&self, ino: Ino, permissions: u32) {
        let changes = SetAttributes { permissions: Some(permissions), ..SetAttributes::default() };
        self.fs.setattr(&Caller::root(), ino, &changes).unwrap();
    }

    pub fn content(&self, ino: Ino) -> Vec<u8> {
        let size = self.stat(ino).size;
        self.fs.open(&Caller::root(), ino, OpenFlags::READ).unwrap();
        self.fs.read(ino, 0, usize::try_from(size).unwrap()).unwrap()
    }

    pub fn names(&self, directory: Ino) -> Vec<String> {
        let entries = self.fs.readdir(directory, DirectoryPosition::START, usize::MAX, false).unwrap();
        let mut names: Vec<_> =
            entries.into_iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect();
        names.sort();
        names
    }

    /// Counts rows with a query of its own, as any program with SQLite could.
    pub fn count(&self, sql: &str) -> i64 {
        self.fs.sync().unwrap();
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = rusqlite::Connection::open_with_flags(self.path(), flags).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

/// A name that is valid.
pub fn n(name: &str) -> Name<'_> {
    Name::new(name.as_bytes()).unwrap()
}

/// The errno of an operation that must fail.
#[track_caller]
pub fn errno<T: std::fmt::Debug>(outcome: Result<T>) -> Errno {
    outcome.expect_err("the operation must be refused").errno()
}
