//! The interface between file systems and what speaks for them: inodes, bytes and errno.
//!
//! [`Vfs`] is implemented by [`AgentFs`](crate::AgentFs) and spoken by the FUSE adapter, the
//! command line and the path-level API. It knows nothing of paths (resolution of components and
//! symlinks is the caller's), of open file descriptions (a caller that may read or write was let in
//! by [`Vfs::open`]), nor of caches.
//!
//! **References.** Every call that hands out an inode through a name (`lookup`, `create`, `mknod`,
//! `mkdir`, `symlink`, `link`, and `readdir` when it is asked to) takes one reference on it, which
//! the caller gives back with [`Vfs::forget`]. While an inode is referenced its rows stay, also with
//! no name left (FS-REAP). The root needs no reference.
//!
//! **Permission.** Each operation says what it demands of the [`Caller`]; a caller that the kernel
//! has [authorized](Caller::authorized) is refused nothing.

pub mod paths;

pub use paths::Paths;

use bitflags::bitflags;

use crate::error::Result;
use crate::types::{
    Access, Attributes, Caller, DeviceNumber, FileKind, Ino, Mode, Name, SetAttributes, Target,
};

bitflags! {
    /// What an open file description is for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OpenFlags: u32 {
        /// Reading.
        const READ = 1;
        /// Writing.
        const WRITE = 2;
        /// Cut the file to no bytes (`O_TRUNC`).
        const TRUNCATE = 4;
        /// Fail unless it is a directory (`O_DIRECTORY`).
        const DIRECTORY = 8;
    }

    /// How `write` differs from a plain one. What else changes content (`fallocate`, `copy_file_range`) takes the two that
    /// clear bits, and does so in the same step.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WriteFlags: u32 {
        /// Write at the end of the file, whatever the offset (`O_APPEND`).
        const APPEND = 1;
        /// Take away set-user-id, and set-group-id where the group may execute, as a write by an
        /// unprivileged user does.
        const CLEAR_SET_ID = 2;
        /// Bytes that the kernel had already accepted into its cache: they do not touch mtime and
        /// ctime, which the kernel sets itself.
        const KEEP_TIMES = 4;
        /// With CLEAR_SET_ID, of who is not in the file's group: take set-group-id away also where the
        /// group may not execute.
        const CLEAR_GROUP_ID = 8;
    }

    /// `renameat2(2)` flags. NOREPLACE and EXCHANGE together are EINVAL.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RenameFlags: u32 {
        /// Fail with EEXIST when the new name exists.
        const NOREPLACE = 1;
        /// Swap the two entries; both must exist.
        const EXCHANGE = 2;
    }

    /// `fallocate(2)` modes, with the kernel's bits; 0 allocates and extends.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FallocateMode: u32 {
        /// Do not change the size.
        const KEEP_SIZE = 0x01;
        /// Make a hole (needs KEEP_SIZE).
        const PUNCH_HOLE = 0x02;
        /// Remove a range and close the gap.
        const COLLAPSE_RANGE = 0x08;
        /// Make the range read as zeros.
        const ZERO_RANGE = 0x10;
        /// Open a gap of zeros.
        const INSERT_RANGE = 0x20;
    }
}

/// What `setxattr(2)` demands of the attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XattrMode {
    /// Create or replace.
    Set,
    /// EEXIST when it exists (`XATTR_CREATE`).
    Create,
    /// ENODATA when it does not (`XATTR_REPLACE`).
    Replace,
}

/// What `lseek(2)` looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekTo {
    /// The next byte at or after the offset that is stored (`SEEK_DATA`).
    Data,
    /// The next byte at or after the offset that is in a hole, the end of the file being one
    /// (`SEEK_HOLE`).
    Hole,
}

/// A stable position in a directory: after the entry that carries it.
///
/// It stays valid whatever is added, removed or renamed, also after the entry itself is gone and
/// over a remount (FS-DIR).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryPosition(pub u64);

impl DirectoryPosition {
    /// Before the first entry.
    pub const START: Self = Self(0);
}

/// One entry of a directory; "." and ".." are not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The position after this entry.
    pub position: DirectoryPosition,
    /// The name, as bytes.
    pub name: Vec<u8>,
    /// The inode that it names.
    pub ino: Ino,
    /// What that inode is.
    pub kind: FileKind,
    /// Its attributes, when [`Vfs::readdir`] was asked for them; the caller then holds a reference.
    pub attributes: Option<Attributes>,
}

/// What `mknod` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Any kind but a directory or a symlink, and the permissions before the umask.
    pub mode: Mode,
    /// For devices.
    pub rdev: DeviceNumber,
}

