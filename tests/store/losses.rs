//! What fails on the way to the disk: operations, groups, and what is said of it.

use std::time::{Duration, Instant};

use agentfs::types::{Caller, Ino};
use agentfs::vfs::{Vfs, WriteFlags};
use agentfs::{AgentFs, Errno, Options};

use crate::common::{Fixture, errno, n};

/// A file system whose groups wait for a barrier.
fn patient() -> Fixture {
    Fixture::with(|options| {
        options.group.idle = Duration::from_secs(3600);
        options.group.age = Duration::from_secs(3600);
    })
}

/// Makes the commit of the open group fail, as a full or failing disk does: with a foreign key that is
/// checked then, in a table of another program.
fn doom(fixture: &Fixture) {
    fixture.fs.store().mutate(|session| session.execute("INSERT INTO doom VALUES (4711)", [])).unwrap();
}

fn doomable() -> Fixture {
    let fixture = patient();
    fixture.foreign("CREATE TABLE doom (ino INTEGER REFERENCES fs_inode(ino) DEFERRABLE INITIALLY DEFERRED)");
    fixture
}

// spec: DUR-6, FMT-9
#[test]
fn a_lost_group_is_gone_and_reported_once_to_everyone_it_concerns() {
    let fixture = doomable();
    let fs = &fixture.fs;
    let kept = fixture.file(Ino::ROOT, "kept", b"before").ino;
    let apart = fixture.file(Ino::ROOT, "apart", b"").ino;
    fs.sync().unwrap();
    fs.write(kept, 0, b"after!", WriteFlags::empty()).unwrap();
    let lost = fixture.file(Ino::ROOT, "lost", b"lost").ino;
    doom(&fixture);
    assert_eq!(errno(fs.fsync(kept)), Errno::EIO);
    fs.fsync(kept).unwrap();
    fs.fsync(apart).unwrap();
    assert_eq!(errno(fs.fsync(lost)), Errno::EIO, "each inode is told");
    assert_eq!(errno(fs.fsync(Ino::ROOT)), Errno::EIO, "the directory too");
    assert_eq!(errno(fs.sync()), Errno::EIO);
    fs.sync().unwrap();
    fs.fsync(lost).unwrap();
    assert_eq!(fixture.content(kept), b"before", "reads show what the database holds");
    assert_eq!(fixture.names(Ino::ROOT), ["apart", "kept"]);
    assert_eq!(errno(fs.getattr(lost)), Errno::ENOENT);
    let next = fixture.file(Ino::ROOT, "next", b"").ino;
    assert!(next > lost, "{lost} may still be known to somebody");
    fixture.fs.sync().unwrap();
    assert_eq!(fixture.reopen().names(Ino::ROOT), ["apart", "kept", "next"]);
}

// spec: DUR-6
#[test]
fn a_group_that_is_lost_in_the_background_is_reported_by_the_next_fsync() {
    let fixture = doomable();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    fixture.fs.sync().unwrap();
    fixture.fs.write(file, 0, b"x", WriteFlags::empty()).unwrap();
    doom(&fixture);
    // A barrier of the store alone, as the thread that commits in time.
    assert_eq!(errno(fixture.fs.store().barrier()), Errno::EIO);
    fixture.file(Ino::ROOT, "later", b"");
    assert_eq!(errno(fixture.fs.fsync(file)), Errno::EIO);
    fixture.fs.fsync(file).unwrap();
    assert_eq!(errno(fixture.fs.sync()), Errno::EIO);
    assert_eq!(fixture.names(Ino::ROOT), ["f", "later"]);
}

