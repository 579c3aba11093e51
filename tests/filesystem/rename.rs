//! rename in all its forms.

use agentfs::Errno;
use agentfs::types::{Caller, Ino};
use agentfs::vfs::{RenameFlags, Vfs};

use crate::common::{Fixture, errno, n};

const PLAIN: RenameFlags = RenameFlags::empty();

// spec: FS-RENAME-1, FS-RENAME-5
#[test]
fn a_rename_moves_the_entry_and_touches_both_directories_and_the_inode() {
    let fixture = Fixture::new();
    let (a, b) = (fixture.directory(Ino::ROOT, "a"), fixture.directory(Ino::ROOT, "b"));
    let file = fixture.file(a, "f", b"x");
    fixture.clock.advance(9);
    fixture.rename((a, "f"), (b, "g"), PLAIN).unwrap();
    let moved = fixture.lookup(b, "g").unwrap();
    assert_eq!((moved.ino, moved.mtime), (file.ino, file.mtime));
    assert_eq!(moved.ctime, fixture.stat(a).mtime);
    assert_eq!(moved.ctime, fixture.stat(b).ctime);
    assert_eq!(errno(fixture.lookup(a, "f")), Errno::ENOENT);
}

// spec: FS-RENAME-2
#[test]
fn a_rename_over_a_file_replaces_it_and_leaves_no_row() {
    let fixture = Fixture::new();
    let old = fixture.file(Ino::ROOT, "old", b"old");
    let new = fixture.file(Ino::ROOT, "new", &[1; 10_000]);
    fixture.fs.forget(new.ino, 1);
    fixture.rename((Ino::ROOT, "old"), (Ino::ROOT, "new"), PLAIN).unwrap();
    assert_eq!(fixture.lookup(Ino::ROOT, "new").unwrap().ino, old.ino);
    assert_eq!(errno(fixture.fs.getattr(new.ino)), Errno::ENOENT);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_inode"), 2);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_data"), 0);
}

// spec: FS-RENAME-2, FS-RENAME-3
#[test]
fn kinds_must_agree_and_a_replaced_directory_must_be_empty() {
    let fixture = Fixture::new();
    fixture.file(Ino::ROOT, "f", b"");
    let full = fixture.directory(Ino::ROOT, "full");
    fixture.file(full, "x", b"");
    let empty = fixture.directory(Ino::ROOT, "empty");
    let moved = fixture.directory(Ino::ROOT, "moved");
    fixture.fs.forget(empty, 1);
    let root = Ino::ROOT;
    assert_eq!(errno(fixture.rename((root, "moved"), (root, "f"), PLAIN)), Errno::ENOTDIR);
    assert_eq!(errno(fixture.rename((root, "f"), (root, "empty"), PLAIN)), Errno::EISDIR);
    assert_eq!(errno(fixture.rename((root, "moved"), (root, "full"), PLAIN)), Errno::ENOTEMPTY);
    fixture.rename((root, "moved"), (root, "empty"), PLAIN).unwrap();
    assert_eq!(fixture.lookup(root, "empty").unwrap().ino, moved);
    assert_eq!(fixture.stat(root).nlink, 4);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_inode"), 5);
}

// spec: FS-RENAME-4
#[test]
fn a_directory_never_moves_into_itself() {
    let fixture = Fixture::new();
    let a = fixture.directory(Ino::ROOT, "a");
    let b = fixture.directory(a, "b");
    let c = fixture.directory(b, "c");
    assert_eq!(errno(fixture.rename((Ino::ROOT, "a"), (c, "x"), PLAIN)), Errno::EINVAL);
    assert_eq!(errno(fixture.rename((Ino::ROOT, "a"), (a, "x"), PLAIN)), Errno::EINVAL);
    assert_eq!(errno(fixture.rename((b, "c"), (Ino::ROOT, "a"), PLAIN)), Errno::ENOTEMPTY);
    let exchange = RenameFlags::EXCHANGE;
    assert_eq!(errno(fixture.rename((b, "c"), (Ino::ROOT, "a"), exchange)), Errno::EINVAL);
    // Known only to the database, not to this process.
    let fixture = fixture.reopen();
    assert_eq!(errno(fixture.rename((Ino::ROOT, "a"), (c, "x"), PLAIN)), Errno::EINVAL);
}

// spec: FS-RENAME-6
#[test]
fn noreplace_refuses_and_exchange_swaps() {
    let fixture = Fixture::new();
    let root = Ino::ROOT;
    let file = fixture.file(root, "f", b"file");
    let directory = fixture.directory(root, "d");
    let inner = fixture.directory(directory, "inner");
    let both = RenameFlags::NOREPLACE | RenameFlags::EXCHANGE;
    assert_eq!(errno(fixture.rename((root, "f"), (root, "d"), RenameFlags::NOREPLACE)), Errno::EEXIST);
    assert_eq!(errno(fixture.rename((root, "f"), (root, "d"), both)), Errno::EINVAL);
    assert_eq!(errno(fixture.rename((root, "f"), (root, "no"), RenameFlags::EXCHANGE)), Errno::ENOENT);
    fixture.rename((root, "f"), (directory, "inner"), RenameFlags::EXCHANGE).unwrap();
    assert_eq!(fixture.lookup(root, "f").unwrap().ino, inner);
    assert_eq!(fixture.lookup(directory, "inner").unwrap().ino, file.ino);
    assert_eq!((fixture.stat(root).nlink, fixture.stat(directory).nlink), (4, 2));
    assert_eq!(fixture.fs.parent(inner).unwrap(), root);
}

// spec: FS-RENAME-7
#[test]
fn two_names_of_one_inode_stay_as_they_are() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "a", b"x");
    fixture.fs.link(&Caller::root(), file.ino, Ino::ROOT, n("b")).unwrap();
    fixture.rename((Ino::ROOT, "a"), (Ino::ROOT, "b"), PLAIN).unwrap();
    assert_eq!(fixture.names(Ino::ROOT), ["a", "b"]);
    assert_eq!(fixture.stat(file.ino).nlink, 2);
}
