//! What other programs have left in a database: damage that stays where it is, and other habits.

use agentfs::Errno;
use agentfs::store::MountHolder;
use agentfs::tools::Call;
use agentfs::types::{Caller, DeviceNumber, FileKind, Ino, Mode, Timestamp};
use agentfs::vfs::{DirectoryPosition, NodeSpec, RenameFlags, Vfs, WriteFlags, XattrMode};

use crate::common::{Fixture, errno, n};

// spec: FMT-12, FS-CREATE-8
#[test]
fn device_numbers_are_kept_in_32_bits_and_only_for_devices() {
    let fixture = Fixture::new();
    let root = Caller::root();
    // Major 259, minor 70000, as the kernel mixes them.
    let number = (70_000 & 0xff) | (259 << 8) | ((70_000 & !0xff) << 12);
    let make = |name: &str, kind| {
        let node = NodeSpec { mode: Mode::new(kind, 0o600), rdev: DeviceNumber(number) };
        fixture.fs.mknod(&root, Ino::ROOT, n(name), node).unwrap().ino
    };
    let block = make("block", FileKind::BlockDevice);
    let socket = make("socket", FileKind::Socket);
    fixture.fs.link(&root, block, Ino::ROOT, n("again")).unwrap();
    fixture.rename((Ino::ROOT, "again"), (Ino::ROOT, "block"), RenameFlags::empty()).unwrap();
    fixture.rename((Ino::ROOT, "block"), (Ino::ROOT, "device"), RenameFlags::empty()).unwrap();
    assert_eq!(fixture.count("SELECT rdev FROM fs_inode WHERE rdev <> 0"), i64::from(number));
    let fixture = fixture.reopen();
    assert_eq!(fixture.lookup(Ino::ROOT, "device").unwrap().rdev, DeviceNumber(number));
    assert_eq!(fixture.stat(socket).rdev, DeviceNumber(0));
    assert_eq!(errno(fixture.fs.read(block, 0, 0)), Errno::EINVAL);
    fixture.unlink(Ino::ROOT, "device").unwrap();
    fixture.unlink(Ino::ROOT, "socket").unwrap();
}

// spec: FS-CREATE-2, FS-CREATE-6, FS-CREATE-7, FMT-11
#[test]
fn new_inodes_have_one_form_at_rest() {
    let fixture = Fixture::new();
    let node = NodeSpec { mode: Mode::new(FileKind::Regular, 0o644), rdev: DeviceNumber(0) };
    let made = fixture.fs.mknod(&Caller::root(), Ino::ROOT, n("a"), node).unwrap();
    let created = fixture.fs.create(&Caller::root(), Ino::ROOT, n("b"), 0o644).unwrap();
    assert_eq!(agentfs::types::Attributes { ino: created.ino, ..made }, created);
    fixture.symlink(Ino::ROOT, "l", "caf\u{e9}");
    fixture.directory(Ino::ROOT, "d");
    fixture.file(Ino::ROOT, "written", b"x");
    let with = |condition: &str| fixture.count(&format!("SELECT COUNT(*) FROM fs_inode WHERE {condition}"));
    assert_eq!(with("(mode & 61440) = 32768 AND size = 0 AND storage_kind = 0 AND data_inline IS NULL"), 2);
    assert_eq!(
        with("mode = 16877 AND size = 0 AND storage_kind = 0 AND data_inline IS NULL AND nlink = 1"),
        1
    );
    assert_eq!(with("mode = 41471 AND size = 5 AND storage_kind = 0 AND data_inline IS NULL"), 1);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_data"), 0);
}

// spec: FMT-13
#[test]
fn nanoseconds_that_are_none_read_as_0() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    fixture.foreign(
        "UPDATE fs_inode SET atime_nsec = -1, mtime_nsec = 1000000000, ctime = -2, ctime_nsec = 999999999",
    );
    let stat = fixture.stat(file);
    assert_eq!((stat.atime.nanoseconds, stat.mtime.nanoseconds), (0, 0));
    assert_eq!(stat.ctime, Timestamp::new(-2, 999_999_999));
}

