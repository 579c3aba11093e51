//! `agentfs fs rm`: removes files and trees.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;

use super::files::Tree;
use super::{Database, Purpose};
use crate::cli::exit::Failure;
use crate::cli::output::Output;
use crate::error::{Errno, Error, Result as LibraryResult};

/// Remove files; with -r, directories and everything below them
#[derive(Args)]
pub(super) struct Rm {
    #[command(flatten)]
    database: Database,
    /// What to remove; of a symlink, itself
    #[arg(required = true)]
    paths: Vec<OsString>,
    /// Directories too, with everything below them
    #[arg(short, long, visible_short_alias = 'R')]
    recursive: bool,
    /// What does not exist is no mistake
    #[arg(short, long)]
    force: bool,
}

impl Rm {
    pub(super) fn run(self, _output: &mut Output) -> Result<(), Failure> {
        self.database.with(Purpose::Change, |tree| {
            for path in &self.paths {
                match self.remove(tree, path.as_bytes()) {
                    Err(error) if self.force && error.errno() == Errno::ENOENT => {}
                    outcome => outcome?,
                }
            }
            Ok(())
        })
    }

    fn remove(&self, tree: &Tree<'_>, path: &[u8]) -> LibraryResult<()> {
        if self.recursive {
            return tree.paths.remove_all(path);
        }
        if tree.paths.lstat(path)?.mode.is_directory() {
            return Err(Error::from(Errno::EISDIR).at_path(path));
        }
        tree.paths.remove(path)
    }
}
