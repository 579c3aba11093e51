//! Drafts of what works on open files and on their bytes.

use crate::bytes::Bytes;
use crate::call::{FallocateMode, Object, OpenFlags, Operation, Place, Whence};
use crate::fs::Description;
use crate::values::{FileKind, Handle, InodeId};

use super::draft::Drawing;
use super::spelling::{any, directory, regular};

const READ: OpenFlags = OpenFlags::READ;
const WRITE: OpenFlags = OpenFlags::WRITE;
const BOTH: OpenFlags = READ.union(WRITE);
const CREATE: OpenFlags = OpenFlags::CREATE;

/// How files are opened.
const FLAGS: &[(usize, OpenFlags)] = &[
    (40, BOTH.union(CREATE)),
    (14, READ),
    (10, BOTH),
    (6, WRITE),
    (8, READ.union(OpenFlags::DIRECTORY)),
    (8, BOTH.union(CREATE).union(OpenFlags::EXCLUSIVE)),
    (8, BOTH.union(CREATE).union(OpenFlags::TRUNCATE)),
    (6, BOTH.union(CREATE).union(OpenFlags::APPEND)),
    (4, READ.union(OpenFlags::NOFOLLOW)),
    (3, WRITE.union(OpenFlags::TRUNCATE)),
    (3, READ.union(OpenFlags::TRUNCATE)),
    (3, READ.union(CREATE)),
    (2, BOTH.union(CREATE).union(OpenFlags::NOFOLLOW)),
    (2, WRITE.union(OpenFlags::DIRECTORY)),
    (2, READ.union(CREATE).union(OpenFlags::DIRECTORY)),
];

const MODES: &[u32] = &[0o644, 0o666, 0o600, 0o755, 0o000, 0o6777, 0o2755, 0o2745, 0o4755, 0o444, 0o1644];

const ALLOCATIONS: &[(usize, FallocateMode)] = &[
    (20, FallocateMode::empty()),
    (10, FallocateMode::KEEP_SIZE),
    (20, FallocateMode::PUNCH_HOLE.union(FallocateMode::KEEP_SIZE)),
    (15, FallocateMode::ZERO_RANGE),
    (10, FallocateMode::ZERO_RANGE.union(FallocateMode::KEEP_SIZE)),
    (15, FallocateMode::COLLAPSE_RANGE),
    (15, FallocateMode::INSERT_RANGE),
    (3, FallocateMode::PUNCH_HOLE),
    (3, FallocateMode::COLLAPSE_RANGE.union(FallocateMode::INSERT_RANGE)),
];

