//! stat, chmod, chown, truncate, utimensat.
//!
//! Keeps FS-ATTR-1 to FS-ATTR-11, FS-TIME-3 to FS-TIME-6, FS-TRUNC-4, FS-NLINK-2, FS-PERM-8 to FS-PERM-12 and
//! FS-PERM-16.

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
        if due && atime != self.now {
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
        check_kind(&inode, changes)?;
        self.check_writable()?;
        if changes.permissions.is_some() && inode.mode.kind() == FileKind::Symlink {
            return Err(Errno::EOPNOTSUPP.into());
        }
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

    /// Whether `caller` has `access`; a read-only database refuses to be written before permissions are
    /// looked at, but what is written to a FIFO or a device is not kept in it.
    pub(super) fn access(&mut self, caller: &Caller, ino: Ino, access: Access) -> Result<()> {
        let inode = self.inode(ino)?;
        let kept = matches!(inode.mode.kind(), FileKind::Regular | FileKind::Directory | FileKind::Symlink);
        if access.contains(Access::WRITE) && kept {
            self.check_writable()?;
        }
        check_access(caller, &inode, access)
    }

    fn time(&self, time: SetTime) -> Timestamp {
        match time {
            SetTime::Now => self.now,
            SetTime::At(time) => time,
        }
    }
}

/// Errors in the order of FS-ATTR-7.
fn check_changes(caller: &Caller, inode: &Inode, changes: &SetAttributes) -> Result<()> {
    let times = [changes.atime, changes.mtime];
    // Who may write the file may also say that it was just read and written.
    let touches = match times {
        [None, None] => true,
        [None, Some(SetTime::Now)] => changes.size.is_some(),
        _ => times == [Some(SetTime::Now); 2],
    };
    let owner = owns(caller, inode);
    if changes.size.is_some() || (touches && times != [None, None] && !owner) {
        check_access(caller, inode, Access::WRITE)?;
    }
    if changes.size.is_some_and(|size| size > MAX_FILE_BYTES) {
        return Err(Errno::EFBIG.into());
    }
    if caller.is_unrestricted() {
        return Ok(());
    }
    let keeps_owner = changes.uid.is_none_or(|uid| owner && uid == inode.uid);
    let joins_group = changes.gid.is_none_or(|gid| owner && (gid == inode.gid || caller.is_in_group(gid)));
    if !keeps_owner || !joins_group || (!owner && (changes.permissions.is_some() || !touches)) {
        return Err(Errno::EPERM.into());
    }
    Ok(())
}

/// What no caller can ask for, of this kind of inode.
fn check_kind(inode: &Inode, changes: &SetAttributes) -> Result<()> {
    let kind = inode.mode.kind();
    if changes.size.is_some() && kind != FileKind::Regular {
        return Err(if kind == FileKind::Directory { Errno::EISDIR } else { Errno::EINVAL }.into());
    }
    let given = |time| match time {
        Some(SetTime::At(time)) => Some(time),
        _ => None,
    };
    let times = [given(changes.atime), given(changes.mtime), changes.ctime];
    if times.into_iter().flatten().any(|time| time.nanoseconds > 999_999_999) {
        return Err(Errno::EINVAL.into());
    }
    Ok(())
}
