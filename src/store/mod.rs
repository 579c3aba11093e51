//! The store: the one place that opens SQLite. Connections, the group transaction, barriers.
//!
//! Keeps DUR-1 to DUR-16 and OPEN-9: a mutation runs at once, inside the group that is open;
//! the group is committed when it is idle, old or large, and at every barrier; a barrier returns
//! when the log is synced. It knows nothing of inodes, keys or tool calls.
//!
//! Locks, in the order in which they may be taken: `writer` (the connection that all statements
//! run on, and the group), then nothing; `syncer` (the connection that syncs) alone;
//! `checkpointer` alone or after `writer`.

#[cfg(test)]
mod barrier_tests;
mod checkpoint;
mod connection;
mod failure;
mod groups;
mod inspection;
mod lock;
mod mount;
mod session;
mod space;
mod turns;
mod wal;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

pub use connection::Configuration;
use connection::Opener;
pub(crate) use failure::is_damage;
use failure::{errno_of, storage};
pub use groups::EndedGroups;
pub use inspection::inspect;
use lock::LockFile;
pub use mount::{Extension, MountHolder, is_mounted, mount_holder};
pub use session::{Session, Text, bytes};

use crate::error::{Errno, Error, Result};
use crate::types::{GroupLimits, Options};

/// What an operation writes at most beside the bytes that it charges, in pages.
const PAGES_PER_OPERATION: u64 = 4;
/// How long closing waits for another process before it leaves the log to that.
const CLOSING_PATIENCE: Duration = Duration::from_millis(100);

/// An open database.
pub struct Store {
    shared: Arc<Shared>,
    /// None once closed. Lock order: taken alone.
    committer: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    path: PathBuf,
    configuration: Configuration,
    read_only: bool,
    limits: GroupLimits,
    /// How long an operation waits for another process.
    busy_timeout: Duration,
    writer: Mutex<Writer>,
    /// Wakes the committer: a group was opened, or the store closes.
    work: Condvar,
    syncer: Mutex<Syncer>,
    /// The connection that checkpoints; None when read-only.
    checkpointer: Mutex<Option<Connection>>,
    /// Commits in the log that a flush may have to cover: groups of ours, and what others were noticed to have
    /// committed, which nobody may have flushed. Only the holder of `writer` adds to it.
    changes: AtomicU64,
    /// A flush of the log has failed: nobody can know what of it is on the disk, and the next flush would not tell.
    /// No barrier succeeds any more, and nothing is copied from the log.
    flush_failed: AtomicBool,
    // Last: its descriptor must outlive every connection (see the module `lock`).
    lock: LockFile,
}

/// Guards the connection that all statements run on, and the group that is open in it.
struct Writer {
    /// None once closed.
    connection: Option<Connection>,
    group: Option<Group>,
    data_version: i64,
    foreign_changes: u64,
    ended: EndedGroups,
    last_commit: Instant,
    log_bytes: u64,
    /// Bytes that may still be added before the file system below is asked again how much is free.
    allowance: u64,
    mounted: bool,
    closing: bool,
}

struct Group {
    opened: Instant,
    touched: Instant,
    bytes: u64,
}

struct Syncer {
    connection: Option<Connection>,
    /// So many of [`Shared::changes`] are on the disk.
    synced: u64,
}

impl Store {
    /// Makes a new database at `path` and opens it.
    ///
    /// # Errors
    /// [`Error::Database`] (it exists, its directory cannot be written), [`Error::Invalid`] (options),
    /// [`Error::Storage`]; then no file is left behind.
    pub fn create(path: &Path, options: &Options) -> Result<Self> {
        Opener::new(path, options)?.create(options)?;
        Self::open(path, options)
    }

