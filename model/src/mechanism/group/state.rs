//! What there is at one moment: the files, two processes, and what has been promised to their callers.
//!
//! Small on purpose: fixed arrays of bytes, so that a state is cheap to copy and to hash. Counters are kept relative
//! (what is not flushed yet, instead of two totals), so that states which behave alike are the same state.

use std::fmt;

/// Places that operations write: cell 0 is a file, cell 1 another file or, where the bounds say so, a key.
pub const CELLS: usize = 2;
/// Operations that a run can acknowledge at most.
pub const OPERATIONS: usize = 5;
/// Transactions that fit into the log: one for each operation, and one for the trace of one that failed.
pub const FRAMES: usize = OPERATIONS + 1;
/// Barriers that one process can have under way.
pub const BARRIERS: usize = 2;

/// What the cells hold: the operation that wrote each last, 0 at first.
pub type Cells = [u8; CELLS];

/// What an operation that fails has written before it does.
pub const TORN: u8 = 1;

/// The operation with this number, from 1, on `cell`.
pub(super) const fn operation(number: u8, cell: u8) -> u8 {
    number << 1 | cell
}

/// The cell that an operation writes.
pub(super) const fn cell_of(operation: u8) -> u8 {
    operation & 1
}

/// One of the two processes that share the database.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Who {
    /// The first.
    A,
    /// The second.
    B,
}

impl Who {
    /// Both.
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// What a barrier is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub enum Target {
    /// fsync of the file in cell 0.
    #[default]
    File,
    /// fsync of the file in cell 1.
    Other,
    /// sync.
    Everything,
}

impl Target {
    /// Its bit in a set of targets.
    #[must_use]
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A state of the whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// What callers were told.
    pub told: Told,
    /// The log and the main file.
    pub disk: Disk,
    /// Who has SQLite's write transaction.
    pub writer: Option<Who>,
    /// The two processes.
    pub processes: [Process; 2],
    /// What of the bounds is used up.
    pub spent: Spent,
    /// What went wrong, if anything.
    pub trouble: Option<Trouble>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { operations, length, open, promised } = self.told;
        let operations = &operations[..usize::from(length)];
        write!(f, "acknowledged {operations:?}, {open} of them in an open group, {promised} promised; ")?;
        let Disk { frames, length, synced, copied, hole, main, main_synced, .. } = self.disk;
        let frames = &frames[..usize::from(length)];
        write!(f, "log {frames:?}, {synced} flushed, {copied} copied, hole: {hole}; ")?;
        write!(f, "main file {main:?}, flushed {main_synced:?}")?;
        for (who, process) in Who::ALL.into_iter().zip(&self.processes) {
            let Process { life, group, unflushed, failed, unreported, .. } = process;
            write!(f, "; {who:?} {life:?}, group {}, unflushed {unflushed}", group.open)?;
            write!(f, ", flush failed {failed}, unreported {unreported}")?;
        }
        self.trouble.map_or(Ok(()), |trouble| write!(f, "; {trouble:?}"))
    }
}

/// The acknowledged operations in their one order, without those of groups that were lost or killed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Told {
    /// The operations.
    pub operations: [u8; OPERATIONS],
    /// How many there are.
    pub length: u8,
    /// How many of the last are in a group that is not committed.
    pub open: u8,
    /// How many of the first must survive any crash, since a barrier that covers them has returned.
    pub promised: u8,
}

impl Told {
    /// What the cells hold after the first `length` operations.
    #[must_use]
    pub fn after(&self, length: u8) -> Cells {
        let mut cells = Cells::default();
        for &operation in &self.operations[..usize::from(length)] {
            cells[usize::from(cell_of(operation))] = operation;
        }
        cells
    }

    /// How many operations are committed.
    #[must_use]
    pub const fn committed(&self) -> u8 {
        self.length.saturating_sub(self.open)
    }

    pub(super) fn acknowledge(&mut self, operation: u8) {
        self.operations[usize::from(self.length)] = operation;
        self.length += 1;
        self.open += 1;
    }

    /// Leaves the first `length` operations.
    pub(super) fn cut(&mut self, length: u8) {
        self.operations[usize::from(length)..].fill(0);
        self.length = length;
        self.open = 0;
    }

    /// The cells that the open group has changed, as a set of [`Target`]s.
    pub(super) fn open_cells(&self) -> u8 {
        let open = usize::from(self.committed())..usize::from(self.length);
        self.operations[open].iter().fold(0, |set, &operation| set | 1 << cell_of(operation))
    }
}

/// The files below SQLite, as running processes see them and as the disk has them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Disk {
    /// The committed transactions in the log, each the cells that it wrote (0: not written).
    pub frames: [Cells; FRAMES],
    /// How many there are.
    pub length: u8,
    /// How many are on the disk.
    pub synced: u8,
    /// How many have been copied into the main file.
    pub copied: u8,
    /// The kernel failed to write what was not synced, and has forgotten that it should: nothing past `synced` reaches
    /// the disk any more, whatever a later flush says.
    pub hole: bool,
    /// Descriptors to which the kernel has yet to report that: [`Descriptor`]s.
    pub failing: u8,
    /// The main file, as the kernel has it.
    pub main: Cells,
    /// The main file, as it was last flushed. Each page that differs is on the disk or is not.
    pub main_synced: Cells,
    /// The checkpoint that runs.
    pub checkpoint: Checkpoint,
}

/// A checkpoint under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Checkpoint {
    /// None.
    #[default]
    None,
    /// The log is flushed up to `target`.
    Flushed {
        /// Who copies.
        by: u8,
        /// The number of transactions to copy.
        target: u8,
    },
    /// And their pages are written, but not flushed.
    Copied {
        /// Who copies.
        by: u8,
        /// The number of transactions copied.
        target: u8,
    },
}

