//! The life of a mount, from the checks before it to the single file after it.
//!
//! Keeps MNT-1 (one mount for writing, the second is refused by name), MNT-5, MNT-6 and MNT-13 (what must hold
//! before anything is changed), MNT-8 (every way to end a mount leaves one file) and FS-REAP-6. It prints
//! nothing and does not go into the background: that is the command line's.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fuser::{Config, Session, SessionACL};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::adapter::Adapter;
use super::barrier::Barriers;
use super::connection::Connection;
use super::convert::Ownership;
use super::known::KnownInodes;
use super::notify::Kernel;
use super::options::MountOptions;
use super::placement::{Placement, default_workers};
use super::watch::{Changes, ForeignChanges, Watcher};
use super::{device, mountinfo, mounts};
use crate::error::{Error, MountProblem, Result};
use crate::fs::AgentFs;
use crate::store::MountHolder;
use crate::vfs::Vfs;

/// How long those who still use a mount that is being ended may take to let go.
const GRACE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(20);

/// A mounted file system, served by this process. Dropping it unmounts.
pub struct Mount {
    fs: Option<Arc<AgentFs>>,
    ended: Receiver<End>,
    unmounter: Unmounter,
    watcher: Option<Watcher>,
    known: Arc<KnownInodes>,
    read_only: bool,
}

/// How the serving of requests came to its end.
enum End {
    Served(io::Result<()>),
    /// Somebody holds a detached mount and cannot be made to let go.
    GivenUp,
}

/// What the watcher wants of an [`AgentFs`].
struct Source {
    fs: Arc<AgentFs>,
    may_sweep: bool,
}

impl ForeignChanges for Source {
    fn read(&self) -> Result<Changes> {
        let foreign = self.fs.store().foreign_changes()?;
        Ok(Changes { foreign, lost: self.fs.store().ended_groups().lost })
    }

    fn sweep(&self) -> Result<()> {
        if self.may_sweep { self.fs.sweep_orphans().map(|_| ()) } else { Ok(()) }
    }
}

/// Ends a [`Mount`] from another thread.
#[derive(Clone)]
pub struct Unmounter {
    connection: Arc<Connection>,
    end: Sender<End>,
}

impl Mount {
    /// Mounts `fs` at `mountpoint`; when this returns, the mount can be used.
    ///
    /// A mount for writing claims the database and removes what an earlier crash left behind (FS-REAP).
    ///
    /// # Errors
    /// [`Error::Mount`] with what is wrong with the mount point or with FUSE, [`Error::Database`] when the
    /// database is already mounted for writing; nothing is mounted then.
    pub fn start(fs: Arc<AgentFs>, mountpoint: &Path, options: &MountOptions) -> Result<Self> {
        device::check(mountpoint)?;
        let mountpoint = check_mountpoint(mountpoint, fs.store().path(), options)?;
        let mut options = options.clone();
        options.read_only |= fs.store().is_read_only();
        if options.read_only {
            return Self::serve(fs, &mountpoint, &options);
        }
        fs.store().claim_mount(&holder(&mountpoint))?;
        let swept = fs.sweep_orphans();
        let started = swept.and_then(|swept| {
            tracing::debug!(swept, "inodes without names removed");
            Self::serve(Arc::clone(&fs), &mountpoint, &options)
        });
        if started.is_err() {
            fs.store().release_mount()?;
        }
        started
    }

