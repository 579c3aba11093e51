//! Readings of the machine's clock that enclose the times that a call gave to files.
//!
//! The kernel stamps files with its coarse clock, or since 6.13 with the fine one where somebody has looked at the last
//! time; so the coarse clock before and the fine one after enclose both.

use agentfs_model::values::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// Not later than any time that the kernel gives from now on.
pub(crate) fn before() -> Timestamp {
    reading(ClockId::RealtimeCoarse)
}

/// Not earlier than any time that the kernel has given so far.
pub(crate) fn after() -> Timestamp {
    reading(ClockId::Realtime)
}

fn reading(clock: ClockId) -> Timestamp {
    let time = clock_gettime(clock);
    Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec as u32 }
}
