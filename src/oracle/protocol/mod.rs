//! The protocol by which traces are run on another program: JSON Lines on its standard input and output.
//!
//! Here is what the lines are; `spec/PROTOCOL.md` describes them for whoever implements the other side. [`Process`] is
//! the side that asks, [`serve`] the side that answers. Keeps ORA-1 (one line for one line) and ORA-2 (the hello).

mod process;
mod serve;

use agentfs_model::outcome::Outcome;
use agentfs_model::trace::Setting;
use serde::{Deserialize, Serialize};

use super::implementation::Between;

pub use process::{Invocation, Process};
pub use serve::{ServeError, serve};

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// The names of all operations, as in [`Operation::name`](agentfs_model::call::Operation::name).
pub const OPERATIONS: [&str; 37] = [
    "umask",
    "open",
    "close",
    "read",
    "pread",
    "write",
    "pwrite",
    "seek",
    "truncate",
    "fallocate",
    "copy_file_range",
    "fsync",
    "fdatasync",
    "sync",
    "stat",
    "access",
    "chmod",
    "chown",
    "utimens",
    "mkdir",
    "mknod",
    "symlink",
    "link",
    "link_handle",
    "unlink",
    "rmdir",
    "rename",
    "readlink",
    "readdir",
    "seekdir",
    "getxattr",
    "setxattr",
    "listxattr",
    "removexattr",
    "statfs",
    "reopen",
    "crash",
];

/// What an implementation says first, unasked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The version that it speaks.
    pub protocol: u32,
    /// What it is called in reports.
    pub name: String,
    /// The operations that it has.
    pub operations: Vec<String>,
}

/// What is asked that is no step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Frame {
    Begin(Box<Setting>),
    End {},
}

/// What is answered: an outcome, perhaps with clock readings, or one of the other two alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    between: Option<Between>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hello: Option<Hello>,
}
