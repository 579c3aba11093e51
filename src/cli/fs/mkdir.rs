//! `agentfs fs mkdir`: makes directories.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;

use super::{Database, Purpose, octal};
use crate::cli::exit::Failure;
use crate::cli::output::Output;

/// Make directories
#[derive(Args)]
pub(super) struct Mkdir {
    #[command(flatten)]
    database: Database,
    /// The directories
    #[arg(required = true)]
    paths: Vec<OsString>,
    /// Make parents as well; a directory that exists is no mistake
    #[arg(short, long)]
    parents: bool,
    /// Permissions, in octal [default: 0777 less the umask]
    #[arg(short, long, value_parser = octal)]
    mode: Option<u32>,
}

impl Mkdir {
    pub(super) fn run(self, _output: &mut Output) -> Result<(), Failure> {
        self.database.with(Purpose::Change, |tree| {
            for path in self.paths.iter().map(|path| path.as_bytes()) {
                if self.parents {
                    tree.paths.create_dir_all(path)?;
                } else {
                    tree.paths.create_dir(path)?;
                }
                if let Some(mode) = self.mode {
                    tree.paths.chmod(path, mode)?;
                }
            }
            Ok(())
        })
    }
}
