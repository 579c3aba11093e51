//! What stat shows, times that are set, and extended attributes.

use agentfs_model::Errno;
use agentfs_model::bytes::Bytes;
use agentfs_model::call::{Object, OpenFlags, Operation, TimeChange, XattrMode};
use agentfs_model::outcome::{Expected, Outcome};
use agentfs_model::values::{FileKind, Time, Timestamp};

use crate::machine::{DONE, Machine, at, by_handle, path, refused};

const EARLY: Timestamp = Timestamp { seconds: -1, nanoseconds: 999_999_999 };

fn utimens(object: &str, atime: TimeChange, mtime: TimeChange) -> Operation {
    Operation::Utimens { object: path(object), atime, mtime }
}

fn set(object: Object, name: &str, value: &str, mode: XattrMode) -> Operation {
    Operation::Setxattr { object, name: name.into(), value: value.into(), mode }
}

fn get(object: &str, name: &str) -> Operation {
    Operation::Getxattr { object: path(object), name: name.into() }
}

fn remove(object: &str, name: &str) -> Operation {
    Operation::Removexattr { object: path(object), name: name.into() }
}

fn value(bytes: &str) -> Expected {
    Expected::Exactly(Outcome::Value(bytes.into()))
}

// spec: FS-ATTR-1, FS-ATTR-2, FS-ATTR-3, FS-NLINK-2
#[test]
fn stat_shows_each_kind_as_it_is() {
    let mut machine = Machine::new();
    machine.mkdir("d");
    machine.file("d/f", "bytes");
    machine.symlink("d/f", "l");
    machine.root(Operation::Mknod { path: "p".into(), kind: FileKind::Fifo, mode: 0o600, rdev: 0 });
    let mut shown = |of: &str| {
        let status = machine.lstat(of);
        (status.kind, status.size.unwrap(), status.blocks.unwrap(), status.links.unwrap())
    };
    assert_eq!(shown("/"), (FileKind::Directory, 4096, 8, 3));
    assert_eq!(shown("d/f"), (FileKind::Regular, 5, 1, 1));
    assert_eq!(shown("l"), (FileKind::Symlink, 3, 0, 1));
    assert_eq!(shown("p"), (FileKind::Fifo, 0, 0, 1));
}

// spec: FS-ATTR-7, FS-ATTR-8, FS-ATTR-9, FS-TIME-3
#[test]
fn the_owner_sets_any_time_and_a_writer_the_present_alone() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.chmod("f", 0o646);
    let (now, omit, early) = (TimeChange::Now, TimeChange::Omit, TimeChange::At(EARLY));
    for (atime, mtime) in [(now, omit), (omit, now), (early, now), (early, early)] {
        assert_eq!(machine.by(1, utimens("f", atime, mtime)), refused(Errno::EPERM));
    }
    assert_eq!(machine.by(1, utimens("f", now, now)), DONE);
    machine.chmod("f", 0o644);
    assert_eq!(machine.by(1, utimens("f", now, now)), refused(Errno::EACCES));
    assert_eq!(machine.root(utimens("f", early, omit)), DONE);
    let status = machine.lstat("f");
    assert_eq!(
        (status.atime, status.mtime, status.ctime),
        (Time::At(EARLY), at(5 + 4), at(machine.seconds - 1))
    );
}

// spec: FS-ATTR-7
#[test]
fn too_many_nanoseconds_are_found_after_the_path_and_before_the_permission() {
    let mut machine = Machine::new();
    machine.file("f", "");
    let late = TimeChange::At(Timestamp { seconds: 0, nanoseconds: 1_000_000_000 });
    assert_eq!(machine.root(utimens("nothing", late, late)), refused(Errno::ENOENT));
    assert_eq!(machine.by(1, utimens("f", late, TimeChange::Omit)), refused(Errno::EINVAL));
}

// spec: FS-ATTR-5, FS-ATTR-6, FS-TIME-3
#[test]
fn a_change_of_attributes_sets_the_change_time_alone() {
    let mut machine = Machine::new();
    machine.file("f", "");
    let before = machine.lstat("f");
    let chown = Operation::Chown { object: path("f"), uid: None, gid: None };
    let chmod = Operation::Chmod { object: path("f"), mode: 0o600 };
    let xattr = set(path("f"), "user.a", "1", XattrMode::Set);
    for operation in [chown, chmod, xattr, remove("f", "user.a")] {
        assert_eq!(machine.root(operation), DONE);
        let now = at(machine.seconds);
        let status = machine.lstat("f");
        assert_eq!((status.atime, status.mtime, status.ctime), (before.atime, before.mtime, now));
    }
}

// spec: FS-TRUNC-4, FS-ATTR-7
#[test]
fn only_a_regular_file_has_a_size_to_set() {
    let mut machine = Machine::new();
    machine.root(Operation::Mknod { path: "p".into(), kind: FileKind::Fifo, mode: 0o600, rdev: 0 });
    let cut = |of: &str| Operation::Truncate { object: path(of), size: 0 };
    assert_eq!(machine.by(1, cut("/")), refused(Errno::EISDIR));
    assert_eq!(machine.by(1, cut("p")), refused(Errno::EINVAL));
}

