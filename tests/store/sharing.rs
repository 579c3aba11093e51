//! Several stores on one file. Locks belong to open file descriptions, so two stores in this
//! process stand to each other like two processes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agentfs::error::DatabaseProblem;
use agentfs::store::MountHolder;
use agentfs::types::{Caller, Ino, Name};
use agentfs::vfs::{Vfs, WriteFlags};
use agentfs::{AgentFs, Errno, Error};

use crate::common::{Fixture, errno, n};

fn second(fixture: &Fixture) -> AgentFs {
    AgentFs::open(&fixture.path(), &fixture.options).unwrap()
}

fn create(fs: &AgentFs, name: &str) -> agentfs::Result<Ino> {
    Ok(fs.create(&Caller::root(), Ino::ROOT, Name::new(name.as_bytes())?, 0o644)?.ino)
}

// spec: DUR-9
#[test]
fn a_waiting_writer_gets_its_turn_from_one_that_never_rests() {
    let fixture = Fixture::new();
    let other = second(&fixture);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut i = 0;
            while !stop.load(Ordering::Relaxed) {
                create(&fixture.fs, &format!("busy{i}")).unwrap();
                i += 1;
            }
        });
        let mut longest = Duration::ZERO;
        for i in 0..25 {
            let start = Instant::now();
            create(&other, &format!("waiting{i}")).unwrap();
            longest = longest.max(start.elapsed());
            other.sync().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        assert!(longest < Duration::from_millis(1500), "waited {longest:?}");
    });
    assert!(fixture.lookup(Ino::ROOT, "waiting24").is_ok());
}

// spec: DUR-10
#[test]
fn what_another_store_committed_is_seen_and_memory_of_the_old_state_is_dropped() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    assert_eq!(fixture.stat(directory).nlink, 2);
    let before = fixture.fs.store().foreign_changes().unwrap();
    fixture.fs.sync().unwrap();
    let other = second(&fixture);
    other.mkdir(&Caller::root(), directory, n("inner"), 0o755).unwrap();
    other.sync().unwrap();
    assert_eq!(fixture.stat(directory).nlink, 3);
    assert!(fixture.fs.store().foreign_changes().unwrap() > before);
    let after = fixture.fs.store().foreign_changes().unwrap();
    fixture.file(Ino::ROOT, "own", b"");
    fixture.fs.sync().unwrap();
    assert_eq!(fixture.fs.store().foreign_changes().unwrap(), after, "our own commits are not foreign");
}

// spec: DUR-10
#[test]
fn a_reading_operation_sees_one_state_while_others_commit() {
    let fixture = Fixture::new();
    fixture.fs.sync().unwrap();
    let other = second(&fixture);
    let count = |session: &agentfs::store::Session<'_>| {
        session.row("SELECT COUNT(*) FROM fs_inode", [], |row| row.get::<_, i64>(0))
    };
    let (before, after) = fixture
        .fs
        .store()
        .read(|session| {
            let before = count(session)?;
            create(&other, "meanwhile")?;
            other.sync()?;
            Ok((before, count(session)?))
        })
        .unwrap();
    assert_eq!(before, after);
    assert!(fixture.lookup(Ino::ROOT, "meanwhile").is_ok(), "the next one sees the new state");
}

fn holder(mountpoint: &str) -> MountHolder {
    MountHolder { pid: 4711, host: "here".into(), mountpoint: mountpoint.into(), since: 1 }
}

// spec: MNT-1
#[test]
fn a_database_is_mounted_for_writing_once_and_the_holder_is_named() {
    let fixture = Fixture::new();
    let other = second(&fixture);
    fixture.fs.store().claim_mount(&holder("/mnt/first")).unwrap();
    let refused = other.store().claim_mount(&holder("/mnt/second")).unwrap_err();
    assert_eq!(refused.errno(), Errno::EBUSY);
    let Error::Database { problem: DatabaseProblem::Mounted { mountpoint, pid, .. }, .. } = refused else {
        panic!("{refused}");
    };
    assert_eq!((&mountpoint[..], pid), ("/mnt/first", 4711));
    assert_eq!(other.store().mount_holder().unwrap(), Some(holder("/mnt/first")));
    fixture.fs.store().release_mount().unwrap();
    assert_eq!(other.store().mount_holder().unwrap(), None);
    other.store().claim_mount(&holder("/mnt/second")).unwrap();
}

// spec: FS-REAP-5, FS-REAP-6
#[test]
fn beside_a_mount_an_unlinked_file_is_left_for_the_mount_to_reap() {
    let fixture = Fixture::new();
    fixture.fs.store().claim_mount(&holder("/mnt")).unwrap();
    let open = fixture.file(Ino::ROOT, "open", b"still read").ino;
    fixture.fs.sync().unwrap();
    let other = second(&fixture);
    other.unlink(&Caller::root(), Ino::ROOT, n("open")).unwrap();
    other.close().unwrap();
    assert_eq!(errno(fixture.lookup(Ino::ROOT, "open")), Errno::ENOENT);
    assert_eq!(fixture.content(open), b"still read");
    fixture.fs.sweep_orphans().unwrap();
    assert_eq!(fixture.content(open), b"still read", "a sweep spares what is referenced");
    fixture.fs.forget(open, 1);
    assert_eq!(errno(fixture.fs.getattr(open)), Errno::ENOENT);
}

// spec: OPEN-9
#[test]
fn the_last_of_several_stores_leaves_one_file() {
    let fixture = Fixture::new();
    let other = second(&fixture);
    let file = create(&other, "f").unwrap();
    other.write(file, 0, b"x", WriteFlags::empty()).unwrap();
    let Fixture { fs, folder, .. } = fixture;
    fs.close().unwrap();
    other.close().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

// spec: FS-REAP-5
#[test]
fn beside_a_mount_the_last_reference_of_another_removes_nothing() {
    let fixture = Fixture::new();
    fixture.fs.store().claim_mount(&holder("/mnt")).unwrap();
    let open = fixture.file(Ino::ROOT, "open", b"still read").ino;
    fixture.fs.sync().unwrap();
    let other = second(&fixture);
    assert_eq!(other.lookup(&Caller::root(), Ino::ROOT, n("open")).unwrap().ino, open);
    other.unlink(&Caller::root(), Ino::ROOT, n("open")).unwrap();
    other.forget(open, 1);
    other.sync().unwrap();
    assert_eq!(fixture.content(open), b"still read");
    assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_orphan"), 1);
    other.close().unwrap();
    fixture.fs.sweep_orphans().unwrap();
    fixture.fs.forget(open, 1);
    assert_eq!(errno(fixture.fs.getattr(open)), Errno::ENOENT);
}

// spec: OPEN-9, DUR-4
#[test]
fn what_is_acknowledged_while_the_database_closes_is_kept() {
    for _ in 0..5 {
        let fixture = Fixture::new();
        let acknowledged = std::thread::scope(|scope| {
            let busy = scope.spawn(|| {
                let acknowledged = (0..).take_while(|i| create(&fixture.fs, &format!("f{i}")).is_ok());
                acknowledged.last()
            });
            while fixture.lookup(Ino::ROOT, "f0").is_err() {}
            fixture.fs.shut_down().unwrap();
            busy.join().unwrap()
        });
        let last = format!("f{}", acknowledged.expect("the first was there"));
        assert_eq!(std::fs::read_dir(fixture.folder.path()).unwrap().count(), 1, "one file is left");
        let fs = AgentFs::open(&fixture.path(), &fixture.options).unwrap();
        assert!(fs.lookup(&Caller::root(), Ino::ROOT, n(&last)).is_ok(), "{last} is gone");
    }
}
