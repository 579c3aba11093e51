//! Reading, writing and whatever else goes through a handle to the bytes of a file.
//!
//! Keeps FS-DATA-4, FS-PERM-11, FS-PERM-12 and MNT-38 as far as they are the kernel's. The order of the checks above the
//! library is that of Linux's `read_write.c` and `open.c`.

use agentfs_model::call::{FallocateMode, Object, OpenFlags, Whence};
use agentfs_model::values::{Handle, ProcessId};

use super::attributes::without_set_id;
use super::convert;
use super::kernel::Kernel;
use crate::error::{Errno, Result};
use crate::types::{Ino, SetAttributes, Uid};
use crate::vfs::{self, SeekTo, Vfs, WriteFlags};

/// What the kernel calls an offset is signed.
const LARGEST_OFFSET: u64 = i64::MAX as u64;
/// `MAX_RW_COUNT`: one call reads no more.
const MOST_BYTES: u64 = 0x7fff_f000;

fn is_negative(value: u64) -> bool {
    value > LARGEST_OFFSET
}

fn ends_past_all(offset: u64, length: u64) -> bool {
    offset.checked_add(length).is_none_or(is_negative)
}

/// As much of `data` as a file can hold at `at`.
fn cut_to_fit(at: u64, data: &[u8]) -> Result<&[u8]> {
    let room = LARGEST_OFFSET.saturating_sub(at);
    if room == 0 && !data.is_empty() {
        return Err(Errno::EFBIG.into());
    }
    Ok(&data[..usize::try_from(room).unwrap_or(usize::MAX).min(data.len())])
}

impl Kernel {
    /// `read` with None, `pread` with an offset.
    pub(super) fn read(
        &mut self,
        who: ProcessId,
        handle: Handle,
        offset: Option<u64>,
        length: u64,
    ) -> Result<Vec<u8>> {
        if offset.is_some_and(is_negative) {
            return Err(Errno::EINVAL.into());
        }
        let ino = self.processes.opened_for(who, handle, OpenFlags::READ)?;
        let at = offset.unwrap_or(self.processes.description(who, handle)?.offset);
        if ends_past_all(at, length) {
            return Err(Errno::EINVAL.into());
        }
        let length = usize::try_from(length.min(MOST_BYTES)).map_err(|_| Errno::ENOMEM)?;
        let data = self.fs().read(ino, at, length)?;
        if offset.is_none() {
            self.processes.description_mut(who, handle)?.offset += data.len() as u64;
        }
        Ok(data)
    }

    /// `write` with None, `pwrite` with an offset.
    pub(super) fn write(
        &mut self,
        who: ProcessId,
        handle: Handle,
        offset: Option<u64>,
        data: &[u8],
    ) -> Result<u64> {
        if offset.is_some_and(is_negative) {
            return Err(Errno::EINVAL.into());
        }
        let ino = self.processes.opened_for(who, handle, OpenFlags::WRITE)?;
        let description = self.processes.description(who, handle)?;
        let at = offset.unwrap_or(description.offset);
        let length = data.len() as u64;
        if ends_past_all(at, length) {
            return Err(Errno::EINVAL.into());
        }
        let appends = description.flags.contains(OpenFlags::APPEND);
        let data = cut_to_fit(if appends { self.fs().getattr(ino)?.size } else { at }, data)?;
        let mut flags = self.change_by(who, ino)?;
        flags.set(WriteFlags::APPEND, appends);
        let end = self.fs().write(ino, at, data, flags)?;
        if data.is_empty() {
            return Ok(0);
        }
        if offset.is_none() {
            self.processes.description_mut(who, handle)?.offset = end;
        }
        Ok(data.len() as u64)
    }

    pub(super) fn seek(
        &mut self,
        who: ProcessId,
        handle: Handle,
        offset: i64,
        whence: Whence,
    ) -> Result<u64> {
        let description = self.processes.description(who, handle)?;
        let (ino, present) = (description.ino, description.offset);
        let attributes = self.fs().getattr(ino)?;
        let base = match whence {
            // The library has the rest of the refusals; an offset below 0 it cannot be asked for.
            Whence::Data | Whence::Hole if attributes.mode.is_regular() => {
                let to = if whence == Whence::Data { SeekTo::Data } else { SeekTo::Hole };
                let found = self.fs().seek(ino, u64::try_from(offset).map_err(|_| Errno::ENXIO)?, to)?;
                self.processes.description_mut(who, handle)?.offset = found;
                return Ok(found);
            }
            _ if !attributes.mode.is_regular() => return Err(Errno::EINVAL.into()),
            Whence::Current => present,
            Whence::End => attributes.size,
            _ => 0,
        };
        let base = i64::try_from(base).map_err(|_| Errno::EINVAL)?;
        let position = base.checked_add(offset).and_then(|position| u64::try_from(position).ok());
        let position = position.ok_or(Errno::EINVAL)?;
        self.processes.description_mut(who, handle)?.offset = position;
        Ok(position)
    }

