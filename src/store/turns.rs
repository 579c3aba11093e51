//! Taking turns with other processes that write.
//!
//! Keeps DUR-9. SQLite's own way of waiting tries again after ever longer sleeps, up to a tenth of a second: it would
//! meet the short rest of a holder that never stops writing once in fifty tries.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::failure::storage;
use super::{Shared, Writer, execute};
use crate::error::{DatabaseProblem, Errno, Error, Result};

/// How long a writer that has just committed steps back for one that waits.
const STEP_BACK: Duration = Duration::from_millis(2);
/// The sleep between two tries of one that waits: so short that no rest of the holder is missed.
const NEXT_TRY: Duration = Duration::from_micros(500);

impl Shared {
    /// Begins a write transaction, after stepping back for another process that waits.
    pub(super) fn take_turn(&self, writer: &Writer) -> Result<()> {
        if writer.last_commit.elapsed() < STEP_BACK && self.lock.somebody_waits() {
            sleep(STEP_BACK);
        }
        let connection = writer.connection()?;
        let patience = |time| connection.busy_timeout(time).map_err(storage("wait for another writer"));
        patience(Duration::ZERO)?;
        let begun = self.begin(writer);
        patience(self.busy_timeout)?;
        begun
    }

    fn begin(&self, writer: &Writer) -> Result<()> {
        let connection = writer.connection()?;
        let begin = || execute(connection, "BEGIN IMMEDIATE");
        let busy = |outcome: &Result<()>| matches!(outcome, Err(error) if error.errno() == Errno::EBUSY);
        let first = begin();
        if !busy(&first) {
            return first;
        }
        let _waiting = self.lock.announce_waiting();
        let deadline = Instant::now() + self.busy_timeout;
        while Instant::now() < deadline {
            sleep(NEXT_TRY);
            let outcome = begin();
            if !busy(&outcome) {
                return outcome;
            }
        }
        Err(Error::database(&self.path, DatabaseProblem::Busy))
    }
}
