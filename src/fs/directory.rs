//! Listing directories.
//!
//! Keeps FS-DIR-1 to FS-DIR-8 and FS-LOOKUP-5: the position of an entry is the id of its row, which a rename keeps and no
//! later entry gets again.

use super::dentry;
use super::{Errno, Error, Operation, Result};
use crate::types::{Ino, Name};
use crate::vfs::{DirectoryEntry, DirectoryPosition};

impl Operation<'_> {
    pub(super) fn readdir(
        &mut self,
        directory: Ino,
        position: DirectoryPosition,
        limit: usize,
        with_attributes: bool,
    ) -> Result<Vec<DirectoryEntry>> {
        let inode = self.inode(directory)?;
        if !inode.mode.is_directory() {
            return Err(Errno::ENOTDIR.into());
        }
        let mut entries = Vec::new();
        let mut after = position;
        // A batch whose entries are all gone must not look like the end.
        while entries.is_empty() {
            let positions = {
                let after = i64::try_from(after.0).unwrap_or(i64::MAX);
                self.state.positions(self.session, directory, after, limit)?
            };
            let Some(&last) = positions.last() else { break };
            after = DirectoryPosition(last as u64);
            for id in positions {
                let Some((name, ino)) = dentry::at(self.session, id, directory)? else { continue };
                let child = match self.inode(ino) {
                    Ok(child) => child,
                    // Damage of one entry must not hide the others (FS-LOOKUP-5).
                    Err(Error::Posix(Errno::ENOENT | Errno::EIO)) => continue,
                    Err(error) => return Err(error),
                };
                let attributes = if with_attributes { Some(self.attributes(&child)?) } else { None };
                entries.push((DirectoryPosition(id as u64), name, child, attributes));
            }
        }
        self.note_access(&inode);
        // References only once nothing can fail any more.
        let hand_out = |(position, name, child, attributes): (_, Vec<u8>, super::Inode, Option<_>)| {
            if attributes.is_some() {
                self.state.retain(child.ino);
            }
            if let Ok(checked) = Name::new(&name) {
                self.state.note_place(&child, directory, checked);
            }
            DirectoryEntry { position, name, ino: child.ino, kind: child.mode.kind(), attributes }
        };
        Ok(entries.into_iter().map(hand_out).collect())
    }
}
