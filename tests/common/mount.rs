//! A file system mounted by the test process itself, or by a process of its own.
#![allow(dead_code, reason = "each suite uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentfs::fuse::{Mount, MountOptions};
use agentfs::types::{Gid, Uid};
use agentfs::{AgentFs, Options, Result};
use tempfile::TempDir;

/// Names the database, the mount point and the file that says "ready" to a process that is to mount.
const DAEMON: &str = "AGENTFS_TEST_DAEMON";
/// How long anything may take before a test says that it never came.
const LONG: Duration = Duration::from_secs(20);

/// A folder with a database and an empty directory to mount on.
pub struct Place {
    pub folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        assert!(
            Path::new("/dev/fuse").exists(),
            "the tests of the mount need /dev/fuse, which is missing here"
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("mnt")).unwrap();
        // The root belongs to whoever runs the tests.
        let mut options = Options::default();
        options.root_owner =
            (Uid(rustix::process::geteuid().as_raw()), Gid(rustix::process::getegid().as_raw()));
        AgentFs::create(&folder.path().join("agent.db"), &options).unwrap().close().unwrap();
        Self { folder }
    }

    pub fn database(&self) -> PathBuf {
        self.folder.path().join("agent.db")
    }

    pub fn mountpoint(&self) -> PathBuf {
        self.folder.path().join("mnt")
    }

    pub fn options(&self) -> MountOptions {
        MountOptions::new(self.database().to_str().unwrap())
    }

    pub fn open(&self) -> AgentFs {
        AgentFs::open(&self.database(), &Options::default()).unwrap()
    }

    /// The database's file and what lies beside it.
    pub fn files(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("agent.db"))
            .collect();
        names.sort();
        names
    }

    pub fn mount(self) -> Mounted {
        self.try_mount(|_| {}).unwrap()
    }

    pub fn try_mount(self, adjust: impl FnOnce(&mut MountOptions)) -> Result<Mounted> {
        let mut options = self.options();
        adjust(&mut options);
        let mount = Mount::start(Arc::new(self.open()), &self.mountpoint(), &options)?;
        Ok(Mounted { mount: Some(mount), place: self })
    }

    /// Mounts in a process of its own: this test program again, told by its environment what to do.
    pub fn daemon(&self) -> Daemon {
        let ready = self.folder.path().join("ready");
        let _ = std::fs::remove_file(&ready);
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::serve_when_told", "--nocapture"])
            .env(DAEMON, self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let daemon = Daemon { child, mountpoint: self.mountpoint() };
        eventually("the daemon has mounted", || ready.exists());
        daemon
    }
}

/// What the process that [`Place::daemon`] starts does.
pub fn serve_when_told() {
    let Some(folder) = std::env::var_os(DAEMON).map(PathBuf::from) else { return };
    let database = folder.join("agent.db");
    let fs = AgentFs::open(&database, &Options::default()).unwrap();
    let options = MountOptions::new(database.to_str().unwrap());
    let mount = Mount::start(Arc::new(fs), &folder.join("mnt"), &options).unwrap();
    std::fs::write(folder.join("ready"), b"").unwrap();
    mount.run_until_signal().unwrap();
}

/// A process that has a file system mounted. Dropping it kills the process and removes the mount.
pub struct Daemon {
    pub child: Child,
    mountpoint: PathBuf,
}

impl Daemon {
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = agentfs::fuse::unmount(&self.mountpoint, true);
    }
}

/// A mounted file system. Dropping it unmounts.
pub struct Mounted {
    mount: Option<Mount>,
    pub place: Place,
}

impl Mounted {
    pub fn new() -> Self {
        Place::new().mount()
    }

    pub fn root(&self) -> PathBuf {
        self.place.mountpoint()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub fn mount(&self) -> &Mount {
        self.mount.as_ref().unwrap()
    }

    /// Unmounts and waits until the database is closed.
    pub fn unmount(mut self) -> Place {
        let mount = self.mount.take().unwrap();
        mount.unmounter().unmount().unwrap();
        mount.wait().unwrap();
        let empty = Place { folder: tempfile::tempdir().unwrap() };
        std::mem::replace(&mut self.place, empty)
    }
}

/// Waits until `condition` holds.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the test may go on: some act as several users, or mount other file systems, which takes user
/// 0. Elsewhere they say that they did nothing; `.ci/run` runs as user 0.
pub fn as_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("not run: this test needs user 0");
    }
    root
}