    /// Opens an existing database.
    ///
    /// # Errors
    /// [`Error::Database`], with the reason.
    pub fn open(path: &Path, options: &Options) -> Result<Self> {
        let mut opener = Opener::new(path, options)?;
        let lock = opener.inspect()?;
        let (connection, configuration) = opener.connect_first()?;
        let data_version = data_version(&connection).map_err(|error| opener.problem(error))?;
        let log_bytes = opener.log_bytes();
        let (syncer, checkpointer) = match options.read_only {
            true => (None, None),
            false => (Some(opener.connect_to_sync()?), Some(opener.connect_to_checkpoint()?)),
        };
        let shared = Arc::new(Shared {
            path: opener.path().to_owned(),
            configuration,
            read_only: options.read_only,
            limits: options.group,
            busy_timeout: options.busy_timeout,
            writer: Mutex::new(Writer {
                connection: Some(connection),
                group: None,
                data_version,
                foreign_changes: 0,
                ended: EndedGroups::default(),
                last_commit: Instant::now(),
                log_bytes,
                allowance: 0,
                mounted: false,
                closing: false,
            }),
            work: Condvar::new(),
            syncer: Mutex::new(Syncer { connection: syncer, synced: 0 }),
            checkpointer: Mutex::new(checkpointer),
            // Who wrote what is in the log may have died before it was flushed.
            changes: AtomicU64::new(u64::from(log_bytes > 0)),
            flush_failed: AtomicBool::new(false),
            lock,
        });
        let committer = match options.read_only {
            true => None,
            false => {
                let shared = Arc::clone(&shared);
                let thread = std::thread::Builder::new().name("agentfs-commit".into());
                let spawned = thread.spawn(move || shared.commit_in_time());
                Some(spawned.map_err(|error| Error::host("start a thread for", path, error))?)
            }
        };
        Ok(Self { shared, committer: Mutex::new(committer) })
    }

    /// The database file, absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// What `fs_config` says.
    #[must_use]
    pub fn configuration(&self) -> Configuration {
        self.shared.configuration
    }

    /// Whether every mutation is refused.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.shared.read_only
    }

    /// Runs queries on the present state, the open group included.
    ///
    /// # Errors
    /// What `operation` returns.
    pub fn read<T>(&self, operation: impl FnOnce(&Session<'_>) -> Result<T>) -> Result<T> {
        let mut writer = self.shared.writer.lock();
        writer.notice_lost_group()?;
        if writer.group.is_some() {
            return operation(&self.shared.session(&writer)?);
        }
        // One transaction, so that what others commit meanwhile does not come between two statements.
        execute(writer.connection()?, "BEGIN")?;
        let noticed = self.shared.notice_foreign_changes(&mut writer);
        let connection = writer.connection()?;
        let _snapshot = Snapshot { connection };
        noticed?;
        operation(&self.shared.session(&writer)?)
    }

    /// Runs `operation` in the group transaction: all of it or, when it fails, nothing (DUR-2).
    ///
    /// # Errors
    /// What `operation` returns; EROFS; EBUSY when another process writes for too long.
    pub fn mutate<T>(&self, operation: impl FnOnce(&Session<'_>) -> Result<T>) -> Result<T> {
        self.shared.mutate(operation)
    }

    /// Fails with ENOSPC when adding `bytes` could leave too little space to commit and checkpoint
    /// what is pending, so that a full disk refuses one operation instead of losing a group (DUR-5).
    ///
    /// # Errors
    /// ENOSPC.
    pub fn reserve_space(&self, bytes: u64) -> Result<()> {
        self.shared.reserve_space(bytes)
    }

    /// Returns when every mutation so far is on the disk (DUR-4).
    ///
    /// # Errors
    /// EIO or ENOSPC when the group could not be committed or synced. What a failed commit held is
    /// lost ([`Store::ended_groups`]).
    pub fn barrier(&self) -> Result<()> {
        self.shared.barrier()
    }

    /// The groups that have ended since the database was opened; a mutation that runs now belongs to the next one.
    #[must_use]
    pub fn ended_groups(&self) -> EndedGroups {
        self.shared.writer.lock().ended.clone()
    }

    /// Looks whether another connection has committed, and returns how often that was noticed.
    /// Cheap enough to call many times a second.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn foreign_changes(&self) -> Result<u64> {
        let mut writer = self.shared.writer.lock();
        if writer.group.is_none() {
            self.shared.notice_foreign_changes(&mut writer)?;
        }
        Ok(writer.foreign_changes)
    }

    /// Bytes that could still be stored: free below, the reserve left out, or unused in the file.
    ///
    /// # Errors
    /// [`Error::Host`], [`Error::Storage`].
    pub fn free_bytes(&self) -> Result<u64> {
        self.shared.free_bytes()
    }

    /// Commits, syncs, folds the log into the main file and closes: one file is left unless another
    /// process has the database open (OPEN-9).
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    pub fn close(self) -> Result<()> {
        self.shut_down()
    }

    /// As [`close`](Self::close), while others still hold the store: what they do after it fails with
    /// EBADF.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    pub fn shut_down(&self) -> Result<()> {
        let Some(committer) = self.committer.lock().take() else {
            return self.shared.close_connections();
        };
        let barrier = self.shared.barrier();
        self.shared.writer.lock().closing = true;
        self.shared.work.notify_all();
        if committer.join().is_err() {
            tracing::error!("the committer thread panicked");
        }
        let released = self.forget_holder();
        let closed = self.shared.close_connections();
        barrier.and(released).and(closed)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Err(error) = self.shut_down() {
            tracing::error!(path = %self.shared.path.display(), %error, "the database did not close cleanly");
        }
    }
}