impl Drawing<'_> {
    pub(super) fn open(&mut self) -> Operation {
        let flags = self.picks.weighted(FLAGS).difference(self.scene.alphabet.without_flags);
        let any_file = self.scene.names.iter().any(|named| regular(named.kind));
        let (path, flags) = if flags.contains(OpenFlags::DIRECTORY) {
            (self.path_to(directory), flags)
        } else if flags.contains(CREATE) && !self.picks.chance(40) {
            (self.vacancy(), flags)
        } else if any_file || self.picks.chance(10) {
            (self.path_to(regular), flags)
        } else {
            // There is no file yet: one is wanted.
            (self.vacancy(), flags | CREATE)
        };
        self.open_at(path, flags)
    }

    /// Opens what is at `path`; closes something when the process has enough handles.
    pub(super) fn open_at(&mut self, path: Bytes, flags: OpenFlags) -> Operation {
        if self.scene.mine().count() >= self.scene.alphabet.handles as usize {
            return self.close();
        }
        let path: Place = self.spell(&path);
        let mode = if flags.contains(CREATE) { *self.picks.of(MODES) } else { 0 };
        Operation::Open { path, flags, mode, handle: self.scene.free_handle() }
    }

    pub(super) fn close(&mut self) -> Operation {
        self.with_handle(|_, handle| Operation::Close { handle }, any)
    }

    /// The operation on a handle, or the opening of one while there is none.
    fn with_handle(
        &mut self,
        operation: impl FnOnce(&mut Self, Handle) -> Operation,
        fits: impl Fn(FileKind) -> bool,
    ) -> Operation {
        match self.handle(fits) {
            Some(handle) => operation(self, handle),
            None => self.open(),
        }
    }

    /// A handle of a file that can be written, mostly.
    fn writable(&mut self) -> Option<Handle> {
        let mut mine: Vec<(Handle, u64)> = Vec::new();
        for (handle, description) in self.scene.mine().filter(|(_, found)| found.flags.contains(WRITE)) {
            mine.push((handle, self.scene.size(description.inode)));
        }
        // A file at the largest size is rare; what happens there is worth a look.
        let largest = |(_, size): &&(Handle, u64)| *size >= self.scene.alphabet.profile.largest_file - 1;
        if let (Some((handle, _)), true) = (mine.iter().find(largest), self.picks.chance(50)) {
            return Some(*handle);
        }
        let handles: Vec<Handle> = mine.into_iter().map(|(handle, _)| handle).collect();
        if handles.is_empty() || self.picks.chance(8) {
            return self.handle(regular);
        }
        Some(*self.picks.of(&handles))
    }

    /// The operation on a handle that can be written, or the opening of one while there is none.
    fn change_content(&mut self, operation: impl FnOnce(&mut Self, Handle) -> Operation) -> Operation {
        match self.writable() {
            Some(handle) => operation(self, handle),
            None => self.open(),
        }
    }

    pub(super) fn read(&mut self) -> Operation {
        self.with_handle(|drawing, handle| Operation::Read { handle, length: drawing.length() }, regular)
    }

    pub(super) fn pread(&mut self) -> Operation {
        let pread = |drawing: &mut Self, handle| {
            // Mostly the whole file: whatever is wrong with it shows.
            if drawing.picks.chance(50) {
                return Operation::Pread { handle, offset: 0, length: 300_000 };
            }
            let offset = drawing.offset(drawing.inode(handle));
            Operation::Pread { handle, offset, length: drawing.length() }
        };
        self.with_handle(pread, regular)
    }

    pub(super) fn write(&mut self) -> Operation {
        self.change_content(|drawing, handle| Operation::Write { handle, data: drawing.data() })
    }

    pub(super) fn pwrite(&mut self) -> Operation {
        let pwrite = |drawing: &mut Self, handle| {
            let offset = drawing.offset(drawing.inode(handle));
            Operation::Pwrite { handle, offset, data: drawing.data() }
        };
        self.change_content(pwrite)
    }

    pub(super) fn truncate(&mut self) -> Operation {
        let mut object = self.object(regular);
        if let Object::Path { follow, .. } = &mut object {
            *follow = true;
        }
        let inode = self.inode_of(&object);
        let appends =
            |found: &Description| Some(found.inode) == inode && found.flags.contains(OpenFlags::APPEND);
        let appended = self.scene.mine().any(|(_, description)| appends(description));
        let size = if appended && self.picks.chance(20) {
            self.scene.alphabet.profile.largest_file
        } else {
            self.offset(inode)
        };
        Operation::Truncate { object, size }
    }

    pub(super) fn seek(&mut self) -> Operation {
        let whences = [Whence::Set, Whence::Current, Whence::End, Whence::Data, Whence::Hole];
        let seek = |drawing: &mut Self, handle| {
            let whence = *drawing.picks.of(&whences);
            let offset = i64::try_from(drawing.offset(drawing.inode(handle))).unwrap_or(i64::MAX);
            let backwards = whence != Whence::Set && drawing.picks.chance(15);
            Operation::Seek { handle, offset: if backwards { -offset } else { offset }, whence }
        };
        // Only of files: positions in directories are the file system's own.
        match self.scene.handles(regular) {
            _ if self.picks.chance(3) => {
                let handle = self.scene.free_handle();
                seek(self, handle)
            }
            handles if handles.is_empty() => self.open(),
            handles => {
                let handle = *self.picks.of(&handles);
                seek(self, handle)
            }
        }
    }

    pub(super) fn fallocate(&mut self) -> Operation {
        let fallocate = |drawing: &mut Self, handle| {
            let mode = drawing.picks.weighted(ALLOCATIONS);
            let chunk = u64::from(drawing.scene.alphabet.profile.chunk_size);
            let shifts = mode.intersects(FallocateMode::COLLAPSE_RANGE | FallocateMode::INSERT_RANGE);
            let aligned = shifts && !drawing.picks.chance(25);
            let (offset, length) = if aligned {
                (chunk * drawing.picks.below(3) as u64, chunk * (1 + drawing.picks.below(2) as u64))
            } else {
                (drawing.offset(drawing.inode(handle)), drawing.offset(None))
            };
            // What no file can have is refused before any room is taken.
            let most = drawing.scene.alphabet.largest_allocation;
            let possible = offset.checked_add(length).is_some_and(|end| end <= i64::MAX as u64);
            let (offset, length) =
                if possible { (offset.min(most), length.min(most)) } else { (offset, length) };
            Operation::Fallocate { handle, mode, offset, length }
        };
        self.change_content(fallocate)
    }

    pub(super) fn copy_file_range(&mut self) -> Operation {
        let copy = |drawing: &mut Self, from| {
            let to = drawing.writable().unwrap_or(from);
            let from_offset = drawing.offset(drawing.inode(from));
            let to_offset = drawing.offset(drawing.inode(to));
            Operation::CopyFileRange { from, from_offset, to, to_offset, length: drawing.length() }
        };
        self.with_handle(copy, regular)
    }

    pub(super) fn fsync(&mut self) -> Operation {
        self.with_handle(|_, handle| Operation::Fsync { handle }, any)
    }

    pub(super) fn fdatasync(&mut self) -> Operation {
        self.with_handle(|_, handle| Operation::Fdatasync { handle }, any)
    }

    /// What a handle is of.
    fn inode(&self, handle: Handle) -> Option<InodeId> {
        self.scene.mine().find(|(mine, _)| *mine == handle).map(|(_, description)| description.inode)
    }

    /// What an object is, as far as its text alone tells.
    fn inode_of(&self, object: &Object) -> Option<InodeId> {
        match object {
            Object::Handle { handle } => self.inode(*handle),
            Object::Path { path, .. } => {
                let named = self.scene.names.iter().find(|named| named.path == path.path);
                named.map(|named| named.inode)
            }
        }
    }

    /// An offset or size: a usual one, one at the end of the file, or one at the limits.
    fn offset(&mut self, inode: Option<InodeId>) -> u64 {
        let size = inode.map_or(0, |inode| self.scene.size(inode));
        match self.picks.weighted(&[(60, 0), (24, 1), (6, 2)]) {
            0 => *self.picks.of(&self.scene.alphabet.sizes),
            1 => *self.picks.of(&[size, size + 1, size.saturating_sub(1), size / 2]),
            _ => *self.picks.of(&self.scene.alphabet.limits),
        }
    }

    fn length(&mut self) -> u64 {
        *self.picks.of(&[16, 1, 0, 511, 4096, 65537, 200_000])
    }

    /// Bytes to write: few different ones, zeros among them, since blocks of zeros are a case of their own.
    fn data(&mut self) -> Bytes {
        let length = *self.picks.of(&[1, 0, 5, 17, 513, 4096, 4097, 65536, 65537, 131_073]);
        let byte = *self.picks.of(b"xyzw\0");
        let mut data = Bytes::repeated(byte, length);
        if length > 1 && self.picks.chance(30) {
            data.0[length / 2..].fill(0);
        }
        data
    }
}
