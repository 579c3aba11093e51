//! Ways to make a state that no call makes, for the seeded bugs of the checks: what a wrong file system would have done.

use std::collections::BTreeMap;

use super::{Content, Dentry, Description, FileSystem, Inode, Node};
use crate::bytes::Bytes;
use crate::values::{Handle, InodeId, ProcessId};

impl FileSystem {
    /// The inodes, to be changed at will.
    pub(crate) const fn damaged_inodes(&mut self) -> &mut BTreeMap<InodeId, Inode> {
        &mut self.inodes
    }

    /// What is open, to be changed at will.
    pub(crate) const fn damaged_descriptions(&mut self) -> &mut BTreeMap<(ProcessId, Handle), Description> {
        &mut self.descriptions
    }

    /// Enters a name without a look at anything else, or takes it out. The counts of names do not follow.
    pub(crate) fn damage_entry(&mut self, parent: InodeId, name: &Bytes, inode: Option<InodeId>) {
        let id = self.next_entry;
        let Some(Node::Directory(directory)) = self.inodes.get_mut(&parent).map(|parent| &mut parent.node)
        else {
            return;
        };
        match inode {
            None => directory.entries.remove(name),
            Some(inode) => {
                self.next_entry += 1;
                directory.entries.insert(name.clone(), Dentry { inode, id })
            }
        };
    }

    /// Leaves the bytes of `old` behind the end of what the inode holds now, where the next growth shows them.
    pub(crate) fn damage_tail(&mut self, inode: InodeId, old: &Content) {
        if let Some(Node::Regular(content)) = self.inodes.get_mut(&inode).map(|inode| &mut inode.node) {
            content.leave_behind(old);
        }
    }
}
