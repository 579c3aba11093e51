//! What holds in every state of the abstract file system.

use std::collections::BTreeMap;

use super::{FileSystem, Node};
use crate::values::{FileKind, InodeId};

/// A rule that a state breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Violation {
    /// An inode's number of names is not the number of entries that name it (FS-NLINK-1).
    Names(InodeId),
    /// An entry names an inode that is not there.
    Dangling(InodeId),
    /// A directory has two names, or its ".." leads elsewhere than to where its name is.
    Parent(InodeId),
    /// A directory that has a name cannot be reached from the root: there is a cycle.
    Unreachable(InodeId),
    /// An inode has neither a name nor a handle (FS-REAP-4).
    Leaked(InodeId),
    /// A removed directory has entries (FS-RMDIR-1).
    Occupied(InodeId),
    /// A handle is open on an inode that is not there (FS-REAP-1).
    Lost(InodeId),
    /// The root is gone, or no directory (FS-NLINK-4).
    Root,
}

impl FileSystem {
    /// The first rule that the state breaks, if any.
    #[must_use]
    pub fn violation(&self) -> Option<Violation> {
        let root = self.inodes.get(&InodeId::ROOT);
        if root.is_none_or(|root| root.kind() != FileKind::Directory) {
            return Some(Violation::Root);
        }
        let mut names: BTreeMap<InodeId, u64> = BTreeMap::from([(InodeId::ROOT, 1)]);
        for (id, inode) in &self.inodes {
            let Node::Directory(directory) = &inode.node else { continue };
            if inode.names == 0 && !directory.entries.is_empty() {
                return Some(Violation::Occupied(*id));
            }
            for dentry in directory.entries.values() {
                *names.entry(dentry.inode).or_default() += 1;
                match self.inodes.get(&dentry.inode).map(|child| &child.node) {
                    None => return Some(Violation::Dangling(dentry.inode)),
                    Some(Node::Directory(child)) if child.parent != *id => {
                        return Some(Violation::Parent(dentry.inode));
                    }
                    Some(_) => {}
                }
            }
        }
        self.violation_of_inodes(&names)
    }

    fn violation_of_inodes(&self, names: &BTreeMap<InodeId, u64>) -> Option<Violation> {
        let is_open = |id: &InodeId| self.descriptions.values().any(|description| description.inode == *id);
        let is_above_open = |id: &InodeId| {
            let below = |inode: &super::Inode| match &inode.node {
                Node::Directory(directory) => inode.names == 0 && directory.parent == *id,
                _ => false,
            };
            self.profile.parent_of_removed && self.inodes.values().any(below)
        };
        for (id, inode) in &self.inodes {
            let counted = names.get(id).copied().unwrap_or_default();
            let directory = inode.kind() == FileKind::Directory;
            if counted != inode.names {
                return Some(Violation::Names(*id));
            }
            if directory && counted > 1 {
                return Some(Violation::Parent(*id));
            }
            if counted == 0 && !is_open(id) && !is_above_open(id) {
                return Some(Violation::Leaked(*id));
            }
            if directory && counted > 0 && !self.reaches_root(*id) {
                return Some(Violation::Unreachable(*id));
            }
        }
        let lost = |description: &&super::Description| !self.inodes.contains_key(&description.inode);
        self.descriptions.values().find(lost).map(|description| Violation::Lost(description.inode))
    }

    /// Whether ".." again and again leads to the root.
    fn reaches_root(&self, id: InodeId) -> bool {
        let mut current = id;
        for _ in 0..=self.inodes.len() {
            if current == InodeId::ROOT {
                return true;
            }
            match self.inodes.get(&current).map(|inode| &inode.node) {
                Some(Node::Directory(directory)) => current = directory.parent,
                _ => return false,
            }
        }
        false
    }
}
