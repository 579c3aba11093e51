//! The abstract file system, explored: every state of small spaces, and every seeded bug found in one of them.

use agentfs_model::check::explore;
use agentfs_model::check::filesystem::{Bug, Space, small};

/// The spaces, and how many states each has at least.
const FLOORS: [(&str, usize); 8] = [
    ("names", 38_000),
    ("open files", 179_000),
    ("removed directories", 14_000),
    ("permissions", 61_000),
    ("content", 12_000),
    ("listing", 8_900),
    ("listing without order", 7_200),
    ("times", 16_000),
];

/// Every bug, and the space that it is looked for in.
const FOUND_IN: [(Bug, &str); 20] = [
    (Bug::ReapedAtUnlink, "open files"),
    (Bug::DroppedByFirstClose, "open files"),
    (Bug::MovedBelowItself, "names"),
    (Bug::ReplacedKeepsCount, "names"),
    (Bug::OldNameStays, "names"),
    (Bug::ExchangeForgetsParent, "names"),
    (Bug::ExchangeReplaces, "names"),
    (Bug::NotEmptyRemoved, "removed directories"),
    (Bug::RootSwept, "names"),
    (Bug::NamelessLinked, "open files"),
    (Bug::FailedMkdirTouches, "times"),
    (Bug::RenameForgetsChange, "times"),
    (Bug::CutBytesComeBack, "content"),
    (Bug::AppendAtOffset, "content"),
    (Bug::PunchLeavesByte, "content"),
    (Bug::ListedByIndex, "listing"),
    (Bug::StickyIgnored, "permissions"),
    (Bug::UnlinkAsksFile, "permissions"),
    (Bug::SetIdStays, "permissions"),
    (Bug::NoRule, "names"),
];

fn space(name: &str) -> Space {
    small().into_iter().find(|space| space.name == name).unwrap()
}

// spec: FS-NLINK-1, FS-REAP-1, FS-REAP-4, FS-LINK-2, FS-RENAME-1, FS-RENAME-5, FS-RMDIR-1, FS-DIR-3, FS-TRUNC-1
// spec: FS-DATA-1, FS-DATA-4, FS-SEEK-3, FS-PERM-3, FS-PERM-4, FS-PERM-12, FS-TIME-3, CALL-12
#[test]
fn no_sequence_of_calls_breaks_a_promise() {
    let mut states = 0;
    assert!(small().iter().map(|space| space.name).eq(FLOORS.map(|(name, _)| name)));
    for (name, floor) in FLOORS {
        let explored = explore(space(name), None).unwrap_or_else(|example| panic!("{name}: {example}"));
        println!("{name}: {explored}");
        assert!(!explored.bounded && explored.states >= floor, "{name} has only {} states", explored.states);
        states += explored.states;
    }
    println!("the abstract file system: {states} states");
}

#[test]
fn every_seeded_bug_is_found() {
    assert!(FOUND_IN.iter().map(|(bug, _)| bug).eq(Bug::ALL));
    for (bug, name) in FOUND_IN {
        let found = explore(space(name).with(bug), None);
        let Err(example) = found else { panic!("{bug:?} was not found in {name}: {found:?}") };
        println!("{bug:?}: {example}\n");
        assert_eq!(example.property, bug.breaks().statement(), "{bug:?}");
        assert!(!example.trace.is_empty(), "{bug:?}");
    }
}
