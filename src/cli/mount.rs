//! `agentfs mount`: mounts a database, or lists what is mounted.
//!
//! Keeps MNT-5 and MNT-7. The checks that need no mount are made before anything is started, so that a mistake
//! costs nothing and is said in one place for the foreground, the background and mount(8).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::daemon;
use super::exit::{Exit, Failure};
use super::mount_settings::MountSettings;
use super::output::Output;
use super::target::{self, Target};
use super::{database, init};
use crate::fuse::MountState;
use crate::types::AtimePolicy;
use crate::{AgentFs, fuse};

/// Mount a database as a file system; without arguments, list the mounts
///
/// Returns when the mount is usable and leaves a process in the background that serves it until
/// `agentfs unmount`. The mount point must be an empty directory.
#[derive(Args)]
#[command(after_help = "\
Examples:
  agentfs mount --create my-agent ./my-agent-fs   make what is missing, and mount it
  agentfs mount my-agent /mnt/agent -o ro,allow_other
  agentfs mount                                   list the mounts

In fstab: /srv/agent.db  /mnt/agent  fuse.agentfs  rw,noatime,nofail  0  0

JSON: {database, mountpoint, pid, read_only, created};
  of the list [{database, mountpoint, pid or null, read_only, state: alive, dead or silent}]")]
pub(crate) struct Mount {
    /// Id or path of the database
    #[arg(value_name = "ID|PATH", requires = "directory")]
    target: Option<OsString>,
    /// The mount point
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Stay in the foreground until interrupted or unmounted
    #[arg(short, long, requires = "target")]
    foreground: bool,
    /// Make the database and the mount point when they are missing
    #[arg(long, requires = "target")]
    create: bool,
    /// Refuse every change
    #[arg(long)]
    read_only: bool,
    /// Let other users in
    #[arg(long)]
    allow_other: bool,
    /// Show every file as owned by this user
    #[arg(long)]
    uid: Option<u32>,
    /// Show every file as owned by this group
    #[arg(long)]
    gid: Option<u32>,
    /// When reading moves access times
    #[arg(long, value_enum)]
    atime: Option<Atime>,
    /// Threads that serve the kernel's requests
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// Do not keep the threads on their processors
    #[arg(long)]
    no_pin: bool,
    /// Options as mount(8) writes them: ro, allow_other, uid=N, noatime, nosuid, noexec, dev ...
    #[arg(short, value_name = "OPTIONS")]
    options: Vec<String>,
    /// Where the background process logs (at the level of --log-level, or info)
    #[arg(long, value_name = "FILE", conflicts_with = "foreground")]
    log: Option<PathBuf>,
    /// Serve for a parent that waits for a report
    #[arg(long, hide = true)]
    serve: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Atime {
    /// When they are older than the last change, or than a day
    Relatime,
    /// Never
    Noatime,
    /// At every read
    Strict,
}

/// What `agentfs mount` answers when the mount is usable.
pub(crate) struct Answer {
    shown: String,
    database: PathBuf,
    mountpoint: PathBuf,
    pid: u32,
    read_only: bool,
    created: bool,
}

impl Mount {
    pub(crate) fn run(self, log_level: &str, output: &mut Output) -> Result<(), Failure> {
        let settings = self.settings()?;
        let (Some(target), Some(directory)) = (&self.target, &self.directory) else {
            return list(output);
        };
        if self.serve {
            return serve_in_background(target, directory, &settings);
        }
        let mut made = Made::default();
        let mounted = self.mount(target, directory, &settings, &mut made, log_level, output);
        if mounted.is_err() {
            made.undo();
        }
        mounted
    }

    fn mount(
        &self,
        target: &OsStr,
        directory: &Path,
        settings: &MountSettings,
        made: &mut Made,
        log_level: &str,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if self.create {
            made.make(target, directory)?;
        }
        let place = Place::check(target, directory, settings)?;
        let created = made.database.is_some();
        if self.foreground {
            let mount = begin(&place.database, &place.mountpoint, settings)?;
            // From here on it is in use.
            *made = Made::default();
            return serve_in_foreground(
                mount,
                &Answer { created, ..place.answer(std::process::id(), settings) },
                output,
            );
        }
        let log = self.log.as_deref().map(|file| Log::new(file, log_level)).transpose()?;
        let answer = Answer { created, ..place.start(settings, log)? };
        *made = Made::default();
        answer.show(output)?;
        if self.create && !output.is_json() {
            output.line(tour(&place))?;
        }
        Ok(())
    }

