//! What the kernel remembers of us: which inodes it holds references on, under which names it has them
//! cached, and which attributes it was last told.
//!
//! Keeps MNT-19 (every reference handed out is given back), MNT-9 (what another process
//! changed is dropped from the kernel's caches) and MNT-41 (also when an answer brings it back). An inode leaves with its last FORGET; the kernel is in no hurry to send
//! it, so past a limit the watcher has it forget some (MNT-29). This module only remembers;
//! [`watch`](super::watch) acts.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::types::{Attributes, Ino};

/// The table. Its lock is taken alone: never across a call of the file system or to the kernel.
pub(super) struct KnownInodes {
    state: Mutex<State>,
    /// Passes of the watcher so far; says how recent an observation is.
    pass: AtomicU64,
    /// Those of them that found something new.
    news: AtomicU64,
}

/// Before which news of the watcher the file system was asked for an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked(u64);

#[derive(Default)]
struct State {
    inodes: HashMap<u64, Known, Mixed>,
    /// Which inode a name was handed out for, by the hash of directory and name.
    named: HashMap<u64, u64, Mixed>,
    names: RandomState,
    next_serial: u64,
    /// Shown in an answer that was found before the watcher's last news and sent after.
    late: HashSet<u64, Mixed>,
}

struct Known {
    references: u64,
    serial: u64,
    directory: bool,
    fingerprint: u64,
    /// The pass in which it was last changed, or its attributes last differed, by our own requests.
    touched: u64,
    /// The size that the kernel has, as far as what it asked of us tells: with the writeback cache it takes the size of a
    /// file that it knows from no answer.
    size: u64,
    /// The pass in which it was last handed out.
    handed_out: u64,
    names: Vec<Cached>,
}

struct Cached {
    hash: u64,
    parent: u64,
    name: Box<[u8]>,
}

/// A name that the kernel may have in its cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CachedName {
    pub(super) ino: Ino,
    pub(super) parent: Ino,
    pub(super) name: Box<[u8]>,
    pub(super) directory: bool,
}

/// An inode that the kernel holds, as seen by the watcher.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    pub(super) ino: Ino,
    /// Tells one stay of an inode in the kernel from the next.
    pub(super) serial: u64,
    pub(super) fingerprint: u64,
    pub(super) touched: u64,
}

impl KnownInodes {
    /// A table with the root, which the kernel knows without a reference and never forgets.
    pub(super) fn new() -> Self {
        let mut state = State::default();
        let root = Known {
            references: 0,
            serial: 0,
            directory: true,
            fingerprint: 0,
            touched: 0,
            size: 0,
            handed_out: 0,
            names: Vec::new(),
        };
        state.inodes.insert(Ino::ROOT.0, root);
        Self { state: Mutex::new(state), pass: AtomicU64::new(0), news: AtomicU64::new(0) }
    }

    /// Counts a reference that a reply hands out under `name` in `parent`. Before the reply is sent:
    /// the FORGET may be read by another worker at once.
    pub(super) fn hand_out(&self, parent: Ino, name: &[u8], attributes: &Attributes) {
        let pass = self.pass.load(Ordering::Relaxed);
        let mut state = self.state.lock();
        let state = &mut *state;
        let ino = attributes.ino.0;
        let serial = &mut state.next_serial;
        let known = state.inodes.entry(ino).or_insert_with(|| {
            *serial += 1;
            Known {
                references: 0,
                serial: *serial,
                directory: attributes.mode.is_directory(),
                fingerprint: fingerprint(attributes),
                touched: pass,
                size: attributes.size,
                handed_out: pass,
                // Nearly all inodes have one name.
                names: Vec::with_capacity(1),
            }
        });
        known.references += 1;
        // Either the kernel knows the file, and keeps the size that it has, or it takes this one.
        known.size = known.size.min(attributes.size);
        known.handed_out = pass;
        known.see(attributes, pass);
        state.put_name(parent.0, name, ino);
    }

