//! The model as an implementation: it answers what the model expects, in memory, with inode numbers of its own; and the
//! same with a bug in it.

use std::collections::BTreeMap;

use agentfs::oracle::{Answer, Between, Failure, Implementation, Observed, Tree};
use agentfs_model::Errno;
use agentfs_model::bytes::Bytes;
use agentfs_model::call::{Call, OpenFlags, Operation, RenameFlags};
use agentfs_model::fs::{Branch, FileSystem, Node, ObjectContent};
use agentfs_model::outcome::{EntriesPattern, Entry, Expected, Outcome, Statistics, Status, StatusPattern};
use agentfs_model::trace::Setting;
use agentfs_model::values::{FileKind, InodeId, Time, Timestamp};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// rmdir of a directory with entries says EEXIST.
    WrongErrno,
    /// A write leaves mtime where it was.
    WriteKeepsMtime,
    /// The inode that a rename replaces keeps its link count.
    ReplacedKeepsLinks,
    /// What was cut off is there again when the file grows.
    OldBytesComeBack,
    /// readdir returns the last entry again.
    EntryTwice,
    /// An unlinked file that is open has lost its content.
    ReapAtUnlink,
    /// An exchange is done as a plain rename.
    ExchangeIsRename,
    /// The umask is not applied.
    NoUmask,
    /// Appending writes go where the offset is.
    AppendIgnored,
    /// A new inode gets the number of one that is gone.
    NumberReused,
    /// A listing counts entries, so that a removal makes it skip one.
    IndexAsCookie,
    /// What was done since the last barrier is lost in a crash, but not in order.
    CrashLosesTheMiddle,
}

impl Bug {
    pub const ALL: [Self; 12] = [
        Self::WrongErrno,
        Self::WriteKeepsMtime,
        Self::ReplacedKeepsLinks,
        Self::OldBytesComeBack,
        Self::EntryTwice,
        Self::ReapAtUnlink,
        Self::ExchangeIsRename,
        Self::NoUmask,
        Self::AppendIgnored,
        Self::NumberReused,
        Self::IndexAsCookie,
        Self::CrashLosesTheMiddle,
    ];
}

/// A state to answer from, and what the bug needs to know.
pub struct Simulated {
    bug: Option<Bug>,
    /// None where the trace has the clock; else what it shows next.
    clock: Option<i64>,
    fs: Option<FileSystem>,
    stale_mtimes: BTreeMap<InodeId, Timestamp>,
    extra_links: BTreeMap<InodeId, u64>,
    cut_off: BTreeMap<InodeId, (u64, Vec<u8>)>,
    last_entry: Option<Entry>,
    /// Calls since the last barrier, with their times.
    unsafe_calls: Vec<(Time, Call)>,
    /// The state at the last barrier.
    safe: Option<FileSystem>,
}

impl Simulated {
    pub fn new(bug: Option<Bug>) -> Self {
        Self {
            bug,
            clock: None,
            fs: None,
            stale_mtimes: BTreeMap::new(),
            extra_links: BTreeMap::new(),
            cut_off: BTreeMap::new(),
            last_entry: None,
            unsafe_calls: Vec::new(),
            safe: None,
        }
    }

    /// With a clock of its own.
    pub fn with_own_clock() -> Self {
        Self { clock: Some(5_000_000_000), ..Self::new(None) }
    }

    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn fs(&self) -> &FileSystem {
        self.fs.as_ref().unwrap()
    }

    /// The call as this implementation understands it.
    fn misunderstood(&self, call: &Call) -> Call {
        let mut call = call.clone();
        match &mut call.operation {
            Operation::Rename { flags, .. } if self.has(Bug::ExchangeIsRename) => {
                flags.remove(RenameFlags::EXCHANGE)
            }
            Operation::Umask { mask } if self.has(Bug::NoUmask) => *mask = 0,
            Operation::Open { flags, .. } if self.has(Bug::AppendIgnored) => flags.remove(OpenFlags::APPEND),
            _ => {}
        }
        call
    }

