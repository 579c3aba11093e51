//! fallocate and copy_file_range (FS-ALLOC, FS-COPY).

use super::content::copy;
use super::description::LARGEST_OFFSET;
use super::{Answer, Description, FileSystem, Node, refusal};
use crate::Errno::{EBADF, EFBIG, EINVAL, EISDIR, ENODEV, EOPNOTSUPP, EOVERFLOW};
use crate::call::{Call, FallocateMode, OpenFlags, Operation};
use crate::outcome::{Expected, Outcome};
use crate::values::{Handle, InodeId, ProcessId, Time};

/// What one copy must copy when there is so much; of more it may leave some to the next (FS-COPY-4).
const SURE_COPY: u64 = 16 << 20;

/// FS-ALLOC-6.
fn is_provided(mode: FallocateMode) -> bool {
    let (keep, punch, zero) =
        (FallocateMode::KEEP_SIZE, FallocateMode::PUNCH_HOLE, FallocateMode::ZERO_RANGE);
    let (collapse, insert) = (FallocateMode::COLLAPSE_RANGE, FallocateMode::INSERT_RANGE);
    [FallocateMode::empty(), keep, keep | punch, zero, zero | keep, collapse, insert].contains(&mode)
}

impl FileSystem {
    pub(super) fn fallocate(
        &mut self,
        who: ProcessId,
        handle: Handle,
        mode: FallocateMode,
        (offset, length): (u64, u64),
        now: Time,
    ) -> Answer {
        // The descriptor is looked up before the values are.
        self.description(who, handle)?;
        if length == 0 || offset > LARGEST_OFFSET || length > LARGEST_OFFSET {
            return Err(refusal(EINVAL, "FS-ALLOC-8"));
        }
        if !is_provided(mode) {
            return Err(refusal(EOPNOTSUPP, "FS-ALLOC-6"));
        }
        let inode = self.opened_for(who, handle, OpenFlags::WRITE)?;
        if self.content(inode).is_none() {
            return Err(refusal(ENODEV, "FS-ALLOC-8"));
        }
        let end = offset + length;
        if end > self.profile.largest_file {
            return Err(refusal(EFBIG, "FS-ALLOC-8"));
        }
        if let Err(refused) = self.mode_allowed(inode, mode, (offset, length)) {
            if refused.errno != EOPNOTSUPP && self.profile.refused_shift_modifies {
                self.content_changed(who, inode, now);
            }
            return Err(refused);
        }
        self.content_changed(who, inode, now);
        let layout = self.layout();
        let Node::Regular(content) = &mut self.inode_mut(inode).node else {
            unreachable!("it has just been found to be a regular file")
        };
        let extends = !mode.contains(FallocateMode::KEEP_SIZE) && end > content.size();
        if mode.contains(FallocateMode::COLLAPSE_RANGE) {
            content.collapse(offset, length, layout);
        } else if mode.contains(FallocateMode::INSERT_RANGE) {
            content.insert(offset, length, layout);
        } else {
            if mode.intersects(FallocateMode::PUNCH_HOLE | FallocateMode::ZERO_RANGE) {
                content.punch(offset, length, layout);
            }
            if extends {
                content.set_size(end, layout);
            }
        }
        Ok(Expected::done())
    }

    /// FS-ALLOC-8, what is special of collapse and insert, and modes that the profile says are not provided.
    fn mode_allowed(&self, inode: InodeId, mode: FallocateMode, (offset, length): (u64, u64)) -> Answer<()> {
        if mode.contains(FallocateMode::ZERO_RANGE) && !self.profile.zero_range {
            return Err(refusal(EOPNOTSUPP, "FS-ALLOC-6"));
        }
        let collapse = mode.contains(FallocateMode::COLLAPSE_RANGE);
        if !collapse && !mode.contains(FallocateMode::INSERT_RANGE) {
            return Ok(());
        }
        if !self.profile.collapse_range {
            return Err(refusal(EOPNOTSUPP, "FS-ALLOC-6"));
        }
        let size = self.content(inode).map_or(0, super::Content::size);
        let chunk_size = u64::from(self.profile.chunk_size);
        let aligned = offset.is_multiple_of(chunk_size) && length.is_multiple_of(chunk_size);
        let inside = if collapse { offset + length < size } else { offset < size };
        if !aligned || !inside {
            return Err(refusal(EINVAL, "FS-ALLOC-8"));
        }
        if !collapse && size + length > self.profile.largest_file {
            return Err(refusal(EFBIG, "FS-ALLOC-8"));
        }
        Ok(())
    }

