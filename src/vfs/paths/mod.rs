//! Paths over any [`Vfs`]: the operations that a program asks for, by name instead of by inode.
//!
//! Keeps the PATH rules. Paths are bytes and relative ones count from the root, since there is no
//! current directory. Permissions are those of the [`Caller`], checked by the file system below;
//! this layer only knows how a path becomes an inode, and gives back every reference that it takes
//! ([`Reference`]). Nothing is durable before a [`sync`](Vfs::sync).

mod entries;
mod files;
mod resolve;
mod walk;

pub use resolve::{Follow, MAX_PATH_BYTES, MAX_SYMLINKS, Reference};
pub use walk::{Walk, WalkEntry};

use resolve::Resolver;

use super::Vfs;
use crate::error::{Errno, Result};
use crate::types::{Attributes, Caller, FileKind, Gid, SetAttributes, SetTime, Uid};

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    /// The name, as bytes.
    pub name: Vec<u8>,
    /// What it names.
    pub kind: FileKind,
    /// The attributes of that; of a symlink, its own.
    pub attributes: Attributes,
}

/// The paths of a file system, as one caller sees them.
///
/// Errors are those of the system calls, and name the path ([`Error::Path`](crate::Error::Path)). Every path
/// can fail with ENOENT (also when it is empty), ENOTDIR (something on the way, or before a trailing
/// slash, is no directory), EACCES (no search permission on the way), ELOOP (more than 40 symlinks),
/// ENAMETOOLONG (a name past 255 bytes, a path past 4095), and EINVAL (a NUL); methods list only
/// the others.
///
/// ```
/// use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
///
/// # fn main() -> agentfs::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
/// let paths = Paths::new(&fs, Caller::root());
/// paths.write("/reports/2026/may.md", "# May\n")?;
/// paths.symlink("2026/may.md", "/reports/latest")?;
/// assert_eq!(paths.read("/reports/latest")?, b"# May\n");
/// # Ok(())
/// # }
/// ```
pub struct Paths<'a> {
    vfs: &'a dyn Vfs,
    caller: Caller,
}

impl<'a> Paths<'a> {
    /// The paths of `vfs`, on behalf of `caller`.
    #[must_use]
    pub fn new(vfs: &'a dyn Vfs, caller: Caller) -> Self {
        Self { vfs, caller }
    }

    /// Finds what `path` names, and holds a reference on it.
    ///
    /// # Errors
    /// Those of every path.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// use agentfs::vfs::paths::Follow;
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/file", "")?;
    /// let file = paths.resolve("/file", Follow::Yes)?;
    /// paths.remove("/file")?;
    /// assert!(paths.stat("/file").is_err());
    /// assert_eq!(file.attributes().size, 0, "it is kept while it is referred to");
    /// # Ok(())
    /// # }
    /// ```
    pub fn resolve(&self, path: impl AsRef<[u8]>, follow: Follow) -> Result<Reference<'a>> {
        let path = path.as_ref();
        at(path, || self.find(path, follow))
    }

    /// The attributes of what `path` names, symlinks followed.
    ///
    /// # Errors
    /// Those of every path.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/file", "12345")?;
    /// paths.symlink("file", "/link")?;
    /// assert_eq!(paths.stat("/link")?.size, 5);
    /// assert!(paths.lstat("/link")?.mode.is_symlink());
    /// # Ok(())
    /// # }
    /// ```
    pub fn stat(&self, path: impl AsRef<[u8]>) -> Result<Attributes> {
        self.resolve(path, Follow::Yes).map(|found| *found.attributes())
    }

    /// The attributes of what `path` names, a symlink at its end being itself.
    ///
    /// # Errors
    /// Those of every path.
    pub fn lstat(&self, path: impl AsRef<[u8]>) -> Result<Attributes> {
        self.resolve(path, Follow::No).map(|found| *found.attributes())
    }

    /// Whether `path` names something, symlinks followed. A file on the way means that it does not.
    ///
    /// # Errors
    /// Those of every path but ENOENT and ENOTDIR: then nobody can tell.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/file", "")?;
    /// assert!(paths.exists("/file")?);
    /// assert!(!paths.exists("/file/below")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn exists(&self, path: impl AsRef<[u8]>) -> Result<bool> {
        match self.resolve(path, Follow::Yes) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.errno(), Errno::ENOENT | Errno::ENOTDIR) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Changes attributes, all or none, and returns the new ones.
    ///
    /// # Errors
    /// As [`Vfs::setattr`].
    pub fn set_attributes(
        &self,
        path: impl AsRef<[u8]>,
        follow: Follow,
        changes: &SetAttributes,
    ) -> Result<Attributes> {
        let path = path.as_ref();
        at(path, || self.vfs.setattr(&self.caller, self.find(path, follow)?.ino(), changes))
    }

    /// Changes the permission bits, symlinks followed.
    ///
    /// # Errors
    /// EPERM (not the owner), EROFS.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/tool.sh", "#!/bin/sh\n")?;
    /// paths.chmod("/tool.sh", 0o755)?;
    /// assert_eq!(paths.stat("/tool.sh")?.mode.permissions(), 0o755);
    /// # Ok(())
    /// # }
    /// ```
    pub fn chmod(&self, path: impl AsRef<[u8]>, permissions: u32) -> Result<()> {
        let changes = SetAttributes { permissions: Some(permissions), ..SetAttributes::default() };
        self.set_attributes(path, Follow::Yes, &changes).map(drop)
    }

    /// Changes owner and group, symlinks followed; None leaves one as it is.
    ///
    /// # Errors
    /// EPERM, EROFS.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// use agentfs::types::{Gid, Uid};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/file", "")?;
    /// paths.chown("/file", Some(Uid(1000)), None)?;
    /// let file = paths.stat("/file")?;
    /// assert_eq!((file.uid, file.gid), (Uid(1000), Gid(0)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn chown(&self, path: impl AsRef<[u8]>, uid: Option<Uid>, gid: Option<Gid>) -> Result<()> {
        let changes = SetAttributes { uid, gid, ..SetAttributes::default() };
        self.set_attributes(path, Follow::Yes, &changes).map(drop)
    }

    /// Sets the times of the last read and of the last write, symlinks followed; None leaves one as
    /// it is.
    ///
    /// # Errors
    /// EPERM (a given time, and not the owner), EACCES (now, without write permission), EROFS.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// use agentfs::types::{SetTime, Timestamp};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/file", "")?;
    /// let moon_landing = Timestamp::new(-14_182_940, 0);
    /// paths.set_times("/file", None, Some(SetTime::At(moon_landing)))?;
    /// assert_eq!(paths.stat("/file")?.mtime, moon_landing);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_times(
        &self,
        path: impl AsRef<[u8]>,
        atime: Option<SetTime>,
        mtime: Option<SetTime>,
    ) -> Result<()> {
        let changes = SetAttributes { atime, mtime, ..SetAttributes::default() };
        self.set_attributes(path, Follow::Yes, &changes).map(drop)
    }

    fn resolver<'c>(&'c self, path: &[u8]) -> Result<Resolver<'a, 'c>> {
        Resolver::new(self.vfs, &self.caller, path)
    }

    fn find(&self, path: &[u8], follow: Follow) -> Result<Reference<'a>> {
        self.resolver(path)?.find(follow)
    }
}

/// Runs an operation on `path`, and names it in the error.
fn at<T>(path: &[u8], operation: impl FnOnce() -> Result<T>) -> Result<T> {
    operation().map_err(|error| error.at_path(path))
}
