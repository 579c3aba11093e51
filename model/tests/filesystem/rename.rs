//! rename in all its forms.

use agentfs_model::Errno;
use agentfs_model::call::{OpenFlags, Operation, RenameFlags};
use agentfs_model::values::FileKind;

use crate::machine::{DONE, Machine, at, data, refused};

const PLAIN: RenameFlags = RenameFlags::empty();
const EXCHANGE: RenameFlags = RenameFlags::EXCHANGE;
const NOREPLACE: RenameFlags = RenameFlags::NOREPLACE;

fn is_there(machine: &Machine, name: &str) -> bool {
    machine.fs.tree().iter().any(|object| object.path == name.into())
}

// spec: FS-RENAME-1, FS-RENAME-8, FS-RENAME-9
#[test]
fn a_rename_moves_the_entry_and_takes_what_the_new_name_named() {
    let mut machine = Machine::new();
    machine.file("a", "one");
    machine.file("b", "two");
    machine.open("b", OpenFlags::READ, 1);
    let moved = machine.lstat("a").inode;
    assert_eq!(machine.rename("a", "b", PLAIN), DONE);
    assert!(!is_there(&machine, "a"));
    assert_eq!(machine.lstat("b").inode, moved);
    assert_eq!(machine.read(1, 9), data("two"));
    machine.close(1);
    assert_eq!(machine.fs.inodes().len(), 2);
}

// spec: FS-RENAME-2, FS-RENAME-6
#[test]
fn a_directory_takes_the_place_of_an_empty_one_and_of_nothing_else() {
    let mut machine = Machine::new();
    for directory in ["a", "b", "c"] {
        machine.mkdir(directory);
    }
    machine.file("c/f", "");
    machine.file("f", "");
    assert_eq!(machine.rename("a", "c", PLAIN), refused(Errno::ENOTEMPTY));
    assert_eq!(machine.rename("a", "f", PLAIN), refused(Errno::ENOTDIR));
    assert_eq!(machine.rename("f", "a", PLAIN), refused(Errno::EISDIR));
    assert_eq!(machine.rename("a", "b", PLAIN), DONE);
    assert_eq!(machine.rename("c", "b", PLAIN), DONE);
    assert!(is_there(&machine, "b/f"));
}

// spec: FS-RENAME-3
#[test]
fn renaming_one_name_of_an_inode_to_another_changes_nothing_for_anyone() {
    let mut machine = Machine::new();
    machine.file("a", "");
    machine.root(Operation::Link { from: "a".into(), to: "b".into(), follow: false });
    machine.chmod("/", 0o555);
    let before = machine.fs.clone();
    let rename = |flags| Operation::Rename { from: "a".into(), to: "b".into(), flags };
    for flags in [PLAIN, EXCHANGE] {
        assert_eq!(machine.by(1, rename(flags)), DONE);
    }
    assert_eq!(machine.by(1, rename(NOREPLACE)), refused(Errno::EEXIST));
    assert_eq!(machine.fs, before);
}

// spec: FS-RENAME-4, FS-RENAME-6
#[test]
fn noreplace_takes_no_name_and_exchange_needs_both() {
    let mut machine = Machine::new();
    machine.file("a", "");
    machine.mkdir("b");
    assert_eq!(machine.rename("a", "b", NOREPLACE), refused(Errno::EEXIST));
    assert_eq!(machine.rename("a", "c", EXCHANGE), refused(Errno::ENOENT));
    assert_eq!(machine.rename("a", "c", NOREPLACE), DONE);
    assert_eq!(machine.rename("c", "b", NOREPLACE | EXCHANGE), refused(Errno::EINVAL));
    // What is wrong with the flags comes before everything.
    assert_eq!(machine.rename("nothing", "", NOREPLACE | EXCHANGE), refused(Errno::EINVAL));
}

// spec: FS-RENAME-5, FS-NLINK-1, FS-NLINK-2
#[test]
fn an_exchange_swaps_what_two_names_name_and_link_counts_follow() {
    let mut machine = Machine::new();
    machine.mkdir("a");
    machine.mkdir("a/b");
    machine.file("f", "");
    let links = |machine: &mut Machine, of: &str| machine.lstat(of).links.unwrap();
    assert_eq!((links(&mut machine, "/"), links(&mut machine, "a")), (3, 3));
    assert_eq!(machine.rename("a/b", "f", EXCHANGE), DONE);
    assert_eq!(
        (machine.lstat("a/b").kind, machine.lstat("f").kind),
        (FileKind::Regular, FileKind::Directory)
    );
    assert_eq!((links(&mut machine, "/"), links(&mut machine, "a")), (4, 2));
}

// spec: FS-RENAME-6
#[test]
fn a_directory_is_not_moved_below_itself_nor_onto_what_it_is_in() {
    let mut machine = Machine::new();
    machine.mkdir("a");
    machine.mkdir("a/b");
    assert_eq!(machine.rename("a", "a/b/c", PLAIN), refused(Errno::EINVAL));
    assert_eq!(machine.rename("a/b", "a", PLAIN), refused(Errno::ENOTEMPTY));
    for (one, other) in [("a", "a/b"), ("a/b", "a")] {
        assert_eq!(machine.rename(one, other, EXCHANGE), refused(Errno::EINVAL));
    }
    assert_eq!(machine.rename("nothing", "a/b/c", PLAIN), refused(Errno::ENOENT));
}

// spec: FS-RENAME-6, FS-PERM-3, FS-PERM-4, FS-PERM-5
#[test]
fn a_rename_needs_both_directories_and_a_moved_directory_itself() {
    let mut machine = Machine::new();
    for directory in ["from", "to", "from/d"] {
        machine.mkdir(directory);
        machine.chmod(directory, 0o777);
    }
    machine.file("from/f", "");
    let rename = |from: &str, to: &str| Operation::Rename { from: from.into(), to: to.into(), flags: PLAIN };
    machine.chmod("from", 0o755);
    assert_eq!(machine.by(1, rename("from/f", "to/f")), refused(Errno::EACCES));
    machine.chmod("from", 0o1777);
    assert_eq!(machine.by(1, rename("from/f", "to/f")), refused(Errno::EPERM));
    machine.chmod("from", 0o777);
    machine.chmod("to", 0o755);
    assert_eq!(machine.by(1, rename("from/f", "to/f")), refused(Errno::EACCES));
    machine.chmod("to", 0o777);
    assert_eq!(machine.by(1, rename("from/f", "to/f")), DONE);
    machine.chmod("from/d", 0o755);
    assert_eq!(machine.by(1, rename("from/d", "to/d")), refused(Errno::EACCES));
    assert_eq!(machine.by(1, rename("from/d", "from/e")), DONE);
}

// spec: FS-TIME-3, FS-RENAME-8
#[test]
fn a_rename_touches_both_directories_and_the_change_times_of_what_it_moved_and_replaced() {
    let mut machine = Machine::new();
    for directory in ["from", "to"] {
        machine.mkdir(directory);
    }
    machine.file("from/f", "");
    machine.file("to/f", "");
    machine.open("to/f", OpenFlags::READ, 1);
    let modified = machine.lstat("from/f").mtime;
    assert_eq!(machine.rename("from/f", "to/f", PLAIN), DONE);
    let now = at(machine.seconds);
    for directory in ["from", "to"] {
        let status = machine.lstat(directory);
        assert_eq!((status.mtime, status.ctime), (now, now));
    }
    let moved = machine.lstat("to/f");
    assert_eq!((moved.mtime, moved.ctime), (modified, now));
    assert_eq!(machine.status(crate::machine::by_handle(1)).ctime, now);
}
