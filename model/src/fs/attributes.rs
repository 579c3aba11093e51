//! stat, access, chmod, chown, utimens, truncate, statfs (FS-ATTR, FS-STATFS).

use super::content::Layout;
use super::{Answer, FileSystem, Inode, Node, refusal};
use crate::Errno::{EACCES, EBADF, EFBIG, EINVAL, EISDIR, EOPNOTSUPP, EPERM, EROFS};
use crate::call::{AccessMode, Object, OpenFlags, Place, TimeChange};
use crate::outcome::{Expected, StatusPattern};
use crate::values::{FileKind, InodeId, ProcessId, Time};

/// Removed with a change of content or owner (FS-XATTR-11).
pub(super) const CAPABILITY: &[u8] = b"security.capability";
/// The longest name of an entry.
const LONGEST_NAME: u64 = 255;

impl Inode {
    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> FileKind {
        self.node.kind()
    }
}

impl FileSystem {
    pub(super) fn layout(&self) -> Layout {
        Layout::from(&self.profile)
    }

    /// The inode that `object` is about.
    pub(super) fn object(&mut self, who: ProcessId, object: &Object, now: Time) -> Answer<InodeId> {
        match object {
            Object::Handle { handle } => Ok(self.description(who, *handle)?.inode),
            Object::Path { path, follow } => self.resolve(who, path, *follow, now),
        }
    }

    /// What stat shows of an inode.
    #[must_use]
    pub fn status(&self, id: InodeId) -> Option<StatusPattern> {
        let inode = self.inodes.get(&id)?;
        let removed = inode.names == 0;
        let (size, blocks, links, rdev) = match &inode.node {
            Node::Regular(content) => {
                let blocks = content.stored_bytes(self.layout()).div_ceil(512);
                (Some(content.size()), Some(blocks), Some(inode.names), 0)
            }
            Node::Directory(_) => {
                let size = self.profile.directory_size.then_some(4096);
                let links = if removed { 0 } else { 2 + self.subdirectories(id) };
                let links = self.profile.directory_links.then_some(links);
                (size, Some(if removed { 0 } else { 8 }), links, 0)
            }
            Node::Symlink(target) => (Some(target.len() as u64), Some(0), Some(inode.names), 0),
            Node::Special(_, rdev) => (Some(0), Some(0), Some(inode.names), *rdev),
        };
        Some(StatusPattern {
            inode: id,
            kind: inode.kind(),
            permissions: inode.permissions,
            links,
            uid: inode.uid,
            gid: inode.gid,
            size,
            blocks: blocks.filter(|_| self.profile.layout),
            rdev,
            atime: inode.atime,
            mtime: inode.mtime,
            ctime: inode.ctime,
        })
    }

    pub(super) fn stat(&mut self, who: ProcessId, object: &Object, now: Time) -> Answer {
        let inode = self.object(who, object, now)?;
        let status = self.status(inode).expect("the inode was found in this very call");
        Ok(Expected::Status(status))
    }

    /// FS-ATTR-11.
    pub(super) fn access(&mut self, who: ProcessId, place: &Place, mode: AccessMode, now: Time) -> Answer {
        let inode = self.resolve(who, place, true, now)?;
        let special = matches!(self.inodes[&inode].node, Node::Special(..));
        if mode.contains(AccessMode::WRITE) && self.read_only && !special {
            return Err(refusal(EROFS, "FS-ATTR-11"));
        }
        self.may(who, inode, mode)?;
        Ok(Expected::done())
    }

    pub(super) fn chmod(&mut self, who: ProcessId, object: &Object, mode: u32, now: Time) -> Answer {
        let id = self.object(who, object, now)?;
        self.writable()?;
        let inode = &self.inodes[&id];
        if inode.kind() == FileKind::Symlink {
            return Err(refusal(EOPNOTSUPP, "FS-ATTR-7"));
        }
        if !self.owns(who, id) {
            return Err(refusal(EPERM, "FS-ATTR-7"));
        }
        let permissions = self.chmod_permissions(who, inode.gid, mode);
        let inode = self.inode_mut(id);
        inode.permissions = permissions;
        inode.ctime = now;
        Ok(Expected::done())
    }

    /// FS-PERM-8, FS-PERM-9, FS-PERM-11; CALL-6 for a change to nothing.
    pub(super) fn chown(
        &mut self,
        who: ProcessId,
        object: &Object,
        (uid, gid): (Option<u32>, Option<u32>),
        now: Time,
    ) -> Answer {
        let id = self.object(who, object, now)?;
        self.writable()?;
        let inode = &self.inodes[&id];
        let caller = self.credentials(who);
        if let Some(uid) = uid
            && !(caller.is_superuser() || (caller.uid == inode.uid && uid == inode.uid))
        {
            return Err(refusal(EPERM, "FS-PERM-8"));
        }
        if let Some(gid) = gid {
            let own = caller.uid == inode.uid && (caller.is_member(gid) || gid == inode.gid);
            if !(caller.is_superuser() || own) {
                return Err(refusal(EPERM, "FS-PERM-9"));
            }
        }
        let nothing = uid.is_none() && gid.is_none();
        let permissions = match nothing && !self.profile.empty_chown_drops_set_id {
            true => inode.permissions,
            false => self.without_set_id(who, inode, true),
        };
        if permissions != inode.permissions && !self.owns(who, id) {
            return Err(refusal(EPERM, "CALL-6"));
        }
        let directory = inode.kind() == FileKind::Directory;
        let inode = self.inode_mut(id);
        inode.uid = uid.unwrap_or(inode.uid);
        inode.gid = gid.unwrap_or(inode.gid);
        inode.permissions = permissions;
        inode.ctime = now;
        if !directory {
            inode.xattrs.remove(&CAPABILITY.into());
        }
        Ok(Expected::done())
    }