    /// The branch that a step takes: any is right.
    fn branch(&self, now: Time, call: &Call) -> Branch {
        let branches = self.fs().step(now, &self.misunderstood(call)).unwrap();
        branches.into_iter().next().unwrap()
    }

    fn answer(&mut self, now: Time, call: &Call) -> Outcome {
        if matches!(call.operation, Operation::Crash) {
            self.crash();
        }
        let before = self.fs().clone();
        let branch = self.branch(now, call);
        let mut outcome = match &branch.allowed.expected {
            Expected::Exactly(outcome) => outcome.clone(),
            Expected::Status(pattern) => Outcome::Status(self.status(pattern)),
            Expected::Entries(pattern) => Outcome::Entries(self.entries(pattern, call)),
            Expected::OffsetBetween { least, .. } => Outcome::Offset(*least),
            Expected::CountBetween { least, .. } => Outcome::Count(*least),
            Expected::Statistics { longest_name } => Outcome::Statistics(Statistics {
                blocks: 100,
                blocks_free: 50,
                blocks_available: 40,
                files: 100,
                files_free: 50,
                longest_name: *longest_name,
            }),
        };
        self.misbehave(&before, call, &mut outcome);
        self.fs = Some(branch.settle(&outcome));
        self.note(&before, call, &outcome);
        self.remember(now, call);
        outcome
    }

    fn number(&self, inode: InodeId) -> u64 {
        // Two inodes share a number that are not there at one time, mostly.
        if self.has(Bug::NumberReused) && inode != InodeId::ROOT { 100 + inode.0 % 3 } else { 100 + inode.0 }
    }

    fn status(&self, pattern: &StatusPattern) -> Status {
        let time = |time: Time| match time {
            Time::At(time) => time,
            Time::During(step) => self.window(i64::from(step)).0,
            Time::Unknown => Timestamp { seconds: 1, nanoseconds: 1 },
        };
        let mtime = self.stale_mtimes.get(&pattern.inode).copied().unwrap_or_else(|| time(pattern.mtime));
        let extra = self.extra_links.get(&pattern.inode).copied().unwrap_or_default();
        Status {
            inode: self.number(pattern.inode),
            kind: pattern.kind,
            permissions: pattern.permissions,
            links: pattern.links.unwrap_or(1) + extra,
            uid: pattern.uid,
            gid: pattern.gid,
            size: pattern.size.unwrap_or(17),
            blocks: pattern.blocks.unwrap_or(8),
            rdev: pattern.rdev,
            atime: time(pattern.atime),
            mtime,
            ctime: time(pattern.ctime),
        }
    }

    /// What the clock showed before and after a step.
    fn window(&self, step: i64) -> Between {
        let at = |seconds| Timestamp { seconds, nanoseconds: 500 };
        let start = self.clock.unwrap_or_default();
        (at(start + step), at(start + step + 1))
    }

    fn entries(&mut self, pattern: &EntriesPattern, call: &Call) -> Vec<Entry> {
        let Operation::Readdir { handle, .. } = &call.operation else { unreachable!() };
        let all = pattern.due.iter().chain(&pattern.possible);
        let entry = |known: &agentfs_model::outcome::EntryPattern| Entry {
            name: known.name.clone(),
            inode: self.number(known.inode),
            kind: Some(known.kind),
        };
        let mut entries: Vec<Entry> = all.take(pattern.most as usize).map(entry).collect();
        if self.has(Bug::EntryTwice)
            && let Some(last) = self.last_entry.clone()
            && !entries.is_empty()
        {
            entries[0] = last;
        }
        if self.has(Bug::IndexAsCookie) {
            // The number of entries returned so far is where the listing goes on among those there now.
            let listing = &self.fs().descriptions()[&(call.by, *handle)];
            let Node::Directory(directory) = &self.fs().inodes()[&listing.inode].node else { unreachable!() };
            let mut there: Vec<_> = directory.entries.iter().collect();
            there.sort_by_key(|(_, dentry)| dentry.id);
            let rest = there.into_iter().skip(listing.listing.length()).take(pattern.most as usize);
            let entry = |(name, dentry): (&Bytes, &agentfs_model::fs::Dentry)| Entry {
                name: name.clone(),
                inode: self.number(dentry.inode),
                kind: Some(self.fs().inodes()[&dentry.inode].kind()),
            };
            entries = rest.map(entry).collect();
        }
        self.last_entry = entries.last().cloned();
        entries
    }

