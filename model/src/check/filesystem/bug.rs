//! Wrong file systems, each with one mistake that a real one has made. The checks must find every one.

use std::borrow::Cow;

use super::judge::Step;
use super::{Done, Promise, place};
use crate::Errno;
use crate::bytes::Bytes;
use crate::call::{Call, FallocateMode, OpenFlags, Operation, RenameFlags};
use crate::fs::{FileSystem, Node};
use crate::outcome::{Entry, Outcome};
use crate::values::{FileKind, InodeId};

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// The last unlink takes the inode away, open or not.
    ReapedAtUnlink,
    /// The first of two closes gives the only reference back.
    DroppedByFirstClose,
    /// A directory can be moved below itself.
    MovedBelowItself,
    /// What a rename replaces keeps its count of names.
    ReplacedKeepsCount,
    /// A rename leaves the old name in place.
    OldNameStays,
    /// An exchange of directories between parents leaves "..".
    ExchangeForgetsParent,
    /// An exchange is answered with a plain rename.
    ExchangeReplaces,
    /// A directory with entries can be removed.
    NotEmptyRemoved,
    /// The count of the root falls with a removed subdirectory, and a sweep takes the root.
    RootSwept,
    /// A name can be given to what has none.
    NamelessLinked,
    /// mkdir touches the parent before it finds that the name is taken.
    FailedMkdirTouches,
    /// A rename leaves the change time of what it moved.
    RenameForgetsChange,
    /// A truncation takes away the number and not the bytes.
    CutBytesComeBack,
    /// An append begins where the description stands.
    AppendAtOffset,
    /// A hole that is punched begins a byte too late.
    PunchLeavesByte,
    /// The place of a listing is the number of entries that it has returned.
    ListedByIndex,
    /// A sticky directory is as any other.
    StickyIgnored,
    /// The permissions of a file decide whether its name can be taken away.
    UnlinkAsksFile,
    /// A write by another leaves set-id bits.
    SetIdStays,
    /// A refusal does not say why.
    NoRule,
}

