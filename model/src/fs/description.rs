//! open, close, read, write, seek, fsync: open file descriptions and the bytes behind them (FS-OPEN, FS-DATA, CALL).

use super::listing::Listing;
use super::path::Last;
use super::{Answer, Content, Description, FileSystem, Node, refusal};
use crate::Errno::{EACCES, EBADF, EEXIST, EFBIG, EINVAL, EISDIR, ELOOP, ENOTDIR, ENXIO};
use crate::bytes::Bytes;
use crate::call::{AccessMode, OpenFlags, Place, Whence};
use crate::outcome::{Expected, Outcome};
use crate::values::{FileKind, Handle, InodeId, ProcessId, Time};

/// The largest offset that a system call can name.
pub(super) const LARGEST_OFFSET: u64 = i64::MAX as u64;
/// Where the last page begins that a file can have, of 4096 bytes.
pub(super) const LAST_PAGE: u64 = (1 << 63) - 4096;

impl FileSystem {
    pub(super) fn description(&self, who: ProcessId, handle: Handle) -> Answer<&Description> {
        self.descriptions.get(&(who, handle)).ok_or(refusal(EBADF, "CALL-1"))
    }

    pub(super) fn description_mut(&mut self, who: ProcessId, handle: Handle) -> &mut Description {
        self.descriptions.get_mut(&(who, handle)).expect("callers have found the handle in this very call")
    }

    pub(super) fn content(&self, inode: InodeId) -> Option<&Content> {
        match &self.inodes[&inode].node {
            Node::Regular(content) => Some(content),
            _ => None,
        }
    }

