//! What a kernel keeps of each process: its umask and its open file descriptions.
//!
//! Keeps PATH-14: the reference that an open file needs is given back when it is closed.

use std::collections::BTreeMap;

use agentfs_model::call::OpenFlags;
use agentfs_model::values::{Credentials, Handle, ProcessId};

use crate::error::{Errno, Result};
use crate::types::{Caller, Gid, Ino, Uid};
use crate::vfs::DirectoryPosition;

/// References that handles need, by inode: several handles may stand on one.
#[derive(Default)]
pub(super) struct References(BTreeMap<Ino, u64>);

impl References {
    pub(super) fn contains(&self, ino: Ino) -> bool {
        self.0.contains_key(&ino)
    }

    /// One more is held.
    pub(super) fn add(&mut self, ino: Ino) {
        *self.0.entry(ino).or_default() += 1;
    }

    /// No handle needs the inode any more: how many are to be given back.
    pub(super) fn take(&mut self, ino: Ino) -> u64 {
        self.0.remove(&ino).unwrap_or_default()
    }

    /// What was held has ended with the file system.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// An open file description.
#[derive(Clone, Debug)]
pub(super) struct Description {
    /// What is open; a reference on it is held.
    pub(super) ino: Ino,
    /// How it was opened.
    pub(super) flags: OpenFlags,
    /// Where the next read or write is.
    pub(super) offset: u64,
    /// The positions of the entries that a listing has returned since it was opened.
    pub(super) returned: Vec<DirectoryPosition>,
}

impl Description {
    pub(super) const fn new(ino: Ino, flags: OpenFlags) -> Self {
        Self { ino, flags, offset: 0, returned: Vec::new() }
    }
}

/// The processes and their handles.
#[derive(Default)]
pub(super) struct Processes {
    callers: Vec<Caller>,
    open: BTreeMap<(ProcessId, Handle), Description>,
}

impl Processes {
    pub(super) fn new(processes: &[Credentials]) -> Self {
        let caller = |credentials: &Credentials| Caller {
            uid: Uid(credentials.uid),
            gid: Gid(credentials.gid),
            groups: credentials.groups.iter().copied().map(Gid).collect(),
            umask: 0o022,
            authorized: false,
        };
        Self { callers: processes.iter().map(caller).collect(), open: BTreeMap::new() }
    }

    pub(super) fn contains(&self, who: ProcessId) -> bool {
        usize::from(who.0) < self.callers.len()
    }

    /// On whose behalf a call of `who` runs.
    pub(super) fn caller(&self, who: ProcessId) -> &Caller {
        &self.callers[usize::from(who.0)]
    }

    pub(super) fn set_umask(&mut self, who: ProcessId, mask: u32) {
        self.callers[usize::from(who.0)].umask = mask & 0o777;
    }

    pub(super) fn description(&self, who: ProcessId, handle: Handle) -> Result<&Description> {
        Ok(self.open.get(&(who, handle)).ok_or(Errno::EBADF)?)
    }

    pub(super) fn description_mut(&mut self, who: ProcessId, handle: Handle) -> Result<&mut Description> {
        Ok(self.open.get_mut(&(who, handle)).ok_or(Errno::EBADF)?)
    }

    /// The inode of a handle that was opened for all of `needed`.
    pub(super) fn opened_for(&self, who: ProcessId, handle: Handle, needed: OpenFlags) -> Result<Ino> {
        let description = self.description(who, handle)?;
        if description.flags.contains(needed) { Ok(description.ino) } else { Err(Errno::EBADF.into()) }
    }

    pub(super) fn is_open(&self, who: ProcessId, handle: Handle) -> bool {
        self.open.contains_key(&(who, handle))
    }

    pub(super) fn insert(&mut self, who: ProcessId, handle: Handle, description: Description) {
        self.open.insert((who, handle), description);
    }

    /// What is open, once for each handle.
    pub(super) fn open_inodes(&self) -> impl Iterator<Item = Ino> {
        self.open.values().map(|description| description.ino)
    }

    /// Whether any process has the inode open.
    pub(super) fn has_open(&self, ino: Ino) -> bool {
        self.open.values().any(|description| description.ino == ino)
    }

    pub(super) fn remove(&mut self, who: ProcessId, handle: Handle) -> Result<Description> {
        Ok(self.open.remove(&(who, handle)).ok_or(Errno::EBADF)?)
    }

    /// Forgets every handle; their references end with the file system.
    pub(super) fn close_all(&mut self) {
        self.open.clear();
    }
}
