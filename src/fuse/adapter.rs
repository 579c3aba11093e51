//! The FUSE file system: what it asks of the kernel at the start, and how each request finds its handler.
//!
//! Keeps MNT-15 (permission is the kernel's: every mount has `default_permissions`), MNT-30 (a panic
//! costs one request, never the mount) and MNT-17 (what is advertised is served). The handlers are beside
//! this file: [`names`](super::names), [`files`](super::files), [`directories`](super::directories),
//! [`xattrs`](super::xattrs).
//!
//! Left to the kernel alone: locks (`flock` and `fcntl` work between processes of this machine), ACCESS
//! (ENOSYS: `default_permissions` answers it), FLUSH (ENOSYS: dirty pages were already written back
//! before it would be sent, and no lock ends with it).

use std::ffi::OsStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, CopyFileRangeFlags, FileHandle, Filesystem, FopenFlags, INodeNo, InitFlags, IoctlFlags,
    KernelConfig, LockOwner, OpenFlags, PollEvents, PollFlags, PollNotifier, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl,
    ReplyLseek, ReplyOpen, ReplyPoll, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};

use super::barrier::Barriers;
use super::convert::{self, Ownership};
use super::known::KnownInodes;
use super::notify::Kernel;
use super::placement::Placement;
use crate::types::{Caller, Ino};
use crate::vfs::Vfs;

/// How long the kernel may believe what it was told: what another process changes is taken back.
pub(super) const TRUSTED: Duration = Duration::from_secs(86_400);
/// How long the kernel may believe that a name does not exist; nothing takes that back. Shorter than the second of
/// MNT-9 by the time that the answer may be under way.
pub(super) const ABSENT: Duration = Duration::from_millis(800);
/// The largest write and read, in bytes: the kernel's own limit of 256 pages.
pub(super) const MAX_TRANSFER: u32 = 1 << 20;
/// Requests that nobody waits for (read-ahead, write-back) which may be under way at once.
const MAX_BACKGROUND: u16 = 64;

/// Speaks for a [`Vfs`].
pub(super) struct Adapter {
    pub(super) vfs: Arc<dyn Vfs>,
    pub(super) known: Arc<KnownInodes>,
    pub(super) kernel: Arc<Kernel>,
    pub(super) barriers: Barriers,
    pub(super) owner: Ownership,
    pub(super) placement: Placement,
}

/// What is asked of the kernel, each only where it is offered.
const CAPABILITIES: [InitFlags; 10] = [
    // Small writes are joined, and size and times of regular files are the kernel's while it has them.
    InitFlags::FUSE_WRITEBACK_CACHE,
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_ASYNC_READ,
    InitFlags::FUSE_ASYNC_DIO,
    InitFlags::FUSE_CACHE_SYMLINKS,
    // Set-id bits fall here and not by a GETATTR and SETATTR around each write.
    InitFlags::FUSE_HANDLE_KILLPRIV_V2,
    // Cached pages go when we say so, not whenever a time differs.
    InitFlags::FUSE_EXPLICIT_INVAL_DATA,
    InitFlags::FUSE_MAX_PAGES,
];

impl Adapter {
    /// On whose behalf `request` runs; the kernel has checked that it may.
    pub(super) fn caller(request: &Request) -> Caller {
        Caller::authorized(request.uid(), request.gid())
    }

    /// As [`caller`](Self::caller), for what is created: it belongs to whom this mount shows as owner.
    pub(super) fn creator(&self, request: &Request) -> Caller {
        let uid = self.owner.uid.unwrap_or_else(|| request.uid());
        let gid = self.owner.gid.unwrap_or_else(|| request.gid());
        Caller::authorized(uid, gid)
    }

    /// Runs a handler. When it panics its reply is dropped, which fuser turns into EIO.
    fn serve(&self, operation: &'static str, ino: INodeNo, handler: impl FnOnce()) {
        self.placement.settle();
        if catch_unwind(AssertUnwindSafe(handler)).is_err() {
            tracing::error!(operation, ino = ino.0, "a request panicked and was answered with EIO");
        }
    }
}

