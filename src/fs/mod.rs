//! The file system over the store: [`AgentFs`], the implementation of [`Vfs`] that SPEC.md's chapter
//! FS describes.
//!
//! Every operation runs under the lock of [`State`] and inside one store operation, so that it sees
//! and leaves a consistent whole. Lock order: `state`, then the store's own. Barriers take `state`
//! only for a moment, never while they wait for the disk.

mod attributes;
mod chunk;
mod content;
#[cfg(test)]
mod content_tests;
mod dentry;
mod directory;
mod extent;
mod file;
mod inode;
mod losses;
mod namespace;
mod permission;
mod put;
mod reap;
mod rename;
mod state;
mod statistics;
mod xattr;

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::{Errno, Error, Result};
use crate::kv::Kv;
use crate::store::{Session, Store};
use crate::tools::Tools;
use crate::types::{
    Access, AtimePolicy, Attributes, Caller, Clock, Ino, Mode, Name, Options, SetAttributes, Target,
    Timestamp,
};
use crate::vfs::paths::Paths;
use crate::vfs::{
    DirectoryEntry, DirectoryPosition, FallocateMode, FilesystemStatistics, NodeSpec, OpenFlags, RenameFlags,
    SeekTo, Vfs, WriteFlags, XattrMode,
};
use content::{Content, MAX_FILE_BYTES};
use inode::Inode;
use losses::Concern;
use state::State;

/// Pending access times past which they are stored without waiting for a barrier.
const PENDING_ATIMES: usize = 4096;

/// An agent's file system, key-value state and tool-call log, in one SQLite file.
///
/// ```
/// use agentfs::types::Caller;
/// use agentfs::{AgentFs, Options};
///
/// # fn main() -> agentfs::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
/// let paths = fs.paths(Caller::root());
/// paths.write("/notes/today.md", b"buy milk")?;
/// assert_eq!(paths.read("/notes/today.md")?, b"buy milk");
/// fs.close()
/// # }
/// ```
pub struct AgentFs {
    store: Store,
    atime: AtimePolicy,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

/// One operation while it runs.
struct Operation<'a> {
    session: &'a Session<'a>,
    state: &'a mut State,
    fs: &'a AgentFs,
    now: Timestamp,
    /// Whether the disk has room for what the operation adds.
    room: bool,
}

impl AgentFs {
    /// Makes a new database and opens it.
    ///
    /// # Errors
    /// As [`Store::create`].
    pub fn create(path: &Path, options: &Options) -> Result<Self> {
        Ok(Self::over(Store::create(path, options)?, options))
    }

