//! What files hold after a call, said once more with plain arrays of bytes (FS-DATA, FS-TRUNC, FS-ALLOC, FS-COPY, FS-SEEK-3).

use super::{Step, writes};
use crate::call::{FallocateMode, Object, OpenFlags, Operation, Whence};
use crate::check::filesystem::place;
use crate::fs::{FileSystem, Layout, Node};
use crate::outcome::Outcome;
use crate::values::{Handle, InodeId};

/// The bytes of a regular file.
pub(super) fn bytes(fs: &FileSystem, inode: InodeId) -> Option<Vec<u8>> {
    match &fs.inodes().get(&inode)?.node {
        Node::Regular(content) => Some(content.read(0, content.size(), Layout::from(fs.profile()))),
        _ => None,
    }
}

fn put(bytes: &mut Vec<u8>, at: usize, data: &[u8]) {
    if !data.is_empty() {
        bytes.resize(bytes.len().max(at + data.len()), 0);
        bytes[at..at + data.len()].copy_from_slice(data);
    }
}

fn allocate(bytes: &mut Vec<u8>, mode: FallocateMode, offset: usize, length: usize) {
    let size = bytes.len();
    let (from, to) = (offset.min(size), (offset + length).min(size));
    if mode.contains(FallocateMode::COLLAPSE_RANGE) {
        bytes.drain(from..to);
    } else if mode.contains(FallocateMode::INSERT_RANGE) {
        bytes.splice(from..from, vec![0; length]);
    } else {
        if mode.intersects(FallocateMode::PUNCH_HOLE | FallocateMode::ZERO_RANGE) {
            bytes[from..to].fill(0);
        }
        if !mode.contains(FallocateMode::KEEP_SIZE) {
            bytes.resize(size.max(offset + length), 0);
        }
    }
}

impl Step<'_> {
    fn opened(&self, fs: &FileSystem, handle: Handle) -> Option<(InodeId, OpenFlags, usize)> {
        let description = fs.descriptions().get(&(self.call.by, handle))?;
        Some((description.inode, description.flags, description.offset as usize))
    }

    /// The file that the call writes to.
    fn written(&self) -> Option<InodeId> {
        let by_handle = |handle: &Handle| self.opened(self.before, *handle).map(|(inode, ..)| inode);
        match &self.call.operation {
            operation if !writes(operation) => None,
            Operation::Open { handle, .. } => self.opened(self.after, *handle).map(|(inode, ..)| inode),
            Operation::Write { handle, .. }
            | Operation::Pwrite { handle, .. }
            | Operation::Fallocate { handle, .. }
            | Operation::CopyFileRange { to: handle, .. }
            | Operation::Truncate { object: Object::Handle { handle }, .. } => by_handle(handle),
            Operation::Truncate { object: Object::Path { path, .. }, .. } => {
                place::named(self.before, self.call.by, path)
            }
            _ => None,
        }
    }

    /// What is in it after the call, as it should be.
    fn expected(&self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        match &self.call.operation {
            Operation::Open { .. } => bytes.clear(),
            Operation::Truncate { size, .. } => bytes.resize(*size as usize, 0),
            Operation::Write { handle, data } | Operation::Pwrite { handle, data, .. } => {
                let (_, flags, own) = self.opened(self.before, *handle)?;
                let at = match &self.call.operation {
                    _ if flags.contains(OpenFlags::APPEND) => bytes.len(),
                    Operation::Pwrite { offset, .. } => *offset as usize,
                    _ => own,
                };
                put(&mut bytes, at, data);
            }
            Operation::Fallocate { mode, offset, length, .. } => {
                allocate(&mut bytes, *mode, *offset as usize, *length as usize);
            }
            Operation::CopyFileRange { from, from_offset, to_offset, length, .. } => {
                let (source, ..) = self.opened(self.before, *from)?;
                let source = self::bytes(self.before, source)?;
                let begin = (*from_offset as usize).min(source.len());
                let end = (begin + *length as usize).min(source.len());
                put(&mut bytes, *to_offset as usize, &source[begin..end]);
            }
            _ => {}
        }
        Some(bytes)
    }

    /// Every file that is there before and after; a new one is empty.
    pub(super) fn holds_what_was_written(&self) -> bool {
        let written = self.written();
        self.after.inodes().iter().all(|(id, inode)| {
            let Node::Regular(is) = &inode.node else { return true };
            let Some(Node::Regular(was)) = self.before.inodes().get(id).map(|inode| &inode.node) else {
                return is.size() == 0;
            };
            if Some(*id) != written {
                return was == is;
            }
            let before = bytes(self.before, *id).unwrap_or_default();
            self.expected(before) == bytes(self.after, *id)
        })
    }

    /// What reading, writing and seeking answer.
    pub(super) fn right_answer(&self) -> bool {
        match (&self.call.operation, self.answer) {
            (
                Operation::Read { handle, length } | Operation::Pread { handle, length, .. },
                Some(Outcome::Data(data)),
            ) => {
                let Some((inode, _, own)) = self.opened(self.before, *handle) else { return false };
                let at = match &self.call.operation {
                    Operation::Pread { offset, .. } => *offset as usize,
                    _ => own,
                };
                let Some(bytes) = bytes(self.before, inode) else { return false };
                let begin = at.min(bytes.len());
                **data == bytes[begin..bytes.len().min(begin + *length as usize)]
            }
            (Operation::Write { data, .. } | Operation::Pwrite { data, .. }, Some(Outcome::Count(count))) => {
                *count == data.len() as u64
            }
            (
                Operation::Seek { handle, offset, whence: whence @ (Whence::Data | Whence::Hole) },
                Some(Outcome::Offset(found)),
            ) => {
                let bytes =
                    self.opened(self.before, *handle).and_then(|(inode, ..)| bytes(self.before, inode));
                let Some(bytes) = bytes else { return false };
                let (from, found) = (*offset as usize, *found as usize);
                // No byte that is not zero is passed over, and none is called a hole.
                let passed = bytes.get(from..found);
                passed.is_some_and(|passed| match whence {
                    Whence::Data => passed.iter().all(|byte| *byte == 0),
                    _ => bytes.get(found).is_none_or(|byte| *byte == 0),
                })
            }
            _ => true,
        }
    }
}