// spec: FS-XATTR-6, FS-XATTR-8, FS-XATTR-10
#[test]
fn an_attribute_belongs_to_the_inode() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.root(Operation::Link { from: "f".into(), to: "g".into(), follow: false });
    assert_eq!(machine.root(set(path("f"), "user.a", "1", XattrMode::Replace)), refused(Errno::ENODATA));
    assert_eq!(machine.root(set(path("f"), "user.a", "1", XattrMode::Create)), DONE);
    assert_eq!(machine.root(set(path("g"), "user.a", "2", XattrMode::Create)), refused(Errno::EEXIST));
    assert_eq!(machine.root(set(path("g"), "user.a", "2", XattrMode::Set)), DONE);
    machine.root(Operation::Unlink { path: "f".into() });
    assert_eq!(machine.root(get("g", "user.a")), value("2"));
    assert_eq!(machine.root(remove("g", "user.b")), refused(Errno::ENODATA));
    assert_eq!(machine.root(remove("g", "user.a")), DONE);
    assert_eq!(machine.root(get("g", "user.a")), refused(Errno::ENODATA));
}

// spec: FS-XATTR-1, FS-XATTR-2, FS-XATTR-7
#[test]
fn what_is_wrong_with_an_attribute_is_found_in_the_order_of_the_kernel() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.chmod("f", 0o600);
    let long = format!("user.{}", "x".repeat(251));
    let mut set = |by, object: Object, name: &str, size| {
        let value = Bytes::repeated(b'x', size);
        machine.by(by, Operation::Setxattr { object, name: name.into(), value, mode: XattrMode::Set })
    };
    assert_eq!(set(0, by_handle(9), &long, 1), refused(Errno::ERANGE));
    assert_eq!(set(0, path("nothing"), "", 1), refused(Errno::ERANGE));
    assert_eq!(set(0, path("nothing"), "user.a", 65537), refused(Errno::E2BIG));
    assert_eq!(set(0, path("f"), &long[..255], 65536), DONE);
    assert_eq!(set(1, path("f"), "system.a", 1), refused(Errno::EOPNOTSUPP));
    assert_eq!(set(1, path("f"), "other.a", 1), refused(Errno::EACCES));
    assert_eq!(set(0, path("f"), "other.a", 1), refused(Errno::EOPNOTSUPP));
    assert_eq!(set(1, path("f"), "user.", 1), refused(Errno::EACCES));
    assert_eq!(set(0, path("f"), "user.", 1), refused(Errno::EINVAL));
}

// spec: FS-XATTR-3, FS-XATTR-4
#[test]
fn user_attributes_are_for_files_and_directories_and_whoever_may_read_and_write_them() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.symlink("f", "l");
    let link = || Object::Path { path: "l".into(), follow: false };
    assert_eq!(machine.root(set(link(), "user.a", "1", XattrMode::Set)), refused(Errno::EPERM));
    let of_link = Operation::Getxattr { object: link(), name: "user.a".into() };
    assert_eq!(machine.root(of_link), refused(Errno::ENODATA));
    machine.chmod("f", 0o602);
    assert_eq!(machine.by(1, set(path("f"), "user.a", "1", XattrMode::Set)), DONE);
    assert_eq!(machine.by(1, get("f", "user.a")), refused(Errno::EACCES));
    machine.chmod("f", 0o604);
    assert_eq!(machine.by(1, get("f", "user.a")), value("1"));
    assert_eq!(machine.by(1, remove("f", "user.a")), refused(Errno::EACCES));
    machine.mkdir("d");
    machine.chmod("d", 0o1777);
    assert_eq!(machine.by(1, set(path("d"), "user.a", "1", XattrMode::Set)), refused(Errno::EPERM));
}

// spec: FS-XATTR-5, FS-XATTR-8
#[test]
fn trusted_attributes_do_not_exist_for_others_and_security_ones_are_only_read() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.chmod("f", 0o666);
    for name in ["trusted.a", "security.a", "user.a"] {
        assert_eq!(machine.root(set(path("f"), name, "1", XattrMode::Set)), DONE);
    }
    assert_eq!(machine.by(1, get("f", "trusted.a")), refused(Errno::ENODATA));
    assert_eq!(machine.by(1, set(path("f"), "trusted.a", "2", XattrMode::Set)), refused(Errno::EPERM));
    assert_eq!(machine.by(1, get("f", "security.a")), value("1"));
    assert_eq!(machine.by(1, remove("f", "security.a")), refused(Errno::EPERM));
    machine.chmod("f", 0);
    let list = || Operation::Listxattr { object: path("f") };
    let names = |names: &[&str]| {
        Expected::Exactly(Outcome::Names(names.iter().map(|name| Bytes::from(*name)).collect()))
    };
    assert_eq!(machine.by(1, list()), names(&["security.a", "user.a"]));
    assert_eq!(machine.root(list()), names(&["security.a", "trusted.a", "user.a"]));
}

// spec: FS-XATTR-9
#[test]
fn the_names_of_an_inode_fit_into_one_list() {
    let mut machine = Machine::new();
    let name = |number: u32| format!("user.{number:0250}");
    for number in 0..256 {
        assert_eq!(machine.root(set(path("/"), &name(number), "", XattrMode::Set)), DONE);
    }
    assert_eq!(machine.root(set(path("/"), "user.a", "", XattrMode::Set)), refused(Errno::ENOSPC));
    assert_eq!(machine.root(set(path("/"), &name(0), "1", XattrMode::Set)), DONE);
}

// spec: FS-XATTR-11
#[test]
fn capabilities_go_with_a_change_of_content_or_owner() {
    let chown = Operation::Chown { object: path("f"), uid: Some(1), gid: None };
    let cut = Operation::Truncate { object: path("f"), size: 0 };
    for operation in [chown, cut] {
        let mut machine = Machine::new();
        machine.file("f", "x");
        machine.open("f", OpenFlags::READ, 1);
        machine.root(set(path("f"), "security.capability", "", XattrMode::Set));
        assert_eq!(machine.root(operation), DONE);
        assert_eq!(machine.root(get("f", "security.capability")), refused(Errno::ENODATA));
    }
}
