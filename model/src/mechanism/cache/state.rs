//! What there is at one moment: the database, what the daemon remembers of the kernel, the kernel's caches, the messages
//! between the two, and what users may expect.
//!
//! One directory with one name in it. The name stands for nothing, for the file, or for a directory that another process
//! has made in its place. The file holds one byte or none, so that its content says its size.

use std::fmt;

/// What a name stands for: nothing.
pub const NOTHING: u8 = 0;
/// What a name stands for: the file.
pub const FILE: u8 = 1;
/// What a name stands for: a directory.
pub const DIRECTORY: u8 = 2;

/// No byte: the content of an empty file.
pub const EMPTY: u8 = 0;
/// What a read past the end of the content finds in a file that the kernel takes for longer.
pub const ZERO: u8 = 255;
/// No value of this kind.
pub const NONE: u8 = 254;

/// A state of the whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// The database as an operation of the mount sees it.
    pub stored: Stored,
    /// The mount has a group open; no other process can commit.
    pub group: bool,
    /// A commit of another process that `Store` has not noticed.
    pub unnoticed: bool,
    /// One that it has noticed, and the watcher has not looked at.
    pub news: bool,
    /// A transaction of another process that is not committed, only with the bug that needs it.
    pub uncommitted: Option<Change>,
    /// What the daemon remembers of the kernel.
    pub known: Known,
    /// The thread that watches.
    pub watcher: Watcher,
    /// The kernel's entry for the name.
    pub entry: Entry,
    /// The kernel's inode of the file.
    pub inode: Inode,
    /// Requests: of the user who changes the file, of the one who looks at it, and the kernel's own of data and times.
    pub requests: [Request; 4],
    /// What users did last through the mount, and nobody has changed since: [`NONE`] or the value.
    pub mine: Stored,
    /// Since when the content, the mode and the name are what they are.
    pub ages: [Age; 3],
    /// Ticks since the file was closed.
    pub let_go: u8,
    /// Whether it is unmounted.
    pub unmounted: bool,
    /// What of the bounds is used up.
    pub spent: Spent,
    /// What went wrong, if anything.
    pub trouble: Option<Trouble>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stored { content, mtime, mode, name } = self.stored;
        write!(f, "stored: byte {content}, mtime {mtime}, mode {mode}, name {name}; kernel: ")?;
        let Inode { there, open, size, page, mtime, mtime_dirty, mode, mode_valid } = self.inode;
        if there {
            write!(f, "size {size}, {page:?}, mtime {mtime} (to be sent: {mtime_dirty}), ")?;
            write!(f, "mode {mode} (believed: {mode_valid}), open: {open}, ")?;
        }
        match self.entry {
            Entry { there: true, to, trust } => write!(f, "name {to}, believed: {trust:?}")?,
            Entry { there: false, .. } => f.write_str("no name")?,
        }
        for (whose, request) in Whose::ALL.into_iter().zip(&self.requests) {
            if request.stage != Stage::None {
                write!(f, "; {whose:?}: {:?} {:?}", request.operation, request.stage)?;
            }
        }
        self.trouble.map_or(Ok(()), |trouble| write!(f, "; {trouble:?}"))
    }
}

/// What the database says of the file and the name. Values are numbers of the changes that made them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stored {
    /// The byte, or [`EMPTY`].
    pub content: u8,
    /// The time of the last modification.
    pub mtime: u8,
    /// The mode.
    pub mode: u8,
    /// What the name stands for.
    pub name: u8,
}

/// What other processes change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// The byte, also of an empty file.
    Content,
    /// The file is cut short to nothing.
    Cut,
    /// The mode.
    Mode,
    /// The name, to stand for this.
    Name(u8),
}

/// How long the present value of something has been there when another process made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Age {
    /// The value before, until nobody may be served it any more, and those before that.
    pub past: [u8; 3],
    /// Ticks since each was replaced.
    pub ticks: [u8; 3],
}

/// What `KnownInodes` and the watcher remember.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Known {
    /// The kernel has references to the file.
    pub file: bool,
    /// The attributes last told are not those of the database.
    pub differs: bool,
    /// Our own requests changed it, or what was told of it, since the last pass without news.
    pub touched: bool,
    /// The size that the kernel has, as far as our own requests tell.
    pub size: u8,
    /// Passes since the file was handed out, up to 2: from then on no answer that hands it out is on its way.
    pub passes: u8,
    /// What the name was last handed out for.
    pub named: u8,
    /// The directory is not as it was last told.
    pub directory_differs: bool,
    /// An answer went out that was found before the watcher's last news: it is looked at again in the next pass.
    pub late: bool,
    /// What the last pass dropped, the next one drops again: an answer under way may have brought it back.
    pub again: u8,
    /// Passes until the name of the file that somebody has open is dropped again; 0 when it is not held.
    pub held: u8,
}

/// What a pass has left to do, as a set.
pub(super) mod todo {
    /// Drop the attributes and pages of the file.
    pub const INODE: u8 = 1;
    /// Drop the attributes alone.
    pub const ATTRIBUTES: u8 = 2;
    /// Drop the name.
    pub const NAME: u8 = 4;
    /// Show the end of a file that has grown.
    pub const GROWTH: u8 = 8;
}