impl Shared {
    fn mutate<T>(&self, operation: impl FnOnce(&Session<'_>) -> Result<T>) -> Result<T> {
        if self.read_only {
            return Err(Errno::EROFS.into());
        }
        let mut writer = self.writer.lock();
        writer.notice_lost_group()?;
        if writer.group.is_none() {
            self.open_group(&mut writer)?;
        }
        self.keep_room(&mut writer)?;
        let savepoint = Savepoint::begin(writer.connection()?)?;
        let session = self.session(&writer)?;
        let outcome = operation(&session);
        let charged = session.charged();
        let end = if outcome.is_ok() { savepoint.keep() } else { savepoint.undo() };
        // SQLite gives the whole transaction up on some failures (a full disk, an I/O error).
        if writer.connection()?.is_autocommit() {
            let errno = outcome.as_ref().err().map_or(Errno::EIO, Error::errno);
            writer.lose_group(errno);
            return outcome.and(Err(errno.into()));
        }
        end?;
        if let Some(group) = writer.group.as_mut() {
            group.touched = Instant::now();
            if outcome.is_ok() {
                let page_size = u64::from(self.configuration.page_size);
                group.bytes += charged + PAGES_PER_OPERATION * page_size;
            }
            if group.bytes >= self.limits.bytes {
                // The operation itself stands or falls with its group, like any acknowledged one.
                self.commit(&mut writer)?;
                self.checkpoint_when_due(&mut writer);
            }
        }
        outcome
    }

    fn session<'a>(&self, writer: &'a Writer) -> Result<Session<'a>> {
        Ok(Session::new(writer.connection()?, writer.foreign_changes, &writer.ended))
    }

    /// Begins the group.
    fn open_group(&self, writer: &mut Writer) -> Result<()> {
        self.take_turn(writer)?;
        let now = Instant::now();
        writer.group = Some(Group { opened: now, touched: now, bytes: 0 });
        // First: the group is open, whatever comes of the rest.
        self.work.notify_one();
        self.notice_foreign_changes(writer)
    }

    /// Commits the open group, if there is one. When that fails the group is lost.
    fn commit(&self, writer: &mut Writer) -> Result<()> {
        if writer.group.is_none() {
            return Ok(());
        }
        let connection = writer.connection()?;
        if let Err(error) = connection.execute_batch("COMMIT") {
            let errno = errno_of(&error);
            tracing::error!(%error, "a group of operations could not be committed");
            if !connection.is_autocommit() {
                execute(connection, "ROLLBACK")?;
            }
            writer.lose_group(errno);
            return Err(storage("commit")(error));
        }
        let written = wal::take_pages_written(connection) * u64::from(self.configuration.page_size);
        writer.group = None;
        writer.last_commit = Instant::now();
        writer.log_bytes += written;
        writer.ended.commit();
        self.changes.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Looks whether another connection has committed since.
    fn notice_foreign_changes(&self, writer: &mut Writer) -> Result<()> {
        let version = data_version(writer.connection()?).map_err(storage("look for foreign changes"))?;
        if version != writer.data_version {
            writer.data_version = version;
            writer.foreign_changes += 1;
            self.changes.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        if self.read_only {
            return Ok(());
        }
        let wanted = {
            let mut writer = self.writer.lock();
            self.commit(&mut writer)?;
            self.notice_foreign_changes(&mut writer)?;
            self.changes.load(Ordering::Acquire)
        };
        self.flush(wanted)
    }

    /// Flushes the log unless the first `wanted` changes are on the disk already.
    fn flush(&self, wanted: u64) -> Result<()> {
        let mut syncer = self.syncer.lock();
        if self.flush_failed.load(Ordering::Acquire) {
            return Err(Errno::EIO.into());
        }
        if syncer.synced >= wanted {
            return Ok(());
        }
        // What was committed while we waited for the lock goes to the disk with the same flush.
        let covered = self.changes.load(Ordering::Acquire);
        let Some(connection) = syncer.connection.as_ref() else {
            return Err(Errno::EIO.into());
        };
        if let Err(error) = wal::sync(connection) {
            tracing::error!(%error, "the log could not be synced; nothing is promised any more");
            self.flush_failed.store(true, Ordering::Release);
            return Err(storage("sync the log")(error));
        }
        syncer.synced = covered;
        Ok(())
    }

    fn close_connections(&self) -> Result<()> {
        // What others were told since the last barrier is kept as well; from here on they are refused.
        let (mut outcome, connection) = {
            let mut writer = self.writer.lock();
            (self.commit(&mut writer), writer.connection.take())
        };
        if connection.is_some() && !self.read_only {
            outcome = outcome.and(self.flush(self.changes.load(Ordering::Acquire)));
        }
        let failed = self.flush_failed.load(Ordering::Acquire);
        let close = |connection: Connection| {
            if failed {
                // The last connection of all would copy the log.
                connection
                    .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
                    .map_err(storage("keep the log"))?;
            }
            connection.close().map_err(|(_, error)| storage("close")(error))
        };
        for connection in [self.syncer.lock().connection.take(), self.checkpointer.lock().take()] {
            outcome = outcome.and(connection.map_or(Ok(()), close));
        }
        if let Some(connection) = connection {
            if !self.read_only && !failed && !self.lock.is_mounted_elsewhere() {
                // Best effort: with another process in the file it stays, and that process folds it in.
                // So it is not worth a wait for one that stands still.
                let _ = connection.busy_timeout(CLOSING_PATIENCE);
                let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            }
            outcome = outcome.and(close(connection));
        }
        outcome
    }
}

impl Writer {
    fn connection(&self) -> Result<&Connection> {
        self.connection.as_ref().ok_or_else(|| Errno::EBADF.into())
    }

    /// SQLite gives a transaction up on some failures of a query as well (an I/O error).
    fn notice_lost_group(&mut self) -> Result<()> {
        if self.group.is_some() && self.connection()?.is_autocommit() {
            self.lose_group(Errno::EIO);
        }
        Ok(())
    }

    fn lose_group(&mut self, errno: Errno) {
        self.group = None;
        self.ended.lose(errno);
        self.allowance = 0;
        // What the layers above remember may come from the lost group.
        self.foreign_changes += 1;
    }
}

/// What one operation does to the group, taken back as a whole unless it is kept: also when the operation
/// panics, since what it leaves half done would be committed with the others.
struct Savepoint<'a> {
    connection: &'a Connection,
    ended: bool,
}

impl<'a> Savepoint<'a> {
    fn begin(connection: &'a Connection) -> Result<Self> {
        execute(connection, "SAVEPOINT operation")?;
        Ok(Self { connection, ended: false })
    }

    fn keep(mut self) -> Result<()> {
        self.ended = true;
        execute(self.connection, "RELEASE operation")
    }

    fn undo(mut self) -> Result<()> {
        self.ended = true;
        execute(self.connection, "ROLLBACK TO operation")?;
        execute(self.connection, "RELEASE operation")
    }
}

impl Drop for Savepoint<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        for sql in ["ROLLBACK TO operation", "RELEASE operation"] {
            if let Err(error) = execute(self.connection, sql) {
                tracing::error!(%error, "an operation that panicked could not be taken back");
            }
        }
    }
}

/// The state that a reading operation sees; left when the operation ends, also when it panics.
struct Snapshot<'a> {
    connection: &'a Connection,
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        if !self.connection.is_autocommit()
            && let Err(error) = execute(self.connection, "ROLLBACK")
        {
            tracing::error!(%error, "a reading operation could not be ended");
        }
    }
}

fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

fn execute(connection: &Connection, sql: &'static str) -> Result<()> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute([]))
        .map(|_| ())
        .map_err(storage(sql))
}
