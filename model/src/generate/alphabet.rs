//! What is drawn from: names, processes, sizes, times, and what a driver cannot do.
//!
//! Few values, so that they meet: the same names in every directory, sizes at the borders of chunks, ids that own
//! each other's files. Each constructor says for whom it is; a driver changes fields for what it knows better.

use crate::bytes::Bytes;
use crate::call::OpenFlags;
use crate::profile::Profile;
use crate::trace::{RootSetting, Setting};
use crate::values::{Credentials, Timestamp};

use super::Kind;

/// The values that traces for one driver are made of.
#[derive(Clone, Debug)]
pub struct Alphabet {
    /// What the file system under test may do otherwise.
    pub profile: Profile,
    /// Names of entries.
    pub names: Vec<Bytes>,
    /// Who calls. The first one is drawn as often as all others together.
    pub processes: Vec<Credentials>,
    /// What the root directory may be when a trace begins.
    pub roots: Vec<RootSetting>,
    /// Operations that are not drawn.
    pub without: Vec<Kind>,
    /// Operations that are drawn ten times as often as usual.
    pub often: Vec<Kind>,
    /// Most handles that a process has open at one time.
    pub handles: u32,
    /// Whether devices, pipes and sockets are made.
    pub special_files: bool,
    /// Whether symlinks may point to absolute paths: not where those lead out of the file system under test.
    pub absolute_targets: bool,
    /// Whether the file system may be opened again read-only.
    pub read_only: bool,
    /// Offsets and sizes of files in daily use.
    pub sizes: Vec<u64>,
    /// Offsets and sizes at the limits, drawn rarely.
    pub limits: Vec<u64>,
    /// The most bytes that fallocate asks for. A file system that takes the room at once would fill the disk; and before the
    /// kernel asks a FUSE file system, it has set the times, also when there is no room.
    pub largest_allocation: u64,
    /// Names of extended attributes.
    pub attributes: Vec<Bytes>,
    /// Names of extended attributes that are refused for their form.
    pub odd_attributes: Vec<Bytes>,
    /// Lengths of their values.
    pub value_lengths: Vec<usize>,
    /// Times to set.
    pub times: Vec<Timestamp>,
    /// User and group ids to give things to.
    pub ids: Vec<u32>,
    /// Flags that open is never given.
    pub without_flags: OpenFlags,
}

const fn time(seconds: i64, nanoseconds: u32) -> Timestamp {
    Timestamp { seconds, nanoseconds }
}

fn user(uid: u32, gid: u32) -> Credentials {
    Credentials { uid, gid, groups: Vec::new() }
}

fn bytes(texts: &[&str]) -> Vec<Bytes> {
    texts.iter().map(|text| Bytes::from(*text)).collect()
}

impl Alphabet {
    /// For the library in process: every call, and every value that SPEC.md speaks of.
    #[must_use]
    pub fn library() -> Self {
        let root = |permissions| RootSetting { uid: 0, gid: 0, permissions };
        Self {
            profile: Profile::agentfs(),
            names: [&b"a"[..], b"b", b"c", b"d\xff"].map(Bytes::from).to_vec(),
            // Root, a user, and another user who shares a group with the first.
            processes: vec![
                Credentials::root(),
                user(1000, 1000),
                Credentials { uid: 1001, gid: 1001, groups: vec![1000] },
            ],
            roots: vec![root(0o777), root(0o1777), root(0o777), root(0o2777), root(0o755)],
            without: Vec::new(),
            often: Vec::new(),
            handles: 6,
            special_files: true,
            absolute_targets: true,
            read_only: true,
            sizes: vec![
                0, 1, 15, 16, 17, 511, 512, 513, 4095, 4096, 4097, 65535, 65536, 65537, 131_072, 200_000,
            ],
            limits: vec![1 << 40, i64::MAX as u64 - 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX],
            largest_allocation: u64::MAX,
            attributes: bytes(&["user.a", "user.b", "trusted.a", "security.a", "system.a", "other.a"]),
            odd_attributes: [&b"user."[..], b"", b"user.\xff", &[b'n'; 256]].map(Bytes::from).to_vec(),
            value_lengths: vec![1, 0, 100, 300, 65536, 1, 65537],
            times: vec![
                time(1_000_000_000, 1),
                time(-1, 999_999_999),
                time(0, 0),
                time(-2_000_000_000, 5),
                time(10_000_000_000, 999_999_999),
                time(0, 1_000_000_000),
            ],
            ids: vec![1000, 0, 1001, 2000],
            without_flags: OpenFlags::empty(),
        }
    }

    /// For AgentFS through the kernel: no crash and no reopening, which a driver adds when it can, and no offsets at
    /// which the kernel itself answers for every file system.
    #[must_use]
    pub fn mount() -> Self {
        Self {
            profile: Profile::mount(),
            absolute_targets: false,
            read_only: false,
            largest_allocation: 1 << 20,
            without: vec![Kind::Reopen, Kind::Crash],
            ..Self::library()
        }
    }

    /// For a directory of any file system of Linux: what ext4 and tmpfs both keep.
    ///
    /// No `security.` and `trusted.` attributes, which security modules and namespaces have a word in; values that fit
    /// beside an inode of ext4; times that have 34 bits.
    #[must_use]
    pub fn linux() -> Self {
        Self {
            profile: Profile::linux(),
            attributes: bytes(&["user.a", "user.b"]),
            value_lengths: vec![1, 0, 100, 65537],
            ..Self::mount()
        }
    }

    /// The setting of the `root`-th kind that a trace may begin with.
    #[must_use]
    pub fn setting(&self, root: usize, about: &str) -> Setting {
        Setting {
            about: about.to_owned(),
            processes: self.processes.clone(),
            root: self.roots[root % self.roots.len()],
            profile: self.profile.clone(),
        }
    }

    /// Every operation that is drawn, with its weight.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (usize, Kind)> {
        let drawn = Kind::WEIGHTS.iter().filter(|(_, kind)| !self.without.contains(kind));
        drawn.map(|(weight, kind)| (if self.often.contains(kind) { 10 * weight } else { *weight }, *kind))
    }
}
