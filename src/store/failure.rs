//! How SQLite's failures become POSIX error numbers. Keeps FS-ERR-2 and KV-9.

use rusqlite::ErrorCode;

use crate::error::{Errno, Error};

/// The errno that a caller of the file system sees when SQLite answers with `error`.
pub(crate) fn errno_of(error: &rusqlite::Error) -> Errno {
    let rusqlite::Error::SqliteFailure(failure, _) = error else {
        return Errno::EIO;
    };
    // The file of shared memory beside the log could not be made long enough.
    if failure.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE {
        return Errno::ENOSPC;
    }
    match failure.code {
        ErrorCode::DiskFull => Errno::ENOSPC,
        ErrorCode::ReadOnly => Errno::EROFS,
        ErrorCode::OutOfMemory => Errno::ENOMEM,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Errno::EBUSY,
        ErrorCode::TooBig => Errno::EFBIG,
        _ => Errno::EIO,
    }
}

/// Whether SQLite says that the file is not one, or is damaged.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::SqliteFailure(failure, _)
            if matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// Whether a file could not be synced.
pub(super) fn is_failed_flush(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::SqliteFailure(failure, _)
            if failure.extended_code == rusqlite::ffi::SQLITE_IOERR_FSYNC
    )
}

/// Wraps a SQLite failure met during `operation`.
pub(crate) fn storage(operation: &'static str) -> impl FnOnce(rusqlite::Error) -> Error {
    move |source| Error::Storage { errno: errno_of(&source), operation, source }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    // spec: FS-ERR-2
    #[test]
    fn what_sqlite_could_not_do_has_a_few_error_numbers() {
        let cases = [
            (ffi::SQLITE_FULL, Errno::ENOSPC),
            (ffi::SQLITE_IOERR_SHMSIZE, Errno::ENOSPC),
            (ffi::SQLITE_READONLY, Errno::EROFS),
            (ffi::SQLITE_NOMEM, Errno::ENOMEM),
            (ffi::SQLITE_BUSY, Errno::EBUSY),
            (ffi::SQLITE_LOCKED, Errno::EBUSY),
            (ffi::SQLITE_IOERR_WRITE, Errno::EIO),
            (ffi::SQLITE_CORRUPT, Errno::EIO),
            (ffi::SQLITE_PERM, Errno::EIO),
        ];
        for (code, errno) in cases {
            let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(errno_of(&failure), errno, "{failure}");
        }
    }
}
