//! From a path to an inode: components, symlinks, `.` and `..`, trailing slashes.
//!
//! Keeps PATH-1 to PATH-8 and PATH-14, in the order of Linux's `path_lookupat`. Nothing recurses: symlink targets
//! are put in front of the components that are still to come.

use crate::error::{Errno, Result};
use crate::types::{Access, Attributes, Caller, Ino, Name};
use crate::vfs::Vfs;

/// The longest path in bytes (`PATH_MAX` without its NUL).
pub const MAX_PATH_BYTES: usize = 4095;
/// Symlinks followed in one resolution; the next one is ELOOP.
pub const MAX_SYMLINKS: u32 = 40;

/// Whether a symlink at the end of a path stands for what it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// It does, as in `stat(2)`.
    Yes,
    /// It stands for itself, as in `lstat(2)`; but a trailing slash follows it all the same.
    No,
}

/// An inode and the reference on it, which is given back when this is dropped.
pub struct Reference<'a> {
    vfs: &'a dyn Vfs,
    attributes: Attributes,
    /// The root, and what `..` led to, come without a reference.
    counted: bool,
}

impl<'a> Reference<'a> {
    /// The guard of a reference that a call of `vfs` has just handed out with `attributes`.
    #[must_use]
    pub fn taken(vfs: &'a dyn Vfs, attributes: Attributes) -> Self {
        Self { vfs, attributes, counted: true }
    }

    fn uncounted(vfs: &'a dyn Vfs, ino: Ino) -> Result<Self> {
        Ok(Self { vfs, attributes: vfs.getattr(ino)?, counted: false })
    }

    /// The inode.
    #[must_use]
    pub const fn ino(&self) -> Ino {
        self.attributes.ino
    }

    /// Its attributes when it was found.
    #[must_use]
    pub const fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    pub(super) const fn is_directory(&self) -> bool {
        self.attributes.mode.is_directory()
    }
}

impl Drop for Reference<'_> {
    fn drop(&mut self) {
        if self.counted {
            self.vfs.forget(self.ino(), 1);
        }
    }
}

/// The end of a path, seen from the directory that it is in.
#[derive(Debug)]
pub(super) enum Last {
    /// The path is nothing but slashes.
    Root,
    /// It ends in ".".
    Dot,
    /// It ends in "..".
    DotDot,
    /// It ends in a name.
    Name(Vec<u8>),
}

/// Where a name is, or could be.
pub(super) struct Place<'a> {
    pub(super) parent: Reference<'a>,
    pub(super) last: Last,
    /// The path ends in a slash: only a directory will do.
    pub(super) slash: bool,
}

/// Where a file is, or would be.
pub(super) struct FilePlace<'a> {
    pub(super) parent: Reference<'a>,
    /// The directories that would have to be made in `parent`, each in the one before it.
    pub(super) missing: Vec<Vec<u8>>,
    /// In the last of these.
    pub(super) name: Vec<u8>,
    /// What is there; no symlink.
    pub(super) existing: Option<Reference<'a>>,
}

/// What becomes of a directory on the way that does not exist.
enum Missing {
    Refused,
    Made,
    /// It is noted, with those below it; everything but the last component is then resolved.
    Noted(Vec<Vec<u8>>),
}

pub(super) struct Resolver<'a, 'c> {
    vfs: &'a dyn Vfs,
    caller: &'c Caller,
    current: Reference<'a>,
    /// The components to come, the next one at the end.
    rest: Vec<Vec<u8>>,
    slash: bool,
    symlinks: u32,
    missing: Missing,
}

impl<'a, 'c> Resolver<'a, 'c> {
    /// At the root, with all of `path` to come.
    pub(super) fn new(vfs: &'a dyn Vfs, caller: &'c Caller, path: &[u8]) -> Result<Self> {
        if path.is_empty() {
            return Err(Errno::ENOENT.into());
        }
        if path.len() > MAX_PATH_BYTES {
            return Err(Errno::ENAMETOOLONG.into());
        }
        if path.contains(&0) {
            return Err(Errno::EINVAL.into());
        }
        let mut resolver = Self {
            vfs,
            caller,
            current: Reference::uncounted(vfs, Ino::ROOT)?,
            rest: Vec::new(),
            slash: false,
            symlinks: 0,
            missing: Missing::Refused,
        };
        resolver.prepend(path);
        Ok(resolver)
    }

