//! A scenario: a name, what it shows, and calls, put down in few words.

use agentfs_model::bytes::Bytes;
use agentfs_model::call::{
    AccessMode, Call, FallocateMode, Object, OpenFlags, Operation, Place, RenameFlags, TimeChange, Whence,
    XattrMode,
};
use agentfs_model::trace::RootSetting;
use agentfs_model::values::{Credentials, FileKind, Handle, ProcessId, Timestamp};

use crate::oracle::play::START;

/// Whom the calls are made by.
pub(super) const ROOT: u8 = 0;
/// An ordinary user, 1000:1000.
pub(super) const USER: u8 = 1;
/// Another one, 1001:1001, who is also in group 1000.
pub(super) const MEMBER: u8 = 2;

pub(super) const READ: OpenFlags = OpenFlags::READ;
pub(super) const WRITE: OpenFlags = OpenFlags::WRITE;
pub(super) const BOTH: OpenFlags = READ.union(WRITE);
pub(super) const CREATE: OpenFlags = BOTH.union(OpenFlags::CREATE);
pub(super) const FOLDER: OpenFlags = READ.union(OpenFlags::DIRECTORY);

/// A list of calls with a name.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The rule that it shows, and what of it.
    pub name: &'static str,
    /// The same in words.
    pub about: &'static str,
    /// Whether it shows limits that other file systems have elsewhere.
    pub(super) of_agentfs: bool,
    /// The root directory at the beginning.
    pub(super) root: RootSetting,
    /// What is called, and when.
    pub(super) calls: Vec<(Call, Timestamp)>,
    by: ProcessId,
    /// Seconds added to the time of every step to come.
    later: i64,
}

/// Begins a scenario. Its root directory belongs to user 0, and anyone may write to it.
pub(super) fn scenario(name: &'static str, about: &'static str) -> Scenario {
    let root = RootSetting { uid: 0, gid: 0, permissions: 0o777 };
    Scenario { name, about, of_agentfs: false, root, calls: Vec::new(), by: ProcessId(ROOT), later: 0 }
}

/// A path that begins at an open directory.
pub(super) fn at(handle: u32, path: &str) -> Place {
    Place { path: path.into(), at: Some(Handle(handle)) }
}

/// A path of bytes that are no text.
pub(super) fn raw(path: &[u8]) -> Place {
    Place { path: path.into(), at: None }
}

fn followed(path: impl Into<Place>) -> Object {
    Object::Path { path: path.into(), follow: true }
}

fn itself(path: impl Into<Place>) -> Object {
    Object::Path { path: path.into(), follow: false }
}

fn open_one(handle: u32) -> Object {
    Object::Handle { handle: Handle(handle) }
}

/// The handle that [`Scenario::file`] uses, closed again.
const FILE_HANDLE: u32 = 99;

impl Scenario {
    /// Who calls: no more of the three than there need be, since an implementation may know user 0 only.
    pub(super) fn processes(&self) -> Vec<Credentials> {
        let user = |uid, gid, groups| Credentials { uid, gid, groups };
        let all = [Credentials::root(), user(1000, 1000, Vec::new()), user(1001, 1001, vec![1000])];
        let last = self.calls.iter().map(|(call, _)| call.by.0).max().unwrap_or_default();
        all.into_iter().take(usize::from(last) + 1).collect()
    }

    /// It shows limits that other file systems have elsewhere.
    pub(super) const fn of_agentfs(mut self) -> Self {
        self.of_agentfs = true;
        self
    }

    pub(super) fn root_permissions(mut self, permissions: u32) -> Self {
        self.root.permissions = permissions;
        self
    }

    pub(super) fn call(mut self, operation: Operation) -> Self {
        let step = u32::try_from(self.calls.len()).unwrap_or(u32::MAX).saturating_add(1);
        let seconds = START.seconds + i64::from(step) * 10 + self.later;
        let now = Timestamp { seconds, nanoseconds: step * 1000 };
        self.calls.push((Call { by: self.by, operation }, now));
        self
    }

    /// The calls to come are this process's.
    pub(super) const fn by(mut self, process: u8) -> Self {
        self.by = ProcessId(process);
        self
    }

    /// So many seconds pass.
    pub(super) const fn later(mut self, seconds: i64) -> Self {
        self.later += seconds;
        self
    }

    pub(super) fn umask(self, mask: u32) -> Self {
        self.call(Operation::Umask { mask })
    }

    pub(super) fn open(self, handle: u32, path: impl Into<Place>, flags: OpenFlags) -> Self {
        let mode = if flags.contains(OpenFlags::CREATE) { 0o644 } else { 0 };
        self.open_mode(handle, path, flags, mode)
    }

