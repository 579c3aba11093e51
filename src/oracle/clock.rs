//! Readings of the machine's clock that enclose the times that a call gave to files.
//!
//! The kernel stamps files with its coarse clock, or since 6.13 with the fine one where somebody has looked at the last
//! time; so the coarse clock before and the fine one after enclose both.

use std::mem::MaybeUninit;

use agentfs_model::values::Timestamp;
use nix::libc;
use rustix::time::{ClockId, clock_gettime};

/// Not later than any time that the kernel gives from now on.
///
/// The kernel itself is asked. What every process can read without it is set a moment before the kernel's own clock is, and
/// a machine that loses its processor in that moment shows a time that no file will have for milliseconds.
pub(crate) fn before() -> Timestamp {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call writes a timespec to the address, which is one's.
    let done =
        unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_REALTIME_COARSE, time.as_mut_ptr()) };
    assert_eq!(done, 0, "the coarse clock is there since Linux 2.6.32");
    // SAFETY: the call has succeeded, and so has written it.
    let time = unsafe { time.assume_init() };
    Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec as u32 }
}

/// Not earlier than any time that the kernel has given so far.
pub(crate) fn after() -> Timestamp {
    let time = clock_gettime(ClockId::Realtime);
    Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec as u32 }
}
