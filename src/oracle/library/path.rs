//! From a path to an inode as a kernel does it: Linux's `link_path_walk` over the lookups of the trait.
//!
//! Keeps PATH-1 to PATH-8 and PATH-14. It stands beside the resolution of the path-level interface and does not use
//! it: this one can begin at an open directory, and is itself a second opinion.

use agentfs_model::bytes::Bytes;
use agentfs_model::call::Place;
use agentfs_model::values::ProcessId;

use super::kernel::Kernel;
use crate::error::{Errno, Result};
use crate::types::{Access, Ino, Mode, Name};
use crate::vfs::Vfs;

/// `PATH_MAX` without its NUL.
const LONGEST_PATH: usize = 4095;
/// `MAXSYMLINKS`.
const MOST_SYMLINKS: u32 = 40;

/// The end of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// Nothing but slashes.
    Root,
    Dot,
    DotDot,
    /// Not yet looked for; may be too long.
    Name(Vec<u8>),
}

/// The directory that a path ends in, and how it ends.
#[derive(Clone, Debug)]
pub(super) struct Located {
    pub(super) parent: Ino,
    pub(super) last: Last,
    /// Slashes follow the last name, of the path or of a symlink that it ends in.
    pub(super) slash: bool,
}

/// An inode that a name led to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) ino: Ino,
    pub(super) mode: Mode,
}

/// A walk under way.
pub(super) struct Walk {
    current: Ino,
    /// Components to come, the next one last.
    rest: Vec<Vec<u8>>,
    slash: bool,
    symlinks: u32,
}

impl Walk {
    /// Puts the components of `path` before those to come.
    fn push(&mut self, path: &[u8]) {
        if path.starts_with(b"/") {
            self.current = Ino::ROOT;
        }
        if self.rest.is_empty() {
            self.slash |= path.ends_with(b"/");
        }
        let components = path.split(|byte| *byte == b'/').filter(|component| !component.is_empty());
        self.rest.extend(components.rev().map(<[u8]>::to_vec));
    }
}

/// What a path must be before anybody looks for it (PATH-5).
fn check_path(path: &Bytes) -> Result<()> {
    match () {
        () if path.contains(&0) => Err(Errno::EINVAL.into()),
        () if path.is_empty() => Err(Errno::ENOENT.into()),
        () if path.len() > LONGEST_PATH => Err(Errno::ENAMETOOLONG.into()),
        () => Ok(()),
    }
}

impl Kernel {
    pub(super) fn begin_walk(&self, who: ProcessId, place: &Place) -> Result<Walk> {
        check_path(&place.path)?;
        let mut walk = Walk { current: Ino::ROOT, rest: Vec::new(), slash: false, symlinks: 0 };
        if let Some(handle) = place.at.filter(|_| !place.path.starts_with(b"/")) {
            walk.current = self.processes.description(who, handle)?.ino;
            self.check_directory(walk.current)?;
        }
        walk.push(&place.path);
        Ok(walk)
    }

    fn check_directory(&self, ino: Ino) -> Result<()> {
        if self.fs().getattr(ino)?.mode.is_directory() { Ok(()) } else { Err(Errno::ENOTDIR.into()) }
    }

