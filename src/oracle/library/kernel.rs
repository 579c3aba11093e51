//! The kernel above the library: processes, handles, references, and which call is whose.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentfs_model::call::{Call, Operation};
use agentfs_model::outcome::Outcome;
use agentfs_model::trace::Setting;
use agentfs_model::values::{ProcessId, Timestamp};

use super::convert;
use super::process::{Processes, References};
use crate::error::{Error, Result};
use crate::types::{Caller, Gid, Ino, ManualClock, Options, SetAttributes, Uid};
use crate::vfs::Vfs;
use crate::{AgentFs, Errno};

/// The database, and what an unfinished commit leaves beside it.
const DATABASE: &str = "agent.db";
const LOG: &str = "agent.db-wal";

/// One trace's library, and what a kernel keeps above it.
pub(super) struct Kernel {
    /// None only while it is closed to be opened again.
    fs: Option<AgentFs>,
    options: Options,
    clock: ManualClock,
    folder: PathBuf,
    /// Which of the folders below `folder` holds the database: a crash leaves one behind.
    incarnation: u32,
    pub(super) processes: Processes,
    /// What handles hold.
    pub(super) held: References,
    /// References that the present call has taken, given back at its end.
    pub(super) taken: Vec<Ino>,
    /// Where directories were last found, as a kernel's cache of names knows.
    pub(super) places: HashMap<Ino, (Ino, Vec<u8>)>,
}

impl Kernel {
    /// An empty file system of `setting` in `folder`, which must exist. Of `options` counts what the setting does not
    /// say: how large pages are, and when groups are committed.
    ///
    /// # Errors
    /// As [`AgentFs::create`].
    pub(super) fn create(
        folder: &Path,
        setting: &Setting,
        now: Timestamp,
        options: &Options,
    ) -> Result<Self> {
        let clock = ManualClock::new(convert::time(now));
        let mut options = options.clone();
        options.chunk_size = setting.profile.chunk_size;
        options.inline_threshold = setting.profile.inline_threshold;
        options.atime = convert::atime_policy(setting.profile.atime);
        options.root_owner = (Uid(setting.root.uid), Gid(setting.root.gid));
        options.clock = Arc::new(clock.clone());
        options.read_only = false;
        let mut library = Self {
            fs: None,
            options,
            clock,
            folder: folder.to_owned(),
            incarnation: 0,
            processes: Processes::new(&setting.processes),
            held: References::default(),
            taken: Vec::new(),
            places: HashMap::new(),
        };
        make_folder(&library.home())?;
        let fs = AgentFs::create(&library.database(), &library.options)?;
        let root = SetAttributes { permissions: Some(setting.root.permissions), ..SetAttributes::default() };
        fs.setattr(&Caller::root(), Ino::ROOT, &root)?;
        fs.sync()?;
        library.fs = Some(fs);
        Ok(library)
    }

    /// The file system that is driven.
    ///
    /// # Panics
    /// After a failure of [`Kernel::call`] to open it again.
    #[must_use]
    pub(super) fn fs(&self) -> &AgentFs {
        self.fs.as_ref().expect("it is open between two calls")
    }

    /// Closes everything in good order.
    pub(super) fn shut_down(mut self) -> Result<()> {
        self.fs.take().map_or(Ok(()), AgentFs::close)
    }

    fn home(&self) -> PathBuf {
        self.folder.join(self.incarnation.to_string())
    }

    fn database(&self) -> PathBuf {
        self.home().join(DATABASE)
    }

    /// Runs one call at the time `now`, or at that of the last one.
    ///
    /// # Errors
    /// When there can be no answer: the database cannot be opened again, or a call names no process of the trace or
    /// opens a handle that is open. A call that is refused has an answer.
    pub(super) fn call(&mut self, now: Option<Timestamp>, call: &Call) -> Result<Outcome> {
        if let Some(now) = now {
            self.clock.set(convert::time(now));
        }
        if !self.processes.contains(call.by) {
            return Err(Error::Invalid(format!("the trace has no process {}", call.by.0)));
        }
        match &call.operation {
            Operation::Reopen { read_only } => self.reopen(*read_only).map(|()| Outcome::Done),
            Operation::Crash => self.crash().map(|()| Outcome::Done),
            Operation::Open { handle, .. } if self.processes.is_open(call.by, *handle) => {
                Err(Error::Invalid(format!("handle {} is open already", handle.0)))
            }
            operation => {
                let outcome = self.run(call.by, operation);
                for ino in std::mem::take(&mut self.taken) {
                    self.fs().forget(ino, 1);
                }
                Ok(outcome.unwrap_or_else(|error| {
                    tracing::debug!(call = operation.name(), %error, "refused");
                    Outcome::Error(error.errno())
                }))
            }
        }
    }

