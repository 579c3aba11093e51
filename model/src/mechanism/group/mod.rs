//! The group transaction: two processes that write one database, barriers of several threads, and crashes.
//!
//! Keeps DUR-1, DUR-2, DUR-4, DUR-6 to DUR-10, DUR-13, DUR-15, DUR-16, KV-8, OPEN-3 and OPEN-9. What the database holds are two cells, and
//! an operation writes its own number into one of them, so that every loss, every wrong order and every trace can be seen.
//!
//! Each step is what the implementation does under one lock, or one call of SQLite:
//!
//! | step | implementation (`src/`) |
//! |---|---|
//! | `Operate` | `Store::mutate`: `open_group`, a savepoint, the operation; of a file also `Losses::settle` and `touch` |
//! | `Wait` | `Shared::take_turn` while the other has SQLite's lock (`LockFile::announce_waiting`) |
//! | `CommitInTime` | `Shared::commit_in_time` |
//! | `BeginReading`, `EndReading` | `Store::read` and its `Snapshot` |
//! | `BeginBarrier` ... `EndBarrier` | `AgentFs::barrier_on`; `Shared::barrier` and `flush`; `wal::sync`; `Losses::take` |
//! | `BeginCheckpoint`, `GoOnWithCheckpoint` | `Shared::checkpoint`: what SQLite does for it, on its own connection |
//! | `BeginClosing`, `EndClosing` | `Store::shut_down`, `Shared::close_connections` |
//! | `Open` | `Store::open`; SQLite recovers the log |
//! | `Kill`, `LosePower` | SIGKILL; the machine stops |
//!
//! What is left out: times (a group may end at any moment; nobody waits so long that it gives up), access times, the
//! limit of space, and a log that SQLite resets within a checkpoint (it starts anew with the next commit instead).

mod barrier;
mod disk;
mod process;
mod state;
mod steps;

pub use state::{
    BARRIERS, Barrier, CELLS, Cells, Checkpoint, Disk, FRAMES, Fate, Group, Life, OPERATIONS, Outcome, Phase,
    Process, Reading, Spent, State, TORN, Target, Told, Trouble, Who,
};

/// The mechanism within bounds, as it is or with a seeded bug.
#[derive(Clone, Debug)]
pub struct Groups {
    /// How much of everything.
    pub bounds: Bounds,
    /// What is wrong with it.
    pub bug: Option<Bug>,
}

/// How much of everything happens. Arrays are by process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Operations that succeed.
    pub operations: u8,
    /// The cells that each process writes, as a set.
    pub cells: [u8; 2],
    /// Cell 1 is a key of the key-value store: nothing above the store notes that it was changed.
    pub key: bool,
    /// Barriers that each process has under way at once.
    pub barriers: [u8; 2],
    /// What they are for, as a set of [`Target`]s.
    pub targets: u8,
    /// Barriers begun in all; 0 for no limit.
    pub barriers_begun: u8,
    /// Whether each process has reading operations.
    pub reads: [bool; 2],
    /// Whether each process checkpoints.
    pub checkpoints: [bool; 2],
    /// Whether each process may close the database.
    pub closes: [bool; 2],
    /// Whether an operation may fill its group.
    pub full_groups: bool,
    /// Operations that fail.
    pub failures: u8,
    /// Groups that are lost.
    pub lost_groups: u8,
    /// Flushes of the log that fail.
    pub failed_flushes: u8,
    /// Processes that are killed.
    pub kills: u8,
    /// Losses of power.
    pub power_losses: u8,
    /// Times that a closed or killed process comes back.
    pub openings: u8,
}

/// What can be wrong with it: each has happened, here or elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// A barrier that commits and does not flush.
    CommitOnly,
    /// A barrier that has the log copied instead of flushed, and does not look whether that was done.
    TrustsCheckpoint,
    /// A flush that failed is tried again by the next barrier, which believes it.
    FailedFlushForgotten,
    /// The log goes on to be copied into the main file after a flush has failed.
    CheckpointAfterFailure,
    /// The pages are copied into the main file before the log is flushed.
    CheckpointBeforeFlush,
    /// A checkpoint that had nothing to do says how far the log was copied after the log has started anew.
    CheckpointIgnoresReset,
    /// What a group holds leaves memory before it is committed.
    PendingDropped,
    /// A group waits for its commit while the next one begins, which can overtake it.
    OutOfOrder,
    /// A failed operation is not taken back.
    NoSavepoint,
    /// A lost group is reported to nobody.
    LossUnreported,
    /// A lost group is reported to those that the next group touches.
    LossToLaterTouchers,
    /// A lost group that changed only keys is reported to files of the group before.
    KeyLossBlamedOnFile,
    /// A barrier that loses a second group answers with that, and the loss stays to be reported.
    SecondLossToldTwice,
    /// Of several barriers on one file under way when its group is lost, only one reports it.
    LossTakenByOneBarrier,
    /// A barrier looks at what its flush has covered only when the flush is done.
    CoverReadLate,
    /// A barrier has nothing to flush when only others have committed.
    ForeignNotFlushed,
    /// What a reading operation saw is still seen by the next group.
    SnapshotKept,
    /// A process that has just committed begins the next group although the other waits.
    NoStepBack,
    /// The end of the store drops a group that was opened after its last barrier.
    ClosingDropsGroup,
}

/// How an operation ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum How {
    /// It is acknowledged.
    Kept,
    /// It fails half way.
    Fails,
    /// It fails, and SQLite gives up the whole group.
    LosesGroup,
    /// The group is full with it, and is committed at once or lost.
    FillsGroup {
        /// Which of the two.
        committed: bool,
    },
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the table above says what each is")]
pub enum Step {
    Operate { who: Who, cell: u8, how: How },
    Wait { who: Who },
    CommitInTime { who: Who, succeeds: bool },
    BeginReading { who: Who },
    EndReading { who: Who },
    BeginBarrier { who: Who, on: Target },
    CommitForBarrier { who: Who, which: usize, on: Target, succeeds: bool },
    LookAtSyncer { who: Who, which: usize, on: Target },
    FlushForBarrier { who: Who, which: usize, on: Target, succeeds: bool },
    NoteFlush { who: Who, which: usize, on: Target },
    EndBarrier { who: Who, which: usize, on: Target },
    BeginCheckpoint { who: Who, succeeds: bool },
    GoOnWithCheckpoint { who: Who },
    BeginClosing { who: Who },
    EndClosing { who: Who },
    Open { who: Who },
    Kill { who: Who },
    LosePower { frames: u8, pages: u8 },
}

impl Groups {
    /// As the implementation is.
    #[must_use]
    pub const fn new(bounds: Bounds) -> Self {
        Self { bounds, bug: None }
    }

    /// With one thing wrong.
    #[must_use]
    pub const fn with(bounds: Bounds, bug: Bug) -> Self {
        Self { bounds, bug: Some(bug) }
    }

    /// Two processes that have just opened an empty database.
    #[must_use]
    pub fn initial(&self) -> State {
        let process = Process { life: Life::Open, ..Process::default() };
        State {
            told: Told::default(),
            disk: Disk::default(),
            writer: None,
            processes: [process; 2],
            spent: Spent::default(),
            trouble: None,
        }
    }

    const fn is_file(&self, cell: u8) -> bool {
        cell == 0 || !self.bounds.key
    }
}
