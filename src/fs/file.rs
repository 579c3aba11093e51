//! Reading and writing the content of regular files, and what else changes it.
//!
//! Keeps FS-OPEN-1 to FS-OPEN-3, FS-PERM-13, FS-TIME-7, FS-XATTR-11, and FS-DATA, FS-ALLOC, FS-SEEK and FS-COPY as far as they
//! concern who may, when and with which times; how bytes are stored is in `content` and `extent`.

use super::extent::copy_range;
use super::inode::Inode;
use super::permission::{check_access, drop_set_id};
use super::{Errno, Operation, Result, checked_end};
use crate::types::{Access, Caller, FileKind, Ino};
use crate::vfs::{FallocateMode, OpenFlags, WriteFlags};

/// The most that one copy operation copies.
pub(super) const COPY_BYTES: u64 = 16 << 20;

impl Operation<'_> {
    pub(super) fn check_open(&mut self, caller: &Caller, ino: Ino, flags: OpenFlags) -> Result<Inode> {
        let inode = self.inode(ino)?;
        let writes = flags.intersects(OpenFlags::WRITE | OpenFlags::TRUNCATE);
        match inode.mode.kind() {
            FileKind::Symlink if !flags.contains(OpenFlags::DIRECTORY) => return Err(Errno::ELOOP.into()),
            FileKind::Directory if writes => return Err(Errno::EISDIR.into()),
            FileKind::Directory => {}
            _ if flags.contains(OpenFlags::DIRECTORY) => return Err(Errno::ENOTDIR.into()),
            _ => {}
        }
        if writes && inode.mode.is_regular() {
            self.check_writable()?;
        }
        let mut access = Access::empty();
        access.set(Access::READ, flags.contains(OpenFlags::READ));
        access.set(Access::WRITE, writes);
        check_access(caller, &inode, access)?;
        Ok(inode)
    }

    pub(super) fn read(&mut self, ino: Ino, offset: u64, length: usize) -> Result<Vec<u8>> {
        let inode = self.regular(ino)?;
        let data = self.content(&inode).read(offset, length)?;
        if length > 0 {
            self.note_access(&inode);
        }
        Ok(data)
    }

    pub(super) fn write(&mut self, ino: Ino, offset: u64, data: &[u8], flags: WriteFlags) -> Result<u64> {
        let mut inode = self.regular_to_change(ino)?;
        let offset = if flags.contains(WriteFlags::APPEND) { inode.size } else { offset };
        let end = checked_end(offset, data.len() as u64)?;
        if data.is_empty() {
            return Ok(end);
        }
        self.check_room()?;
        self.content(&inode).write(offset, data)?;
        self.changed(&mut inode, flags)?;
        Ok(end)
    }

    /// What comes with every change of content.
    fn changed(&mut self, inode: &mut Inode, flags: WriteFlags) -> Result<()> {
        if flags.contains(WriteFlags::CLEAR_SET_ID) {
            let mode = drop_set_id(inode.mode, flags.contains(WriteFlags::CLEAR_GROUP_ID));
            if mode != inode.mode {
                inode.mode = mode;
                inode.store_attributes(self.session)?;
            }
        }
        if !flags.contains(WriteFlags::KEEP_TIMES) {
            Inode::touch_content(self.session, inode.ino, self.now)?;
        }
        self.remove_capabilities(inode)?;
        self.state.touch([inode.ino]);
        Ok(())
    }

    /// The order of the checks is that of Linux's `vfs_fallocate`; `free` is how many bytes there is room for.
    pub(super) fn fallocate(
        &mut self,
        ino: Ino,
        (offset, length): (u64, u64),
        mode: FallocateMode,
        flags: WriteFlags,
        free: u64,
    ) -> Result<()> {
        if length == 0 || i64::try_from(offset).is_err() || i64::try_from(length).is_err() {
            return Err(Errno::EINVAL.into());
        }
        let keep_size = mode.contains(FallocateMode::KEEP_SIZE);
        let operation = mode.difference(FallocateMode::KEEP_SIZE);
        let known = [
            FallocateMode::empty(),
            FallocateMode::PUNCH_HOLE,
            FallocateMode::ZERO_RANGE,
            FallocateMode::COLLAPSE_RANGE,
            FallocateMode::INSERT_RANGE,
        ];
        let moves = operation.intersects(FallocateMode::COLLAPSE_RANGE | FallocateMode::INSERT_RANGE);
        if !known.contains(&operation)
            || (operation == FallocateMode::PUNCH_HOLE && !keep_size)
            || (moves && keep_size)
        {
            return Err(Errno::EOPNOTSUPP.into());
        }
        let mut inode = self.inode(ino)?;
        self.check_writable()?;
        match inode.mode.kind() {
            FileKind::Regular => {}
            FileKind::Directory => return Err(Errno::EISDIR.into()),
            _ => return Err(Errno::ENODEV.into()),
        }
        checked_end(offset, length)?;
        let mut content = self.content(&inode);
        let fills = matches!(operation, FallocateMode::ZERO_RANGE) || operation.is_empty();
        if fills && content.missing_bytes(offset, length)? > free {
            return Err(Errno::ENOSPC.into());
        }
        match operation {
            FallocateMode::PUNCH_HOLE => content.punch_hole(offset, length)?,
            _ if !self.room => return Err(Errno::ENOSPC.into()),
            FallocateMode::ZERO_RANGE => content.zero_range(offset, length, keep_size)?,
            FallocateMode::COLLAPSE_RANGE => content.collapse_range(offset, length)?,
            FallocateMode::INSERT_RANGE => content.insert_range(offset, length)?,
            _ => content.allocate(offset, length, keep_size)?,
        }
        self.changed(&mut inode, flags - WriteFlags::KEEP_TIMES)
    }

    pub(super) fn copy_file_range(
        &mut self,
        (from, from_offset): (Ino, u64),
        (to, to_offset): (Ino, u64),
        length: u64,
        flags: WriteFlags,
    ) -> Result<u64> {
        let mut target = self.inode(to)?;
        let source = self.inode(from)?;
        self.check_writable()?;
        if source.mode.is_directory() || target.mode.is_directory() {
            return Err(Errno::EISDIR.into());
        }
        if !source.mode.is_regular() || !target.mode.is_regular() {
            return Err(Errno::EINVAL.into());
        }
        let length = length.min(source.size.saturating_sub(from_offset));
        checked_end(to_offset, length)?;
        let overlap = from == to && from_offset < to_offset + length && to_offset < from_offset + length;
        if overlap {
            return Err(Errno::EINVAL.into());
        }
        if length == 0 {
            return Ok(0);
        }
        self.check_room()?;
        let configuration = self.fs.store.configuration();
        let mut content = self.content(&target);
        let copied = copy_range(
            self.session,
            configuration,
            (from, source.shape()),
            from_offset,
            &mut content,
            to_offset,
            length,
        )?;
        self.note_access(&source);
        self.changed(&mut target, flags - WriteFlags::KEEP_TIMES)?;
        Ok(copied)
    }
}