    pub(super) fn open(
        &mut self,
        who: ProcessId,
        place: &Place,
        flags: OpenFlags,
        mode: u32,
        handle: Handle,
        now: Time,
    ) -> Answer {
        let create = flags.contains(OpenFlags::CREATE);
        if create && flags.contains(OpenFlags::DIRECTORY) {
            return Err(refusal(EINVAL, "CALL-4"));
        }
        let exclusive = flags.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE);
        let follow = !flags.contains(OpenFlags::NOFOLLOW) && !exclusive;
        let inode = if create {
            self.open_or_create(who, place, flags, mode, follow, now)?
        } else {
            let inode = self.resolve(who, place, follow, now)?;
            self.may_open(who, inode, flags)?;
            self.truncate_on_open(who, inode, flags, now);
            inode
        };
        if matches!(self.inodes[&inode].node, Node::Special(..)) {
            return Ok(Expected::Exactly(Outcome::Unsupported("opens a FIFO or a device".to_owned())));
        }
        let description = Description { inode, flags, offset: 0, listing: Listing::default() };
        self.descriptions.insert((who, handle), description);
        Ok(Expected::done())
    }

    fn open_or_create(
        &mut self,
        who: ProcessId,
        place: &Place,
        flags: OpenFlags,
        mode: u32,
        follow: bool,
        now: Time,
    ) -> Answer<InodeId> {
        let (located, found) = self.resolve_for_creation(who, place, follow, now)?;
        let Some(inode) = found else {
            let Last::Name(name) = located.last else { unreachable!("what is no name has been found") };
            self.writable()?;
            self.may_change_entries(who, located.parent)?;
            let node = Node::Regular(Content::default());
            return Ok(self.give_birth(who, (located.parent, name), node, mode, now));
        };
        if flags.contains(OpenFlags::EXCLUSIVE) {
            return Err(refusal(EEXIST, "FS-CREATE-3"));
        }
        if self.directory(inode).is_some() {
            return Err(refusal(EISDIR, "PATH-6"));
        }
        self.may_open_in_sticky(who, located.parent, inode)?;
        self.may_open(who, inode, flags)?;
        self.truncate_on_open(who, inode, flags, now);
        Ok(inode)
    }

    /// FS-OPEN-2.
    fn may_open(&self, who: ProcessId, inode: InodeId, flags: OpenFlags) -> Answer<()> {
        let kind = self.inodes[&inode].kind();
        let changes = flags.intersects(OpenFlags::WRITE | OpenFlags::TRUNCATE);
        let errno = match kind {
            _ if flags.contains(OpenFlags::DIRECTORY) && kind != FileKind::Directory => Some(ENOTDIR),
            FileKind::Symlink => Some(ELOOP),
            FileKind::Directory if changes => Some(EISDIR),
            _ => None,
        };
        if let Some(errno) = errno {
            return Err(refusal(errno, "FS-OPEN-2"));
        }
        if changes && kind == FileKind::Regular {
            self.writable()?;
        }
        let mut access = AccessMode::empty();
        access.set(AccessMode::READ, flags.contains(OpenFlags::READ));
        access.set(AccessMode::WRITE, changes);
        self.may(who, inode, access).map_err(|_| refusal(EACCES, "FS-OPEN-2"))?;
        if kind == FileKind::Socket { Err(refusal(ENXIO, "CALL-4")) } else { Ok(()) }
    }

    /// FS-OPEN-3.
    fn truncate_on_open(&mut self, who: ProcessId, inode: InodeId, flags: OpenFlags, now: Time) {
        if flags.contains(OpenFlags::TRUNCATE) && self.content(inode).is_some() {
            self.cut(who, inode, 0, now);
        }
    }

    pub(super) fn close(&mut self, who: ProcessId, handle: Handle) -> Answer {
        self.descriptions.remove(&(who, handle)).ok_or(refusal(EBADF, "CALL-1"))?;
        Ok(Expected::done())
    }

    /// `read(2)` with None, `pread(2)` with an offset. FS-DATA-1, FS-DATA-2, CALL-2.
    pub(super) fn read(
        &mut self,
        who: ProcessId,
        handle: Handle,
        offset: Option<u64>,
        length: u64,
        now: Time,
    ) -> Answer {
        Self::check_offset(offset)?;
        let inode = self.opened_for(who, handle, OpenFlags::READ)?;
        let at = offset.unwrap_or(self.description(who, handle)?.offset);
        Self::check_end(at, length)?;
        if self.directory(inode).is_some() {
            return Err(refusal(EISDIR, "FS-DATA-2"));
        }
        let layout = self.layout();
        let content = self.content(inode).ok_or(refusal(EINVAL, "FS-DATA-2"))?;
        let found = content.read(at, length, layout);
        if offset.is_none() {
            self.description_mut(who, handle).offset += found.len() as u64;
        }
        // Past all that a file can have, the kernel does not look for it.
        let nowhere = self.profile.kernel && at >= self.profile.largest_file;
        if (length > 0 && !nowhere) || (length == 0 && self.profile.empty_read_accesses) {
            self.accessed(inode, now);
        }
        Ok(Expected::Exactly(Outcome::Data(Bytes(found))))
    }

    /// `write(2)` with None, `pwrite(2)` with an offset. FS-DATA-3 to FS-DATA-6, CALL-2.
    pub(super) fn write(
        &mut self,
        who: ProcessId,
        handle: Handle,
        offset: Option<u64>,
        data: &[u8],
        now: Time,
    ) -> Answer {
        let length = data.len() as u64;
        Self::check_offset(offset)?;
        let inode = self.opened_for(who, handle, OpenFlags::WRITE)?;
        let description = self.description(who, handle)?;
        let append = description.flags.contains(OpenFlags::APPEND);
        let named = offset.unwrap_or(description.offset);
        // Also of an append, which begins elsewhere.
        Self::check_end(named, length)?;
        let layout = self.layout();
        let content = self.content(inode).ok_or(refusal(EINVAL, "FS-DATA-2"))?;
        let at = if append { content.size() } else { named };
        let room = self.profile.largest_file.saturating_sub(at);
        let data = &data[..data.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        if data.is_empty() && room == 0 && length > 0 {
            return Err(refusal(EFBIG, "FS-DATA-6"));
        }
        if !data.is_empty() {
            self.content_changed(who, inode, now);
            if let Node::Regular(content) = &mut self.inode_mut(inode).node {
                content.write(at, data, layout);
            }
        }
        if offset.is_none() && !(append && data.is_empty()) {
            self.description_mut(who, handle).offset = at + data.len() as u64;
        }
        Ok(Expected::Exactly(Outcome::Count(data.len() as u64)))
    }

    /// CALL-3: an offset that the kernel takes for a negative number, which it sees before it looks for the handle.
    fn check_offset(offset: Option<u64>) -> Answer<()> {
        let negative = offset.is_some_and(|offset| offset > LARGEST_OFFSET);
        if negative { Err(refusal(EINVAL, "CALL-3")) } else { Ok(()) }
    }

    /// CALL-3: the same of a range's end, after the handle.
    fn check_end(offset: u64, length: u64) -> Answer<()> {
        let end = offset.checked_add(length).filter(|end| *end <= LARGEST_OFFSET);
        if end.is_none() { Err(refusal(EINVAL, "CALL-3")) } else { Ok(()) }
    }

    /// `lseek(2)` on a regular file. FS-SEEK, CALL-3.
    pub(super) fn seek(&mut self, who: ProcessId, handle: Handle, offset: i64, whence: Whence) -> Answer {
        let description = self.description(who, handle)?;
        let (inode, current) = (description.inode, description.offset);
        let layout = self.layout();
        let content = self.content(inode).ok_or(refusal(EINVAL, "FS-SEEK-2"))?;
        let size = content.size();
        let base = match whence {
            Whence::Set => 0,
            Whence::Current => current,
            Whence::End => size,
            Whence::Data | Whence::Hole => {
                let nowhere = refusal(ENXIO, "FS-SEEK-2");
                let inside = u64::try_from(offset).ok().filter(|offset| *offset < size).ok_or(nowhere)?;
                let data = whence == Whence::Data;
                let expected = match (data, self.profile.layout) {
                    (true, true) => exactly(content.next_stored(inside, layout).ok_or(nowhere)?),
                    (false, true) => exactly(content.next_hole(inside, layout)),
                    (true, false) => match content.next_nonzero(inside, layout) {
                        Some(most) => Expected::OffsetBetween { least: inside, most },
                        None if size == inside + 1 => exactly(inside),
                        None => Expected::OffsetBetween { least: inside, most: size - 1 },
                    },
                    (false, false) => {
                        let least = content.next_zero(inside, layout);
                        if self.profile.last_page_sought || least < LAST_PAGE {
                            Expected::OffsetBetween { least, most: size }
                        } else {
                            Expected::OffsetBetween { least: LAST_PAGE.max(inside), most: 1 << 63 }
                        }
                    }
                };
                if let Expected::Exactly(Outcome::Offset(offset)) = expected {
                    self.description_mut(who, handle).offset = offset;
                }
                return Ok(expected);
            }
        };
        let position = i64::try_from(base).ok().and_then(|base| base.checked_add(offset));
        let position = position
            .and_then(|position| u64::try_from(position).ok())
            .filter(|position| *position <= self.profile.largest_file)
            .ok_or(refusal(EINVAL, "CALL-3"))?;
        self.description_mut(who, handle).offset = position;
        Ok(exactly(position))
    }

    /// fsync and fdatasync: a barrier, which shows nothing here.
    pub(super) fn fsync(&self, who: ProcessId, handle: Handle) -> Answer {
        self.description(who, handle)?;
        Ok(Expected::done())
    }

    /// Whether the handle of that process is open.
    #[must_use]
    pub fn is_open(&self, who: ProcessId, handle: Handle) -> bool {
        self.descriptions.contains_key(&(who, handle))
    }
}

const fn exactly(offset: u64) -> Expected {
    Expected::Exactly(Outcome::Offset(offset))
}
