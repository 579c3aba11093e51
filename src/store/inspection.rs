//! Looking at a database without opening it for use: it may be damaged, in use or left by a crash, and nothing about
//! it changes.
//!
//! Keeps INT-2 and INT-3. How a file can be read so depends on what lies beside it:
//!
//! * No log: the main file is all there is, and SQLite reads it as one that nobody changes. Should somebody change it
//!   meanwhile, what was read counts for nothing, and it is read again.
//! * A log that nobody uses, after a crash: it is read under SQLite's lock against everybody else, so that its index
//!   needs no file, and it is neither folded in nor removed at the end.
//! * A log in use: as every other program reads it, so that whoever closes last folds it in (OPEN-9).
//!
//! What is found there is not judged here, beyond whether it is ours to judge (FMT-3).

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};

use super::connection::Opener;
use super::failure::storage;
use super::{EndedGroups, Session};
use crate::error::{DatabaseProblem, Error, Result};
use crate::types::Options;

/// How often the main file is read anew because somebody changed it, before it is read beside them.
const ATTEMPTS: u32 = 3;
/// Memory for pages, in KiB (negative for SQLite's `cache_size`); what needs more goes to temporary files.
const CACHE_KIB: i64 = -24 * 1024;
/// Where a database header says how commits are written: 1 with a journal that is rolled back, 2 with a log.
const WRITE_VERSION: usize = 18;
/// What makes SQLite take its locks and look at the log.
const FIRST_LOOK: &str = "SELECT count(*) FROM sqlite_master";

/// Lends a connection to the database at `path` to `work`, which sees one state of it. `work` runs again when somebody
/// else changed the file meanwhile.
///
/// # Errors
/// [`Error::Database`] when the file cannot be read as a database of format 0.5; what `work` returns.
pub fn inspect<T>(path: &Path, work: impl Fn(&Session<'_>) -> Result<T>) -> Result<T> {
    let options = Options { read_only: true, ..Options::default() };
    let opener = Opener::new(path, &options)?;
    // Kept open: closing a descriptor of the file would end the locks that SQLite has on it.
    let (_lock, header) = opener.examine()?;
    let inspection = Inspection { opener, work };
    for _ in 0..ATTEMPTS {
        if inspection.log().is_some() {
            return inspection.read_with_log();
        }
        if header.get(WRITE_VERSION) == Some(&1) {
            return inspection.run(inspection.connect(READ_ONLY, "")?);
        }
        let before = inspection.stamp()?;
        let outcome =
            inspection.connect(READ_ONLY, "?immutable=1").and_then(|connection| inspection.run(connection));
        if inspection.stamp()? == before {
            return outcome;
        }
    }
    inspection.run(inspection.connect_beside_others()?)
}

const READ_ONLY: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY;
const READ_WRITE: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE;

struct Inspection<W> {
    opener: Opener,
    work: W,
}

/// What changes when somebody writes to a file: device, number, size, and the times of content and attributes. Before
/// Linux 6.13 a second write within one tick of the kernel's clock, between which we looked, changes none of them.
type Stamp = (u64, u64, u64, (i64, i64), (i64, i64));

impl<T, W: Fn(&Session<'_>) -> Result<T>> Inspection<W> {
    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.opener.path().as_os_str().to_owned();
        name.push(ending);
        name.into()
    }

    /// Which file is the log, if there is one.
    fn log(&self) -> Option<u64> {
        std::fs::metadata(self.beside("-wal")).ok().map(|log| log.ino())
    }

    fn stamp(&self) -> Result<Stamp> {
        let file = std::fs::metadata(self.opener.path())
            .map_err(|error| self.problem(DatabaseProblem::Unreadable(error.to_string())))?;
        let times = ((file.mtime(), file.mtime_nsec()), (file.ctime(), file.ctime_nsec()));
        Ok((file.dev(), file.ino(), file.size(), times.0, times.1))
    }

    fn problem(&self, problem: DatabaseProblem) -> Error {
        Error::database(self.opener.path(), problem)
    }

    fn read_with_log(&self) -> Result<T> {
        let alone = if self.may_write() { self.connect_alone()? } else { None };
        match alone {
            Some(connection) => self.run(connection),
            None => self.run(self.connect_beside_others()?),
        }
    }

    fn may_write(&self) -> bool {
        rustix::fs::access(self.opener.path(), rustix::fs::Access::WRITE_OK).is_ok()
    }

    fn connect(&self, access: OpenFlags, parameters: &str) -> Result<Connection> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let uri = format!("{}{parameters}", self.opener.uri);
        let open = || {
            let connection = Connection::open_with_flags(uri, flags)?;
            connection.busy_timeout(self.opener.timeout)?;
            connection.pragma_update(None, "query_only", true)?;
            Ok(connection)
        };
        open().map_err(|error| self.failure(error))
    }

    /// A connection with the file to itself, to read a log that nobody uses; None when somebody does.
    fn connect_alone(&self) -> Result<Option<Connection>> {
        let log = self.log();
        let connection = self.connect(READ_WRITE, "")?;
        let take = || -> rusqlite::Result<()> {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            connection.busy_timeout(std::time::Duration::ZERO)?;
            // Before the first look at the log: then its index lies in memory.
            connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
            connection.query_row(FIRST_LOOK, [], |_| Ok(()))?;
            // When the last user has just removed the log, SQLite has made a new one, which goes with us.
            let keep = self.log() == log;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep)?;
            Ok(())
        };
        match take() {
            Ok(()) => Ok(Some(connection)),
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => Ok(None),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// A connection as others have them. One that may not write leaves no file behind either.
    fn connect_beside_others(&self) -> Result<Connection> {
        if self.may_write() {
            return self.connect(READ_WRITE, "");
        }
        if self.log().is_some() && !self.beside("-shm").exists() {
            return Err(self.problem(DatabaseProblem::Unreadable(
                "it has a log without an index, which only somebody who may write to it can read".into(),
            )));
        }
        self.connect(READ_ONLY, "?readonly_shm=1")
    }

    /// Runs the work on one state of the database.
    fn run(&self, connection: Connection) -> Result<T> {
        let begin = || {
            connection.pragma_update(None, "cache_size", CACHE_KIB)?;
            connection.execute_batch("BEGIN")?;
            connection.query_row(FIRST_LOOK, [], |_| Ok(()))
        };
        begin().map_err(|error| self.failure(error))?;
        self.opener.recognise(&connection)?;
        let outcome = (self.work)(&Session::new(&connection, 0, &EndedGroups::default()))?;
        connection.execute_batch("ROLLBACK").map_err(storage("end reading"))?;
        connection.close().map_err(|(_, error)| storage("close")(error))?;
        Ok(outcome)
    }

    /// What a failure of SQLite while opening means for the person who asked.
    fn failure(&self, error: rusqlite::Error) -> Error {
        let extended = error.sqlite_error().map(|failure| failure.extended_code);
        if extended == Some(ffi::SQLITE_READONLY_ROLLBACK) {
            return self.problem(DatabaseProblem::Unreadable(
                "a write to it was cut short, and somebody who may write to it must open it first".into(),
            ));
        }
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::CannotOpen) => {
                self.problem(DatabaseProblem::Unreadable(error.to_string()))
            }
            _ => self.opener.problem(error),
        }
    }
}