    pub(super) fn copy_file_range(
        &mut self,
        who: ProcessId,
        (from, from_offset): (Handle, u64),
        (to, to_offset): (Handle, u64),
        length: u64,
        now: Time,
    ) -> Answer {
        let source = self.description(who, from)?.clone();
        let target = self.description(who, to)?.clone();
        for description in [&source, &target] {
            if self.directory(description.inode).is_some() {
                return Err(refusal(EISDIR, "FS-COPY-2"));
            }
        }
        for description in [&source, &target] {
            if self.content(description.inode).is_none() {
                return Err(refusal(EINVAL, "FS-COPY-2"));
            }
        }
        let writable = target.flags.contains(OpenFlags::WRITE) && !target.flags.contains(OpenFlags::APPEND);
        if !source.flags.contains(OpenFlags::READ) || !writable {
            return Err(refusal(EBADF, "CALL-1"));
        }
        let wraps = |offset: u64| offset.checked_add(length).is_none();
        if wraps(from_offset) || wraps(to_offset) {
            return Err(refusal(EOVERFLOW, "CALL-3"));
        }
        let size = self.content(source.inode).map_or(0, super::Content::size);
        let rest = if from_offset > LARGEST_OFFSET { u64::MAX } else { size.saturating_sub(from_offset) };
        if (self.profile.largest_file..=LARGEST_OFFSET).contains(&to_offset) {
            return Err(refusal(EFBIG, "FS-COPY-2"));
        }
        if from_offset > LARGEST_OFFSET || to_offset > LARGEST_OFFSET {
            return Err(refusal(EINVAL, "CALL-3"));
        }
        let length = length.min(rest).min(self.profile.largest_file - to_offset);
        let overlap = from_offset < to_offset + length && to_offset < from_offset + length;
        if source.inode == target.inode && overlap {
            return Err(refusal(EINVAL, "FS-COPY-2"));
        }
        let least = length.min(SURE_COPY);
        if length > 0 {
            self.accessed(source.inode, now);
            self.content_changed(who, target.inode, now);
            self.copied((&source, from_offset), (&target, to_offset), least);
        }
        Ok(match least == length {
            true => Expected::Exactly(Outcome::Count(length)),
            false => Expected::CountBetween { least, most: length },
        })
    }

    /// FS-COPY-4: a call of copy_file_range has copied `count` bytes, and not only those that it had to.
    pub(super) fn copied_more(&mut self, call: &Call, count: u64) {
        let Operation::CopyFileRange { from, from_offset, to, to_offset, .. } = &call.operation else {
            return;
        };
        let opened = |handle: &Handle| self.description(call.by, *handle).ok().cloned();
        let (Some(source), Some(target)) = (opened(from), opened(to)) else { return };
        if let Some(rest @ 1..) = count.checked_sub(SURE_COPY) {
            self.copied((&source, from_offset + SURE_COPY), (&target, to_offset + SURE_COPY), rest);
        }
    }

    fn copied(
        &mut self,
        (source, from): (&Description, u64),
        (target, to): (&Description, u64),
        length: u64,
    ) {
        let bytes = self.content(source.inode).cloned().unwrap_or_default();
        let layout = self.layout();
        if let Node::Regular(content) = &mut self.inode_mut(target.inode).node {
            copy((&bytes, from), (content, to), length, layout);
        }
    }
}
