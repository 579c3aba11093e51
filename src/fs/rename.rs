//! rename, with NOREPLACE and EXCHANGE.
//!
//! Keeps FS-RENAME-1 to FS-RENAME-9, FS-PERM-5. The order of the checks is that of Linux's `do_renameat2` and `vfs_rename`.

use super::dentry::{self, Dentry};
use super::inode::Inode;
use super::permission::{check_access, check_add, check_remove, check_search};
use super::reap::Freed;
use super::{Errno, Operation, Result};
use crate::types::{Access, Caller, Ino, Name};
use crate::vfs::RenameFlags;

/// One side of a rename that exists.
struct Side<'a> {
    directory: Inode,
    name: Name<'a>,
    dentry: Dentry,
    inode: Inode,
}

impl Operation<'_> {
    pub(super) fn rename(
        &mut self,
        caller: &Caller,
        (parent, name): (Ino, Name<'_>),
        (new_parent, new_name): (Ino, Name<'_>),
        flags: RenameFlags,
    ) -> Result<Freed> {
        if flags.contains(RenameFlags::all()) || flags.bits() != flags.bits() & RenameFlags::all().bits() {
            return Err(Errno::EINVAL.into());
        }
        let directory = self.inode(parent)?;
        check_search(caller, &directory)?;
        let new_directory = self.inode(new_parent)?;
        check_search(caller, &new_directory)?;
        self.check_writable()?;
        let found = dentry::find(self.session, parent, name)?.ok_or(Errno::ENOENT)?;
        let source = Side { directory, name, dentry: found, inode: self.named_inode(found.ino)? };
        let found = dentry::find(self.session, new_parent, new_name)?;
        if flags.contains(RenameFlags::NOREPLACE) && found.is_some() {
            return Err(Errno::EEXIST.into());
        }
        if flags.contains(RenameFlags::EXCHANGE) && found.is_none() {
            return Err(Errno::ENOENT.into());
        }
        self.check_not_inside(new_parent, &source.inode, Errno::EINVAL)?;
        let Some(found) = found else {
            check_remove(caller, &source.directory, &source.inode)?;
            self.check_not_removed(&new_directory)?;
            check_add(caller, &new_directory)?;
            self.check_move_of_directory(caller, &source, &new_directory)?;
            self.move_entry(&source, new_parent, new_name)?;
            return Ok(Freed::Nothing);
        };
        let target = Side {
            directory: new_directory,
            name: new_name,
            dentry: found,
            inode: self.named_inode(found.ino)?,
        };
        let inside = if flags.contains(RenameFlags::EXCHANGE) { Errno::EINVAL } else { Errno::ENOTEMPTY };
        self.check_not_inside(parent, &target.inode, inside)?;
        if source.inode.ino == target.inode.ino {
            // Two names of one inode: nothing happens (rename(2)).
            return Ok(Freed::Nothing);
        }
        check_remove(caller, &source.directory, &source.inode)?;
        check_remove(caller, &target.directory, &target.inode)?;
        if flags.contains(RenameFlags::EXCHANGE) {
            self.check_move_of_directory(caller, &source, &target.directory)?;
            self.check_move_of_directory(caller, &target, &source.directory)?;
            return self.exchange(&source, &target).map(|()| Freed::Nothing);
        }
        match (source.inode.mode.is_directory(), target.inode.mode.is_directory()) {
            (true, false) => return Err(Errno::ENOTDIR.into()),
            (false, true) => return Err(Errno::EISDIR.into()),
            _ => {}
        }
        self.check_move_of_directory(caller, &source, &target.directory)?;
        if target.inode.mode.is_directory() && !dentry::is_empty(self.session, target.inode.ino)? {
            return Err(Errno::ENOTEMPTY.into());
        }
        self.replace(&source, &target)
    }

    /// `errno` when `directory` is `ancestor` or lies below it.
    fn check_not_inside(&mut self, directory: Ino, ancestor: &Inode, errno: Errno) -> Result<()> {
        if !ancestor.mode.is_directory() {
            return Ok(());
        }
        let mut at = directory;
        // A tree has no cycle; a damaged one must not hold us for ever.
        for _ in 0..=u16::MAX {
            if at == ancestor.ino {
                return Err(errno.into());
            }
            if at == Ino::ROOT {
                return Ok(());
            }
            match self.state.parent(self.session, at) {
                Ok(parent) => at = parent,
                // A removed directory lies below nothing.
                Err(error) if error.errno() == Errno::ENOENT => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Err(Errno::ELOOP.into())
    }

    /// A directory that changes its parent has its ".." rewritten, and counts as a link of the new one.
    fn check_move_of_directory(
        &mut self,
        caller: &Caller,
        moved: &Side<'_>,
        new_directory: &Inode,
    ) -> Result<()> {
        if !moved.inode.mode.is_directory() || moved.directory.ino == new_directory.ino {
            return Ok(());
        }
        check_access(caller, &moved.inode, Access::WRITE)?;
        self.check_room_for_directory(new_directory.ino)
    }

    fn move_entry(&mut self, source: &Side<'_>, new_parent: Ino, new_name: Name<'_>) -> Result<()> {
        dentry::relocate(self.session, source.dentry.id, new_parent, new_name)?;
        self.renamed(source, new_parent, new_name)
    }

    /// Times and memory after `source` has its new place.
    fn renamed(&mut self, source: &Side<'_>, new_parent: Ino, new_name: Name<'_>) -> Result<()> {
        let parent = source.directory.ino;
        Inode::touch_content(self.session, parent, self.now)?;
        if new_parent != parent {
            Inode::touch_content(self.session, new_parent, self.now)?;
        }
        Inode::touch_attributes(self.session, source.inode.ino, self.now)?;
        if source.inode.mode.is_directory() && new_parent != parent {
            self.state.adjust_subdirectories(parent, -1);
            self.state.adjust_subdirectories(new_parent, 1);
        }
        self.state.note_place(&source.inode, new_parent, new_name);
        self.state.touch([parent, new_parent, source.inode.ino]);
        Ok(())
    }

    fn replace(&mut self, source: &Side<'_>, target: &Side<'_>) -> Result<Freed> {
        // The target's name exists throughout, so its row, and with it its position, stays: a listing
        // neither misses it nor, when files are saved by rename while it goes on, sees it for ever.
        dentry::point(self.session, target.dentry.id, source.inode.ino)?;
        dentry::delete(self.session, source.dentry.id)?;
        let freed = self.drop_name(&target.inode)?;
        if target.inode.mode.is_directory() {
            self.state.adjust_subdirectories(target.directory.ino, -1);
        }
        self.renamed(source, target.directory.ino, target.name)?;
        Ok(freed)
    }

    fn exchange(&mut self, source: &Side<'_>, target: &Side<'_>) -> Result<()> {
        // The names stay where they are and swap what they name.
        dentry::point(self.session, source.dentry.id, target.inode.ino)?;
        dentry::point(self.session, target.dentry.id, source.inode.ino)?;
        self.renamed(source, target.directory.ino, target.name)?;
        self.renamed(target, source.directory.ino, source.name)
    }
}
