//! Copying the log into the main file, so that it does not grow without end (DUR-14), and never after a failed flush (DUR-16).
//!
//! Beside the writer while there is little to do, with the writer waiting when the log has grown too
//! long, and emptied altogether when the disk below is nearly full.

use std::sync::atomic::Ordering;
use std::time::Instant;

use parking_lot::MutexGuard;

use super::failure::is_failed_flush;
use super::{Shared, Writer};
use crate::error::Result;

/// Bytes in the log past which a checkpoint runs beside the writer. Small, because a log that starts anew is
/// overwritten in place, and a flush then need not record that the file has grown.
const CHECKPOINT_BYTES: u64 = 8 << 20;
/// Bytes in the log past which the writer waits for the checkpoint.
const CHECKPOINT_BARRIER_BYTES: u64 = 64 << 20;

const PASSIVE: &str = "PRAGMA wal_checkpoint(PASSIVE)";
const TRUNCATE: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

impl Shared {
    /// The committer thread: commits the group when its time has come, and checkpoints.
    pub(super) fn commit_in_time(&self) {
        let mut writer = self.writer.lock();
        while !writer.closing {
            let Some(group) = writer.group.as_ref() else {
                if writer.log_bytes >= CHECKPOINT_BYTES {
                    self.checkpoint_beside(&mut writer);
                } else {
                    self.work.wait(&mut writer);
                }
                continue;
            };
            let due = (group.touched + self.limits.idle).min(group.opened + self.limits.age);
            if Instant::now() < due {
                // Woken early only when closing.
                self.work.wait_until(&mut writer, due);
            } else if let Err(error) = self.commit(&mut writer) {
                tracing::error!(%error, "commit in the background");
            } else if writer.log_bytes >= CHECKPOINT_BYTES {
                self.checkpoint_beside(&mut writer);
            }
        }
    }

    /// After a commit by an operation: asks for a checkpoint, or makes one when nobody got round to it.
    pub(super) fn checkpoint_when_due(&self, writer: &mut Writer) {
        if writer.log_bytes >= CHECKPOINT_BARRIER_BYTES {
            self.checkpoint_all(writer);
        } else if writer.log_bytes >= CHECKPOINT_BYTES {
            self.work.notify_one();
        }
    }

    /// Copies the log into the main file while others write, then the little that they added while
    /// they wait, so that the log starts anew.
    fn checkpoint_beside(&self, writer: &mut MutexGuard<'_, Writer>) {
        MutexGuard::unlocked(writer, || self.checkpoint(PASSIVE));
        if let Err(error) = self.commit(writer) {
            tracing::error!(%error, "commit before a checkpoint");
            return;
        }
        self.checkpoint_all(writer);
    }

    /// Copies all of the log, with the writer held.
    fn checkpoint_all(&self, writer: &mut Writer) {
        if let Err(error) = self.commit(writer) {
            tracing::error!(%error, "commit before a checkpoint");
            return;
        }
        self.checkpoint(PASSIVE);
        // Also when it could not finish (another process reads): try again after as much more.
        writer.log_bytes = 0;
        writer.allowance = 0;
    }

    /// Commits, copies all of the log and gives the space that it takes back to the host.
    pub(super) fn empty_log(&self, writer: &mut Writer) -> Result<()> {
        self.commit(writer)?;
        self.checkpoint(TRUNCATE);
        writer.log_bytes = 0;
        Ok(())
    }

    /// A page may reach the disk in the main file only after it has in the log. When a flush has failed, of whichever
    /// connection, the next one succeeds without having written anything, and SQLite would go on: so there is none (DUR-16).
    fn checkpoint(&self, mode: &'static str) {
        let checkpointer = self.checkpointer.lock();
        if self.flush_failed.load(Ordering::Acquire) {
            return;
        }
        let Some(connection) = checkpointer.as_ref() else { return };
        let checkpoint = connection.query_row(mode, [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        match checkpoint {
            Ok((busy, log, done)) => tracing::debug!(busy, log, done, "checkpoint"),
            Err(error) if is_failed_flush(&error) => {
                tracing::error!(%error, "the log could not be synced; nothing is promised any more");
                self.flush_failed.store(true, Ordering::Release);
            }
            Err(error) => tracing::warn!(%error, "checkpoint"),
        }
    }
}
