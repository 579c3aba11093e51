//! The nouns of a file system as types: inode numbers, names, modes, times, attributes, callers.
//!
//! Plain values without I/O. What may be stored and what is refused is decided here where it
//! depends on the value alone (names: FS-NAME rules); everything else is decided by the operations.

mod attributes;
mod caller;
mod mode;
mod name;
mod options;
pub mod text;
mod time;

pub use attributes::{Attributes, SetAttributes, SetTime};
pub use caller::{Access, Caller, Gid, Uid};
pub use mode::{DeviceNumber, FileKind, Mode};
pub use name::{MAX_NAME_BYTES, MAX_TARGET_BYTES, Name, Target};
pub use options::{AtimePolicy, GroupLimits, Options};
pub use time::{Clock, ManualClock, SystemClock, Timestamp};

/// An inode number. Never reused within one database (`AUTOINCREMENT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ino(pub u64);

impl Ino {
    /// The root directory, always inode 1 (spec: Special Inodes).
    pub const ROOT: Self = Self(1);
}

impl std::fmt::Display for Ino {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
