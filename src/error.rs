//! The one error type of the library, and the POSIX error numbers that it carries.
//!
//! Every failure has an [`Errno`], so that an adapter can answer the kernel without knowing what
//! went wrong below it. Errors that a person will read (opening a database, above all) carry what
//! is wrong, where, and what to do next. Exit codes are the command line's business, not ours.

use std::path::PathBuf;

pub use agentfs_model::Errno;

/// Result of the library's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. [`Error::errno`] gives the POSIX number of any of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file-system operation was refused by the rules of SPEC.md.
    #[error("{0}")]
    Posix(#[from] Errno),

    /// A path-level operation was refused; says which path.
    #[error("{path}: {errno}", path = String::from_utf8_lossy(path))]
    Path {
        /// The path as the caller gave it.
        path: Vec<u8>,
        /// Why.
        errno: Errno,
    },

    /// SQLite failed below an operation that was valid.
    #[error("{operation}: {source}")]
    Storage {
        /// What the caller gets to see.
        errno: Errno,
        /// What was being done.
        operation: &'static str,
        /// SQLite's own words.
        source: rusqlite::Error,
    },

    /// The operating system failed below an operation that was valid.
    #[error("{operation} {}: {source}", path.display())]
    Host {
        /// What was being done, as a verb.
        operation: &'static str,
        /// On which host file.
        path: PathBuf,
        /// The system's own words.
        source: std::io::Error,
    },

    /// A database cannot be used; says why and what to do.
    #[error("{}: {problem}", path.display())]
    Database {
        /// The database file.
        path: PathBuf,
        /// What is wrong with it.
        problem: DatabaseProblem,
    },

    /// A mount point cannot be mounted or unmounted; says why and what to do.
    #[error("{}: {problem}", mountpoint.display())]
    Mount {
        /// The mount point.
        mountpoint: PathBuf,
        /// What is wrong with it.
        problem: MountProblem,
    },

    /// A value given to an API is not acceptable, in words.
    #[error("{0}")]
    Invalid(String),
}

/// Why a database file cannot be opened, created or mounted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseProblem {
    /// There is no such file.
    #[error("no such agent file system; `agentfs init` makes one")]
    Missing,
    /// Creation was asked for and the file is there.
    #[error("already exists; choose another id or remove it first")]
    Exists,
    /// The file is not a SQLite database.
    #[error("not a SQLite database")]
    NotSqlite,
    /// A SQLite database, of something else.
    #[error("a SQLite database, but not an agent file system ({0})")]
    NotAgentFs(String),
    /// An older format, named.
    #[error("format {0} is older than 0.5; `agentfs migrate` brings it up to date")]
    Older(String),
    /// A newer format, named.
    #[error("format {0} is newer than this program knows (0.5); use a newer agentfs")]
    Newer(String),
    /// UTF-16 text: names could not be kept as bytes.
    #[error("its text encoding is {0}; only UTF-8 databases are supported")]
    Encoding(String),
    /// SQLite, or our own first look, found damage.
    #[error("the file is damaged ({0}); keep a copy, then try `sqlite3 FILE .recover`")]
    Corrupt(String),
    /// The file or its directory cannot be written and writing was asked for.
    #[error("cannot be written ({0}); open it read-only or change its permissions")]
    ReadOnly(String),
    /// The file cannot be read.
    #[error("cannot be read ({0})")]
    Unreadable(String),
    /// Another mount writes to it.
    #[error("already mounted for writing at {mountpoint} by process {pid} on {host}")]
    Mounted {
        /// Where.
        mountpoint: String,
        /// By which process.
        pid: i64,
        /// On which host.
        host: String,
    },
    /// Another process kept its write transaction longer than we are willing to wait.
    #[error("another process has been writing to it for too long; try again")]
    Busy,
    /// `fs_config` holds a value that makes no sense.
    #[error("fs_config.{key} is {value:?}, which is not valid")]
    Config {
        /// Which key.
        key: String,
        /// What it holds.
        value: String,
    },
}

