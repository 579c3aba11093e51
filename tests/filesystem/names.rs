//! Finding, adding and removing names.

use agentfs::Errno;
use agentfs::types::{Caller, DeviceNumber, FileKind, Ino, Mode, Name, Target};
use agentfs::vfs::{NodeSpec, Vfs};

use crate::common::{Fixture, START, errno, n};

// spec: FS-NAME-1, FS-NAME-2, FS-NAME-3
#[test]
fn names_are_bytes_of_limited_length_and_never_dot_or_dot_dot() {
    assert_eq!(errno(Name::new(b"")), Errno::ENOENT);
    assert_eq!(errno(Name::new(&[b'x'; 256])), Errno::ENAMETOOLONG);
    for refused in [&b"."[..], b"..", b"a/b", b"a\0b"] {
        assert_eq!(errno(Name::new(refused)), Errno::EINVAL);
    }
    assert_eq!(errno(Target::new(&[b'x'; 4096])), Errno::ENAMETOOLONG);

    let fixture = Fixture::new();
    let caller = Caller::root();
    for name in [&[0xff, 0xfe][..], b"caf\xe9", b"a\nb", &[b'x'; 255]] {
        let name = Name::new(name).unwrap();
        let made = fixture.fs.create(&caller, Ino::ROOT, name, 0o600).unwrap();
        assert_eq!(fixture.fs.lookup(&caller, Ino::ROOT, name).unwrap().ino, made.ino);
    }
    let fixture = fixture.reopen();
    let name = Name::new(&[0xff, 0xfe]).unwrap();
    assert!(fixture.fs.lookup(&caller, Ino::ROOT, name).is_ok());
}

// spec: FS-CREATE-1, FS-PERM-6, FS-PERM-14, FS-TIME-2, FS-TIME-3
#[test]
fn a_new_file_is_empty_owned_by_its_maker_and_all_its_times_are_now() {
    let fixture = Fixture::new();
    fixture.clock.advance(5);
    let caller = Caller { umask: 0o027, ..Caller::user(1000, 100) };
    let file = fixture.fs.create(&caller, Ino::ROOT, n("f"), 0o666).unwrap();
    assert_eq!(file.mode, Mode::new(FileKind::Regular, 0o640));
    assert_eq!((file.uid.0, file.gid.0, file.size, file.nlink), (1000, 100, 0, 1));
    assert_eq!(file.mtime.seconds, START.seconds + 5);
    assert_eq!((file.atime, file.ctime), (file.mtime, file.mtime));
    let root = fixture.stat(Ino::ROOT);
    assert_eq!((root.mtime, root.ctime), (file.mtime, file.mtime));
}

// spec: FS-CREATE-3
#[test]
fn an_existing_name_wins_over_missing_permission() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    fixture.file(directory, "f", b"");
    let stranger = Caller::user(1, 1);
    assert_eq!(errno(fixture.fs.create(&stranger, directory, n("f"), 0o644)), Errno::EEXIST);
    assert_eq!(errno(fixture.fs.create(&stranger, directory, n("g"), 0o644)), Errno::EACCES);
}

// spec: FS-CREATE-3, FS-CREATE-8
#[test]
fn only_the_superuser_makes_devices_and_anyone_the_rest() {
    let fixture = Fixture::new();
    let user = Caller::user(1000, 1000);
    for (name, kind) in [("p", FileKind::Fifo), ("s", FileKind::Socket), ("r", FileKind::Regular)] {
        let node = NodeSpec { mode: Mode::new(kind, 0o644), rdev: DeviceNumber(7) };
        let made = fixture.fs.mknod(&user, Ino::ROOT, n(name), node).unwrap();
        assert_eq!((made.mode.kind(), made.rdev), (kind, DeviceNumber(0)));
    }
    let node = NodeSpec { mode: Mode::new(FileKind::CharacterDevice, 0o644), rdev: DeviceNumber(0x103) };
    assert_eq!(errno(fixture.fs.mknod(&user, Ino::ROOT, n("c"), node)), Errno::EPERM);
    let made = fixture.fs.mknod(&Caller::root(), Ino::ROOT, n("c"), node).unwrap();
    assert_eq!(made.rdev, DeviceNumber(0x103));
}

