//! `agentfs fs mkdir`: makes directories.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;

use super::walk::{Last, Tree};
use super::{Database, Purpose, octal};
use crate::cli::exit::Failure;
use crate::cli::output::Output;
use crate::error::{Errno, Error, Result as LibraryResult};
use crate::types::Name;
use crate::vfs::Vfs;

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
            for path in &self.paths {
                let path = path.as_bytes();
                if self.parents {
                    make_parents(tree, path, self.mode).map_err(|error| error.at_path(path))?;
                } else {
                    make(tree, path, self.mode)?;
                }
            }
            Ok(())
        })
    }
}

/// `mode` is exact; without it, all permissions less the umask.
fn make(tree: &Tree<'_>, path: &[u8], mode: Option<u32>) -> LibraryResult<()> {
    let (parent, name) = tree.parent_of(path)?;
    let mut caller = tree.caller.clone();
    if mode.is_some() {
        caller.umask = 0;
    }
    let made = tree.fs.mkdir(&caller, parent.ino(), Name::new(name)?, mode.unwrap_or(0o777));
    tree.hold(made.map_err(|error| error.at_path(path))?);
    Ok(())
}

/// Makes `path` and what is missing above it; `mode` is for the last one only.
pub(super) fn make_parents(tree: &Tree<'_>, path: &[u8], mode: Option<u32>) -> LibraryResult<()> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end).chain([path.len()]);
    for end in ends {
        let part = &path[..end];
        if part.iter().all(|byte| *byte == b'/') || part.ends_with(b"/") {
            continue;
        }
        match tree.resolve(part, Last::Follow) {
            Ok(held) if held.is_directory() => continue,
            Ok(_) => return Err(Error::from(Errno::ENOTDIR).at_path(part)),
            Err(error) if error.errno() == Errno::ENOENT => {}
            Err(error) => return Err(error),
        }
        let is_last = path[end..].iter().all(|byte| *byte == b'/');
        match make(tree, part, if is_last { mode } else { None }) {
            // Another process made it in between.
            Err(error) if error.errno() == Errno::EEXIST => {}
            outcome => outcome?,
        }
    }
    Ok(())
}
