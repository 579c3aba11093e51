//! The canonical form of a state answers every call as the state does: what makes the explored spaces those that they
//! stand for.

use agentfs_model::call::{Call, OpenFlags, Operation, Place, RenameFlags};
use agentfs_model::fs::{Branch, FileSystem};
use agentfs_model::outcome::{EntriesPattern, Entry, Expected, Outcome};
use agentfs_model::profile::Profile;
use agentfs_model::trace::{RootSetting, Setting};
use agentfs_model::values::{Credentials, FileKind, Handle, InodeId, ProcessId, Time, Timestamp};

const NOW: Time = Time::At(Timestamp { seconds: 0, nanoseconds: 0 });

fn start(profile: Profile) -> FileSystem {
    let setting = Setting {
        about: String::new(),
        processes: vec![Credentials::root()],
        root: RootSetting { uid: 0, gid: 0, permissions: 0o755 },
        profile,
    };
    FileSystem::start(&setting, NOW)
}

/// Calls that give out numbers, forget them, and compare them.
fn alphabet() -> Vec<Call> {
    let places: [Place; 4] = ["a", "b", "c", "d/a"].map(Place::from);
    let mut operations = Vec::new();
    for path in &places {
        let path = || path.clone();
        operations.push(Operation::Mknod { path: path(), kind: FileKind::Regular, mode: 0o644, rdev: 0 });
        operations.push(Operation::Unlink { path: path() });
        for to in &places {
            for flags in [RenameFlags::empty(), RenameFlags::EXCHANGE] {
                operations.push(Operation::Rename { from: path(), to: to.clone(), flags });
            }
            operations.push(Operation::Link { from: path(), to: to.clone(), follow: false });
        }
    }
    operations.extend([
        Operation::Mkdir { path: "d".into(), mode: 0o755 },
        Operation::Rmdir { path: "d".into() },
        Operation::Mkdir { path: "d/d".into(), mode: 0o755 },
        Operation::Rmdir { path: "d/d".into() },
        Operation::Rename { from: "d/d".into(), to: "e".into(), flags: RenameFlags::empty() },
        Operation::Rename { from: "e".into(), to: "d/d".into(), flags: RenameFlags::empty() },
        Operation::Stat { object: agentfs_model::call::Object::Handle { handle: Handle(2) } },
    ]);
    for (number, path) in [(1, "/"), (2, "d"), (3, "d/d"), (4, "a")] {
        let handle = Handle(number);
        operations.push(Operation::Open { path: path.into(), flags: OpenFlags::READ, mode: 0, handle });
        operations.push(Operation::Close { handle });
        for count in [1, 2] {
            operations.push(Operation::Readdir { handle, count });
        }
        operations.extend((0..3).map(|after| Operation::Seekdir { handle, after }));
        let up = Place { path: "../a".into(), at: Some(handle) };
        operations.push(Operation::Mknod { path: up, kind: FileKind::Regular, mode: 0o644, rdev: 0 });
    }
    operations.into_iter().map(|operation| Call { by: ProcessId(0), operation }).collect()
}

/// What is expected, without the numbers of inodes, and with what has no order in one.
fn without_numbers(expected: &Expected) -> Expected {
    let mut expected = expected.clone();
    match &mut expected {
        Expected::Status(status) => status.inode = InodeId(0),
        Expected::Entries(EntriesPattern { due, possible, ordered, .. }) => {
            due.iter_mut().chain(&mut *possible).for_each(|entry| entry.inode = InodeId(0));
            possible.sort();
            if !*ordered {
                due.sort();
            }
        }
        _ => {}
    }
    expected
}

