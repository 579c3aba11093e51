//! Wrong variants of the mechanism, each of which a check must find.
//!
//! Most have happened: to us, to the two AgentFS implementations before us, or to other file systems of this kind. Each
//! is a condition in the step that it concerns.

use super::promises;

/// A wrong variant, and where it differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// unlink deletes the rows, whoever has the file open.
    ReapsAtUnlink,
    /// A lookup of an inode that the daemon knows already is answered without a count.
    KnownIsNotCounted,
    /// The entries of READDIRPLUS are not counted.
    ListedIsNotCounted,
    /// Entries that did not fit into the reply to READDIRPLUS keep their references.
    UnsentStaysCounted,
    /// The count follows the reply, so that unlink or FORGET can come before it.
    CountedAfterReply,
    /// A FORGET of several references counts as one.
    ForgetCountsOnce,
    /// References are those of open files: the last RELEASE ends them all.
    EndsWithRelease,
    /// An operation that failed with its group keeps the reference that it was about to hand out.
    FailedStaysCounted,
    /// The end of the mount gives back what the kernel has, and not what could not be delivered to it.
    UndeliveredStaysCounted,
    /// The last FORGET deletes what was an orphan once, though the group that took its name was lost.
    DeletesUnlooked,
    /// The sweep does not ask who is referred to.
    SweepsReferenced,
    /// The sweep takes a listed inode that is referred to for an orphan, also when it has a name.
    NotesNamed,
    /// The search for inodes without a name finds the root.
    SweepsRoot,
    /// The row in the list is not written with the unlink.
    UnlinkDoesNotList,
    /// An unlink that needs the list makes an empty one, and what it should hold is never searched for.
    ListsWithoutSearch,
    /// Another process removes what it unlinks, though the mount may refer to it.
    ReapsBesideMount,
    /// The mount ends without looking for what other processes left to it.
    EndsWithoutSweep,
    /// The watcher is not told that a group was lost.
    LossIsNotSeen,
    /// A number that was lost with its group is given out again.
    ReusesNumber,
    /// A number that was lost with its group is taken for the inode that another process has given it to.
    TrustsLostNumber,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::ReapsAtUnlink,
        Self::KnownIsNotCounted,
        Self::ListedIsNotCounted,
        Self::UnsentStaysCounted,
        Self::CountedAfterReply,
        Self::ForgetCountsOnce,
        Self::EndsWithRelease,
        Self::FailedStaysCounted,
        Self::UndeliveredStaysCounted,
        Self::DeletesUnlooked,
        Self::SweepsReferenced,
        Self::NotesNamed,
        Self::SweepsRoot,
        Self::UnlinkDoesNotList,
        Self::ListsWithoutSearch,
        Self::ReapsBesideMount,
        Self::EndsWithoutSweep,
        Self::LossIsNotSeen,
        Self::ReusesNumber,
        Self::TrustsLostNumber,
    ];

    /// The promise that is broken in the end, by its name in [`promises`].
    #[must_use]
    pub const fn breaks(self) -> &'static str {
        match self {
            Self::ReapsAtUnlink
            | Self::KnownIsNotCounted
            | Self::ListedIsNotCounted
            | Self::CountedAfterReply
            | Self::EndsWithRelease
            | Self::SweepsReferenced
            | Self::ReapsBesideMount => promises::KEPT,
            Self::UnsentStaysCounted | Self::ForgetCountsOnce | Self::FailedStaysCounted => promises::EXACT,
            Self::UndeliveredStaysCounted | Self::EndsWithoutSweep => promises::CLEAN_END,
            Self::DeletesUnlooked | Self::NotesNamed => promises::NAMED,
            Self::SweepsRoot => promises::ROOT,
            Self::UnlinkDoesNotList | Self::ListsWithoutSearch => promises::CLEAN_START,
            Self::LossIsNotSeen => promises::REAPED,
            Self::ReusesNumber | Self::TrustsLostNumber => promises::NUMBERS,
        }
    }
}
