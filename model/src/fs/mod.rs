//! The abstract file system: its state, and what every system call may answer and makes of it.
//!
//! [`FileSystem::step`] gives the branches that a call allows: what may be answered, by which rules, and the state that
//! follows. Most calls have one branch. The reference is Linux with the rules of SPEC.md; what may differ from one file
//! system to another is in [`Profile`](crate::profile::Profile).
//!
//! Not here: durability and crashes (who drives a trace over them keeps the states since the last barrier), disks that are
//! full or broken, and what a call costs.

mod attributes;
mod canonical;
mod content;
mod create;
#[cfg(feature = "check")]
mod damage;
mod description;
mod dispatch;
mod invariant;
mod listing;
mod path;
mod permission;
mod range;
mod remove;
mod rename;
mod time;
mod tree;
mod xattr;

use std::collections::BTreeMap;

use crate::Errno;
use crate::bytes::Bytes;
use crate::call::{Call, OpenFlags};
use crate::outcome::{Allowed, Expected, Outcome, RuleId};
use crate::profile::Profile;
use crate::trace::Setting;
use crate::values::{Credentials, FileKind, Handle, InodeId, ProcessId, Time};

pub use content::{Content, Layout};
pub use invariant::Violation;
pub use tree::{Object, ObjectContent};

/// The number of a directory entry, in the order in which entries were made.
pub type EntryId = u64;

/// A process: who it is, and its umask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// Who it acts as.
    pub credentials: Credentials,
    /// Permissions that it does not give to what it creates.
    pub umask: u32,
}

/// What an inode holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A regular file's bytes.
    Regular(Content),
    /// A directory's entries.
    Directory(Directory),
    /// Where a symlink points.
    Symlink(Bytes),
    /// Nothing but its kind and, for a device, its number.
    Special(FileKind, u32),
}

/// The entries of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Directory {
    /// What ".." leads to; of the root, itself; of a removed directory, where it was.
    pub parent: InodeId,
    /// Names, and what they name.
    pub entries: BTreeMap<Bytes, Dentry>,
}

/// One name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dentry {
    /// What it names.
    pub inode: InodeId,
    /// Its place in listings.
    pub id: EntryId,
}

/// An inode.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inode {
    /// The twelve bits.
    pub permissions: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// How many entries name it; the root has 1.
    pub names: u64,
    /// Last read.
    pub atime: Time,
    /// Last change of content.
    pub mtime: Time,
    /// Last change of content or attributes.
    pub ctime: Time,
    /// Extended attributes.
    pub xattrs: BTreeMap<Bytes, Bytes>,
    /// What it is and holds.
    pub node: Node,
}

/// An open file description.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Description {
    /// What is open.
    pub inode: InodeId,
    /// How.
    pub flags: OpenFlags,
    /// Where the next read or write is.
    pub offset: u64,
    /// How far a listing has come.
    pub listing: listing::Listing,
}

/// The whole state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileSystem {
    profile: Profile,
    read_only: bool,
    processes: Vec<Process>,
    inodes: BTreeMap<InodeId, Inode>,
    descriptions: BTreeMap<(ProcessId, Handle), Description>,
    next_inode: u64,
    next_entry: EntryId,
}

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error.
    pub errno: Errno,
    /// The rule that says so.
    pub rule: &'static str,
}

/// The refusal of `errno` by `rule`.
const fn refusal(errno: Errno, rule: &'static str) -> Refusal {
    Refusal { errno, rule }
}

/// Result of a call within the model.
type Answer<T = Expected> = Result<T, Refusal>;

/// A call that is not a call: nothing that a program could make, or that a trace may hold. Says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inadmissible(pub String);

impl std::fmt::Display for Inadmissible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Inadmissible {}

/// What a call may answer, and the state that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The answer, and why.
    pub allowed: Allowed,
    next: FileSystem,
    call: Call,
}

impl Branch {
    /// The state after the call answered `outcome`, which must be one of those allowed.
    #[must_use]
    pub fn settle(mut self, outcome: &Outcome) -> FileSystem {
        self.next.learn(&self.call, outcome);
        self.next
    }

    /// The state after the call, where the answer makes no difference to it.
    #[must_use]
    pub fn into_next(self) -> FileSystem {
        self.next
    }
}

impl FileSystem {
    /// The state in which a trace begins, at `now`.
    #[must_use]
    pub fn start(setting: &Setting, now: Time) -> Self {
        let root = Inode {
            permissions: setting.root.permissions,
            uid: setting.root.uid,
            gid: setting.root.gid,
            names: 1,
            atime: now,
            mtime: now,
            ctime: now,
            xattrs: BTreeMap::new(),
            node: Node::Directory(Directory { parent: InodeId::ROOT, entries: BTreeMap::new() }),
        };
        let process = |credentials: &Credentials| Process { credentials: credentials.clone(), umask: 0o022 };
        Self {
            profile: setting.profile.clone(),
            read_only: false,
            processes: setting.processes.iter().map(process).collect(),
            inodes: BTreeMap::from([(InodeId::ROOT, root)]),
            descriptions: BTreeMap::new(),
            next_inode: InodeId::ROOT.0 + 1,
            next_entry: 1,
        }
    }

    /// What may differ.
    #[must_use]
    pub const fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Whether it refuses every change.
    #[must_use]
    pub const fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The processes, by number.
    #[must_use]
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Every inode that exists, those without a name included.
    #[must_use]
    pub const fn inodes(&self) -> &BTreeMap<InodeId, Inode> {
        &self.inodes
    }

    /// Every open file description, by its process and handle.
    #[must_use]
    pub const fn descriptions(&self) -> &BTreeMap<(ProcessId, Handle), Description> {
        &self.descriptions
    }

    /// The branches that `call` allows at `now`.
    ///
    /// # Errors
    /// When it is no call that a program could make in this state.
    pub fn step(&self, now: Time, call: &Call) -> Result<Vec<Branch>, Inadmissible> {
        self.admit(call)?;
        let mut next = self.clone();
        let answer = next.run(now, call);
        if let Ok(Expected::Exactly(Outcome::Unsupported(why))) = answer {
            return Err(Inadmissible(why));
        }
        let (expected, rules) = match answer {
            Ok(expected) => (expected, call.operation.rules()),
            Err(Refusal { errno, rule }) => {
                (Expected::Exactly(Outcome::Error(errno)), vec![RuleId::Borrowed(rule)])
            }
        };
        next.note_departures();
        next.release();
        let branch =
            |expected, rules, next| Branch { allowed: Allowed { expected, rules }, next, call: call.clone() };
        let mut branches: Vec<Branch> = self
            .other_refusals(call, &expected)
            .into_iter()
            .map(|(errno, rule)| {
                branch(Expected::Exactly(Outcome::Error(errno)), vec![RuleId::Borrowed(rule)], self.clone())
            })
            .collect();
        branches.insert(0, branch(expected, rules, next));
        Ok(branches)
    }
}
