//! Directories that are listed while they change.

use agentfs_model::Errno;
use agentfs_model::call::{Call, OpenFlags, Operation, RenameFlags};
use agentfs_model::outcome::{EntriesPattern, Entry, EntryPattern, Expected, Outcome};
use agentfs_model::profile::Profile;
use agentfs_model::values::{Handle, ProcessId};

use crate::machine::{DONE, Machine, at, refused};

/// The root with these files, open as handle 1.
fn with_files(profile: Profile, names: &[&str]) -> Machine {
    let mut machine = Machine::with(profile);
    for name in names {
        machine.file(name, "");
    }
    machine.open("/", OpenFlags::READ, 1);
    machine
}

fn pattern(machine: &Machine, count: u32) -> (EntriesPattern, agentfs_model::fs::Branch) {
    let call = Call { by: ProcessId(0), operation: Operation::Readdir { handle: Handle(1), count } };
    let branch = machine.fs.step(at(machine.seconds), &call).unwrap().remove(0);
    let Expected::Entries(pattern) = branch.allowed.expected.clone() else { panic!("no entries") };
    (pattern, branch)
}

fn names(entries: &[EntryPattern]) -> Vec<String> {
    entries.iter().map(|entry| String::from_utf8(entry.name.to_vec()).unwrap()).collect()
}

/// What an ordered listing may go on with: what it owes, then what is younger than it.
fn next(machine: &mut Machine, count: u32) -> Vec<String> {
    let (pattern, branch) = pattern(machine, count);
    assert!(pattern.ordered);
    let entries: Vec<EntryPattern> =
        pattern.due.into_iter().chain(pattern.possible).take(count as usize).collect();
    let entry = |entry: &EntryPattern| Entry { name: entry.name.clone(), inode: 0, kind: Some(entry.kind) };
    machine.fs = branch.settle(&Outcome::Entries(entries.iter().map(entry).collect()));
    names(&entries)
}

/// A listing without order returns this one name.
fn returns(machine: &mut Machine, name: &str) {
    let (_, branch) = pattern(machine, 1);
    let entry = Entry { name: name.into(), inode: 0, kind: None };
    machine.fs = branch.settle(&Outcome::Entries(vec![entry]));
}

fn unlink(machine: &mut Machine, path: &str) {
    assert_eq!(machine.root(Operation::Unlink { path: path.into() }), DONE);
}

// spec: FS-DIR-1, FS-DIR-2
#[test]
fn entries_come_in_the_order_in_which_they_were_made() {
    let mut machine = with_files(Profile::agentfs(), &["c", "a", "b"]);
    assert_eq!(next(&mut machine, 2), ["c", "a"]);
    assert_eq!(next(&mut machine, 2), ["b"]);
    assert_eq!(next(&mut machine, 2), [""; 0]);
}

// spec: FS-DIR-3, FS-DIR-4, FS-DIR-5
#[test]
fn a_listing_skips_and_repeats_nothing_that_stays() {
    let mut machine = with_files(Profile::agentfs(), &["a", "b", "c", "d"]);
    assert_eq!(next(&mut machine, 2), ["a", "b"]);
    unlink(&mut machine, "a");
    unlink(&mut machine, "b");
    unlink(&mut machine, "d");
    machine.file("a", "");
    assert_eq!(next(&mut machine, 9), ["c", "a"]);
}

// spec: FS-RENAME-7, FS-DIR-3
#[test]
fn a_name_that_is_replaced_keeps_its_place() {
    let mut machine = with_files(Profile::agentfs(), &["a", "b", "c"]);
    assert_eq!(next(&mut machine, 1), ["a"]);
    // "a" is there throughout and was returned, "c" is gone; "b" has not been.
    assert_eq!(machine.rename("c", "a", RenameFlags::empty()), DONE);
    assert_eq!(next(&mut machine, 9), ["b"]);
    // An entry that gets another name is the same entry.
    assert_eq!(machine.rename("a", "z", RenameFlags::empty()), DONE);
    assert_eq!(next(&mut machine, 9), [""; 0]);
}

// spec: FS-RENAME-7
#[test]
fn names_that_are_exchanged_keep_their_places() {
    let mut machine = with_files(Profile::agentfs(), &["a", "b", "c"]);
    assert_eq!(next(&mut machine, 1), ["a"]);
    assert_eq!(machine.rename("a", "c", RenameFlags::EXCHANGE), DONE);
    assert_eq!(next(&mut machine, 9), ["b", "c"]);
}

// spec: FS-DIR-3, FS-DIR-5
#[test]
fn without_an_order_what_came_later_may_be_returned_and_what_stays_must() {
    let mut machine = with_files(Profile::linux(), &["a", "b", "c"]);
    returns(&mut machine, "b");
    machine.file("d", "");
    unlink(&mut machine, "a");
    assert_eq!(machine.rename("d", "b", RenameFlags::empty()), DONE);
    let (pattern, _) = pattern(&machine, 1);
    assert_eq!((names(&pattern.due), names(&pattern.possible)), (vec!["c".to_owned()], vec!["b".to_owned()]));
}

// spec: MNT-43
#[test]
fn a_listing_that_need_not_follow_changes_may_show_entries_as_they_were() {
    let mut machine = with_files(Profile::mount(), &["a", "b", "c", "d"]);
    returns(&mut machine, "a");
    unlink(&mut machine, "b");
    assert_eq!(machine.rename("c", "e", RenameFlags::empty()), DONE);
    let shown = |machine: &Machine| {
        let (pattern, _) = pattern(machine, 9);
        (names(&pattern.due).join(" "), names(&pattern.possible).join(" "))
    };
    assert_eq!(shown(&machine), ("d".to_owned(), "e b c".to_owned()));
    returns(&mut machine, "c");
    assert_eq!(shown(&machine), ("d".to_owned(), "b".to_owned()));
    // From the beginning it is a new listing.
    assert_eq!(machine.root(Operation::Seekdir { handle: Handle(1), after: 0 }), DONE);
    assert_eq!(shown(&machine), ("a e d".to_owned(), String::new()));
}

// spec: FS-DIR-7
#[test]
fn only_a_directory_is_listed_and_to_read_it_is_a_read() {
    let mut machine = with_files(Profile::agentfs(), &["a"]);
    machine.open("a", OpenFlags::READ, 2);
    let readdir = |handle| Operation::Readdir { handle: Handle(handle), count: 1 };
    assert_eq!(machine.root(readdir(2)), refused(Errno::ENOTDIR));
    machine.root(readdir(1));
    assert_eq!(machine.lstat("/").atime, at(machine.seconds - 1));
    machine.chmod("/", 0o711);
    assert_eq!(machine.open_by(1, "/", OpenFlags::READ, 1), refused(Errno::EACCES));
}
