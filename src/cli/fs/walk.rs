//! Paths over the inode interface: resolution, and walking below a directory.
//!
//! Every inode that a name led to is held until its [`Held`] is dropped, as the interface asks (FS-REAP).

use std::collections::VecDeque;

use crate::AgentFs;
use crate::cli::database;
use crate::error::{Errno, Error, Result};
use crate::types::{Attributes, Caller, FileKind, Ino, Name};
use crate::vfs::{DirectoryPosition, Vfs};

/// Symlinks that one path may lead through, as in Linux.
const MAX_LINKS: usize = 40;
/// Entries that are read from a directory at a time.
const PAGE: usize = 512;

/// The files of a database, seen by the person at the command line.
pub(super) struct Tree<'a> {
    /// The file system.
    pub(super) fs: &'a AgentFs,
    /// On whose behalf.
    pub(super) caller: Caller,
}

/// An inode with the reference on it.
pub(super) struct Held<'a> {
    fs: &'a AgentFs,
    pub(super) attributes: Attributes,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.ino() != Ino::ROOT {
            self.fs.forget(self.ino(), 1);
        }
    }
}

impl Held<'_> {
    pub(super) fn ino(&self) -> Ino {
        self.attributes.ino
    }

    pub(super) fn kind(&self) -> FileKind {
        self.attributes.mode.kind()
    }

    pub(super) fn is_directory(&self) -> bool {
        self.attributes.mode.is_directory()
    }
}

/// Whether a symlink at the end of a path is what is meant, or what it leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Follow,
    Keep,
}

impl<'a> Tree<'a> {
    pub(super) fn new(fs: &'a AgentFs) -> Self {
        Self { fs, caller: database::caller() }
    }

    /// The root directory.
    pub(super) fn root(&self) -> Result<Held<'a>> {
        Ok(Held { fs: self.fs, attributes: self.fs.getattr(Ino::ROOT)? })
    }

    /// Takes charge of the reference that an operation has just handed out.
    pub(super) fn hold(&self, attributes: Attributes) -> Held<'a> {
        Held { fs: self.fs, attributes }
    }

    /// What `name` in `directory` names.
    pub(super) fn child(&self, directory: Ino, name: &[u8]) -> Result<Held<'a>> {
        Ok(self.hold(self.fs.lookup(&self.caller, directory, Name::new(name)?)?))
    }

    /// What `path` names.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, with the path.
    pub(super) fn resolve(&self, path: &[u8], last: Last) -> Result<Held<'a>> {
        self.walk_to(path, last).map_err(|error| error.at_path(path))
    }

    fn walk_to(&self, path: &[u8], last: Last) -> Result<Held<'a>> {
        // The directories on the way from the root, the present one last; never empty, since ".." stays in the root.
        let mut way = Vec::new();
        let mut at = self.root()?;
        let mut ahead: VecDeque<Vec<u8>> = components(path).collect();
        let mut links = 0;
        while let Some(component) = ahead.pop_front() {
            if !at.is_directory() {
                return Err(Errno::ENOTDIR.into());
            }
            match &component[..] {
                b"." => {}
                b".." => at = way.pop().map_or_else(|| self.root(), Ok)?,
                name => {
                    let child = self.child(at.ino(), name)?;
                    if child.kind() != FileKind::Symlink || (ahead.is_empty() && last == Last::Keep) {
                        way.push(std::mem::replace(&mut at, child));
                        continue;
                    }
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Errno::ELOOP.into());
                    }
                    let target = self.fs.readlink(child.ino())?;
                    if target.starts_with(b"/") {
                        way.clear();
                        at = self.root()?;
                    }
                    components(&target).rev().for_each(|component| ahead.push_front(component));
                }
            }
        }
        Ok(at)
    }

    /// The directory in which the last component of `path` is, and that component; trailing slashes do not count.
    ///
    /// # Errors
    /// Those of [`resolve`](Self::resolve); EINVAL when the path ends in "." or "..", or is the root.
    pub(super) fn parent_of<'p>(&self, path: &'p [u8]) -> Result<(Held<'a>, &'p [u8])> {
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let trimmed = &path[..end];
        let start = trimmed.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (directory, name) = trimmed.split_at(start);
        let check = || {
            Name::new(name)?;
            let held = self.walk_to(directory, Last::Follow)?;
            if held.is_directory() { Ok(held) } else { Err(Errno::ENOTDIR.into()) }
        };
        if trimmed.is_empty() {
            return Err(Error::from(Errno::EINVAL).at_path(path));
        }
        Ok((check().map_err(|error| error.at_path(path))?, name))
    }

    fn each<E: From<Error>>(
        &self,
        directory: Ino,
        visit: &mut dyn FnMut(&crate::vfs::DirectoryEntry) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut position = DirectoryPosition::START;
        loop {
            let entries = self.fs.readdir(directory, position, PAGE, false)?;
            let Some(last) = entries.last() else { return Ok(()) };
            position = last.position;
            entries.iter().try_for_each(&mut *visit)?;
        }
    }

    /// The entries of a directory by name, in byte order. One that another process removes meanwhile is left out.
    pub(super) fn children(&self, directory: Ino) -> Result<Vec<(Vec<u8>, Held<'a>)>> {
        let mut children = Vec::new();
        self.each(directory, &mut |entry| {
            match self.child(directory, &entry.name) {
                Ok(child) => children.push((entry.name.clone(), child)),
                Err(error) if error.errno() == Errno::ENOENT => {}
                Err(error) => return Err(error.at_path(&entry.name)),
            }
            Ok::<(), Error>(())
        })?;
        children.sort_by(|(left, _), (right, _)| left.cmp(right));
        Ok(children)
    }
}

/// A slash at the end demands a directory, which the component "." does as well.
fn components(path: &[u8]) -> impl DoubleEndedIterator<Item = Vec<u8>> {
    let end = path.ends_with(b"/").then(|| b".".to_vec());
    let split = path.split(|byte| *byte == b'/').filter(|component| !component.is_empty());
    split.map(<[u8]>::to_vec).chain(end)
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