// spec: FS-NLINK-1, FS-NLINK-2
#[test]
fn a_directory_shows_two_links_and_one_for_each_subdirectory() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    assert_eq!(fixture.stat(directory).nlink, 2);
    fixture.directory(directory, "a");
    fixture.directory(directory, "b");
    fixture.file(directory, "f", b"");
    assert_eq!(fixture.stat(directory).nlink, 4);
    fixture.rmdir(directory, "a").unwrap();
    assert_eq!(fixture.stat(directory).nlink, 3);
    let fixture = fixture.reopen();
    assert_eq!(fixture.stat(directory).nlink, 3);
    assert_eq!(fixture.count("SELECT nlink FROM fs_inode WHERE ino = 1"), 1);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_inode WHERE nlink <> 1"), 0);
}

// spec: FS-RMDIR-4
#[test]
fn making_and_removing_directories_leaves_no_row_behind() {
    let fixture = Fixture::new();
    for _ in 0..10 {
        let made = fixture.directory(Ino::ROOT, "d");
        fixture.rmdir(Ino::ROOT, "d").unwrap();
        fixture.fs.forget(made, 1);
    }
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_inode"), 1);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_orphan"), 0);
}

// spec: FS-RMDIR-1, FS-RMDIR-2, FS-UNLINK-2
#[test]
fn directories_are_removed_by_rmdir_and_only_when_empty() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    fixture.file(directory, "f", b"");
    assert_eq!(errno(fixture.rmdir(Ino::ROOT, "d")), Errno::ENOTEMPTY);
    assert_eq!(errno(fixture.unlink(Ino::ROOT, "d")), Errno::EISDIR);
    assert_eq!(errno(fixture.rmdir(directory, "f")), Errno::ENOTDIR);
    assert_eq!(errno(fixture.rmdir(directory, "x")), Errno::ENOENT);
    fixture.unlink(directory, "f").unwrap();
    fixture.rmdir(Ino::ROOT, "d").unwrap();
    assert_eq!(errno(fixture.fs.create(&Caller::root(), directory, n("late"), 0o644)), Errno::ENOENT);
}

// spec: FS-LINK-1, FS-LINK-2, FS-UNLINK-3
#[test]
fn hard_links_share_an_inode_and_directories_have_none() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "a", b"shared");
    fixture.clock.advance(3);
    let caller = Caller::root();
    let linked = fixture.fs.link(&caller, file.ino, Ino::ROOT, n("b")).unwrap();
    assert_eq!((linked.ino, linked.nlink), (file.ino, 2));
    assert!(linked.ctime > file.ctime && linked.mtime == file.mtime);
    fixture.unlink(Ino::ROOT, "a").unwrap();
    assert_eq!(fixture.content(file.ino), b"shared");
    assert_eq!(fixture.stat(file.ino).nlink, 1);
    let directory = fixture.directory(Ino::ROOT, "d");
    assert_eq!(errno(fixture.fs.link(&caller, directory, Ino::ROOT, n("e"))), Errno::EPERM);
    assert_eq!(errno(fixture.fs.link(&caller, file.ino, Ino::ROOT, n("d"))), Errno::EEXIST);
}

// spec: FS-PERM-4
#[test]
fn in_a_sticky_directory_only_owners_remove() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "tmp");
    fixture.chmod(directory, 0o1777);
    let (owner, stranger) = (Caller::user(1, 1), Caller::user(2, 2));
    fixture.fs.create(&owner, directory, n("f"), 0o666).unwrap();
    assert_eq!(errno(fixture.fs.unlink(&stranger, directory, n("f"))), Errno::EPERM);
    fixture.fs.unlink(&owner, directory, n("f")).unwrap();
}