    /// Takes note of attributes that a reply shows.
    pub(super) fn show(&self, attributes: &Attributes) {
        let pass = self.pass.load(Ordering::Relaxed);
        if let Some(known) = self.state.lock().inodes.get_mut(&attributes.ino.0) {
            known.see(attributes, pass);
        }
    }

    /// Takes note that a request changes `ino` without showing the outcome.
    pub(super) fn touch(&self, ino: Ino) {
        let pass = self.pass.load(Ordering::Relaxed);
        if let Some(known) = self.state.lock().inodes.get_mut(&ino.0) {
            known.touched = pass;
        }
    }

    /// The kernel makes `ino` at least `end` bytes long; it has, or does when it is answered.
    pub(super) fn lengthen(&self, ino: Ino, end: u64) {
        if let Some(known) = self.state.lock().inodes.get_mut(&ino.0) {
            known.size = known.size.max(end);
        }
    }

    /// The kernel was told that `ino` is `end` bytes long, and had it. When an answer with another size may still be on
    /// its way, to an inode that takes the place of that one, it has to be told again.
    pub(super) fn note_growth(&self, ino: Ino, end: u64) {
        let pass = self.pass.load(Ordering::Relaxed);
        if let Some(known) = self.state.lock().inodes.get_mut(&ino.0)
            && known.handed_out + 1 < pass
        {
            known.size = known.size.max(end);
        }
    }

    /// The kernel gives `ino` a size.
    pub(super) fn resize(&self, ino: Ino, size: u64) {
        if let Some(known) = self.state.lock().inodes.get_mut(&ino.0) {
            known.size = size;
        }
    }

    /// The size that the kernel has, as far as what it asked of us tells.
    pub(super) fn size(&self, ino: Ino) -> Option<u64> {
        self.state.lock().inodes.get(&ino.0).map(|known| known.size)
    }

    /// The file system is about to be asked for an answer.
    pub(super) fn ask(&self) -> Asked {
        Asked(self.news.load(Ordering::Acquire))
    }

    /// The answer, which shows `inos`, is sent. When the watcher has had news since, the answer may be from before, and
    /// have reached the kernel after everything was dropped that the watcher could know of.
    pub(super) fn answered(&self, asked: Asked, inos: impl IntoIterator<Item = Ino>) {
        if self.news.load(Ordering::Acquire) != asked.0 {
            self.state.lock().late.extend(inos.into_iter().map(|ino| ino.0));
        }
    }

    /// The watcher has news, and will look at what was told until now.
    pub(super) fn note_news(&self) {
        self.news.fetch_add(1, Ordering::AcqRel);
    }

    /// What was shown in answers that were late, as it is known now.
    pub(super) fn take_late(&self) -> Vec<(Ino, u64)> {
        let mut state = self.state.lock();
        let late = std::mem::take(&mut state.late);
        let known = late.into_iter().filter_map(|ino| Some((Ino(ino), state.inodes.get(&ino)?.serial)));
        known.collect()
    }

    /// A name is gone.
    pub(super) fn drop_name(&self, parent: Ino, name: &[u8]) {
        let pass = self.pass.load(Ordering::Relaxed);
        self.state.lock().take_name(parent.0, name, pass);
    }

    /// A name has moved, or two have swapped; the kernel moves its cached entries itself.
    pub(super) fn move_name(&self, from: (Ino, &[u8]), to: (Ino, &[u8]), exchange: bool) {
        let pass = self.pass.load(Ordering::Relaxed);
        let mut state = self.state.lock();
        let moved = state.take_name(from.0.0, from.1, pass);
        let replaced = state.take_name(to.0.0, to.1, pass);
        if let Some(ino) = moved {
            state.put_name(to.0.0, to.1, ino);
        }
        if let (Some(ino), true) = (replaced, exchange) {
            state.put_name(from.0.0, from.1, ino);
        }
    }

