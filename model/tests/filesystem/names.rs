//! Names, links and what is made and removed.

use agentfs_model::Errno;
use agentfs_model::bytes::Bytes;
use agentfs_model::call::{OpenFlags, Operation};
use agentfs_model::outcome::{Expected, Outcome};
use agentfs_model::values::{FileKind, Handle};

use crate::machine::{DONE, Machine, at, refused};

fn unlink(path: &str) -> Operation {
    Operation::Unlink { path: path.into() }
}

fn rmdir(path: &str) -> Operation {
    Operation::Rmdir { path: path.into() }
}

fn link(from: &str, to: &str) -> Operation {
    Operation::Link { from: from.into(), to: to.into(), follow: false }
}

fn mknod(path: &str, kind: FileKind, rdev: u32) -> Operation {
    Operation::Mknod { path: path.into(), kind, mode: 0o644, rdev }
}

// spec: FS-NAME-1, FS-NAME-2
#[test]
fn a_name_has_at_most_255_bytes_of_any_kind() {
    let mut machine = Machine::new();
    let longest = "x".repeat(255);
    assert_eq!(machine.mkdir(&longest), DONE);
    assert_eq!(machine.mkdir(&format!("{longest}x")), refused(Errno::ENAMETOOLONG));
    let odd = Bytes(vec![0xff, b'\\', b'\n']);
    let place = agentfs_model::call::Place { path: odd, at: None };
    assert_eq!(machine.root(Operation::Mkdir { path: place, mode: 0o755 }), DONE);
}

// spec: FS-NAME-3, FS-LOOKUP-4, FS-CREATE-7
#[test]
fn a_symlink_keeps_its_target_as_it_was_given() {
    let mut machine = Machine::new();
    let symlink = |target: Bytes| Operation::Symlink { target, path: "l".into() };
    assert_eq!(machine.root(symlink("".into())), refused(Errno::ENOENT));
    assert_eq!(machine.root(symlink(Bytes::repeated(b'x', 4096))), refused(Errno::ENAMETOOLONG));
    assert_eq!(machine.root(symlink("no//where/".into())), DONE);
    let readlink = |path: &str| Operation::Readlink { path: path.into() };
    let target = Expected::Exactly(Outcome::Target("no//where/".into()));
    assert_eq!(machine.root(readlink("l")), target);
    assert_eq!(machine.root(readlink("/")), refused(Errno::EINVAL));
    let status = machine.lstat("l");
    assert_eq!((status.permissions, status.size), (0o777, Some(10)));
}

// spec: FS-CREATE-1, FS-CREATE-3, FS-CREATE-6, FS-CREATE-8
#[test]
fn mknod_makes_what_is_asked_for_but_neither_directories_nor_symlinks() {
    let mut machine = Machine::new();
    assert_eq!(machine.root(mknod("x", FileKind::Directory, 0)), refused(Errno::EPERM));
    assert_eq!(machine.root(mknod("x", FileKind::Symlink, 0)), refused(Errno::EINVAL));
    for kind in [FileKind::Regular, FileKind::Fifo, FileKind::Socket, FileKind::BlockDevice] {
        assert_eq!(machine.root(mknod("x", kind, 0x0102)), DONE);
        assert_eq!(machine.root(mknod("x", kind, 0)), refused(Errno::EEXIST));
        let status = machine.lstat("x");
        let rdev = if kind == FileKind::BlockDevice { 0x0102 } else { 0 };
        assert_eq!((status.kind, status.links, status.rdev), (kind, Some(1), rdev));
        assert_eq!(machine.root(unlink("x")), DONE);
    }
}

// spec: FS-CREATE-3, FS-CREATE-4
#[test]
fn devices_are_for_user_0_but_for_the_character_device_with_number_0() {
    let mut machine = Machine::new();
    assert_eq!(machine.by(1, mknod("c", FileKind::CharDevice, 1)), refused(Errno::EPERM));
    assert_eq!(machine.by(1, mknod("b", FileKind::BlockDevice, 0)), refused(Errno::EPERM));
    assert_eq!(machine.by(1, mknod("c", FileKind::CharDevice, 0)), DONE);
    machine.chmod("/", 0o755);
    // Permission on the directory comes before.
    assert_eq!(machine.by(1, mknod("d", FileKind::CharDevice, 1)), refused(Errno::EACCES));
    assert_eq!(machine.by(1, mknod("c", FileKind::CharDevice, 1)), refused(Errno::EEXIST));
}

