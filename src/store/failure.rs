//! How SQLite's failures become POSIX error numbers.

use rusqlite::ErrorCode;

use crate::error::{Errno, Error};

/// The errno that a caller of the file system sees when SQLite answers with `error`.
pub(crate) fn errno_of(error: &rusqlite::Error) -> Errno {
    let rusqlite::Error::SqliteFailure(failure, _) = error else {
        return Errno::EIO;
    };
    match failure.code {
        ErrorCode::DiskFull => Errno::ENOSPC,
        ErrorCode::ReadOnly => Errno::EROFS,
        ErrorCode::OutOfMemory => Errno::ENOMEM,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Errno::EBUSY,
        ErrorCode::PermissionDenied => Errno::EACCES,
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

/// Wraps a SQLite failure met during `operation`.
pub(crate) fn storage(operation: &'static str) -> impl FnOnce(rusqlite::Error) -> Error {
    move |source| Error::Storage { errno: errno_of(&source), operation, source }
}