    /// The kernel gives `count` references back.
    pub(super) fn forget(&self, ino: Ino, count: u64) {
        let mut state = self.state.lock();
        let Some(known) = state.inodes.get_mut(&ino.0) else { return };
        known.references = known.references.saturating_sub(count);
        if known.references == 0 && ino != Ino::ROOT {
            state.remove(ino.0);
        }
    }

    /// Takes all references back: the kernel sends no FORGET when it unmounts.
    pub(super) fn take_all(&self) -> Vec<(Ino, u64)> {
        let mut state = self.state.lock();
        state.named.clear();
        let taken = state.inodes.extract_if(|&ino, _| ino != Ino::ROOT.0);
        taken.map(|(ino, known)| (Ino(ino), known.references)).collect()
    }

    /// How many inodes the kernel knows beside the root.
    pub(super) fn len(&self) -> usize {
        self.state.lock().inodes.len() - 1
    }

    /// As [`len`](Self::len), and how many references it has on them.
    pub(super) fn count(&self) -> (usize, u64) {
        let state = self.state.lock();
        (state.inodes.len() - 1, state.inodes.values().map(|known| known.references).sum())
    }

    /// Begins the next pass of the watcher and returns its number.
    pub(super) fn begin_pass(&self) -> u64 {
        self.pass.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// All inodes, the root included.
    pub(super) fn observe(&self) -> Vec<Observed> {
        let state = self.state.lock();
        let observed = |(&ino, known): (&u64, &Known)| Observed {
            ino: Ino(ino),
            serial: known.serial,
            fingerprint: known.fingerprint,
            touched: known.touched,
        };
        state.inodes.iter().map(observed).collect()
    }

    /// Whether the kernel still has the inode from that stay.
    pub(super) fn holds(&self, ino: Ino, serial: u64) -> bool {
        self.state.lock().inodes.get(&ino.0).is_some_and(|known| known.serial == serial)
    }

    /// The names of so many files that at most `limit` inodes would be left without them; none when no more are
    /// known. Directories are not among them: somebody may be in one.
    pub(super) fn surplus(&self, limit: usize) -> Vec<CachedName> {
        let state = self.state.lock();
        let surplus = state.inodes.len().saturating_sub(limit);
        let files = state.inodes.iter().filter(|(_, known)| !known.directory).take(surplus);
        files
            .flat_map(|(&ino, known)| known.names.iter().map(move |cached| known.cached(ino, cached)))
            .collect()
    }

    /// The cached names that `wanted` chooses by (inode, directory that they are in).
    pub(super) fn names(&self, mut wanted: impl FnMut(Ino, Ino) -> bool) -> Vec<CachedName> {
        let state = self.state.lock();
        let mut found = Vec::new();
        for (&ino, known) in &state.inodes {
            let wanted = known.names.iter().filter(|cached| wanted(Ino(ino), Ino(cached.parent)));
            found.extend(wanted.map(|cached| known.cached(ino, cached)));
        }
        found
    }
}

impl Known {
    fn cached(&self, ino: u64, cached: &Cached) -> CachedName {
        CachedName {
            ino: Ino(ino),
            parent: Ino(cached.parent),
            name: cached.name.clone(),
            directory: self.directory,
        }
    }

    fn see(&mut self, attributes: &Attributes, pass: u64) {
        let seen = fingerprint(attributes);
        if self.fingerprint != seen {
            self.fingerprint = seen;
            self.touched = pass;
        }
    }
}

impl State {
    fn put_name(&mut self, parent: u64, name: &[u8], ino: u64) {
        let hash = self.names.hash_one((parent, name));
        match self.named.insert(hash, ino) {
            Some(before) if before == ino => return,
            Some(before) => self.remove_cached(before, hash),
            None => {}
        }
        match self.inodes.get_mut(&ino) {
            Some(known) => known.names.push(Cached { hash, parent, name: name.into() }),
            None => drop(self.named.remove(&hash)),
        }
    }

