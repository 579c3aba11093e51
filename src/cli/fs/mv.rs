//! `agentfs fs mv`: renames and moves.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;

use super::files::{join, split};
use super::{Database, Purpose};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{Output, printable};
use crate::error::Errno;
use crate::vfs::RenameFlags;

/// Rename a file or directory, or move some into a directory
#[derive(Args)]
pub(super) struct Mv {
    #[command(flatten)]
    database: Database,
    /// What to move
    #[arg(required = true)]
    sources: Vec<OsString>,
    /// The new name, or the directory to move into
    destination: OsString,
    /// Refuse to replace anything
    #[arg(short, long)]
    no_replace: bool,
    /// Swap the two; both must exist
    #[arg(long, conflicts_with = "no_replace")]
    exchange: bool,
}

impl Mv {
    pub(super) fn run(self, _output: &mut Output) -> Result<(), Failure> {
        let flags = match (self.no_replace, self.exchange) {
            (_, true) => RenameFlags::EXCHANGE,
            (true, false) => RenameFlags::NOREPLACE,
            (false, false) => RenameFlags::empty(),
        };
        self.database.with(Purpose::Change, |tree| {
            let to = self.destination.as_bytes();
            let into = !self.exchange
                && match tree.paths.stat(to) {
                    Ok(attributes) => attributes.mode.is_directory(),
                    Err(error) if error.errno() == Errno::ENOENT => false,
                    Err(error) => return Err(error.into()),
                };
            if !into && self.sources.len() > 1 {
                return Err(Failure::usage("several sources can only be moved into a directory"));
            }
            for from in self.sources.iter().map(|source| source.as_bytes()) {
                let target = if into { join(to, split(from).1) } else { to.to_vec() };
                tree.paths.rename_with(from, target, flags).map_err(|error| match error.errno() {
                    Errno::EINVAL => Failure::new(
                        Exit::Refused,
                        format!("{}: cannot be moved into itself", printable(from)),
                    ),
                    _ => error.into(),
                })?;
            }
            Ok(())
        })
    }
}