impl Bug {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::ReapedAtUnlink,
        Self::DroppedByFirstClose,
        Self::MovedBelowItself,
        Self::ReplacedKeepsCount,
        Self::OldNameStays,
        Self::ExchangeForgetsParent,
        Self::ExchangeReplaces,
        Self::NotEmptyRemoved,
        Self::RootSwept,
        Self::NamelessLinked,
        Self::FailedMkdirTouches,
        Self::RenameForgetsChange,
        Self::CutBytesComeBack,
        Self::AppendAtOffset,
        Self::PunchLeavesByte,
        Self::ListedByIndex,
        Self::StickyIgnored,
        Self::UnlinkAsksFile,
        Self::SetIdStays,
        Self::NoRule,
    ];

    /// The promise that it breaks.
    #[must_use]
    pub const fn breaks(self) -> Promise {
        match self {
            Self::ReapedAtUnlink | Self::DroppedByFirstClose => Promise::OpenStays,
            Self::MovedBelowItself
            | Self::ReplacedKeepsCount
            | Self::ExchangeForgetsParent
            | Self::NotEmptyRemoved
            | Self::RootSwept => Promise::Consistent,
            Self::OldNameStays | Self::ExchangeReplaces => Promise::EntriesAsAsked,
            Self::NamelessLinked => Promise::NamelessStays,
            Self::FailedMkdirTouches => Promise::RefusalChangesNothing,
            Self::RenameForgetsChange => Promise::TimesTell,
            Self::CutBytesComeBack | Self::AppendAtOffset | Self::PunchLeavesByte => {
                Promise::ContentAsWritten
            }
            Self::ListedByIndex => Promise::ListedOnce,
            Self::StickyIgnored => Promise::StickyHolds,
            Self::UnlinkAsksFile => Promise::EntriesNeedPermission,
            Self::SetIdStays => Promise::SetIdFalls,
            Self::NoRule => Promise::RefusalHasRule,
        }
    }

    /// What the wrong file system does instead, where that is something else.
    pub(super) fn instead(self, step: &Step<'_>) -> Option<Done> {
        match self {
            Self::NoRule => {
                let done = step.done(step.after.clone());
                step.is_refused().then_some(Done { rule: Cow::Borrowed("EEXIST"), ..done })
            }
            Self::MovedBelowItself => allowed(step, Errno::EINVAL, "FS-RENAME-6", move_entry),
            Self::NotEmptyRemoved => allowed(step, Errno::ENOTEMPTY, "FS-RMDIR-2", take_out),
            Self::NamelessLinked => allowed(step, Errno::ENOENT, "FS-LINK-2", link),
            Self::StickyIgnored => allowed(step, Errno::EPERM, "FS-PERM-4", take_out),
            Self::UnlinkAsksFile => allowed(step, Errno::EACCES, "FS-PERM-3", take_out),
            Self::ListedByIndex => by_index(step),
            Self::AppendAtOffset => at_offset(step),
            Self::PunchLeavesByte => with_shorter_hole(step),
            Self::FailedMkdirTouches => {
                let Operation::Mkdir { path, .. } = &step.call.operation else { return None };
                let (parent, _) = place::parent(step.before, step.call.by, path)?;
                let mut after = step.after.clone();
                after.damaged_inodes().get_mut(&parent)?.mtime = step.now;
                step.is_refused().then(|| step.done(after))
            }
            _ if step.is_refused() => None,
            _ => {
                let mut after = step.after.clone();
                self.damage(step, &mut after)?;
                Some(step.done(after))
            }
        }
    }

    /// What goes wrong in a call that is right to succeed. None when nothing does.
    fn damage(self, step: &Step<'_>, after: &mut FileSystem) -> Option<()> {
        let operation = &step.call.operation;
        match self {
            Self::ReapedAtUnlink => {
                let lost = |id: &InodeId| step.before.inodes().get(id).is_some_and(|inode| inode.names > 0);
                let (id, _) = step.after.inodes().iter().find(|(id, inode)| inode.names == 0 && lost(id))?;
                after.damaged_inodes().remove(id);
            }
            Self::DroppedByFirstClose => {
                let Operation::Close { handle } = operation else { return None };
                let closed = step.before.descriptions().get(&(step.call.by, *handle))?.inode;
                if step.before.inodes()[&closed].names > 0 {
                    return None;
                }
                after.damaged_inodes().remove(&closed)?;
            }
            Self::ReplacedKeepsCount => {
                let replaced = renamed(step)?.1?;
                let kept = step.before.inodes()[&replaced].clone();
                after.damaged_inodes().insert(replaced, kept);
            }
            Self::OldNameStays => {
                let Operation::Rename { from, .. } = operation else { return None };
                let source = renamed(step)?.0;
                let (parent, name) = place::parent(step.before, step.call.by, from)?;
                if step.before.inodes()[&source].kind() == FileKind::Directory {
                    return None;
                }
                after.damage_entry(parent, &name, Some(source));
                after.damaged_inodes().get_mut(&source)?.names += 1;
            }
            Self::ExchangeForgetsParent => {
                let id = moved_directory(step)?;
                set_parent(after, id, parent_of(step.before, id)?);
            }
            Self::ExchangeReplaces => {
                let Operation::Rename { from, flags: RenameFlags::EXCHANGE, .. } = operation else {
                    return None;
                };
                let target = renamed(step)?.1?;
                let (parent, name) = place::parent(step.before, step.call.by, from)?;
                if step.before.inodes()[&target].kind() == FileKind::Directory {
                    return None;
                }
                after.damage_entry(parent, &name, None);
                after.damaged_inodes().get_mut(&target)?.names -= 1;
                // Names it had besides are as they were.
                if after.inodes()[&target].names == 0 {
                    after.damaged_inodes().remove(&target);
                }
            }
            Self::RootSwept => {
                let Operation::Rmdir { path } = operation else { return None };
                let (parent, _) = place::parent(step.before, step.call.by, path)?;
                (parent == InodeId::ROOT).then(|| after.damaged_inodes().remove(&parent))?;
            }
            Self::RenameForgetsChange => {
                let source = renamed(step)?.0;
                after.damaged_inodes().get_mut(&source)?.ctime = step.before.inodes()[&source].ctime;
                // Nothing shows when it had the time already.
                (after != step.after).then_some(())?;
            }
            Self::CutBytesComeBack => {
                let (id, old) = step.before.inodes().iter().find(|(id, inode)| {
                    size(&inode.node) > step.after.inodes().get(id).map_or(0, |inode| size(&inode.node))
                })?;
                let Node::Regular(content) = &old.node else { return None };
                matches!(operation, Operation::Truncate { size: 1.., .. }).then_some(())?;
                after.damage_tail(*id, content);
            }
            Self::SetIdStays => {
                matches!(operation, Operation::Write { .. }).then_some(())?;
                let bits =
                    |id: &InodeId| step.before.inodes().get(id).map_or(0, |inode| inode.permissions & 0o6000);
                let (id, _) =
                    step.after.inodes().iter().find(|(id, inode)| bits(id) & !inode.permissions != 0)?;
                after.damaged_inodes().get_mut(id)?.permissions |= bits(id);
            }
            _ => return None,
        }
        Some(())
    }
}

