//! unlink, rmdir, and what becomes of inodes without a name (FS-UNLINK, FS-RMDIR, FS-REAP).

use std::collections::BTreeSet;

use super::path::Last;
use super::{Answer, FileSystem, Node, refusal};
use crate::Errno::{EBUSY, EINVAL, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY};
use crate::bytes::Bytes;
use crate::call::Place;
use crate::outcome::Expected;
use crate::values::{FileKind, InodeId, ProcessId, Time};

impl FileSystem {
    pub(super) fn unlink(&mut self, who: ProcessId, place: &Place, now: Time) -> Answer {
        let located = self.locate(who, place, now)?;
        let Last::Name(name) = located.last else { return Err(refusal(EISDIR, "PATH-7")) };
        self.writable()?;
        let victim = self.find(located.parent, &name)?.ok_or(refusal(ENOENT, "FS-UNLINK-2"))?.inode;
        let is_directory = self.directory(victim).is_some();
        if located.slash {
            return Err(refusal(if is_directory { EISDIR } else { ENOTDIR }, "PATH-6"));
        }
        self.may_change_entries(who, located.parent)?;
        self.may_take_out(who, located.parent, victim)?;
        if is_directory {
            return Err(refusal(EISDIR, "FS-UNLINK-2"));
        }
        self.take_out(located.parent, &name);
        self.inode_mut(victim).ctime = now;
        self.directory_changed(located.parent, now);
        Ok(Expected::done())
    }

    pub(super) fn rmdir(&mut self, who: ProcessId, place: &Place, now: Time) -> Answer {
        let located = self.locate(who, place, now)?;
        let name = match located.last {
            Last::Name(name) => name,
            Last::Root => return Err(refusal(EBUSY, "PATH-7")),
            Last::Dot => return Err(refusal(EINVAL, "PATH-7")),
            Last::DotDot => return Err(refusal(ENOTEMPTY, "PATH-7")),
        };
        self.writable()?;
        let victim = self.find(located.parent, &name)?.ok_or(refusal(ENOENT, "FS-RMDIR-2"))?.inode;
        self.may_change_entries(who, located.parent)?;
        self.may_take_out(who, located.parent, victim)?;
        let directory = self.directory(victim).ok_or(refusal(ENOTDIR, "FS-RMDIR-2"))?;
        if !directory.entries.is_empty() {
            return Err(refusal(ENOTEMPTY, "FS-RMDIR-2"));
        }
        self.take_out(located.parent, &name);
        self.inode_mut(victim).ctime = now;
        self.directory_changed(located.parent, now);
        Ok(Expected::done())
    }

    /// Takes the entry `name` out of `parent`.
    pub(super) fn take_out(&mut self, parent: InodeId, name: &Bytes) {
        let Node::Directory(directory) = &mut self.inode_mut(parent).node else {
            unreachable!("callers have found that the parent is a directory")
        };
        if let Some(dentry) = directory.entries.remove(name) {
            self.inode_mut(dentry.inode).names -= 1;
        }
    }

    /// Reaps what has no name and is not open (FS-REAP-4). A removed directory that is open keeps those that ".." leads
    /// to.
    pub(super) fn release(&mut self) {
        if self.inodes.values().all(|inode| inode.names > 0) {
            return;
        }
        let mut kept: BTreeSet<InodeId> =
            self.descriptions.values().map(|description| description.inode).collect();
        let mut above: Vec<InodeId> = kept.iter().copied().collect();
        while let Some(inode) = above.pop() {
            if let Some(directory) = self.directory(inode).filter(|_| self.profile.parent_of_removed)
                && self.is_removed(inode)
                && kept.insert(directory.parent)
            {
                above.push(directory.parent);
            }
        }
        self.inodes.retain(|id, inode| inode.names > 0 || kept.contains(id));
    }

    /// Every handle is gone, and with it what had no name.
    pub(super) fn close_all(&mut self) {
        self.descriptions.clear();
        self.release();
    }

    /// How many directories are in a directory.
    pub(super) fn subdirectories(&self, directory: InodeId) -> u64 {
        let Some(directory) = self.directory(directory) else { return 0 };
        let is_directory = |dentry: &&super::Dentry| self.inodes[&dentry.inode].kind() == FileKind::Directory;
        directory.entries.values().filter(is_directory).count() as u64
    }
}
