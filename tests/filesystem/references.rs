//! How long an inode lives.

use agentfs::types::{Caller, Ino};
use agentfs::vfs::{DirectoryPosition, Vfs, WriteFlags};
use agentfs::{AgentFs, Errno, Options};

use crate::common::{Fixture, errno};

// spec: FS-REAP-1, FS-REAP-3, FS-REAP-4
#[test]
fn an_unlinked_file_lives_until_its_last_reference_is_gone() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", &[7; 100_000]);
    fixture.unlink(Ino::ROOT, "f").unwrap();
    assert_eq!(fixture.stat(file.ino).nlink, 0);
    assert_eq!(fixture.content(file.ino), [7; 100_000]);
    fixture.fs.write(file.ino, 50_000, b"still writable", WriteFlags::empty()).unwrap();
    assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_orphan"), 1);
    fixture.fs.forget(file.ino, 1);
    assert_eq!(errno(fixture.fs.getattr(file.ino)), Errno::ENOENT);
    for table in ["fs_data", "ext_orphan", "fs_dentry"] {
        assert_eq!(fixture.count(&format!("SELECT COUNT(*) FROM {table}")), 0, "{table}");
    }
}

// spec: FS-REAP-2
#[test]
fn references_are_counted_for_each_name_that_was_handed_out() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"x");
    fixture.lookup(Ino::ROOT, "f").unwrap();
    let listed = fixture.fs.readdir(Ino::ROOT, DirectoryPosition::START, 10, true).unwrap();
    assert_eq!(listed.len(), 1);
    fixture.unlink(Ino::ROOT, "f").unwrap();
    fixture.fs.forget(file.ino, 2);
    assert_eq!(fixture.content(file.ino), b"x");
    fixture.fs.forget(file.ino, 1);
    assert_eq!(fixture.fs.referenced_inodes(), 0);
    assert_eq!(errno(fixture.fs.getattr(file.ino)), Errno::ENOENT);
}

// spec: FS-REAP-6
#[test]
fn a_sweep_removes_what_a_crash_left_and_nothing_else() {
    let fixture = Fixture::new();
    fixture.file(Ino::ROOT, "kept", b"kept");
    fixture.file(Ino::ROOT, "f", &[1; 200_000]);
    fixture.unlink(Ino::ROOT, "f").unwrap();
    let fixture = fixture.kill();
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_inode"), 3);
    assert_eq!(fixture.fs.sweep_orphans().unwrap(), 1);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_inode"), 2);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_data"), 0);
    assert!(fixture.lookup(Ino::ROOT, "kept").is_ok());
}

// spec: FS-REAP-4, FS-REAP-6
#[test]
fn closing_ends_every_reference() {
    let fixture = Fixture::new();
    fixture.file(Ino::ROOT, "f", &[1; 200_000]);
    fixture.unlink(Ino::ROOT, "f").unwrap();
    let fixture = fixture.reopen();
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_inode"), 1);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_orphan"), 0);
}

// spec: FS-NLINK-4, FS-REAP-7
#[test]
fn the_root_survives_a_sweep_whatever_its_link_count_says() {
    let fixture = Fixture::new();
    fixture.directory(Ino::ROOT, "d");
    let path = fixture.path();
    let Fixture { fs, folder: _folder, .. } = fixture;
    fs.close().unwrap();
    // Written with the other convention, then decremented by this one.
    let foreign = rusqlite::Connection::open(&path).unwrap();
    foreign.execute_batch("UPDATE fs_inode SET nlink = 0 WHERE ino = 1; DROP TABLE ext_orphan;").unwrap();
    drop(foreign);
    let fs = AgentFs::open(&path, &Options::default()).unwrap();
    fs.sweep_orphans().unwrap();
    assert_eq!(fs.getattr(Ino::ROOT).unwrap().nlink, 3);
    assert!(fs.lookup(&Caller::root(), Ino::ROOT, crate::common::n("d")).is_ok());
    assert!(fs.create(&Caller::root(), Ino::ROOT, crate::common::n("e"), 0o644).is_ok());
}

// spec: FS-REAP-4, FS-UNLINK-1
#[test]
fn a_large_file_goes_in_slices() {
    let fixture = Fixture::with(|options| {
        options.chunk_size = 512;
        options.inline_threshold = 0;
    });
    let file = fixture.file(Ino::ROOT, "f", &[1; 1_000_000]);
    fixture.fs.forget(file.ino, 1);
    fixture.unlink(Ino::ROOT, "f").unwrap();
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_data"), 0);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_inode"), 1);
}

