//! The end of an inode: when its last name is gone, and its last reference.
//!
//! Keeps FS-REAP-1 to FS-REAP-12 and FS-UNLINK-1. `ext_orphan` lists inodes whose rows outlive their names, so that a
//! mount can sweep what a crash left without searching the whole database.

use std::collections::HashSet;

use super::dentry;
use super::inode::Inode;
use super::{AgentFs, Errno, Operation, Result};
use crate::store::Extension;
use crate::types::Ino;

/// What an operation left to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Freed {
    Nothing,
    /// An inode that lost its last name, that nobody refers to, and whose rows are still there.
    Inode(Ino),
}

/// Chunks that one operation removes at most, and their bytes: other operations run between two.
const CHUNKS_AT_ONCE: i64 = 256;
const BYTES_AT_ONCE: i64 = 16 << 20;

const ADD_ORPHAN: &str = "INSERT INTO ext_orphan (ino) VALUES (?) ON CONFLICT(ino) DO NOTHING";
const REMOVE_ORPHAN: &str = "DELETE FROM ext_orphan WHERE ino = ?";
const ORPHANS: &str = "SELECT ino FROM ext_orphan";
const IS_ORPHAN: &str = "SELECT 1 FROM ext_orphan WHERE ino = ?";
const REMOVE_INODE: &str = "DELETE FROM fs_inode WHERE ino = ? AND ino <> 1";
const REMOVE_TARGET: &str = "DELETE FROM fs_symlink WHERE ino = ?";
const REMOVE_XATTRS: &str = "DELETE FROM ext_xattr WHERE ino = ?";
// By the primary key's index.
const REMOVE_CHUNKS: &str = "DELETE FROM fs_data WHERE rowid IN
  (SELECT rowid FROM fs_data WHERE ino = ? LIMIT ?)";
// One scan of the entries, each looked for in the short list: entries have no index by inode.
const NAMED_ORPHANS: &str = "SELECT DISTINCT entry.ino FROM fs_dentry AS entry
  CROSS JOIN ext_orphan AS orphan ON orphan.ino = entry.ino";

impl Operation<'_> {
    /// One name of `victim` is gone. Its rows stay while somebody refers to it.
    pub(super) fn drop_name(&mut self, victim: &Inode) -> Result<Freed> {
        let left = if victim.mode.is_directory() { 0 } else { victim.nlink.saturating_sub(1) };
        Inode::set_nlink(self.session, victim.ino, left, self.now)?;
        self.state.touch([victim.ino]);
        if left > 0 {
            self.forget_entry();
            return Ok(Freed::Nothing);
        }
        // A mount in another process may refer to it; only that mount can know.
        let referenced = self.state.is_referenced(victim.ino) || self.fs.store.is_mounted_elsewhere();
        if !referenced && self.remove_rows(victim.ino)? {
            self.forget_entry();
            return Ok(Freed::Nothing);
        }
        self.session.ensure_extension("ext_orphan")?;
        self.session.execute(ADD_ORPHAN, [victim.ino.0 as i64])?;
        self.forget_entry();
        if self.state.is_referenced(victim.ino) {
            self.state.orphans.insert(victim.ino);
        }
        Ok(if referenced { Freed::Nothing } else { Freed::Inode(victim.ino) })
    }

    fn forget_entry(&mut self) {
        self.state.entries = self.state.entries.map(|entries| entries.saturating_sub(1));
    }

    /// Removes the rows of an inode, or, of a large file, some of them; true when it is gone.
    fn remove_rows(&mut self, ino: Ino) -> Result<bool> {
        if ino == Ino::ROOT {
            return Ok(true);
        }
        let key = ino.0 as i64;
        let chunk_size = i64::from(self.fs.store.configuration().chunk_size);
        let at_once = (BYTES_AT_ONCE / chunk_size).clamp(1, CHUNKS_AT_ONCE);
        if self.session.execute(REMOVE_CHUNKS, (key, at_once))? as i64 == at_once {
            return Ok(false);
        }
        self.session.execute(REMOVE_INODE, [key])?;
        self.session.execute(REMOVE_TARGET, [key])?;
        // Rows in a version that we do not know stay: their inode's number never comes back.
        if self.keeps_xattrs()? {
            self.session.execute(REMOVE_XATTRS, [key])?;
        }
        if self.session.extension("ext_orphan")? == Extension::Known {
            self.session.execute(REMOVE_ORPHAN, [key])?;
        }
        self.state.forget_inode(ino);
        Ok(true)
    }

    /// Whether the database has `ino` as an inode without a name.
    fn is_listed(&self, ino: Ino) -> Result<bool> {
        Ok(self.session.extension("ext_orphan")? == Extension::Known
            && self.session.row(IS_ORPHAN, [ino.0 as i64], |_| Ok(()))?.is_some())
    }

    /// Whether every listed inode is one that goes with its last reference.
    fn nothing_to_sweep(&mut self) -> Result<bool> {
        match self.session.extension("ext_orphan")? {
            Extension::Known => Ok(self.listed()?.iter().all(|&ino| self.is_noted(ino))),
            Extension::Missing => Ok(false),
            Extension::Unknown => Err(Errno::EINVAL.into()),
        }
    }

    fn listed(&self) -> Result<Vec<Ino>> {
        self.session.rows(ORPHANS, [], |row| Ok(Ino(row.get::<_, i64>(0)? as u64)))
    }

    /// Whether `ino` has no name, as we know ourselves, and goes with its last reference.
    fn is_noted(&self, ino: Ino) -> bool {
        self.state.is_referenced(ino) && self.state.orphans.contains(&ino)
    }

    /// Listed orphans that nobody refers to. Those that somebody refers to are noted, so that they go with their last
    /// reference; those that have a name after all leave the list.
    fn unreferenced_orphans(&mut self) -> Result<Vec<Ino>> {
        let listed = self.listed()?;
        if listed.iter().all(|&ino| self.is_noted(ino)) {
            return Ok(Vec::new());
        }
        // All of them, in a database whose writer kept no link counts.
        let named = self.session.rows(NAMED_ORPHANS, [], |row| Ok(Ino(row.get::<_, i64>(0)? as u64)))?;
        let named: HashSet<Ino> = named.into_iter().collect();
        for ino in &named {
            self.session.execute(REMOVE_ORPHAN, [ino.0 as i64])?;
            self.state.orphans.remove(ino);
        }
        let nameless = listed.into_iter().filter(|ino| !named.contains(ino));
        let (referenced, free): (Vec<_>, Vec<_>) = nameless.partition(|&ino| self.state.is_referenced(ino));
        self.state.orphans.extend(referenced);
        Ok(free)
    }
}