    fn run(&mut self, who: ProcessId, operation: &Operation) -> Result<Outcome> {
        let done = |()| Outcome::Done;
        match operation {
            Operation::Umask { mask } => {
                self.processes.set_umask(who, *mask);
                Ok(Outcome::Done)
            }
            Operation::Open { path, flags, mode, handle } => {
                self.open(who, path, *flags, *mode, *handle).map(done)
            }
            Operation::Close { handle } => self.close(who, *handle).map(done),
            Operation::Read { handle, length } => {
                self.read(who, *handle, None, *length).map(|data| Outcome::Data(data.into()))
            }
            Operation::Pread { handle, offset, length } => {
                self.read(who, *handle, Some(*offset), *length).map(|data| Outcome::Data(data.into()))
            }
            Operation::Write { handle, data } => self.write(who, *handle, None, data).map(Outcome::Count),
            Operation::Pwrite { handle, offset, data } => {
                self.write(who, *handle, Some(*offset), data).map(Outcome::Count)
            }
            Operation::Seek { handle, offset, whence } => {
                self.seek(who, *handle, *offset, *whence).map(Outcome::Offset)
            }
            Operation::Truncate { object, size } => self.truncate(who, object, *size).map(done),
            Operation::Fallocate { handle, mode, offset, length } => {
                self.fallocate(who, *handle, *mode, *offset, *length).map(done)
            }
            Operation::CopyFileRange { from, from_offset, to, to_offset, length } => self
                .copy_file_range(who, (*from, *from_offset), (*to, *to_offset), *length)
                .map(Outcome::Count),
            Operation::Fsync { handle } | Operation::Fdatasync { handle } => {
                self.fsync(who, *handle).map(done)
            }
            Operation::Sync => self.fs().sync().map(done),
            Operation::Stat { object } => {
                self.stat(who, object).map(|of| Outcome::Status(convert::status(&of)))
            }
            Operation::Access { path, mode } => self.access(who, path, *mode).map(done),
            Operation::Chmod { object, mode } => self.chmod(who, object, *mode).map(done),
            Operation::Chown { object, uid, gid } => self.chown(who, object, *uid, *gid).map(done),
            Operation::Utimens { object, atime, mtime } => {
                self.utimens(who, object, *atime, *mtime).map(done)
            }
            Operation::Mkdir { path, mode } => self.mkdir(who, path, *mode).map(done),
            Operation::Mknod { path, kind, mode, rdev } => {
                self.mknod(who, path, *kind, *mode, *rdev).map(done)
            }
            Operation::Symlink { target, path } => self.symlink(who, target, path).map(done),
            Operation::Link { from, to, follow } => self.link(who, from, to, *follow).map(done),
            Operation::LinkHandle { handle, to } => self.link_handle(who, *handle, to).map(done),
            Operation::Unlink { path } => self.unlink(who, path).map(done),
            Operation::Rmdir { path } => self.rmdir(who, path).map(done),
            Operation::Rename { from, to, flags } => self.rename(who, from, to, *flags).map(done),
            Operation::Readlink { path } => {
                self.readlink(who, path).map(|target| Outcome::Target(target.into()))
            }
            Operation::Readdir { handle, count } => self.readdir(who, *handle, *count).map(Outcome::Entries),
            Operation::Seekdir { handle, after } => self.seekdir(who, *handle, *after).map(done),
            Operation::Getxattr { object, name } => {
                self.getxattr(who, object, name).map(|value| Outcome::Value(value.into()))
            }
            Operation::Setxattr { object, name, value, mode } => {
                self.setxattr(who, object, (name, value), *mode).map(done)
            }
            Operation::Listxattr { object } => {
                let names = self.listxattr(who, object);
                names.map(|names| Outcome::Names(names.into_iter().map(Into::into).collect()))
            }
            Operation::Removexattr { object, name } => self.removexattr(who, object, name).map(done),
            Operation::Statfs => self.fs().statfs().map(|of| Outcome::Statistics(convert::statistics(&of))),
            Operation::Reopen { .. } | Operation::Crash => unreachable!("these are no system calls"),
        }
    }

    /// EROFS: what a kernel asks its mount before it asks the file system.
    pub(super) fn check_writable(&self) -> Result<()> {
        if self.options.read_only { Err(Errno::EROFS.into()) } else { Ok(()) }
    }

    /// Closes the database in good order and opens it again.
    fn reopen(&mut self, read_only: bool) -> Result<()> {
        self.forget_everything();
        if let Some(fs) = self.fs.take() {
            fs.close()?;
        }
        self.options.read_only = read_only;
        self.fs = Some(AgentFs::open(&self.database(), &self.options)?);
        Ok(())
    }

    /// Goes on with what a killed process leaves: the files as they are at this moment, in another folder. The process
    /// that was "killed" ends afterwards, with its own files.
    fn crash(&mut self) -> Result<()> {
        self.forget_everything();
        let old = self.home();
        self.incarnation += 1;
        let new = self.home();
        make_folder(&new)?;
        for name in [DATABASE, LOG] {
            let (from, to) = (old.join(name), new.join(name));
            if from.exists() {
                std::fs::copy(&from, &to).map_err(|error| Error::host("copy", from, error))?;
            }
        }
        self.fs = None;
        std::fs::remove_dir_all(&old).map_err(|error| Error::host("remove", old, error))?;
        let fs = AgentFs::open(&self.database(), &self.options)?;
        if !self.options.read_only {
            // As every mount does: what lost its last name before the crash is nobody's now.
            fs.sweep_orphans()?;
        }
        self.fs = Some(fs);
        Ok(())
    }

    /// Handles, and what a kernel knows of names, end with the mount.
    fn forget_everything(&mut self) {
        self.processes.close_all();
        self.held.clear();
        self.places.clear();
    }
}

fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir(path).map_err(|error| Error::host("make", path, error))
}