impl Step<'_> {
    /// The same answer with another state.
    fn done(&self, after: FileSystem) -> Done {
        Done { answer: self.answer.cloned(), rule: Cow::Owned(self.rule.to_owned()), after }
    }
}

fn size(node: &Node) -> u64 {
    match node {
        Node::Regular(content) => content.size(),
        _ => 0,
    }
}

/// Does what was rightly refused.
fn allowed(
    step: &Step<'_>,
    errno: Errno,
    rule: &str,
    instead: impl FnOnce(&Step<'_>, &mut FileSystem) -> Option<()>,
) -> Option<Done> {
    if step.answer != Some(&Outcome::Error(errno)) || step.rule != rule {
        return None;
    }
    let mut after = step.before.clone();
    instead(step, &mut after)?;
    Some(Done { answer: Some(Outcome::Done), ..step.done(after) })
}

/// What a rename that was done has moved, and what it has replaced or exchanged.
fn renamed(step: &Step<'_>) -> Option<(InodeId, Option<InodeId>)> {
    let Operation::Rename { from, to, .. } = &step.call.operation else { return None };
    let source = place::named(step.before, step.call.by, from)?;
    let target = place::named(step.before, step.call.by, to);
    (target != Some(source)).then_some((source, target))
}

fn parent_of(fs: &FileSystem, id: InodeId) -> Option<InodeId> {
    match &fs.inodes().get(&id)?.node {
        Node::Directory(directory) => Some(directory.parent),
        _ => None,
    }
}

fn set_parent(fs: &mut FileSystem, id: InodeId, parent: InodeId) {
    if let Some(Node::Directory(directory)) = fs.damaged_inodes().get_mut(&id).map(|inode| &mut inode.node) {
        directory.parent = parent;
    }
}

/// A directory that an exchange has given another parent.
fn moved_directory(step: &Step<'_>) -> Option<InodeId> {
    let Operation::Rename { flags: RenameFlags::EXCHANGE, .. } = step.call.operation else { return None };
    let moved = |id: &InodeId| parent_of(step.before, *id) != parent_of(step.after, *id);
    step.after.inodes().keys().copied().find(moved)
}

fn move_entry(step: &Step<'_>, after: &mut FileSystem) -> Option<()> {
    let Operation::Rename { from, to, flags } = &step.call.operation else { return None };
    let (old_parent, old_name) = place::parent(step.before, step.call.by, from)?;
    let (new_parent, new_name) = place::parent(step.before, step.call.by, to)?;
    let source = place::entry(step.before, old_parent, &old_name)?;
    if flags.contains(RenameFlags::EXCHANGE) || place::entry(step.before, new_parent, &new_name).is_some() {
        return None;
    }
    after.damage_entry(old_parent, &old_name, None);
    after.damage_entry(new_parent, &new_name, Some(source));
    set_parent(after, source, new_parent);
    Some(())
}

fn take_out(step: &Step<'_>, after: &mut FileSystem) -> Option<()> {
    let (Operation::Unlink { path } | Operation::Rmdir { path }) = &step.call.operation else { return None };
    let (parent, name) = place::parent(step.before, step.call.by, path)?;
    let victim = place::entry(step.before, parent, &name)?;
    after.damage_entry(parent, &name, None);
    let inode = after.damaged_inodes().get_mut(&victim)?;
    inode.names -= 1;
    if inode.names == 0 {
        after.damaged_inodes().remove(&victim);
    }
    Some(())
}

fn link(step: &Step<'_>, after: &mut FileSystem) -> Option<()> {
    let Operation::LinkHandle { handle, to } = &step.call.operation else { return None };
    let inode = step.before.descriptions().get(&(step.call.by, *handle))?.inode;
    let (parent, name) = place::parent(step.before, step.call.by, to)?;
    after.damage_entry(parent, &name, Some(inode));
    after.damaged_inodes().get_mut(&inode)?.names += 1;
    Some(())
}

/// An append where the description stands.
fn at_offset(step: &Step<'_>) -> Option<Done> {
    let Operation::Write { handle, .. } = &step.call.operation else { return None };
    let mut before = step.before.clone();
    let appends = |fs: &mut FileSystem, appends: bool| {
        let description = fs.damaged_descriptions().get_mut(&(step.call.by, *handle))?;
        let was = description.flags.contains(OpenFlags::APPEND);
        description.flags.set(OpenFlags::APPEND, appends);
        Some(was)
    };
    if !appends(&mut before, false)? {
        return None;
    }
    let mut after = before.step(step.now, step.call).ok()?.swap_remove(0).into_next();
    appends(&mut after, true);
    Some(step.done(after))
}

/// A hole that begins a byte too late.
fn with_shorter_hole(step: &Step<'_>) -> Option<Done> {
    let Operation::Fallocate { handle, mode, offset, length: length @ 2.. } = &step.call.operation else {
        return None;
    };
    if !mode.contains(FallocateMode::PUNCH_HOLE) {
        return None;
    }
    let operation =
        Operation::Fallocate { handle: *handle, mode: *mode, offset: offset + 1, length: length - 1 };
    let call = Call { by: step.call.by, operation };
    let after = step.before.step(step.now, &call).ok()?.swap_remove(0).into_next();
    Some(step.done(after))
}

/// The entries of the directory in the order of their making, from the number that was returned on.
fn by_index(step: &Step<'_>) -> Option<Done> {
    let Operation::Readdir { handle, count } = &step.call.operation else { return None };
    let description = step.before.descriptions().get(&(step.call.by, *handle))?;
    let Node::Directory(directory) = &step.before.inodes().get(&description.inode)?.node else { return None };
    let mut entries: Vec<_> = directory.entries.iter().collect();
    entries.sort_by_key(|(_, dentry)| dentry.id);
    let due = entries.into_iter().skip(description.listing.length()).take(*count as usize);
    let entry = |(name, _): (&Bytes, _)| Entry { name: name.clone(), inode: 0, kind: None };
    let outcome = Outcome::Entries(due.map(entry).collect());
    let mut branches = step.before.step(step.now, step.call).ok()?;
    let after = branches.swap_remove(0).settle(&outcome);
    Some(Done { answer: Some(outcome), ..step.done(after) })
}
