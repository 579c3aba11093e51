//! What a call answers: the outcome that was seen, and the outcomes that are allowed.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::Errno;
use crate::bytes::Bytes;
use crate::values::{FileKind, InodeId, Time, Timestamp};

/// The id of a rule of SPEC.md.
pub type RuleId = Cow<'static, str>;

/// What a call answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was refused.
    Error(Errno),
    /// Done, with nothing to say.
    Done,
    /// So many bytes were written or copied.
    Count(u64),
    /// The new offset.
    Offset(u64),
    /// What was read.
    Data(Bytes),
    /// What stat shows.
    Status(Status),
    /// A symlink's target.
    Target(Bytes),
    /// An extended attribute's value.
    Value(Bytes),
    /// Names of extended attributes, in any order.
    Names(Vec<Bytes>),
    /// Entries of a directory.
    Entries(Vec<Entry>),
    /// What statfs shows.
    Statistics(Statistics),
    /// The file system, or what drives it, has no such operation; says why.
    Unsupported(String),
}

/// What `stat(2)` shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The file system's own number of the inode.
    pub inode: u64,
    /// `st_mode`'s type.
    pub kind: FileKind,
    /// `st_mode`'s twelve bits.
    pub permissions: u32,
    /// `st_nlink`.
    pub links: u64,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// `st_size`.
    pub size: u64,
    /// `st_blocks`, units of 512 bytes.
    pub blocks: u64,
    /// `st_rdev`, in the encoding of FMT-12.
    pub rdev: u32,
    /// Last read.
    pub atime: Timestamp,
    /// Last change of content.
    pub mtime: Timestamp,
    /// Last change of content or attributes.
    pub ctime: Timestamp,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name.
    pub name: Bytes,
    /// The file system's own number of the inode.
    pub inode: u64,
    /// What it says the inode is; None when it does not say (`DT_UNKNOWN`).
    pub kind: Option<FileKind>,
}

/// What `statvfs(3)` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    /// `f_blocks`.
    pub blocks: u64,
    /// `f_bfree`.
    pub blocks_free: u64,
    /// `f_bavail`.
    pub blocks_available: u64,
    /// `f_files`.
    pub files: u64,
    /// `f_ffree`.
    pub files_free: u64,
    /// `f_namemax`.
    pub longest_name: u64,
}

/// What stat must show; None is whatever the file system likes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusPattern {
    /// The model's number; the file system's own must stand for it, and for no other.
    pub inode: InodeId,
    /// Type.
    pub kind: FileKind,
    /// Twelve bits.
    pub permissions: u32,
    /// Links.
    pub links: Option<u64>,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size.
    pub size: Option<u64>,
    /// Blocks.
    pub blocks: Option<u64>,
    /// Device number.
    pub rdev: u32,
    /// Last read.
    pub atime: Time,
    /// Last change of content.
    pub mtime: Time,
    /// Last change of content or attributes.
    pub ctime: Time,
}

/// An entry that a listing must or may return.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryPattern {
    /// Its name.
    pub name: Bytes,
    /// The model's number of the inode.
    pub inode: InodeId,
    /// Type.
    pub kind: FileKind,
}

/// What a call of readdir may return.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntriesPattern {
    /// Each of these is due before the listing ends, once.
    pub due: Vec<EntryPattern>,
    /// Each of these may be returned, once: it was there for a part of the listing only.
    pub possible: Vec<EntryPattern>,
    /// At most so many in this call. At least one while any is due.
    pub most: u32,
    /// Those of `due` that are returned are the first of them, in their order.
    pub ordered: bool,
}

/// One outcome, or a set of outcomes that are of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// This one.
    Exactly(Outcome),
    /// A status that fits.
    Status(StatusPattern),
    /// Entries that fit.
    Entries(EntriesPattern),
    /// Any offset from `least` to `most`.
    OffsetBetween {
        /// Smallest.
        least: u64,
        /// Largest.
        most: u64,
    },
    /// Any number of bytes from `least` to `most`.
    CountBetween {
        /// Smallest.
        least: u64,
        /// Largest.
        most: u64,
    },
    /// Numbers that make sense together: available <= free <= all, and this longest name.
    Statistics {
        /// `f_namemax`.
        longest_name: u64,
    },
}

/// An allowed outcome and the rules that it follows from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// What may be answered.
    pub expected: Expected,
    /// Why.
    pub rules: Vec<RuleId>,
}
