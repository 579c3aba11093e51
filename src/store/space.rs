//! Room on the disk below, watched so that a full disk refuses an operation and never costs a group.
//!
//! Keeps DUR-5. A byte that is added is written to the log by its commit, and may make the main file
//! longer by as much when the log is copied there, unless it has pages that nothing uses. Whether that would still fit is estimated before
//! each operation; the file system below is only asked when an allowance from the last time is
//! used up. A little is kept back for operations that remove.

use super::{PAGES_PER_OPERATION, Shared, Writer};
use crate::error::{Errno, Error, Result};
use crate::store::failure::storage;

/// Free space that only removal may use.
const RESERVED_BYTES: u64 = 2 << 20;
/// The part of the free space that may be used before it is measured again, since others use it too.
const ALLOWANCE_SHARE: u64 = 16;

/// What there is room for.
#[derive(Clone, Copy)]
struct Room {
    /// Free bytes below, less what is promised to the open group and the log, and the reserve.
    outside: u64,
    /// Bytes in pages of the main file that nothing uses; what goes there makes the file no longer.
    inside: u64,
}

impl Room {
    /// Whether `bytes` more fit, which go to the log first.
    const fn holds(self, bytes: u64) -> bool {
        bytes.saturating_add(bytes.saturating_sub(self.inside)) <= self.outside
    }

    /// What may be added before it is measured again.
    const fn allowance(self) -> u64 {
        self.outside / ALLOWANCE_SHARE
    }
}

impl Shared {
    /// ENOSPC when `bytes` more would not fit, also after the log has given its space back.
    pub(super) fn reserve_space(&self, bytes: u64) -> Result<()> {
        let mut writer = self.writer.lock();
        let bytes = bytes.saturating_add(self.overhead());
        if writer.allowance < bytes {
            let mut room = self.room(&writer)?;
            if !room.holds(bytes) && writer.has_log() {
                self.empty_log(&mut writer)?;
                room = self.room(&writer)?;
            }
            if !room.holds(bytes) {
                return Err(Errno::ENOSPC.into());
            }
            writer.allowance = bytes.max(room.allowance());
        }
        writer.allowance -= bytes;
        Ok(())
    }

    /// Before any operation: never refuses, since it may be one that makes room, but empties the log
    /// in time.
    pub(super) fn keep_room(&self, writer: &mut Writer) -> Result<()> {
        let bytes = self.overhead();
        if writer.allowance < bytes {
            let mut room = self.room(writer)?;
            if !room.holds(bytes) && writer.has_log() {
                self.empty_log(writer)?;
                self.open_group(writer)?;
                room = self.room(writer)?;
            }
            writer.allowance = bytes.max(room.allowance());
        }
        writer.allowance -= bytes;
        Ok(())
    }

    /// What an operation writes beside the bytes that it adds.
    fn overhead(&self) -> u64 {
        PAGES_PER_OPERATION * u64::from(self.configuration.page_size)
    }

    /// Bytes that could still be stored.
    pub(super) fn free_bytes(&self) -> Result<u64> {
        let room = self.room(&self.writer.lock())?;
        Ok(room.outside.saturating_add(room.inside))
    }

    fn room(&self, writer: &Writer) -> Result<Room> {
        let unmeasured = |error| Error::host("measure the free space of", &self.path, error);
        let below = rustix::fs::statvfs(&self.path).map_err(|error| unmeasured(error.into()))?;
        let length = std::fs::metadata(&self.path).map_err(unmeasured)?.len();
        let connection = writer.connection()?;
        let page_size = u64::from(self.configuration.page_size);
        let pages = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, u64>(0));
        let all = pages("page_count").map_err(storage("count pages"))? * page_size;
        let unused = pages("freelist_count").map_err(storage("count free pages"))? * page_size;
        let group = writer.group.as_ref().map_or(0, |group| group.bytes);
        let promised = all.saturating_sub(length) + group + RESERVED_BYTES;
        let outside = (below.f_bavail * below.f_frsize).saturating_sub(promised);
        Ok(Room { outside, inside: unused })
    }
}

impl Writer {
    /// Whether something is in the open group or the log that could give space back.
    fn has_log(&self) -> bool {
        self.log_bytes > 0 || self.group.as_ref().is_some_and(|group| group.bytes > 0)
    }
}
