//! The content of files, by path.

use super::resolve::Reference;
use super::{Follow, Paths, at};
use crate::error::{Errno, Result};
use crate::types::{Name, SetAttributes, Uid};
use crate::vfs::{OpenFlags, WriteFlags};

impl<'a> Paths<'a> {
    /// The whole content of a file.
    ///
    /// # Errors
    /// EACCES, EISDIR, EINVAL (not a regular file), ENOMEM (larger than the memory), EIO.
    pub fn read(&self, path: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        self.read_range(path, 0, u64::MAX)
    }

    /// The `length` bytes at `offset`, or as many of them as the file has.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/alphabet", "abcdefghij")?;
    /// assert_eq!(paths.read("/alphabet")?, b"abcdefghij");
    /// assert_eq!(paths.read_range("/alphabet", 2, 3)?, b"cde");
    /// assert_eq!(paths.read_range("/alphabet", 8, 100)?, b"ij");
    /// # Ok(())
    /// # }
    /// ```
    pub fn read_range(&self, path: impl AsRef<[u8]>, offset: u64, length: u64) -> Result<Vec<u8>> {
        let path = path.as_ref();
        at(path, || {
            let file = self.find(path, Follow::Yes)?;
            self.vfs.open(&self.caller, file.ino(), OpenFlags::READ)?;
            let mut size = file.attributes().size;
            loop {
                // In one call, so that what is found is of one time; one byte more than the file had tells
                // whether it has grown since it was looked at.
                let wanted = length.min(size.saturating_sub(offset).saturating_add(1));
                let wanted = usize::try_from(wanted).map_err(|_| Errno::ENOMEM)?;
                // A hole can be larger than the memory, and must not end the program.
                Vec::<u8>::new().try_reserve_exact(wanted).map_err(|_| Errno::ENOMEM)?;
                let found = self.vfs.read(file.ino(), offset, wanted)?;
                if found.len() < wanted || found.len() as u64 == length {
                    return Ok(found);
                }
                size = self.vfs.getattr(file.ino())?.size;
            }
        })
    }

    /// Replaces the content of a file, or makes it (with mode 0666 less the umask) and the
    /// directories above it, in one step: whoever reads, also after a crash, finds the old content
    /// or the new.
    ///
    /// # Errors
    /// EACCES, EISDIR, EINVAL (not a regular file), EFBIG, ENOSPC, EROFS, EIO; then nothing has changed.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/made/on/the/way.txt", "a long first version")?;
    /// paths.write("/made/on/the/way.txt", "the second")?;
    /// assert_eq!(paths.read("/made/on/the/way.txt")?, b"the second");
    /// # Ok(())
    /// # }
    /// ```
    pub fn write(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        at(path, || {
            let place = self.resolver(path)?.file()?;
            let missing = place.missing.iter().map(|name| Name::new(name)).collect::<Result<Vec<_>>>()?;
            let name = Name::new(&place.name)?;
            self.vfs.put(&self.caller, place.parent.ino(), &missing, name, content.as_ref())
        })
    }

    /// Adds bytes at the end of a file, in one step; makes it first when it is missing.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.append("/log", "one\n")?;
    /// paths.append("/log", "two\n")?;
    /// assert_eq!(paths.read("/log")?, b"one\ntwo\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn append(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        at(path, || {
            let file = self.open_or_create(path)?;
            if content.as_ref().is_empty() {
                return Ok(());
            }
            let mut flags = WriteFlags::APPEND;
            flags.set(WriteFlags::CLEAR_SET_ID, self.caller.uid != Uid::ROOT);
            flags.set(WriteFlags::CLEAR_GROUP_ID, !self.caller.is_in_group(file.attributes().gid));
            self.vfs.write(file.ino(), 0, content.as_ref(), flags).map(drop)
        })
    }

    /// Cuts a file to `size` bytes, or extends it with a hole.
    ///
    /// # Errors
    /// EACCES, EISDIR, EINVAL (not a regular file), EFBIG, ENOSPC, EROFS.
    ///
    /// ```
    /// # use agentfs::{types::Caller, vfs::Paths, AgentFs, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let fs = AgentFs::create(&folder.path().join("agent.db"), &Options::default())?;
    /// # let paths = Paths::new(&fs, Caller::root());
    /// paths.write("/file", "12345")?;
    /// paths.truncate("/file", 2)?;
    /// paths.truncate("/file", 4)?;
    /// assert_eq!(paths.read("/file")?, b"12\0\0");
    /// # Ok(())
    /// # }
    /// ```
    pub fn truncate(&self, path: impl AsRef<[u8]>, size: u64) -> Result<()> {
        let changes = SetAttributes { size: Some(size), ..SetAttributes::default() };
        self.set_attributes(path, Follow::Yes, &changes).map(drop)
    }

    fn open_or_create(&self, path: &[u8]) -> Result<Reference<'a>> {
        let place = self.resolver(path)?.file()?;
        if !place.missing.is_empty() {
            return Err(Errno::ENOENT.into());
        }
        let existing = match place.existing {
            Some(existing) => existing,
            None => {
                let name = Name::new(&place.name)?;
                match self.vfs.create(&self.caller, place.parent.ino(), name, 0o666) {
                    Ok(attributes) => return Ok(Reference::taken(self.vfs, attributes)),
                    // Somebody else has made it meanwhile.
                    Err(error) if error.errno() == Errno::EEXIST => self.find(path, Follow::Yes)?,
                    Err(error) => return Err(error),
                }
            }
        };
        self.vfs.open(&self.caller, existing.ino(), OpenFlags::WRITE)?;
        Ok(existing)
    }
}