/// The thread that watches for commits of others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Watcher {
    /// What is left to be dropped in this pass.
    pub left: u8,
    /// The byte to be stored at the end of a file that has grown, once it is read.
    pub byte: u8,
    /// A pass began since the last tick.
    pub passed: bool,
}

/// A name in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Entry {
    /// Whether it is there at all.
    pub there: bool,
    /// What it stands for.
    pub to: u8,
    /// How long it is believed.
    pub trust: Trust,
}

/// How long the kernel believes something.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Trust {
    /// Not: it asks again.
    #[default]
    Expired,
    /// For so many ticks.
    Ticks(u8),
    /// Until it is told otherwise.
    Always,
}

/// A page in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Page {
    /// Not cached.
    #[default]
    None,
    /// As the file system has it, or is being told.
    Clean(u8),
    /// Written by a user, and not yet by the kernel.
    Dirty(u8),
}

/// The kernel's inode of the file. With the writeback cache the size and the mtime are its own while it exists.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Inode {
    /// Whether it exists.
    pub there: bool,
    /// A user has the file open.
    pub open: bool,
    /// Its size: 0 or 1.
    pub size: u8,
    /// Its only page.
    pub page: Page,
    /// Its mtime.
    pub mtime: u8,
    /// The mtime must still be sent to the file system.
    pub mtime_dirty: bool,
    /// Its mode.
    pub mode: u8,
    /// Whether that is believed.
    pub mode_valid: bool,
}

/// Whose request it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Whose {
    /// The user who changes the file; only one at a time can, since the kernel locks the inode.
    Writer,
    /// The user who looks at it.
    Reader,
    /// The kernel writes a dirty page back.
    Data,
    /// The kernel sends an mtime of its own.
    Times,
}

impl Whose {
    /// All.
    pub const ALL: [Self; 4] = [Self::Writer, Self::Reader, Self::Data, Self::Times];
}

/// What is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Operation {
    /// Nothing.
    #[default]
    None,
    /// LOOKUP of a name that is not cached.
    Lookup,
    /// LOOKUP of one that is cached and no longer believed.
    Revalidate,
    /// GETATTR.
    Stat,
    /// READ.
    Read,
    /// WRITE of a cached page.
    Write,
    /// SETATTR of an mtime that the kernel kept.
    FlushTimes,
    /// SETATTR of an mtime that a user gives.
    Utimens,
    /// SETATTR of the size 0.
    Truncate,
    /// SETATTR of the mode.
    Chmod,
    /// UNLINK.
    Unlink,
    /// FSYNC.
    Fsync,
    /// LSEEK for data.
    Seek,
    /// The last close: nothing but writing back.
    Close,
    /// The end of the mount: everything is written back.
    Unmount,
}

/// Where a request is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Stage {
    /// There is none.
    #[default]
    None,
    /// The kernel has yet to write dirty data back before it sends the request.
    Waiting,
    /// On its way to the daemon.
    Sent,
    /// The file system has served it; the answer is not noted and not sent.
    Served,
    /// The answer is on its way to the kernel.
    Told,
}

/// A request on its way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// What is wanted.
    pub operation: Operation,
    /// Where it is.
    pub stage: Stage,
    /// What it brings: a byte, a time, a mode.
    pub value: u8,
    /// What the answer says.
    pub answer: Stored,
    /// What the answer says is no longer so.
    pub outdated: bool,
    /// The kernel's attributes were invalidated since it was sent.
    pub overtaken: bool,
    /// The watcher had news since the file system was asked, and before the answer was sent.
    pub late: bool,
    /// A pass began since the answer was sent.
    pub passed: bool,
    /// It is from before the last tick.
    pub old: bool,
    /// A user changed something meanwhile, so that any answer is right.
    pub overlaps: bool,
}

impl Stored {
    /// Nothing of it.
    pub const NOTHING: Self = Self { content: NONE, mtime: NONE, mode: NONE, name: NONE };
}

impl Default for Request {
    fn default() -> Self {
        Self {
            operation: Operation::None,
            stage: Stage::None,
            value: 0,
            answer: Stored::NOTHING,
            outdated: false,
            overtaken: false,
            late: false,
            passed: false,
            old: false,
            overlaps: false,
        }
    }
}

/// How much of each bound is used up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Spent {
    /// Changes of any kind so far: the next value.
    pub changes: u8,
    /// Those by users of the mount.
    pub own: u8,
    /// Those by other processes.
    pub foreign: u8,
}

/// What must never happen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Trouble {
    /// A user was served what had been changed longer ago than the bound.
    Stale,
    /// A user was not served what users of the mount wrote before.
    NotReadBack,
    /// With nothing left to be written back, the database has not what a user did last.
    Undone,
    /// fsync returned before what was written reached the database.
    Unsynced,
    /// A search for data did not see what was written.
    TakenForHole,
    /// The mount ended before what was written reached the database.
    LostAtTheEnd,
    /// The caches were dropped without a commit of another process.
    Needless,
}
