//! What must be possible somewhere in a space, so that a space that became empty by mistake is noticed.

use super::judge::Step;
use super::{Space, State};
use crate::Errno;
use crate::call::{Operation, RenameFlags};
use crate::fs::Node;
use crate::outcome::Outcome;
use crate::values::FileKind;

macro_rules! sightings {
    ($($name:ident = $statement:literal;)*) => {
        /// Something that is seen in some state of a space.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Sighting {
            $(#[doc = $statement] $name,)*
        }

        impl Sighting {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// What is seen.
            #[must_use]
            pub const fn statement(self) -> &'static str {
                match self {
                    $(Self::$name => $statement,)*
                }
            }

            /// As stateright asks.
            pub(super) const fn condition(self) -> fn(&Space, &State) -> bool {
                match self {
                    $(Self::$name => |space, state| space.sighted(Self::$name, state),)*
                }
            }
        }
    };
}

sightings! {
    NamelessOpenFile = "a file without a name is open";
    NamelessGrows = "a file without a name grows";
    RemovedDirectoryOpen = "a removed directory is open";
    NotEmptyRefused = "a directory with entries is not removed";
    OwnSubtreeRefused = "a directory is not moved below itself";
    DirectoryReplaced = "a directory takes the place of an empty one";
    DirectoriesExchanged = "two directories change places between parents";
    SameInodeRenamed = "renaming one name of a file to another changes nothing";
    ThreeNames = "a file has three names";
    SymlinkLoop = "symlinks lead in a circle";
    NamelessRefused = "what has no name is refused a new one";
    StickyRefused = "a sticky directory refuses to lose another's entry";
    PermissionRefused = "a directory refuses an entry for want of permission";
    SetGroupIdInherited = "a directory has set-group-id from the one above it";
    SetIdFalls = "a write by another takes set-id bits away";
    AttributeRefused = "an attribute is refused for want of permission";
    Hole = "a file ends in a hole, or has one before its data";
    Shifted = "a part is cut out of the middle of a file";
    Overlap = "a copy onto itself is refused";
    ReturnedGone = "an entry is gone that a listing has returned";
    ReplacedUnderListing = "a rename replaces a name under a listing";
    TimesDiffer = "a read has moved an access time and nothing else";
    RefusalPassesSymlink = "a refused call has passed a symlink";
}

fn is_open(state: &State, inode: crate::values::InodeId) -> bool {
    state.fs.descriptions().values().any(|description| description.inode == inode)
}

impl Sighting {
    pub(super) fn is_made(self, space: &Space, state: &State) -> bool {
        let inodes = || state.fs.inodes().iter();
        let refused = |filter: fn(&Operation) -> bool, errno: Errno, rule: &str| {
            let wanted = |step: &Step<'_>| step.answer == Some(&Outcome::Error(errno)) && step.rule == rule;
            space.any_step(state, filter, wanted)
        };
        let done = |filter: fn(&Operation) -> bool, wanted: fn(&Step<'_>) -> bool| {
            space.any_step(state, filter, |step| !step.is_refused() && wanted(step))
        };
        let rename = |operation: &Operation| matches!(operation, Operation::Rename { .. });
        match self {
            Self::NamelessOpenFile => inodes().any(|(_, inode)| inode.names == 0),
            Self::NamelessGrows => inodes().any(|(_, inode)| {
                inode.names == 0 && matches!(&inode.node, Node::Regular(content) if content.size() > 0)
            }),
            Self::RemovedDirectoryOpen => inodes().any(|(id, inode)| {
                inode.names == 0 && inode.kind() == FileKind::Directory && is_open(state, *id)
            }),
            Self::NotEmptyRefused => refused(
                |operation| matches!(operation, Operation::Rmdir { .. }),
                Errno::ENOTEMPTY,
                "FS-RMDIR-2",
            ),
            Self::OwnSubtreeRefused => refused(rename, Errno::EINVAL, "FS-RENAME-6"),
            Self::DirectoryReplaced => done(rename, |step| {
                let kinds = |fs: &crate::fs::FileSystem| {
                    fs.inodes().values().filter(|inode| inode.kind() == FileKind::Directory).count()
                };
                kinds(step.before) > kinds(step.after)
            }),
            Self::DirectoriesExchanged => done(
                |operation| matches!(operation, Operation::Rename { flags, .. } if *flags == RenameFlags::EXCHANGE),
                |step| {
                    let moved = step.before.inodes().iter().filter(|(id, old)| {
                        let new = step.after.inodes().get(id).map(|inode| &inode.node);
                        matches!(
                            (&old.node, new),
                            (Node::Directory(was), Some(Node::Directory(is))) if was.parent != is.parent
                        )
                    });
                    moved.count() == 2
                },
            ),
            Self::SameInodeRenamed => done(rename, |step| !step.changed),
            Self::ThreeNames => inodes().any(|(_, inode)| inode.names == 3),
            Self::SymlinkLoop => refused(|_| true, Errno::ELOOP, "PATH-4"),
            Self::NamelessRefused => refused(
                |operation| matches!(operation, Operation::LinkHandle { .. }),
                Errno::ENOENT,
                "FS-LINK-2",
            ),
            Self::StickyRefused => refused(|_| true, Errno::EPERM, "FS-PERM-4"),
            Self::PermissionRefused => refused(|_| true, Errno::EACCES, "FS-PERM-3"),
            Self::SetGroupIdInherited => inodes().any(|(id, inode)| {
                let inherits = |inode: &crate::fs::Inode| inode.permissions & 0o2000 != 0;
                let Node::Directory(directory) = &inode.node else { return false };
                directory.parent != *id && inherits(inode) && inherits(&state.fs.inodes()[&directory.parent])
            }),
            Self::SetIdFalls => done(
                |operation| matches!(operation, Operation::Write { .. }),
                |step| {
                    step.before.inodes().iter().any(|(id, old)| {
                        old.permissions != step.after.inodes()[id].permissions
                            && old.permissions & 0o6000 != 0
                    })
                },
            ),
            Self::AttributeRefused => refused(|_| true, Errno::EACCES, "FS-XATTR-4"),
            Self::Hole => done(
                |operation| matches!(operation, Operation::Seek { .. }),
                |step| matches!(step.answer, Some(Outcome::Offset(1..))),
            ),
            Self::Shifted => done(
                |operation| matches!(operation, Operation::Fallocate { mode, .. } if mode.bits() == 8),
                |step| step.changed,
            ),
            Self::Overlap => refused(
                |operation| matches!(operation, Operation::CopyFileRange { .. }),
                Errno::EINVAL,
                "FS-COPY-2",
            ),
            Self::ReturnedGone => state.watches.has_lost(),
            Self::ReplacedUnderListing => {
                state.watches.are_under_way()
                    && done(rename, |step| step.before.inodes().len() > step.after.inodes().len())
            }
            Self::TimesDiffer => {
                inodes().any(|(_, inode)| inode.atime != inode.mtime && inode.mtime == inode.ctime)
            }
            Self::RefusalPassesSymlink => {
                space.any_step(state, |_| true, |step| step.is_refused() && step.changed)
            }
        }
    }
}
