//! What the kernel, the messages, the daemon and the database hold at one moment.
//!
//! Small on purpose: an exploration keeps tens of millions of these. What comes in no order that matters (workers) is kept sorted, so that states which mean the same are the same. No step is known here.

use std::fmt;

use super::database::Database;
use super::inode::{Counts, Ino, Inodes, Name};

/// The most workers that a state has room for.
pub const WORKERS: usize = 3;
/// The most references that one FORGET gives back.
pub const FORGOTTEN: usize = 3;

/// All of it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Whether there is a mount.
    pub phase: Phase,
    /// The kernel's side.
    pub kernel: Kernel,
    /// Messages that were sent and not yet read.
    pub channel: Channel,
    /// The memory of the process that serves the mount.
    pub daemon: Daemon,
    /// The database as the daemon sees it: with the group that is open.
    pub now: Database,
    /// The database as a crash would leave it, and as other processes see it.
    pub committed: Database,
    /// Numbers that were lost with their group and then handed out as another inode while somebody still had them as
    /// the lost one. Nobody keeps this.
    pub mixed: Inodes,
}

/// Where a mount is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// There is none; the last one, or the process that had the database alone, was killed.
    Killed,
    /// There is none; the last one came to its end.
    Ended,
    /// The daemon has swept, and serves nothing yet.
    Swept,
    /// Requests are served.
    Mounted,
    /// The connection to the kernel is cut; the workers finish what they have.
    Cut,
}

/// What the kernel remembers of files.
///
/// Names that it has cached are not among it: it may drop any of them at any time, so they hold no inode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// How often each was looked up: the references that it will give back.
    pub lookups: Counts,
    /// Files that somebody has open; those stay.
    pub open: Inodes,
}

/// Messages under way that carry references. Any of them may be read next.
///
/// Requests need no place. What a request finds is decided when it is served, so that one which is served at any
/// moment stands for one that was sent long before, and for those that overtake each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Entries in replies that the kernel has not taken in. Those of one listing are taken in one by one.
    pub entries: Counts,
    /// FORGETs by the number of references that they give back, from 1.
    pub forgets: [Counts; FORGOTTEN],
}

/// A request that may hand out references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// LOOKUP.
    Lookup(Name),
    /// CREATE, MKNOD, MKDIR or SYMLINK. That the first opens the file as well is a step of its own.
    Create(Name),
    /// LINK, of an inode that the kernel keeps until it has the reply.
    Link(Ino, Name),
    /// UNLINK or RMDIR.
    Unlink(Name),
    /// RENAME of the one name to the other, which is replaced.
    Rename(Name),
    /// READDIRPLUS from the start.
    List,
}

/// The daemon's memory, which ends with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Daemon {
    /// What its threads have in hand.
    pub workers: [Worker; WORKERS],
    /// References handed out and not given back.
    pub references: Counts,
    /// Inodes without a name that were referred to when that was noticed.
    pub orphans: Inodes,
    /// Inodes that were lost with their group, while somebody refers to them.
    pub lost: Inodes,
    /// Inodes that a thread is about to remove, unless it finds a reason not to.
    pub freeing: Inodes,
    /// Whether the database changed, or a group was lost, since the watcher last looked.
    pub unseen: bool,
    /// How many numbers were given out, as far as it ever knew.
    pub numbers: u8,
}

/// A thread of the daemon between the two things that it does for a request: the file system's part, which the
/// lock of its state makes one step, and the reply.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Worker {
    /// What it has to do next.
    pub stage: Stage,
    /// What the reply hands out.
    pub entries: [Option<Ino>; Name::ALL.len()],
}

/// How far a worker is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// It waits for a request.
    #[default]
    Idle,
    /// Its reply hands out references and is not sent.
    Replying,
    /// Its reply is sent and the references in it are not counted. Only a seeded bug comes here.
    Counting,
}

/// What there is, without what is as it was at the beginning.
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut state = f.debug_struct("State");
        state.field("phase", &self.phase);
        let mut part = |name, is_there, part: &dyn fmt::Debug| {
            if is_there {
                state.field(name, part);
            }
        };
        part("kernel", self.kernel != Kernel::default(), &self.kernel);
        part("channel", !self.channel.is_quiet(), &self.channel);
        part("daemon", self.daemon != Daemon::default(), &self.daemon);
        part("now", true, &self.now);
        part("committed", self.committed != self.now, &self.committed);
        part("mixed", !self.mixed.is_empty(), &self.mixed);
        state.finish()
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Idle => return f.write_str("idle"),
            Stage::Replying => "replying",
            Stage::Counting => "counting",
        };
        f.write_str(stage)?;
        self.each().try_for_each(|ino| write!(f, " {ino:?}"))
    }
}

impl Worker {
    /// What its reply hands out.
    pub fn each(&self) -> impl Iterator<Item = Ino> {
        self.entries.into_iter().flatten()
    }
}

impl Channel {
    /// Whether nothing is under way.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        *self == Self::default()
    }

    /// References to `ino` that are on their way back.
    #[must_use]
    pub fn forgotten(&self, ino: Ino) -> u8 {
        (1..).zip(&self.forgets).map(|(count, messages)| count * messages[ino]).sum()
    }
}

impl Daemon {
    /// Workers that have a reply in hand.
    #[must_use]
    pub fn busy(&self) -> usize {
        self.workers.iter().filter(|worker| worker.stage != Stage::Idle).count()
    }

    /// Whether no thread of it has anything in hand.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.busy() == 0 && self.freeing.is_empty()
    }

    pub(super) fn put_worker(&mut self, worker: Worker) {
        // Sorted, the idle ones come first; the callers make sure that there is one.
        self.workers[0] = worker;
        self.workers.sort_unstable();
    }

    pub(super) fn take_worker(&mut self, worker: Worker) {
        if let Some(place) = self.workers.iter_mut().find(|place| **place == worker) {
            *place = Worker::default();
        }
        self.workers.sort_unstable();
    }
}

impl State {
    /// What the daemon has to have counted for `ino`: what the kernel holds, and what is under way to it and from it.
    #[must_use]
    pub fn owed(&self, ino: Ino) -> u8 {
        self.kernel.lookups[ino] + self.channel.entries[ino] + self.channel.forgotten(ino)
    }

    /// Whether the kernel can come to use `ino`: it has it, or a reply brings it.
    #[must_use]
    pub fn in_use(&self, ino: Ino) -> bool {
        self.kernel.lookups[ino] > 0 || self.kernel.open.has(ino) || self.channel.entries[ino] > 0
    }

    /// Whether nothing happens unless the kernel, a timer or another process begins it.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.phase == Phase::Mounted && self.channel.is_quiet() && self.daemon.is_idle()
    }
}
