//! Finding, adding and removing names.
//!
//! Keeps FS-LOOKUP-1 to FS-LOOKUP-5, FS-CREATE-1 to FS-CREATE-8, FS-LINK-1, FS-LINK-2, FS-UNLINK-1 to
//! FS-UNLINK-3, FS-RMDIR-1 to FS-RMDIR-4, FS-NLINK-3 to FS-NLINK-5. The order of the checks is that
//! of Linux's `filename_create`, `may_create` and `may_delete`.

use super::dentry;
use super::inode::{Inode, NewInode};
use super::permission::{check_add, check_remove, check_search, inherit};
use super::reap::Freed;
use super::{Errno, Operation, Result};
use crate::store::{Text, bytes};
use crate::types::{Attributes, Caller, DeviceNumber, FileKind, Ino, Mode, Name, Target};
use crate::vfs::NodeSpec;

/// The most names that an inode may have, and subdirectories a directory: readers of the format keep
/// link counts in signed 32-bit integers.
const MAX_LINKS: u32 = i32::MAX as u32;

const INSERT_TARGET: &str = "INSERT INTO fs_symlink (ino, target) VALUES (?, ?)";
const TARGET: &str = "SELECT target FROM fs_symlink WHERE ino = ?";

impl Operation<'_> {
    pub(super) fn lookup(&mut self, caller: &Caller, parent: Ino, name: Name<'_>) -> Result<Attributes> {
        check_search(caller, &self.inode(parent)?)?;
        let found = dentry::find(self.session, parent, name)?.ok_or(Errno::ENOENT)?;
        let inode = self.named_inode(found.ino)?;
        self.hand_out(&inode, parent, name)
    }

    /// The inode of an entry: an entry without one is damage, not absence.
    pub(super) fn named_inode(&self, ino: Ino) -> Result<Inode> {
        self.inode(ino).map_err(|error| match error.errno() {
            Errno::ENOENT => Errno::EIO.into(),
            _ => error,
        })
    }

    /// Takes the reference that the caller will give back.
    fn hand_out(&mut self, inode: &Inode, parent: Ino, name: Name<'_>) -> Result<Attributes> {
        let attributes = self.attributes(inode)?;
        self.state.note_place(inode, parent, name);
        self.state.hand_out(inode.ino);
        Ok(attributes)
    }

    pub(super) fn readlink(&mut self, ino: Ino) -> Result<Vec<u8>> {
        let inode = self.inode(ino)?;
        if !inode.mode.is_symlink() {
            return Err(Errno::EINVAL.into());
        }
        let target = self.session.row(TARGET, [ino.0 as i64], |row| Ok(bytes(row, 0)?.to_vec()))?;
        self.note_access(&inode);
        target.ok_or_else(|| Errno::EIO.into())
    }

    pub(super) fn mknod(
        &mut self,
        caller: &Caller,
        parent: Ino,
        name: Name<'_>,
        node: NodeSpec,
    ) -> Result<Attributes> {
        let kind = node.mode.kind();
        match kind {
            FileKind::Directory => return Err(Errno::EPERM.into()),
            FileKind::Symlink => return Err(Errno::EINVAL.into()),
            _ => {}
        }
        let directory = self.place_for(caller, parent, name)?;
        let device = matches!(kind, FileKind::CharacterDevice | FileKind::BlockDevice);
        let whiteout = kind == FileKind::CharacterDevice && node.rdev == DeviceNumber(0);
        if device && !whiteout && !caller.is_unrestricted() {
            return Err(Errno::EPERM.into());
        }
        let rdev = if device { node.rdev } else { DeviceNumber(0) };
        let (mode, gid) = inherit(caller, &directory, kind, node.mode.permissions());
        let inode = self.add(&directory, name, &NewInode { mode, uid: caller.uid, gid, rdev, size: 0 })?;
        self.hand_out(&inode, parent, name)
    }

    pub(super) fn mkdir(
        &mut self,
        caller: &Caller,
        parent: Ino,
        name: Name<'_>,
        permissions: u32,
    ) -> Result<Attributes> {
        let directory = self.place_for(caller, parent, name)?;
        self.check_room_for_directory(parent)?;
        let permissions = permissions & (0o777 | Mode::STICKY);
        let (mode, gid) = inherit(caller, &directory, FileKind::Directory, permissions);
        let new = NewInode { mode, uid: caller.uid, gid, rdev: DeviceNumber(0), size: 0 };
        let inode = self.add(&directory, name, &new)?;
        self.state.adjust_subdirectories(parent, 1);
        self.state.note_new_directory(inode.ino);
        self.hand_out(&inode, parent, name)
    }

    /// EMLINK when a directory cannot have one more subdirectory.
    pub(super) fn check_room_for_directory(&mut self, parent: Ino) -> Result<()> {
        match self.state.subdirectories(self.session, parent)? {
            Some(count) if count >= MAX_LINKS - 2 => Err(Errno::EMLINK.into()),
            _ => Ok(()),
        }
    }

    pub(super) fn symlink(
        &mut self,
        caller: &Caller,
        parent: Ino,
        name: Name<'_>,
        target: Target<'_>,
    ) -> Result<Attributes> {
        let directory = self.place_for(caller, parent, name)?;
        // The permissions of a symlink are never looked at, and the umask does not change them.
        let mode = Mode::new(FileKind::Symlink, 0o777);
        let (_, gid) = inherit(caller, &directory, FileKind::Symlink, 0);
        let size = target.as_bytes().len() as u64;
        let new = NewInode { mode, uid: caller.uid, gid, rdev: DeviceNumber(0), size };
        let inode = self.add(&directory, name, &new)?;
        self.session.execute(INSERT_TARGET, (inode.ino.0 as i64, Text(target.as_bytes())))?;
        self.hand_out(&inode, parent, name)
    }

    /// The directory, when `name` may be added to it.
    pub(super) fn place_for(&mut self, caller: &Caller, parent: Ino, name: Name<'_>) -> Result<Inode> {
        let directory = self.inode(parent)?;
        check_search(caller, &directory)?;
        if dentry::find(self.session, parent, name)?.is_some() {
            return Err(Errno::EEXIST.into());
        }
        self.check_writable()?;
        self.check_not_removed(&directory)?;
        check_add(caller, &directory)?;
        Ok(directory)
    }

    /// ENOENT for a directory that no entry names any more. What its link count says does not decide:
    /// another convention can leave a live directory of ours at 0 (FS-NLINK-3).
    pub(super) fn check_not_removed(&mut self, directory: &Inode) -> Result<()> {
        if directory.nlink > 0 || directory.ino == Ino::ROOT {
            return Ok(());
        }
        if self.state.orphans.contains(&directory.ino) {
            return Err(Errno::ENOENT.into());
        }
        self.state.parent(self.session, directory.ino).map(|_| ())
    }

    pub(super) fn add(&mut self, directory: &Inode, name: Name<'_>, new: &NewInode) -> Result<Inode> {
        self.check_room()?;
        let inode = self.insert_inode(new)?;
        dentry::insert(self.session, directory.ino, name, inode.ino)?;
        Inode::touch_content(self.session, directory.ino, self.now)?;
        self.state.entries = self.state.entries.map(|entries| entries + 1);
        self.state.touch([directory.ino, inode.ino]);
        Ok(inode)
    }

    /// An inode with a number that was never given out, not even to an inode of a group that was lost.
    fn insert_inode(&mut self, new: &NewInode) -> Result<Inode> {
        if let Some(last) = self.state.lost_number() {
            Inode::skip_numbers(self.session, last)?;
        }
        let inode = Inode::insert(self.session, new, self.now)?;
        self.state.note_number(inode.ino);
        Ok(inode)
    }

    pub(super) fn link(
        &mut self,
        caller: &Caller,
        ino: Ino,
        parent: Ino,
        name: Name<'_>,
    ) -> Result<Attributes> {
        let mut inode = self.inode(ino)?;
        let directory = self.place_for(caller, parent, name)?;
        if inode.mode.is_directory() {
            return Err(Errno::EPERM.into());
        }
        if inode.nlink == 0 {
            return Err(Errno::ENOENT.into());
        }
        if inode.nlink >= MAX_LINKS {
            return Err(Errno::EMLINK.into());
        }
        self.check_room()?;
        dentry::insert(self.session, directory.ino, name, ino)?;
        inode.nlink += 1;
        inode.ctime = self.now;
        Inode::set_nlink(self.session, ino, inode.nlink, self.now)?;
        Inode::touch_content(self.session, parent, self.now)?;
        self.state.entries = self.state.entries.map(|entries| entries + 1);
        self.state.touch([parent, ino]);
        self.hand_out(&inode, parent, name)
    }

    pub(super) fn unlink(&mut self, caller: &Caller, parent: Ino, name: Name<'_>) -> Result<Freed> {
        let (directory, found, victim) = self.victim(caller, parent, name)?;
        check_remove(caller, &directory, &victim)?;
        if victim.mode.is_directory() {
            return Err(Errno::EISDIR.into());
        }
        dentry::delete(self.session, found.id)?;
        Inode::touch_content(self.session, parent, self.now)?;
        let freed = self.drop_name(&victim)?;
        self.state.touch([parent]);
        Ok(freed)
    }

    pub(super) fn rmdir(&mut self, caller: &Caller, parent: Ino, name: Name<'_>) -> Result<Freed> {
        let (directory, found, victim) = self.victim(caller, parent, name)?;
        check_remove(caller, &directory, &victim)?;
        if !victim.mode.is_directory() {
            return Err(Errno::ENOTDIR.into());
        }
        if !dentry::is_empty(self.session, victim.ino)? {
            return Err(Errno::ENOTEMPTY.into());
        }
        dentry::delete(self.session, found.id)?;
        Inode::touch_content(self.session, parent, self.now)?;
        let freed = self.drop_name(&victim)?;
        self.state.adjust_subdirectories(parent, -1);
        self.state.touch([parent]);
        Ok(freed)
    }

    fn victim(&self, caller: &Caller, parent: Ino, name: Name<'_>) -> Result<(Inode, dentry::Dentry, Inode)> {
        let directory = self.inode(parent)?;
        check_search(caller, &directory)?;
        self.check_writable()?;
        let found = dentry::find(self.session, parent, name)?.ok_or(Errno::ENOENT)?;
        Ok((directory, found, self.named_inode(found.ino)?))
    }
}
