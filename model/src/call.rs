//! The operations of a trace: system calls, with everything that decides their outcome given.
//!
//! Paths begin at the root of the file system, or at a directory that is open ([`Place::at`]). Nothing in a call names a
//! number that a file system chooses itself (inodes, descriptors, directory positions), so the same trace runs anywhere.

use bitflags::bitflags;
use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::values::{FileKind, Handle, ProcessId, Timestamp};

bitflags! {
    /// `open(2)`'s flags. Neither READ nor WRITE is not possible; both is `O_RDWR`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(transparent)]
    pub struct OpenFlags: u32 {
        /// `O_RDONLY`, or with WRITE `O_RDWR`.
        const READ = 1;
        /// `O_WRONLY`, or with READ `O_RDWR`.
        const WRITE = 2;
        /// `O_CREAT`.
        const CREATE = 4;
        /// `O_EXCL`; only with CREATE.
        const EXCLUSIVE = 8;
        /// `O_TRUNC`.
        const TRUNCATE = 16;
        /// `O_APPEND`.
        const APPEND = 32;
        /// `O_DIRECTORY`.
        const DIRECTORY = 64;
        /// `O_NOFOLLOW`.
        const NOFOLLOW = 128;
    }

    /// `access(2)`'s mode.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(transparent)]
    pub struct AccessMode: u32 {
        /// `X_OK`.
        const EXECUTE = 1;
        /// `W_OK`.
        const WRITE = 2;
        /// `R_OK`.
        const READ = 4;
    }

    /// `renameat2(2)`'s flags.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(transparent)]
    pub struct RenameFlags: u32 {
        /// `RENAME_NOREPLACE`.
        const NOREPLACE = 1;
        /// `RENAME_EXCHANGE`.
        const EXCHANGE = 2;
    }

    /// `fallocate(2)`'s mode, with the kernel's bits.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(transparent)]
    pub struct FallocateMode: u32 {
        /// `FALLOC_FL_KEEP_SIZE`.
        const KEEP_SIZE = 0x01;
        /// `FALLOC_FL_PUNCH_HOLE`.
        const PUNCH_HOLE = 0x02;
        /// `FALLOC_FL_COLLAPSE_RANGE`.
        const COLLAPSE_RANGE = 0x08;
        /// `FALLOC_FL_ZERO_RANGE`.
        const ZERO_RANGE = 0x10;
        /// `FALLOC_FL_INSERT_RANGE`.
        const INSERT_RANGE = 0x20;
    }
}

/// What `lseek(2)`'s offset is counted from, or what it looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whence {
    /// `SEEK_SET`.
    Set,
    /// `SEEK_CUR`.
    Current,
    /// `SEEK_END`.
    End,
    /// `SEEK_DATA`.
    Data,
    /// `SEEK_HOLE`.
    Hole,
}

/// `setxattr(2)`'s flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum XattrMode {
    /// Create or replace: no flag.
    #[default]
    Set,
    /// `XATTR_CREATE`.
    Create,
    /// `XATTR_REPLACE`.
    Replace,
}

/// What becomes of one time in `utimensat(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeChange {
    /// `UTIME_NOW`.
    Now,
    /// `UTIME_OMIT`.
    Omit,
    /// This one.
    At(Timestamp),
}

/// A path, and the open directory that a relative one begins at (the root when none is given).
///
/// In JSON the path alone, or `{"at": HANDLE, "path": PATH}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "PlaceForm", into = "PlaceForm")]
pub struct Place {
    /// The path, as given.
    pub path: Bytes,
    /// Where a relative one begins.
    pub at: Option<Handle>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PlaceForm {
    At { at: Handle, path: Bytes },
    Path(Bytes),
}

impl From<PlaceForm> for Place {
    fn from(form: PlaceForm) -> Self {
        match form {
            PlaceForm::At { at, path } => Self { path, at: Some(at) },
            PlaceForm::Path(path) => Self { path, at: None },
        }
    }
}

impl From<Place> for PlaceForm {
    fn from(place: Place) -> Self {
        match place.at {
            Some(at) => Self::At { at, path: place.path },
            None => Self::Path(place.path),
        }
    }
}

impl From<&str> for Place {
    fn from(path: &str) -> Self {
        Self { path: path.into(), at: None }
    }
}

/// What an operation is about that can be had by path or by handle.
///
/// In JSON `{"handle": 3}`, or `{"path": PLACE}` with `"follow": false` for the form that takes a symlink itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Object {
    /// The `f` form of the call.
    Handle {
        /// What is open.
        handle: Handle,
    },
    /// The form with a path.
    Path {
        /// Which.
        path: Place,
        /// Whether a symlink at its end is followed.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        follow: bool,
    },
}

const fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_yes(follow: &bool) -> bool {
    *follow
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A system call. The names of the variants are those of the calls; modes are given before the umask.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are the arguments of the system calls, by their names")]
pub enum Operation {
    Umask {
        mask: u32,
    },
    /// The handle must not be open yet; a failed open leaves it so.
    Open {
        path: Place,
        flags: OpenFlags,
        #[serde(default, skip_serializing_if = "is_default")]
        mode: u32,
        handle: Handle,
    },
    Close {
        handle: Handle,
    },
    Read {
        handle: Handle,
        length: u64,
    },
    Pread {
        handle: Handle,
        offset: u64,
        length: u64,
    },
    Write {
        handle: Handle,
        data: Bytes,
    },
    Pwrite {
        handle: Handle,
        offset: u64,
        data: Bytes,
    },
    /// `lseek(2)`.
    Seek {
        handle: Handle,
        offset: i64,
        whence: Whence,
    },
    /// `truncate(2)` and `ftruncate(2)`; by path always followed.
    Truncate {
        #[serde(flatten)]
        object: Object,
        size: u64,
    },
    Fallocate {
        handle: Handle,
        #[serde(default, skip_serializing_if = "is_default")]
        mode: FallocateMode,
        offset: u64,
        length: u64,
    },
    CopyFileRange {
        from: Handle,
        from_offset: u64,
        to: Handle,
        to_offset: u64,
        length: u64,
    },
    Fsync {
        handle: Handle,
    },
    Fdatasync {
        handle: Handle,
    },
    /// `syncfs(2)`.
    Sync,
    /// `stat(2)`, `lstat(2)`, `fstat(2)`.
    Stat {
        #[serde(flatten)]
        object: Object,
    },
    Access {
        path: Place,
        mode: AccessMode,
    },
    Chmod {
        #[serde(flatten)]
        object: Object,
        mode: u32,
    },
    /// None is -1.
    Chown {
        #[serde(flatten)]
        object: Object,
        #[serde(default)]
        uid: Option<u32>,
        #[serde(default)]
        gid: Option<u32>,
    },
    /// `utimensat(2)`, `futimens(3)`.
    Utimens {
        #[serde(flatten)]
        object: Object,
        atime: TimeChange,
        mtime: TimeChange,
    },
    Mkdir {
        path: Place,
        mode: u32,
    },
    Mknod {
        path: Place,
        kind: FileKind,
        mode: u32,
        #[serde(default, skip_serializing_if = "is_default")]
        rdev: u32,
    },
    Symlink {
        target: Bytes,
        path: Place,
    },
    /// `linkat(2)`, with `AT_SYMLINK_FOLLOW` when `follow`.
    Link {
        from: Place,
        to: Place,
        #[serde(default, skip_serializing_if = "is_default")]
        follow: bool,
    },
    /// `linkat(2)` with `AT_EMPTY_PATH`: a name for what is open.
    LinkHandle {
        handle: Handle,
        to: Place,
    },
    Unlink {
        path: Place,
    },
    Rmdir {
        path: Place,
    },
    Rename {
        from: Place,
        to: Place,
        #[serde(default, skip_serializing_if = "is_default")]
        flags: RenameFlags,
    },
    Readlink {
        path: Place,
    },
    /// At most `count` entries from where the handle is, "." and ".." left out. None is the end.
    Readdir {
        handle: Handle,
        count: u32,
    },
    /// Back to after the `after`-th entry that this handle has returned since it was opened; 0 is the beginning.
    Seekdir {
        handle: Handle,
        after: u32,
    },
    Getxattr {
        #[serde(flatten)]
        object: Object,
        name: Bytes,
    },
    Setxattr {
        #[serde(flatten)]
        object: Object,
        name: Bytes,
        value: Bytes,
        #[serde(default, skip_serializing_if = "is_default")]
        mode: XattrMode,
    },
    Listxattr {
        #[serde(flatten)]
        object: Object,
    },
    Removexattr {
        #[serde(flatten)]
        object: Object,
        name: Bytes,
    },
    Statfs,
    /// The file system is closed in good order and opened again; every handle is closed by it.
    Reopen {
        #[serde(default, skip_serializing_if = "is_default")]
        read_only: bool,
    },
    /// What serves the file system is killed and started again; every handle is gone. What was done before the last
    /// barrier is there, of what was done after it a prefix.
    Crash,
}

/// One call of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Call {
    /// Who calls.
    #[serde(default, skip_serializing_if = "is_default")]
    pub by: ProcessId,
    /// What is called.
    #[serde(flatten)]
    pub operation: Operation,
}

impl Operation {
    /// The name of the call, as in the trace.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Umask { .. } => "umask",
            Self::Open { .. } => "open",
            Self::Close { .. } => "close",
            Self::Read { .. } => "read",
            Self::Pread { .. } => "pread",
            Self::Write { .. } => "write",
            Self::Pwrite { .. } => "pwrite",
            Self::Seek { .. } => "seek",
            Self::Truncate { .. } => "truncate",
            Self::Fallocate { .. } => "fallocate",
            Self::CopyFileRange { .. } => "copy_file_range",
            Self::Fsync { .. } => "fsync",
            Self::Fdatasync { .. } => "fdatasync",
            Self::Sync => "sync",
            Self::Stat { .. } => "stat",
            Self::Access { .. } => "access",
            Self::Chmod { .. } => "chmod",
            Self::Chown { .. } => "chown",
            Self::Utimens { .. } => "utimens",
            Self::Mkdir { .. } => "mkdir",
            Self::Mknod { .. } => "mknod",
            Self::Symlink { .. } => "symlink",
            Self::Link { .. } => "link",
            Self::LinkHandle { .. } => "link_handle",
            Self::Unlink { .. } => "unlink",
            Self::Rmdir { .. } => "rmdir",
            Self::Rename { .. } => "rename",
            Self::Readlink { .. } => "readlink",
            Self::Readdir { .. } => "readdir",
            Self::Seekdir { .. } => "seekdir",
            Self::Getxattr { .. } => "getxattr",
            Self::Setxattr { .. } => "setxattr",
            Self::Listxattr { .. } => "listxattr",
            Self::Removexattr { .. } => "removexattr",
            Self::Statfs => "statfs",
            Self::Reopen { .. } => "reopen",
            Self::Crash => "crash",
        }
    }
}
