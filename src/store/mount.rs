//! Who has the database mounted for writing: at most one process, known by name; and what a database has of
//! the extension tables.
//!
//! Keeps MNT-1, MNT-2, FMT-4, FMT-5 and FS-REAP-7.
//! The lock on the file decides; the row in `ext_mount` only tells whom to name. After a kill the
//! row may remain, and then means nothing.

use std::path::Path;

use super::connection::REGISTER_EXTENSION;
use super::inspection::inspect;
use super::lock::LockFile;
use super::{Session, Store};
use crate::error::{DatabaseProblem, Errno, Error, Result};
use crate::schema;

/// A mount for writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountHolder {
    /// Process id, on `host`.
    pub pid: i64,
    /// Host name.
    pub host: String,
    /// Absolute path of the mount point.
    pub mountpoint: String,
    /// Since when, in seconds since 1970.
    pub since: i64,
}

impl Store {
    /// Claims the database for a mount at `holder.mountpoint`, until [`Store::release_mount`], close,
    /// or the end of the process.
    ///
    /// # Errors
    /// [`DatabaseProblem::Mounted`] when another mount has it.
    pub fn claim_mount(&self, holder: &MountHolder) -> Result<()> {
        let lock = &self.shared.lock;
        if !lock.claim_mount().map_err(|error| Error::host("lock", self.path(), error))? {
            // The other mount may be about to write its row.
            let other = self.read(read_holder)?.unwrap_or_else(|| MountHolder {
                pid: 0,
                host: "an unknown host".into(),
                mountpoint: "an unknown place".into(),
                since: 0,
            });
            let MountHolder { pid, host, mountpoint, .. } = other;
            return Err(Error::database(self.path(), DatabaseProblem::Mounted { mountpoint, pid, host }));
        }
        let named = self.mutate(|session| {
            session.ensure_extension("ext_mount")?;
            session.execute(
                "INSERT INTO ext_mount (id, pid, host, mountpoint, since) VALUES (1, ?, ?, ?, ?)
                 ON CONFLICT(id) DO UPDATE SET pid = excluded.pid, host = excluded.host,
                   mountpoint = excluded.mountpoint, since = excluded.since",
                (holder.pid, &holder.host, &holder.mountpoint, holder.since),
            )?;
            Ok(())
        });
        if let Err(error) = named.and_then(|()| self.barrier()) {
            // Nobody is mounted; the error is what the caller must hear.
            let _ = lock.release_mount();
            return Err(error);
        }
        self.shared.writer.lock().mounted = true;
        Ok(())
    }

    /// Ends the claim of [`Store::claim_mount`]; does nothing without one.
    ///
    /// # Errors
    /// As [`Store::barrier`].
    pub fn release_mount(&self) -> Result<()> {
        self.forget_holder()?;
        self.shared.lock.release_mount().map_err(|error| Error::host("unlock", self.path(), error))
    }

    /// Removes the name of the holder but keeps the lock: at the end of a store it must outlast the
    /// last write, because it tells others that the file is at rest.
    pub(super) fn forget_holder(&self) -> Result<()> {
        if !std::mem::take(&mut self.shared.writer.lock().mounted) {
            return Ok(());
        }
        self.mutate(|session| session.execute("DELETE FROM ext_mount", []))?;
        self.barrier()
    }

    /// The mount that has the database for writing now, this store's own included.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn mount_holder(&self) -> Result<Option<MountHolder>> {
        if self.shared.writer.lock().mounted || self.is_mounted_elsewhere() {
            return self.read(read_holder);
        }
        Ok(None)
    }

    /// Whether another store, in this process or in another, has the database mounted for writing.
    /// It may hold references that this store cannot see (FS-REAP).
    #[must_use]
    pub fn is_mounted_elsewhere(&self) -> bool {
        self.shared.lock.is_mounted_elsewhere()
    }
}

/// Whether any process has the database at `path` mounted for writing, found out without opening it as a
/// database. False means also that a mount which has just ended has left a single file.
///
/// # Errors
/// [`Error::Host`] when the file cannot be opened.
pub fn is_mounted(path: &Path) -> Result<bool> {
    let lock = LockFile::open(path, true).map_err(|error| Error::host("open", path, error))?;
    Ok(lock.is_mounted_elsewhere())
}

/// The mount that has the database at `path` for writing now, found out without opening it for use.
///
/// # Errors
/// As [`is_mounted`] and [`inspect`].
pub fn mount_holder(path: &Path) -> Result<Option<MountHolder>> {
    if is_mounted(path)? { inspect(path, read_holder) } else { Ok(None) }
}

fn read_holder(session: &Session<'_>) -> Result<Option<MountHolder>> {
    if !session.has_table("ext_mount")? {
        return Ok(None);
    }
    session.row("SELECT pid, host, mountpoint, since FROM ext_mount WHERE id = 1", [], |row| {
        Ok(MountHolder { pid: row.get(0)?, host: row.get(1)?, mountpoint: row.get(2)?, since: row.get(3)? })
    })
}

/// What a database has of an extension table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// No such table.
    Missing,
    /// The table, in the version that this program knows.
    Known,
    /// The table, in another version.
    Unknown,
}

const EXTENSION_VERSION: &str = "SELECT version FROM ext_registry WHERE name = ?";
// A scan of all inodes and, where one is found, of all entries: once.
const LIST_NAMELESS: &str = "INSERT INTO ext_orphan (ino)
  SELECT ino FROM fs_inode WHERE nlink <= 0 AND ino <> 1 EXCEPT SELECT ino FROM fs_dentry";

impl Session<'_> {
    /// What there is of `extension`. A table that nobody registered counts as ours.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn extension(&self, extension: &'static str) -> Result<Extension> {
        if !self.has_table(extension)? {
            return Ok(Extension::Missing);
        }
        let version = match self.has_table("ext_registry")? {
            true => self.row(EXTENSION_VERSION, [extension], |row| row.get::<_, i64>(0))?,
            false => None,
        };
        Ok(match version {
            None | Some(schema::EXTENSION_VERSION) => Extension::Known,
            Some(_) => Extension::Unknown,
        })
    }

    /// Makes the extension tables if this database was made without them, and records them.
    ///
    /// All are made together, whichever is needed first, and nobody could tell later whether what `ext_orphan` should
    /// hold was ever looked for: who makes it fills it (FS-REAP-7).
    ///
    /// # Errors
    /// [`Error::Storage`]; EINVAL when the database has a version of it that this program does not know.
    pub fn ensure_extension(&self, extension: &'static str) -> Result<()> {
        let missing = !self.has_table(extension)?;
        if missing || !self.has_table("ext_registry")? {
            let listed = self.has_table("ext_orphan")?;
            self.define(schema::EXTENSION_DDL)?;
            if !listed {
                self.execute(LIST_NAMELESS, [])?;
            }
        }
        if missing {
            for name in schema::EXTENSIONS {
                self.execute(REGISTER_EXTENSION, (name, schema::EXTENSION_VERSION))?;
            }
        }
        self.execute(REGISTER_EXTENSION, (extension, schema::EXTENSION_VERSION))?;
        match self.extension(extension)? {
            Extension::Known => Ok(()),
            _ => Err(Errno::EINVAL.into()),
        }
    }
}
