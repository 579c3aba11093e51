//! The kernel's caches over the daemon, and other processes that change the database below: what a user is served, and
//! what becomes of what a user writes.
//!
//! Keeps MNT-8, MNT-9, MNT-22, MNT-23, MNT-34, MNT-41, MNT-42 and FS-TIME-7. Each step is one of the kernel, of a worker of
//! the daemon, of its watching thread, or of another process; between any two steps any other can come.
//!
//! | step | implementation (`src/`) |
//! |---|---|
//! | `Begin`, `Open`, `WriteByte` | a system call; the kernel answers it from its caches or sends a request |
//! | `WriteBack`, `SendTimes` | the kernel's own requests: WRITE with `FUSE_WRITE_CACHE`, SETATTR of times that it kept |
//! | `Send` | the kernel has written back what it must before the request |
//! | `Serve` | a worker calls the file system (after `KnownInodes::ask`): `lookup_name`, `change_attributes`, `write_bytes` ...; of LSEEK, `barrier::seek` |
//! | `Tell` | `KnownInodes::hand_out`, `show` or `drop_name`, the answer, and `answered` |
//! | `Deliver` | the kernel takes the answer over into its caches |
//! | `Commit` | `Shared::commit_in_time` |
//! | `Pass`, `Notify` | `Watch::pass` and the messages that it sends (`notify`) |
//! | `Foreign` | another process commits; `ForeignBegin` only where a seeded bug looks at what is not committed |
//! | `Tick` | a third of the bound of MNT-9 goes by |
//!
//! Of the kernel it takes what Linux 6.18 does, and where versions differ the weaker: an answer to SETATTR is taken over
//! also when an invalidation has overtaken it, and an invalidation of a name does not wait for a LOOKUP under way.
//!
//! Taken for granted: in a third of a second the watcher makes a pass, the open group is committed, and a request that was
//! sent is answered; an answer that was sent is taken over before the next but one pass begins. Left out, unless the
//! bounds ask for `collisions`, are the two cases that MNT-42 excepts, both of a file that another process makes longer while
//! the mount has it open: at the moment in which its end is shown, the mount writes just there, or cuts it short.
//! And the kernel does not wait for a time that it is sending before it cuts a file short, so that the time of a write
//! before may be what stays.

mod daemon;
mod kernel;
mod state;
mod steps;
mod watcher;

pub use state::{
    Age, Change, DIRECTORY, EMPTY, Entry, FILE, Inode, Known, NONE, NOTHING, Operation, Page, Request, Spent,
    Stage, State, Stored, Trouble, Trust, Watcher, Whose, ZERO,
};

/// Ticks after which a change by another process must be seen.
pub const BOUND: u8 = 3;
/// Ticks for which the kernel believes that a name does not exist.
const ABSENT: u8 = BOUND - 1;
/// Passes after which a name that somebody holds is dropped again.
const RETRY: u8 = 2;

/// The mechanism within bounds, as it is or with a seeded bug.
#[derive(Clone, Debug)]
pub struct Caches {
    /// How much of everything.
    pub bounds: Bounds,
    /// What is wrong with it.
    pub bug: Option<Bug>,
}

/// How much of everything happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// What users do.
    pub calls: Vec<Operation>,
    /// Changes by users of the mount.
    pub own: u8,
    /// What other processes do.
    pub changes: Vec<Change>,
    /// How often.
    pub foreign: u8,
    /// The file is open from the beginning, and stays so.
    pub held_open: bool,
    /// The name stands for nothing at first.
    pub absent: bool,
    /// The file is empty at first.
    pub empty: bool,
    /// What the rules except happens as well.
    pub collisions: bool,
}

/// What can be wrong with it: each has happened, here or elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// A late write sets the time at which it arrives.
    WriteMovesTimes,
    /// A time that a user gives does not wait for the one that the kernel kept before.
    TimesOvertaken,
    /// A write is answered before it is applied, so that what follows can overtake it.
    WriteAnsweredEarly,
    /// The size in an answer is believed while a page is dirty.
    SizeOfAnswerBelieved,
    /// fsync does not wait for dirty pages.
    FsyncBeforeWriteBack,
    /// Data and holes are looked for without the dirty pages.
    SeekWithoutWriteBack,
    /// The mount ends without its dirty pages.
    EndWithoutWriteBack,
    /// The caches are dropped when another process begins to write, not when it has committed.
    NoticedBeforeCommit,
    /// A commit of another process between two of our own is not noticed.
    CommitMissed,
    /// Our own commits are taken for those of others.
    OwnCommitsNoticed,
    /// An answer that was found before the news and sent after is not looked at again.
    LateAnswerForgotten,
    /// What was dropped is not dropped again, although an answer under way can bring it back.
    DroppedOnce,
    /// That a name does not exist is believed for as long as the whole bound.
    AbsenceBelievedTooLong,
    /// The end of a file is stored although it has not grown.
    EndStoredOverWrites,
    /// A name that is held open is not dropped again.
    HeldForgotten,
    /// A file is shown once to have grown, although an answer that hands it out as it was can be on its way.
    GrowthShownOnce,
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the table above says what each is")]
pub enum Step {
    Begin(Whose, Operation),
    Open,
    WriteByte,
    WriteBack,
    SendTimes,
    Send,
    Serve(Whose),
    Tell(Whose),
    Deliver(Whose),
    Commit,
    ForeignBegin(Change),
    Foreign(Change),
    Pass,
    Notify,
    Tick,
}

impl Caches {
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

    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// A mount whose kernel knows nothing, or has the file open.
    #[must_use]
    pub fn initial(&self) -> State {
        let held = self.bounds.held_open;
        let name = if self.bounds.absent { NOTHING } else { FILE };
        let content = if self.bounds.empty { EMPTY } else { 1 };
        let size = u8::from(!self.bounds.empty);
        let stored = Stored { content, mtime: 1, mode: 1, name };
        let inode =
            Inode { there: true, open: true, size, mtime: 1, mode: 1, mode_valid: true, ..Inode::default() };
        let entry = Entry { there: true, to: FILE, trust: Trust::Always };
        let known = Known { file: true, size, passes: 2, named: FILE, ..Known::default() };
        State {
            stored,
            group: false,
            unnoticed: false,
            news: false,
            uncommitted: None,
            known: if held { known } else { Known::default() },
            watcher: Watcher::default(),
            entry: if held { entry } else { Entry::default() },
            inode: if held { inode } else { Inode::default() },
            requests: Default::default(),
            mine: Stored::NOTHING,
            ages: [Age::NONE; 3],
            let_go: 0,
            unmounted: false,
            spent: Spent { changes: 1, ..Spent::default() },
            trouble: None,
        }
    }
}
