//! Which times each operation touches, and when moved access times are stored.

use agentfs::types::{AtimePolicy, Attributes, Caller, Clock, Ino, SetAttributes, SetTime, SystemClock};
use agentfs::types::{Target, Timestamp};
use agentfs::vfs::{
    DirectoryPosition, FallocateMode, OpenFlags, RenameFlags, SeekTo, Vfs, WriteFlags, XattrMode,
};

use crate::common::{Fixture, START, n};

/// Which of a, m and c differ.
fn moved(before: &Attributes, after: &Attributes) -> String {
    let times = [
        ('a', before.atime != after.atime),
        ('m', before.mtime != after.mtime),
        ('c', before.ctime != after.ctime),
    ];
    times.into_iter().filter(|(_, moved)| *moved).map(|(name, _)| name).collect()
}

fn done<T: std::fmt::Debug>(outcome: agentfs::Result<T>) {
    outcome.unwrap();
}

// spec: FS-TIME-2, FS-TIME-3, FS-TIME-8, FS-ALLOC-9, FS-TRUNC-4, FS-ATTR-1, FS-ATTR-5, FS-DATA-5, FS-LOOKUP-1
#[test]
fn each_operation_touches_its_times_and_no_others() {
    let fixture = Fixture::with(|options| options.atime = AtimePolicy::Strict);
    let (fs, root, caller) = (&fixture.fs, Ino::ROOT, Caller::root());
    let (a, b) = (fixture.directory(root, "a"), fixture.directory(root, "b"));
    let file = fixture.file(a, "f", b"content").ino;
    let other = fixture.file(a, "other", b"other").ino;
    let link = fixture.symlink(a, "l", "f");
    let inner = fixture.directory(a, "inner");
    let watched = [a, b, file, other, link, inner];
    // What moved of each of the watched, as one word.
    let check = |what: &str, expected: &str, run: &dyn Fn()| {
        fixture.clock.advance(1);
        let now = fixture.clock.now();
        let before = watched.map(|ino| fixture.stat(ino));
        run();
        let mut found = Vec::new();
        for (name, old) in ["a", "b", "file", "other", "link", "inner"].iter().zip(&before) {
            let new = fixture.stat(old.ino);
            let times = moved(old, &new);
            if !times.is_empty() {
                found.push(format!("{name}:{times}"));
            }
            for (old, new) in [(old.atime, new.atime), (old.mtime, new.mtime), (old.ctime, new.ctime)] {
                assert!(old == new || new == now, "{what}: {new:?} is not the one time of the operation");
            }
        }
        assert_eq!(found.join(" "), expected, "{what}");
    };
    let set = |changes: SetAttributes| fs.setattr(&caller, file, &changes).map(|_| ()).unwrap();
    let none = SetAttributes::default();
    let rename = |from, to, flags| fixture.rename(from, to, flags).unwrap();
    let target = Target::new(b"t").unwrap();
    check("create", "a:mc", &|| done(fs.create(&caller, a, n("new"), 0o644)));
    check("mkdir", "b:mc", &|| done(fs.mkdir(&caller, b, n("d"), 0o755)));
    check("symlink", "b:mc", &|| done(fs.symlink(&caller, b, n("s"), target)));
    check("link", "b:mc file:c", &|| done(fs.link(&caller, file, b, n("hard"))));
    check("rename of one inode", "", &|| rename((a, "f"), (b, "hard"), RenameFlags::empty()));
    check("unlink", "b:mc file:c", &|| fixture.unlink(b, "hard").unwrap());
    check("rename", "a:mc b:mc file:c", &|| rename((a, "f"), (b, "f"), RenameFlags::empty()));
    check("exchange", "a:mc b:mc file:c other:c", &|| rename((b, "f"), (a, "other"), RenameFlags::EXCHANGE));
    check("write", "file:mc", &|| done(fs.write(file, 0, b"x", WriteFlags::empty())));
    check("write of nothing", "", &|| done(fs.write(file, 9, b"", WriteFlags::empty())));
    check("late write", "", &|| done(fs.write(file, 0, b"y", WriteFlags::KEEP_TIMES)));
    check("fallocate", "file:mc", &|| {
        fs.fallocate(file, 0, 1, FallocateMode::KEEP_SIZE, WriteFlags::empty()).unwrap()
    });
    let punch = FallocateMode::PUNCH_HOLE | FallocateMode::KEEP_SIZE;
    check("punching past the end", "file:mc", &|| {
        fs.fallocate(file, 1000, 1, punch, WriteFlags::empty()).unwrap()
    });
    check("copy", "file:a other:mc", &|| done(fs.copy_file_range(file, 0, other, 0, 3, WriteFlags::empty())));
    check("copy of nothing", "", &|| done(fs.copy_file_range(file, 7, other, 0, 3, WriteFlags::empty())));
    check("truncation to the same size", "file:mc", &|| set(SetAttributes { size: Some(7), ..none }));
    let truncate = OpenFlags::WRITE | OpenFlags::TRUNCATE;
    check("open with truncation", "file:mc", &|| fs.open(&caller, file, truncate).unwrap());
    check("the same when empty", "file:mc", &|| fs.open(&caller, file, truncate).unwrap());
    check("chmod", "file:c", &|| set(SetAttributes { permissions: Some(0o640), ..none }));
    check("chown", "file:c", &|| set(SetAttributes { uid: Some(agentfs::types::Uid(1)), ..none }));
    check("chown of nothing", "file:c", &|| set(none));
    check("utimensat", "file:ac", &|| set(SetAttributes { atime: Some(SetTime::Now), ..none }));
    let mode = XattrMode::Set;
    check("setxattr", "file:c", &|| fs.setxattr(&caller, file, b"user.a", b"1", mode).unwrap());
    check("removexattr", "file:c", &|| fs.removexattr(&caller, file, b"user.a").unwrap());
    check("read at the end", "file:a", &|| done(fs.read(file, 100, 1)));
    check("read of nothing", "", &|| done(fs.read(other, 0, 0)));
    let start = DirectoryPosition::START;
    check("readdir", "inner:a", &|| done(fs.readdir(inner, start, 1, false)));
    check("readlink", "link:a", &|| done(fs.readlink(link)));
    check("what only looks", "", &|| {
        fixture.lookup(a, "f").map(|_| ()).unwrap_err();
        fixture.lookup(a, "other").unwrap();
        fs.access(&caller, other, agentfs::types::Access::all() - agentfs::types::Access::EXECUTE).unwrap();
        fs.parent(a).unwrap();
        fs.open(&caller, other, OpenFlags::READ).unwrap();
        fs.seek(other, 0, SeekTo::Data).unwrap();
        fs.getxattr(&caller, other, b"user.a").unwrap_err();
        fs.listxattr(&caller, other).unwrap();
        fs.statfs().unwrap();
        fs.fsync(other).unwrap();
        fs.forget(file, 1);
    });
    check("rename over", "a:mc b:mc file:c other:c", &|| {
        rename((a, "other"), (b, "f"), RenameFlags::empty())
    });
    check("rmdir", "a:mc inner:c", &|| fixture.rmdir(a, "inner").unwrap());
}

