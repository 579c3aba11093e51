//! From a path to what it names.

use agentfs_model::Errno;
use agentfs_model::call::{Object, OpenFlags, Operation, Place, RenameFlags};
use agentfs_model::outcome::Expected;
use agentfs_model::profile::Profile;
use agentfs_model::values::{FileKind, Handle};

use crate::machine::{DONE, Machine, path, refused};

/// "d" with "d/f" in it, and the symlinks "l" to "d", "n" to nothing.
fn machine() -> Machine {
    let mut machine = Machine::new();
    machine.mkdir("d");
    machine.file("d/f", "");
    machine.symlink("d", "l");
    machine.symlink("new", "n");
    machine
}

fn stat(of: &str) -> Operation {
    Operation::Stat { object: path(of) }
}

// spec: PATH-1, PATH-2, PATH-3
#[test]
fn slashes_dots_and_symlinks_lead_where_they_should() {
    let mut machine = machine();
    let file = machine.lstat("d/f").inode;
    for of in ["/d/f", "d//f", "./d/./f", "d/../d/f", "../../d/f", "l/f", "l/../l/f"] {
        assert_eq!(machine.status(path(of)).inode, file, "{of}");
    }
    assert_eq!(machine.root(stat("d/f/.")), refused(Errno::ENOTDIR));
    assert_eq!(machine.root(stat("nothing/..")), refused(Errno::ENOENT));
    assert_eq!(machine.lstat("l").kind, FileKind::Symlink);
    assert_eq!(machine.status(path("l")).kind, FileKind::Directory);
}

// spec: PATH-4
#[test]
fn the_forty_first_symlink_is_eloop() {
    let mut machine = Machine::new();
    machine.file("l0", "");
    for number in 1..=41 {
        machine.symlink(&format!("l{}", number - 1), &format!("l{number}"));
    }
    assert!(matches!(machine.root(stat("l40")), Expected::Status(_)));
    assert_eq!(machine.root(stat("l41")), refused(Errno::ELOOP));
}

// spec: PATH-5
#[test]
fn a_path_has_a_length() {
    let mut machine = machine();
    assert_eq!(machine.root(stat("")), refused(Errno::ENOENT));
    assert_eq!(machine.root(stat(&"/".repeat(4096))), refused(Errno::ENAMETOOLONG));
    assert!(matches!(machine.root(stat(&"/".repeat(4095))), Expected::Status(_)));
    // Before the directory that it begins at.
    let place = Place { path: "".into(), at: Some(Handle(9)) };
    assert_eq!(machine.root(Operation::Rmdir { path: place }), refused(Errno::ENOENT));
}

// spec: PATH-6
#[test]
fn a_slash_at_the_end_demands_a_directory() {
    let mut machine = machine();
    assert_eq!(machine.root(stat("d/f/")), refused(Errno::ENOTDIR));
    assert_eq!(machine.lstat("l/").kind, FileKind::Directory);
    assert_eq!(machine.root(Operation::Unlink { path: "l/".into() }), refused(Errno::ENOTDIR));
    assert_eq!(machine.root(Operation::Rmdir { path: "l/".into() }), refused(Errno::ENOTDIR));
    assert_eq!(machine.rename("l/", "m", RenameFlags::empty()), refused(Errno::ENOTDIR));
    assert_eq!(machine.rename("d/f", "g/", RenameFlags::empty()), refused(Errno::ENOTDIR));
    let create = OpenFlags::CREATE | OpenFlags::READ;
    assert_eq!(machine.open("d/f/", create | OpenFlags::EXCLUSIVE, 1), refused(Errno::EISDIR));
    assert_eq!(machine.open("g/", create, 1), refused(Errno::EISDIR));
    let link = |to: &str| Operation::Link { from: "d/f".into(), to: to.into(), follow: false };
    assert_eq!(
        (machine.root(link("g/")), machine.root(link("d/"))),
        (refused(Errno::ENOENT), refused(Errno::EEXIST))
    );
    assert_eq!(machine.mkdir("g/"), DONE);
    assert_eq!(machine.rename("g", "h/", RenameFlags::empty()), DONE);
}

// spec: PATH-7
#[test]
fn dots_and_the_root_are_no_names() {
    let mut machine = machine();
    for of in ["d/.", "d/..", "/"] {
        assert_eq!(machine.mkdir(of), refused(Errno::EEXIST));
        assert_eq!(machine.root(Operation::Unlink { path: of.into() }), refused(Errno::EISDIR));
        assert_eq!(machine.rename(of, "x", RenameFlags::empty()), refused(Errno::EBUSY));
        assert_eq!(machine.rename("d/f", of, RenameFlags::empty()), refused(Errno::EBUSY));
    }
    for (of, errno) in [("d/.", Errno::EINVAL), ("d/..", Errno::ENOTEMPTY), ("/", Errno::EBUSY)] {
        assert_eq!(machine.root(Operation::Rmdir { path: of.into() }), refused(errno));
    }
}

// spec: PATH-8, FS-PERM-15
#[test]
fn every_directory_on_the_way_is_searched_and_none_above_a_handle() {
    let mut machine = machine();
    machine.mkdir("d/e");
    machine.open_by(1, "d/e", OpenFlags::READ, 1);
    machine.chmod("d", 0o666);
    for of in ["d/f", "d/.", "d/..", "l/f"] {
        assert_eq!(machine.by(1, stat(of)), refused(Errno::EACCES), "{of}");
    }
    assert!(matches!(machine.by(1, stat("d")), Expected::Status(_)));
    let here = Object::Path { path: Place { path: ".".into(), at: Some(Handle(1)) }, follow: true };
    assert!(matches!(machine.by(1, Operation::Stat { object: here }), Expected::Status(_)));
}

// spec: PATH-11
#[test]
fn creating_through_a_symlink_to_nothing_creates_its_target() {
    let mut machine = machine();
    assert_eq!(machine.mkdir("n"), refused(Errno::EEXIST));
    assert_eq!(machine.open("n", OpenFlags::CREATE | OpenFlags::READ, 1), DONE);
    assert_eq!(machine.lstat("new").kind, FileKind::Regular);
}

// spec: FS-LOOKUP-3
#[test]
fn what_is_above_a_removed_directory_is_known_to_a_kernel_alone() {
    for (profile, known) in [(Profile::agentfs(), false), (Profile::linux(), true)] {
        let mut machine = Machine::with(profile);
        machine.mkdir("d");
        machine.open("d", OpenFlags::READ, 1);
        machine.root(Operation::Rmdir { path: "d".into() });
        let up = Object::Path { path: Place { path: "..".into(), at: Some(Handle(1)) }, follow: true };
        let answer = machine.root(Operation::Stat { object: up });
        assert_eq!(answer != refused(Errno::ENOENT), known);
    }
}