// spec: FS-LINK-1, FS-LINK-2, FS-NLINK-2
#[test]
fn a_link_is_another_name_and_directories_get_none() {
    let mut machine = Machine::new();
    machine.file("f", "bytes");
    machine.mkdir("d");
    machine.symlink("f", "l");
    assert_eq!(machine.root(link("f", "g")), DONE);
    assert_eq!(machine.lstat("f").inode, machine.lstat("g").inode);
    assert_eq!(machine.lstat("g").links, Some(2));
    assert_eq!(machine.root(link("l", "m")), DONE);
    assert_eq!(machine.lstat("m").kind, FileKind::Symlink);
    assert_eq!(machine.root(link("f", "d")), refused(Errno::EEXIST));
    assert_eq!(machine.root(link("d", "e")), refused(Errno::EPERM));
    machine.chmod("/", 0o755);
    assert_eq!(machine.by(1, link("d", "e")), refused(Errno::EACCES));
}

// spec: FS-LINK-2, FS-REAP-1
#[test]
fn what_has_no_name_left_gets_none() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.open("f", OpenFlags::READ, 1);
    let name = |to: &str| Operation::LinkHandle { handle: Handle(1), to: to.into() };
    assert_eq!(machine.root(name("g")), DONE);
    assert_eq!((machine.root(unlink("f")), machine.root(unlink("g"))), (DONE, DONE));
    assert_eq!(machine.root(name("h")), refused(Errno::ENOENT));
}

// spec: FS-UNLINK-1, FS-UNLINK-2, FS-UNLINK-3
#[test]
fn unlink_takes_one_name_and_no_directory() {
    let mut machine = Machine::new();
    machine.file("f", "bytes");
    machine.root(link("f", "g"));
    assert_eq!(machine.root(unlink("f")), DONE);
    assert_eq!((machine.lstat("g").links, machine.lstat("g").size), (Some(1), Some(5)));
    assert_eq!(machine.root(unlink("f")), refused(Errno::ENOENT));
    machine.mkdir("d");
    assert_eq!(machine.root(unlink("d")), refused(Errno::EISDIR));
    machine.chmod("/", 0o755);
    assert_eq!(machine.by(1, unlink("d")), refused(Errno::EACCES));
    machine.chmod("/", 0o1777);
    assert_eq!(machine.by(1, unlink("d")), refused(Errno::EPERM));
}

// spec: FS-RMDIR-1, FS-RMDIR-2, FS-LOOKUP-2, FS-NLINK-2
#[test]
fn a_removed_directory_that_is_open_is_empty_for_ever() {
    let mut machine = Machine::new();
    machine.mkdir("d");
    machine.file("d/f", "");
    assert_eq!(machine.root(rmdir("d/f")), refused(Errno::ENOTDIR));
    assert_eq!(machine.root(rmdir("d")), refused(Errno::ENOTEMPTY));
    machine.root(unlink("d/f"));
    machine.open("d", OpenFlags::READ, 1);
    assert_eq!(machine.root(rmdir("d")), DONE);
    assert_eq!(machine.status(crate::machine::by_handle(1)).links, Some(0));
    let inside = agentfs_model::call::Place { path: "f".into(), at: Some(Handle(1)) };
    assert_eq!(machine.root(Operation::Mkdir { path: inside, mode: 0o755 }), refused(Errno::ENOENT));
    machine.close(1);
    assert_eq!(machine.fs.inodes().len(), 1);
}

// spec: FS-RMDIR-3
#[test]
fn any_entry_makes_a_directory_not_empty() {
    for kind in [FileKind::Regular, FileKind::Fifo, FileKind::Socket, FileKind::CharDevice] {
        let mut machine = Machine::new();
        machine.mkdir("d");
        machine.root(mknod("d/x", kind, 0));
        assert_eq!(machine.root(rmdir("d")), refused(Errno::ENOTEMPTY), "{kind:?}");
    }
}

// spec: FS-TIME-2, FS-TIME-3
#[test]
fn making_linking_and_removing_touch_the_inode_and_its_directory() {
    let mut machine = Machine::new();
    machine.mkdir("d");
    machine.root(mknod("d/f", FileKind::Regular, 0));
    let (directory, file) = (machine.lstat("d"), machine.lstat("d/f"));
    assert_eq!((directory.atime, directory.mtime, directory.ctime), (at(1), at(2), at(2)));
    assert_eq!((file.atime, file.mtime, file.ctime), (at(2), at(2), at(2)));
    machine.root(link("d/f", "d/g"));
    let linked = at(machine.seconds);
    let (directory, file) = (machine.lstat("d"), machine.lstat("d/f"));
    assert_eq!((directory.mtime, directory.ctime), (linked, linked));
    assert_eq!((file.mtime, file.ctime), (at(2), linked));
    machine.root(unlink("d/f"));
    let removed = at(machine.seconds);
    let (directory, file) = (machine.lstat("d"), machine.lstat("d/g"));
    assert_eq!((directory.mtime, directory.ctime), (removed, removed));
    assert_eq!((file.mtime, file.ctime), (at(2), removed));
}
