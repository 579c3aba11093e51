//! fsync without blocking all workers: a barrier waits for the disk, and the requests that would keep
//! the disk busy, or other callers served, must go on meanwhile.
//!
//! Keeps DUR-3 at the mount. As long as a worker is left over, a barrier runs where it arrived (no
//! thread is woken for it); the others go to one thread, which answers all that wait with one flush.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use fuser::ReplyEmpty;

use super::convert::errno;
use crate::types::Ino;
use crate::vfs::Vfs;

pub(super) struct Barriers {
    vfs: Arc<dyn Vfs>,
    /// Workers that wait in a barrier now, and how many may.
    waiting: AtomicUsize,
    allowed: usize,
    queue: Option<Sender<(Ino, ReplyEmpty)>>,
    thread: Option<JoinHandle<()>>,
}

impl Barriers {
    /// For `workers` workers.
    pub(super) fn start(vfs: Arc<dyn Vfs>, workers: usize) -> std::io::Result<Self> {
        let (queue, waiting) = mpsc::channel();
        let below = Arc::clone(&vfs);
        let thread = std::thread::Builder::new().name("agentfs-barrier".into());
        let thread = thread.spawn(move || serve(&*below, &waiting))?;
        let allowed = workers.saturating_sub(1);
        Ok(Self { vfs, waiting: AtomicUsize::new(0), allowed, queue: Some(queue), thread: Some(thread) })
    }

    /// Answers `reply` when everything done to `ino` is on the disk.
    pub(super) fn fsync(&self, ino: Ino, reply: ReplyEmpty) {
        let place = Place(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) < self.allowed {
            return answer(reply, self.vfs.fsync(ino), ino);
        }
        drop(place);
        match &self.queue {
            // Without the thread the reply comes back, and is dropped with an I/O error.
            Some(queue) => drop(queue.send((ino, reply))),
            None => reply.error(fuser::Errno::EIO),
        }
    }
}

/// A place among the workers that wait, given back also when the file system panics.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Barriers {
    fn drop(&mut self) {
        self.queue = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the barrier thread panicked");
        }
    }
}

fn serve(vfs: &dyn Vfs, waiting: &Receiver<(Ino, ReplyEmpty)>) {
    while let Ok((ino, reply)) = waiting.recv() {
        let mut together: BTreeMap<Ino, Vec<ReplyEmpty>> = BTreeMap::from([(ino, vec![reply])]);
        for (ino, reply) in waiting.try_iter() {
            together.entry(ino).or_default().push(reply);
        }
        for (ino, replies) in together {
            let outcome = vfs.fsync(ino);
            for reply in replies {
                match &outcome {
                    Ok(()) => reply.ok(),
                    Err(error) => reply.error(errno("fsync", ino.0, error)),
                }
            }
        }
    }
}

fn answer(reply: ReplyEmpty, outcome: crate::Result<()>, ino: Ino) {
    match outcome {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno("fsync", ino.0, &error)),
    }
}