// spec: FMT-14, FS-LOOKUP-5, FS-RMDIR-3
#[test]
fn an_inode_of_no_known_kind_is_unusable_and_its_neighbours_are_not() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    let broken = fixture.file(directory, "broken", b"").ino;
    let worse = fixture.file(directory, "worse", b"").ino;
    let file = fixture.file(directory, "f", b"content").ino;
    fixture.foreign(&format!("UPDATE fs_inode SET mode = 0 WHERE ino = {broken}"));
    fixture.foreign(&format!("UPDATE fs_inode SET mode = -1 WHERE ino = {worse}"));
    for (ino, name) in [(broken, "broken"), (worse, "worse")] {
        assert_eq!(errno(fixture.fs.getattr(ino)), Errno::EIO);
        assert_eq!(errno(fixture.lookup(directory, name)), Errno::EIO);
        assert_eq!(errno(fixture.fs.read(ino, 0, 1)), Errno::EIO);
        assert_eq!(errno(fixture.unlink(directory, name)), Errno::EIO);
    }
    assert_eq!(fixture.names(directory), ["f"]);
    assert_eq!(fixture.content(file), b"content");
    fixture.unlink(directory, "f").unwrap();
    assert_eq!(errno(fixture.rmdir(Ino::ROOT, "d")), Errno::ENOTEMPTY, "an entry is an entry");
}

// spec: FS-REAP-10
#[test]
fn an_inode_whose_rows_another_program_deleted_is_not_there() {
    let fixture = Fixture::new();
    let fs = &fixture.fs;
    let file = fixture.file(Ino::ROOT, "f", b"content").ino;
    let directory = fixture.directory(Ino::ROOT, "d");
    let kept = fixture.file(Ino::ROOT, "kept", b"kept").ino;
    fixture.foreign(&format!(
        "DELETE FROM fs_dentry WHERE ino IN ({file}, {directory}); DELETE FROM fs_data WHERE ino = {file};
         DELETE FROM fs_inode WHERE ino IN ({file}, {directory})"
    ));
    assert_eq!(errno(fs.getattr(file)), Errno::ENOENT);
    assert_eq!(errno(fs.read(file, 0, 1)), Errno::ENOENT);
    assert_eq!(errno(fs.write(file, 0, b"x", WriteFlags::empty())), Errno::ENOENT);
    assert_eq!(errno(fs.readdir(directory, DirectoryPosition::START, 1, false)), Errno::ENOENT);
    assert_eq!(errno(fs.create(&Caller::root(), directory, n("x"), 0o644)), Errno::ENOENT);
    assert_eq!(errno(fs.parent(directory)), Errno::ENOENT);
    assert_eq!(errno(fs.open(&Caller::root(), file, agentfs::vfs::OpenFlags::READ)), Errno::ENOENT);
    fs.fsync(file).unwrap();
    fs.forget(file, 1);
    assert_eq!(fixture.content(kept), b"kept");
    assert_eq!(fixture.names(Ino::ROOT), ["kept"]);
}

// spec: FS-NLINK-3, FS-NLINK-4, FS-RMDIR-3
#[test]
fn directories_of_a_writer_that_counts_differently_work_as_ours() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    let inner = fixture.directory(directory, "inner");
    fixture.file(inner, "f", b"");
    fixture.foreign("UPDATE fs_inode SET nlink = 7 WHERE (mode & 61440) = 16384");
    assert_eq!((fixture.stat(directory).nlink, fixture.stat(inner).nlink), (3, 2));
    assert_eq!(errno(fixture.rmdir(directory, "inner")), Errno::ENOTEMPTY);
    fixture.foreign("UPDATE fs_inode SET nlink = 0 WHERE (mode & 61440) = 16384");
    assert_eq!(errno(fixture.rmdir(directory, "inner")), Errno::ENOTEMPTY);
    fixture.unlink(inner, "f").unwrap();
    fixture.rmdir(directory, "inner").unwrap();
    assert_eq!(fixture.stat(inner).nlink, 0);
    assert_eq!(errno(fixture.fs.create(&Caller::root(), inner, n("x"), 0o644)), Errno::ENOENT);
    fixture.fs.forget(inner, 1);
    assert_eq!(fixture.stat(Ino::ROOT).nlink, 3);
}