    /// Removing a name changes the inode's own attributes as well.
    fn take_name(&mut self, parent: u64, name: &[u8], pass: u64) -> Option<u64> {
        let hash = self.names.hash_one((parent, name));
        let ino = self.named.remove(&hash)?;
        self.remove_cached(ino, hash);
        if let Some(known) = self.inodes.get_mut(&ino) {
            known.touched = pass;
        }
        Some(ino)
    }

    fn remove_cached(&mut self, ino: u64, hash: u64) {
        if let Some(known) = self.inodes.get_mut(&ino)
            && let Some(at) = known.names.iter().position(|cached| cached.hash == hash)
        {
            known.names.swap_remove(at);
        }
    }

    fn remove(&mut self, ino: u64) {
        if let Some(known) = self.inodes.remove(&ino) {
            for cached in known.names {
                self.named.remove(&cached.hash);
            }
        }
    }
}

/// A digest of what a change by another process would move. Access times are left out: a read moves them.
pub(super) fn fingerprint(of: &Attributes) -> u64 {
    let values = [
        of.size,
        of.mtime.seconds.cast_unsigned(),
        of.ctime.seconds.cast_unsigned(),
        u64::from(of.mtime.nanoseconds) << 32 | u64::from(of.ctime.nanoseconds),
        u64::from(of.mode.bits()) << 32 | u64::from(of.nlink),
        u64::from(of.uid.0) << 32 | u64::from(of.gid.0),
    ];
    values.into_iter().fold(of.ino.0, |digest, value| mix(digest ^ value))
}

const fn mix(value: u64) -> u64 {
    let product = value as u128 * 0x9e37_79b9_7f4a_7c15;
    (product >> 64) as u64 ^ product as u64
}

type Mixed = BuildHasherDefault<MixHasher>;

/// For keys that are numbers of our own or digests already.
#[derive(Default)]
struct MixHasher(u64);

impl Hasher for MixHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = mix(self.0 ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value ^ 0x5851_f42d_4c95_7f2d);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{DeviceNumber, FileKind, Gid, Mode, Timestamp, Uid};

    fn file(ino: u64, size: u64) -> Attributes {
        Attributes {
            ino: Ino(ino),
            mode: Mode::new(FileKind::Regular, 0o644),
            nlink: 1,
            uid: Uid::ROOT,
            gid: Gid(0),
            size,
            blocks: 0,
            rdev: DeviceNumber(0),
            atime: Timestamp::EPOCH,
            mtime: Timestamp::EPOCH,
            ctime: Timestamp::EPOCH,
        }
    }

    fn names_of(known: &KnownInodes, ino: u64) -> Vec<Box<[u8]>> {
        known.names(|of, _| of == Ino(ino)).into_iter().map(|cached| cached.name).collect()
    }

    // spec: MNT-19
    #[test]
    fn an_inode_leaves_with_its_last_reference_and_not_before() {
        let known = KnownInodes::new();
        known.hand_out(Ino::ROOT, b"a", &file(7, 0));
        known.hand_out(Ino::ROOT, b"a", &file(7, 0));
        known.forget(Ino(7), 1);
        assert_eq!(known.count(), (1, 1));
        known.forget(Ino(7), 1);
        assert_eq!(known.count(), (0, 0));
        assert!(known.names(|_, _| true).is_empty());
    }

    // spec: MNT-9
    #[test]
    fn a_name_follows_its_inode_through_rename_exchange_and_unlink() {
        let known = KnownInodes::new();
        known.hand_out(Ino::ROOT, b"a", &file(7, 0));
        known.hand_out(Ino::ROOT, b"b", &file(8, 0));
        known.move_name((Ino::ROOT, b"a"), (Ino::ROOT, b"b"), true);
        assert_eq!(names_of(&known, 7), [Box::from(*b"b")]);
        assert_eq!(names_of(&known, 8), [Box::from(*b"a")]);
        known.move_name((Ino::ROOT, b"a"), (Ino(9), b"b"), false);
        assert_eq!(names_of(&known, 8), [Box::from(*b"b")]);
        known.drop_name(Ino::ROOT, b"b");
        assert!(names_of(&known, 7).is_empty());
    }