/// Why a directory cannot be mounted on, or a mount not be ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MountProblem {
    /// There is no such directory.
    #[error("no such directory; make it first")]
    Missing,
    /// It is something else.
    #[error("not a directory")]
    NotDirectory,
    /// It has entries, which the mount would hide.
    #[error("the directory is not empty; choose an empty one")]
    NotEmpty,
    /// Something is mounted there already.
    #[error("{source_name} is already mounted here")]
    Occupied {
        /// Which one.
        source_name: String,
    },
    /// A mount that is not ours and whose program has ended.
    #[error("a mount of another kind whose program has ended is in the way; unmount it first")]
    Dead,
    /// The database would be hidden by its own mount, and wait for itself.
    #[error("the database lies in this directory; choose another one")]
    Inside,
    /// The kernel's FUSE device cannot be used.
    #[error("/dev/fuse cannot be used ({0}); FUSE must be available and accessible")]
    Device(String),
    /// The kernel, or fusermount3 in its place, refuses.
    #[error("the mount was refused ({0})")]
    Refused(String),
    /// Nothing of ours is mounted there.
    #[error("no agent file system is mounted here")]
    NotMounted,
    /// Files are open, or it is some process's working directory.
    #[error("in use by another process; end it, or unmount lazily")]
    Busy,
    /// The program behind it has not ended in time.
    #[error("unmounted, but its program is still busy writing")]
    Lingering,
}

impl MountProblem {
    /// The POSIX number nearest to the problem.
    #[must_use]
    pub const fn errno(&self) -> Errno {
        match self {
            Self::Missing => Errno::ENOENT,
            Self::NotDirectory => Errno::ENOTDIR,
            Self::NotEmpty => Errno::ENOTEMPTY,
            Self::Occupied { .. } | Self::Dead | Self::Busy | Self::Lingering => Errno::EBUSY,
            Self::Device(_) => Errno::ENODEV,
            Self::Refused(_) => Errno::EPERM,
            Self::Inside | Self::NotMounted => Errno::EINVAL,
        }
    }
}

impl DatabaseProblem {
    /// The POSIX number nearest to the problem.
    #[must_use]
    pub const fn errno(&self) -> Errno {
        match self {
            Self::Missing => Errno::ENOENT,
            Self::Exists => Errno::EEXIST,
            Self::Corrupt(_) => Errno::EIO,
            Self::ReadOnly(_) => Errno::EROFS,
            Self::Unreadable(_) => Errno::EACCES,
            Self::Mounted { .. } | Self::Busy => Errno::EBUSY,
            _ => Errno::EINVAL,
        }
    }
}

impl Error {
    /// The POSIX error number that a system call would return for this failure.
    #[must_use]
    pub fn errno(&self) -> Errno {
        match self {
            Self::Posix(errno) | Self::Path { errno, .. } | Self::Storage { errno, .. } => *errno,
            Self::Host { source, .. } => {
                source.raw_os_error().and_then(Errno::from_number).unwrap_or(Errno::EIO)
            }
            Self::Database { problem, .. } => problem.errno(),
            Self::Mount { problem, .. } => problem.errno(),
            Self::Invalid(_) => Errno::EINVAL,
        }
    }

    /// The same refusal, with the path that it concerns. Other errors already say where they are.
    #[must_use]
    pub fn at_path(self, path: impl AsRef<[u8]>) -> Self {
        match self {
            Self::Posix(errno) => Self::Path { path: path.as_ref().to_vec(), errno },
            other => other,
        }
    }

    /// An error of the database file `path`.
    pub fn database(path: impl Into<PathBuf>, problem: DatabaseProblem) -> Self {
        Self::Database { path: path.into(), problem }
    }

    /// An error of the mount point `mountpoint`.
    pub fn mount(mountpoint: impl Into<PathBuf>, problem: MountProblem) -> Self {
        Self::Mount { mountpoint: mountpoint.into(), problem }
    }

    /// An error of the host's file `path`, met while doing `operation`.
    pub fn host(operation: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Host { operation, path: path.into(), source }
    }
}
