//! The one error type of the library, and the POSIX error numbers that it carries.
//!
//! Every failure has an [`Errno`], so that an adapter can answer the kernel without knowing what
//! went wrong below it. Errors that a person will read (opening a database, above all) carry what
//! is wrong, where, and what to do next. Exit codes are the command line's business, not ours.

use std::path::PathBuf;

/// Result of the library's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! errno {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        /// A POSIX error number, with Linux's values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(clippy::upper_case_acronyms)]
        #[non_exhaustive]
        pub enum Errno {
            $(#[doc = $text] $name = $number,)*
        }

        impl Errno {
            /// The number that the kernel uses, as in `errno(3)`; always positive.
            #[must_use]
            pub const fn number(self) -> i32 {
                self as i32
            }

            /// The errno of a kernel number, if it is one that this file system can return.
            #[must_use]
            pub const fn from_number(number: i32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The symbol, as in `ENOENT`.
            #[must_use]
            pub const fn symbol(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

errno! {
    EPERM = 1, "operation not permitted";
    ENOENT = 2, "no such file or directory";
    EINTR = 4, "interrupted";
    EIO = 5, "input/output error";
    ENXIO = 6, "no such device or address";
    E2BIG = 7, "value too large";
    EBADF = 9, "bad file descriptor";
    EAGAIN = 11, "try again";
    ENOMEM = 12, "out of memory";
    EACCES = 13, "permission denied";
    EBUSY = 16, "device or resource busy";
    EEXIST = 17, "file exists";
    EXDEV = 18, "cross-device link";
    ENODEV = 19, "no such device";
    ENOTDIR = 20, "not a directory";
    EISDIR = 21, "is a directory";
    EINVAL = 22, "invalid argument";
    ETXTBSY = 26, "text file busy";
    EFBIG = 27, "file too large";
    ENOSPC = 28, "no space left on device";
    EROFS = 30, "read-only file system";
    EMLINK = 31, "too many links";
    ERANGE = 34, "result too large for the buffer";
    ENAMETOOLONG = 36, "file name too long";
    ENOSYS = 38, "function not implemented";
    ENOTEMPTY = 39, "directory not empty";
    ELOOP = 40, "too many levels of symbolic links";
    ENODATA = 61, "no such attribute";
    EOVERFLOW = 75, "value too large for the data type";
    EOPNOTSUPP = 95, "operation not supported";
    ESTALE = 116, "stale file handle";
    EDQUOT = 122, "quota exceeded";
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for Errno {}

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
