//! Creating and opening the SQLite file: every pragma, and every way in which it can refuse.
//!
//! Keeps FMT-1, FMT-2, FMT-6, FMT-7, FMT-10 and OPEN-1 to OPEN-8. Opening reads; it never changes `fs_config`, never migrates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::failure::{is_damage, storage};
use super::lock::LockFile;
use super::session::bytes;
use super::wal;
use crate::error::{DatabaseProblem, Error, Result};
use crate::schema::{self, Observed};
use crate::types::{FileKind, Mode, Options};

/// What `fs_config` says and what stays the same while a database exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Bytes in a chunk of file content.
    pub chunk_size: u32,
    /// Largest dense file kept inline, in bytes.
    pub inline_threshold: u32,
    /// SQLite's page size in bytes.
    pub page_size: u32,
}

/// Memory for pages of one connection that writes, in KiB (negative for SQLite's `cache_size`).
const CACHE_KIB: i64 = -24 * 1024;
/// How long a checkpoint waits for others to let go of the log.
const CHECKPOINT_PATIENCE: Duration = Duration::from_millis(100);
const HEADER_MAGIC: &[u8] = b"SQLite format 3\0";

pub(super) struct Opener {
    pub(super) path: PathBuf,
    flags: OpenFlags,
    pub(super) uri: String,
    pub(super) timeout: Duration,
    read_only: bool,
}

impl Opener {
    /// Resolves `path` against the present directory, once, so that a later change of directory
    /// cannot lead SQLite's sidecar files elsewhere.
    pub(super) fn new(path: &Path, options: &Options) -> Result<Self> {
        let path = resolve(path).map_err(|error| Error::host("resolve", path, error))?;
        let uri = file_uri(&path);
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        Ok(Self { path, flags, uri, timeout: options.busy_timeout, read_only: options.read_only })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Chooses how to open for reading. A connection that may write can share the file with writers
    /// and removes the log when it is the last; so only where it may not, SQLite is told to read
    /// alone, and to read the main file alone when there is no log that belongs to it.
    fn prepare_to_read(&mut self) {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        let writable = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
        if !self.read_only || (writable(&self.path) && writable(directory)) {
            return;
        }
        self.flags.remove(OpenFlags::SQLITE_OPEN_READ_WRITE);
        self.flags.insert(OpenFlags::SQLITE_OPEN_READ_ONLY);
        if !PathBuf::from(log).exists() {
            self.uri.push_str("?immutable=1");
        }
    }

    /// Makes the file, its tables, its configuration and its root directory, durably, or nothing.
    pub(super) fn create(&self, options: &Options) -> Result<()> {
        validate(options)?;
        let file = match File::options().write(true).create_new(true).open(&self.path) {
            Ok(file) => file,
            Err(error) => return Err(Error::database(&self.path, creation_problem(&error))),
        };
        drop(file);
        let filled = self.fill(options);
        if filled.is_err() {
            for suffix in ["", "-wal", "-shm", "-journal"] {
                let mut name = self.path.clone().into_os_string();
                name.push(suffix);
                // Best effort: the reason why creation failed is what the caller must hear.
                let _ = std::fs::remove_file(PathBuf::from(name));
            }
        }
        filled
    }

    fn fill(&self, options: &Options) -> Result<()> {
        let mut connection =
            Connection::open_with_flags(&self.uri, self.flags).map_err(|error| self.problem(error))?;
        let run = |connection: &mut Connection| -> rusqlite::Result<()> {
            connection.pragma_update(None, "page_size", options.page_size)?;
            connection.pragma_update(None, "encoding", "UTF-8")?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            let transaction = connection.transaction()?;
            transaction.execute_batch(schema::CORE_DDL)?;
            transaction.execute_batch(schema::EXTENSION_DDL)?;
            for extension in schema::EXTENSIONS {
                transaction.execute(REGISTER_EXTENSION, (extension, schema::EXTENSION_VERSION))?;
            }
            let configuration = [
                ("schema_version", schema::SCHEMA_VERSION.to_owned()),
                ("chunk_size", options.chunk_size.to_string()),
                ("inline_threshold", options.inline_threshold.to_string()),
            ];
            for row in configuration {
                transaction.execute("INSERT INTO fs_config (key, value) VALUES (?, ?)", row)?;
            }
            let now = options.clock.now();
            let (uid, gid) = options.root_owner;
            transaction.execute(
                "INSERT INTO fs_inode (ino, mode, nlink, uid, gid, size, atime, mtime, ctime,
                   atime_nsec, mtime_nsec, ctime_nsec)
                 VALUES (1, ?1, 1, ?2, ?3, 0, ?4, ?4, ?4, ?5, ?5, ?5)",
                (Mode::new(FileKind::Directory, 0o755).bits(), uid.0, gid.0, now.seconds, now.nanoseconds),
            )?;
            transaction.pragma_update(None, "user_version", schema::USER_VERSION)?;
            transaction.commit()
        };
        run(&mut connection).map_err(storage("create the database"))?;
        connection.close().map_err(|(_, error)| storage("close the new database")(error))?;
        sync_directory(&self.path)
    }

