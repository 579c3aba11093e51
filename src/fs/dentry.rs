//! Rows of `fs_dentry`: names in directories.
//!
//! Keeps FS-NAME-1, FS-NAME-4, FS-DIR-2: names are bytes, and the id of a row is the entry's position, so a
//! rename keeps the row.

use crate::error::Result;
use crate::store::{Session, Text, bytes};
use crate::types::{Ino, Name};

/// An entry that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dentry {
    pub(super) id: i64,
    pub(super) ino: Ino,
}

// By the unique index (parent_ino, name).
const FIND: &str = "SELECT id, ino FROM fs_dentry WHERE parent_ino = ? AND name = ?";
const INSERT: &str = "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES (?, ?, ?)";
// By primary key.
const DELETE: &str = "DELETE FROM fs_dentry WHERE id = ?";
const MOVE: &str = "UPDATE fs_dentry SET parent_ino = ?, name = ? WHERE id = ?";
const POINT: &str = "UPDATE fs_dentry SET ino = ? WHERE id = ?";
const AT: &str = "SELECT name, ino FROM fs_dentry WHERE id = ? AND parent_ino = ?";
// Covered by idx_fs_dentry_parent, which carries the rowid: no table row is read.
const POSITIONS: &str = "SELECT id FROM fs_dentry WHERE parent_ino = ?";
const ANY: &str = "SELECT 1 FROM fs_dentry WHERE parent_ino = ? LIMIT 1";
// The entries by idx_fs_dentry_parent, their inodes by primary key.
const COUNT_SUBDIRECTORIES: &str = "SELECT COUNT(*) FROM fs_dentry AS entry
  JOIN fs_inode AS child ON child.ino = entry.ino
  WHERE entry.parent_ino = ? AND (child.mode & 61440) = 16384";
// Covered by idx_fs_dentry_parent.
const COUNT_UP_TO: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM fs_dentry WHERE parent_ino = ? LIMIT ?)";
// A full scan: only for a directory whose place was never seen by this process.
const LOCATE: &str = "SELECT parent_ino, name FROM fs_dentry WHERE ino = ? LIMIT 1";
const COUNT_ALL: &str = "SELECT COUNT(*) FROM fs_dentry";

pub(super) fn find(session: &Session<'_>, parent: Ino, name: Name<'_>) -> Result<Option<Dentry>> {
    session.row(FIND, (parent.0 as i64, Text(name.as_bytes())), |row| {
        Ok(Dentry { id: row.get(0)?, ino: Ino(row.get::<_, i64>(1)? as u64) })
    })
}

pub(super) fn insert(session: &Session<'_>, parent: Ino, name: Name<'_>, ino: Ino) -> Result<()> {
    session.execute(INSERT, (Text(name.as_bytes()), parent.0 as i64, ino.0 as i64))?;
    Ok(())
}

pub(super) fn delete(session: &Session<'_>, id: i64) -> Result<()> {
    session.execute(DELETE, [id])?;
    Ok(())
}

/// Gives the entry `id` another place and name; it keeps its position id.
pub(super) fn relocate(session: &Session<'_>, id: i64, parent: Ino, name: Name<'_>) -> Result<()> {
    session.execute(MOVE, (parent.0 as i64, Text(name.as_bytes()), id))?;
    Ok(())
}

/// Lets the entry `id` name another inode.
pub(super) fn point(session: &Session<'_>, id: i64, ino: Ino) -> Result<()> {
    session.execute(POINT, (ino.0 as i64, id))?;
    Ok(())
}

/// Name and inode of the entry `id`, if it is still in `parent` and holds a name and a number.
pub(super) fn at(session: &Session<'_>, id: i64, parent: Ino) -> Result<Option<(Vec<u8>, Ino)>> {
    let entry = session.row(AT, (id, parent.0 as i64), |row| {
        let name = bytes(row, 0).ok().filter(|name| Name::new(name).is_ok()).map(<[u8]>::to_vec);
        Ok(name.zip(row.get::<_, i64>(1).ok()))
    })?;
    Ok(entry.flatten().map(|(name, ino)| (name, Ino(ino as u64))))
}

/// The positions of all entries, ascending.
pub(super) fn positions(session: &Session<'_>, directory: Ino) -> Result<Vec<i64>> {
    let mut found = session.rows(POSITIONS, [directory.0 as i64], |row| row.get(0))?;
    found.sort_unstable();
    Ok(found)
}

pub(super) fn is_empty(session: &Session<'_>, directory: Ino) -> Result<bool> {
    Ok(session.row(ANY, [directory.0 as i64], |_| Ok(()))?.is_none())
}

/// The number of entries, as far as `limit`.
pub(super) fn count_up_to(session: &Session<'_>, directory: Ino, limit: u32) -> Result<u32> {
    Ok(session.row(COUNT_UP_TO, (directory.0 as i64, limit), |row| row.get(0))?.unwrap_or(0))
}

pub(super) fn count_subdirectories(session: &Session<'_>, directory: Ino) -> Result<u32> {
    Ok(session.row(COUNT_SUBDIRECTORIES, [directory.0 as i64], |row| row.get(0))?.unwrap_or(0))
}

pub(super) fn count_all(session: &Session<'_>) -> Result<u64> {
    let count: i64 = session.row(COUNT_ALL, [], |row| row.get(0))?.unwrap_or(0);
    Ok(count.max(0) as u64)
}

/// Where a directory is, found without knowing anything.
pub(super) fn locate(session: &Session<'_>, directory: Ino) -> Result<Option<(Ino, Vec<u8>)>> {
    session.row(LOCATE, [directory.0 as i64], |row| {
        Ok((Ino(row.get::<_, i64>(0)? as u64), bytes(row, 1)?.to_vec()))
    })
}
