//! Whole trees: visiting and removing them.
//!
//! A tree can be deeper than any path is long, so that both go down by inode, keep their place in
//! a vector instead of on the stack, and hold one reference for each level.

use std::collections::HashSet;
use std::vec::IntoIter;

use super::ListEntry;
use super::resolve::Reference;
use crate::error::{Errno, Result};
use crate::types::{Access, Attributes, Caller, FileKind, Ino, Name};
use crate::vfs::{DirectoryEntry, DirectoryPosition, OpenFlags, Vfs};

/// Entries read at once.
const PAGE: usize = 1024;

/// Something that a walk has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkEntry {
    /// The path that the walk was started with, and the names from there, as bytes.
    pub path: Vec<u8>,
    /// How far below the start it is: 0 for the start itself.
    pub depth: usize,
    /// Its attributes; of a symlink, its own.
    pub attributes: Attributes,
}

impl WalkEntry {
    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> FileKind {
        self.attributes.mode.kind()
    }
}

/// The iterator of [`Paths::walk`](super::Paths::walk).
///
/// What is changed during the walk may be seen or not; what stays is seen once. After an error it
/// goes on with the next entry.
pub struct Walk<'a> {
    vfs: &'a dyn Vfs,
    caller: Caller,
    path: Vec<u8>,
    start: Option<Reference<'a>>,
    /// The directory that was yielded last, to be entered next.
    entered: Option<Reference<'a>>,
    levels: Vec<Level<'a>>,
    /// The directories of `levels`. In a damaged database one of them can lie below itself.
    above: HashSet<Ino>,
}

struct Level<'a> {
    directory: Reference<'a>,
    entries: IntoIter<ListEntry>,
    path_bytes: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(vfs: &'a dyn Vfs, caller: Caller, path: &[u8], start: Reference<'a>) -> Self {
        let path = path.to_vec();
        let (levels, above) = (Vec::new(), HashSet::new());
        Self { vfs, caller, path, start: Some(start), entered: None, levels, above }
    }

    /// Leaves out what is below the directory that was yielded last.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/.git/objects/pack", "")?;
    /// paths.write("/notes", "")?;
    /// let mut walk = paths.walk("/")?;
    /// let mut found = Vec::new();
    /// while let Some(entry) = walk.next().transpose()? {
    ///     if entry.path.ends_with(b"/.git") {
    ///         walk.skip_directory();
    ///     }
    ///     found.push(entry.path);
    /// }
    /// assert_eq!(found, [&b"/"[..], b"/.git", b"/notes"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn skip_directory(&mut self) {
        self.entered = None;
    }

    fn enter(&mut self, directory: Reference<'a>) -> Result<()> {
        let entries = list(self.vfs, &self.caller, directory.ino())?.into_iter();
        self.above.insert(directory.ino());
        self.levels.push(Level { directory, entries, path_bytes: self.path.len() });
        Ok(())
    }

    /// The entry's present state, if it is a directory that is to be entered.
    fn look(&self, parent: Ino, entry: &ListEntry) -> Result<Option<Reference<'a>>> {
        if entry.kind != FileKind::Directory {
            return Ok(None);
        }
        let found = self.vfs.lookup(&self.caller, parent, Name::new(&entry.name)?);
        match found.map(|attributes| Reference::taken(self.vfs, attributes)) {
            Ok(found) if self.above.contains(&found.ino()) => Err(Errno::ELOOP.into()),
            Ok(found) => Ok(found.is_directory().then_some(found)),
            // Removed since it was listed.
            Err(error) if error.errno() == Errno::ENOENT => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<WalkEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(start) = self.start.take() {
            let attributes = *start.attributes();
            self.entered = start.is_directory().then_some(start);
            return Some(Ok(WalkEntry { path: self.path.clone(), depth: 0, attributes }));
        }
        if let Some(directory) = self.entered.take()
            && let Err(error) = self.enter(directory)
        {
            return Some(Err(error.at_path(&self.path)));
        }
        loop {
            let depth = self.levels.len();
            let level = self.levels.last_mut()?;
            self.path.truncate(level.path_bytes);
            let Some(entry) = level.entries.next() else {
                let ended = level.directory.ino();
                self.above.remove(&ended);
                self.levels.pop();
                continue;
            };
            let parent = level.directory.ino();
            push(&mut self.path, &entry.name);
            return Some(match self.look(parent, &entry) {
                Ok(directory) => {
                    self.entered = directory;
                    Ok(WalkEntry { path: self.path.clone(), depth, attributes: entry.attributes })
                }
                Err(error) => Err(error.at_path(&self.path)),
            });
        }
    }
}