impl AgentFs {
    /// Removes inodes that lost their last name and that nobody refers to: what a crash, or another
    /// process beside a mount, has left. Only who has the database for writing alone, or mounted,
    /// may call this; returns how many inodes were removed.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage), EBUSY; EINVAL when the list is in a version that this program does
    /// not know.
    pub fn sweep_orphans(&self) -> Result<usize> {
        // A mount asks after every foreign commit, and must not wait for the right to write each time.
        if self.read_operation(|operation| operation.nothing_to_sweep())? {
            return Ok(0);
        }
        let free = self.mutate(|operation| {
            // A database that never had a list gets one, with what belongs into it.
            operation.session.ensure_extension("ext_orphan")?;
            operation.unreferenced_orphans()
        })?;
        for &ino in &free {
            self.free(Freed::Inode(ino))?;
        }
        Ok(free.len())
    }

    /// Removes the rows of an inode in as many operations as its size needs.
    pub(super) fn free(&self, freed: Freed) -> Result<()> {
        let Freed::Inode(ino) = freed else { return Ok(()) };
        loop {
            let gone = self.mutate(|operation| {
                // Somebody may have found it meanwhile: through a handle, since no name is left.
                if operation.state.is_referenced(ino) {
                    operation.state.orphans.insert(ino);
                    return Ok(true);
                }
                // When the group that took its last name was lost, it has that name again.
                if !operation.is_listed(ino)? {
                    operation.state.orphans.remove(&ino);
                    return Ok(true);
                }
                operation.remove_rows(ino)
            })?;
            if gone {
                return Ok(());
            }
        }
    }

    pub(super) fn release(&self, ino: Ino, count: u64) {
        let last = {
            let mut state = self.state.lock();
            state.release(ino, count) && state.orphans.contains(&ino)
        };
        // Beside a mount that may refer to it as well, it stays listed for that mount to remove.
        if !last || self.store.is_read_only() || self.store.is_mounted_elsewhere() {
            return;
        }
        if let Err(error) = self.free(Freed::Inode(ino)) {
            // It stays listed as an orphan; the next mount sweeps it.
            tracing::warn!(ino = ino.0, %error, "an inode without names could not be removed");
        }
    }

    /// Ends every reference: nobody is left to give them back.
    pub(super) fn release_all(&self) -> Result<()> {
        let orphans: Vec<Ino> = {
            let mut state = self.state.lock();
            state.release_all();
            state.orphans.drain().collect()
        };
        if self.store.is_mounted_elsewhere() {
            // They are listed; the mount sweeps them.
            return Ok(());
        }
        orphans.into_iter().try_for_each(|ino| self.free(Freed::Inode(ino)))
    }

    /// How many directory entries there are.
    pub(super) fn count_entries(operation: &mut Operation<'_>) -> Result<u64> {
        if let Some(known) = operation.state.entries {
            return Ok(known);
        }
        let count = dentry::count_all(operation.session)?;
        operation.state.entries = Some(count);
        Ok(count)
    }
}

impl Operation<'_> {
    /// Whether there are extended attributes that can be removed.
    pub(super) fn keeps_xattrs(&mut self) -> Result<bool> {
        Ok(self.xattrs()? == Extension::Known)
    }

    /// Whether there are extended attributes.
    ///
    /// # Errors
    /// EINVAL when they are in a version that this program does not know.
    pub(super) fn has_xattrs(&mut self) -> Result<bool> {
        match self.xattrs()? {
            Extension::Known => Ok(true),
            Extension::Missing => Ok(false),
            Extension::Unknown => Err(Errno::EINVAL.into()),
        }
    }

    fn xattrs(&mut self) -> Result<Extension> {
        if let Some(known) = self.state.xattrs {
            return Ok(known);
        }
        let found = self.session.extension("ext_xattr")?;
        self.state.xattrs = Some(found);
        Ok(found)
    }

    /// The errno of a handle whose inode is gone.
    pub(super) fn regular(&self, ino: Ino) -> Result<Inode> {
        let inode = self.inode(ino)?;
        match inode.mode.kind() {
            crate::types::FileKind::Regular => Ok(inode),
            crate::types::FileKind::Directory => Err(Errno::EISDIR.into()),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    /// The regular file `ino`, in a database that can be written.
    pub(super) fn regular_to_change(&self, ino: Ino) -> Result<Inode> {
        self.inode(ino)?;
        self.check_writable()?;
        self.regular(ino)
    }
}