    fn settings(&self) -> Result<MountSettings, Failure> {
        let mut settings = MountSettings::default();
        for options in &self.options {
            settings.add(options, false)?;
        }
        settings.read_only |= self.read_only;
        settings.allow_other |= self.allow_other;
        settings.no_pin |= self.no_pin;
        settings.uid = self.uid.or(settings.uid);
        settings.gid = self.gid.or(settings.gid);
        settings.workers = self.workers.or(settings.workers);
        let atime = self.atime.map(|atime| match atime {
            Atime::Relatime => AtimePolicy::Relative,
            Atime::Noatime => AtimePolicy::Never,
            Atime::Strict => AtimePolicy::Strict,
        });
        settings.atime = atime.or(settings.atime);
        Ok(settings)
    }
}

/// Mounts in the background for the mount helper.
pub(crate) fn start(target: &OsStr, directory: &Path, settings: &MountSettings) -> Result<Answer, Failure> {
    Place::check(target, directory, settings)?.start(settings, None)
}

/// A database and a mount point that look right.
struct Place {
    shown: String,
    database: PathBuf,
    mountpoint: PathBuf,
}

impl Place {
    fn check(target: &OsStr, directory: &Path, settings: &MountSettings) -> Result<Self, Failure> {
        let target = Target::existing(target)?;
        database::check(&target.path)?;
        let database = match target.path.canonicalize() {
            Ok(database) => database,
            // The library finds the words for a file that cannot be had.
            Err(error) => {
                AgentFs::open(&target.path, &settings.database_options())?.close()?;
                return Err(Failure::host("open", &target.path, error));
            }
        };
        let mountpoint = resolve(directory).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Failure::new(
                Exit::Missing,
                format!("{}: no such directory to mount on; make it, or use --create", directory.display()),
            ),
            _ => Failure::host("mount on", directory, error),
        })?;
        Ok(Self { shown: target.shown, database, mountpoint })
    }

    fn start(&self, settings: &MountSettings, log: Option<Log>) -> Result<Answer, Failure> {
        let options = settings.to_string();
        let mut arguments = ["mount", "--serve", "-o", &options].map(OsStr::new).to_vec();
        let (file, level) = log.map(|log| (log.file, log.level)).unzip();
        if let Some(level) = &level {
            arguments.extend(["--log-level", level].map(OsStr::new));
        }
        arguments.extend([OsStr::new("--"), self.database.as_os_str(), self.mountpoint.as_os_str()]);
        let pid = daemon::start(arguments, file)?;
        Ok(self.answer(pid, settings))
    }

    fn answer(&self, pid: u32, settings: &MountSettings) -> Answer {
        Answer {
            shown: self.shown.clone(),
            database: self.database.clone(),
            mountpoint: self.mountpoint.clone(),
            pid,
            read_only: settings.read_only,
            created: false,
        }
    }
}

/// The mount point as an absolute path, also when a mount that has lost its process is in its place: then it cannot
/// be looked at, and the library removes it.
fn resolve(directory: &Path) -> io::Result<PathBuf> {
    match (directory.canonicalize(), directory.parent(), directory.file_name()) {
        (Err(error), Some(parent), Some(name)) if error.kind() == io::ErrorKind::NotConnected => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Ok(parent.canonicalize()?.join(name))
        }
        (resolved, ..) => resolved,
    }
}

impl Answer {
    /// Writes it down.
    pub(crate) fn show(&self, output: &mut Output) -> Result<(), Failure> {
        if output.is_json() {
            return output.json(&json!({
                "database": self.database.to_string_lossy(),
                "mountpoint": self.mountpoint.to_string_lossy(),
                "pid": self.pid,
                "read_only": self.read_only,
                "created": self.created,
            }));
        }
        let how = if self.read_only { ", read-only" } else { "" };
        output.line(format!("{} mounted at {}{how}", self.shown, self.mountpoint.display()))
    }
}

fn tour(place: &Place) -> String {
    let (shown, at) = (&place.shown, place.mountpoint.display());
    format!(
        "Try:\n  echo hello > {at}/hello.txt\n  agentfs fs tree {shown}\n  agentfs info {shown}\n  agentfs unmount {at}"
    )
}