    /// `component` as a name in `parent`. In a directory that is removed nothing is looked for, however long its name.
    pub(super) fn name<'n>(&self, parent: Ino, component: &'n [u8]) -> Result<Name<'n>> {
        Name::new(component).map_err(|error| match self.fs().getattr(parent) {
            Ok(directory) if directory.nlink == 0 => Errno::ENOENT.into(),
            _ => error,
        })
    }

    /// Looks `component` up in `parent`; the reference is given back at the end of the call.
    pub(super) fn look_up(&mut self, who: ProcessId, parent: Ino, component: &[u8]) -> Result<Found> {
        let name = self.name(parent, component)?;
        let attributes = self.fs().lookup(self.processes.caller(who), parent, name)?;
        self.taken.push(attributes.ino);
        if attributes.mode.is_directory() {
            self.places.insert(attributes.ino, (parent, component.to_vec()));
        }
        Ok(Found { ino: attributes.ino, mode: attributes.mode })
    }

    /// As [`look_up`](Self::look_up); None for a name that does not exist in a directory that does.
    pub(super) fn look_for(
        &mut self,
        who: ProcessId,
        parent: Ino,
        component: &[u8],
    ) -> Result<Option<Found>> {
        match self.look_up(who, parent, component) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.errno() == Errno::ENOENT && self.fs().getattr(parent)?.nlink > 0 => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn follow(&self, walk: &mut Walk, link: Ino) -> Result<()> {
        walk.symlinks += 1;
        if walk.symlinks > MOST_SYMLINKS {
            return Err(Errno::ELOOP.into());
        }
        let target = self.fs().readlink(link)?;
        walk.push(&target);
        Ok(())
    }

    /// Walks all but the last component.
    pub(super) fn walk_to_last(&mut self, who: ProcessId, walk: &mut Walk) -> Result<Located> {
        while let Some(component) = walk.rest.pop() {
            self.check_directory(walk.current)?;
            self.fs().access(self.processes.caller(who), walk.current, Access::EXECUTE)?;
            if walk.rest.is_empty() {
                let last = match component.as_slice() {
                    b"." => Last::Dot,
                    b".." => Last::DotDot,
                    _ => Last::Name(component),
                };
                return Ok(Located { parent: walk.current, last, slash: walk.slash });
            }
            match component.as_slice() {
                b"." => {}
                b".." => walk.current = self.fs().parent(walk.current)?,
                name => {
                    let found = self.look_up(who, walk.current, name)?;
                    match found.mode.is_symlink() {
                        true => self.follow(walk, found.ino)?,
                        false => walk.current = found.ino,
                    }
                }
            }
        }
        Ok(Located { parent: walk.current, last: Last::Root, slash: false })
    }

    /// Where the last component is: what makes and removes names needs.
    pub(super) fn locate(&mut self, who: ProcessId, place: &Place) -> Result<Located> {
        let mut walk = self.begin_walk(who, place)?;
        self.walk_to_last(who, &mut walk)
    }

    /// What `place` names; a symlink at its end is followed when asked for, and when a slash comes after it.
    pub(super) fn resolve(&mut self, who: ProcessId, place: &Place, follow: bool) -> Result<Found> {
        let mut walk = self.begin_walk(who, place)?;
        loop {
            let located = self.walk_to_last(who, &mut walk)?;
            let found = self.last(who, &located)?;
            match self.end(&mut walk, &located, found, follow)? {
                Some(found) => return Ok(found),
                None => continue,
            }
        }
    }

    /// What the last component names.
    fn last(&mut self, who: ProcessId, located: &Located) -> Result<Found> {
        let ino = match &located.last {
            Last::Root | Last::Dot => located.parent,
            Last::DotDot => self.fs().parent(located.parent)?,
            Last::Name(name) => return self.look_up(who, located.parent, name),
        };
        Ok(Found { ino, mode: self.fs().getattr(ino)?.mode })
    }

    /// What was found at the end of the walk, or None when it is a symlink whose target is to be walked now.
    pub(super) fn end(
        &self,
        walk: &mut Walk,
        located: &Located,
        found: Found,
        follow: bool,
    ) -> Result<Option<Found>> {
        if found.mode.is_symlink() && (follow || located.slash) {
            self.follow(walk, found.ino)?;
            return Ok(None);
        }
        if located.slash && !found.mode.is_directory() {
            return Err(Errno::ENOTDIR.into());
        }
        Ok(Some(found))
    }

    /// As [`resolve`](Self::resolve), but says where a name is to be made that does not exist, symlinks at the end
    /// followed: `open` with O_CREAT.
    pub(super) fn resolve_to_create(
        &mut self,
        who: ProcessId,
        place: &Place,
        follow: bool,
    ) -> Result<(Located, Option<Found>)> {
        let mut walk = self.begin_walk(who, place)?;
        loop {
            let located = self.walk_to_last(who, &mut walk)?;
            let found = match &located.last {
                Last::Name(_) if located.slash => return Err(Errno::EISDIR.into()),
                Last::Name(name) => match self.look_for(who, located.parent, name)? {
                    Some(found) => found,
                    None => return Ok((located, None)),
                },
                _ => self.last(who, &located)?,
            };
            if let Some(found) = self.end(&mut walk, &located, found, follow)? {
                return Ok((located, Some(found)));
            }
        }
    }
}
