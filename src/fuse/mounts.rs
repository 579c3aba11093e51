//! The mounts of this machine as others see them: listing them, ending them.
//!
//! Keeps MNT-36 (listing never waits for a mount that does not answer) and MNT-37 (ending a mount returns when
//! the database is at rest, and removes also what a killed program left).

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::connection::detach;
use super::mountinfo::{self, Entry};
use crate::error::{Error, MountProblem, Result};
use crate::store::{self, Store};
use crate::types::Options;

/// How long a mount may take to answer before it is called silent.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the program behind a mount may take to write everything and close.
const CLOSING_TIME: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);

/// A mount of an agent file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountInfo {
    /// The database, as the mount names it.
    pub source: OsString,
    /// Where.
    pub mountpoint: PathBuf,
    /// Whether it refuses every change.
    pub read_only: bool,
    /// Whether it works.
    pub state: MountState,
    /// The process behind a mount for writing, where it can be told.
    pub pid: Option<i64>,
}

/// Whether there is a program behind a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountState {
    /// It answers.
    Alive,
    /// The program has ended; only unmounting helps.
    Dead,
    /// There is one, but it does not answer in time.
    Silent,
}

/// All mounts of agent file systems, in the order in which they were made.
///
/// # Errors
/// [`Error::Host`] when the kernel's list cannot be read.
pub fn list_mounts() -> Result<Vec<MountInfo>> {
    let describe = |entry: Entry| {
        let state = state(&entry);
        let pid = if state == MountState::Alive && !entry.read_only { pid(&entry) } else { None };
        MountInfo {
            source: entry.source,
            mountpoint: entry.mountpoint,
            read_only: entry.read_only,
            state,
            pid,
        }
    };
    Ok(mountinfo::ours()?.into_iter().map(describe).collect())
}

/// The device numbers that the files of the database at `path` have where it is mounted.
///
/// # Errors
/// [`Error::Host`] when the kernel's list cannot be read, or the path not resolved.
pub(crate) fn devices(path: &Path) -> Result<Vec<u64>> {
    let path = path.canonicalize().map_err(|error| Error::host("examine", path, error))?;
    let of_path = mountinfo::ours()?.into_iter().filter(|entry| Path::new(&entry.source) == path);
    Ok(of_path.map(|entry| rustix::fs::makedev(0, entry.minor)).collect())
}

/// Ends the mount at `mountpoint` and waits until its program has closed the database. With `lazy`, also while
/// it is in use: then it disappears at once, and ends when those who use it let go.
///
/// # Errors
/// [`MountProblem::NotMounted`], [`MountProblem::Busy`], [`MountProblem::Refused`], and
/// [`MountProblem::Lingering`] when it is unmounted but not closed after a minute.
pub fn unmount(mountpoint: &Path, lazy: bool) -> Result<()> {
    let Some(entry) = find(mountpoint)? else {
        return Err(Error::mount(mountpoint, MountProblem::NotMounted));
    };
    let dead = state(&entry) == MountState::Dead;
    // With a bind mount the same file system is in several places; its program goes on until the last one is gone.
    let elsewhere = mountinfo::ours()?.iter().any(|other| other.minor == entry.minor && other.id != entry.id);
    detach(&entry, lazy || dead)?;
    if lazy || dead || elsewhere || entry.read_only {
        return Ok(());
    }
    let deadline = Instant::now() + CLOSING_TIME;
    // A database that was moved or removed meanwhile cannot be watched.
    while store::is_mounted(Path::new(&entry.source)).unwrap_or(false) {
        if Instant::now() > deadline {
            return Err(Error::mount(mountpoint, MountProblem::Lingering));
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Takes away what killed programs left at `mountpoint`, if anything. The mount is asked, since the kernel goes on to
/// answer from its cache what it knows of the root of a dead one.
pub(super) fn remove_dead(mountpoint: &Path) -> Result<()> {
    while let Some(entry) = find(mountpoint)? {
        if answer(&entry.mountpoint) != MountState::Dead {
            break;
        }
        detach(&entry, true)?;
    }
    Ok(())
}

/// A dead mount point cannot be looked at, so its path is made absolute without touching it.
fn find(mountpoint: &Path) -> Result<Option<Entry>> {
    if let (Some(parent), Some(name)) = (mountpoint.parent(), mountpoint.file_name()) {
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        if let Ok(parent) = parent.canonicalize()
            && let Some(entry) = mountinfo::at(&parent.join(name))?
        {
            return Ok(Some(entry));
        }
    }
    match mountpoint.canonicalize() {
        Ok(absolute) => mountinfo::at(&absolute),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotConnected) => Ok(None),
        Err(error) => Err(Error::host("examine", mountpoint, error)),
    }
}

fn state(entry: &Entry) -> MountState {
    match answer(&entry.mountpoint) {
        // The kernel answers in the place of a mount that we may not enter.
        MountState::Alive
            if !entry.read_only && store::is_mounted(Path::new(&entry.source)).is_ok_and(|held| !held) =>
        {
            MountState::Dead
        }
        state => state,
    }
}

/// Asks the mount itself, on a thread that may be left behind waiting.
fn answer(mountpoint: &Path) -> MountState {
    let (tell, told) = mpsc::channel();
    let path = mountpoint.to_owned();
    std::thread::spawn(move || {
        // Nobody listens any more when it took too long.
        let _ = tell.send(rustix::fs::statfs(&path).err());
    });
    match told.recv_timeout(PATIENCE) {
        Ok(Some(rustix::io::Errno::NOTCONN | rustix::io::Errno::CONNABORTED)) => MountState::Dead,
        Ok(_) => MountState::Alive,
        Err(_) => MountState::Silent,
    }
}

fn pid(entry: &Entry) -> Option<i64> {
    let options = Options { read_only: true, ..Options::default() };
    let store = Store::open(Path::new(&entry.source), &options).ok()?;
    let holder = store.mount_holder().ok().flatten()?;
    (Path::new(&holder.mountpoint) == entry.mountpoint).then_some(holder.pid)
}