/// An answer of the branch, the same for equal ones.
fn settle(branch: Branch, choice: usize) -> FileSystem {
    let Expected::Entries(pattern) = without_numbers(&branch.allowed.expected) else {
        return branch.into_next();
    };
    let due = if pattern.ordered { 1 } else { pattern.due.len() };
    let entries = pattern.due.iter().take(due).chain(&pattern.possible);
    let entries = entries.map(|entry| Entry { name: entry.name.clone(), inode: 0, kind: None });
    branch.settle(&Outcome::Entries(entries.skip(choice % 3).take(1).collect()))
}

/// A sequence that looks random and is always the same.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize
    }
}

fn walk(profile: &Profile, seed: u64) {
    let calls = alphabet();
    let mut sequence = Sequence(seed);
    let mut raw = start(profile.clone());
    let mut canonical = raw.clone().canonical();
    for _ in 0..60 {
        let call = &calls[sequence.next() % calls.len()];
        let choice = sequence.next();
        let (Ok(of_raw), Ok(of_canonical)) = (raw.step(NOW, call), canonical.step(NOW, call)) else {
            assert!(raw.step(NOW, call).is_err() && canonical.step(NOW, call).is_err(), "{call:?}");
            continue;
        };
        let expected = |branches: &[Branch]| -> Vec<Expected> {
            branches.iter().map(|branch| without_numbers(&branch.allowed.expected)).collect()
        };
        assert_eq!(expected(&of_raw), expected(&of_canonical), "{call:?} in {raw:?}");
        raw = settle(of_raw.into_iter().next().unwrap(), choice);
        canonical = settle(of_canonical.into_iter().next().unwrap(), choice).canonical();
        assert_eq!(raw.clone().canonical(), canonical, "after {call:?}");
        assert_eq!(canonical.clone().canonical(), canonical);
        assert_eq!((raw.violation(), canonical.violation()), (None, None));
    }
}

#[test]
fn a_canonical_state_answers_as_the_state_that_it_stands_for() {
    let ordered = Profile::agentfs();
    let remembering = Profile { parent_of_removed: true, ..Profile::agentfs() };
    // A listing that need not follow changes remembers what was, and has no canonical form.
    let mount = Profile { listing_follows_changes: true, ..Profile::mount() };
    for profile in [ordered, remembering, Profile::linux(), mount] {
        (0..1500).for_each(|seed| walk(&profile, seed));
    }
}

#[test]
fn what_was_made_and_is_gone_leaves_no_number() {
    let calls = ["a", "b"].map(|path| {
        [
            Operation::Mknod { path: path.into(), kind: FileKind::Regular, mode: 0o644, rdev: 0 },
            Operation::Unlink { path: path.into() },
        ]
    });
    let fresh = start(Profile::agentfs());
    let mut used = fresh.clone();
    for operation in calls.into_iter().flatten() {
        used = used.step(NOW, &Call { by: ProcessId(0), operation }).unwrap().remove(0).into_next();
    }
    assert_ne!(used, fresh);
    assert_eq!(used.canonical(), fresh.canonical());
}

#[test]
fn where_a_removed_directory_was_is_forgotten_unless_it_leads_there() {
    let removed = |profile: Profile, path: &str| {
        let open = OpenFlags::READ;
        let operations = [
            Operation::Mkdir { path: "d".into(), mode: 0o755 },
            Operation::Mkdir { path: path.into(), mode: 0o755 },
            Operation::Open { path: path.into(), flags: open, mode: 0, handle: Handle(1) },
            Operation::Rmdir { path: path.into() },
            Operation::Rmdir { path: "d".into() },
        ];
        let step = |fs: FileSystem, operation| {
            fs.step(NOW, &Call { by: ProcessId(0), operation }).unwrap().remove(0).into_next()
        };
        operations.into_iter().fold(start(profile), step).canonical()
    };
    let both = |profile: &Profile| ["e", "d/e"].map(|path| removed(profile.clone(), path));
    let [above, below] = both(&Profile::agentfs());
    assert_eq!(above, below);
    let [above, below] = both(&Profile { parent_of_removed: true, ..Profile::agentfs() });
    assert_ne!(above, below);
}