    pub(super) fn open_mode(self, handle: u32, path: impl Into<Place>, flags: OpenFlags, mode: u32) -> Self {
        self.call(Operation::Open { path: path.into(), flags, mode, handle: Handle(handle) })
    }

    pub(super) fn close(self, handle: u32) -> Self {
        self.call(Operation::Close { handle: Handle(handle) })
    }

    /// Makes a file with this content.
    pub(super) fn file(self, path: impl Into<Place>, content: &str) -> Self {
        self.file_mode(path, content, 0o644)
    }

    pub(super) fn file_mode(self, path: impl Into<Place>, content: &str, mode: u32) -> Self {
        let made = self.open_mode(FILE_HANDLE, path, CREATE, mode);
        let made = if content.is_empty() { made } else { made.write(FILE_HANDLE, content) };
        made.close(FILE_HANDLE)
    }

    pub(super) fn read(self, handle: u32, length: u64) -> Self {
        self.call(Operation::Read { handle: Handle(handle), length })
    }

    pub(super) fn pread(self, handle: u32, offset: u64, length: u64) -> Self {
        self.call(Operation::Pread { handle: Handle(handle), offset, length })
    }

    pub(super) fn write(self, handle: u32, data: impl Into<Bytes>) -> Self {
        self.call(Operation::Write { handle: Handle(handle), data: data.into() })
    }

    pub(super) fn pwrite(self, handle: u32, offset: u64, data: impl Into<Bytes>) -> Self {
        self.call(Operation::Pwrite { handle: Handle(handle), offset, data: data.into() })
    }

    pub(super) fn seek(self, handle: u32, offset: i64, whence: Whence) -> Self {
        self.call(Operation::Seek { handle: Handle(handle), offset, whence })
    }

    pub(super) fn truncate(self, path: impl Into<Place>, size: u64) -> Self {
        self.call(Operation::Truncate { object: followed(path), size })
    }

    pub(super) fn ftruncate(self, handle: u32, size: u64) -> Self {
        self.call(Operation::Truncate { object: open_one(handle), size })
    }

    pub(super) fn fallocate(self, handle: u32, mode: FallocateMode, offset: u64, length: u64) -> Self {
        self.call(Operation::Fallocate { handle: Handle(handle), mode, offset, length })
    }

    pub(super) fn copy(self, from: (u32, u64), to: (u32, u64), length: u64) -> Self {
        let (from_offset, to_offset) = (from.1, to.1);
        let (from, to) = (Handle(from.0), Handle(to.0));
        self.call(Operation::CopyFileRange { from, from_offset, to, to_offset, length })
    }

    pub(super) fn fsync(self, handle: u32) -> Self {
        self.call(Operation::Fsync { handle: Handle(handle) })
    }

    pub(super) fn fdatasync(self, handle: u32) -> Self {
        self.call(Operation::Fdatasync { handle: Handle(handle) })
    }

    pub(super) fn sync(self) -> Self {
        self.call(Operation::Sync)
    }

    pub(super) fn stat(self, path: impl Into<Place>) -> Self {
        self.call(Operation::Stat { object: followed(path) })
    }

    pub(super) fn lstat(self, path: impl Into<Place>) -> Self {
        self.call(Operation::Stat { object: itself(path) })
    }

    pub(super) fn fstat(self, handle: u32) -> Self {
        self.call(Operation::Stat { object: open_one(handle) })
    }

    pub(super) fn access(self, path: impl Into<Place>, mode: AccessMode) -> Self {
        self.call(Operation::Access { path: path.into(), mode })
    }

    pub(super) fn chmod(self, path: impl Into<Place>, mode: u32) -> Self {
        self.call(Operation::Chmod { object: followed(path), mode })
    }

    pub(super) fn lchmod(self, path: impl Into<Place>, mode: u32) -> Self {
        self.call(Operation::Chmod { object: itself(path), mode })
    }

    pub(super) fn fchmod(self, handle: u32, mode: u32) -> Self {
        self.call(Operation::Chmod { object: open_one(handle), mode })
    }

    pub(super) fn chown(self, path: impl Into<Place>, uid: Option<u32>, gid: Option<u32>) -> Self {
        self.call(Operation::Chown { object: followed(path), uid, gid })
    }

    pub(super) fn lchown(self, path: impl Into<Place>, uid: Option<u32>, gid: Option<u32>) -> Self {
        self.call(Operation::Chown { object: itself(path), uid, gid })
    }

    pub(super) fn utimens(self, path: impl Into<Place>, atime: TimeChange, mtime: TimeChange) -> Self {
        self.call(Operation::Utimens { object: followed(path), atime, mtime })
    }

