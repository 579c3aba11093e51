//! Which times a call may touch, and which it must (FS-TIME-3).

use super::names::Change;
use super::{Step, writes};
use crate::call::Operation;
use crate::fs::{Inode, Node};
use crate::values::{FileKind, InodeId};

impl Step<'_> {
    pub(super) fn times_tell(&self, changes: &[Change<'_>]) -> bool {
        self.before.inodes().iter().all(|(id, old)| {
            self.after.inodes().get(id).is_none_or(|new| self.times_tell_of(changes, *id, (old, new)))
        })
    }

    fn times_tell_of(&self, changes: &[Change<'_>], id: InodeId, (old, new): (&Inode, &Inode)) -> bool {
        let operation = &self.call.operation;
        let content = match (&old.node, &new.node) {
            (Node::Regular(was), Node::Regular(is)) => was != is,
            (Node::Directory(_), Node::Directory(_)) => changes.iter().any(|change| change.parent == id),
            _ => false,
        };
        let attributes = (old.permissions, old.uid, old.gid, old.names, &old.xattrs)
            != (new.permissions, new.uid, new.gid, new.names, &new.xattrs);
        let renamed = changes.iter().any(|change| [change.old, change.new].contains(&Some(id)));
        let changed = content || attributes || renamed;
        let told = (!content || new.mtime == self.now) && (!changed || new.ctime == self.now);

        let sets_all = matches!(operation, Operation::Utimens { .. });
        let attribute_call = matches!(
            operation,
            Operation::Chmod { .. }
                | Operation::Chown { .. }
                | Operation::Setxattr { .. }
                | Operation::Removexattr { .. }
        );
        let reads = matches!(
            operation,
            Operation::Read { .. }
                | Operation::Pread { .. }
                | Operation::Readdir { .. }
                | Operation::Readlink { .. }
                | Operation::CopyFileRange { .. }
        );
        let may_read = sets_all || reads || old.kind() == FileKind::Symlink;
        let may_modify = sets_all || content || writes(operation);
        let may_change = may_modify || changed || attribute_call;
        told && (may_read || old.atime == new.atime)
            && (may_modify || old.mtime == new.mtime)
            && (may_change || old.ctime == new.ctime)
    }
}