// spec: FS-PERM-6, FS-PERM-7
#[test]
fn a_set_group_id_directory_hands_its_group_down() {
    let fixture = Fixture::new();
    let directory = fixture.fs.mkdir(&Caller::user(0, 50), Ino::ROOT, n("d"), 0o777).unwrap().ino;
    fixture.chmod(directory, 0o2777);
    let user = Caller { umask: 0, ..Caller::user(1000, 1000) };
    let file = fixture.fs.create(&user, directory, n("f"), 0o2775).unwrap();
    assert_eq!((file.gid.0, file.mode.permissions()), (50, 0o775), "not a member: no set-group-id");
    let inner = fixture.fs.mkdir(&user, directory, n("e"), 0o755).unwrap();
    assert_eq!((inner.gid.0, inner.mode.permissions()), (50, 0o2755));
}

// spec: FS-NAME-2, FS-NAME-3
#[test]
fn what_is_no_name_or_target_is_refused_in_an_order() {
    assert_eq!(errno(Name::new(&[b'/'; 256])), Errno::ENAMETOOLONG);
    for (target, expected) in
        [(&b""[..], Errno::ENOENT), (&[0; 4096], Errno::ENAMETOOLONG), (b"a\0", Errno::EINVAL)]
    {
        assert_eq!(errno(Target::new(target)), expected);
    }
    let fixture = Fixture::new();
    for (name, target) in [("long", &[b'x'; 4095][..]), ("bytes", b"\xff/.././/"), ("dangling", b"/nowhere")]
    {
        let made = fixture.fs.symlink(&Caller::root(), Ino::ROOT, n(name), Target::new(target).unwrap());
        let made = made.unwrap();
        assert_eq!(made.size, target.len() as u64);
        assert_eq!(fixture.fs.readlink(made.ino).unwrap(), target);
    }
}

// spec: FS-NAME-1, FS-NAME-4, FMT-6
#[test]
fn names_that_look_alike_are_different_and_come_back_as_they_were() {
    let fixture = Fixture::new();
    // Composed and decomposed, large and small, and bytes that are not UTF-8.
    let names: [&[u8]; 7] = ["\u{e9}".as_bytes(), "e\u{301}".as_bytes(), b"A", b"a", b"\xff", b"\xfe", b"a "];
    for name in names {
        fixture.fs.create(&Caller::root(), Ino::ROOT, Name::new(name).unwrap(), 0o644).unwrap();
    }
    let start = agentfs::vfs::DirectoryPosition::START;
    let listed = fixture.fs.readdir(Ino::ROOT, start, 100, false).unwrap();
    assert_eq!(listed.iter().map(|entry| &entry.name[..]).collect::<Vec<_>>(), names);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_dentry WHERE typeof(name) = 'text'"), 7);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_dentry WHERE name = CAST(x'ff' AS TEXT)"), 1);
}

// spec: FS-STATFS-3, FS-NAME-1
#[test]
fn the_longest_name_is_255_bytes() {
    assert_eq!(agentfs::types::MAX_NAME_BYTES, 255);
    assert!(Name::new(&[b'x'; agentfs::types::MAX_NAME_BYTES]).is_ok());
}

// spec: FS-UNLINK-3, FS-LINK-1
#[test]
fn a_symlink_has_hard_links_too_and_other_names_stay() {
    let fixture = Fixture::new();
    let link = fixture.symlink(Ino::ROOT, "l", "target");
    assert_eq!(fixture.fs.link(&Caller::root(), link, Ino::ROOT, n("m")).unwrap().nlink, 2);
    fixture.unlink(Ino::ROOT, "l").unwrap();
    fixture.fs.forget(link, 2);
    assert_eq!(fixture.lookup(Ino::ROOT, "m").unwrap().nlink, 1);
    assert_eq!(fixture.fs.readlink(link).unwrap(), b"target");
}

// spec: FS-LOOKUP-3, FS-LOOKUP-4
#[test]
fn parents_are_of_directories_and_targets_of_symlinks() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    let moved = fixture.directory(Ino::ROOT, "moved");
    let place = fixture.directory(Ino::ROOT, "place");
    assert_eq!(errno(fixture.fs.parent(file)), Errno::ENOTDIR);
    assert_eq!(errno(fixture.fs.readlink(place)), Errno::EINVAL);
    let plain = agentfs::vfs::RenameFlags::empty();
    fixture.rename((Ino::ROOT, "moved"), (place, "moved"), plain).unwrap();
    assert_eq!(fixture.fs.parent(moved).unwrap(), place);
}
