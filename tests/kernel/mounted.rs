//! A mounted database as a directory that traces run on.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agentfs::oracle::host::Lifecycle;
use agentfs_model::outcome::Outcome;
use tempfile::TempDir;

use crate::searching::PROGRAM;

/// A database and its mount, served by a process of its own.
pub struct MountedDatabase {
    folder: TempDir,
    mountpoint: PathBuf,
    options: Vec<&'static str>,
}

fn run(arguments: &[&str]) -> io::Result<()> {
    let done = Command::new(PROGRAM).args(arguments).stdin(Stdio::null()).output()?;
    if done.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{arguments:?}: {}", String::from_utf8_lossy(&done.stderr))))
}

impl MountedDatabase {
    /// A new database, mounted with these options beside the usual ones.
    pub fn new(options: &[&'static str]) -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let mountpoint = folder.path().join("mnt");
        let database = Self { folder, mountpoint, options: options.to_vec() };
        database.mount(false).unwrap();
        database
    }

    fn mount(&self, read_only: bool) -> io::Result<()> {
        let file = self.folder.path().join("agent.db");
        let (file, mountpoint) = (file.to_str().unwrap(), self.mountpoint.to_str().unwrap());
        let mut arguments = vec!["mount", "--create", file, mountpoint];
        arguments.extend(&self.options);
        if read_only {
            arguments.push("--read-only");
        }
        run(&arguments)
    }

    fn unmount(&self) -> io::Result<()> {
        run(&["unmount", self.mountpoint.to_str().unwrap()])
    }
}

impl Lifecycle for MountedDatabase {
    fn name(&self) -> String {
        "a mount".into()
    }

    fn directory(&self) -> &Path {
        &self.mountpoint
    }

    fn is_served(&self) -> bool {
        true
    }

    fn renew(&mut self) -> io::Result<()> {
        // An earlier trace may have ended with a mount that only reads.
        let probe = self.mountpoint.join("probe");
        if std::fs::create_dir(&probe).is_ok() {
            return std::fs::remove_dir(&probe);
        }
        self.unmount()?;
        self.mount(false)
    }

    fn reopen(&mut self, read_only: bool) -> io::Result<Outcome> {
        self.unmount()?;
        self.mount(read_only)?;
        Ok(Outcome::Done)
    }

    fn kill(&mut self) -> io::Result<()> {
        let status = Command::new(PROGRAM).args(["mount", "--json"]).output()?;
        let mounts: serde_json::Value = serde_json::from_slice(&status.stdout)?;
        let mountpoint = self.mountpoint.to_str();
        let mine =
            mounts.as_array().into_iter().flatten().find(|mount| mount["mountpoint"].as_str() == mountpoint);
        let pid = mine.and_then(|mount| mount["pid"].as_i64()).and_then(|pid| i32::try_from(pid).ok());
        let pid =
            pid.and_then(rustix::process::Pid::from_raw).ok_or_else(|| io::Error::other("no such mount"))?;
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
        Ok(())
    }

    fn restart(&mut self) -> io::Result<Outcome> {
        self.mount(false)?;
        Ok(Outcome::Done)
    }
}

impl Drop for MountedDatabase {
    fn drop(&mut self) {
        let _ = run(&["unmount", "--lazy", self.mountpoint.to_str().unwrap()]);
    }
}
