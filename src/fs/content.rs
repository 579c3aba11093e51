//! The bytes of one regular file: where they are stored, reading, writing, and the size.
//!
//! Keeps FS-DATA-1, FS-DATA-3, FS-DATA-5 to FS-DATA-12, FS-DATA-14, FS-TRUNC-1 to FS-TRUNC-3 and
//! FS-TRUNC-5.
//!
//! * **Inline** (`storage_kind` 1): all bytes in `fs_inode.data_inline`, none in `fs_data`. Only for
//!   content that was written without a gap and is not larger than `inline_threshold`.
//! * **Chunked** (`storage_kind` 0): rows of `fs_data`, each of `chunk_size` bytes but the one that
//!   the file ends in, which ends with the file. A missing row is a hole.
//!
//! An empty file is chunked and has no rows, as the specification creates it, whether it is new or
//! was truncated to nothing. Its first write makes it inline when it begins at 0 and is small. A file
//! that has become chunked stays so until it is empty.
//!
//! The size is the authority. Other programs leave chunks that are too short or too long, and rows
//! past the end: what a row lacks reads as zeros, what it has too much is never shown, and goes when
//! the file grows over it.
//!
//! Permissions, times and the kinds of inodes are not decided here; ranges (`fallocate`, `lseek`,
//! copies) are the module `extent`'s.

use std::ops::Range;

use super::chunk::{ChunkIndex, Chunks, Piece, pieces};
use crate::error::{Errno, Result};
use crate::store::{Configuration, Session, bytes};
use crate::types::Ino;

/// The largest size of a file, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = i64::MAX as u64;

// The table by its key, ino.
const LOAD_INLINE: &str = "SELECT coalesce(data_inline, x'') FROM fs_inode WHERE ino = ?1";
// The table by its key, ino.
const SAVE_INLINE: &str = "UPDATE fs_inode SET size = ?2, storage_kind = 1, data_inline = ?3 WHERE ino = ?1";
// The table by its key, ino.
const SAVE_CHUNKED: &str =
    "UPDATE fs_inode SET size = ?2, storage_kind = 0, data_inline = NULL WHERE ino = ?1";

/// A read of at most one part in this many of a chunk takes the bytes from the row in place. That costs
/// less than loading the row, above all when its pages must be read from the file first.
const SMALL_READ: u64 = 4;

/// Bytes past which a read first asks whether there is memory for it.
const LARGE_READ: usize = 16 << 20;

/// Where a file's bytes are: `fs_inode.storage_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StorageKind {
    /// In rows of `fs_data` (0).
    Chunked,
    /// In `fs_inode.data_inline` (1).
    Inline,
}

/// What the inode row says of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileShape {
    /// In bytes.
    pub(crate) size: u64,
    pub(crate) storage: StorageKind,
}

/// The content of one regular file, for the length of one operation.
///
/// After an error the value no longer tells what is stored: the operation must be rolled back.
pub(crate) struct Content<'s> {
    session: &'s Session<'s>,
    pub(super) configuration: Configuration,
    pub(super) ino: Ino,
    pub(super) shape: FileShape,
    pub(super) chunks: Chunks<'s>,
}

impl<'s> Content<'s> {
    /// `shape` is what the inode row says.
    pub(crate) fn new(
        session: &'s Session<'s>,
        configuration: Configuration,
        ino: Ino,
        shape: FileShape,
    ) -> Self {
        Self { session, configuration, ino, shape, chunks: Chunks::new(session, ino) }
    }

    /// What the inode row says now.
    pub(crate) fn shape(&self) -> FileShape {
        self.shape
    }

