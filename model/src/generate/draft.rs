//! Drafts: a call before it is known what is there.

use crate::call::{Call, Object, Operation};
use crate::fs::FileSystem;
use crate::values::{ProcessId, Time};

use super::Alphabet;
use super::scene::Scene;

/// How many numbers a draft has: as many as the operation with the most choices takes.
pub(super) const PICKS: usize = 16;

/// Numbers of a draft, taken one after the other; the first choice once they are used up.
pub(super) struct Picks<'a>(std::slice::Iter<'a, u16>);

impl Picks<'_> {
    fn next(&mut self) -> usize {
        self.0.next().copied().map_or(0, usize::from)
    }

    /// A number below `count`, which is not 0.
    pub(super) fn below(&mut self, count: usize) -> usize {
        self.next() % count
    }

    /// One of several, the first one being the simplest.
    pub(super) fn of<'b, T>(&mut self, choices: &'b [T]) -> &'b T {
        &choices[self.below(choices.len())]
    }

    /// One of several by weight, the first one being the simplest.
    pub(super) fn weighted<T: Copy>(&mut self, choices: &[(usize, T)]) -> T {
        let mut place = self.below(choices.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in choices {
            match place.checked_sub(*weight) {
                Some(rest) => place = rest,
                None => return *choice,
            }
        }
        unreachable!("the place lies below the sum of the weights")
    }

    /// Whether something happens that does in `percent` of 100 draws, and never at 0.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) >= 100 - percent
    }
}

macro_rules! kinds {
    ($($name:ident $operation:literal $weight:literal $doc:literal;)*) => {
        /// Which operation a draft becomes, the simplest first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $(#[doc = $doc] $name,)*
        }

        impl Kind {
            /// Every one, with its weight.
            pub const WEIGHTS: &'static [(usize, Self)] = &[$(($weight, Self::$name),)*];

            /// The name of the operation that it becomes, as in a trace.
            #[must_use]
            pub const fn operation(self) -> &'static str {
                match self {
                    $(Self::$name => $operation,)*
                }
            }
        }
    };
}

kinds! {
    Stat "stat" 60 "By path or by handle.";
    Mkdir "mkdir" 70 "Mostly a name that is free.";
    Open "open" 110 "Creating, truncating, reading, of whatever there is.";
    Close "close" 50 "Whatever is open.";
    Write "write" 50 "Where the handle is.";
    Pwrite "pwrite" 55 "Somewhere.";
    Read "read" 35 "Where the handle is.";
    Pread "pread" 45 "Somewhere.";
    Unlink "unlink" 65 "Mostly what is no directory.";
    Rmdir "rmdir" 45 "Mostly a directory.";
    Rename "rename" 100 "Mostly onto something.";
    Link "link" 45 "By path.";
    Symlink "symlink" 40 "To what is there, to itself, to nothing.";
    Truncate "truncate" 45 "By path or by handle.";
    Chmod "chmod" 55 "With all twelve bits.";
    Chown "chown" 45 "Of one id or both.";
    Utimens "utimens" 40 "To now, to some time, not at all.";
    Readdir "readdir" 60 "A few entries, or all.";
    Seekdir "seekdir" 12 "Back to where the listing has been.";
    Access "access" 25 "For every mask.";
    Readlink "readlink" 18 "Mostly a symlink.";
    Seek "seek" 35 "With every whence.";
    Fallocate "fallocate" 45 "With every mode.";
    CopyFileRange "copy_file_range" 30 "Between two files, or within one.";
    Mknod "mknod" 35 "Every kind.";
    LinkHandle "link_handle" 25 "A second name for what is open.";
    Setxattr "setxattr" 60 "With every mode.";
    Getxattr "getxattr" 25 "By path or by handle.";
    Listxattr "listxattr" 15 "By path or by handle.";
    Removexattr "removexattr" 20 "By path or by handle.";
    Umask "umask" 10 "A few masks.";
    Fsync "fsync" 10 "Whatever is open.";
    Fdatasync "fdatasync" 6 "Whatever is open.";
    Sync "sync" 5 "All of it.";
    Statfs "statfs" 5 "Of the file system.";
    Reopen "reopen" 12 "Close in good order and open again.";
    Crash "crash" 6 "Kill and open again.";
}

/// What operations are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Names,
    Content,
    Attributes,
    Listings,
    Rest,
}