/// All entries of a directory with their attributes, sorted by name.
pub(super) fn list(vfs: &dyn Vfs, caller: &Caller, directory: Ino) -> Result<Vec<ListEntry>> {
    vfs.open(caller, directory, OpenFlags::READ | OpenFlags::DIRECTORY)?;
    vfs.access(caller, directory, Access::EXECUTE)?;
    let mut entries = Vec::new();
    let mut position = DirectoryPosition::START;
    loop {
        let page = vfs.readdir(directory, position, PAGE, true)?;
        let Some(last) = page.last() else { break };
        position = last.position;
        let references: Vec<Option<Reference<'_>>> = page
            .iter()
            .map(|entry| entry.attributes.map(|attributes| Reference::taken(vfs, attributes)))
            .collect();
        for (entry, reference) in page.into_iter().zip(&references) {
            let attributes = match reference {
                Some(reference) => *reference.attributes(),
                None => vfs.getattr(entry.ino)?,
            };
            entries.push(ListEntry { name: entry.name, kind: entry.kind, attributes });
        }
    }
    entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

/// A directory that is being emptied.
struct Doomed<'a> {
    directory: Reference<'a>,
    name: Vec<u8>,
    position: DirectoryPosition,
    page: IntoIter<DirectoryEntry>,
    path_bytes: usize,
}

impl<'a> Doomed<'a> {
    fn new(
        vfs: &dyn Vfs,
        caller: &Caller,
        directory: Reference<'a>,
        name: &[u8],
        path: &[u8],
    ) -> Result<Self> {
        vfs.open(caller, directory.ino(), OpenFlags::READ | OpenFlags::DIRECTORY)?;
        Ok(Self {
            directory,
            name: name.to_vec(),
            position: DirectoryPosition::START,
            page: Vec::new().into_iter(),
            path_bytes: path.len(),
        })
    }

    fn next(&mut self, vfs: &dyn Vfs) -> Result<Option<DirectoryEntry>> {
        if self.page.len() == 0 {
            self.page = vfs.readdir(self.directory.ino(), self.position, PAGE, false)?.into_iter();
        }
        let entry = self.page.next();
        if let Some(entry) = &entry {
            self.position = entry.position;
        }
        Ok(entry)
    }
}

/// Removes the directory `top`, which is `name` in `parent`, with everything below it; goes on after
/// an error, and returns the first.
pub(super) fn remove_all<'a>(
    vfs: &'a dyn Vfs,
    caller: &Caller,
    parent: &Reference<'a>,
    top: Reference<'a>,
    name: &[u8],
    path: &[u8],
) -> Result<()> {
    let mut path = path.to_vec();
    let mut outcome = Ok(());
    let mut above = HashSet::from([top.ino()]);
    let mut levels = vec![Doomed::new(vfs, caller, top, name, &path)?];
    while let Some(level) = levels.last_mut() {
        path.truncate(level.path_bytes);
        let directory = level.directory.ino();
        let step = match level.next(vfs) {
            Ok(Some(entry)) => {
                push(&mut path, &entry.name);
                remove_or_enter(vfs, caller, directory, &entry, &path, &above).map(|below| {
                    above.extend(below.iter().map(|below| below.directory.ino()));
                    levels.extend(below);
                })
            }
            ended => {
                let emptied = levels.pop();
                above.remove(&directory);
                let parent = levels.last().map_or(parent.ino(), |level| level.directory.ino());
                let remove = |level: Doomed<'_>| vfs.rmdir(caller, parent, Name::new(&level.name)?);
                let removed = emptied.map_or(Ok(()), remove);
                ended.map(drop).and(unless_gone(removed))
            }
        };
        outcome = outcome.and(step.map_err(|error| error.at_path(&path)));
    }
    outcome
}

/// Removes an entry, or gives the directory that it is, unless it is one of those `above`.
fn remove_or_enter<'a>(
    vfs: &'a dyn Vfs,
    caller: &Caller,
    parent: Ino,
    entry: &DirectoryEntry,
    path: &[u8],
    above: &HashSet<Ino>,
) -> Result<Option<Doomed<'a>>> {
    let name = Name::new(&entry.name)?;
    if entry.kind == FileKind::Directory {
        match vfs.lookup(caller, parent, name).map(|attributes| Reference::taken(vfs, attributes)) {
            Ok(found) if above.contains(&found.ino()) => return Err(Errno::ELOOP.into()),
            Ok(found) if found.is_directory() => {
                return Doomed::new(vfs, caller, found, &entry.name, path).map(Some);
            }
            Ok(_) => {}
            Err(error) => return unless_gone(Err(error)).map(|()| None),
        }
    }
    unless_gone(vfs.unlink(caller, parent, name)).map(|()| None)
}

/// That somebody else has removed it already is no failure to remove it.
fn unless_gone(removed: Result<()>) -> Result<()> {
    match removed {
        Err(error) if error.errno() == Errno::ENOENT => Ok(()),
        other => other,
    }
}

fn push(path: &mut Vec<u8>, name: &[u8]) {
    if !path.ends_with(b"/") {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}