impl Filesystem for Adapter {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        for capability in CAPABILITIES {
            if let Err(missing) = config.add_capabilities(capability) {
                tracing::debug!(?missing, "the kernel does not offer a capability");
            }
        }
        // Where a limit is lower, the kernel's is taken.
        if let Err(most) = config.set_max_write(MAX_TRANSFER) {
            let _ = config.set_max_write(most);
        }
        if let Err(most) = config.set_max_readahead(MAX_TRANSFER) {
            let _ = config.set_max_readahead(most);
        }
        let _ = config.set_max_background(MAX_BACKGROUND);
        Ok(())
    }

    /// The kernel sends no FORGET for what it still knew at the end.
    fn destroy(&mut self) {
        for (ino, references) in self.known.take_all() {
            self.vfs.forget(ino, references);
        }
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.serve("lookup", parent, || self.lookup_name(request, Ino(parent.0), name, reply));
    }

    fn forget(&self, _: &Request, ino: INodeNo, count: u64) {
        self.serve("forget", ino, || self.give_back(Ino(ino.0), count));
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.serve("getattr", ino, || self.show_attributes(Ino(ino.0), reply));
    }

    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        ctime: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let changes = crate::types::SetAttributes {
            permissions: mode.map(|mode| mode & crate::types::Mode::PERMISSION_MASK),
            uid: uid.map(crate::types::Uid),
            gid: gid.map(crate::types::Gid),
            size,
            atime: atime.map(convert::set_time),
            mtime: mtime.map(convert::set_time),
            ctime: ctime.map(convert::from_system_time),
        };
        self.serve("setattr", ino, || self.change_attributes(request, Ino(ino.0), changes, reply));
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        self.serve("readlink", ino, || self.read_target(Ino(ino.0), reply));
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        self.serve("mknod", parent, || self.make_node(request, Ino(parent.0), name, mode, rdev, reply));
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        self.serve("mkdir", parent, || self.make_directory(request, Ino(parent.0), name, mode, reply));
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        self.serve("symlink", parent, || self.make_symlink(request, Ino(parent.0), name, target, reply));
    }

    fn link(&self, request: &Request, ino: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.serve("link", ino, || self.make_link(request, Ino(ino.0), Ino(parent.0), name, reply));
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.serve("unlink", parent, || self.remove_name(request, Ino(parent.0), name, reply));
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.serve("rmdir", parent, || self.remove_directory(request, Ino(parent.0), name, reply));
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (from, to) = ((Ino(parent.0), name), (Ino(new_parent.0), new_name));
        self.serve("rename", parent, || self.rename_name(request, from, to, flags, reply));
    }

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        self.serve("open", ino, || self.open_file(request, Ino(ino.0), flags, reply));
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let flags = OpenFlags(flags);
        self.serve("create", parent, || self.create_file(request, Ino(parent.0), name, mode, flags, reply));
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.serve("read", ino, || self.read_bytes(Ino(ino.0), offset, size, reply));
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.serve("write", ino, || self.write_bytes(Ino(ino.0), offset, data, write_flags, flags, reply));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(fuser::Errno::ENOSYS);
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.serve("fsync", ino, || self.barriers.fsync(Ino(ino.0), reply));
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // The kernel checks its listing against the directory's mtime when a reader starts anew.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_CACHE_DIR | FopenFlags::FOPEN_KEEP_CACHE);
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, reply: ReplyDirectory) {
        self.serve("readdir", ino, || self.list(Ino(ino.0), offset, reply));
    }

    fn readdirplus(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, reply: ReplyDirectoryPlus) {
        self.serve("readdirplus", ino, || self.list_with_attributes(Ino(ino.0), offset, reply));
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.serve("fsyncdir", ino, || self.barriers.fsync(Ino(ino.0), reply));
    }

    fn statfs(&self, _: &Request, ino: INodeNo, reply: ReplyStatfs) {
        self.serve("statfs", ino, || self.statistics(reply));
    }

    fn setxattr(
        &self,
        request: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        self.serve("setxattr", ino, || self.set_xattr(request, Ino(ino.0), name, value, flags, reply));
    }

    fn getxattr(&self, request: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        self.serve("getxattr", ino, || self.get_xattr(request, Ino(ino.0), name, size, reply));
    }

    fn listxattr(&self, request: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.serve("listxattr", ino, || self.list_xattrs(request, Ino(ino.0), size, reply));
    }

    fn removexattr(&self, request: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.serve("removexattr", ino, || self.remove_xattr(request, Ino(ino.0), name, reply));
    }

    fn access(&self, _: &Request, _: INodeNo, _: fuser::AccessFlags, reply: ReplyEmpty) {
        reply.error(fuser::Errno::ENOSYS);
    }

    /// No file of ours is a terminal, nor has it attributes that only ioctl reaches.
    fn ioctl(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: IoctlFlags,
        _: u32,
        _: &[u8],
        _: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(fuser::Errno::ENOTTY);
    }

    /// ENOSYS once tells the kernel that all files are always ready.
    fn poll(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: PollNotifier,
        _: PollEvents,
        _: PollFlags,
        reply: ReplyPoll,
    ) {
        reply.error(fuser::Errno::ENOSYS);
    }

    fn fallocate(
        &self,
        request: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        self.serve("fallocate", ino, || self.allocate(request, Ino(ino.0), offset, length, mode, reply));
    }

    fn lseek(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        self.serve("lseek", ino, || self.seek(Ino(ino.0), offset, whence, reply));
    }

    fn copy_file_range(
        &self,
        request: &Request,
        from: INodeNo,
        _: FileHandle,
        from_offset: u64,
        to: INodeNo,
        _: FileHandle,
        to_offset: u64,
        length: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let (source, target) = ((Ino(from.0), from_offset), (Ino(to.0), to_offset));
        self.serve("copy_file_range", to, || self.copy_range(request, source, target, length, reply));
    }
}
