//! Rows of `fs_inode`, without the content of files.
//!
//! Keeps FMT-8, FMT-9, FMT-12, FMT-13 and FMT-14. Columns are always named: migrated databases have them in
//! another order.

use rusqlite::Row;

use super::content::{FileShape, StorageKind};
use crate::error::{Errno, Error, Result};
use crate::store::Session;
use crate::types::{DeviceNumber, Gid, Ino, Mode, Timestamp, Uid};

/// An inode at rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inode {
    pub(super) ino: Ino,
    pub(super) mode: Mode,
    /// Dentries that name it. Of a directory this is never trusted (FS-NLINK-3).
    pub(super) nlink: u32,
    pub(super) uid: Uid,
    pub(super) gid: Gid,
    pub(super) size: u64,
    pub(super) rdev: DeviceNumber,
    pub(super) atime: Timestamp,
    pub(super) mtime: Timestamp,
    pub(super) ctime: Timestamp,
    pub(super) storage: StorageKind,
}

// By primary key.
const LOAD: &str = "SELECT mode, nlink, uid, gid, size, rdev, atime, atime_nsec, mtime, mtime_nsec,
  ctime, ctime_nsec, storage_kind FROM fs_inode WHERE ino = ?";
const INSERT: &str = "INSERT INTO fs_inode (mode, nlink, uid, gid, size, rdev, atime, atime_nsec,
  mtime, mtime_nsec, ctime, ctime_nsec) VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?6, ?7, ?6, ?7)";
const SET_ATTRIBUTES: &str = "UPDATE fs_inode SET mode = ?, uid = ?, gid = ?, atime = ?, atime_nsec = ?,
  mtime = ?, mtime_nsec = ?, ctime = ?, ctime_nsec = ? WHERE ino = ?";
const SET_MTIME_CTIME: &str = "UPDATE fs_inode SET mtime = ?1, mtime_nsec = ?2, ctime = ?1, ctime_nsec = ?2
  WHERE ino = ?3";
const SET_NLINK_CTIME: &str = "UPDATE fs_inode SET nlink = ?, ctime = ?, ctime_nsec = ? WHERE ino = ?";
const SET_CTIME: &str = "UPDATE fs_inode SET ctime = ?, ctime_nsec = ? WHERE ino = ?";
const SET_ATIME: &str = "UPDATE fs_inode SET atime = ?, atime_nsec = ? WHERE ino = ?";

// SQLite's own table, of a row for each AUTOINCREMENT table that ever had one.
const SKIP_NUMBERS: &str = "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'fs_inode'";

impl Inode {
    /// The inode `ino`.
    ///
    /// # Errors
    /// ENOENT; EIO for a row that no implementation may have written.
    pub(super) fn load(session: &Session<'_>, ino: Ino) -> Result<Self> {
        session
            // A column of another type, or out of range, is damage of this inode alone.
            .row(LOAD, [ino.0 as i64], |row| Ok(Self::from_row(ino, row).unwrap_or(None)))?
            .ok_or(Error::Posix(Errno::ENOENT))?
            .ok_or(Error::Posix(Errno::EIO))
    }

    fn from_row(ino: Ino, row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let time = |column: usize| -> rusqlite::Result<Timestamp> {
            // Another writer may have stored nanoseconds that are none (FMT-13).
            let nanoseconds = u32::try_from(row.get::<_, i64>(column + 1)?).unwrap_or(0);
            let nanoseconds = if nanoseconds < 1_000_000_000 { nanoseconds } else { 0 };
            Ok(Timestamp::new(row.get(column)?, nanoseconds))
        };
        let bits = u32::try_from(row.get::<_, i64>(0)?).ok();
        let Some(mode) = bits.and_then(Mode::from_bits) else { return Ok(None) };
        let Ok(size) = u64::try_from(row.get::<_, i64>(4)?) else { return Ok(None) };
        // Old databases may hold a negative count for what lost more dentries than it had.
        let nlink = u32::try_from(row.get::<_, i64>(1)?.max(0)).unwrap_or(u32::MAX);
        Ok(Some(Self {
            ino,
            mode,
            nlink,
            uid: Uid(row.get(2)?),
            gid: Gid(row.get(3)?),
            size,
            rdev: DeviceNumber(row.get(5)?),
            atime: time(6)?,
            mtime: time(8)?,
            ctime: time(10)?,
            storage: if row.get::<_, i64>(12)? == 1 { StorageKind::Inline } else { StorageKind::Chunked },
        }))
    }

    /// Adds an inode with one name and all times at `now`; it gets a number that none had before.
    pub(super) fn insert(session: &Session<'_>, new: &NewInode, now: Timestamp) -> Result<Self> {
        let NewInode { mode, uid, gid, rdev, size } = *new;
        session.execute(
            INSERT,
            (mode.bits(), uid.0, gid.0, size as i64, rdev.0, now.seconds, now.nanoseconds),
        )?;
        Ok(Self {
            ino: Ino(session.last_insert_rowid() as u64),
            mode,
            nlink: 1,
            uid,
            gid,
            size,
            rdev,
            atime: now,
            mtime: now,
            ctime: now,
            storage: StorageKind::Chunked,
        })
    }

    /// Makes the next inode get a number above `last`.
    pub(super) fn skip_numbers(session: &Session<'_>, last: Ino) -> Result<()> {
        session.execute(SKIP_NUMBERS, [last.0 as i64])?;
        Ok(())
    }

    /// Where and how its content lies.
    pub(super) const fn shape(&self) -> FileShape {
        FileShape { size: self.size, storage: self.storage }
    }

    /// Writes mode, owner, group and times as they are in `self`.
    pub(super) fn store_attributes(&self, session: &Session<'_>) -> Result<()> {
        session.execute(
            SET_ATTRIBUTES,
            (
                self.mode.bits(),
                self.uid.0,
                self.gid.0,
                self.atime.seconds,
                self.atime.nanoseconds,
                self.mtime.seconds,
                self.mtime.nanoseconds,
                self.ctime.seconds,
                self.ctime.nanoseconds,
                self.ino.0 as i64,
            ),
        )?;
        Ok(())
    }

    /// Content changed at `now`: a file that was written, a directory that gained or lost an entry.
    pub(super) fn touch_content(session: &Session<'_>, ino: Ino, now: Timestamp) -> Result<()> {
        session.execute(SET_MTIME_CTIME, (now.seconds, now.nanoseconds, ino.0 as i64))?;
        Ok(())
    }

    /// Attributes changed at `now`.
    pub(super) fn touch_attributes(session: &Session<'_>, ino: Ino, now: Timestamp) -> Result<()> {
        session.execute(SET_CTIME, (now.seconds, now.nanoseconds, ino.0 as i64))?;
        Ok(())
    }

    /// Records a read.
    pub(super) fn touch_access(session: &Session<'_>, ino: Ino, atime: Timestamp) -> Result<()> {
        session.execute(SET_ATIME, (atime.seconds, atime.nanoseconds, ino.0 as i64))?;
        Ok(())
    }

    /// The number of dentries changed at `now`.
    pub(super) fn set_nlink(session: &Session<'_>, ino: Ino, nlink: u32, now: Timestamp) -> Result<()> {
        session.execute(SET_NLINK_CTIME, (nlink, now.seconds, now.nanoseconds, ino.0 as i64))?;
        Ok(())
    }
}

/// What a new inode starts with.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewInode {
    pub(super) mode: Mode,
    pub(super) uid: Uid,
    pub(super) gid: Gid,
    pub(super) rdev: DeviceNumber,
    /// Of a symlink, the length of its target; of all else 0.
    pub(super) size: u64,
}
