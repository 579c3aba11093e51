//! The thread that notices what other processes commit and drops it from the kernel's caches.
//!
//! Keeps MNT-9 (D13): a change by another process is seen through the mount at most a second later.
//! It compares what the kernel was last told with what the file system says now and drops
//! only what differs, so that a foreign commit that touched no file costs no cache.
//!
//! What it cannot do: with the writeback cache the kernel believes its own size and times of a
//! regular file while somebody holds it open. It can be told that such a file has grown, and is; that it
//! was cut short, or when it was changed, is seen once the file has been let go (it reads as zeros
//! until then). For that, its names are dropped again and again: only an inode that leaves the kernel comes back right.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::known::{KnownInodes, fingerprint};
use super::notify::Kernel;
use crate::error::Result;
use crate::types::Ino;
use crate::vfs::Vfs;

/// How often it looks. The bound that is promised is a second; the open group of this mount can
/// delay a foreign commit, but not its being noticed.
const INTERVAL: Duration = Duration::from_millis(100);
/// The most that it rests after a pass that took long; at most a quarter of the time goes into passes.
const LONGEST_REST: Duration = Duration::from_millis(600);
/// An inode that stays in the kernel after its names were dropped is tried again after this many passes.
const RETRY_PASSES: u64 = 5;

/// Inodes that the kernel may know; past it, it is made to forget files. About 200 bytes each.
const MOST_KNOWN: usize = 1 << 18;
/// How many are left then.
const LEFT_KNOWN: usize = MOST_KNOWN / 8 * 7;

/// What tells of changes that did not come through this mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Moves with every foreign commit.
    pub(super) foreign: u64,
    /// Moves when acknowledged operations of our own were lost.
    pub(super) lost: u64,
}

/// The database, as far as this thread is concerned.
pub(super) trait ForeignChanges: Send {
    /// Looks for changes.
    fn read(&self) -> Result<Changes>;

    /// Removes inodes without names that another process had to leave to us (FS-REAP-6).
    fn sweep(&self) -> Result<()>;
}

pub(super) struct Watcher {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Watcher {
    /// Starts the thread.
    pub(super) fn start(
        vfs: Arc<dyn Vfs>,
        known: Arc<KnownInodes>,
        kernel: Arc<Kernel>,
        changes: Box<dyn ForeignChanges>,
    ) -> std::io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let mut watch =
            Watch { vfs, known, kernel, changes, seen: Changes::default(), clean: 0, held: HashMap::new() };
        let thread = std::thread::Builder::new().name("agentfs-watch".into()).spawn(move || {
            let mut rest = INTERVAL;
            while stopped.recv_timeout(rest) == Err(RecvTimeoutError::Timeout) {
                let begun = Instant::now();
                watch.pass();
                rest = (3 * begun.elapsed()).clamp(INTERVAL, LONGEST_REST);
            }
        })?;
        Ok(Self { stop, thread })
    }

    /// Ends the thread. Call when the connection to the kernel is gone: a notification under way could wait for it.
    pub(super) fn stop(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the thread that watches for foreign changes panicked");
        }
    }
}

struct Watch {
    vfs: Arc<dyn Vfs>,
    known: Arc<KnownInodes>,
    kernel: Arc<Kernel>,
    changes: Box<dyn ForeignChanges>,
    seen: Changes,
    /// The last pass that began with nothing new; what was touched since may mix ours and theirs.
    clean: u64,
    /// Regular files whose names were dropped and that may still be there, by inode: serial, and when to try again.
    held: HashMap<Ino, (u64, u64)>,
}

impl Watch {
    fn pass(&mut self) {
        let pass = self.known.begin_pass();
        match self.changes.read() {
            Ok(changes) if changes == self.seen => self.clean = pass,
            Ok(changes) => {
                let everything = changes.lost != self.seen.lost;
                tracing::debug!(?changes, everything, "another process changed the database");
                let changed = self.changed(everything);
                self.drop_caches(&changed, pass);
                if let Err(error) = self.changes.sweep() {
                    tracing::warn!(%error, "inodes without names could not be removed");
                }
                self.seen = changes;
            }
            Err(error) => tracing::warn!(%error, "cannot look for foreign changes"),
        }
        self.retry(pass);
        self.shed();
    }

    /// Has the kernel forget files that nobody has open, before it and we remember too many.
    fn shed(&self) {
        if self.known.len() > MOST_KNOWN {
            for cached in self.known.surplus(LEFT_KNOWN) {
                self.log(cached.ino, self.kernel.drop_name(cached.parent, &cached.name));
            }
        }
    }

    /// The inodes of which the kernel may have something that is no longer so.
    fn changed(&self, everything: bool) -> HashMap<Ino, u64> {
        let differs = |ino, last_told| match self.vfs.getattr(ino) {
            Ok(now) => fingerprint(&now) != last_told,
            Err(_) => true,
        };
        let observed = self.known.observe().into_iter();
        let changed = observed
            .filter(|seen| everything || seen.touched >= self.clean || differs(seen.ino, seen.fingerprint));
        changed.map(|seen| (seen.ino, seen.serial)).collect()
    }

    fn drop_caches(&mut self, changed: &HashMap<Ino, u64>, pass: u64) {
        for &ino in changed.keys() {
            self.log(ino, self.kernel.invalidate_inode(ino));
        }
        // A changed directory may have lost or exchanged any of its names; a changed file must go as
        // a whole, because the kernel trusts its own size of it.
        let names =
            self.known.names(|ino, parent| changed.contains_key(&ino) || changed.contains_key(&parent));
        for cached in names {
            match changed.get(&cached.ino) {
                Some(&serial) if !cached.directory => {
                    self.log(cached.ino, self.kernel.drop_name(cached.parent, &cached.name));
                    self.held.insert(cached.ino, (serial, pass + RETRY_PASSES));
                }
                _ => self.log(cached.ino, self.kernel.expire_name(cached.parent, &cached.name)),
            }
        }
        for &ino in changed.keys().filter(|ino| self.held.contains_key(ino)) {
            self.show_growth(ino);
        }
    }

    /// For a file that somebody holds open. Its dirty pages have just been written back; a truncation through the
    /// mount at this very moment could leave the kernel with the size of before until the file is let go.
    fn show_growth(&self, ino: Ino) {
        let Ok(attributes) = self.vfs.getattr(ino) else { return };
        let Some(last) = attributes.size.checked_sub(1).filter(|_| attributes.mode.is_regular()) else {
            return;
        };
        if let Ok(bytes) = self.vfs.read(ino, last, 1)
            && let [byte] = bytes[..]
        {
            self.log(ino, self.kernel.store(ino, last, byte));
        }
    }

    /// Drops the names of what somebody still held open.
    fn retry(&mut self, pass: u64) {
        let known = &self.known;
        self.held.retain(|&ino, &mut (serial, _)| known.holds(ino, serial));
        let due = |held: &(u64, u64)| held.1 <= pass;
        if !self.held.values().any(due) {
            return;
        }
        for cached in known.names(|ino, _| self.held.get(&ino).is_some_and(due)) {
            self.log(cached.ino, self.kernel.drop_name(cached.parent, &cached.name));
        }
        for held in self.held.values_mut().filter(|held| held.1 <= pass) {
            held.1 = pass + RETRY_PASSES;
        }
    }

    fn log(&self, ino: Ino, outcome: std::io::Result<()>) {
        if let Err(error) = outcome {
            tracing::debug!(%ino, %error, "the kernel did not take an invalidation");
        }
    }
}