    /// FS-ATTR-8, FS-ATTR-9, CALL-7.
    pub(super) fn utimens(
        &mut self,
        who: ProcessId,
        object: &Object,
        (atime, mtime): (TimeChange, TimeChange),
        now: Time,
    ) -> Answer {
        if (atime, mtime) == (TimeChange::Omit, TimeChange::Omit) {
            return Ok(Expected::done());
        }
        let id = self.object(who, object, now)?;
        let invalid =
            |change: &TimeChange| matches!(change, TimeChange::At(time) if time.nanoseconds > 999_999_999);
        if [atime, mtime].iter().any(invalid) {
            return Err(refusal(EINVAL, "FS-ATTR-7"));
        }
        self.writable()?;
        if !self.owns(who, id) {
            if (atime, mtime) != (TimeChange::Now, TimeChange::Now) {
                return Err(refusal(EPERM, "FS-ATTR-7"));
            }
            self.may(who, id, AccessMode::WRITE).map_err(|_| refusal(EACCES, "FS-ATTR-7"))?;
        }
        let set = |old: Time, change: TimeChange| match change {
            TimeChange::Now => now,
            TimeChange::Omit => old,
            TimeChange::At(time) => Time::At(time),
        };
        let inode = self.inode_mut(id);
        inode.atime = set(inode.atime, atime);
        inode.mtime = set(inode.mtime, mtime);
        inode.ctime = now;
        Ok(Expected::done())
    }

    /// FS-TRUNC, FS-PERM-12, CALL-3, CALL-5.
    pub(super) fn truncate(&mut self, who: ProcessId, object: &Object, size: u64, now: Time) -> Answer {
        if i64::try_from(size).is_err() {
            return Err(refusal(EINVAL, "CALL-3"));
        }
        let id = match object {
            Object::Handle { handle } => {
                let description = self.description(who, *handle)?;
                let writable = description.flags.contains(OpenFlags::WRITE);
                if !writable || self.inodes[&description.inode].kind() != FileKind::Regular {
                    return Err(refusal(EINVAL, "CALL-5"));
                }
                description.inode
            }
            Object::Path { path, follow } => {
                let id = self.resolve(who, path, *follow, now)?;
                match self.inodes[&id].kind() {
                    FileKind::Directory => return Err(refusal(EISDIR, "FS-ATTR-7")),
                    FileKind::Regular => {}
                    _ => return Err(refusal(EINVAL, "FS-ATTR-7")),
                }
                self.writable()?;
                self.may(who, id, AccessMode::WRITE).map_err(|_| refusal(EACCES, "FS-ATTR-7"))?;
                id
            }
        };
        if size > self.profile.largest_file {
            return Err(refusal(EFBIG, "FS-DATA-6"));
        }
        let by_path = matches!(object, Object::Path { .. });
        let same = self.content(id).is_some_and(|content| content.size() == size);
        self.cut(who, id, size, now);
        if by_path && same && !self.profile.same_size_modifies {
            let inode = self.inode_mut(id);
            (inode.mtime, inode.ctime) = (Time::Unknown, Time::Unknown);
        }
        Ok(Expected::done())
    }

    /// Gives the regular file `id` another size.
    pub(super) fn cut(&mut self, who: ProcessId, id: InodeId, size: u64, now: Time) {
        self.content_changed(who, id, now);
        let layout = self.layout();
        let inode = self.inode_mut(id);
        if let Node::Regular(content) = &mut inode.node {
            content.set_size(size, layout);
        }
    }

    /// What every change of content by `who` brings with it: times, and the loss of set-id bits and of capabilities
    /// (FS-PERM-12, FS-XATTR-11, MNT-38).
    pub(super) fn content_changed(&mut self, who: ProcessId, id: InodeId, now: Time) {
        let permissions = self.without_set_id(who, &self.inodes[&id], false);
        let inode = self.inode_mut(id);
        inode.permissions = permissions;
        inode.xattrs.remove(&CAPABILITY.into());
        inode.modified(now);
    }

    pub(super) fn umask(&mut self, who: ProcessId, mask: u32) -> Expected {
        self.processes[usize::from(who.0)].umask = mask & 0o777;
        Expected::done()
    }

    pub(super) const fn statfs() -> Expected {
        Expected::Statistics { longest_name: LONGEST_NAME }
    }

    /// Whether the handle was opened for what `needed` says.
    pub(super) fn opened_for(
        &self,
        who: ProcessId,
        handle: crate::values::Handle,
        needed: OpenFlags,
    ) -> Answer<InodeId> {
        let description = self.description(who, handle)?;
        if description.flags.contains(needed) { Ok(description.inode) } else { Err(refusal(EBADF, "CALL-1")) }
    }
}
