//! Barriers whose flush fails. Only here can the connection that flushes be exchanged for one that cannot.

use rusqlite::Connection;

use super::Store;
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
    let mut syncer = store.shared.syncer.lock();
    syncer.connection = real;
    syncer.failed = false;
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
