//! From a path to an inode: components, symlinks, `.` and `..`, trailing slashes.
//!
//! Keeps PATH-1 to PATH-8, in the order of Linux's `path_lookupat`. Nothing recurses: symlink targets
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

/// What is at the end of a path.
pub(super) enum Found<'a> {
    Existing(Reference<'a>),
    /// Nothing; this is where it would be.
    Missing {
        parent: Reference<'a>,
        name: Vec<u8>,
    },
}

pub(super) struct Resolver<'a, 'c> {
    vfs: &'a dyn Vfs,
    caller: &'c Caller,
    current: Reference<'a>,
    /// The components to come, the next one at the end.
    rest: Vec<Vec<u8>>,
    slash: bool,
    symlinks: u32,
    making: bool,
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
            making: false,
        };
        resolver.prepend(path);
        Ok(resolver)
    }

    /// For what is to be made when it is missing: the directories on the way are made too.
    pub(super) fn making(self) -> Self {
        Self { making: true, ..self }
    }

    /// Everything but the last component.
    pub(super) fn place(mut self) -> Result<Place<'a>> {
        let last = self.go_to_parent()?;
        Ok(Place { parent: self.current, last, slash: self.slash })
    }

    /// The whole path; when [making](Self::making), that of a file.
    pub(super) fn find(mut self, follow: Follow) -> Result<Found<'a>> {
        loop {
            let name = match self.go_to_parent()? {
                Last::Root => break,
                Last::Dot => {
                    self.check_search()?;
                    break;
                }
                Last::DotDot => {
                    self.go_up()?;
                    break;
                }
                // What a slash follows is no file that could be made or opened for writing.
                Last::Name(_) if self.making && self.slash => return Err(Errno::EISDIR.into()),
                Last::Name(name) => name,
            };
            let found = match self.vfs.lookup(self.caller, self.current.ino(), Name::new(&name)?) {
                Ok(attributes) => Reference::taken(self.vfs, attributes),
                Err(error) if error.errno() == Errno::ENOENT => {
                    return Ok(Found::Missing { parent: self.current, name });
                }
                Err(error) => return Err(error),
            };
            if found.attributes().mode.is_symlink() && (follow == Follow::Yes || self.slash) {
                self.follow(&found)?;
            } else {
                self.current = found;
                break;
            }
        }
        if self.slash && !self.current.is_directory() {
            return Err(Errno::ENOTDIR.into());
        }
        Ok(Found::Existing(self.current))
    }

    /// The whole path, as directories.
    pub(super) fn directory(mut self) -> Result<Reference<'a>> {
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
                let found = self.lookup_or_make(Name::new(name)?)?;
                if found.attributes().mode.is_symlink() {
                    return self.follow(&found);
                }
                self.current = found;
                Ok(())
            }
        }
    }

    fn lookup_or_make(&self, name: Name<'_>) -> Result<Reference<'a>> {
        let parent = self.current.ino();
        let lookup = || self.vfs.lookup(self.caller, parent, name);
        let attributes = match lookup() {
            Err(error) if error.errno() == Errno::ENOENT && self.making => {
                match self.vfs.mkdir(self.caller, parent, name, 0o777) {
                    // Somebody else has made it meanwhile.
                    Err(error) if error.errno() == Errno::EEXIST => lookup(),
                    made => made,
                }
            }
            found => found,
        };
        Ok(Reference::taken(self.vfs, attributes?))
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