    /// Looks at the file before SQLite does, so that what is wrong is said in our words (OPEN-2).
    pub(super) fn inspect(&mut self) -> Result<LockFile> {
        self.prepare_to_read();
        self.examine().map(|(lock, _)| lock)
    }

    /// The file, held open, and its header, which is that of a SQLite database.
    pub(super) fn examine(&self) -> Result<(LockFile, Vec<u8>)> {
        let problem = |problem| Error::database(&self.path, problem);
        let metadata = std::fs::metadata(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => problem(DatabaseProblem::Missing),
            _ => problem(DatabaseProblem::Unreadable(error.to_string())),
        })?;
        if !metadata.is_file() {
            return Err(problem(DatabaseProblem::NotSqlite));
        }
        let lock = LockFile::open(&self.path, self.read_only).map_err(|error| {
            let readable = rustix::fs::access(&self.path, rustix::fs::Access::READ_OK).is_ok();
            problem(match readable {
                true => DatabaseProblem::ReadOnly(error.to_string()),
                false => DatabaseProblem::Unreadable(error.to_string()),
            })
        })?;
        let (header, length) =
            lock.header().map_err(|error| problem(DatabaseProblem::Unreadable(error.to_string())))?;
        if length == 0 {
            return Err(problem(DatabaseProblem::NotAgentFs("it is empty".into())));
        }
        if !header.starts_with(HEADER_MAGIC) {
            return Err(problem(DatabaseProblem::NotSqlite));
        }
        if header.len() < 100 {
            return Err(problem(DatabaseProblem::Corrupt(format!("it ends after {length} bytes"))));
        }
        // Pages that are still in the log may not be in the main file yet.
        if let Some(expected) = expected_length(&header)
            && length < expected
            && self.log_bytes() == 0
        {
            return Err(problem(DatabaseProblem::Corrupt(format!(
                "it has {length} bytes where its header says {expected}"
            ))));
        }
        Ok((lock, header))
    }

    /// The first connection, and what the database says of itself. A database that is not ours is left as it
    /// is: its journal mode changes only once it is recognised.
    pub(super) fn connect_first(&self) -> Result<(Connection, Configuration)> {
        let connection = self.connect_plainly()?;
        self.recognise(&connection)?;
        let configuration = self.configuration(&connection)?;
        self.configure(&connection).map_err(|error| self.problem(error))?;
        Ok((connection, configuration))
    }

    /// One more connection to a database that is ours.
    pub(super) fn connect(&self) -> Result<Connection> {
        let connection = self.connect_plainly()?;
        self.configure(&connection).map_err(|error| self.problem(error))?;
        Ok(connection)
    }

    fn connect_plainly(&self) -> Result<Connection> {
        let open = || {
            let connection = Connection::open_with_flags(&self.uri, self.flags)?;
            connection.busy_timeout(self.timeout)?;
            Ok(connection)
        };
        open().map_err(|error| self.problem(error))
    }

    /// A connection that rather leaves a checkpoint undone than waits long for others.
    pub(super) fn connect_to_checkpoint(&self) -> Result<Connection> {
        let connection = self.connect()?;
        connection.busy_timeout(CHECKPOINT_PATIENCE).map_err(|error| self.problem(error))?;
        Ok(connection)
    }

    /// A connection that syncs the log.
    pub(super) fn connect_to_sync(&self) -> Result<Connection> {
        let connection = self.connect()?;
        wal::open_log(&connection).map_err(|error| self.problem(error))?;
        Ok(connection)
    }

    /// The length of the log; 0 when there is none.
    pub(super) fn log_bytes(&self) -> u64 {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        std::fs::metadata(log).map_or(0, |log| log.len())
    }

    fn configure(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.set_prepared_statement_cache_capacity(256);
        connection.pragma_update(None, "cache_size", CACHE_KIB)?;
        if self.read_only {
            connection.pragma_update(None, "query_only", true)?;
            return Ok(());
        }
        let mode: String =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
        if mode != "wal" {
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY),
                Some(format!("journal mode stays {mode}")),
            ));
        }
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        // The store checkpoints when it is cheap; a page leaves the cache only in a commit, so that
        // a full disk fails the commit and not a statement in the middle of an operation.
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        connection.pragma_update(None, "cache_spill", false)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        Ok(())
    }

    /// Checks that the database is ours, of our format, in our encoding (FMT-3, FMT-6).
    pub(super) fn recognise(&self, connection: &Connection) -> Result<()> {
        let observed = observe(connection).map_err(|error| self.problem(error))?;
        schema::recognise(&observed).map_err(|problem| Error::database(&self.path, problem))?;
        let encoding: String = connection
            .pragma_query_value(None, "encoding", |row| row.get(0))
            .map_err(|error| self.problem(error))?;
        if encoding != "UTF-8" {
            return Err(Error::database(&self.path, DatabaseProblem::Encoding(encoding)));
        }
        Ok(())
    }

    /// Checks that there is a root, and reads the settings.
    fn configuration(&self, connection: &Connection) -> Result<Configuration> {
        let root: Option<u32> = connection
            .query_row("SELECT mode FROM fs_inode WHERE ino = 1", [], |row| row.get(0))
            .map(Some)
            .or_else(
                |error| if error == rusqlite::Error::QueryReturnedNoRows { Ok(None) } else { Err(error) },
            )
            .map_err(|error| self.problem(error))?;
        if !root.and_then(Mode::from_bits).is_some_and(Mode::is_directory) {
            let problem = DatabaseProblem::Corrupt("inode 1 is not a directory".into());
            return Err(Error::database(&self.path, problem));
        }
        let chunk_size = self.setting(connection, "chunk_size", 512..=16 << 20)?;
        let inline_threshold = self.setting(connection, "inline_threshold", 0..=i64::from(chunk_size))?;
        let page_size = connection
            .pragma_query_value(None, "page_size", |row| row.get(0))
            .map_err(|error| self.problem(error))?;
        Ok(Configuration { chunk_size, inline_threshold, page_size })
    }

    fn setting(
        &self,
        connection: &Connection,
        key: &str,
        range: std::ops::RangeInclusive<i64>,
    ) -> Result<u32> {
        let text =
            |row: &rusqlite::Row<'_>| bytes(row, 0).map(|value| String::from_utf8_lossy(value).into_owned());
        let value: String = connection
            .query_row("SELECT value FROM fs_config WHERE key = ?", [key], text)
            .or_else(|error| match error {
                rusqlite::Error::QueryReturnedNoRows => Ok("missing".to_owned()),
                error => Err(error),
            })
            .map_err(|error| self.problem(error))?;
        match value.parse::<i64>() {
            Ok(number) if range.contains(&number) => Ok(number as u32),
            _ => {
                let problem = DatabaseProblem::Config { key: key.to_owned(), value };
                Err(Error::database(&self.path, problem))
            }
        }
    }

    /// What a failure of SQLite while opening means for the person who asked.
    pub(super) fn problem(&self, error: rusqlite::Error) -> Error {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseLocked, NotADatabase, PermissionDenied, ReadOnly,
        };
        let problem = match error.sqlite_error_code() {
            Some(NotADatabase) => DatabaseProblem::NotSqlite,
            _ if is_damage(&error) => DatabaseProblem::Corrupt(error.to_string()),
            Some(ReadOnly | CannotOpen) => DatabaseProblem::ReadOnly(error.to_string()),
            Some(PermissionDenied) => DatabaseProblem::Unreadable(error.to_string()),
            Some(DatabaseBusy | DatabaseLocked) => DatabaseProblem::Busy,
            _ => return storage("open the database")(error),
        };
        Error::database(&self.path, problem)
    }
}