    /// Changes the answer as the bug does.
    fn misbehave(&self, before: &FileSystem, call: &Call, outcome: &mut Outcome) {
        let handle = match &call.operation {
            Operation::Read { handle, .. } | Operation::Pread { handle, .. } => Some(*handle),
            _ => None,
        };
        let inode = handle.and_then(|handle| before.descriptions().get(&(call.by, handle)));
        match (self.bug, &call.operation, &mut *outcome, inode) {
            (Some(Bug::WrongErrno), Operation::Rmdir { .. }, Outcome::Error(errno), _)
                if *errno == Errno::ENOTEMPTY =>
            {
                *errno = Errno::EEXIST;
            }
            (Some(Bug::ReapAtUnlink), _, Outcome::Data(data), Some(description))
                if before.inodes()[&description.inode].names == 0 =>
            {
                data.0.fill(0);
            }
            (
                Some(Bug::OldBytesComeBack),
                Operation::Pread { offset, .. },
                Outcome::Data(data),
                Some(description),
            ) => {
                if let Some((from, old)) = self.cut_off.get(&description.inode) {
                    for (at, byte) in data.0.iter_mut().enumerate() {
                        let place = (offset + at as u64).checked_sub(*from);
                        let old = place.and_then(|place| old.get(place as usize));
                        *byte = if *byte == 0 { old.copied().unwrap_or(0) } else { *byte };
                    }
                }
            }
            _ => {}
        }
    }

    /// Remembers what the bug needs later.
    fn note(&mut self, before: &FileSystem, call: &Call, outcome: &Outcome) {
        if matches!(outcome, Outcome::Error(_)) {
            return;
        }
        let changed: Vec<InodeId> = before
            .inodes()
            .iter()
            .filter(|(id, inode)| self.fs().inodes().get(*id).is_some_and(|now| now != *inode))
            .map(|(id, _)| *id)
            .collect();
        for id in changed {
            let (old, new) = (before.inodes()[&id].clone(), self.fs().inodes()[&id].clone());
            if let (Operation::Write { .. } | Operation::Pwrite { .. }, Time::At(mtime)) =
                (&call.operation, old.mtime)
                && self.has(Bug::WriteKeepsMtime)
            {
                self.stale_mtimes.entry(id).or_insert(mtime);
            } else if old.mtime != new.mtime {
                self.stale_mtimes.remove(&id);
            }
            if self.has(Bug::ReplacedKeepsLinks)
                && matches!(call.operation, Operation::Rename { .. })
                && new.names < old.names
            {
                *self.extra_links.entry(id).or_default() += 1;
            }
            if let (Node::Regular(old), Node::Regular(new)) = (&old.node, &new.node)
                && new.size() < old.size()
            {
                let cut = bytes_of(before, id, new.size());
                self.cut_off.insert(id, (new.size(), cut));
            }
        }
    }

    fn remember(&mut self, now: Time, call: &Call) {
        let barrier = matches!(
            call.operation,
            Operation::Fsync { .. }
                | Operation::Fdatasync { .. }
                | Operation::Sync
                | Operation::Reopen { .. }
                | Operation::Crash
        );
        if barrier {
            self.unsafe_calls.clear();
            self.safe = self.fs.clone();
        } else {
            self.unsafe_calls.push((now, call.clone()));
        }
    }

