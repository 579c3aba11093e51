//! The files of a database, as the person at the command line sees them.

use crate::AgentFs;
use crate::cli::database;
use crate::error::Result;
use crate::types::{Caller, Ino};
use crate::vfs::paths::{Follow, Reference};
use crate::vfs::{DirectoryPosition, Paths, Vfs};

/// Entries that are read from a directory at a time.
const PAGE: usize = 512;

/// A file system, by path and by inode.
pub(super) struct Tree<'a> {
    /// The file system.
    pub(super) fs: &'a AgentFs,
    /// Its paths.
    pub(super) paths: Paths<'a>,
    /// On whose behalf.
    pub(super) caller: Caller,
}

impl<'a> Tree<'a> {
    pub(super) fn new(fs: &'a AgentFs) -> Self {
        let caller = database::caller();
        Self { fs, paths: fs.paths(caller.clone()), caller }
    }

    /// The entries of a directory by name, in byte order, each with a reference.
    pub(super) fn children(&self, directory: Ino) -> Result<Vec<(Vec<u8>, Reference<'a>)>> {
        let mut children = Vec::new();
        let mut position = DirectoryPosition::START;
        loop {
            let entries = self.fs.readdir(directory, position, PAGE, true)?;
            let Some(last) = entries.last() else { break };
            position = last.position;
            for entry in entries {
                // Asked for attributes, readdir gives them, and a reference.
                if let Some(attributes) = entry.attributes {
                    children.push((entry.name, Reference::taken(self.fs, attributes)));
                }
            }
        }
        children.sort_by(|(left, _), (right, _)| left.cmp(right));
        Ok(children)
    }

    /// The directory that the last component of `path` is in, and that component; slashes at the end do not count.
    pub(super) fn parent_of<'p>(&self, path: &'p [u8]) -> Result<(Reference<'a>, &'p [u8])> {
        let (directory, name) = split(path);
        Ok((self.paths.resolve(directory, Follow::Yes)?, name))
    }
}

/// A path without its last component (at least "/"), and that.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    match path[..end].iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..=slash], &path[slash + 1..end]),
        None => (b"/", &path[..end]),
    }
}

/// `directory` + '/' + `name`, without doubling the slash of the root.
pub(super) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = directory.to_vec();
    if !path.ends_with(b"/") {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: PATH-1
    #[test]
    fn a_path_splits_before_its_last_component() {
        for (path, directory, name) in [
            ("/a/b", "/a/", "b"),
            ("/a/b//", "/a/", "b"),
            ("/a", "/", "a"),
            ("a", "/", "a"),
            ("/", "/", ""),
            ("", "/", ""),
        ] {
            assert_eq!(split(path.as_bytes()), (directory.as_bytes(), name.as_bytes()), "{path}");
        }
    }
}
