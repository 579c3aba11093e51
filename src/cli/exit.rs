//! Exit codes, and the one message that a failed command leaves on standard error.
//!
//! Keeps CLI-1 (a code for each class of failure), CLI-2 (one line, `agentfs: what: why; what next`)
//! and CLI-3 (a closed standard output ends a command quietly). The only place where an
//! [`Error`] becomes an exit code.

use std::fmt::Display;
use std::io;
use std::path::Path;

use crate::error::{DatabaseProblem, Errno, Error, MountProblem};
use crate::store::is_damage;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command did what it was asked for.
    Success = 0,
    /// An operation was refused.
    Refused = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// The database, or a path inside or outside of it, does not exist.
    Missing = 3,
    /// The file cannot be used as a database.
    NotUsable = 4,
    /// The database has an older or newer format.
    Format = 5,
    /// Another process is in the way.
    Busy = 6,
    /// Permissions, or something read-only, are in the way.
    Permission = 7,
    /// No space is left.
    NoSpace = 8,
    /// FUSE is not available on this host.
    NoFuse = 9,
    /// A check found that rules are broken.
    Unsound = 10,
}

/// The exit codes as `agentfs exit-codes` and the manual page show them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0   success
  1   the operation was refused (it exists already, is a directory, is not empty, ...)
  2   usage: the command line makes no sense, or a value in it is not valid
  3   the database, or a path that was named, does not exist
  4   not usable as a database: not SQLite, of another program, or damaged
  5   the database has an older or a newer format
  6   busy: already mounted, or another process has been writing for too long
  7   permission denied, or read-only
  8   no space left
  9   FUSE is not available
  10  a check found errors

A failed command writes one line to standard error, beginning with \"agentfs:\", and nothing to
standard output that is not the answer up to that point. When the reader of standard output goes away (as in
`agentfs timeline ID | head`), the command ends quietly with 0.";

/// The same as [`EXIT_CODES`], each with its meaning.
pub(crate) fn meanings() -> Vec<serde_json::Value> {
    let lines = EXIT_CODES.lines().filter_map(|line| line.trim().split_once("  "));
    let codes = lines.filter_map(|(code, meaning)| Some((code.parse::<u8>().ok()?, meaning.trim_start())));
    codes.map(|(code, meaning)| serde_json::json!({ "code": code, "meaning": meaning })).collect()
}

impl Exit {
    /// The process's exit code.
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    /// The exit of a code that another process of this program ended with.
    pub(crate) fn from_code(code: u8) -> Self {
        const ALL: [Exit; 11] = [
            Exit::Success,
            Exit::Refused,
            Exit::Usage,
            Exit::Missing,
            Exit::NotUsable,
            Exit::Format,
            Exit::Busy,
            Exit::Permission,
            Exit::NoSpace,
            Exit::NoFuse,
            Exit::Unsound,
        ];
        ALL.into_iter().find(|exit| exit.code() == code).unwrap_or(Exit::Refused)
    }

    const fn of_errno(errno: Errno) -> Self {
        match errno {
            Errno::ENOENT => Self::Missing,
            Errno::EBUSY | Errno::EAGAIN | Errno::ETXTBSY => Self::Busy,
            Errno::EACCES | Errno::EPERM | Errno::EROFS => Self::Permission,
            Errno::ENOSPC | Errno::EDQUOT => Self::NoSpace,
            _ => Self::Refused,
        }
    }

    const fn of_problem(problem: &DatabaseProblem) -> Self {
        match problem {
            DatabaseProblem::Missing => Self::Missing,
            DatabaseProblem::NotSqlite
            | DatabaseProblem::NotAgentFs(_)
            | DatabaseProblem::Encoding(_)
            | DatabaseProblem::Corrupt(_)
            | DatabaseProblem::Config { .. } => Self::NotUsable,
            DatabaseProblem::Older(_) | DatabaseProblem::Newer(_) => Self::Format,
            DatabaseProblem::Mounted { .. } | DatabaseProblem::Busy => Self::Busy,
            DatabaseProblem::ReadOnly(_) | DatabaseProblem::Unreadable(_) => Self::Permission,
            DatabaseProblem::Exists => Self::Refused,
        }
    }

    const fn of_mount(problem: &MountProblem) -> Self {
        match problem {
            MountProblem::Missing | MountProblem::NotMounted => Self::Missing,
            MountProblem::Occupied { .. }
            | MountProblem::Dead
            | MountProblem::Busy
            | MountProblem::Lingering => Self::Busy,
            MountProblem::Device(_) => Self::NoFuse,
            MountProblem::NotDirectory
            | MountProblem::NotEmpty
            | MountProblem::Inside
            | MountProblem::Refused(_) => Self::Refused,
        }
    }

    fn of_io(error: &io::Error) -> Self {
        match error.raw_os_error().and_then(Errno::from_number) {
            Some(errno) => Self::of_errno(errno),
            None if error.kind() == io::ErrorKind::NotFound => Self::Missing,
            None => Self::Refused,
        }
    }
}

/// Why a command ended without doing what it was asked for.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// What standard error shows after `agentfs: `; None ends quietly.
    pub(crate) message: Option<String>,
}

impl Failure {
    /// A failure with its message.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: Some(message.into()) }
    }

    /// A mistake on the command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Nobody reads standard output any more.
    pub(crate) const fn quiet() -> Self {
        Self { exit: Exit::Success, message: None }
    }

    /// A failure of the host's file `path`, met while doing `operation` (a verb).
    pub(crate) fn host(operation: &str, path: impl AsRef<Path>, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        Self::new(
            Exit::of_io(&error),
            format!("{}: cannot {operation}: {}", path.as_ref().display(), reason(&error)),
        )
    }

    /// Standard output could not be written.
    pub(crate) fn output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::quiet();
        }
        Self::new(Exit::of_io(error), format!("standard output: {}", reason(error)))
    }

    /// The same failure; its message begins with what it concerns.
    pub(crate) fn about(mut self, subject: impl Display) -> Self {
        self.message = self.message.map(|message| format!("{subject}: {message}"));
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match &error {
            Error::Database { problem, .. } => Exit::of_problem(problem),
            Error::Mount { problem, .. } => Exit::of_mount(problem),
            Error::Invalid(_) => Exit::Usage,
            // The root of the tree, not somebody else.
            Error::Posix(Errno::EBUSY) | Error::Path { errno: Errno::EBUSY, .. } => Exit::Refused,
            Error::Storage { source, .. } if is_damage(source) => Exit::NotUsable,
            other => Exit::of_errno(other.errno()),
        };
        let message = match &error {
            Error::Storage { errno: Errno::ENOSPC, .. } => {
                "no space left for the database; free some and try again".into()
            }
            Error::Host { operation, path, source } => {
                format!("{}: cannot {operation}: {}", path.display(), reason(source))
            }
            other => other.to_string(),
        };
        Self::new(exit, message)
    }
}

/// The system's words without the number that Rust appends.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => match Errno::from_number(number) {
            Some(errno) => errno.to_string(),
            None => nix::errno::Errno::from_raw(number).desc().to_lowercase(),
        },
        None => error.to_string(),
    }
}
