//! Which entries differ after a call, and whether those are the ones that it is about (FS-CREATE-1, FS-RENAME-1, FS-RENAME-5).

use super::Step;
use crate::bytes::Bytes;
use crate::call::{Operation, Place, RenameFlags};
use crate::check::filesystem::place;
use crate::fs::{Directory, FileSystem, Node};
use crate::values::InodeId;

/// A name in a directory that names another inode than before, or one more, or none any more.
#[derive(Debug)]
pub(super) struct Change<'s> {
    pub(super) parent: InodeId,
    name: &'s Bytes,
    pub(super) old: Option<InodeId>,
    pub(super) new: Option<InodeId>,
}

fn directory(fs: &FileSystem, id: InodeId) -> Option<&Directory> {
    match fs.inodes().get(&id).map(|inode| &inode.node) {
        Some(Node::Directory(directory)) => Some(directory),
        _ => None,
    }
}

/// All of them.
pub(super) fn changes<'s>(before: &'s FileSystem, after: &'s FileSystem) -> Vec<Change<'s>> {
    let mut changes = Vec::new();
    for parent in before.inodes().keys() {
        let Some(was) = directory(before, *parent) else { continue };
        let is = directory(after, *parent);
        for (name, dentry) in &was.entries {
            let new = is.and_then(|is| is.entries.get(name)).map(|dentry| dentry.inode);
            if new != Some(dentry.inode) {
                changes.push(Change { parent: *parent, name, old: Some(dentry.inode), new });
            }
        }
    }
    for parent in after.inodes().keys() {
        let Some(is) = directory(after, *parent) else { continue };
        let was = directory(before, *parent);
        for (name, dentry) in &is.entries {
            if was.is_none_or(|was| !was.entries.contains_key(name)) {
                changes.push(Change { parent: *parent, name, old: None, new: Some(dentry.inode) });
            }
        }
    }
    changes
}

/// The last component of a path.
fn last(place: &Place) -> &[u8] {
    let path = place.path.strip_suffix(b"/").unwrap_or(&place.path);
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

impl Step<'_> {
    pub(super) fn as_asked(&self, changes: &[Change<'_>]) -> bool {
        match &self.call.operation {
            Operation::Open { .. } => match changes {
                [] => true,
                // Through a symlink it may have another name.
                [made] => made.old.is_none() && self.is_new(made.new),
                _ => false,
            },
            Operation::Mkdir { path, .. }
            | Operation::Mknod { path, .. }
            | Operation::Symlink { path, .. } => {
                matches!(changes, [made] if made.old.is_none() && **made.name == *last(path) && self.is_new(made.new))
            }
            Operation::Link { to, .. } | Operation::LinkHandle { to, .. } => {
                matches!(changes, [made] if made.old.is_none() && **made.name == *last(to) && !self.is_new(made.new))
            }
            Operation::Unlink { path } | Operation::Rmdir { path } => {
                matches!(changes, [gone] if gone.new.is_none() && **gone.name == *last(path))
            }
            Operation::Rename { from, to, flags } => self.is_renamed(changes, (from, to), *flags),
            _ => changes.is_empty(),
        }
    }

    fn is_new(&self, inode: Option<InodeId>) -> bool {
        inode.is_some_and(|inode| !self.before.inodes().contains_key(&inode))
    }

    fn is_renamed(&self, changes: &[Change<'_>], (from, to): (&Place, &Place), flags: RenameFlags) -> bool {
        let (from_name, to_name) = (last(from), last(to));
        match changes {
            // FS-RENAME-3; where the check cannot follow the paths it does not know.
            [] => match (
                place::named(self.before, self.call.by, from),
                place::named(self.before, self.call.by, to),
            ) {
                (Some(source), Some(target)) => source == target,
                _ => true,
            },
            [one, other] => {
                let (old, new) = match () {
                    () if **one.name == *from_name && **other.name == *to_name && one.old == other.new => {
                        (one, other)
                    }
                    () => (other, one),
                };
                let moved = old.old.is_some() && old.old == new.new;
                let left = if flags.contains(RenameFlags::EXCHANGE) { new.old } else { None };
                moved && old.new == left && **old.name == *from_name && **new.name == *to_name
            }
            _ => false,
        }
    }
}
