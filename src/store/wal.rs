//! The two things that SQLite offers only through its C interface: syncing the write-ahead log
//! without a commit, and counting the pages that a commit wrote. All `unsafe` of the store is here.

use std::ffi::c_int;
use std::ptr;

use rusqlite::{Connection, ffi};

/// Makes the connection open the write-ahead log, which it does when it first reads something, and keeps open.
pub(super) fn open_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))
}

/// Syncs the write-ahead log, which the connection has [open](open_log), to the disk (DUR-4), through SQLite's own VFS.
///
/// In WAL mode with `synchronous=NORMAL` a commit is only written; this is what makes it durable.
pub(super) fn sync(connection: &Connection) -> rusqlite::Result<()> {
    let file = log_of(connection)?;
    // SAFETY: SQLite returned `file`, which stays open while the connection does; `pMethods` is
    // null for a file that is not open, which is checked before it is followed.
    let code = unsafe {
        match (*file).pMethods.as_ref().and_then(|methods| methods.xSync) {
            Some(sync) => sync(file, ffi::SQLITE_SYNC_NORMAL as c_int),
            None => ffi::SQLITE_IOERR_FSYNC,
        }
    };
    check(code)
}

/// The log as the connection has it open.
fn log_of(connection: &Connection) -> rusqlite::Result<*mut ffi::sqlite3_file> {
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: the handle is valid as long as `connection`, and is not used by another thread
    // meanwhile (`Connection` is not `Sync` and we hold a reference to it); the file-control
    // writes a pointer to `file`, whose address outlives the call.
    let code = unsafe {
        ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_JOURNAL_POINTER,
            ptr::from_mut(&mut file).cast(),
        )
    };
    check(code)?;
    if file.is_null() {
        return Err(failure(ffi::SQLITE_IOERR_FSYNC));
    }
    Ok(file)
}

/// Lets every sync of the log through this connection fail from now on.
#[cfg(test)]
pub(super) fn fail_syncs(connection: &Connection) {
    extern "C" fn fail(_: *mut ffi::sqlite3_file, _: c_int) -> c_int {
        ffi::SQLITE_IOERR_FSYNC
    }
    let file = log_of(connection).unwrap();
    // SAFETY: SQLite returned `file`, which is open, so that it has methods. The copy that takes their place lives as
    // long as the program, and differs in one function, of the type that is asked for.
    unsafe {
        let methods = ffi::sqlite3_io_methods { xSync: Some(fail), ..*(*file).pMethods };
        (*file).pMethods = Box::leak(Box::new(methods));
    }
}

/// Pages that this connection has written since the last call.
pub(super) fn take_pages_written(connection: &Connection) -> u64 {
    let (mut pages, mut highwater) = (0, 0);
    // SAFETY: the handle is valid as long as `connection`; both pointers outlive the call.
    let code = unsafe {
        ffi::sqlite3_db_status(
            connection.handle(),
            ffi::SQLITE_DBSTATUS_CACHE_WRITE as c_int,
            &raw mut pages,
            &raw mut highwater,
            1,
        )
    };
    if code == ffi::SQLITE_OK { u64::try_from(pages).unwrap_or(0) } else { 0 }
}

fn check(code: c_int) -> rusqlite::Result<()> {
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(failure(code)) }
}

fn failure(code: c_int) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
}
