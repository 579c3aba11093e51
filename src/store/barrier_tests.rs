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
