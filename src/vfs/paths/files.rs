//! The content of files, by path.

use super::resolve::{Found, Reference};
use super::{Follow, Paths, at};
use crate::error::{Errno, Result};
use crate::types::{Ino, Name, SetAttributes};
use crate::vfs::{OpenFlags, WriteFlags};

/// Bytes of one read or write of the file system: others get their turn in between.
const PIECE_BYTES: usize = 8 << 20;

impl<'a> Paths<'a> {
    /// The whole content of a file.
    ///
    /// # Errors
    /// EACCES, EISDIR, EINVAL (not a regular file), EIO.
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
            self.read_pieces(file.ino(), offset, length)
        })
    }

    fn read_pieces(&self, file: Ino, offset: u64, length: u64) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        loop {
            let done = content.len() as u64;
            let wanted = usize::try_from(length - done).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            let Some(position) = offset.checked_add(done) else { return Ok(content) };
            let mut piece = self.vfs.read(file, position, wanted)?;
            let ended = piece.len() < wanted || wanted == 0;
            content.append(&mut piece);
            if ended {
                return Ok(content);
            }
        }
    }

    /// Replaces the content of a file, or makes it (with mode 0666 less the umask) and the
    /// directories above it. It is not an atomic replacement: write beside and [`rename`](Self::rename) for that.
    ///
    /// # Errors
    /// EACCES, EISDIR, EFBIG, ENOSPC, EROFS, EIO.
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
            let file = self.open_or_create(path, OpenFlags::WRITE | OpenFlags::TRUNCATE)?;
            let mut offset = 0;
            for piece in content.as_ref().chunks(PIECE_BYTES) {
                offset = self.vfs.write(file.ino(), offset, piece, self.write_flags())?;
            }
            Ok(())
        })
    }

    /// Adds bytes at the end of a file, in one piece; makes it, and the directories above it, when it
    /// is missing.
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
    /// paths.append("/log/today", "one\n")?;
    /// paths.append("/log/today", "two\n")?;
    /// assert_eq!(paths.read("/log/today")?, b"one\ntwo\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn append(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        at(path, || {
            let file = self.open_or_create(path, OpenFlags::WRITE)?;
            if content.as_ref().is_empty() {
                return Ok(());
            }
            let flags = self.write_flags() | WriteFlags::APPEND;
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

    fn open_or_create(&self, path: &[u8], flags: OpenFlags) -> Result<Reference<'a>> {
        let existing = match self.resolver(path)?.making().find(Follow::Yes)? {
            Found::Existing(file) => file,
            Found::Missing { parent, name } => {
                match self.vfs.create(&self.caller, parent.ino(), Name::new(&name)?, 0o666) {
                    Ok(attributes) => return Ok(Reference::taken(self.vfs, attributes)),
                    // Somebody else has made it meanwhile.
                    Err(error) if error.errno() == Errno::EEXIST => self.find(path, Follow::Yes)?,
                    Err(error) => return Err(error),
                }
            }
        };
        self.vfs.open(&self.caller, existing.ino(), flags)?;
        Ok(existing)
    }

    fn write_flags(&self) -> WriteFlags {
        if self.caller.uid.0 == 0 { WriteFlags::empty() } else { WriteFlags::CLEAR_SET_ID }
    }
}
