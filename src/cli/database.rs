//! Opening the database that a command works on, also while it is mounted.
//!
//! Keeps CLI-8 (a command that changes something ends when that is durable, and leaves one file) and CLI-9
//! (commands work beside a mount, and see what was written through it just before).

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use super::exit::{Exit, Failure};
use super::output::warn;
use super::target::Target;
use crate::AgentFs;
use crate::error::{DatabaseProblem, Error};
use crate::store::{self, MountHolder};
use crate::types::{AtimePolicy, Caller, Gid, Options, Uid};

/// How long a mount may take to hand over what it holds before the command goes on without.
const FLUSH_BOUND: Duration = Duration::from_secs(5);

/// What a command does with the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It reads; it works with a file that cannot be written, and moves no access time.
    Read,
    /// It changes something.
    Change,
}

/// Runs `work` on the database, then closes it; what `work` changed is on the disk when this returns.
pub(crate) fn with<T>(
    target: &Target,
    purpose: Purpose,
    work: impl FnOnce(&AgentFs) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let fs = open(target, purpose)?;
    let outcome = work(&fs);
    let closed = fs.close().map_err(Failure::from);
    let value = outcome?;
    closed?;
    Ok(value)
}

/// Whether there can be a database at `path` at all. What is wrong with a missing or unreadable file the library says
/// best; of a path that cannot even be one, the system does.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Failure::new(Exit::NotUsable, format!("{}: a directory, not a database", path.display())))
        }
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            Err(Failure::host("open", path, error))
        }
        _ => Ok(()),
    }
}

/// Opens the database after a living mount has handed over what it holds.
pub(crate) fn open(target: &Target, purpose: Purpose) -> Result<AgentFs, Failure> {
    check(&target.path)?;
    let fs = match purpose {
        Purpose::Change => AgentFs::open(&target.path, &Options::default())?,
        Purpose::Read => open_to_read(&target.path)?,
    };
    if let Some(holder) = fs.store().mount_holder()? {
        flush_mount(&holder);
    }
    Ok(fs)
}

/// Makes a living mount hand over what it holds, for a command that does not open the database for use.
pub(crate) fn flush(path: &Path) {
    // What is wrong with the file is said by whoever reads it next.
    if let Ok(Some(holder)) = store::mount_holder(path) {
        flush_mount(&holder);
    }
}

/// A connection that may write folds the log away when it closes; one that may not leaves it behind. So the
/// latter is only used where there is no choice.
fn open_to_read(path: &Path) -> Result<AgentFs, Error> {
    let options = Options { atime: AtimePolicy::Never, ..Options::default() };
    match AgentFs::open(path, &options) {
        Err(Error::Database { problem: DatabaseProblem::ReadOnly(_), .. }) => {
            AgentFs::open(path, &Options { read_only: true, ..options })
        }
        other => other,
    }
}

/// Makes the kernel and the mount's process write down what they hold.
///
/// Best effort with a bound, in a thread of its own, because a mount that hangs must not take the
/// command with it.
fn flush_mount(holder: &MountHolder) {
    let here = nix::unistd::gethostname().unwrap_or_default();
    if holder.host.as_str() != here {
        warn(format_args!("mounted on {}; what was written there last may be missing", holder.host));
        return;
    }
    let (done, finished) = mpsc::channel();
    let mountpoint = PathBuf::from(&holder.mountpoint);
    std::thread::spawn(move || {
        let flushed = File::open(&mountpoint).and_then(|root| {
            rustix::fs::syncfs(&root)?;
            root.sync_all()
        });
        // The command may have stopped waiting.
        let _ = done.send(flushed);
    });
    let problem = match finished.recv_timeout(FLUSH_BOUND) {
        Ok(Ok(())) => return,
        Ok(Err(error)) => super::exit::reason(&error),
        Err(_) => format!("no answer within {} s", FLUSH_BOUND.as_secs()),
    };
    warn(format_args!("{}: {problem}; what was written there last may be missing", holder.mountpoint));
}

/// On whose behalf the command line works: what it creates belongs to the person who calls it; it is refused nothing,
/// since whoever may write the file may change anything in it.
pub(crate) fn caller() -> Caller {
    Caller {
        uid: Uid(rustix::process::geteuid().as_raw()),
        gid: Gid(rustix::process::getegid().as_raw()),
        groups: Vec::new(),
        umask: umask(),
        authorized: true,
    }
}

/// Read where reading does not change it, as umask(2) does, for every thread.
fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|umask| u32::from_str_radix(umask.trim(), 8).ok()).unwrap_or(USUAL)
}
