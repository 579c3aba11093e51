//! Who may do what, and what belongs to whom.

use agentfs_model::Errno;
use agentfs_model::call::{AccessMode, Object, OpenFlags, Operation};
use agentfs_model::outcome::Expected;
use agentfs_model::values::{Credentials, Handle};

use crate::machine::{DONE, Machine, count, path, refused};

fn mkdir(path: &str) -> Operation {
    Operation::Mkdir { path: path.into(), mode: 0o777 }
}

fn chown(object: &str, uid: Option<u32>, gid: Option<u32>) -> Operation {
    Operation::Chown { object: path(object), uid, gid }
}

fn permissions(machine: &mut Machine, of: &str) -> u32 {
    machine.lstat(of).permissions
}

// spec: FS-PERM-1
#[test]
fn exactly_one_set_of_bits_applies() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.chown("f", 1000);
    machine.chmod("f", 0o047);
    assert_eq!(machine.open_by(1, "f", OpenFlags::READ, 1), refused(Errno::EACCES));
    assert_eq!(machine.open_by(2, "f", OpenFlags::READ | OpenFlags::WRITE, 1), DONE);
    machine.root(chown("f", Some(0), None));
    assert_eq!(machine.open_by(1, "f", OpenFlags::READ, 1), DONE);
    assert_eq!(machine.open_by(1, "f", OpenFlags::WRITE, 2), refused(Errno::EACCES));
}

// spec: FS-PERM-2, FS-ATTR-11
#[test]
fn user_0_executes_only_what_somebody_may_execute() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.mkdir("d");
    for of in ["f", "d"] {
        machine.chmod(of, 0);
    }
    let access = |of: &str, mode| Operation::Access { path: of.into(), mode };
    assert_eq!(machine.root(access("f", AccessMode::READ | AccessMode::WRITE)), DONE);
    assert_eq!(machine.root(access("f", AccessMode::EXECUTE)), refused(Errno::EACCES));
    assert_eq!(machine.root(access("d", AccessMode::EXECUTE)), DONE);
    machine.chmod("f", 0o001);
    assert_eq!(machine.root(access("f", AccessMode::EXECUTE)), DONE);
    assert_eq!(machine.by(1, access("f", AccessMode::empty())), DONE);
}

// spec: FS-PERM-3
#[test]
fn entries_need_write_and_search_permission_on_the_directory() {
    for (mode, allowed) in [(0o777, true), (0o773, true), (0o775, false), (0o772, false)] {
        let mut machine = Machine::new();
        machine.mkdir("d");
        machine.chmod("d", mode);
        let expected = if allowed { DONE } else { refused(Errno::EACCES) };
        assert_eq!(machine.by(1, mkdir("d/x")), expected, "{mode:o}");
    }
}

// spec: FS-PERM-4
#[test]
fn from_a_sticky_directory_the_owners_alone_take() {
    let mut machine = Machine::new();
    machine.mkdir("d");
    machine.chmod("d", 0o1777);
    let unlink = || Operation::Unlink { path: "d/f".into() };
    for (owner_of_directory, owner_of_file, allowed) in [(0, 0, false), (1000, 0, true), (0, 1000, true)] {
        machine.file("d/f", "");
        machine.chown("d", owner_of_directory);
        machine.chown("d/f", owner_of_file);
        let expected = if allowed { DONE } else { refused(Errno::EPERM) };
        assert_eq!(machine.by(1, unlink()), expected);
        if !allowed {
            assert_eq!(machine.root(unlink()), DONE);
        }
    }
}

// spec: FS-PERM-6, FS-PERM-7, FS-PERM-14, FS-CREATE-5
#[test]
fn what_is_created_takes_its_owner_group_and_mode_from_the_caller_and_the_directory() {
    let mut machine = Machine::new();
    machine.mkdir("d");
    machine.root(chown("d", None, Some(7)));
    machine.chmod("d", 0o2777);
    let create = |path: &str, mode, handle| {
        let flags = OpenFlags::CREATE | OpenFlags::WRITE;
        Operation::Open { path: path.into(), flags, mode, handle: Handle(handle) }
    };
    machine.by(1, Operation::Umask { mask: 0o027 });
    machine.by(1, create("f", 0o7777, 1));
    machine.by(1, create("d/f", 0o6777, 2));
    machine.by(1, create("d/g", 0o2707, 3));
    machine.root(create("d/h", 0o2777, 4));
    machine.by(1, Operation::Mkdir { path: "d/d".into(), mode: 0o7777 });
    machine.by(1, Operation::Symlink { target: "x".into(), path: "d/l".into() });
    let mut shown = |of: &str| {
        let status = machine.lstat(of);
        (status.uid, status.gid, status.permissions)
    };
    assert_eq!(shown("f"), (1000, 1000, 0o7750));
    // Not a member of the directory's group, and the group may execute.
    assert_eq!(shown("d/f"), (1000, 7, 0o4750));
    assert_eq!(shown("d/g"), (1000, 7, 0o2700));
    assert_eq!(shown("d/h"), (0, 7, 0o2755));
    assert_eq!(shown("d/d"), (1000, 7, 0o3750));
    assert_eq!(shown("d/l"), (1000, 7, 0o777));
}