// spec: FS-NLINK-5, FS-LINK-2
#[test]
fn an_inode_with_as_many_names_as_can_be_counted_gets_no_more() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    fixture.foreign(&format!("UPDATE fs_inode SET nlink = 2147483646 WHERE ino = {file}"));
    let link = |name| fixture.fs.link(&Caller::root(), file, Ino::ROOT, n(name));
    assert_eq!(link("last").unwrap().nlink, 2_147_483_647);
    assert_eq!(errno(link("more")), Errno::EMLINK);
    assert_eq!(fixture.names(Ino::ROOT), ["f", "last"]);
}

// spec: FS-REAP-7, FS-REAP-8, FS-REAP-9
#[test]
fn a_sweep_takes_what_has_neither_name_nor_count() {
    let fixture = Fixture::new();
    let ino = |name: &str| fixture.file(Ino::ROOT, name, b"").ino;
    let (named, pending, damaged) = (ino("named"), ino("pending"), ino("damaged"));
    fixture.foreign(&format!(
        "DROP TABLE ext_orphan;
         UPDATE fs_inode SET nlink = 0 WHERE ino IN ({named}, {pending});
         DELETE FROM fs_dentry WHERE ino IN ({pending}, {damaged})"
    ));
    let fixture = fixture.reopen();
    assert_eq!(fixture.fs.sweep_orphans().unwrap(), 1);
    assert_eq!(errno(fixture.fs.getattr(pending)), Errno::ENOENT);
    assert!(fixture.fs.getattr(named).is_ok() && fixture.fs.getattr(damaged).is_ok());
    // What is listed wrongly is dropped from the list.
    fixture.foreign(&format!("INSERT INTO ext_orphan (ino) VALUES ({named}), (4711)"));
    fixture.fs.sweep_orphans().unwrap();
    assert!(fixture.lookup(Ino::ROOT, "named").is_ok());
    assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_orphan"), 0);
    // It is not searched a second time.
    fixture.foreign(&format!("UPDATE fs_inode SET nlink = 0 WHERE ino = {damaged}"));
    assert_eq!(fixture.fs.sweep_orphans().unwrap(), 0);
}

// spec: FS-REAP-8
#[test]
fn a_file_that_is_listed_wrongly_outlives_its_last_reference() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"content").ino;
    // What a process leaves that removes one of two names where the writer before it counted one.
    fixture.foreign(&format!(
        "INSERT INTO ext_orphan (ino) VALUES ({file}); UPDATE fs_inode SET nlink = 0 WHERE ino = {file}"
    ));
    fixture.fs.sweep_orphans().unwrap();
    assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_orphan"), 0);
    fixture.fs.forget(file, 1);
    assert_eq!(fixture.lookup(Ino::ROOT, "f").unwrap().ino, file);
    assert_eq!(fixture.content(file), b"content");
}