    /// Up to `length` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// ESTALE when the inode is gone, ENOMEM, and what SQLite reports.
    pub(crate) fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let end = offset.saturating_add(length as u64).min(self.shape.size);
        if offset >= end {
            return Ok(Vec::new());
        }
        let length = (end - offset) as usize;
        // A hole can be larger than the memory, and must not end the program.
        if length > LARGE_READ {
            Vec::<u8>::new().try_reserve_exact(length).map_err(|_| Errno::ENOMEM)?;
        }
        let mut found = vec![0; length];
        match self.shape.storage {
            StorageKind::Inline => copy_overlap(&mut found, offset, &self.load_inline()?, 0),
            StorageKind::Chunked => self.read_chunks(offset, &mut found)?,
        }
        Ok(found)
    }

    /// Writes `data` at `offset`; a file that ends before is extended, with a hole up to `offset`.
    ///
    /// # Errors
    /// EFBIG past [`MAX_FILE_BYTES`]; ESTALE when the inode is gone; what SQLite reports.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        let end = offset.checked_add(data.len() as u64).filter(|end| *end <= MAX_FILE_BYTES);
        let end = end.ok_or(Errno::EFBIG)?;
        if data.is_empty() {
            return Ok(());
        }
        let FileShape { size: old_size, storage } = self.shape;
        let new_size = old_size.max(end);
        let may_be_inline = storage == StorageKind::Inline || old_size == 0;
        if may_be_inline && offset <= old_size && self.fits_inline(new_size) {
            return self.write_inline(offset as usize, data);
        }
        self.leave_inline()?;
        if new_size > old_size {
            self.grow_chunks(new_size, ChunkIndex::containing(offset, self.chunk_size()))?;
        }
        let mut rest = data;
        for piece in pieces(offset..end, self.chunk_size()) {
            let (part, after) = rest.split_at(piece.to - piece.from);
            self.write_piece(piece, part, new_size)?;
            rest = after;
        }
        if new_size == old_size && storage == StorageKind::Chunked {
            return Ok(());
        }
        self.save_chunked(new_size)
    }

    /// Truncates or extends. The cost of extending does not depend on by how much.
    ///
    /// # Errors
    /// EFBIG past [`MAX_FILE_BYTES`]; ESTALE when the inode is gone; what SQLite reports.
    pub(crate) fn set_size(&mut self, size: u64) -> Result<()> {
        if size > MAX_FILE_BYTES {
            return Err(Errno::EFBIG.into());
        }
        let old_size = self.shape.size;
        if size == old_size {
            return Ok(());
        }
        if size == 0 {
            self.chunks.delete_all()?;
            return self.save_chunked(0);
        }
        if self.shape.storage == StorageKind::Inline && size < old_size && self.fits_inline(size) {
            let mut content = self.load_inline()?;
            content.resize(size as usize, 0);
            return self.save_inline(&content);
        }
        self.leave_inline()?;
        if size > old_size {
            self.grow_chunks(size, ChunkIndex(u64::MAX))?;
        } else {
            self.cut_chunks(size)?;
        }
        self.save_chunked(size)
    }

    /// Bytes that are stored, for `st_blocks`: holes do not count. Walks the index entries of the
    /// file, no data.
    ///
    /// # Errors
    /// What SQLite reports.
    pub(crate) fn stored_bytes(&self) -> Result<u64> {
        let FileShape { size, storage } = self.shape;
        match storage {
            StorageKind::Inline => Ok(size),
            StorageKind::Chunked => {
                // The chunk that the file ends in may be shorter than the others.
                let last = ChunkIndex::containing(size, self.chunk_size());
                let whole = self.chunks.count(ChunkIndex(0)..last)?.saturating_mul(self.chunk_size());
                let rest = self.bytes_of(last, size) as u64;
                let stored = rest > 0 && self.chunks.first_stored(last..last.next())?.is_some();
                Ok(if stored { whole + rest } else { whole })
            }
        }
    }

    pub(super) fn chunk_size(&self) -> u64 {
        u64::from(self.configuration.chunk_size)
    }

    pub(super) fn fits_inline(&self, size: u64) -> bool {
        size <= u64::from(self.configuration.inline_threshold)
    }

    /// Bytes of the chunk that lie in a file of `size` bytes.
    pub(super) fn bytes_of(&self, index: ChunkIndex, size: u64) -> usize {
        size.saturating_sub(index.start(self.chunk_size())).min(self.chunk_size()) as usize
    }

    /// Fills `found`, which is not empty and all zeros, with what is stored from `offset` on.
    fn read_chunks(&self, offset: u64, found: &mut [u8]) -> Result<()> {
        let chunk_size = self.chunk_size();
        let last_byte = offset + found.len() as u64 - 1;
        let first = ChunkIndex::containing(offset, chunk_size);
        let last = ChunkIndex::containing(last_byte, chunk_size);
        if first == last && found.len() as u64 <= chunk_size / SMALL_READ {
            let Some(stored) = self.chunks.find(first)? else { return Ok(()) };
            let from = (offset - first.start(chunk_size)) as usize;
            let available = stored.length.saturating_sub(from).min(found.len());
            return match available {
                0 => Ok(()),
                _ => self.chunks.load_part(stored, from, &mut found[..available]),
            };
        }
        self.chunks.read(first..last.next(), |index, data| {
            let data = &data[..data.len().min(chunk_size as usize)];
            copy_overlap(found, offset, data, index.start(chunk_size));
        })
    }

    fn write_inline(&mut self, offset: usize, data: &[u8]) -> Result<()> {
        let mut content = match self.shape.storage {
            StorageKind::Inline => self.load_inline()?,
            StorageKind::Chunked => {
                // The file is empty: only rows that another program has left can be there.
                self.chunks.delete_all()?;
                Vec::new()
            }
        };
        let end = offset + data.len();
        content.resize(end.max(self.shape.size as usize), 0);
        content[offset..end].copy_from_slice(data);
        self.save_inline(&content)
    }

    /// Writes the part of a chunk in a file that will have `new_size` bytes.
    fn write_piece(&self, piece: Piece, data: &[u8], new_size: u64) -> Result<()> {
        let Piece { index, from, to } = piece;
        let length = self.bytes_of(index, new_size);
        if data.len() == length {
            return match is_zero(data) {
                true => self.chunks.delete(index..index.next()),
                false => self.chunks.put(index, data),
            };
        }
        let Some(stored) = self.chunks.find(index)? else {
            if is_zero(data) {
                return Ok(());
            }
            let mut content = vec![0; length];
            content[from..to].copy_from_slice(data);
            return self.chunks.put(index, &content);
        };
        let valid = self.bytes_of(index, self.shape.size);
        if valid == length && to <= stored.length {
            return self.chunks.overwrite(stored, from, data);
        }
        let mut content = self.chunks.load(stored)?;
        content.truncate(valid);
        content.resize(length, 0);
        content[from..to].copy_from_slice(data);
        self.chunks.replace(stored, &content)
    }

    /// Prepares the rows for a larger size: nothing that lies past the present end may come to light,
    /// and the chunk that the file ends in gets its new length, unless it is `first_written` or a
    /// later one, which the write itself takes care of.
    fn grow_chunks(&self, new_size: u64, first_written: ChunkIndex) -> Result<()> {
        let size = self.shape.size;
        self.chunks.delete_from(ChunkIndex::at_or_after(size, self.chunk_size()))?;
        let last = ChunkIndex::containing(size, self.chunk_size());
        if size.is_multiple_of(self.chunk_size()) || last >= first_written {
            return Ok(());
        }
        let Some(stored) = self.chunks.find(last)? else { return Ok(()) };
        let mut content = self.chunks.load(stored)?;
        content.truncate(self.bytes_of(last, size));
        content.resize(self.bytes_of(last, new_size), 0);
        self.chunks.replace(stored, &content)
    }

    fn cut_chunks(&self, new_size: u64) -> Result<()> {
        self.chunks.delete_from(ChunkIndex::at_or_after(new_size, self.chunk_size()))?;
        let last = ChunkIndex::containing(new_size, self.chunk_size());
        let length = self.bytes_of(last, new_size);
        let Some(stored) = self.chunks.find(last)?.filter(|stored| stored.length > length) else {
            return Ok(());
        };
        let mut content = self.chunks.load(stored)?;
        content.truncate(length);
        self.chunks.replace(stored, &content)
    }

    /// Moves inline content into rows. The inode row is left for the caller to save.
    pub(super) fn leave_inline(&mut self) -> Result<()> {
        if self.shape.storage == StorageKind::Chunked {
            return Ok(());
        }
        let mut content = self.load_inline()?;
        content.truncate(usize::try_from(self.shape.size).unwrap_or(usize::MAX));
        self.chunks.delete_all()?;
        for piece in pieces(0..content.len() as u64, self.chunk_size()) {
            let start = piece.index.start(self.chunk_size()) as usize;
            let mut chunk = content[start..start + piece.to].to_vec();
            if !is_zero(&chunk) {
                chunk.resize(self.bytes_of(piece.index, self.shape.size), 0);
                self.chunks.put(piece.index, &chunk)?;
            }
        }
        self.shape.storage = StorageKind::Chunked;
        Ok(())
    }

    /// What `data_inline` holds, which other programs may have left shorter or longer than the size.
    pub(super) fn load_inline(&self) -> Result<Vec<u8>> {
        let parameters = [self.ino.0.cast_signed()];
        let content = self.session.row(LOAD_INLINE, parameters, |row| Ok(bytes(row, 0)?.to_vec()))?;
        content.ok_or_else(|| Errno::ESTALE.into())
    }

    pub(super) fn save_inline(&mut self, content: &[u8]) -> Result<()> {
        let size = content.len() as u64;
        self.session.charge(size);
        let parameters = (self.ino.0.cast_signed(), size.cast_signed(), content);
        let changed = self.session.execute(SAVE_INLINE, parameters)?;
        self.saved(changed, FileShape { size, storage: StorageKind::Inline })
    }

    pub(super) fn save_chunked(&mut self, size: u64) -> Result<()> {
        let changed = self.session.execute(SAVE_CHUNKED, (self.ino.0.cast_signed(), size.cast_signed()))?;
        self.saved(changed, FileShape { size, storage: StorageKind::Chunked })
    }

    fn saved(&mut self, changed: usize, shape: FileShape) -> Result<()> {
        if changed == 0 {
            return Err(Errno::ESTALE.into());
        }
        self.shape = shape;
        Ok(())
    }
}

/// Copies into `target`, which begins at `target_start` of a file, what `source`, which begins at
/// `source_start`, has for it.
fn copy_overlap(target: &mut [u8], target_start: u64, source: &[u8], source_start: u64) {
    let start = target_start.max(source_start);
    let end = (target_start + target.len() as u64).min(source_start + source.len() as u64);
    if start < end {
        let within = |base: u64| -> Range<usize> { (start - base) as usize..(end - base) as usize };
        target[within(target_start)].copy_from_slice(&source[within(source_start)]);
    }
}

pub(super) fn is_zero(data: &[u8]) -> bool {
    // By blocks: within one there is no early exit, which lets the compiler use wide registers.
    data.chunks(64).all(|block| block.iter().fold(0, |seen, byte| seen | byte) == 0)
}