    /// Goes back by half of what is not safe; the bug does all of it but the first change.
    fn crash(&mut self) {
        let calls = std::mem::take(&mut self.unsafe_calls);
        let (skipped, kept) =
            if self.has(Bug::CrashLosesTheMiddle) { (1, calls.len()) } else { (0, calls.len() / 2) };
        let present = self.fs.take();
        self.fs = self.safe.clone();
        for (now, call) in calls.iter().take(kept).skip(skipped) {
            let Ok(branches) = self.fs().step(*now, call) else { continue };
            self.fs = branches.into_iter().next().map(Branch::into_next);
        }
        // What is made again is made with the umask of then; the processes go on with that of now.
        if let (Some(fs), Some(present)) = (&mut self.fs, present) {
            fs.keep_processes(&present);
        }
    }
}

/// The bytes that a file has from an offset on, as far as they are not zeros.
fn bytes_of(fs: &FileSystem, inode: InodeId, from: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let object = fs.tree().into_iter().find(|object| object.status.inode == inode);
    if let Some(ObjectContent::Extents(extents)) = object.map(|object| object.content) {
        for (offset, extent) in extents {
            for (at, byte) in extent.into_iter().enumerate() {
                let Some(place) = (offset + at as u64).checked_sub(from).filter(|place| *place < 1 << 20)
                else {
                    continue;
                };
                bytes.resize(bytes.len().max(place as usize + 1), 0);
                bytes[place as usize] = byte;
            }
        }
    }
    bytes
}

impl Implementation for Simulated {
    fn name(&self) -> &str {
        "the model itself"
    }

    fn supports(&self, _operation: &str) -> bool {
        true
    }

    fn begin(&mut self, setting: &Setting) -> Result<Option<Between>, Failure> {
        let (bug, clock) = (self.bug, self.clock);
        *self = Self { clock, ..Self::new(bug) };
        let start = match self.clock {
            Some(_) => Time::During(0),
            None => Time::At(agentfs::oracle::play::START),
        };
        self.fs = Some(FileSystem::start(setting, start));
        self.safe = self.fs.clone();
        Ok(self.clock.map(|_| self.window(0)))
    }

    fn call(&mut self, step: u32, now: Option<Timestamp>, call: &Call) -> Result<Answer, Failure> {
        let (now, between) = match now {
            Some(now) => (Time::At(now), None),
            None => (Time::During(step), Some(self.window(step.into()))),
        };
        Ok(Answer { outcome: self.answer(now, call), between })
    }

    fn observe(&mut self) -> Result<Option<Tree>, Failure> {
        let objects = self.fs().tree();
        let slash = |path: &Bytes| Bytes([b"/", &path[..]].concat());
        let seen = objects.iter().map(|object| Observed {
            path: slash(&object.path),
            status: self.status(&object.status),
            content: match &object.content {
                ObjectContent::Extents(extents) => {
                    Some(extents.iter().map(|(offset, bytes)| (*offset, Bytes(bytes.clone()))).collect())
                }
                _ => None,
            },
            target: match &object.content {
                ObjectContent::Target(target) => Some(target.clone()),
                _ => None,
            },
            xattrs: object.xattrs.clone(),
            entries: match &self.fs().inodes()[&object.status.inode].node {
                Node::Directory(directory) => {
                    let entries = directory.entries.iter().map(|(name, dentry)| Entry {
                        name: name.clone(),
                        inode: self.number(dentry.inode),
                        kind: Some(self.fs().inodes()[&dentry.inode].kind())
                            .filter(|kind| *kind != FileKind::Socket),
                    });
                    Some(entries.collect())
                }
                _ => None,
            },
        });
        Ok(Some(Tree { objects: seen.collect() }))
    }

    fn end(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}
