//! The library in process, driven by system calls: the kernel that stands above [`Vfs`](crate::vfs::Vfs), as far as a trace
//! needs one.
//!
//! [`Library`] has what Linux keeps above every file system: paths and their walk, processes with their umask and their
//! open file descriptions, and the checks that Linux makes before it asks the file system. What the library decides is
//! left to it, so that it is the library that a trace tries.
//!
//! The clock is the trace's. Nothing else is controlled: groups are committed as they are for everybody. Keeps ORA-18.

mod attributes;
mod content;
mod convert;
mod kernel;
mod listing;
mod names;
mod observe;
mod open;
mod path;
mod process;

use std::path::{Path, PathBuf};

use agentfs_model::call::Call;
use agentfs_model::profile::Profile;
use agentfs_model::trace::Setting;
use agentfs_model::values::Timestamp;

use super::implementation::{Answer, Between, During, Failure, Implementation, Problem};
use super::play::START;
use super::tree::Tree;
use crate::types::Ino;
use crate::{AgentFs, Error, Options, Result};
use kernel::Kernel;

/// The library, ready for traces one after another.
pub struct Library {
    folder: PathBuf,
    options: Options,
    traces: u64,
    kernel: Option<Kernel>,
}

impl Library {
    /// Keeps its databases in `folder`, which must exist and be nobody else's. Of `options` counts what a trace's setting
    /// does not say: how large pages are, and when groups are committed.
    #[must_use]
    pub fn new(folder: &Path, options: Options) -> Self {
        Self { folder: folder.to_owned(), options, traces: 0, kernel: None }
    }

    /// The file system of the trace that is under way.
    #[must_use]
    pub fn fs(&self) -> Option<&AgentFs> {
        self.kernel.as_ref().map(Kernel::fs)
    }

    /// What processes have open, also when it has no name.
    pub fn open_inodes(&self) -> impl Iterator<Item = Ino> {
        self.kernel.iter().flat_map(|kernel| kernel.processes.open_inodes())
    }

    fn begin_trace(&mut self, setting: &Setting) -> Result<()> {
        self.end_trace()?;
        self.traces += 1;
        let folder = self.home();
        std::fs::create_dir(&folder).map_err(|error| Error::host("make", &folder, error))?;
        self.kernel = Some(Kernel::create(&folder, setting, START, &self.options)?);
        Ok(())
    }

    fn end_trace(&mut self) -> Result<()> {
        let Some(kernel) = self.kernel.take() else { return Ok(()) };
        kernel.shut_down()?;
        let folder = self.home();
        std::fs::remove_dir_all(&folder).map_err(|error| Error::host("remove", folder, error))
    }

    fn home(&self) -> PathBuf {
        self.folder.join(self.traces.to_string())
    }

    fn running(&mut self) -> Result<&mut Kernel, Problem> {
        self.kernel.as_mut().ok_or(Problem::NotBegun)
    }
}

/// Whether the library can be what the profile says. What a profile leaves open it keeps anyway, and some of it a setting
/// of the database decides.
fn is_provided(profile: &Profile) -> bool {
    let library = Profile::agentfs();
    let open = Profile {
        layout: library.layout,
        directory_size: library.directory_size,
        directory_links: library.directory_links,
        directory_order: library.directory_order,
        replaced_entry_stays: library.replaced_entry_stays,
        stable_positions: library.stable_positions,
        inode_numbers_reused: library.inode_numbers_reused,
        posix_errors: library.posix_errors,
        atime: library.atime,
        chunk_size: library.chunk_size,
        inline_threshold: library.inline_threshold,
        ..profile.clone()
    };
    open == library
}

fn failed(error: &Error) -> Problem {
    Problem::GaveUp(error.to_string())
}

impl Implementation for Library {
    fn name(&self) -> &str {
        "agentfs, in process"
    }

    fn supports(&self, _: &str) -> bool {
        true
    }

    fn begin(&mut self, setting: &Setting) -> Result<Option<Between>, Failure> {
        let begun = match is_provided(&setting.profile) {
            false => Err(Problem::Refused("the library differs from this profile".to_owned())),
            true => self.begin_trace(setting).map_err(|error| match error {
                Error::Invalid(why) => Problem::Refused(why),
                error => failed(&error),
            }),
        };
        begun.map(|()| None).map_err(|problem| problem.during(During::Begin))
    }

    fn call(&mut self, step: u32, now: Option<Timestamp>, call: &Call) -> Result<Answer, Failure> {
        let answer = self.running().and_then(|kernel| kernel.call(now, call).map_err(|error| failed(&error)));
        match answer {
            Ok(outcome) => Ok(Answer { outcome, between: None }),
            Err(problem) => {
                self.kernel = None;
                let call = format!("{:?}", call.operation);
                Err(problem.during(During::Step { number: step, call }))
            }
        }
    }

    fn observe(&mut self) -> Result<Option<Tree>, Failure> {
        let tree = self.running().and_then(|kernel| kernel.tree().map_err(|error| failed(&error)));
        tree.map(Some).map_err(|problem| problem.during(During::Observation))
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.end_trace().map_err(|error| failed(&error).during(During::End))
    }
}