pub(super) const REGISTER_EXTENSION: &str =
    "INSERT INTO ext_registry (name, version) VALUES (?, ?) ON CONFLICT(name) DO NOTHING";

fn validate(options: &Options) -> Result<()> {
    let power =
        |value: u32, range: std::ops::RangeInclusive<u32>| value.is_power_of_two() && range.contains(&value);
    if !power(options.chunk_size, 512..=16 << 20) {
        return Err(Error::Invalid(format!(
            "chunk size {} is not a power of two from 512 to 16777216",
            options.chunk_size
        )));
    }
    if options.inline_threshold > options.chunk_size {
        return Err(Error::Invalid(format!(
            "inline threshold {} is larger than the chunk size {}",
            options.inline_threshold, options.chunk_size
        )));
    }
    if !power(options.page_size, 512..=65536) {
        return Err(Error::Invalid(format!(
            "page size {} is not a power of two from 512 to 65536",
            options.page_size
        )));
    }
    Ok(())
}

fn creation_problem(error: &io::Error) -> DatabaseProblem {
    match error.kind() {
        io::ErrorKind::AlreadyExists => DatabaseProblem::Exists,
        io::ErrorKind::NotFound => DatabaseProblem::Unreadable("its directory does not exist".into()),
        _ => DatabaseProblem::ReadOnly(error.to_string()),
    }
}