    pub(super) fn truncate(&mut self, who: ProcessId, object: &Object, size: u64) -> Result<()> {
        if is_negative(size) {
            return Err(Errno::EINVAL.into());
        }
        let mut changes = SetAttributes { size: Some(size), ..SetAttributes::default() };
        let handle = match object {
            Object::Handle { handle } => *handle,
            Object::Path { path, follow } => {
                let found = self.resolve(who, path, *follow)?;
                return self.fs().setattr(self.processes.caller(who), found.ino, &changes).map(drop);
            }
        };
        let description = self.processes.description(who, handle)?;
        let (ino, writable) = (description.ino, description.flags.contains(OpenFlags::WRITE));
        let mode = self.fs().getattr(ino)?.mode;
        if !writable || !mode.is_regular() {
            return Err(Errno::EINVAL.into());
        }
        // What falls with the content goes with the size, so that it is one step.
        let kept = self.permissions_kept(who, ino)?;
        changes.permissions = Some(kept).filter(|kept| *kept != mode.permissions());
        self.fs().setattr(&self.admitted(who), ino, &changes).map(drop)
    }

    pub(super) fn fallocate(
        &mut self,
        who: ProcessId,
        handle: Handle,
        mode: FallocateMode,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        let ino = self.processes.description(who, handle)?.ino;
        let mode = convert::fallocate_mode(mode);
        if self.processes.opened_for(who, handle, OpenFlags::WRITE).is_err() {
            return Err(refusal_without_writing(offset, length, mode).into());
        }
        self.fs().fallocate(ino, offset, length, mode, self.change_by(who, ino)?)
    }

    pub(super) fn copy_file_range(
        &mut self,
        who: ProcessId,
        (from, from_offset): (Handle, u64),
        (to, to_offset): (Handle, u64),
        length: u64,
    ) -> Result<u64> {
        let source = self.processes.description(who, from)?.clone();
        let target = self.processes.description(who, to)?.clone();
        let modes = [self.fs().getattr(source.ino)?.mode, self.fs().getattr(target.ino)?.mode];
        if modes.iter().any(|mode| mode.is_directory()) {
            return Err(Errno::EISDIR.into());
        }
        if !modes.iter().all(|mode| mode.is_regular()) {
            return Err(Errno::EINVAL.into());
        }
        let appends = target.flags.contains(OpenFlags::APPEND);
        if !source.flags.contains(OpenFlags::READ) || !target.flags.contains(OpenFlags::WRITE) || appends {
            return Err(Errno::EBADF.into());
        }
        if from_offset.checked_add(length).is_none() || to_offset.checked_add(length).is_none() {
            return Err(Errno::EOVERFLOW.into());
        }
        if to_offset == LARGEST_OFFSET {
            return Err(Errno::EFBIG.into());
        }
        if is_negative(from_offset) || is_negative(to_offset) {
            return Err(Errno::EINVAL.into());
        }
        let length = length.min(LARGEST_OFFSET - to_offset);
        let flags = self.change_by(who, target.ino)?;
        self.fs().copy_file_range(source.ino, from_offset, target.ino, to_offset, length, flags)
    }

    pub(super) fn fsync(&self, who: ProcessId, handle: Handle) -> Result<()> {
        self.fs().fsync(self.processes.description(who, handle)?.ino)
    }

    /// What is left of the permissions of a file whose content `who` changes (FS-PERM-12).
    fn permissions_kept(&self, who: ProcessId, ino: Ino) -> Result<u32> {
        let file = self.fs().getattr(ino)?;
        let caller = self.processes.caller(who);
        let privileged = caller.uid == Uid::ROOT;
        Ok(if privileged { file.mode.permissions() } else { without_set_id(caller, &file) })
    }

    /// What falls with a change of content by `who`.
    fn change_by(&self, who: ProcessId, ino: Ino) -> Result<WriteFlags> {
        let caller = self.processes.caller(who);
        if caller.uid == Uid::ROOT {
            return Ok(WriteFlags::empty());
        }
        let member = caller.is_in_group(self.fs().getattr(ino)?.gid);
        let group = if member { WriteFlags::empty() } else { WriteFlags::CLEAR_GROUP_ID };
        Ok(WriteFlags::CLEAR_SET_ID | group)
    }
}

/// Why fallocate through a handle that is not for writing fails: the values are looked at before.
fn refusal_without_writing(offset: u64, length: u64, mode: vfs::FallocateMode) -> Errno {
    use vfs::FallocateMode as Is;
    if length == 0 || is_negative(offset) || is_negative(length) {
        return Errno::EINVAL;
    }
    let provided = [
        Is::empty(),
        Is::KEEP_SIZE,
        Is::PUNCH_HOLE | Is::KEEP_SIZE,
        Is::ZERO_RANGE,
        Is::ZERO_RANGE | Is::KEEP_SIZE,
        Is::COLLAPSE_RANGE,
        Is::INSERT_RANGE,
    ];
    if provided.contains(&mode) { Errno::EBADF } else { Errno::EOPNOTSUPP }
}
