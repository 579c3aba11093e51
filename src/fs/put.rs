//! Whole files in one step.
//!
//! Keeps PATH-9 and PATH-10: the directories, the file and its content are one operation of the
//! store, so that no crash and no reader finds a part of it.

use super::inode::NewInode;
use super::permission::{check_search, inherit};
use super::{Operation, Result, checked_end, dentry};
use crate::types::{Caller, DeviceNumber, FileKind, Ino, Name, SetAttributes};
use crate::vfs::{OpenFlags, WriteFlags};

impl Operation<'_> {
    pub(super) fn put(
        &mut self,
        caller: &Caller,
        parent: Ino,
        missing: &[Name<'_>],
        name: Name<'_>,
        content: &[u8],
    ) -> Result<()> {
        checked_end(0, content.len() as u64)?;
        let made = self.put_rows(caller, parent, missing, name, content).inspect_err(|_| {
            // Entries that are rolled back have been counted.
            self.state.entries = None;
        })?;
        let mut above = parent;
        for directory in made {
            self.state.adjust_subdirectories(above, 1);
            self.state.note_new_directory(directory);
            above = directory;
        }
        Ok(())
    }

    /// Returns the directories made. What is remembered of inodes stays as it is until all is done,
    /// since a failure takes these rows away again.
    fn put_rows(
        &mut self,
        caller: &Caller,
        parent: Ino,
        missing: &[Name<'_>],
        name: Name<'_>,
        content: &[u8],
    ) -> Result<Vec<Ino>> {
        if !missing.is_empty() {
            self.check_room_for_directory(parent)?;
        }
        let mut made = Vec::new();
        let mut directory = parent;
        for &name in missing {
            directory = self.make(caller, directory, name, FileKind::Directory, 0o777)?;
            made.push(directory);
        }
        check_search(caller, &self.inode(directory)?)?;
        let file = match dentry::find(self.session, directory, name)? {
            None => self.make(caller, directory, name, FileKind::Regular, 0o666)?,
            Some(found) => {
                self.check_open(caller, found.ino, OpenFlags::WRITE | OpenFlags::TRUNCATE)?;
                let empty = SetAttributes { size: Some(0), ..SetAttributes::default() };
                self.setattr(caller, found.ino, &empty)?;
                found.ino
            }
        };
        self.write(file, 0, content, WriteFlags::empty())?;
        Ok(made)
    }

    fn make(
        &mut self,
        caller: &Caller,
        parent: Ino,
        name: Name<'_>,
        kind: FileKind,
        permissions: u32,
    ) -> Result<Ino> {
        let directory = self.place_for(caller, parent, name)?;
        let (mode, gid) = inherit(caller, &directory, kind, permissions);
        let new = NewInode { mode, uid: caller.uid, gid, rdev: DeviceNumber(0), size: 0 };
        Ok(self.add(&directory, name, &new)?.ino)
    }
}