// spec: DUR-6, FS-ERR-2
#[test]
fn a_statement_that_finds_the_disk_full_costs_the_group_and_says_so() {
    let fixture = patient();
    let fs = &fixture.fs;
    let kept = fixture.file(Ino::ROOT, "kept", b"before").ino;
    fs.sync().unwrap();
    // What DUR-5 prevents in practice: SQLite gives the transaction up.
    let limit =
        fs.store().read(|session| session.row("PRAGMA max_page_count = 1", [], |row| row.get::<_, i64>(0)));
    assert!(limit.unwrap().is_some_and(|pages| pages < 100));
    fs.write(kept, 0, b"after!", WriteFlags::empty()).unwrap();
    assert_eq!(errno(fs.write(kept, 0, &[1; 1 << 20], WriteFlags::empty())), Errno::ENOSPC);
    assert_eq!(fixture.content(kept), b"before");
    assert_eq!(errno(fs.fsync(kept)), Errno::ENOSPC);
    assert_eq!(errno(fs.sync()), Errno::ENOSPC);
    fs.fsync(kept).unwrap();
    fs.sync().unwrap();
    fixture.unlink(Ino::ROOT, "kept").unwrap();
    assert_eq!(fixture.reopen().names(Ino::ROOT), Vec::<String>::new());
}