// spec: FS-TIME-1
#[test]
fn the_default_clock_is_the_coarse_one_of_the_host() {
    let ticks: std::collections::BTreeSet<Timestamp> = (0..1000).map(|_| SystemClock.now()).collect();
    assert!(ticks.len() < 500, "a fine clock has a new time at every call");
    let host = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!((host.as_secs() as i64 - SystemClock.now().seconds).abs() < 2);
}

// spec: FS-TIME-5
#[test]
fn a_moved_access_time_is_seen_at_once_and_stored_with_the_next_operation_that_writes() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"x").ino;
    fixture.fs.sync().unwrap();
    let stored = || {
        let connection = rusqlite::Connection::open(fixture.path()).unwrap();
        let sql = "SELECT atime FROM fs_inode WHERE ino = ?";
        connection.query_row(sql, [file.0], |row| row.get::<_, i64>(0)).unwrap()
    };
    fixture.clock.advance(5);
    fixture.fs.read(file, 0, 1).unwrap();
    assert_eq!(fixture.stat(file).atime.seconds, START.seconds + 5);
    std::thread::sleep(std::time::Duration::from_millis(150));
    assert_eq!(stored(), START.seconds, "no group of its own");
    fixture.file(Ino::ROOT, "g", b"");
    std::thread::sleep(std::time::Duration::from_millis(10));
    let start = std::time::Instant::now();
    while stored() == START.seconds {
        assert!(start.elapsed().as_secs() < 10, "not with the group that was committed");
    }
    assert_eq!(stored(), START.seconds + 5);
}

// spec: FS-TIME-6
#[test]
fn an_access_time_that_waits_gives_way_to_one_that_is_set() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"x").ino;
    fixture.clock.advance(5);
    fixture.fs.read(file, 0, 1).unwrap();
    let given = Timestamp::new(7, 8);
    let changes = SetAttributes { atime: Some(SetTime::At(given)), ..SetAttributes::default() };
    fixture.fs.setattr(&Caller::root(), file, &changes).unwrap();
    assert_eq!(fixture.stat(file).atime, given);
    assert_eq!(fixture.reopen().stat(file).atime, given);
}

// spec: FS-TIME-4
#[test]
fn a_read_only_database_keeps_its_access_times() {
    let fixture = Fixture::with(|options| options.atime = AtimePolicy::Strict);
    let file = fixture.file(Ino::ROOT, "f", b"x").ino;
    let fixture = fixture.read_only();
    fixture.clock.advance(5);
    fixture.fs.read(file, 0, 1).unwrap();
    assert_eq!(fixture.stat(file).atime, START);
}