    pub(super) fn mkdir(self, path: impl Into<Place>) -> Self {
        self.mkdir_mode(path, 0o755)
    }

    pub(super) fn mkdir_mode(self, path: impl Into<Place>, mode: u32) -> Self {
        self.call(Operation::Mkdir { path: path.into(), mode })
    }

    pub(super) fn mknod(self, path: impl Into<Place>, kind: FileKind, rdev: u32) -> Self {
        self.call(Operation::Mknod { path: path.into(), kind, mode: 0o644, rdev })
    }

    pub(super) fn symlink(self, target: impl Into<Bytes>, path: impl Into<Place>) -> Self {
        self.call(Operation::Symlink { target: target.into(), path: path.into() })
    }

    pub(super) fn link(self, from: impl Into<Place>, to: impl Into<Place>) -> Self {
        self.call(Operation::Link { from: from.into(), to: to.into(), follow: false })
    }

    pub(super) fn link_followed(self, from: impl Into<Place>, to: impl Into<Place>) -> Self {
        self.call(Operation::Link { from: from.into(), to: to.into(), follow: true })
    }

    pub(super) fn link_handle(self, handle: u32, to: impl Into<Place>) -> Self {
        self.call(Operation::LinkHandle { handle: Handle(handle), to: to.into() })
    }

    pub(super) fn unlink(self, path: impl Into<Place>) -> Self {
        self.call(Operation::Unlink { path: path.into() })
    }

    pub(super) fn rmdir(self, path: impl Into<Place>) -> Self {
        self.call(Operation::Rmdir { path: path.into() })
    }

    pub(super) fn rename(self, from: impl Into<Place>, to: impl Into<Place>) -> Self {
        self.rename_with(from, to, RenameFlags::empty())
    }

    pub(super) fn rename_with(
        self,
        from: impl Into<Place>,
        to: impl Into<Place>,
        flags: RenameFlags,
    ) -> Self {
        self.call(Operation::Rename { from: from.into(), to: to.into(), flags })
    }

    pub(super) fn readlink(self, path: impl Into<Place>) -> Self {
        self.call(Operation::Readlink { path: path.into() })
    }

    pub(super) fn readdir(self, handle: u32, count: u32) -> Self {
        self.call(Operation::Readdir { handle: Handle(handle), count })
    }

    pub(super) fn seekdir(self, handle: u32, after: u32) -> Self {
        self.call(Operation::Seekdir { handle: Handle(handle), after })
    }

    /// Opens the directory, lists all of it in one call and one for the end, and closes it.
    pub(super) fn list(self, path: impl Into<Place>) -> Self {
        self.open(FILE_HANDLE, path, FOLDER)
            .readdir(FILE_HANDLE, 1000)
            .readdir(FILE_HANDLE, 1000)
            .close(FILE_HANDLE)
    }

    pub(super) fn getxattr(self, path: impl Into<Place>, name: impl Into<Bytes>) -> Self {
        self.call(Operation::Getxattr { object: followed(path), name: name.into() })
    }

    pub(super) fn lgetxattr(self, path: impl Into<Place>, name: impl Into<Bytes>) -> Self {
        self.call(Operation::Getxattr { object: itself(path), name: name.into() })
    }

    pub(super) fn setxattr(
        self,
        path: impl Into<Place>,
        name: impl Into<Bytes>,
        value: impl Into<Bytes>,
    ) -> Self {
        self.setxattr_mode(path, name, value, XattrMode::Set)
    }

    pub(super) fn setxattr_mode(
        self,
        path: impl Into<Place>,
        name: impl Into<Bytes>,
        value: impl Into<Bytes>,
        mode: XattrMode,
    ) -> Self {
        self.call(Operation::Setxattr {
            object: followed(path),
            name: name.into(),
            value: value.into(),
            mode,
        })
    }

    pub(super) fn lsetxattr(
        self,
        path: impl Into<Place>,
        name: impl Into<Bytes>,
        value: impl Into<Bytes>,
    ) -> Self {
        let (name, value) = (name.into(), value.into());
        self.call(Operation::Setxattr { object: itself(path), name, value, mode: XattrMode::Set })
    }

    pub(super) fn listxattr(self, path: impl Into<Place>) -> Self {
        self.call(Operation::Listxattr { object: followed(path) })
    }

    pub(super) fn removexattr(self, path: impl Into<Place>, name: impl Into<Bytes>) -> Self {
        self.call(Operation::Removexattr { object: followed(path), name: name.into() })
    }

    pub(super) fn statfs(self) -> Self {
        self.call(Operation::Statfs)
    }

    pub(super) fn reopen(self, read_only: bool) -> Self {
        self.call(Operation::Reopen { read_only })
    }
}