    fn serve(fs: Arc<AgentFs>, mountpoint: &Path, options: &MountOptions) -> Result<Self> {
        let failed = |error: io::Error| Error::mount(mountpoint, MountProblem::Refused(error.to_string()));
        let workers = options.workers.unwrap_or_else(default_workers).max(1);
        let vfs: Arc<dyn Vfs> = Arc::clone(&fs) as _;
        let known = Arc::new(KnownInodes::new());
        let device = device::attach(mountpoint, options)?;
        let connection = Arc::new(Connection::new(mountpoint, &options.fs_name)?);
        let begin = || -> io::Result<_> {
            let kernel = Arc::new(Kernel::new(device.try_clone()?.into()));
            let adapter = Adapter {
                vfs: Arc::clone(&vfs),
                known: Arc::clone(&known),
                kernel: Arc::clone(&kernel),
                barriers: Barriers::start(Arc::clone(&vfs), Arc::clone(&kernel), workers)?,
                owner: Ownership { uid: options.uid, gid: options.gid },
                placement: Placement::new(options.pin),
            };
            let mut config = Config::default();
            config.n_threads = Some(workers);
            config.clone_fd = workers > 1;
            // Everyone whom the kernel lets in (see the module `device`).
            let session = Session::from_fd(adapter, device, SessionACL::All, config)?;
            let (end, ended) = mpsc::channel();
            let served = end.clone();
            let thread = std::thread::Builder::new().name("agentfs-mount".into());
            thread.spawn(move || {
                // Without a listener the mount has been given up.
                let _ = served.send(End::Served(session.run()));
            })?;
            let source = Source { fs: Arc::clone(&fs), may_sweep: !options.read_only };
            let watcher = Watcher::start(vfs, Arc::clone(&known), kernel, Box::new(source))?;
            Ok((end, ended, watcher))
        };
        let (end, ended, watcher) = begin().map_err(|error| {
            // The first failure is what the caller must hear.
            let _ = connection.unmount(true);
            failed(error)
        })?;
        let unmounter = Unmounter { connection, end };
        Ok(Self {
            fs: Some(fs),
            ended,
            unmounter,
            watcher: Some(watcher),
            known,
            read_only: options.read_only,
        })
    }

    /// Where it is mounted, as an absolute path without symlinks.
    #[must_use]
    pub fn mountpoint(&self) -> &Path {
        &self.unmounter.connection.mountpoint
    }

    /// A handle with which any thread can end this mount.
    #[must_use]
    pub fn unmounter(&self) -> Unmounter {
        self.unmounter.clone()
    }

    /// The inodes beside the root that the kernel knows now, and the references it has on them.
    #[must_use]
    pub fn known_inodes(&self) -> (usize, u64) {
        self.known.count()
    }

    /// Waits until the mount is ended, by whomever, and then closes the database: a single file is left,
    /// unless the caller still holds the file system or another process the database.
    ///
    /// # Errors
    /// EIO or ENOSPC when something could not be kept.
    pub fn wait(mut self) -> Result<()> {
        self.finish()
    }

    /// As [`wait`](Self::wait), and ends the mount when SIGTERM, SIGINT or SIGHUP arrives: at once when nobody
    /// uses it; otherwise it is detached, its dirty pages are written back, and after two seconds, or a second
    /// signal, those who still use it are cut off.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn run_until_signal(self) -> Result<()> {
        let failed = |error| Error::host("handle signals for", self.mountpoint(), error);
        let signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(failed)?;
        let handle = signals.handle();
        let unmounter = self.unmounter();
        let thread = std::thread::Builder::new().name("agentfs-signals".into());
        let thread = thread.spawn(move || end_at_signal(signals, &unmounter)).map_err(failed)?;
        let outcome = self.wait();
        handle.close();
        if thread.join().is_err() {
            tracing::error!("the thread that waits for signals panicked");
        }
        outcome
    }

    fn finish(&mut self) -> Result<()> {
        let Some(fs) = self.fs.take() else { return Ok(()) };
        let end = self.ended.recv();
        let served = match end {
            Ok(End::Served(Ok(()))) => Ok(()),
            Ok(End::Served(Err(error))) => Err(Error::host("serve", self.mountpoint(), error)),
            Ok(End::GivenUp) | Err(_) => {
                tracing::warn!("a detached mount is still in use and fails from now on");
                return fs.shut_down();
            }
        };
        if let Some(watcher) = self.watcher.take() {
            watcher.stop();
        }
        // All references are back; what other processes could not remove beside us goes now (FS-REAP-6).
        let swept = if self.read_only { Ok(0) } else { fs.sweep_orphans() };
        let closed = match Arc::try_unwrap(fs) {
            Ok(fs) => fs.close(),
            Err(shared) => shared.sync().and(shared.store().release_mount()),
        };
        closed.and(swept).and(served)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.fs.is_none() {
            return;
        }
        self.unmounter.end();
        if let Err(error) = self.finish() {
            tracing::error!(%error, "the mount did not end cleanly");
        }
    }
}

