//! The one typed value that says how a database is created, opened and served.
//!
//! Environment and flags are read at the edge (the command line) and arrive here as values.

use std::sync::Arc;
use std::time::Duration;

use super::{Clock, Gid, SystemClock, Uid};

/// When a read moves an access time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtimePolicy {
    /// Only when it is not later than the modification or change time, or a day old (Linux's default).
    #[default]
    Relative,
    /// Never.
    Never,
    /// At every read.
    Strict,
}

/// How long acknowledged operations may wait in the open group before it is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLimits {
    /// Commit when nothing was added for this long.
    pub idle: Duration,
    /// Commit when the group has been open for this long.
    pub age: Duration,
    /// Commit when it holds about this many bytes.
    pub bytes: u64,
}

impl Default for GroupLimits {
    fn default() -> Self {
        Self { idle: Duration::from_millis(10), age: Duration::from_millis(100), bytes: 8 << 20 }
    }
}

/// Options of [`AgentFs::create`](crate::AgentFs::create) and [`AgentFs::open`](crate::AgentFs::open).
///
/// The first four only matter at creation; an existing database keeps its own.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Bytes in a chunk of file content: a power of two from 512 to 16 MiB. Default 65536.
    pub chunk_size: u32,
    /// The largest dense file kept in its inode row, at most `chunk_size`. Default 4096.
    pub inline_threshold: u32,
    /// SQLite's page size: a power of two from 512 to 65536. Default 8192.
    pub page_size: u32,
    /// Owner of the root directory. Default: root and group 0, as the spec has it.
    pub root_owner: (Uid, Gid),
    /// Refuse every change.
    pub read_only: bool,
    /// When reads move access times.
    pub atime: AtimePolicy,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// When the open group is committed.
    pub group: GroupLimits,
    /// How long to wait for another process's write transaction. Default 30 seconds.
    pub busy_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            chunk_size: 65536,
            inline_threshold: 4096,
            page_size: 8192,
            root_owner: (Uid::ROOT, Gid(0)),
            read_only: false,
            atime: AtimePolicy::default(),
            clock: Arc::new(SystemClock),
            group: GroupLimits::default(),
            busy_timeout: Duration::from_secs(30),
        }
    }
}
