//! The requests that may have to wait, and the thread on which they do, so that a worker is always left.
//!
//! **Barriers** wait for the disk. As long as another worker is free one runs where it arrived, and
//! no thread is woken for it; the others come here and all that wait share one flush (MNT-23).
//!
//! **Seeks** for data and holes wait for the kernel: it does not write its dirty pages back before it
//! asks (unlike before a copy or a punched hole), so what was just written would be taken for a
//! hole, and a copying program would lose it (MNT-34). Invalidating the inode writes them back, and
//! sends the writes to the workers: a worker must not wait for that.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use fuser::{ReplyEmpty, ReplyLseek};

use super::convert::errno;
use super::notify::Kernel;
use crate::error::Result;
use crate::types::Ino;
use crate::vfs::{SeekTo, Vfs};

pub(super) struct Barriers {
    vfs: Arc<dyn Vfs>,
    /// Workers that wait in a barrier now, and how many may.
    waiting: AtomicUsize,
    allowed: usize,
    queue: Option<Sender<Waiting>>,
    thread: Option<JoinHandle<()>>,
}

enum Waiting {
    Barrier(Ino, ReplyEmpty),
    Seek { ino: Ino, offset: u64, to: SeekTo, reply: ReplyLseek },
}

impl Barriers {
    /// For `workers` workers.
    pub(super) fn start(vfs: Arc<dyn Vfs>, kernel: Arc<Kernel>, workers: usize) -> std::io::Result<Self> {
        let (queue, waiting) = mpsc::channel();
        let below = Arc::clone(&vfs);
        let thread = std::thread::Builder::new().name("agentfs-barrier".into());
        let thread = thread.spawn(move || serve(&*below, &kernel, &waiting))?;
        let allowed = workers.saturating_sub(1);
        Ok(Self { vfs, waiting: AtomicUsize::new(0), allowed, queue: Some(queue), thread: Some(thread) })
    }

    /// Answers `reply` when everything done to `ino` is on the disk.
    pub(super) fn fsync(&self, ino: Ino, reply: ReplyEmpty) {
        let place = Place(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) < self.allowed {
            return answer(reply, &self.vfs.fsync(ino), ino);
        }
        drop(place);
        self.wait(Waiting::Barrier(ino, reply));
    }

    /// Answers `reply` with the next data or hole of `ino`, dirty pages in the kernel included.
    pub(super) fn seek(&self, ino: Ino, offset: u64, to: SeekTo, reply: ReplyLseek) {
        self.wait(Waiting::Seek { ino, offset, to, reply });
    }

    fn wait(&self, waiting: Waiting) {
        if let Some(queue) = &self.queue {
            // Without the thread the reply is dropped, and with that answered with EIO.
            let _ = queue.send(waiting);
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

fn serve(vfs: &dyn Vfs, kernel: &Kernel, queue: &Receiver<Waiting>) {
    while let Ok(first) = queue.recv() {
        let mut barriers: BTreeMap<Ino, Vec<ReplyEmpty>> = BTreeMap::new();
        for waiting in [first].into_iter().chain(queue.try_iter()) {
            match waiting {
                Waiting::Barrier(ino, reply) => barriers.entry(ino).or_default().push(reply),
                Waiting::Seek { ino, offset, to, reply } => {
                    guarded("lseek", || seek(vfs, kernel, ino, offset, to, reply));
                }
            }
        }
        for (ino, replies) in barriers {
            guarded("fsync", || {
                let outcome = vfs.fsync(ino);
                replies.into_iter().for_each(|reply| answer(reply, &outcome, ino));
            });
        }
    }
}

fn seek(vfs: &dyn Vfs, kernel: &Kernel, ino: Ino, offset: u64, to: SeekTo, reply: ReplyLseek) {
    if let Err(error) = kernel.invalidate_inode(ino) {
        tracing::debug!(%ino, %error, "dirty pages could not be fetched");
        return reply.error(fuser::Errno::EIO);
    }
    match vfs.seek(ino, offset, to) {
        Ok(found) => reply.offset(found.cast_signed()),
        Err(error) => reply.error(errno("lseek", ino.0, &error)),
    }
}

fn answer(reply: ReplyEmpty, outcome: &Result<()>, ino: Ino) {
    match outcome {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno("fsync", ino.0, error)),
    }
}

/// A panic costs the requests concerned (their replies are dropped, which answers EIO), not the thread.
fn guarded(operation: &'static str, run: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(run)).is_err() {
        tracing::error!(operation, "a request panicked and was answered with EIO");
    }
}
