//! A database mounted by the agentfs binary, and taken away again whatever happened.
//!
//! Unmounting through [`Mount::unmount`] is itself a check: the mount point is free again, the daemon
//! is gone, and one file remains. A mount that is dropped otherwise is taken away by force.

use crate::program::{Finished, Program};
use anyhow::{Context, Result, bail, ensure};
use nix::mount::{MntFlags, umount2};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a mount, an unmount, or the end of a daemon may take.
pub const SETTLE: Duration = Duration::from_secs(20);

/// A mounted database.
pub struct Mount {
    agentfs: PathBuf,
    /// The database file.
    pub database: PathBuf,
    /// The mount point.
    pub point: PathBuf,
    mounted: bool,
}

impl Mount {
    /// Mounts `database` (made if it is not there) at `point`, for every user.
    pub fn create(agentfs: &Path, database: &Path, point: &Path, options: &str) -> Result<Self> {
        std::fs::create_dir_all(point)?;
        let mut mount = Self {
            agentfs: agentfs.into(),
            database: database.into(),
            point: point.canonicalize()?,
            mounted: false,
        };
        mount.again(options)?;
        Ok(mount)
    }

    /// Mounts the same database at the same place again.
    pub fn again(&mut self, options: &str) -> Result<()> {
        // An option is refused before anything is mounted, so a failed command needs no cleaning up.
        self.mounted = true;
        let command =
            Program::new(&self.agentfs).args(["mount", "--create"]).args(options.split_whitespace());
        command.arg(&self.database).arg(&self.point).timeout(SETTLE).succeed()?;
        ensure!(
            is_mounted(&self.point)?,
            "`agentfs mount` succeeded and {} is not mounted",
            self.point.display()
        );
        Ok(())
    }

    /// The daemon that serves the mount.
    pub fn daemon(&self) -> Result<i32> {
        daemon_of(&self.agentfs, &self.point)?
            .with_context(|| format!("no daemon for {}", self.point.display()))
    }

    /// The most memory that the daemon ever had resident, in KiB.
    pub fn peak_memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.daemon()?))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
        Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
    }

    /// Runs `agentfs unmount`.
    pub fn unmount_command(&self) -> Result<Finished> {
        Program::new(&self.agentfs).arg("unmount").arg(&self.point).timeout(Duration::from_secs(120)).run()
    }

    /// Unmounts, and checks what remains.
    // spec: MNT-8
    pub fn unmount(mut self) -> Result<PathBuf> {
        self.unmount_command()?.require_success()?;
        self.require_ended()?;
        Ok(self.database.clone())
    }

    /// Waits until the mount point is free and the daemon gone; then one file must remain.
    pub fn require_ended(&mut self) -> Result<()> {
        let started = Instant::now();
        while is_mounted(&self.point)? || daemon_of(&self.agentfs, &self.point)?.is_some() {
            if started.elapsed() > SETTLE {
                bail!(
                    "{} is {}mounted and its daemon {} after {} s",
                    self.point.display(),
                    if is_mounted(&self.point)? { "still " } else { "no longer " },
                    if daemon_of(&self.agentfs, &self.point)?.is_some() { "still runs" } else { "is gone" },
                    SETTLE.as_secs()
                );
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.mounted = false;
        require_one_file(&self.database)
    }

    /// Forgets a mount that something else has ended.
    pub fn is_gone(&mut self) {
        self.mounted = false;
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.mounted {
            detach(&self.point);
        }
    }
}

/// Aborts and detaches whatever is mounted on `point`.
pub fn detach(point: &Path) {
    while is_mounted(point).unwrap_or(false) {
        let _ = umount2(point, MntFlags::MNT_FORCE);
        if umount2(point, MntFlags::MNT_DETACH).is_err() {
            return;
        }
    }
}

/// Aborts and detaches every mount below `directory`, the innermost first.
pub fn detach_below(directory: &Path) {
    let mut points = mount_points().unwrap_or_default();
    points.retain(|point| point.starts_with(directory));
    points.sort_by_key(|point| std::cmp::Reverse(point.components().count()));
    for point in points {
        println!("    detaching {}", point.display());
        detach(&point);
    }
}

/// `database` is there, without a `-wal`, `-shm` or `-journal` beside it.
// spec: OPEN-9 MNT-8
pub fn require_one_file(database: &Path) -> Result<()> {
    ensure!(database.is_file(), "{} is gone", database.display());
    for suffix in ["-wal", "-shm", "-journal"] {
        let mut beside = database.as_os_str().to_owned();
        beside.push(suffix);
        ensure!(!Path::new(&beside).exists(), "{} was left behind", beside.display());
    }
    Ok(())
}

/// Whether something is mounted at `point` (an absolute path), dead or alive.
pub fn is_mounted(point: &Path) -> Result<bool> {
    Ok(mount_points()?.iter().any(|other| other == point))
}

fn mount_points() -> Result<Vec<PathBuf>> {
    let table = std::fs::read("/proc/self/mountinfo")?;
    Ok(table
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .map(unescape)
        .collect())
}

/// The kernel writes space, tab, newline and backslash as an octal escape.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'\\').then(|| tail.get(..3)).flatten();
        let value = escaped
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|text| u8::from_str_radix(text, 8).ok());
        bytes.push(value.unwrap_or(first));
        rest = if value.is_some() { &tail[3..] } else { tail };
    }
    OsString::from_vec(bytes).into()
}

/// The process that runs `agentfs` with `point` among its arguments.
pub fn daemon_of(agentfs: &Path, point: &Path) -> Result<Option<i32>> {
    let agentfs = agentfs.canonicalize()?;
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // A process may end while it is looked at.
        let Ok(executable) = std::fs::read_link(entry.path().join("exe")) else { continue };
        let Ok(words) = std::fs::read(entry.path().join("cmdline")) else { continue };
        let ours =
            words.split(|byte| *byte == 0).any(|word| Path::new(&OsString::from_vec(word.to_vec())) == point);
        if executable == agentfs && ours {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_with_a_space_is_read_back() {
        assert_eq!(unescape(br"/tmp/a\040b\134c"), Path::new(r"/tmp/a b\c"));
        assert_eq!(unescape(br"/tmp/x\9"), Path::new(r"/tmp/x\9"));
    }
}
