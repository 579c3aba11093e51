//! `agentfs fs ln`: hard links and symlinks.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;

use super::{Database, Purpose};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{Output, printable};

/// Give a file another name; with -s, make a symlink
#[derive(Args)]
pub(super) struct Ln {
    #[command(flatten)]
    database: Database,
    /// The file that exists; with -s, what the symlink says, which need not exist
    existing: OsString,
    /// The new name
    link: OsString,
    /// Make a symlink
    #[arg(short, long)]
    symbolic: bool,
}

impl Ln {
    pub(super) fn run(self, _output: &mut Output) -> Result<(), Failure> {
        let (target, link) = (self.existing.as_bytes(), self.link.as_bytes());
        self.database.with(Purpose::Change, |tree| {
            if !self.symbolic && tree.paths.lstat(target)?.mode.is_directory() {
                let message =
                    format!("{}: a directory can only have one name; -s makes a symlink", printable(target));
                return Err(Failure::new(Exit::Refused, message));
            }
            let made =
                if self.symbolic { tree.paths.symlink(target, link) } else { tree.paths.link(target, link) };
            Ok(made?)
        })
    }
}
