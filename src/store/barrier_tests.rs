//! Barriers whose flush fails. Only here can the connection that flushes be exchanged for one that cannot.

use std::sync::atomic::Ordering;

use rusqlite::Connection;

use super::{Store, wal};
use crate::error::Errno;
use crate::types::Options;

// spec: DUR-7
#[test]
fn after_a_flush_that_failed_no_barrier_succeeds_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let store = Store::create(&path, &Options::default()).unwrap();
    let change = || store.mutate(|session| session.execute("UPDATE fs_inode SET atime = atime + 1", []));
    let errno = || store.barrier().map_err(|error| error.errno());
    change().unwrap();
    assert_eq!(errno(), Ok(()));
    // It has no log that could be flushed.
    let memory = Connection::open_in_memory().unwrap();
    let real = store.shared.syncer.lock().connection.replace(memory);
    assert_eq!(errno(), Ok(()), "nothing is pending");
    change().unwrap();
    assert_eq!(errno(), Err(Errno::EIO));
    store.shared.syncer.lock().connection = real;
    assert_eq!(errno(), Err(Errno::EIO), "also when it could be flushed again");
    change().unwrap();
    assert_eq!(errno(), Err(Errno::EIO));
    assert_eq!(store.close().map_err(|error| error.errno()), Err(Errno::EIO), "the last barrier as well");
    let store = Store::open(&path, &Options::default()).unwrap();
    store.barrier().unwrap();
}

/// Whether a barrier has something to flush: it fails when it cannot.
fn flushes(store: &Store) -> bool {
    let memory = Connection::open_in_memory().unwrap();
    let real = store.shared.syncer.lock().connection.replace(memory);
    let outcome = store.barrier();
    store.shared.syncer.lock().connection = real;
    store.shared.flush_failed.store(false, Ordering::Release);
    outcome.is_err()
}

const CHANGE: &str = "UPDATE fs_inode SET atime = atime + 1";

// spec: DUR-4, DUR-15
#[test]
fn a_barrier_flushes_also_what_another_process_has_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let store = Store::create(&path, &Options::default()).unwrap();
    let other = Store::open(&path, &Options::default()).unwrap();
    assert!(!flushes(&store), "nothing is pending");
    other.mutate(|session| session.execute(CHANGE, [])).unwrap();
    other.shared.commit(&mut other.shared.writer.lock()).unwrap();
    assert!(flushes(&store), "the other has committed, and never flushed");
    store.barrier().unwrap();
    assert!(!flushes(&store), "that was enough");
}

// spec: DUR-15, OPEN-3
#[test]
fn the_first_barrier_flushes_the_log_that_a_dead_process_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let dead = Store::create(&path, &Options::default()).unwrap();
    dead.mutate(|session| session.execute(CHANGE, [])).unwrap();
    dead.shared.commit(&mut dead.shared.writer.lock()).unwrap();
    let left = tempfile::tempdir().unwrap();
    for name in ["agent.db", "agent.db-wal"] {
        std::fs::copy(folder.path().join(name), left.path().join(name)).unwrap();
    }
    let store = Store::open(&left.path().join("agent.db"), &Options::default()).unwrap();
    assert!(flushes(&store));
    store.barrier().unwrap();
    assert!(!flushes(&store));
}

// spec: DUR-16, DUR-7, OPEN-3
#[test]
fn after_a_flush_that_failed_nothing_is_copied_from_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let store = Store::create(&path, &Options::default()).unwrap();
    let main = || std::fs::read(&path).unwrap();
    let before = main();
    store.mutate(|session| session.execute(CHANGE, [])).unwrap();
    let memory = Connection::open_in_memory().unwrap();
    store.shared.syncer.lock().connection.replace(memory);
    store.barrier().unwrap_err();
    store.shared.empty_log(&mut store.shared.writer.lock()).unwrap();
    assert!(main() == before, "by a checkpoint");
    store.close().unwrap_err();
    assert!(main() == before, "at the end");
    let store = Store::open(&path, &Options::default()).unwrap();
    let atime = |session: &super::Session<'_>| {
        session.row("SELECT atime > mtime FROM fs_inode WHERE ino = 1", [], |row| row.get::<_, bool>(0))
    };
    assert_eq!(store.read(atime).unwrap(), Some(true), "the log is still there");
    store.close().unwrap();
    assert!(main() != before);
}

// spec: DUR-16, DUR-7
#[test]
fn after_a_checkpoint_could_not_flush_the_log_no_barrier_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("agent.db"), &Options::default()).unwrap();
    store.mutate(|session| session.execute(CHANGE, [])).unwrap();
    {
        let checkpointer = store.shared.checkpointer.lock();
        let connection = checkpointer.as_ref().unwrap();
        wal::open_log(connection).unwrap();
        wal::fail_syncs(connection);
    }
    store.shared.empty_log(&mut store.shared.writer.lock()).unwrap();
    assert_eq!(store.barrier().map_err(|error| error.errno()), Err(Errno::EIO));
}
