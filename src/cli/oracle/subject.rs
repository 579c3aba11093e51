//! What traces are run on: the library, a directory, or a program.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use tempfile::TempDir;

use crate::Options;
use crate::cli::exit::{Exit, Failure};
use crate::oracle::host::{HostDirectory, PlainDirectory};
use crate::oracle::library::Library;
use crate::oracle::protocol::{Invocation, Process};
use crate::oracle::{Failure as NoAnswer, Implementation};

/// An implementation, and what it needs while it runs.
pub(crate) struct Subject {
    /// It.
    pub(crate) implementation: Box<dyn Implementation>,
    /// Removed at the end.
    _folder: Option<TempDir>,
}

/// How long an answer may take.
#[derive(Args, Clone, Copy)]
pub(crate) struct Limit {
    /// How long each answer may take, in seconds; whoever takes longer is killed
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    time_limit: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("a number of seconds above 0, and at most a day".into()),
    }
}

impl Limit {
    fn duration(self) -> Duration {
        Duration::from_secs_f64(self.time_limit)
    }
}

impl Subject {
    /// Runs in a new directory inside of `directory`, which must be empty: nothing of anybody's is touched, and the new
    /// one is removed at the end.
    pub(crate) fn directory(directory: &Path, limit: Limit) -> Result<Self, Failure> {
        let at = |error| Failure::host("use", directory, error);
        let mut entries = std::fs::read_dir(directory).map_err(at)?;
        if entries.next().is_some() {
            let message = "it is not empty; name an empty directory, on the file system to try";
            return Err(Failure::new(Exit::Refused, format!("{}: {message}", directory.display())));
        }
        let folder = tempfile::Builder::new().prefix("agentfs-conform-").tempdir_in(directory).map_err(at)?;
        let plain = PlainDirectory::new(folder.path())
            .map_err(|error| Failure::new(Exit::Refused, error.to_string()))?;
        let program = std::env::current_exe().map_err(at)?;
        let host = HostDirectory::new(program, plain, limit.duration());
        Ok(Self { implementation: Box::new(host), _folder: Some(folder) })
    }

    /// The library, on databases in a temporary directory.
    pub(crate) fn library() -> Result<Self, Failure> {
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::host("make a directory in", std::env::temp_dir(), error))?;
        let library = Library::new(folder.path(), Options::default());
        Ok(Self { implementation: Box::new(library), _folder: Some(folder) })
    }

    /// Starts a program that speaks the protocol, by the shell.
    pub(crate) fn program(command: OsString, limit: Limit) -> Result<Self, Failure> {
        let process = Process::start(Invocation::Shell(command), limit.duration())
            .map_err(|failure| broken(&failure))?;
        Ok(Self { implementation: Box::new(process), _folder: None })
    }
}

/// An implementation that does not answer as one does is a finding.
pub(crate) fn broken(failure: &NoAnswer) -> Failure {
    let text = failure.to_string();
    // The lines of its standard error are for the report; the message is one line.
    Failure::new(Exit::Unsound, text.split('\n').map(str::trim).collect::<Vec<_>>().join("; "))
}
