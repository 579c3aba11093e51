//! rename in all its forms.

use agentfs::Errno;
use agentfs::types::{Caller, Ino};
use agentfs::vfs::{RenameFlags, Vfs};

use crate::common::{Fixture, errno, n};

const PLAIN: RenameFlags = RenameFlags::empty();

// spec: FS-RENAME-1, FS-RENAME-8, FS-TIME-3
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

// spec: FS-RENAME-2, FS-RENAME-9
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

// spec: FS-RENAME-2, FS-RENAME-6, FS-RENAME-9
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

// spec: FS-RENAME-6
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

// spec: FS-RENAME-4, FS-RENAME-5, FS-RENAME-6
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

// spec: FS-RENAME-3
#[test]
fn two_names_of_one_inode_stay_as_they_are() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "a", b"x");
    fixture.fs.link(&Caller::root(), file.ino, Ino::ROOT, n("b")).unwrap();
    fixture.rename((Ino::ROOT, "a"), (Ino::ROOT, "b"), PLAIN).unwrap();
    assert_eq!(fixture.names(Ino::ROOT), ["a", "b"]);
    assert_eq!(fixture.stat(file.ino).nlink, 2);
}

// spec: FS-RENAME-6, FS-PERM-4, FS-PERM-5
#[test]
fn rename_has_an_order_of_errors() {
    let fixture = Fixture::new();
    let stranger = Caller::user(7, 7);
    // "mine" may be written by anyone and "theirs" may not.
    let (mine, theirs) = (fixture.directory(Ino::ROOT, "mine"), fixture.directory(Ino::ROOT, "theirs"));
    fixture.chmod(mine, 0o777);
    let moved = fixture.directory(mine, "moved");
    let inner = fixture.directory(moved, "inner");
    fixture.file(mine, "file", b"");
    let full = fixture.directory(mine, "full");
    fixture.file(full, "entry", b"");
    let file = fixture.file(theirs, "file", b"").ino;
    fixture.fs.link(&Caller::root(), file, theirs, n("again")).unwrap();
    let removed = fixture.directory(Ino::ROOT, "removed");
    fixture.rmdir(Ino::ROOT, "removed").unwrap();
    let exchange = RenameFlags::EXCHANGE;
    let rename = |from: (Ino, &str), to: (Ino, &str), flags| {
        fixture.fs.rename(&stranger, from.0, n(from.1), to.0, n(to.1), flags)
    };
    let refuse = |from, to, flags| errno(rename(from, to, flags));
    let unknown = RenameFlags::from_bits_retain(4);
    assert_eq!(refuse((file, "x"), (file, "y"), unknown), Errno::EINVAL);
    assert_eq!(refuse((mine, "missing"), (file, "y"), PLAIN), Errno::ENOTDIR);
    assert_eq!(refuse((mine, "missing"), (theirs, "file"), RenameFlags::NOREPLACE), Errno::ENOENT);
    assert_eq!(refuse((theirs, "file"), (theirs, "again"), RenameFlags::NOREPLACE), Errno::EEXIST);
    assert_eq!(refuse((mine, "moved"), (inner, "missing"), exchange), Errno::ENOENT);
    assert_eq!(refuse((mine, "moved"), (inner, "x"), PLAIN), Errno::EINVAL);
    assert_eq!(refuse((moved, "inner"), (mine, "moved"), exchange), Errno::EINVAL);
    assert_eq!(refuse((moved, "inner"), (mine, "moved"), PLAIN), Errno::ENOTEMPTY);
    rename((theirs, "file"), (theirs, "again"), PLAIN).unwrap();
    assert_eq!(fixture.stat(file).nlink, 2, "two names of one inode: before permissions");
    assert_eq!(refuse((theirs, "file"), (removed, "x"), PLAIN), Errno::EACCES);
    assert_eq!(refuse((mine, "moved"), (removed, "x"), PLAIN), Errno::ENOENT);
    assert_eq!(refuse((mine, "moved"), (theirs, "file"), PLAIN), Errno::EACCES, "before the kinds");
    assert_eq!(refuse((mine, "moved"), (mine, "file"), PLAIN), Errno::ENOTDIR);
    fixture.chmod(theirs, 0o777);
    assert_eq!(refuse((theirs, "file"), (mine, "moved"), PLAIN), Errno::EISDIR);
    assert_eq!(
        refuse((mine, "moved"), (theirs, "file"), PLAIN),
        Errno::ENOTDIR,
        "before the moved directory"
    );
    assert_eq!(refuse((mine, "moved"), (theirs, "new"), PLAIN), Errno::EACCES, "its own .. changes");
    assert_eq!(refuse((mine, "moved"), (theirs, "file"), exchange), Errno::EACCES);
    assert_eq!(refuse((theirs, "file"), (mine, "moved"), exchange), Errno::EACCES);
    let target = fixture.directory(theirs, "target");
    fixture.file(target, "entry", b"");
    assert_eq!(refuse((mine, "moved"), (theirs, "target"), PLAIN), Errno::EACCES, "before the entries");
    rename((mine, "moved"), (mine, "renamed"), PLAIN).unwrap();
    assert_eq!(refuse((mine, "renamed"), (mine, "full"), PLAIN), Errno::ENOTEMPTY);
    fixture.chmod(mine, 0o1777);
    assert_eq!(refuse((mine, "renamed"), (mine, "new"), PLAIN), Errno::EPERM);
    fixture.fs.create(&stranger, mine, n("own"), 0o600).unwrap();
    rename((mine, "own"), (mine, "still-own"), PLAIN).unwrap();
    assert_eq!(refuse((mine, "still-own"), (mine, "file"), PLAIN), Errno::EPERM, "the target is another's");
}