// spec: FS-PERM-8, FS-PERM-9
#[test]
fn the_owner_gives_a_file_to_nobody_and_to_groups_it_is_in() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.root(chown("f", Some(1000), Some(7)));
    assert_eq!(machine.by(1, chown("f", Some(2000), None)), refused(Errno::EPERM));
    assert_eq!(machine.by(1, chown("f", Some(1000), Some(7))), DONE);
    assert_eq!(machine.by(1, chown("f", None, Some(2000))), refused(Errno::EPERM));
    assert_eq!(machine.by(1, chown("f", None, Some(1000))), DONE);
    assert_eq!(machine.by(2, chown("f", Some(1000), None)), refused(Errno::EPERM));
    let credentials = Credentials { uid: 1, gid: 1, groups: vec![7] };
    assert!(credentials.is_member(7) && !credentials.is_member(8));
}

// spec: FS-PERM-10, FS-ATTR-7, FS-ATTR-10
#[test]
fn chmod_is_for_the_owner_and_gives_set_group_id_to_members_only() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.mkdir("d");
    for of in ["f", "d"] {
        machine.root(chown(of, Some(1000), Some(7)));
        assert_eq!(machine.by(1, Operation::Chmod { object: path(of), mode: 0o177_7777 }), DONE);
        assert_eq!(permissions(&mut machine, of), 0o5777);
        assert_eq!(machine.by(2, Operation::Chmod { object: path(of), mode: 0 }), refused(Errno::EPERM));
        machine.chmod(of, 0o7777);
        assert_eq!(permissions(&mut machine, of), 0o7777);
    }
    machine.symlink("f", "l");
    let link = Object::Path { path: "l".into(), follow: false };
    assert_eq!(machine.root(Operation::Chmod { object: link, mode: 0 }), refused(Errno::EOPNOTSUPP));
}

// spec: FS-PERM-11
#[test]
fn chown_takes_set_id_bits_from_everything_but_directories() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.mkdir("d");
    for (mode, left) in [(0o6755, 0o755), (0o6745, 0o2745), (0o7777, 0o1777)] {
        machine.chmod("f", mode);
        machine.chmod("d", mode);
        machine.root(chown("f", Some(1), Some(1)));
        machine.root(chown("d", Some(1), Some(1)));
        assert_eq!((permissions(&mut machine, "f"), permissions(&mut machine, "d")), (left, mode));
    }
}

// spec: FS-PERM-12, MNT-38
#[test]
fn a_change_of_content_by_an_ordinary_user_takes_set_id_bits() {
    let mut machine = Machine::new();
    machine.file("f", "x");
    machine.chmod("f", 0o6777);
    machine.open("f", OpenFlags::WRITE, 1);
    assert_eq!(machine.write(1, "y"), count(1));
    assert_eq!(permissions(&mut machine, "f"), 0o6777);
    machine.open_by(1, "f", OpenFlags::WRITE, 1);
    let write = |bytes: &str| Operation::Write { handle: Handle(1), data: bytes.into() };
    assert_eq!(machine.by(1, write("")), count(0));
    assert_eq!(permissions(&mut machine, "f"), 0o6777);
    assert_eq!(machine.by(1, write("z")), count(1));
    assert_eq!(permissions(&mut machine, "f"), 0o777);
    machine.chmod("f", 0o6777);
    assert_eq!(machine.by(1, Operation::Truncate { object: path("f"), size: 0 }), DONE);
    assert_eq!(permissions(&mut machine, "f"), 0o777);
}

// spec: FS-PERM-15
#[test]
fn what_is_open_needs_no_permission_any_more() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.chmod("f", 0o666);
    machine.open_by(1, "f", OpenFlags::WRITE, 1);
    machine.chmod("f", 0);
    machine.chmod("/", 0);
    assert_eq!(machine.by(1, Operation::Write { handle: Handle(1), data: "x".into() }), count(1));
    let status = Operation::Stat { object: crate::machine::by_handle(1) };
    assert!(matches!(machine.by(1, status), Expected::Status(_)));
}
