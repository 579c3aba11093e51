//! Names, paths, links and renames.

use agentfs_model::Errno;
use agentfs_model::call::{Operation, RenameFlags};
use agentfs_model::outcome::Expected;

use crate::machine::{DONE, Machine, path, refused};

#[test]
fn a_directory_is_not_moved_below_itself() {
    let mut machine = Machine::new();
    machine.mkdir("a");
    machine.mkdir("a/b");
    assert_eq!(machine.rename("a", "a/b/c", RenameFlags::empty()), refused(Errno::EINVAL));
    assert_eq!(machine.rename("a/b", "a", RenameFlags::empty()), refused(Errno::ENOTEMPTY));
}

#[test]
fn link_counts_of_directories_follow_an_exchange() {
    let mut machine = Machine::new();
    machine.mkdir("a");
    machine.mkdir("a/b");
    machine.file("f", "");
    let mut links = |of: &str| machine.lstat(of).links.unwrap();
    assert_eq!((links("/"), links("a")), (3, 3));
    assert_eq!(machine.rename("a/b", "f", RenameFlags::EXCHANGE), DONE);
    let mut links = |of: &str| machine.lstat(of).links.unwrap();
    assert_eq!((links("/"), links("a")), (4, 2));
}

#[test]
fn the_forty_first_symlink_is_eloop() {
    let mut machine = Machine::new();
    machine.file("l0", "");
    for number in 1..=41 {
        machine.symlink(&format!("l{}", number - 1), &format!("l{number}"));
    }
    let mut stat = |of: &str| machine.root(Operation::Stat { object: path(of) });
    assert!(matches!(stat("l40"), Expected::Status(_)));
    assert_eq!(stat("l41"), refused(Errno::ELOOP));
}