    // spec: MNT-9
    #[test]
    fn a_name_that_means_another_inode_now_is_kept_for_that_one_only() {
        let known = KnownInodes::new();
        known.hand_out(Ino::ROOT, b"a", &file(7, 0));
        known.hand_out(Ino::ROOT, b"a", &file(8, 0));
        assert!(names_of(&known, 7).is_empty());
        assert_eq!(names_of(&known, 8), [Box::from(*b"a")]);
    }

    // spec: MNT-29
    #[test]
    fn past_the_limit_the_surplus_of_files_is_named() {
        let known = KnownInodes::new();
        for ino in 2..12 {
            known.hand_out(Ino::ROOT, format!("file{ino}").as_bytes(), &file(ino, 0));
        }
        assert_eq!(known.surplus(11).len(), 0, "ten and the root");
        assert_eq!(known.surplus(5).len(), 6);
    }

    // spec: MNT-41
    #[test]
    fn an_answer_from_before_the_news_is_remembered_once() {
        let known = KnownInodes::new();
        known.hand_out(Ino::ROOT, b"a", &file(7, 0));
        let (early, late) = (known.ask(), known.ask());
        known.answered(early, [Ino(7)]);
        assert!(known.take_late().is_empty());
        known.note_news();
        known.answered(late, [Ino(7), Ino(8)]);
        assert_eq!(known.take_late().into_iter().map(|(ino, _)| ino).collect::<Vec<_>>(), [Ino(7)]);
        assert!(known.take_late().is_empty());
        known.answered(known.ask(), [Ino(7)]);
        assert!(known.take_late().is_empty());
    }

    // spec: MNT-42
    #[test]
    fn the_size_that_the_kernel_has_is_its_own_once_it_knows_the_file() {
        let known = KnownInodes::new();
        known.hand_out(Ino::ROOT, b"a", &file(7, 5));
        known.hand_out(Ino::ROOT, b"a", &file(7, 100));
        known.show(&file(7, 100));
        assert_eq!(known.size(Ino(7)), Some(5));
        known.lengthen(Ino(7), 9);
        known.lengthen(Ino(7), 3);
        assert_eq!(known.size(Ino(7)), Some(9));
        known.resize(Ino(7), 2);
        assert_eq!(known.size(Ino(7)), Some(2));
        known.hand_out(Ino::ROOT, b"a", &file(7, 1));
        assert_eq!(known.size(Ino(7)), Some(1), "it may have forgotten the file meanwhile");
        assert_eq!(known.size(Ino(8)), None);
    }

    // spec: MNT-9
    #[test]
    fn a_file_that_was_handed_out_lately_is_shown_again_to_have_grown() {
        let known = KnownInodes::new();
        known.hand_out(Ino::ROOT, b"a", &file(7, 5));
        let shown = || {
            known.begin_pass();
            known.note_growth(Ino(7), 9);
            known.size(Ino(7))
        };
        assert_eq!([shown(), shown(), shown()], [Some(5), Some(9), Some(9)]);
    }

    // spec: MNT-9
    #[test]
    fn attributes_that_differ_from_those_last_shown_mark_the_inode() {
        let known = KnownInodes::new();
        known.hand_out(Ino::ROOT, b"a", &file(7, 0));
        let pass = known.begin_pass();
        known.show(&file(7, 0));
        let touched = || known.observe().into_iter().find(|seen| seen.ino == Ino(7)).map(|seen| seen.touched);
        assert!(touched() < Some(pass));
        known.show(&file(7, 1));
        assert_eq!(touched(), Some(pass));
    }
}