/// What `--create` has made, to be undone when the mount fails.
#[derive(Default)]
struct Made {
    database: Option<PathBuf>,
    /// The mount point and the directories above it, the lowest first.
    directories: Vec<PathBuf>,
}

impl Made {
    /// Makes the mount point and the database where they are missing.
    fn make(&mut self, target: &OsStr, directory: &Path) -> Result<(), Failure> {
        let missing = !Target::existing(target)?.path.exists();
        if std::fs::metadata(directory).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let missing = directory.ancestors().take_while(|above| std::fs::symlink_metadata(above).is_err());
            self.directories =
                missing.filter(|above| !above.as_os_str().is_empty()).map(Path::to_owned).collect();
            std::fs::create_dir_all(directory).map_err(|error| Failure::host("create", directory, error))?;
        }
        if missing {
            let target = Target::new(target)?;
            init::create(&target, &init::creation_options())?.close()?;
            self.database = Some(target.path);
        }
        Ok(())
    }

    /// Best effort: why the mount failed is what the person must hear.
    fn undo(self) {
        if let Some(database) = self.database {
            let _ = std::fs::remove_file(&database);
            if let Some(parent) = database.parent().filter(|parent| parent.ends_with(target::DIRECTORY)) {
                // Stays when it holds other databases.
                let _ = std::fs::remove_dir(parent);
            }
        }
        for directory in self.directories {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// Where a mount in the background logs.
struct Log {
    file: File,
    level: String,
}

impl Log {
    fn new(path: &Path, level: &str) -> Result<Self, Failure> {
        let file = File::options().append(true).create(true).open(path);
        let file = file.map_err(|error| Failure::host("open the log", path, error))?;
        // Who asks for a log wants something in it.
        Ok(Self { file, level: if level == "off" { "info" } else { level }.to_owned() })
    }
}

fn begin(database: &Path, mountpoint: &Path, settings: &MountSettings) -> Result<fuse::Mount, Failure> {
    let fs = Arc::new(AgentFs::open(database, &settings.database_options())?);
    let options = settings.mount_options(database.as_os_str().to_owned());
    Ok(fuse::Mount::start(fs, mountpoint, &options)?)
}

fn serve_in_foreground(mount: fuse::Mount, answer: &Answer, output: &mut Output) -> Result<(), Failure> {
    let shown = answer.show(output).and_then(|()| output.flush());
    mount.run_until_signal()?;
    shown
}

fn serve_in_background(target: &OsStr, directory: &Path, settings: &MountSettings) -> Result<(), Failure> {
    let interrupted = daemon::detach();
    let mount = match begin(Path::new(target), directory, settings) {
        Ok(mount) => mount,
        Err(failure) => {
            // With the parent gone there is nobody left to tell.
            let _ = daemon::report_failure(&failure);
            return Err(Failure { message: None, ..failure });
        }
    };
    let reported = daemon::report_ready();
    if reported.is_err() || interrupted.load(Ordering::Relaxed) {
        tracing::error!(?reported, "whoever asked for the mount is gone");
        mount.unmounter().end();
        return Ok(mount.wait()?);
    }
    Ok(mount.run_until_signal()?)
}

const fn state(state: MountState) -> &'static str {
    match state {
        MountState::Alive => "alive",
        MountState::Dead => "dead",
        MountState::Silent => "silent",
    }
}

fn list(output: &mut Output) -> Result<(), Failure> {
    let mounts = fuse::list_mounts()?;
    if output.is_json() {
        let mounts: Vec<Value> = mounts
            .iter()
            .map(|mount| {
                json!({
                    "database": mount.source.to_string_lossy(),
                    "mountpoint": mount.mountpoint.to_string_lossy(),
                    "read_only": mount.read_only,
                    "state": state(mount.state),
                    "pid": mount.pid,
                })
            })
            .collect();
        return output.json(&json!(mounts));
    }
    let mut rows = Vec::new();
    for mount in &mounts {
        rows.push(vec![
            mount.source.to_string_lossy().into_owned(),
            mount.mountpoint.to_string_lossy().into_owned(),
            if mount.read_only { "ro" } else { "rw" }.into(),
            state(mount.state).into(),
            mount.pid.map_or_else(|| "-".into(), |pid| pid.to_string()),
        ]);
    }
    output.table(&rows)
}
