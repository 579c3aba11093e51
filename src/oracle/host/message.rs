//! What the driver and the client processes of a host directory say to each other: JSON, one line for one line.

use agentfs_model::bytes::Bytes;
use agentfs_model::call::Operation;
use agentfs_model::outcome::Outcome;
use agentfs_model::trace::RootSetting;
use agentfs_model::values::Credentials;
use serde::{Deserialize, Serialize};

use crate::oracle::implementation::Between;
use crate::oracle::tree::Tree;

/// What a client is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// To make the directory its root, and to become this user; without one it stays what it is.
    Enter { directory: Bytes, credentials: Option<Credentials> },
    /// To close every handle, to be again what it was when it started, and to leave the directory.
    Leave,
    /// To empty the directory, and to give the root its owner, permissions, and the present time.
    Empty(RootSetting),
    /// To say what is in the directory.
    Observe,
    /// To make a system call. With `devices`, the trace has made some.
    Call { operation: Operation, devices: bool },
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Done(Option<Between>),
    Answered(Outcome, Between),
    Observed(Tree),
    /// The kernel refused something that is not the trace's, or with an error that no trace can hold.
    Errno {
        doing: String,
        number: i32,
    },
}
