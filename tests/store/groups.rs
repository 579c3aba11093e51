//! The group transaction and its barriers.

use std::time::{Duration, Instant};

use agentfs::types::{Caller, Ino, Name};
use agentfs::vfs::{Vfs, WriteFlags};
use agentfs::{AgentFs, Errno, Options};

use crate::common::{Fixture, errno, n};

/// How many files another process would see now.
fn visible_files(fixture: &Fixture) -> i64 {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = rusqlite::Connection::open_with_flags(fixture.path(), flags).unwrap();
    connection.query_row("SELECT COUNT(*) FROM fs_dentry", [], |row| row.get(0)).unwrap()
}

// spec: DUR-3, DUR-8
#[test]
fn a_group_stays_open_until_its_time_and_then_commits_by_itself() {
    let fixture = Fixture::with(|options| {
        options.group.idle = Duration::from_millis(300);
        options.group.age = Duration::from_millis(300);
    });
    fixture.fs.sync().unwrap();
    fixture.file(Ino::ROOT, "f", b"");
    assert_eq!(visible_files(&fixture), 0, "acknowledged, in the open group");
    let start = Instant::now();
    while visible_files(&fixture) == 0 {
        assert!(start.elapsed() < Duration::from_secs(10), "the group was never committed");
        std::thread::sleep(Duration::from_millis(10));
    }
}

// spec: DUR-3
#[test]
fn a_group_that_grows_large_commits_at_once() {
    let fixture = Fixture::with(|options| {
        options.group.idle = Duration::from_secs(3600);
        options.group.age = Duration::from_secs(3600);
        options.group.bytes = 1 << 20;
    });
    fixture.fs.sync().unwrap();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    assert_eq!(visible_files(&fixture), 0);
    for chunk in 0..16 {
        fixture.fs.write(file, chunk << 16, &[1; 65536], WriteFlags::empty()).unwrap();
    }
    assert_eq!(visible_files(&fixture), 1);
}

// spec: DUR-2
#[test]
fn a_refused_operation_leaves_no_trace_in_the_group() {
    let fixture = Fixture::new();
    fixture.file(Ino::ROOT, "before", b"");
    assert_eq!(errno(fixture.fs.create(&Caller::root(), Ino::ROOT, n("before"), 0o644)), Errno::EEXIST);
    let failed: agentfs::Result<()> = fixture.fs.store().mutate(|session| {
        session.execute("DELETE FROM fs_dentry", [])?;
        Err(Errno::EPERM.into())
    });
    assert_eq!(errno(failed), Errno::EPERM);
    fixture.file(Ino::ROOT, "after", b"");
    assert_eq!(fixture.names(Ino::ROOT), ["after", "before"]);
}

// spec: DUR-1, DUR-4
#[test]
fn what_a_barrier_covered_survives_a_kill() {
    let fixture = Fixture::with(|options| options.group.idle = Duration::from_secs(3600));
    let file = fixture.file(Ino::ROOT, "f", &[7; 100_000]).ino;
    fixture.fs.fsync(file).unwrap();
    fixture.file(Ino::ROOT, "not-covered", b"");
    // The files as they are on disk now; the open group is in memory only.
    let folder = tempfile::tempdir().unwrap();
    for name in ["agent.db", "agent.db-wal"] {
        std::fs::copy(fixture.folder.path().join(name), folder.path().join(name)).unwrap();
    }
    let fs = AgentFs::open(&folder.path().join("agent.db"), &Options::default()).unwrap();
    let found = fs.lookup(&Caller::root(), Ino::ROOT, n("f")).unwrap();
    assert_eq!(fs.read(found.ino, 0, 200_000).unwrap(), [7; 100_000]);
    assert_eq!(errno(fs.lookup(&Caller::root(), Ino::ROOT, n("not-covered"))), Errno::ENOENT);
}

// spec: OPEN-9
#[test]
fn a_clean_close_leaves_one_file() {
    let fixture = Fixture::new();
    for i in 0..200 {
        let name = format!("f{i}");
        let made = fixture.fs.create(&Caller::root(), Ino::ROOT, Name::new(name.as_bytes()).unwrap(), 0o644);
        fixture.fs.write(made.unwrap().ino, 0, &[1; 10_000], WriteFlags::empty()).unwrap();
    }
    let Fixture { fs, folder, .. } = fixture;
    fs.close().unwrap();
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["agent.db"]);
    let found: String = rusqlite::Connection::open(folder.path().join("agent.db"))
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(found, "ok");
}

// spec: DUR-14
#[test]
fn the_log_does_not_grow_without_end() {
    // With the committer's usual times, and where nothing but its size ends a group: then a writer is made to wait.
    for pause in [Duration::from_millis(10), Duration::from_secs(3600)] {
        let fixture = Fixture::with(|options| (options.group.idle, options.group.age) = (pause, pause * 10));
        let file = fixture.file(Ino::ROOT, "f", b"").ino;
        let mut longest = 0;
        for round in 0..200_u8 {
            let megabyte = vec![round; 1 << 20];
            fixture.fs.write(file, u64::from(round % 16) << 20, &megabyte, WriteFlags::empty()).unwrap();
            let log = std::fs::metadata(fixture.folder.path().join("agent.db-wal")).unwrap().len();
            longest = longest.max(log);
        }
        assert!(longest < 80 << 20, "the log reached {longest} bytes");
    }
}

// spec: DUR-2
#[test]
fn an_operation_that_panics_leaves_no_trace_in_the_group() {
    let fixture = Fixture::new();
    fixture.file(Ino::ROOT, "before", b"");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        fixture.fs.store().mutate(|session| -> agentfs::Result<()> {
            session.execute("DELETE FROM fs_dentry", [])?;
            panic!("in the middle of an operation")
        })
    }));
    assert!(panicked.is_err());
    fixture.file(Ino::ROOT, "after", b"");
    let fixture = fixture.reopen();
    assert_eq!(fixture.names(Ino::ROOT), ["after", "before"]);
}
