//! The thread that notices what other processes commit and drops it from the kernel's caches.
//!
//! Keeps MNT-9 (D13): a change by another process is seen through the mount at most a second later; MNT-41: also when an
//! answer that was under way brings back what was dropped; and MNT-42: what the mount wrote is never overwritten by it.
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
        let mut watch = Watch::new(vfs, known, kernel, changes);
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
    /// What the last pass dropped, by inode: serial. An answer that was on its way to the kernel then, and is from before,
    /// can have brought it back, so that the next pass drops it once more.
    again: HashMap<Ino, u64>,
}

/// What is dropped of an inode beside its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drop {
    /// Attributes and pages.
    All,
    /// Attributes: pages that are about to be filled are waited for.
    Attributes,
}

impl Watch {
    fn new(
        vfs: Arc<dyn Vfs>,
        known: Arc<KnownInodes>,
        kernel: Arc<Kernel>,
        changes: Box<dyn ForeignChanges>,
    ) -> Self {
        let (held, again) = (HashMap::new(), HashMap::new());
        Self { vfs, known, kernel, changes, seen: Changes::default(), clean: 0, held, again }
    }

    fn pass(&mut self) {
        let pass = self.known.begin_pass();
        let mut again = std::mem::take(&mut self.again);
        let mut changed: HashMap<Ino, u64> = self.known.take_late().into_iter().collect();
        let read = self.changes.read();
        match &read {
            Ok(changes) if *changes == self.seen => self.clean = pass,
            Ok(changes) => {
                self.known.note_news();
                let everything = changes.lost != self.seen.lost;
                tracing::debug!(?changes, everything, "another process changed the database");
                changed.extend(self.changed(everything));
            }
            Err(error) => tracing::warn!(%error, "cannot look for foreign changes"),
        }
        again.retain(|&ino, &mut serial| !changed.contains_key(&ino) && self.known.holds(ino, serial));
        self.drop_caches(&again, pass, Drop::Attributes);
        self.drop_caches(&changed, pass, Drop::All);
        self.again = changed;
        if let Ok(changes) = read
            && changes != self.seen
        {
            if let Err(error) = self.changes.sweep() {
                tracing::warn!(%error, "inodes without names could not be removed");
            }
            self.seen = changes;
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

    fn drop_caches(&mut self, changed: &HashMap<Ino, u64>, pass: u64, what: Drop) {
        if changed.is_empty() {
            return;
        }
        for &ino in changed.keys() {
            let dropped = match what {
                Drop::All => self.kernel.invalidate_inode(ino),
                Drop::Attributes => self.kernel.expire_attributes(ino),
            };
            self.log(ino, dropped);
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

    /// For a file that somebody holds open. The byte that is stored overwrites what the kernel has there, dirty or not:
    /// so only where it has nothing, because its file is shorter. What remains is the moment between reading and
    /// storing, in which the mount may write just there, or cut the file short (MNT-42).
    fn show_growth(&self, ino: Ino) {
        if self.grown(ino).is_none() {
            return;
        }
        // What the mount wrote since the pages were dropped comes first: it may have made the file longer as well.
        self.log(ino, self.kernel.invalidate_inode(ino));
        let Some(last) = self.grown(ino).and_then(|size| size.checked_sub(1)) else { return };
        if let Ok(bytes) = self.vfs.read(ino, last, 1)
            && let [byte] = bytes[..]
        {
            let stored = self.kernel.store(ino, last, byte);
            if let Ok(true) = stored {
                self.known.note_growth(ino, last + 1);
            }
            self.log(ino, stored.map(|_| ()));
        }
    }

    /// The size of a file that is longer than the kernel can know.
    fn grown(&self, ino: Ino) -> Option<u64> {
        let attributes = self.vfs.getattr(ino).ok().filter(|of| of.mode.is_regular())?;
        (attributes.size > self.known.size(ino)?).then_some(attributes.size)
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::AgentFs;
    use crate::types::{Attributes, Caller, Name, Options, SetAttributes};
    use crate::vfs::WriteFlags;

    /// Codes of `linux/fuse.h`.
    const INODE: i32 = 2;
    const ENTRY: i32 = 3;
    const STORE: i32 = 4;
    const NOTHING: Vec<i32> = Vec::new();

    #[derive(Clone, Default)]
    struct Commits(Arc<AtomicU64>);

    impl ForeignChanges for Commits {
        fn read(&self) -> Result<Changes> {
            Ok(Changes { foreign: self.0.load(Ordering::Relaxed), lost: 0 })
        }

        fn sweep(&self) -> Result<()> {
            Ok(())
        }
    }

    /// A watcher, with a file in the place of the kernel.
    struct Fixture {
        fs: Arc<AgentFs>,
        watch: Watch,
        commits: Commits,
        sent: File,
        _folder: tempfile::TempDir,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let fs = Arc::new(AgentFs::create(&folder.path().join("agent.db"), &Options::default()).unwrap());
            let kernel = Kernel::new(File::create_new(folder.path().join("kernel")).unwrap());
            let sent = File::open(folder.path().join("kernel")).unwrap();
            let commits = Commits::default();
            let vfs: Arc<dyn Vfs> = Arc::clone(&fs) as _;
            let known = Arc::new(KnownInodes::new());
            let watch = Watch::new(vfs, known, Arc::new(kernel), Box::new(commits.clone()));
            Self { fs, watch, commits, sent, _folder: folder }
        }

        fn hand_out(&self, name: &str, attributes: &Attributes) -> Ino {
            self.watch.known.hand_out(Ino::ROOT, name.as_bytes(), attributes);
            attributes.ino
        }

        fn file(&self, name: &str, content: &[u8]) -> Ino {
            let made = self.fs.create(&Caller::root(), Ino::ROOT, Name::new(name.as_bytes()).unwrap(), 0o644);
            let ino = made.unwrap().ino;
            self.fs.write(ino, 0, content, WriteFlags::empty()).unwrap();
            self.hand_out(name, &self.fs.getattr(ino).unwrap())
        }

        /// Takes what was handed out so far for old: two passes without news.
        fn settle(&mut self) {
            self.watch.known.show(&self.fs.getattr(Ino::ROOT).unwrap());
            assert_eq!([self.pass(), self.pass()], [NOTHING; 2]);
        }

        fn commit(&self) {
            self.commits.0.fetch_add(1, Ordering::Relaxed);
        }

        /// The codes of the messages of one more pass.
        fn pass(&mut self) -> Vec<i32> {
            self.watch.pass();
            let mut bytes = Vec::new();
            self.sent.read_to_end(&mut bytes).unwrap();
            let number = |from: &[u8]| i32::from_ne_bytes(from[..4].try_into().unwrap());
            let (mut codes, mut rest) = (Vec::new(), &bytes[..]);
            while !rest.is_empty() {
                codes.push(number(&rest[4..]));
                rest = &rest[number(rest) as usize..];
            }
            codes
        }
    }

    // spec: MNT-41
    #[test]
    fn what_one_pass_drops_the_next_drops_again_and_no_other() {
        let mut fixture = Fixture::new();
        let made = fixture.fs.mkdir(&Caller::root(), Ino::ROOT, Name::new(b"d").unwrap(), 0o755).unwrap();
        let directory = fixture.hand_out("d", &made);
        fixture.settle();
        let mode = SetAttributes { permissions: Some(0o700), ..SetAttributes::default() };
        fixture.fs.setattr(&Caller::root(), directory, &mode).unwrap();
        fixture.commit();
        assert_eq!(fixture.pass(), [INODE, ENTRY]);
        assert_eq!(fixture.pass(), [INODE, ENTRY], "an answer may have been under way");
        assert_eq!(fixture.pass(), NOTHING);
    }

    // spec: MNT-41
    #[test]
    fn what_an_answer_shows_that_is_sent_after_the_news_is_dropped_in_the_next_pass() {
        let mut fixture = Fixture::new();
        fixture.settle();
        let asked = fixture.watch.known.ask();
        let made = fixture.fs.mkdir(&Caller::root(), Ino::ROOT, Name::new(b"d").unwrap(), 0o755).unwrap();
        fixture.watch.known.show(&fixture.fs.getattr(Ino::ROOT).unwrap());
        fixture.commit();
        fixture.pass();
        let directory = fixture.hand_out("d", &made);
        fixture.watch.known.answered(asked, [directory]);
        assert!(fixture.pass().contains(&ENTRY));
        assert_eq!([fixture.pass(), fixture.pass()], [vec![INODE, ENTRY], NOTHING]);
    }

    // spec: MNT-42, MNT-9
    #[test]
    fn the_end_of_a_file_is_stored_only_when_the_kernel_cannot_know_that_it_has_grown() {
        let mut fixture = Fixture::new();
        let file = fixture.file("f", b"ab");
        fixture.settle();
        let stores = |codes: Vec<i32>| codes.into_iter().filter(|&code| code == STORE).count();
        let change = |fixture: &Fixture, offset, bytes| {
            fixture.fs.write(file, offset, bytes, WriteFlags::empty()).unwrap();
            fixture.commit();
        };
        change(&fixture, 0, b"x");
        assert_eq!(stores(fixture.pass()), 0, "it is as long as before");
        change(&fixture, 2, b"c");
        assert_eq!(stores(fixture.pass()), 1);
        change(&fixture, 0, b"y");
        assert_eq!(stores(fixture.pass()), 0, "the kernel knows the new end");
        fixture.watch.known.lengthen(file, 5);
        change(&fixture, 3, b"de");
        assert_eq!(stores(fixture.pass()), 0, "the mount itself made it as long");
    }
}