fn observe(connection: &Connection) -> rusqlite::Result<Observed> {
    let user_version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let mut tables: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut statement = connection.prepare(
        "SELECT tables.name, columns.name FROM sqlite_master AS tables
         JOIN pragma_table_info(tables.name) AS columns
         WHERE tables.type = 'table' AND tables.rootpage > 0",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        tables.entry(row.get(0)?).or_default().insert(row.get(1)?);
    }
    Ok(Observed { user_version, tables })
}

/// The length that a database header promises, when it is to be believed (SQLite file format, 1.3.8).
fn expected_length(header: &[u8]) -> Option<u64> {
    let word = |at: usize| header.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let page_size = u16::from_be_bytes(header.get(16..18)?.try_into().ok()?);
    let page_size = if page_size == 1 { 65536 } else { u64::from(page_size) };
    (word(24)? == word(92)?).then_some(u64::from(word(28)?) * page_size)
}

fn resolve(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    if let Ok(target) = path.canonicalize() {
        return Ok(target);
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match directory.canonicalize() {
        Ok(directory) => Ok(directory.join(name)),
        Err(_) => std::path::absolute(path),
    }
}

/// SQLite's URI form of a path; bytes that mean something in a URI are escaped.
fn file_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// Makes the name of a new file durable.
pub(super) fn sync_directory(path: &Path) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| Error::host("sync", directory, error))
}