// spec: FS-RENAME-7
#[test]
fn a_name_that_exists_throughout_keeps_its_row() {
    let fixture = Fixture::new();
    let root = Ino::ROOT;
    for name in ["a", "b", "c", "d"] {
        fixture.file(root, name, b"");
    }
    let id = |name: &str| fixture.count(&format!("SELECT id FROM fs_dentry WHERE name = '{name}'"));
    let ids = ["a", "b", "c", "d"].map(id);
    fixture.rename((root, "a"), (root, "b"), PLAIN).unwrap();
    assert_eq!(id("b"), ids[1], "the target's row names another inode");
    fixture.rename((root, "c"), (root, "d"), RenameFlags::EXCHANGE).unwrap();
    assert_eq!((id("c"), id("d")), (ids[2], ids[3]));
    fixture.rename((root, "b"), (root, "new"), PLAIN).unwrap();
    assert_eq!(id("new"), ids[1], "a new name takes the row along");
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_dentry"), 3);
}

// spec: FS-RENAME-8, FS-RENAME-9, FS-REAP-3
#[test]
fn an_open_file_that_is_replaced_stays_readable_and_the_mover_keeps_all_but_ctime() {
    let fixture = Fixture::new();
    let old = fixture.file(Ino::ROOT, "old", b"mover");
    let new = fixture.file(Ino::ROOT, "new", b"replaced");
    fixture.clock.advance(7);
    fixture.rename((Ino::ROOT, "old"), (Ino::ROOT, "new"), PLAIN).unwrap();
    let moved = fixture.stat(old.ino);
    assert_eq!(agentfs::types::Attributes { ctime: old.ctime, ..moved }, old);
    assert!(moved.ctime > old.ctime);
    assert_eq!(fixture.content(old.ino), b"mover");
    assert_eq!(fixture.content(new.ino), b"replaced");
    assert_eq!((fixture.stat(new.ino).nlink, fixture.stat(new.ino).ctime), (0, moved.ctime));
    assert_eq!(fixture.count("SELECT ino FROM ext_orphan"), new.ino.0 as i64);
}
