//! What stat shows and what chmod, chown, truncate and utimensat change.

use super::{DeviceNumber, Gid, Ino, Mode, Timestamp, Uid};

/// The attributes of an inode, as `stat(2)` shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Inode number.
    pub ino: Ino,
    /// Kind and permissions.
    pub mode: Mode,
    /// Hard links; for a directory 2 + its subdirectories (FS-NLINK).
    pub nlink: u32,
    /// Owner.
    pub uid: Uid,
    /// Group.
    pub gid: Gid,
    /// Bytes; for a symlink the length of its target; for a directory always 4096.
    pub size: u64,
    /// Stored bytes in units of 512; holes do not count.
    pub blocks: u64,
    /// For devices.
    pub rdev: DeviceNumber,
    /// Last read.
    pub atime: Timestamp,
    /// Last change of content.
    pub mtime: Timestamp,
    /// Last change of content or attributes.
    pub ctime: Timestamp,
}

/// A new value for a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime {
    /// The present time of the file system's clock (`UTIME_NOW`).
    Now,
    /// A given time.
    At(Timestamp),
}

/// The attributes to change; `None` leaves one as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttributes {
    /// New permission bits (`chmod`).
    pub permissions: Option<u32>,
    /// New owner (`chown`).
    pub uid: Option<Uid>,
    /// New group (`chown`).
    pub gid: Option<Gid>,
    /// New length in bytes (`truncate`).
    pub size: Option<u64>,
    /// New access time.
    pub atime: Option<SetTime>,
    /// New modification time.
    pub mtime: Option<SetTime>,
    /// New change time: only a kernel that keeps times itself (writeback cache) gives one.
    pub ctime: Option<Timestamp>,
}
