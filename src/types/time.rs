//! Points in time with nanoseconds, before and after 1970, and where they come from.

use std::sync::Arc;

use parking_lot::Mutex;

/// A point in time: seconds since 1970-01-01 00:00:00 UTC (negative before), and the nanoseconds
/// after that second, 0 to 999,999,999, also before 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// Whole seconds, rounded towards the past.
    pub seconds: i64,
    /// Nanoseconds after `seconds`.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// 1970-01-01 00:00:00 UTC.
    pub const EPOCH: Self = Self { seconds: 0, nanoseconds: 0 };

    /// The point `seconds` and `nanoseconds` after 1970.
    #[must_use]
    pub const fn new(seconds: i64, nanoseconds: u32) -> Self {
        Self { seconds, nanoseconds }
    }
}

/// Where the file system takes its time from.
pub trait Clock: Send + Sync {
    /// The present time.
    fn now(&self) -> Timestamp;
}

/// The host's wall clock at the kernel's tick.
///
/// The coarse clock, because the kernel stamps cached writes with it: a finer one here would let a
/// file's creation appear later than the write that followed it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec as u32 }
    }
}

/// A clock that moves only when told to, for tests and for comparison with the model.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<Mutex<Timestamp>>);

impl ManualClock {
    /// A clock that stands at `start`.
    #[must_use]
    pub fn new(start: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(start)))
    }

    /// Moves the clock to `time`, forward or backward.
    pub fn set(&self, time: Timestamp) {
        *self.0.lock() = time;
    }

    /// Moves the clock forward by whole seconds.
    pub fn advance(&self, seconds: i64) {
        self.0.lock().seconds += seconds;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}