// spec: DUR-9
#[test]
fn whoever_waits_too_long_for_another_writer_is_told_busy() {
    assert_eq!(Options::default().busy_timeout, Duration::from_secs(30));
    let fixture = Fixture::with(|options| options.busy_timeout = Duration::from_millis(50));
    fixture.fs.sync().unwrap();
    let other = rusqlite::Connection::open(fixture.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    assert_eq!(errno(fixture.fs.create(&Caller::root(), Ino::ROOT, n("f"), 0o644)), Errno::EBUSY);
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert_eq!(fixture.names(Ino::ROOT), Vec::<String>::new(), "reading goes on");
    other.execute_batch("COMMIT").unwrap();
    fixture.file(Ino::ROOT, "f", b"");
}

// spec: DUR-3
#[test]
fn groups_are_short_unless_told_otherwise() {
    let limits = Options::default().group;
    assert_eq!((limits.idle, limits.age), (Duration::from_millis(10), Duration::from_millis(100)));
    assert_eq!(limits.bytes, 8 << 20);
}

// spec: DUR-13
#[test]
fn a_barrier_with_nothing_to_do_writes_nothing() {
    let fixture = patient();
    let file = fixture.file(Ino::ROOT, "f", b"content").ino;
    fixture.fs.sync().unwrap();
    let state = |fixture: &Fixture| {
        ["agent.db", "agent.db-wal"].map(|name| {
            let metadata = std::fs::metadata(fixture.folder.path().join(name)).ok();
            metadata.map(|metadata| (metadata.len(), metadata.modified().unwrap()))
        })
    };
    let before = state(&fixture);
    for _ in 0..3 {
        fixture.fs.sync().unwrap();
        fixture.fs.fsync(file).unwrap();
    }
    assert_eq!(state(&fixture), before);
    let fixture = fixture.read_only();
    fixture.fs.fsync(file).unwrap();
    fixture.fs.sync().unwrap();
}

// spec: DUR-6, FS-REAP-1, FS-REAP-12
#[test]
fn a_file_whose_removal_was_lost_outlives_its_last_reference() {
    let fixture = doomable();
    let file = fixture.file(Ino::ROOT, "f", b"content").ino;
    fixture.fs.sync().unwrap();
    fixture.unlink(Ino::ROOT, "f").unwrap();
    doom(&fixture);
    assert_eq!(errno(fixture.fs.sync()), Errno::EIO);
    fixture.fs.forget(file, 1);
    assert_eq!(fixture.lookup(Ino::ROOT, "f").unwrap().nlink, 1);
    assert_eq!(fixture.content(file), b"content");
    // And goes when it is removed again.
    fixture.fs.forget(file, 1);
    fixture.unlink(Ino::ROOT, "f").unwrap();
    assert_eq!(errno(fixture.fs.getattr(file)), Errno::ENOENT);
}

// spec: DUR-6, FS-REAP-12
#[test]
fn rows_whose_removal_was_lost_go_with_the_next_sweep() {
    let fixture = doomable();
    let file = fixture.file(Ino::ROOT, "f", b"content").ino;
    fixture.unlink(Ino::ROOT, "f").unwrap();
    fixture.fs.sync().unwrap();
    fixture.fs.forget(file, 1);
    assert_eq!(errno(fixture.fs.getattr(file)), Errno::ENOENT);
    doom(&fixture);
    assert_eq!(errno(fixture.fs.sync()), Errno::EIO);
    assert_eq!(fixture.content(file), b"content");
    assert_eq!(fixture.fs.sweep_orphans().unwrap(), 1);
    assert_eq!(errno(fixture.fs.getattr(file)), Errno::ENOENT);
}

// spec: DUR-6, FMT-9
#[test]
fn a_lost_number_stays_used_up_also_after_groups_that_make_nothing() {
    let fixture = doomable();
    let kept = fixture.file(Ino::ROOT, "kept", b"").ino;
    fixture.fs.sync().unwrap();
    let lost = fixture.file(Ino::ROOT, "lost", b"").ino;
    doom(&fixture);
    assert_eq!(errno(fixture.fs.sync()), Errno::EIO);
    for content in [b"1", b"2"] {
        fixture.fs.write(kept, 0, content, WriteFlags::empty()).unwrap();
        fixture.fs.sync().unwrap();
    }
    let next = fixture.file(Ino::ROOT, "next", b"").ino;
    assert!(next > lost, "{next} may still be known to somebody as the lost file {lost}");
}

// spec: FMT-9, FS-REAP-12
#[test]
fn a_lost_number_that_another_process_is_given_stays_nothing_to_who_still_has_it() {
    let fixture = doomable();
    let fs = &fixture.fs;
    let lost = fixture.file(Ino::ROOT, "lost", b"lost").ino;
    doom(&fixture);
    assert_eq!(errno(fs.sync()), Errno::EIO);
    let other = AgentFs::open(&fixture.path(), &fixture.options).unwrap();
    let theirs = other.create(&Caller::root(), Ino::ROOT, n("theirs"), 0o644).unwrap().ino;
    other.write(theirs, 0, b"theirs", WriteFlags::empty()).unwrap();
    other.sync().unwrap();
    assert_eq!(theirs, lost, "the case that this is about");
    assert_eq!(errno(fs.read(lost, 0, 6)), Errno::ENOENT);
    assert_eq!(errno(fs.write(lost, 0, b"mine", WriteFlags::empty())), Errno::ENOENT);
    assert_eq!(errno(fixture.lookup(Ino::ROOT, "theirs")), Errno::EIO, "it cannot be told from the lost one");
    assert_eq!(fixture.names(Ino::ROOT), Vec::<String>::new());
    fs.forget(lost, 1);
    assert_eq!(fixture.lookup(Ino::ROOT, "theirs").unwrap().ino, theirs);
    assert_eq!(fixture.content(theirs), b"theirs");
    other.close().unwrap();
}

// spec: DUR-6, FS-REAP-2
#[test]
fn an_operation_that_fails_with_its_group_takes_no_reference() {
    let fixture = Fixture::with(|options| {
        options.group.idle = Duration::from_secs(3600);
        options.group.age = Duration::from_secs(3600);
        options.group.bytes = 512 << 10;
    });
    fixture.foreign("CREATE TABLE doom (ino INTEGER REFERENCES fs_inode(ino) DEFERRABLE INITIALLY DEFERRED)");
    doom(&fixture);
    let full = (0..100).find_map(|i| {
        fixture
            .fs
            .create(&Caller::root(), Ino::ROOT, n(&format!("f{i}")), 0o644)
            .err()
            .map(|error| (i, error))
    });
    let (made, error) = full.expect("the group is full at some time");
    assert_eq!(error.errno(), Errno::EIO);
    assert_eq!(fixture.fs.referenced_inodes(), made, "what was handed out before, and not what failed");
}

// spec: DUR-6
#[test]
fn a_group_that_a_failing_query_costs_is_lost_before_the_next_operation() {
    let fixture = patient();
    let kept = fixture.file(Ino::ROOT, "kept", b"before").ino;
    fixture.fs.sync().unwrap();
    fixture.fs.write(kept, 0, b"after!", WriteFlags::empty()).unwrap();
    // What SQLite does by itself when a query meets an I/O error.
    fixture.fs.store().read(|session| session.execute("ROLLBACK", [])).unwrap();
    assert_eq!(fixture.content(kept), b"before");
    fixture.file(Ino::ROOT, "next", b"");
    assert_eq!(errno(fixture.fs.fsync(kept)), Errno::EIO);
    fixture.fs.fsync(kept).unwrap();
    assert_eq!(errno(fixture.fs.sync()), Errno::EIO);
    assert_eq!(fixture.reopen().names(Ino::ROOT), ["kept", "next"]);
}

// spec: DUR-6
#[test]
fn a_barrier_on_what_a_lost_group_did_not_touch_succeeds() {
    let fixture = doomable();
    let fs = &fixture.fs;
    let apart = fixture.file(Ino::ROOT, "apart", b"").ino;
    let kept = fixture.file(Ino::ROOT, "kept", b"").ino;
    fs.sync().unwrap();
    fs.write(kept, 0, b"lost", WriteFlags::empty()).unwrap();
    doom(&fixture);
    fs.fsync(apart).unwrap();
    assert_eq!(errno(fs.fsync(kept)), Errno::EIO);
    assert_eq!(errno(fs.sync()), Errno::EIO);
    fs.sync().unwrap();
}

// spec: FS-TIME-5, DUR-9
#[test]
fn reading_goes_on_while_access_times_wait_for_another_writer() {
    let fixture = Fixture::with(|options| options.busy_timeout = Duration::from_millis(200));
    let directory = fixture.directory(Ino::ROOT, "d");
    let files: Vec<Ino> = (0..4100).map(|i| fixture.file(directory, &format!("f{i}"), b"").ino).collect();
    fixture.fs.sync().unwrap();
    fixture.clock.advance(1);
    let other = rusqlite::Connection::open(fixture.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    for &file in files.iter().chain(&files) {
        fixture.fs.read(file, 0, 1).unwrap();
    }
    // Waiting at every read past the 4096th would take a quarter of an hour.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    other.execute_batch("COMMIT").unwrap();
    fixture.fs.sync().unwrap();
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_inode WHERE atime > mtime"), 4100);
}

// spec: DUR-4, DUR-12, FS-TIME-5
#[test]
fn a_barrier_does_not_fail_for_access_times_that_cannot_be_stored_now() {
    let fixture = Fixture::with(|options| options.busy_timeout = Duration::from_millis(50));
    let file = fixture.file(Ino::ROOT, "f", b"x").ino;
    fixture.fs.sync().unwrap();
    fixture.clock.advance(1);
    fixture.content(file);
    let other = rusqlite::Connection::open(fixture.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    fixture.fs.fsync(file).unwrap();
    fixture.fs.sync().unwrap();
    other.execute_batch("COMMIT").unwrap();
    fixture.fs.sync().unwrap();
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_inode WHERE atime > mtime"), 1, "they still wait");
}

// spec: DUR-6, KV-8
#[test]
fn a_group_that_changed_no_file_is_not_reported_to_the_files_of_the_group_before() {
    let fixture = doomable();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    fixture.fs.sync().unwrap();
    fixture.fs.write(file, 0, b"kept", WriteFlags::empty()).unwrap();
    fixture.fs.store().barrier().unwrap();
    fixture.fs.kv().set_text("key", "1").unwrap();
    doom(&fixture);
    assert_eq!(errno(fixture.fs.store().barrier()), Errno::EIO);
    fixture.fs.fsync(file).unwrap();
    assert_eq!(errno(fixture.fs.sync()), Errno::EIO);
    assert_eq!(fixture.content(file), b"kept");
}

// spec: DUR-6
#[test]
fn a_barrier_that_meets_one_lost_group_after_another_reports_none_that_is_not_its_own() {
    let fixture = doomable();
    let fs = &fixture.fs;
    let apart = fixture.file(Ino::ROOT, "apart", b"").ino;
    let others = fixture.file(Ino::ROOT, "others", b"").ino;
    fs.sync().unwrap();
    let end = Instant::now() + Duration::from_millis(500);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while Instant::now() < end {
                // Either may meet the failure of a group itself.
                let _ = fs.write(others, 0, b"lost", WriteFlags::empty());
                let _ = fs.store().mutate(|session| session.execute("INSERT INTO doom VALUES (4711)", []));
            }
        });
        while Instant::now() < end {
            fs.fsync(apart).unwrap();
        }
    });
}