/// An open description of the log, as far as flushing goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Descriptor {
    /// Of the connection that syncs.
    Syncer,
    /// Of the connection that checkpoints.
    Checkpointer,
}

impl Descriptor {
    pub(super) const fn bit(self, of: Who) -> u8 {
        1 << (2 * of as u8 + self as u8)
    }
}

/// Whether a process has the database open.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Life {
    /// It has not, or no longer.
    #[default]
    Closed,
    /// It has.
    Open,
    /// The last barrier is done, the connections are not closed yet.
    Closing,
}

/// One process that has the database open: `Store`, and the part of `AgentFs` that reports losses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Process {
    /// Whether it has.
    pub life: Life,
    /// The group that it has open.
    pub group: Group,
    /// A reading operation that is under way.
    pub reading: Reading,
    /// An operation waits for the other's group, with the lock of the writer held.
    pub waits: bool,
    /// Groups that the other has begun meanwhile.
    pub overtaken: u8,
    /// The other has committed, and nothing here has noticed.
    pub news: bool,
    /// Commits made or noticed that no flush of this process covers.
    pub unflushed: u8,
    /// A flush of the log has failed; nothing is promised any more.
    pub failed: bool,
    /// The same, kept apart from what the implementation remembers of it.
    pub has_failed: bool,
    /// Files that `touched_in` touched (bits of [`Target`]).
    pub touched: u8,
    /// What became of the group in which they were.
    pub touched_in: Fate,
    /// A group was lost since `settle` ran.
    pub unsettled: bool,
    /// Losses that the next barrier on each target is to report.
    pub unreported: u8,
    /// Losses that no barrier on each target has told its caller, kept apart from what the implementation remembers.
    pub unheard: u8,
    /// Barriers under way, in no order.
    pub barriers: [Barrier; BARRIERS],
}

/// What became of a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Fate {
    /// It is open.
    #[default]
    Open,
    /// It is in the log.
    Committed,
    /// It is gone.
    Lost,
}

/// The group transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Group {
    /// Whether there is one.
    pub open: bool,
    /// Cells that it has written.
    pub written: u8,
    /// What an operation in it sees.
    pub view: Cells,
    /// Only where a seeded bug takes the bytes of a group out of memory before their commit.
    pub taken: Cells,
}

/// What a reading operation sees.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Reading {
    /// There is none.
    #[default]
    None,
    /// The main file and the log up to `mark`, with the content that this was at the beginning.
    To {
        /// Transactions of the log that it sees; 0 when it does not look into the log.
        mark: u8,
        /// What it saw first.
        view: Cells,
    },
}

/// How far a barrier is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub enum Phase {
    /// There is none.
    #[default]
    None,
    /// It has counted the lost groups.
    Begun,
    /// It has committed, and knows what must be flushed.
    Committed,
    /// It has the lock of the syncer, and knows what this flush will cover.
    Flushing,
    /// Only where a seeded bug looks at what the flush has covered when it is done.
    Flushed,
    /// It knows its outcome, but not yet what was lost.
    Ending,
}

/// What a barrier answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub enum Outcome {
    /// All is on the disk.
    #[default]
    Fine,
    /// A group was lost.
    Lost,
    /// The log could not be flushed.
    Unflushed,
}

/// A barrier under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub struct Barrier {
    /// How far it is.
    pub phase: Phase,
    /// What it is for.
    pub on: Target,
    /// How many of `unflushed` it must see flushed.
    pub wanted: u8,
    /// How many of `unflushed` its flush will cover.
    pub covers: u8,
    /// What came out of the store.
    pub outcome: Outcome,
    /// A group was lost since it began.
    pub lost_meanwhile: bool,
    /// Another barrier on the same target has reported a loss since it began.
    pub told_meanwhile: bool,
    /// It has begun anew once.
    pub again: bool,
    /// Operations that must survive when it succeeds.
    pub needs: u8,
    /// The open group had changed its target when it began.
    pub inside: bool,
    /// Something was lost that it must report: acknowledged before it began, and told by nobody before.
    pub must_report: bool,
    /// Something was lost that it may report.
    pub may_report: bool,
    /// It began after a flush had failed.
    pub after_failure: bool,
}

/// How much of each bound is used up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Spent {
    /// Operations acknowledged.
    pub operations: u8,
    /// Operations that failed.
    pub failures: u8,
    /// Groups that were lost.
    pub lost_groups: u8,
    /// Flushes that failed, those that only repeat the failure of another left out.
    pub failed_flushes: u8,
    /// Processes killed.
    pub kills: u8,
    /// Times that the machine lost its power.
    pub power_losses: u8,
    /// Times that a process opened the database, the first left out.
    pub openings: u8,
    /// Barriers begun.
    pub barriers: u8,
}

/// What must never happen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Trouble {
    /// After a crash the database is not what any prefix of the acknowledged operations makes of it.
    NoPrefix,
    /// Something is missing that a barrier had promised.
    Forgotten,
    /// An operation did not see what was acknowledged, or committed, before it.
    StaleView,
    /// A reading operation saw two states.
    TwoStates,
    /// A barrier succeeded over a loss of which nobody had been told.
    LossUntold,
    /// A barrier reported a loss that there was none, or that had been told.
    LossToldTwice,
    /// A barrier succeeded although a flush had failed before.
    Hollow,
    /// Acknowledged operations vanished without a crash and without a report.
    Vanished,
    /// The last process to close left a log behind.
    LogLeft,
}
