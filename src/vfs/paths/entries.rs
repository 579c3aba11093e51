//! Names by path: making, listing, moving and removing them.

use super::resolve::{Follow, Last, Place, Reference};
use super::walk::{self, Walk};
use super::{ListEntry, Paths, at};
use crate::error::{Errno, Result};
use crate::types::{Name, Target};
use crate::vfs::RenameFlags;

impl<'a> Paths<'a> {
    /// Makes a directory, with mode 0777 less the umask.
    ///
    /// # Errors
    /// EEXIST, EMLINK, ENOSPC, EROFS.
    pub fn create_dir(&self, path: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        at(path, || {
            let place = self.resolver(path)?.place()?;
            let name = name_to_make(&place)?;
            let made = self.vfs.mkdir(&self.caller, place.parent.ino(), name, 0o777)?;
            drop(Reference::taken(self.vfs, made));
            Ok(())
        })
    }

    /// Makes a directory and those above it that are missing; that it exists is no error.
    ///
    /// # Errors
    /// EEXIST (it is no directory), EMLINK, ENOSPC, EROFS. Directories made so far stay.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Errno, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// assert_eq!(paths.create_dir("/a/b").unwrap_err().errno(), Errno::ENOENT);
    /// paths.create_dir_all("/a/b")?;
    /// paths.create_dir_all("/a/b")?;
    /// assert_eq!(paths.create_dir("/a/b").unwrap_err().errno(), Errno::EEXIST);
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_dir_all(&self, path: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        at(path, || match self.resolver(path)?.directory()?.is_directory() {
            true => Ok(()),
            false => Err(Errno::EEXIST.into()),
        })
    }

    /// The entries of a directory, sorted by name in byte order.
    ///
    /// # Errors
    /// EACCES: attributes are shown, so that both read and search permission are needed.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/b", "12")?;
    /// paths.create_dir("/a")?;
    /// let entries = paths.list("/")?;
    /// assert_eq!((entries[0].name.as_slice(), entries[1].attributes.size), (&b"a"[..], 2));
    /// # Ok(())
    /// # }
    /// ```
    pub fn list(&self, path: impl AsRef<[u8]>) -> Result<Vec<ListEntry>> {
        let path = path.as_ref();
        at(path, || walk::list(self.vfs, &self.caller, self.find(path, Follow::Yes)?.ino()))
    }

