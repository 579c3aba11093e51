//! The handle on one mount of ours, by which it is ended: politely, lazily, or by cutting the connection.
//!
//! Keeps MNT-12 (a mount is ended by what it is, never by a path or number that something newer may have
//! taken over).

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::mount::MntFlags;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use super::adapter::MAX_TRANSFER;
use super::mountinfo::{self, Entry};
use crate::error::{Error, MountProblem, Result};

/// Where the control files of FUSE connections usually are.
const CONNECTIONS: &str = "/sys/fs/fuse/connections";
/// How long a mount stays busy at most because of files that are closed already.
const LETTING_GO: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(10);
/// How long the dirty pages of a busy mount may take.
const FLUSH_TIME: Duration = Duration::from_secs(10);

/// A mount that this process serves.
pub(super) struct Connection {
    pub(super) mountpoint: PathBuf,
    entry: Option<Entry>,
    /// The kernel's switch that cuts this very connection; opened while the connection certainly is
    /// ours, since its number may be given to another one later. None where it cannot be reached.
    abort: Option<File>,
}

impl Connection {
    /// Takes hold of what has just been mounted at `mountpoint` from `source`.
    ///
    /// # Errors
    /// [`MountProblem::Occupied`] when another process has mounted there at the same time and was first.
    pub(super) fn new(mountpoint: &Path, source: &OsStr) -> Result<Self> {
        let mut below = mountinfo::stack_at(mountpoint)?;
        let is_ours = |entry: &Entry| entry.kind == mountinfo::TYPE;
        let ours = below.iter().rposition(|entry| is_ours(entry) && entry.source == source);
        // A source that the kernel shows in another way must not leave us without a hold.
        let ours = ours.or_else(|| below.iter().rposition(is_ours));
        let entry = ours.and_then(|at| below.drain(at..).next());
        if let (Some(entry), Some(first)) = (&entry, below.last()) {
            detach(entry, true)?;
            let source_name = first.source.to_string_lossy().into_owned();
            return Err(Error::mount(mountpoint, MountProblem::Occupied { source_name }));
        }
        let abort = entry.as_ref().and_then(|entry| abort_switch(entry.minor));
        if let Some(entry) = &entry {
            raise_read_ahead(entry.minor);
        }
        Ok(Self { mountpoint: mountpoint.to_owned(), entry, abort })
    }

    /// Unmounts, unless that has happened already.
    ///
    /// # Errors
    /// [`MountProblem::Busy`] without `lazy`; [`MountProblem::Refused`].
    pub(super) fn unmount(&self, lazy: bool) -> Result<()> {
        self.entry.as_ref().map_or(Ok(()), |entry| detach(entry, lazy))
    }

    /// Has the kernel write back what it has of this mount. By a process of its own: one that waits for its
    /// own mount cannot be killed.
    pub(super) fn flush(&self) {
        let flush = Command::new("sync").arg("-f").arg(&self.mountpoint).stdin(Stdio::null()).spawn();
        let Ok(mut flush) = flush else { return };
        let deadline = Instant::now() + FLUSH_TIME;
        while matches!(flush.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                tracing::warn!("dirty pages could not be written back in time");
                let _ = flush.kill();
                break;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Cuts the connection: every request under way and every later one fails with ENOTCONN. False when that
    /// is not possible here.
    pub(super) fn abort(&self) -> bool {
        self.abort.as_ref().is_some_and(|mut switch| switch.write_all(b"1").is_ok())
    }
}

/// Ends a mount of ours. One that is in use is tried for a moment longer: the kernel keeps a closed file's mount busy
/// until we have answered its RELEASE.
pub(super) fn detach(entry: &Entry, lazy: bool) -> Result<()> {
    let deadline = Instant::now() + LETTING_GO;
    loop {
        let stack = mountinfo::stack_at(&entry.mountpoint)?;
        match stack.iter().rposition(|found| found.id == entry.id) {
            None => return Ok(()),
            // Unmounting by path would end what somebody has mounted over it.
            Some(at) if at + 1 < stack.len() => {
                return Err(Error::mount(&entry.mountpoint, MountProblem::Busy));
            }
            Some(_) => {}
        }
        match detach_now(&entry.mountpoint, lazy) {
            Err(Error::Mount { problem: MountProblem::Busy, .. }) if Instant::now() < deadline => {
                std::thread::sleep(POLL);
            }
            outcome => return outcome,
        }
    }
}

fn detach_now(mountpoint: &Path, lazy: bool) -> Result<()> {
    let mut flags = MntFlags::UMOUNT_NOFOLLOW;
    flags.set(MntFlags::MNT_DETACH, lazy);
    match nix::mount::umount2(mountpoint, flags) {
        Ok(()) => Ok(()),
        Err(Errno::EBUSY) => Err(Error::mount(mountpoint, MountProblem::Busy)),
        Err(Errno::EPERM) => by_fusermount(mountpoint, lazy),
        Err(errno) => Err(Error::mount(mountpoint, MountProblem::Refused(errno.desc().into()))),
    }
}

fn by_fusermount(mountpoint: &Path, lazy: bool) -> Result<()> {
    let refused = |reason: String| Error::mount(mountpoint, MountProblem::Refused(reason));
    let mut command = Command::new("fusermount3");
    command.arg("-u").args(lazy.then_some("-z")).arg("--").arg(mountpoint).stdin(Stdio::null());
    let output = command.output().map_err(|error| refused(format!("fusermount3: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(if words.contains("busy") { Error::mount(mountpoint, MountProblem::Busy) } else { refused(words) })
}

/// Lets the kernel read ahead as much as one request can carry. In the INIT message it only accepts less than its own
/// 128 KiB, which costs a third of the speed of a cold sequential read; only user 0 may raise that.
fn raise_read_ahead(device_minor: u32) {
    let knob = format!("/sys/class/bdi/0:{device_minor}/read_ahead_kb");
    if let Err(error) = std::fs::write(&knob, (MAX_TRANSFER / 1024).to_string()) {
        tracing::debug!(knob, %error, "read-ahead stays at the kernel's default");
    }
}

/// Opens the switch of connection `number`. Where the control file system is not mounted, a
/// private instance of it is.
fn abort_switch(number: u32) -> Option<File> {
    let usual = rustix::fs::openat(CWD, CONNECTIONS, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok();
    let switch = usual.and_then(|connections| open_switch(connections.as_fd(), number));
    switch.or_else(|| open_switch(private_connections().ok()?.as_fd(), number))
}

fn open_switch(connections: BorrowedFd<'_>, number: u32) -> Option<File> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::openat(connections, format!("{number}/abort"), flags, Mode::empty()).ok().map(File::from)
}

fn private_connections() -> rustix::io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("fusectl", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(context.as_fd())?;
    rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}