    /// Everything but the last component.
    pub(super) fn place(mut self) -> Result<Place<'a>> {
        let last = self.go_to_parent()?;
        Ok(Place { parent: self.current, last, slash: self.slash })
    }

    /// The whole path.
    pub(super) fn find(mut self, follow: Follow) -> Result<Reference<'a>> {
        loop {
            match self.go_to_parent()? {
                Last::Root => break,
                Last::Dot => {
                    self.check_search()?;
                    break;
                }
                Last::DotDot => {
                    self.go_up()?;
                    break;
                }
                Last::Name(name) => {
                    let found = self.lookup(Name::new(&name)?)?;
                    if !found.attributes().mode.is_symlink() || (follow == Follow::No && !self.slash) {
                        self.current = found;
                        break;
                    }
                    self.follow(&found)?;
                }
            }
        }
        if self.slash {
            self.check_directory()?
        }
        Ok(self.current)
    }

    /// The whole path, as that of a file which may have to be made.
    pub(super) fn file(mut self) -> Result<FilePlace<'a>> {
        self.missing = Missing::Noted(Vec::new());
        loop {
            let last = self.go_to_parent()?;
            let Missing::Noted(missing) = &mut self.missing else { return Err(Errno::ENOENT.into()) };
            let missing = std::mem::take(missing);
            let name = match last {
                Last::Name(name) if !self.slash => name,
                // "." and ".." need a directory before them.
                Last::Dot | Last::DotDot if !missing.is_empty() => return Err(Errno::ENOENT.into()),
                _ => return Err(Errno::EISDIR.into()),
            };
            if !missing.is_empty() {
                return Ok(FilePlace { parent: self.current, missing, name, existing: None });
            }
            let existing = match self.lookup(Name::new(&name)?) {
                Ok(found) if found.attributes().mode.is_symlink() => {
                    self.follow(&found)?;
                    continue;
                }
                Ok(found) => Some(found),
                Err(error) if error.errno() == Errno::ENOENT => None,
                Err(error) => return Err(error),
            };
            return Ok(FilePlace { parent: self.current, missing: Vec::new(), name, existing });
        }
    }

    /// The whole path, as directories, which are made where they are missing.
    pub(super) fn directory(mut self) -> Result<Reference<'a>> {
        self.missing = Missing::Made;
        while let Some(component) = self.rest.pop() {
            self.step(&component)?;
        }
        Ok(self.current)
    }

    fn go_to_parent(&mut self) -> Result<Last> {
        while let Some(component) = self.rest.pop() {
            if self.rest.is_empty() {
                self.check_directory()?;
                return Ok(match component.as_slice() {
                    b"." => Last::Dot,
                    b".." => Last::DotDot,
                    _ => Last::Name(component),
                });
            }
            self.step(&component)?;
        }
        Ok(Last::Root)
    }

    /// Goes through a component that must be a directory, or a symlink to one.
    fn step(&mut self, component: &[u8]) -> Result<()> {
        match component {
            b"." => self.check_search(),
            b".." => self.go_up(),
            name => {
                self.check_directory()?;
                let found = match self.lookup(Name::new(name)?) {
                    Err(error) if error.errno() == Errno::ENOENT => match self.without(name)? {
                        Some(made) => made,
                        None => return Ok(()),
                    },
                    found => found?,
                };
                if found.attributes().mode.is_symlink() {
                    return self.follow(&found);
                }
                self.current = found;
                Ok(())
            }
        }
    }

    fn lookup(&self, name: Name<'_>) -> Result<Reference<'a>> {
        let found = self.vfs.lookup(self.caller, self.current.ino(), name)?;
        Ok(Reference::taken(self.vfs, found))
    }

    /// Does about a missing directory what is to be done; gives it when it is there afterwards.
    fn without(&mut self, component: &[u8]) -> Result<Option<Reference<'a>>> {
        let name = Name::new(component)?;
        match &mut self.missing {
            Missing::Refused => Err(Errno::ENOENT.into()),
            Missing::Made => match self.vfs.mkdir(self.caller, self.current.ino(), name, 0o777) {
                // Somebody else has made it meanwhile.
                Err(error) if error.errno() == Errno::EEXIST => self.lookup(name).map(Some),
                made => Ok(Some(Reference::taken(self.vfs, made?))),
            },
            Missing::Noted(missing) => {
                missing.push(component.to_vec());
                missing.extend(self.rest.drain(1..).rev());
                let dots = |component: &Vec<u8>| component == b"." || component == b"..";
                if missing.iter().any(dots) { Err(Errno::ENOENT.into()) } else { Ok(None) }
            }
        }
    }

    fn check_directory(&self) -> Result<()> {
        if self.current.is_directory() { Ok(()) } else { Err(Errno::ENOTDIR.into()) }
    }

    fn check_search(&self) -> Result<()> {
        self.check_directory()?;
        self.vfs.access(self.caller, self.current.ino(), Access::EXECUTE)
    }

    fn go_up(&mut self) -> Result<()> {
        self.check_search()?;
        let parent = self.vfs.parent(self.current.ino())?;
        self.current = Reference::uncounted(self.vfs, parent)?;
        Ok(())
    }

    fn follow(&mut self, symlink: &Reference<'_>) -> Result<()> {
        self.symlinks += 1;
        if self.symlinks > MAX_SYMLINKS {
            return Err(Errno::ELOOP.into());
        }
        let target = self.vfs.readlink(symlink.ino())?;
        if target.is_empty() {
            return Err(Errno::ENOENT.into());
        }
        if target.starts_with(b"/") {
            self.current = Reference::uncounted(self.vfs, Ino::ROOT)?;
        }
        self.prepend(&target);
        Ok(())
    }

    fn prepend(&mut self, path: &[u8]) {
        if self.rest.is_empty() && path.ends_with(b"/") {
            self.slash = true;
        }
        let components = path.split(|&byte| byte == b'/').filter(|component| !component.is_empty());
        self.rest.extend(components.rev().map(<[u8]>::to_vec));
    }
}