    /// What `path` names and everything below it, a directory before its entries and these sorted by
    /// name. Symlinks are shown and not followed.
    ///
    /// # Errors
    /// Those of every path; the iterator yields those of the directories below and goes on.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/src/main.rs", "")?;
    /// paths.write("/src/lib/mod.rs", "")?;
    /// let mut found = Vec::new();
    /// for entry in paths.walk("/src")? {
    ///     found.push(String::from_utf8_lossy(&entry?.path).into_owned());
    /// }
    /// assert_eq!(found, ["/src", "/src/lib", "/src/lib/mod.rs", "/src/main.rs"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn walk(&self, path: impl AsRef<[u8]>) -> Result<Walk<'a>> {
        let path = path.as_ref();
        at(path, || Ok(Walk::new(self.vfs, self.caller.clone(), path, self.find(path, Follow::No)?)))
    }

    /// Removes a file, a symlink, or an empty directory.
    ///
    /// # Errors
    /// ENOTEMPTY, EPERM (sticky directory), EBUSY (the root), EINVAL (a path that ends in "."), EROFS.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Errno, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/folder/file", "")?;
    /// assert_eq!(paths.remove("/folder").unwrap_err().errno(), Errno::ENOTEMPTY);
    /// paths.remove("/folder/file")?;
    /// paths.remove("/folder")?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove(&self, path: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        at(path, || {
            let place = self.resolver(path)?.place()?;
            let name = name_to_remove(&place)?;
            match self.entry(&place, name)?.is_directory() {
                true => self.vfs.rmdir(&self.caller, place.parent.ino(), name),
                false => self.vfs.unlink(&self.caller, place.parent.ino(), name),
            }
        })
    }

    /// Removes what `path` names and everything below it. Symlinks are removed, never followed.
    ///
    /// # Errors
    /// As [`remove`](Self::remove), with the path below that it could not remove. What it can remove it
    /// removes all the same, and then returns the first error.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/kept", "")?;
    /// paths.write("/folder/deep/file", "")?;
    /// paths.symlink("/kept", "/folder/link")?;
    /// paths.remove_all("/folder")?;
    /// assert!(!paths.exists("/folder")?);
    /// assert!(paths.exists("/kept")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove_all(&self, path: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        at(path, || {
            let place = self.resolver(path)?.place()?;
            let name = name_to_remove(&place)?;
            let found = self.entry(&place, name)?;
            if found.is_directory() {
                walk::remove_all(self.vfs, &self.caller, &place.parent, found, name.as_bytes(), path)
            } else {
                self.vfs.unlink(&self.caller, place.parent.ino(), name)
            }
        })
    }

    /// Moves `from` to `to`, replacing a file or an empty directory there.
    ///
    /// # Errors
    /// EISDIR, ENOTDIR, ENOTEMPTY (what is there does not fit), EINVAL (into itself), EBUSY (the root,
    /// or a path that ends in "." or ".."), EPERM (sticky directory), EROFS.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/settings.new", "fresh")?;
    /// paths.write("/settings", "stale")?;
    /// paths.rename("/settings.new", "/settings")?;
    /// assert_eq!(paths.read("/settings")?, b"fresh");
    /// # Ok(())
    /// # }
    /// ```
    pub fn rename(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Result<()> {
        self.rename_with(from, to, RenameFlags::empty())
    }

    /// As [`rename`](Self::rename), but refusing to replace (NOREPLACE) or swapping the two (EXCHANGE).
    ///
    /// # Errors
    /// As [`rename`](Self::rename), and EEXIST.
    pub fn rename_with(
        &self,
        from: impl AsRef<[u8]>,
        to: impl AsRef<[u8]>,
        flags: RenameFlags,
    ) -> Result<()> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let source = at(from, || self.resolver(from)?.place())?;
        let target = at(to, || self.resolver(to)?.place())?;
        at(from, || {
            let (Last::Name(name), Last::Name(new_name)) = (&source.last, &target.last) else {
                return Err(Errno::EBUSY.into());
            };
            let (name, new_name) = (Name::new(name)?, Name::new(new_name)?);
            if source.slash || target.slash {
                let moved = self.vfs.lookup(&self.caller, source.parent.ino(), name)?;
                if !Reference::taken(self.vfs, moved).is_directory() {
                    return Err(Errno::ENOTDIR.into());
                }
            }
            let (parent, new_parent) = (source.parent.ino(), target.parent.ino());
            self.vfs.rename(&self.caller, parent, name, new_parent, new_name, flags)
        })
    }

    /// Gives what `existing` names a second name; a symlink at its end is not followed.
    ///
    /// # Errors
    /// EEXIST, EPERM (a directory), EMLINK, ENOSPC, EROFS.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/one", "shared")?;
    /// paths.link("/one", "/two")?;
    /// assert_eq!(paths.stat("/two")?.nlink, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn link(&self, existing: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Result<()> {
        let (existing, new) = (existing.as_ref(), new.as_ref());
        let file = self.resolve(existing, Follow::No)?;
        at(new, || {
            let place = self.resolver(new)?.place()?;
            let name = self.name_of_no_directory(&place)?;
            let linked = self.vfs.link(&self.caller, file.ino(), place.parent.ino(), name)?;
            drop(Reference::taken(self.vfs, linked));
            Ok(())
        })
    }

    /// Makes a symlink at `path` to `target`, which need not exist.
    ///
    /// # Errors
    /// EEXIST, ENOENT (an empty target), ENAMETOOLONG (one past 4095 bytes), ENOSPC, EROFS.
    pub fn symlink(&self, target: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        at(path, || {
            let target = Target::new(target.as_ref())?;
            let place = self.resolver(path)?.place()?;
            let name = self.name_of_no_directory(&place)?;
            let made = self.vfs.symlink(&self.caller, place.parent.ino(), name, target)?;
            drop(Reference::taken(self.vfs, made));
            Ok(())
        })
    }

    /// The target of a symlink, as it was given.
    ///
    /// # Errors
    /// EINVAL (it is no symlink).
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.symlink("../nowhere/", "/link")?;
    /// assert_eq!(paths.read_link("/link")?, b"../nowhere/");
    /// # Ok(())
    /// # }
    /// ```
    pub fn read_link(&self, path: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        let path = path.as_ref();
        at(path, || self.vfs.readlink(self.find(path, Follow::No)?.ino()))
    }

    /// What stands at a place, a symlink being itself.
    fn entry(&self, place: &Place<'a>, name: Name<'_>) -> Result<Reference<'a>> {
        let found = self.vfs.lookup(&self.caller, place.parent.ino(), name)?;
        let found = Reference::taken(self.vfs, found);
        if place.slash && !found.is_directory() {
            return Err(Errno::ENOTDIR.into());
        }
        Ok(found)
    }

    /// The name for something that is no directory, so that a trailing slash cannot be met.
    fn name_of_no_directory<'p>(&self, place: &'p Place<'a>) -> Result<Name<'p>> {
        let name = name_to_make(place)?;
        if place.slash {
            let there = self.vfs.lookup(&self.caller, place.parent.ino(), name)?;
            drop(Reference::taken(self.vfs, there));
            return Err(Errno::EEXIST.into());
        }
        Ok(name)
    }
}

fn name_to_make<'p>(place: &'p Place<'_>) -> Result<Name<'p>> {
    match &place.last {
        Last::Name(name) => Name::new(name),
        Last::Root | Last::Dot | Last::DotDot => Err(Errno::EEXIST.into()),
    }
}

fn name_to_remove<'p>(place: &'p Place<'_>) -> Result<Name<'p>> {
    match &place.last {
        Last::Name(name) => Name::new(name),
        Last::Root => Err(Errno::EBUSY.into()),
        Last::Dot => Err(Errno::EINVAL.into()),
        Last::DotDot => Err(Errno::ENOTEMPTY.into()),
    }
}
