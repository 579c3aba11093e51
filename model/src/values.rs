//! The nouns of a trace: processes, handles, kinds of files, times.

use serde::{Deserialize, Serialize};

/// A process of the trace, by its number in the trace's setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcessId(pub u8);

/// The trace's own number for an open file description. It belongs to the process that opened it; what the
/// operating system calls the descriptor is the executor's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handle(pub u32);

/// An inode, by the model's own number. Another file system has other numbers for the same inodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InodeId(pub u64);

impl InodeId {
    /// The root directory.
    pub const ROOT: Self = Self(1);
}

/// What an inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A file with content.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
}

/// Seconds and nanoseconds since 1970; in JSON an array of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(i64, u32)", into = "(i64, u32)")]
pub struct Timestamp {
    /// Whole seconds, rounded towards the past.
    pub seconds: i64,
    /// 0 to 999999999, where it is a time that a file can have.
    pub nanoseconds: u32,
}

impl From<(i64, u32)> for Timestamp {
    fn from((seconds, nanoseconds): (i64, u32)) -> Self {
        Self { seconds, nanoseconds }
    }
}

impl From<Timestamp> for (i64, u32) {
    fn from(time: Timestamp) -> Self {
        (time.seconds, time.nanoseconds)
    }
}

/// A time that a file has, as far as the model can know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// Exactly this: it was given by the caller, or the clock is the trace's.
    At(Timestamp),
    /// Some moment during that step of the trace: the clock is the machine's.
    During(u32),
    /// Not known: a read may or may not have moved it.
    Unknown,
}

/// Who a process is. It does not change in the course of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// Effective user.
    pub uid: u32,
    /// Effective group.
    pub gid: u32,
    /// Supplementary groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<u32>,
}

impl Credentials {
    /// User 0 and group 0.
    #[must_use]
    pub const fn root() -> Self {
        Self { uid: 0, gid: 0, groups: Vec::new() }
    }

    /// User 0, with every capability that user has.
    #[must_use]
    pub const fn is_superuser(&self) -> bool {
        self.uid == 0
    }

    /// Whether the group is the effective or a supplementary one.
    #[must_use]
    pub fn is_member(&self, gid: u32) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }
}
