//! `agentfs fs rm`: removes files and trees.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;

use super::walk::{Last, Tree, join};
use super::{Database, Purpose};
use crate::cli::exit::Failure;
use crate::cli::output::Output;
use crate::error::{Errno, Error, Result as LibraryResult};
use crate::types::{Ino, Name};
use crate::vfs::Vfs;

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
        let (parent, name) = tree.parent_of(path)?;
        let victim = tree.child(parent.ino(), name).map_err(|error| error.at_path(path))?;
        if victim.is_directory() && !self.recursive {
            return Err(Error::from(Errno::EISDIR).at_path(path));
        }
        // A slash at the end demands a directory.
        tree.resolve(path, Last::Keep)?;
        drop(victim);
        remove_tree(tree, parent.ino(), name, path)
    }
}

/// Removes `name` in `parent` and everything below it; `path` is for messages.
pub(super) fn remove_tree(tree: &Tree<'_>, parent: Ino, name: &[u8], path: &[u8]) -> LibraryResult<()> {
    let victim = tree.child(parent, name).map_err(|error| error.at_path(path))?;
    let entry = Name::new(name)?;
    if !victim.is_directory() {
        return tree.fs.unlink(&tree.caller, parent, entry).map_err(|error| error.at_path(path));
    }
    for (name, child) in tree.children(victim.ino())? {
        let path = join(path, &name);
        drop(child);
        remove_tree(tree, victim.ino(), &name, &path)?;
    }
    tree.fs.rmdir(&tree.caller, parent, entry).map_err(|error| error.at_path(path))
}