    /// Opens an existing database; it is neither migrated nor reconfigured.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open(path: &Path, options: &Options) -> Result<Self> {
        Ok(Self::over(Store::open(path, options)?, options))
    }

    fn over(store: Store, options: &Options) -> Self {
        Self {
            store,
            atime: if options.read_only { AtimePolicy::Never } else { options.atime },
            clock: Arc::clone(&options.clock),
            state: Mutex::new(State::default()),
        }
    }

    /// The store below.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The key-value state.
    #[must_use]
    pub fn kv(&self) -> Kv<'_> {
        Kv::new(&self.store, &*self.clock)
    }

    /// The log of tool calls.
    #[must_use]
    pub fn tools(&self) -> Tools<'_> {
        Tools::new(&self.store)
    }

    /// The files by path, as `caller`.
    #[must_use]
    pub fn paths(&self, caller: Caller) -> Paths<'_> {
        Paths::new(self, caller)
    }

    /// Inodes that somebody refers to; 0 when every reference has been given back.
    #[must_use]
    pub fn referenced_inodes(&self) -> usize {
        self.state.lock().referenced()
    }

    /// Ends every reference, makes everything durable and closes the database, leaving a single
    /// file (OPEN-9).
    ///
    /// # Errors
    /// EIO or ENOSPC when earlier operations could not be kept.
    pub fn close(self) -> Result<()> {
        if self.store.is_read_only() {
            return self.store.close();
        }
        let released = self.release_all();
        let synced = self.sync();
        released.and(synced).and(self.store.close())
    }

    /// Closes the database under those who still use the file system, as [`close`](Self::close) does;
    /// what they do after it fails with EBADF. Inodes without names are left to the next mount.
    ///
    /// # Errors
    /// EIO or ENOSPC when earlier operations could not be kept.
    pub fn shut_down(&self) -> Result<()> {
        let synced = if self.store.is_read_only() { Ok(()) } else { self.sync() };
        synced.and(self.store.shut_down())
    }

    fn read_operation<T>(&self, run: impl FnOnce(&mut Operation<'_>) -> Result<T>) -> Result<T> {
        let mut state = self.state.lock();
        let waited = state.pending_atimes.len();
        let outcome = self.store.read(|session| run(&mut self.operation(session, &mut state, true)));
        let waiting = state.pending_atimes.len();
        // When they cannot be stored now, reading goes on until as many more wait.
        let full = waiting > waited && waiting.is_multiple_of(PENDING_ATIMES);
        drop(state);
        if full && let Err(error) = self.mutate(|_| Ok(())) {
            // The read itself is done; a barrier will try again.
            tracing::warn!(%error, "access times could not be stored");
        }
        outcome
    }

    fn mutate<T>(&self, run: impl FnOnce(&mut Operation<'_>) -> Result<T>) -> Result<T> {
        self.mutate_with(true, run)
    }

    fn mutate_with<T>(&self, room: bool, run: impl FnOnce(&mut Operation<'_>) -> Result<T>) -> Result<T> {
        let mut state = self.state.lock();
        if self.store.is_read_only() {
            // For the errors that come before EROFS; the connection refuses to write in any case.
            return self.store.read(|session| run(&mut self.operation(session, &mut state, room)));
        }
        state.begin();
        let outcome = self.store.mutate(|session| {
            let mut operation = self.operation(session, &mut state, room);
            let outcome = run(&mut operation)?;
            operation.store_access_times()?;
            Ok(outcome)
        });
        if outcome.is_err() {
            state.take_back();
        }
        outcome
    }

    fn operation<'a>(&'a self, session: &'a Session<'a>, state: &'a mut State, room: bool) -> Operation<'a> {
        state.settle(session.ended_groups());
        state.revalidate(session);
        Operation { session, state, fs: self, now: self.clock.now(), room }
    }

    /// A mutation that adds at most about `bytes`: refused before the disk is full, by
    /// [`Operation::check_room`].
    fn grow<T>(&self, bytes: u64, run: impl FnOnce(&mut Operation<'_>) -> Result<T>) -> Result<T> {
        let room = match self.store.is_read_only() {
            true => Ok(()),
            false => self.store.reserve_space(bytes),
        };
        match room {
            Ok(()) => self.mutate_with(true, run),
            // Every other reason to refuse it comes first.
            Err(Error::Posix(Errno::ENOSPC)) => self.mutate_with(false, run),
            Err(error) => Err(error),
        }
    }
}

impl Operation<'_> {
    fn inode(&self, ino: Ino) -> Result<Inode> {
        if self.state.is_lost(ino) {
            return Err(Errno::ENOENT.into());
        }
        Inode::load(self.session, ino)
    }

    /// EROFS in a database that is opened read-only.
    fn check_writable(&self) -> Result<()> {
        if self.fs.store.is_read_only() { Err(Errno::EROFS.into()) } else { Ok(()) }
    }

    /// ENOSPC when what the operation adds could fill the disk.
    fn check_room(&self) -> Result<()> {
        if self.room { Ok(()) } else { Err(Errno::ENOSPC.into()) }
    }

    fn content(&self, inode: &Inode) -> Content<'_> {
        Content::new(self.session, self.fs.store.configuration(), inode.ino, inode.shape())
    }
}

impl Vfs for AgentFs {
    fn lookup(&self, caller: &Caller, parent: Ino, name: Name<'_>) -> Result<Attributes> {
        self.read_operation(|operation| operation.lookup(caller, parent, name))
    }

    fn parent(&self, directory: Ino) -> Result<Ino> {
        self.read_operation(|operation| {
            if !operation.inode(directory)?.mode.is_directory() {
                return Err(Errno::ENOTDIR.into());
            }
            operation.state.parent(operation.session, directory)
        })
    }

    fn forget(&self, ino: Ino, count: u64) {
        self.release(ino, count);
    }

    fn getattr(&self, ino: Ino) -> Result<Attributes> {
        self.read_operation(|operation| {
            let inode = operation.inode(ino)?;
            operation.attributes(&inode)
        })
    }

    fn setattr(&self, caller: &Caller, ino: Ino, changes: &SetAttributes) -> Result<Attributes> {
        self.mutate(|operation| operation.setattr(caller, ino, changes))
    }

    fn readlink(&self, ino: Ino) -> Result<Vec<u8>> {
        self.read_operation(|operation| operation.readlink(ino))
    }

    fn access(&self, caller: &Caller, ino: Ino, access: Access) -> Result<()> {
        self.read_operation(|operation| operation.access(caller, ino, access))
    }

    fn create(&self, caller: &Caller, parent: Ino, name: Name<'_>, permissions: u32) -> Result<Attributes> {
        let mode = Mode::new(crate::types::FileKind::Regular, permissions);
        self.mknod(caller, parent, name, NodeSpec { mode, rdev: crate::types::DeviceNumber(0) })
    }

    fn mknod(&self, caller: &Caller, parent: Ino, name: Name<'_>, node: NodeSpec) -> Result<Attributes> {
        self.grow(0, |operation| operation.mknod(caller, parent, name, node))
    }

    fn mkdir(&self, caller: &Caller, parent: Ino, name: Name<'_>, permissions: u32) -> Result<Attributes> {
        self.grow(0, |operation| operation.mkdir(caller, parent, name, permissions))
    }

    fn symlink(
        &self,
        caller: &Caller,
        parent: Ino,
        name: Name<'_>,
        target: Target<'_>,
    ) -> Result<Attributes> {
        self.grow(0, |operation| operation.symlink(caller, parent, name, target))
    }

    fn link(&self, caller: &Caller, ino: Ino, parent: Ino, name: Name<'_>) -> Result<Attributes> {
        self.grow(0, |operation| operation.link(caller, ino, parent, name))
    }

    fn unlink(&self, caller: &Caller, parent: Ino, name: Name<'_>) -> Result<()> {
        let freed = self.mutate(|operation| operation.unlink(caller, parent, name))?;
        self.free(freed)
    }

    fn rmdir(&self, caller: &Caller, parent: Ino, name: Name<'_>) -> Result<()> {
        let freed = self.mutate(|operation| operation.rmdir(caller, parent, name))?;
        self.free(freed)
    }

    fn rename(
        &self,
        caller: &Caller,
        parent: Ino,
        name: Name<'_>,
        new_parent: Ino,
        new_name: Name<'_>,
        flags: RenameFlags,
    ) -> Result<()> {
        let freed =
            self.mutate(|operation| operation.rename(caller, (parent, name), (new_parent, new_name), flags))?;
        self.free(freed)
    }

    fn open(&self, caller: &Caller, ino: Ino, flags: OpenFlags) -> Result<()> {
        if !flags.contains(OpenFlags::TRUNCATE) {
            return self.read_operation(|operation| operation.check_open(caller, ino, flags).map(|_| ()));
        }
        self.mutate(|operation| {
            let inode = operation.check_open(caller, ino, flags)?;
            if inode.mode.is_regular() {
                let changes = SetAttributes { size: Some(0), ..SetAttributes::default() };
                operation.setattr(caller, ino, &changes)?;
            }
            Ok(())
        })
    }

    fn put(
        &self,
        caller: &Caller,
        parent: Ino,
        missing: &[Name<'_>],
        name: Name<'_>,
        content: &[u8],
    ) -> Result<()> {
        self.grow(content.len() as u64, |operation| operation.put(caller, parent, missing, name, content))
    }

    fn read(&self, ino: Ino, offset: u64, length: usize) -> Result<Vec<u8>> {
        self.read_operation(|operation| operation.read(ino, offset, length))
    }

    fn write(&self, ino: Ino, offset: u64, data: &[u8], flags: WriteFlags) -> Result<u64> {
        self.grow(data.len() as u64, |operation| operation.write(ino, offset, data, flags))
    }

    fn fallocate(
        &self,
        ino: Ino,
        offset: u64,
        length: u64,
        mode: FallocateMode,
        flags: WriteFlags,
    ) -> Result<()> {
        let free = self.store.free_bytes()?;
        self.grow(0, |operation| operation.fallocate(ino, (offset, length), mode, flags, free))
    }

    fn seek(&self, ino: Ino, offset: u64, to: SeekTo) -> Result<u64> {
        self.read_operation(|operation| {
            let inode = operation.regular(ino)?;
            operation.content(&inode).seek(offset, to)
        })
    }

    fn copy_file_range(
        &self,
        from: Ino,
        from_offset: u64,
        to: Ino,
        to_offset: u64,
        length: u64,
        flags: WriteFlags,
    ) -> Result<u64> {
        // One operation holds one group: longer copies return early, as the system call may.
        let length = length.min(file::COPY_BYTES);
        let size =
            self.read_operation(|operation| Ok(operation.inode(from).map_or(0, |inode| inode.size)))?;
        self.grow(length.min(size.saturating_sub(from_offset)), |operation| {
            operation.copy_file_range((from, from_offset), (to, to_offset), length, flags)
        })
    }

    fn readdir(
        &self,
        directory: Ino,
        position: DirectoryPosition,
        limit: usize,
        with_attributes: bool,
    ) -> Result<Vec<DirectoryEntry>> {
        self.read_operation(|operation| operation.readdir(directory, position, limit, with_attributes))
    }

    fn getxattr(&self, caller: &Caller, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.read_operation(|operation| operation.getxattr(caller, ino, name))
    }

    fn listxattr(&self, caller: &Caller, ino: Ino) -> Result<Vec<Vec<u8>>> {
        self.read_operation(|operation| operation.listxattr(caller, ino))
    }

    fn setxattr(&self, caller: &Caller, ino: Ino, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.grow(value.len() as u64, |operation| operation.setxattr(caller, ino, name, value, mode))
    }

    fn removexattr(&self, caller: &Caller, ino: Ino, name: &[u8]) -> Result<()> {
        self.mutate(|operation| operation.removexattr(caller, ino, name))
    }

    fn statfs(&self) -> Result<FilesystemStatistics> {
        let free = self.store.free_bytes()?;
        self.read_operation(|operation| operation.statistics(free))
    }

    fn fsync(&self, ino: Ino) -> Result<()> {
        self.barrier_on(Concern::Inode(ino))
    }

    fn sync(&self) -> Result<()> {
        self.barrier_on(Concern::Everything)
    }
}

impl AgentFs {
    /// Everything so far onto the disk, or the word that something of it was lost.
    fn barrier_on(&self, concern: Concern) -> Result<()> {
        let begun = self.state.lock().losses.begin();
        let outcome = loop {
            let lost = self.store.ended_groups().lost;
            let barrier = self.barrier();
            if let Some(errno) = self.state.lock().losses.take(concern, begun) {
                break Err(errno.into());
            }
            // What was lost now is others'; what this is about still has to reach the disk.
            if barrier.is_ok() || self.store.ended_groups().lost == lost {
                break barrier;
            }
        };
        self.state.lock().losses.end();
        outcome
    }

    /// Everything so far onto the disk, access times included.
    fn barrier(&self) -> Result<()> {
        if self.store.is_read_only() {
            return Ok(());
        }
        let pending = !self.state.lock().pending_atimes.is_empty();
        let stored = match if pending { self.mutate(|_| Ok(())) } else { Ok(()) } {
            // No barrier promises them; they go with what is written next.
            Err(error) if error.errno() == Errno::EBUSY => {
                tracing::warn!(%error, "access times could not be stored");
                Ok(())
            }
            stored => stored,
        };
        let barrier = self.store.barrier();
        let mut state = self.state.lock();
        state.settle(&self.store.ended_groups());
        drop(state);
        stored.and(barrier)
    }
}

impl Operation<'_> {
    /// Access times that reads have moved go with whatever writes.
    fn store_access_times(&mut self) -> Result<()> {
        for (&ino, &atime) in &self.state.pending_atimes {
            Inode::touch_access(self.session, ino, atime)?;
        }
        self.state.pending_atimes.clear();
        Ok(())
    }
}

/// Where the sum of `offset` and `length` is a position in a file.
fn checked_end(offset: u64, length: u64) -> Result<u64> {
    offset.checked_add(length).filter(|&end| end <= MAX_FILE_BYTES).ok_or_else(|| Errno::EFBIG.into())
}