// spec: FS-NLINK-3, FS-REAP-8
#[test]
fn a_directory_whose_stored_count_is_zero_lives_while_an_entry_names_it() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    // What a program with the other convention leaves after it removed a subdirectory.
    let set = "UPDATE fs_inode SET nlink = 0 WHERE ino = ?";
    fixture.fs.store().mutate(|session| session.execute(set, [directory.0])).unwrap();
    fixture.fs.store().mutate(|session| session.execute("DROP TABLE ext_orphan", [])).unwrap();
    let fixture = fixture.reopen();
    fixture.fs.sweep_orphans().unwrap();
    assert_eq!(fixture.stat(directory).nlink, 2);
    fixture.file(directory, "f", b"");
    assert_eq!(fixture.names(directory), ["f"]);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_orphan"), 0);
}

// spec: FS-REAP-11, FS-REAP-2
#[test]
fn giving_back_more_than_was_taken_gives_back_all_and_the_root_needs_none() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"x").ino;
    let failed = fixture.fs.create(&Caller::root(), Ino::ROOT, crate::common::n("f"), 0o644);
    assert_eq!(errno(failed), Errno::EEXIST);
    assert_eq!(fixture.fs.referenced_inodes(), 1, "a call that failed takes none");
    fixture.unlink(Ino::ROOT, "f").unwrap();
    fixture.fs.forget(file, u64::MAX);
    fixture.fs.forget(file, 1);
    fixture.fs.forget(Ino(4711), 1);
    fixture.fs.forget(Ino::ROOT, 5);
    assert_eq!(fixture.fs.referenced_inodes(), 0);
    assert_eq!(errno(fixture.fs.getattr(file)), Errno::ENOENT);
    assert!(fixture.fs.getattr(Ino::ROOT).is_ok());
}

// spec: FS-UNLINK-1, FS-REAP-4, FS-XATTR-10
#[test]
fn the_last_name_takes_every_row_along() {
    let fixture = Fixture::new();
    let link = fixture.symlink(Ino::ROOT, "l", "target");
    let file = fixture.file(Ino::ROOT, "f", &[1; 100_000]).ino;
    let mode = agentfs::vfs::XattrMode::Set;
    for ino in [link, file] {
        fixture.fs.setxattr(&Caller::root(), ino, b"trusted.a", b"1", mode).unwrap();
    }
    fixture.fs.forget(link, 1);
    fixture.unlink(Ino::ROOT, "l").unwrap();
    fixture.unlink(Ino::ROOT, "f").unwrap();
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_symlink"), 0, "at once");
    assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_xattr"), 1, "still open");
    fixture.fs.forget(file, 1);
    for table in ["fs_data", "ext_xattr", "ext_orphan", "fs_dentry"] {
        assert_eq!(fixture.count(&format!("SELECT COUNT(*) FROM {table}")), 0, "{table}");
    }
}

// spec: FS-RMDIR-1, FS-LOOKUP-2, FS-DIR-7, FS-REAP-1
#[test]
fn a_removed_directory_that_is_open_is_empty_and_takes_nothing_in() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    fixture.rmdir(Ino::ROOT, "d").unwrap();
    let name = crate::common::n("x");
    assert_eq!(fixture.stat(directory).nlink, 0);
    assert_eq!(errno(fixture.lookup(directory, "x")), Errno::ENOENT);
    assert_eq!(fixture.names(directory), Vec::<String>::new());
    assert_eq!(errno(fixture.fs.mkdir(&Caller::root(), directory, name, 0o755)), Errno::ENOENT);
    assert_eq!(errno(fixture.fs.link(&Caller::root(), file, directory, name)), Errno::ENOENT);
    let moved = fixture.rename((Ino::ROOT, "f"), (directory, "x"), agentfs::vfs::RenameFlags::empty());
    assert_eq!(errno(moved), Errno::ENOENT);
    fixture.fs.forget(directory, 1);
    assert_eq!(errno(fixture.fs.getattr(directory)), Errno::ENOENT);
}

// spec: FS-REAP-4
#[test]
fn a_large_file_goes_in_steps_of_as_many_bytes_whatever_its_chunks() {
    let fixture = Fixture::with(|options| {
        options.chunk_size = 16 << 20;
        // Every operation is a group.
        options.group.bytes = 1;
    });
    let file = fixture.file(Ino::ROOT, "f", &[7; 33 << 20]).ino;
    fixture.fs.forget(file, 1);
    let before = fixture.fs.store().ended_groups().committed;
    fixture.unlink(Ino::ROOT, "f").unwrap();
    assert!(fixture.fs.store().ended_groups().committed - before >= 3);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_data"), 0);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_orphan"), 0);
}