impl Kind {
    pub(super) const fn subject(self) -> Subject {
        match self {
            Self::Mkdir
            | Self::Unlink
            | Self::Rmdir
            | Self::Rename
            | Self::Link
            | Self::Symlink
            | Self::Mknod
            | Self::LinkHandle => Subject::Names,
            Self::Write
            | Self::Pwrite
            | Self::Read
            | Self::Pread
            | Self::Truncate
            | Self::Seek
            | Self::Fallocate
            | Self::CopyFileRange => Subject::Content,
            Self::Stat
            | Self::Chmod
            | Self::Chown
            | Self::Utimens
            | Self::Access
            | Self::Setxattr
            | Self::Getxattr
            | Self::Listxattr
            | Self::Removexattr => Subject::Attributes,
            Self::Readdir | Self::Seekdir => Subject::Listings,
            _ => Subject::Rest,
        }
    }
}

/// A call before it is known what is there: which operation, by whom, and choices among what there will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Which operation, by its weight.
    pub kind: Kind,
    /// By which process.
    pub by: u16,
    /// The choices.
    pub picks: [u16; PICKS],
}

impl Draft {
    /// The call that this draft is in the state `model`.
    #[must_use]
    pub fn resolve(&self, model: &FileSystem, alphabet: &Alphabet) -> Call {
        let by = self.process(model);
        let scene = Scene::new(model, alphabet, by);
        let mut drawing = Drawing { scene, picks: Picks(self.picks.iter()) };
        // Everything is refused while it is read-only: that must not last.
        let kind = if model.is_read_only() && drawing.picks.chance(8) { Kind::Reopen } else { self.kind };
        let call = Call { by, operation: drawing.operation(kind) };
        match &call.operation {
            // A pipe or a device can be had under many names: only the model finds out.
            Operation::Open { path, .. }
                if drawing.scene.has_special_files() && model.step(Time::Unknown, &call).is_err() =>
            {
                let object = Object::Path { path: path.clone(), follow: true };
                Call { by, operation: Operation::Stat { object } }
            }
            _ => call,
        }
    }

    /// The first process half of the time.
    fn process(&self, model: &FileSystem) -> ProcessId {
        let others = model.processes().len().saturating_sub(1);
        let place = usize::from(self.by) % (2 * others.max(1));
        let index = if others == 0 || place < others { 0 } else { place - others + 1 };
        ProcessId(u8::try_from(index).expect("a setting has fewer than 256 processes"))
    }
}

/// A draft being resolved.
pub(super) struct Drawing<'a> {
    /// What is there.
    pub(super) scene: Scene<'a>,
    /// The choices.
    pub(super) picks: Picks<'a>,
}

impl Drawing<'_> {
    fn operation(&mut self, kind: Kind) -> Operation {
        match kind {
            Kind::Stat => self.stat(),
            Kind::Mkdir => self.mkdir(),
            Kind::Open => self.open(),
            Kind::Close => self.close(),
            Kind::Write => self.write(),
            Kind::Pwrite => self.pwrite(),
            Kind::Read => self.read(),
            Kind::Pread => self.pread(),
            Kind::Unlink => self.unlink(),
            Kind::Rmdir => self.rmdir(),
            Kind::Rename => self.rename(),
            Kind::Link => self.link(),
            Kind::Symlink => self.symlink(),
            Kind::Truncate => self.truncate(),
            Kind::Chmod => self.chmod(),
            Kind::Chown => self.chown(),
            Kind::Utimens => self.utimens(),
            Kind::Readdir => self.readdir(),
            Kind::Seekdir => self.seekdir(),
            Kind::Access => self.access(),
            Kind::Readlink => self.readlink(),
            Kind::Seek => self.seek(),
            Kind::Fallocate => self.fallocate(),
            Kind::CopyFileRange => self.copy_file_range(),
            Kind::Mknod => self.mknod(),
            Kind::LinkHandle => self.link_handle(),
            Kind::Setxattr => self.setxattr(),
            Kind::Getxattr => self.getxattr(),
            Kind::Listxattr => self.listxattr(),
            Kind::Removexattr => self.removexattr(),
            Kind::Umask => self.umask(),
            Kind::Fsync => self.fsync(),
            Kind::Fdatasync => self.fdatasync(),
            Kind::Sync => Operation::Sync,
            Kind::Statfs => Operation::Statfs,
            Kind::Reopen => {
                let may = self.scene.alphabet.read_only && !self.scene.model.is_read_only();
                Operation::Reopen { read_only: may && self.picks.chance(50) }
            }
            Kind::Crash => Operation::Crash,
        }
    }
}
