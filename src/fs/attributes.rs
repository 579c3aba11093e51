//! stat, chmod, chown, truncate, utimensat.
//!
//! Keeps FS-ATTR, FS-TIME, FS-TRUNC and FS-NLINK rules. The order of the checks is that of Linux's
//! `setattr_prepare`.

use super::inode::Inode;
use super::permission::{check_access, owns, without_set_id};
use super::{MAX_FILE_BYTES, Operation};
use crate::error::{Errno, Result};
use crate::types::{
    Access, AtimePolicy, Attributes, Caller, FileKind, Ino, Mode, SetAttributes, SetTime, Timestamp,
};

/// What stat shows as the size of a directory.
const DIRECTORY_BYTES: u64 = 4096;
const DAY: i64 = 24 * 60 * 60;

impl Operation<'_> {
    /// What stat shows of an inode.
    pub(super) fn attributes(&mut self, inode: &Inode) -> Result<Attributes> {
        let (nlink, size, blocks) = match inode.mode.kind() {
            FileKind::Directory if self.check_not_removed(inode).is_err() => (0, DIRECTORY_BYTES, 0),
            FileKind::Directory => {
                // 1 where they are not counted, as ext4 shows when there are too many.
                let subdirectories = self.state.subdirectories(self.session, inode.ino)?;
                let nlink = subdirectories.map_or(1, |count| count.saturating_add(2));
                (nlink, DIRECTORY_BYTES, DIRECTORY_BYTES / 512)
            }
            FileKind::Regular => {
                let stored = self.content(inode).stored_bytes()?;
                (inode.nlink, inode.size, stored.div_ceil(512))
            }
            _ => (inode.nlink, inode.size, 0),
        };
        Ok(Attributes {
            ino: inode.ino,
            mode: inode.mode,
            nlink,
            uid: inode.uid,
            gid: inode.gid,
            size,
            blocks,
            rdev: inode.rdev,
            atime: self.state.pending_atimes.get(&inode.ino).copied().unwrap_or(inode.atime),
            mtime: inode.mtime,
            ctime: inode.ctime,
        })
    }

    /// Records a read of `inode`, as the atime policy has it, without a write of its own.
    pub(super) fn note_access(&mut self, inode: &Inode) {
        let atime = self.state.pending_atimes.get(&inode.ino).copied().unwrap_or(inode.atime);
        let due = match self.fs.atime {
            AtimePolicy::Never => false,
            AtimePolicy::Strict => true,
            AtimePolicy::Relative => {
                atime <= inode.mtime
                    || atime <= inode.ctime
                    || self.now.seconds.saturating_sub(atime.seconds) >= DAY
            }
        };
        // A table that is full waits for the next barrier; a missed access time is no loss.
        if due && atime != self.now && self.state.pending_atimes.len() < super::PENDING_ATIMES {
            self.state.pending_atimes.insert(inode.ino, self.now);
        }
    }

    pub(super) fn setattr(
        &mut self,
        caller: &Caller,
        ino: Ino,
        changes: &SetAttributes,
    ) -> Result<Attributes> {
        let mut inode = self.inode(ino)?;
        check_changes(caller, &inode, changes)?;
        if let Some(atime) = self.state.pending_atimes.get(&ino) {
            inode.atime = *atime;
        }
        if let Some(size) = changes.size {
            let mut content = self.content(&inode);
            content.set_size(size)?;
            let shape = content.shape();
            (inode.size, inode.storage) = (shape.size, shape.storage);
            inode.mtime = self.now;
            if caller.uid.0 != 0 {
                inode.mode = without_set_id(caller, &inode);
            }
            self.remove_capabilities(&inode)?;
        }
        if changes.uid.is_some() || changes.gid.is_some() {
            if !inode.mode.is_directory() {
                inode.mode = without_set_id(caller, &inode);
                self.remove_capabilities(&inode)?;
            }
            inode.uid = changes.uid.unwrap_or(inode.uid);
            inode.gid = changes.gid.unwrap_or(inode.gid);
        }
        if let Some(permissions) = changes.permissions {
            inode.mode = inode.mode.with_permissions(permissions);
            if !caller.is_unrestricted() && !caller.is_in_group(inode.gid) {
                inode.mode = inode.mode.with_permissions(permissions & !Mode::SET_GID);
            }
        }
        inode.atime = changes.atime.map_or(inode.atime, |time| self.time(time));
        inode.mtime = changes.mtime.map_or(inode.mtime, |time| self.time(time));
        inode.ctime = changes.ctime.unwrap_or(self.now);
        inode.store_attributes(self.session)?;
        self.state.pending_atimes.remove(&ino);
        self.state.touch([ino]);
        self.attributes(&inode)
    }

    fn time(&self, time: SetTime) -> Timestamp {
        match time {
            SetTime::Now => self.now,
            SetTime::At(time) => time,
        }
    }
}

fn check_changes(caller: &Caller, inode: &Inode, changes: &SetAttributes) -> Result<()> {
    if let Some(size) = changes.size {
        match inode.mode.kind() {
            FileKind::Regular => {}
            FileKind::Directory => return Err(Errno::EISDIR.into()),
            _ => return Err(Errno::EINVAL.into()),
        }
        check_access(caller, inode, Access::WRITE)?;
        if size > MAX_FILE_BYTES {
            return Err(Errno::EFBIG.into());
        }
    }
    if caller.is_unrestricted() {
        return Ok(());
    }
    let owner = owns(caller, inode);
    let keeps_owner = changes.uid.is_none_or(|uid| owner && uid == inode.uid);
    let joins_group = changes.gid.is_none_or(|gid| owner && (gid == inode.gid || caller.is_in_group(gid)));
    let changes_mode = changes.permissions.is_some() && !owner;
    if !keeps_owner || !joins_group || changes_mode {
        return Err(Errno::EPERM.into());
    }
    let times = [changes.atime, changes.mtime];
    if owner || times == [None, None] {
        return Ok(());
    }
    if times.iter().flatten().any(|time| matches!(time, SetTime::At(_))) {
        return Err(Errno::EPERM.into());
    }
    check_access(caller, inode, Access::WRITE)
}
