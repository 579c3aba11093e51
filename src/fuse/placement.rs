//! Where workers run: one to a CPU, each kept on it (D14). A worker that wakes on another CPU than the
//! one it slept on costs more than everything else in a small request.
//!
//! fuser gives no hook when it starts its threads, so a worker is pinned at its first request.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

thread_local! {
    static PLACED: Cell<bool> = const { Cell::new(false) };
}

/// Hands out CPUs to workers.
pub(super) struct Placement {
    cpus: Vec<usize>,
    next: AtomicUsize,
}

impl Placement {
    /// Places workers on the CPUs that this process may use, or nowhere in particular.
    pub(super) fn new(pin: bool) -> Self {
        let cpus = if pin { allowed_cpus() } else { Vec::new() };
        Self { cpus, next: AtomicUsize::new(0) }
    }

    /// Pins the calling thread, the first time.
    pub(super) fn settle(&self) {
        if PLACED.replace(true) || self.cpus.is_empty() {
            return;
        }
        let mut only = CpuSet::new();
        only.set(self.cpus[self.next.fetch_add(1, Ordering::Relaxed) % self.cpus.len()]);
        if let Err(error) = sched_setaffinity(None, &only) {
            tracing::debug!(%error, "a worker stays unpinned");
        }
    }
}

/// Workers for this machine: one a CPU, and at least two, so that one may wait.
pub(super) fn default_workers() -> usize {
    allowed_cpus().len().max(2)
}

fn allowed_cpus() -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect()
}