// spec: FS-REAP-7, FMT-4
#[test]
fn what_was_never_listed_is_found_by_whoever_makes_the_list() {
    let root = Caller::root();
    let holder = MountHolder { pid: 1, host: "host".into(), mountpoint: "/mnt".into(), since: 0 };
    type Need<'a> = (&'a str, &'a dyn Fn(&Fixture, Ino));
    let needs: [Need<'_>; 5] = [
        ("a mount", &|fixture, _| fixture.fs.store().claim_mount(&holder).unwrap()),
        ("an attribute", &|fixture, large| {
            fixture.fs.setxattr(&root, large, b"user.a", b"1", XattrMode::Set).unwrap();
        }),
        ("a tool call", &|fixture, _| {
            let call = Call::failed("tool", "no network", Timestamp::EPOCH, Timestamp::EPOCH);
            fixture.fs.tools().record(&call).unwrap();
        }),
        ("an unlink of several steps", &|fixture, _| fixture.unlink(Ino::ROOT, "large").unwrap()),
        ("a sweep", &|_, _| ()),
    ];
    for (what, need) in needs {
        let fixture = Fixture::with(|options| {
            options.chunk_size = 512;
            options.inline_threshold = 0;
        });
        let ino = |name: &str, content: &[u8]| fixture.file(Ino::ROOT, name, content).ino;
        let (large, pending, named) = (ino("large", &[1; 200_000]), ino("pending", b""), ino("named", b""));
        for table in ["ext_registry", "ext_xattr", "ext_orphan", "ext_mount", "ext_tool_call"] {
            fixture.foreign(&format!("DROP TABLE {table}"));
        }
        fixture.foreign(&format!(
            "UPDATE fs_inode SET nlink = 0 WHERE ino IN ({pending}, {named}, 1);
             DELETE FROM fs_dentry WHERE ino = {pending}"
        ));
        let fixture = fixture.reopen();
        need(&fixture, large);
        assert_eq!(fixture.fs.sweep_orphans().unwrap(), 1, "{what}");
        assert_eq!(errno(fixture.fs.getattr(pending)), Errno::ENOENT, "{what}");
        assert!(fixture.lookup(Ino::ROOT, "named").is_ok(), "{what}");
        assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_orphan"), 0, "{what}");
    }
}

// spec: FS-LOOKUP-5, FS-NAME-1
#[test]
fn what_is_no_name_is_not_listed_and_hides_nothing() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    let file = fixture.file(directory, "f", b"content").ino;
    for name in ["''", "'.'", "'..'", "'../up'", "'a/b'", "x'6100'", "hex(zeroblob(200))"] {
        fixture.foreign(&format!(
            "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ({name}, {directory}, {file})"
        ));
    }
    fixture
        .foreign(&format!("INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('x', {directory}, 'none')"));
    assert_eq!(fixture.names(directory), ["f"]);
    let entries = fixture.fs.readdir(directory, DirectoryPosition::START, usize::MAX, true).unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(errno(fixture.rmdir(Ino::ROOT, "d")), Errno::ENOTEMPTY, "an entry is an entry");
}

// spec: FS-LOOKUP-5
#[test]
fn an_inode_with_a_value_that_none_can_have_is_unusable_and_its_neighbours_are_not() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    fixture.file(directory, "f", b"content");
    let damage = [
        "uid = -1",
        "gid = 1 << 40",
        "rdev = -1",
        "size = -1",
        "atime = 'noon'",
        "nlink = 1.5",
        "mode = x'00'",
    ];
    for change in damage {
        let broken = fixture.file(directory, "broken", b"").ino;
        fixture.foreign(&format!("UPDATE fs_inode SET {change} WHERE ino = {broken}"));
        assert_eq!(errno(fixture.fs.getattr(broken)), Errno::EIO, "{change}");
        assert_eq!(errno(fixture.lookup(directory, "broken")), Errno::EIO, "{change}");
        assert_eq!(fixture.names(directory), ["f"], "{change}");
        fixture.foreign(&format!("DELETE FROM fs_dentry WHERE ino = {broken}"));
    }
}

// spec: FS-DATA-1, FS-ERR-2
#[test]
fn a_hole_larger_than_the_memory_is_not_read_at_once() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"content").ino;
    let size = Some(i64::MAX as u64);
    let changes = agentfs::types::SetAttributes { size, ..agentfs::types::SetAttributes::default() };
    fixture.fs.setattr(&Caller::root(), file, &changes).unwrap();
    assert_eq!(errno(fixture.fs.read(file, 0, usize::MAX)), Errno::ENOMEM);
    assert_eq!(errno(fixture.fs.read(file, 0, 1 << 50)), Errno::ENOMEM);
    assert_eq!(fixture.fs.read(file, 0, 7).unwrap(), b"content");
}