/// What `statfs` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilesystemStatistics {
    /// Size of a block in bytes, the unit of the next three.
    pub block_size: u32,
    /// Blocks that the file system could hold at most: what it holds and what is free.
    pub blocks: u64,
    /// Blocks that the superuser could still write.
    pub blocks_free: u64,
    /// Blocks that anyone could still write.
    pub blocks_available: u64,
    /// Inodes in use and free.
    pub files: u64,
    /// Inodes free.
    pub files_free: u64,
}

/// A POSIX file system at the level of inodes. Rules and errors: SPEC.md, chapter FS.
pub trait Vfs: Send + Sync {
    /// Finds `name` in the directory `parent` and takes a reference on what it names.
    ///
    /// # Errors
    /// ENOTDIR, EACCES (no search permission on `parent`), ENOENT.
    fn lookup(&self, caller: &Caller, parent: Ino, name: Name<'_>) -> Result<Attributes>;

    /// The parent of a directory; of the root, the root itself.
    ///
    /// # Errors
    /// ENOTDIR; ENOENT for a directory that has been removed.
    fn parent(&self, directory: Ino) -> Result<Ino>;

    /// Gives back `count` references on `ino`; the last one of an inode without names frees it.
    fn forget(&self, ino: Ino, count: u64);

    /// # Errors
    /// ENOENT when `ino` does not exist.
    fn getattr(&self, ino: Ino) -> Result<Attributes>;

    /// Changes attributes, all or none.
    ///
    /// # Errors
    /// EPERM (not the owner, or a group that the caller is not in), EACCES (times set to now without
    /// write permission, truncation without it), EISDIR or EINVAL (size of a directory, of anything
    /// else not regular), EFBIG, ENOSPC.
    fn setattr(&self, caller: &Caller, ino: Ino, changes: &SetAttributes) -> Result<Attributes>;

    /// The target of a symlink.
    ///
    /// # Errors
    /// EINVAL when it is none.
    fn readlink(&self, ino: Ino) -> Result<Vec<u8>>;

    /// Whether `caller` has the given kinds of access.
    ///
    /// # Errors
    /// EACCES when not.
    fn access(&self, caller: &Caller, ino: Ino, access: Access) -> Result<()>;

    /// Makes an empty regular file, with `permissions` less the umask.
    ///
    /// # Errors
    /// As [`mknod`](Self::mknod).
    fn create(&self, caller: &Caller, parent: Ino, name: Name<'_>, permissions: u32) -> Result<Attributes>;

    /// Makes an inode that is neither a directory nor a symlink.
    ///
    /// # Errors
    /// EPERM (a directory), EINVAL (a symlink), ENOTDIR, EACCES, EEXIST, ENOENT (`parent` removed),
    /// EPERM (a device, and the caller is not the superuser), ENOSPC.
    fn mknod(&self, caller: &Caller, parent: Ino, name: Name<'_>, node: NodeSpec) -> Result<Attributes>;

    /// Makes an empty directory.
    ///
    /// # Errors
    /// As [`mknod`](Self::mknod), and EMLINK.
    fn mkdir(&self, caller: &Caller, parent: Ino, name: Name<'_>, permissions: u32) -> Result<Attributes>;

    /// Makes a symlink to `target`.
    ///
    /// # Errors
    /// As [`mknod`](Self::mknod).
    fn symlink(&self, caller: &Caller, parent: Ino, name: Name<'_>, target: Target<'_>)
    -> Result<Attributes>;

    /// Gives `ino` another name.
    ///
    /// # Errors
    /// EPERM for a directory, EEXIST, ENOENT (no name left, or `parent` removed), EMLINK, and
    /// those of [`mknod`](Self::mknod).
    fn link(&self, caller: &Caller, ino: Ino, parent: Ino, name: Name<'_>) -> Result<Attributes>;

    /// Removes a name that is not a directory's.
    ///
    /// # Errors
    /// ENOENT, EISDIR, EACCES, EPERM (sticky directory).
    fn unlink(&self, caller: &Caller, parent: Ino, name: Name<'_>) -> Result<()>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ENOTEMPTY, EACCES, EPERM (sticky directory).
    fn rmdir(&self, caller: &Caller, parent: Ino, name: Name<'_>) -> Result<()>;

    /// Moves an entry, replacing what the new name names, or swaps two.
    ///
    /// # Errors
    /// ENOENT, EEXIST (NOREPLACE), EINVAL (into its own subtree, or flags that exclude each other),
    /// EISDIR, ENOTDIR, ENOTEMPTY, EACCES, EPERM (sticky directory).
    fn rename(
        &self,
        caller: &Caller,
        parent: Ino,
        name: Name<'_>,
        new_parent: Ino,
        new_name: Name<'_>,
        flags: RenameFlags,
    ) -> Result<()>;

    /// Checks that `caller` may open `ino` so, and truncates it when asked to.
    ///
    /// # Errors
    /// EACCES, EISDIR (a directory for writing), ENOTDIR, ELOOP (a symlink).
    fn open(&self, caller: &Caller, ino: Ino, flags: OpenFlags) -> Result<()>;

    /// Replaces the content of the regular file `name`, or makes it with mode 0666 less the umask, in
    /// one step. The directories `missing`, each in the one before it and the first in `parent`, are
    /// made in the same step with mode 0777 less the umask, and `name` is in the last (PATH-9, PATH-10).
    /// No reference is taken.
    ///
    /// # Errors
    /// EACCES, EISDIR, ELOOP (a symlink), EINVAL (not a regular file), EEXIST (one of `missing` is not),
    /// EMLINK, EFBIG, ENOSPC, EROFS; then nothing has changed.
    fn put(
        &self,
        caller: &Caller,
        parent: Ino,
        missing: &[Name<'_>],
        name: Name<'_>,
        content: &[u8],
    ) -> Result<()>;

    /// Reads up to `length` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// EISDIR, EINVAL (neither regular file nor directory), ENOMEM (more than the memory holds), EIO.
    fn read(&self, ino: Ino, offset: u64, length: usize) -> Result<Vec<u8>>;

    /// Writes all of `data` at `offset` and returns where the write ended (with APPEND, that is
    /// how a caller learns the position).
    ///
    /// # Errors
    /// EISDIR, EINVAL, EFBIG, ENOSPC, EIO; then nothing is written.
    fn write(&self, ino: Ino, offset: u64, data: &[u8], flags: WriteFlags) -> Result<u64>;

    /// `fallocate(2)` on the range of `length` bytes at `offset`.
    ///
    /// # Errors
    /// EINVAL (empty range, or modes that exclude each other, or not aligned for collapse and
    /// insert), EOPNOTSUPP (a mode that is not provided), EISDIR, ENODEV (not a regular file),
    /// EFBIG, ENOSPC.
    fn fallocate(
        &self,
        ino: Ino,
        offset: u64,
        length: u64,
        mode: FallocateMode,
        flags: WriteFlags,
    ) -> Result<()>;

    /// The next data or hole at or after `offset`.
    ///
    /// # Errors
    /// ENXIO at or past the end of the file, or when no data follows; EINVAL when not a regular file.
    fn seek(&self, ino: Ino, offset: u64, to: SeekTo) -> Result<u64>;

    /// Copies up to `length` bytes from one file to another or within one, and returns how many.
    ///
    /// # Errors
    /// EINVAL (ranges overlap in one file, or not regular files), EISDIR, EFBIG, ENOSPC.
    fn copy_file_range(
        &self,
        from: Ino,
        from_offset: u64,
        to: Ino,
        to_offset: u64,
        length: u64,
        flags: WriteFlags,
    ) -> Result<u64>;

    /// The entries after `position`, at most `limit`; none means the end. With `with_attributes`,
    /// each carries its attributes and a reference.
    ///
    /// # Errors
    /// ENOTDIR.
    fn readdir(
        &self,
        directory: Ino,
        position: DirectoryPosition,
        limit: usize,
        with_attributes: bool,
    ) -> Result<Vec<DirectoryEntry>>;

    /// # Errors
    /// ENODATA; EOPNOTSUPP for a namespace that is not kept.
    fn getxattr(&self, caller: &Caller, ino: Ino, name: &[u8]) -> Result<Vec<u8>>;

    /// The names of the attributes that `caller` may see, sorted.
    ///
    /// # Errors
    /// EIO.
    fn listxattr(&self, caller: &Caller, ino: Ino) -> Result<Vec<Vec<u8>>>;

    /// # Errors
    /// EEXIST, ENODATA (by `mode`), ERANGE (name), E2BIG (value), EPERM, EACCES, EOPNOTSUPP, ENOSPC.
    fn setxattr(&self, caller: &Caller, ino: Ino, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()>;

    /// # Errors
    /// ENODATA, EPERM, EACCES, EOPNOTSUPP.
    fn removexattr(&self, caller: &Caller, ino: Ino, name: &[u8]) -> Result<()>;

    /// # Errors
    /// EIO.
    fn statfs(&self) -> Result<FilesystemStatistics>;

    /// Returns when everything done to `ino` is on the disk (DUR-4: all operations before it
    /// are too).
    ///
    /// # Errors
    /// EIO or ENOSPC when earlier operations on `ino` could not be kept.
    fn fsync(&self, ino: Ino) -> Result<()>;

    /// Returns when everything done so far is on the disk.
    ///
    /// # Errors
    /// EIO or ENOSPC when an earlier operation could not be kept.
    fn sync(&self) -> Result<()>;
}