impl Unmounter {
    /// Unmounts, if nobody uses the mount.
    ///
    /// # Errors
    /// [`MountProblem::Busy`], [`MountProblem::Refused`].
    pub fn unmount(&self) -> Result<()> {
        self.connection.unmount(false)
    }

    /// Unmounts, whoever uses the mount: what is in use is written back and detached, and cut off after two
    /// seconds. Returns at once when nobody does.
    pub fn end(&self) {
        if self.detach() {
            return;
        }
        std::thread::sleep(GRACE);
        self.cut();
    }

    /// Unmounts, lazily when it is in use; true when nobody used it.
    fn detach(&self) -> bool {
        match self.connection.unmount(false) {
            Ok(()) => return true,
            Err(error) => tracing::info!(%error, "the mount is in use and will be detached"),
        }
        self.connection.flush();
        if let Err(error) = self.connection.unmount(true) {
            tracing::error!(%error, "the mount could not be detached");
        }
        false
    }

    fn cut(&self) {
        if !self.connection.abort() {
            // Nobody waits any more when the mount has ended meanwhile.
            let _ = self.end.send(End::GivenUp);
        }
    }
}

fn end_at_signal(mut signals: Signals, unmounter: &Unmounter) {
    let handle = signals.handle();
    let Some(signal) = signals.forever().next() else { return };
    tracing::info!(signal, "unmounting");
    if !unmounter.detach() {
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline && signals.pending().next().is_none() {
            if handle.is_closed() {
                return;
            }
            std::thread::sleep(POLL);
        }
        unmounter.cut();
    }
    for signal in signals.forever() {
        // The database is closing: only who insists may interrupt that.
        tracing::warn!(signal, "ending at once");
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
}

/// The mount point as an absolute path, if a mount may be made there.
fn check_mountpoint(mountpoint: &Path, database: &Path, options: &MountOptions) -> Result<PathBuf> {
    let refuse = |problem| Err(Error::mount(mountpoint, problem));
    mounts::remove_dead(mountpoint)?;
    let metadata = match std::fs::metadata(mountpoint) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return refuse(MountProblem::Missing),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => return refuse(MountProblem::Dead),
        Err(error) => return Err(Error::host("examine", mountpoint, error)),
    };
    if !metadata.is_dir() {
        return refuse(MountProblem::NotDirectory);
    }
    let examined = |error| Error::host("examine", mountpoint, error);
    let absolute = mountpoint.canonicalize().map_err(examined)?;
    if database.starts_with(&absolute) {
        return refuse(MountProblem::Inside);
    }
    if let Some(entry) = mountinfo::stack_at(&absolute)?.pop() {
        return refuse(MountProblem::Occupied { source_name: entry.source.to_string_lossy().into_owned() });
    }
    if !options.nonempty && std::fs::read_dir(&absolute).map_err(examined)?.next().is_some() {
        return refuse(MountProblem::NotEmpty);
    }
    Ok(absolute)
}

fn holder(mountpoint: &Path) -> MountHolder {
    let host =
        nix::unistd::gethostname().map_or_else(|_| String::new(), |host| host.to_string_lossy().into_owned());
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed());
    let mountpoint = mountpoint.to_string_lossy().into_owned();
    MountHolder { pid: i64::from(std::process::id()), host, mountpoint, since }
}
