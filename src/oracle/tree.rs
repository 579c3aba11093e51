//! The whole tree of a file system as it is at one moment, for comparison with the model's.
//!
//! Only what can be seen without changing it: looking must not move a time. How it is looked at is up to each
//! implementation (for a directory of the host: `host::observe`).

use agentfs_model::bytes::Bytes;
use agentfs_model::outcome::{Entry, Status};
use serde::{Deserialize, Serialize};

/// Bytes of a file between two holes, and the offset that they begin at.
pub type Piece = (u64, Bytes);

/// Everything that can be reached from the root, which comes first; a directory comes before what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tree {
    /// One for each path. A file with two names is there twice.
    pub objects: Vec<Observed>,
}

/// What is at one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// From the root: "/" or "/a/b".
    pub path: Bytes,
    /// What lstat shows.
    pub status: Status,
    /// The pieces that are no holes, in order, of a regular file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<Piece>>,
    /// The target of a symlink, where reading it moves no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Bytes>,
    /// Extended attributes that user 0 sees, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub xattrs: Vec<(Bytes, Bytes)>,
    /// The entries of a directory without "." and "..", in the order in which they are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<Entry>>,
}

impl Tree {
    /// What is at `path`, written as in [`Observed::path`].
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&Observed> {
        self.objects.iter().find(|object| *object.path == *path.as_bytes())
    }
}
