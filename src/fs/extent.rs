//! Ranges of a regular file: the modes of `fallocate(2)`, `SEEK_DATA` and `SEEK_HOLE`, copies.
//!
//! Keeps FS-ALLOC-1 to FS-ALLOC-8, FS-ALLOC-10, FS-SEEK-1 to FS-SEEK-3 and FS-COPY-1 to FS-COPY-3. The
//! granularity of holes is the chunk: a chunk without a row is a hole, everything else is data, also
//! when it reads as zeros. The work is proportional to the rows that exist in a range, never to its length.
//!
//! Space is not reserved here: SQLite knows no blocks that belong to a row and are not written. That
//! there is room is checked by the caller.

use super::chunk::{ChunkIndex, Piece, Shift};
use super::content::{Content, FileShape, MAX_FILE_BYTES, StorageKind, is_zero};
use crate::error::{Errno, Result};
use crate::store::{Configuration, Session};
use crate::types::Ino;
use crate::vfs::SeekTo;

/// Bytes that a copy holds in memory at a time, rounded to whole chunks.
const COPY_STEP_BYTES: u64 = 1 << 20;

impl Content<'_> {
    /// Mode 0 and KEEP_SIZE: the bytes of the range exist, reading as zeros where nothing was written.
    ///
    /// # Errors
    /// EINVAL (empty range), EFBIG, and those of [`set_size`](Self::set_size).
    pub(crate) fn allocate(&mut self, offset: u64, length: u64, keep_size: bool) -> Result<()> {
        let end = end_of(offset, length)?;
        if keep_size || end <= self.shape.size {
            return Ok(());
        }
        self.set_size(end)
    }

    /// How many bytes of the range are not stored, a chunk being stored or not as a whole.
    ///
    /// # Errors
    /// What SQLite reports.
    pub(crate) fn missing_bytes(&self, offset: u64, length: u64) -> Result<u64> {
        let FileShape { size, storage } = self.shape;
        let end = offset.saturating_add(length);
        let stored = match storage {
            StorageKind::Inline => end.min(size).saturating_sub(offset),
            StorageKind::Chunked => {
                let chunk_size = self.chunk_size();
                let past_end = ChunkIndex::at_or_after(end.min(size), chunk_size);
                let first = ChunkIndex::containing(offset, chunk_size);
                self.chunks.count(first..past_end)?.saturating_mul(chunk_size)
            }
        };
        Ok(length.saturating_sub(stored))
    }

    /// Makes the range read as zeros, and extends the file to its end unless `keep_size`.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub(crate) fn zero_range(&mut self, offset: u64, length: u64, keep_size: bool) -> Result<()> {
        self.punch_hole(offset, length)?;
        self.allocate(offset, length, keep_size)
    }

    /// Makes the range read as zeros and gives back the chunks that hold nothing else. The size stays.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub(crate) fn punch_hole(&mut self, offset: u64, length: u64) -> Result<()> {
        let size = self.shape.size;
        let end = end_of(offset, length)?.min(size);
        if offset >= end {
            return Ok(());
        }
        if self.shape.storage == StorageKind::Inline {
            if self.fits_inline(size) {
                let mut content = self.load_inline()?;
                content.resize(size as usize, 0);
                content[offset as usize..end as usize].fill(0);
                return self.save_inline(&content);
            }
            self.leave_inline()?;
            self.save_chunked(size)?;
        }
        self.punch_chunks(offset, end)
    }

    /// Removes the range and moves what follows it down.
    ///
    /// # Errors
    /// EINVAL when the range is not made of whole chunks or reaches the end of the file; EFBIG.
    pub(crate) fn collapse_range(&mut self, offset: u64, length: u64) -> Result<()> {
        let size = self.shape.size;
        let end = end_of(offset, length)?;
        if !self.is_aligned(offset, length) || end >= size {
            return Err(Errno::EINVAL.into());
        }
        self.leave_inline()?;
        let chunk_size = self.chunk_size();
        let (first, kept) = (ChunkIndex(offset / chunk_size), ChunkIndex(end / chunk_size));
        let past_end = ChunkIndex::at_or_after(size, chunk_size);
        self.chunks.delete_from(past_end)?;
        self.chunks.delete(first..kept)?;
        let shift = Shift::Down(length / chunk_size);
        self.chunks.renumber(kept..past_end, shift, self.configuration.page_size)?;
        self.save_chunked(size - length)
    }

    /// Opens a hole of `length` bytes at `offset`, moving what is there up.
    ///
    /// # Errors
    /// EINVAL when the range is not made of whole chunks or begins at or past the end of the file;
    /// EFBIG when the file would become too large.
    pub(crate) fn insert_range(&mut self, offset: u64, length: u64) -> Result<()> {
        let size = self.shape.size;
        end_of(offset, length)?;
        if !self.is_aligned(offset, length) || offset >= size {
            return Err(Errno::EINVAL.into());
        }
        let new_size = end_of(size, length)?;
        self.leave_inline()?;
        let chunk_size = self.chunk_size();
        let past_end = ChunkIndex::at_or_after(size, chunk_size);
        self.chunks.delete_from(past_end)?;
        let shift = Shift::Up(length / chunk_size);
        let moved = ChunkIndex(offset / chunk_size)..past_end;
        self.chunks.renumber(moved, shift, self.configuration.page_size)?;
        self.save_chunked(new_size)
    }

    /// The first byte of data, or of a hole, at or after `offset`; the end of the file is a hole.
    ///
    /// # Errors
    /// ENXIO when `offset` is not inside the file, or no data follows.
    pub(crate) fn seek(&self, offset: u64, to: SeekTo) -> Result<u64> {
        let FileShape { size, storage } = self.shape;
        if offset >= size {
            return Err(Errno::ENXIO.into());
        }
        match (to, storage) {
            (SeekTo::Data, StorageKind::Inline) => Ok(offset),
            (SeekTo::Data, StorageKind::Chunked) => {
                let chunk_size = self.chunk_size();
                let first = ChunkIndex::containing(offset, chunk_size);
                let past_end = ChunkIndex::at_or_after(size, chunk_size);
                let stored = self.chunks.first_stored(first..past_end)?.ok_or(Errno::ENXIO)?;
                Ok(stored.start(chunk_size).max(offset))
            }
            (SeekTo::Hole, _) => self.data_end(offset, size),
        }
    }

    /// Where the data at `offset` ends, looking no further than `limit`, which is inside the file.
    fn data_end(&self, offset: u64, limit: u64) -> Result<u64> {
        if self.shape.storage == StorageKind::Inline {
            return Ok(limit);
        }
        let chunk_size = self.chunk_size();
        let first = ChunkIndex::containing(offset, chunk_size);
        let missing = self.chunks.first_missing(first..ChunkIndex::at_or_after(limit, chunk_size))?;
        Ok(missing.start(chunk_size).clamp(offset, limit))
    }

    fn is_aligned(&self, offset: u64, length: u64) -> bool {
        offset.is_multiple_of(self.chunk_size()) && length.is_multiple_of(self.chunk_size())
    }

    /// The range is not empty and lies inside the file.
    fn punch_chunks(&self, offset: u64, end: u64) -> Result<()> {
        let chunk_size = self.chunk_size();
        let first_whole = ChunkIndex::at_or_after(offset, chunk_size);
        let after_whole = ChunkIndex::containing(end, chunk_size);
        let head = ChunkIndex::containing(offset, chunk_size);
        if head < first_whole {
            let start = head.start(chunk_size);
            let to = end.min(start + chunk_size) - start;
            self.punch_piece(Piece { index: head, from: (offset - start) as usize, to: to as usize })?;
        }
        if first_whole < after_whole {
            self.chunks.delete(first_whole..after_whole)?;
        }
        let tail_start = after_whole.start(chunk_size);
        if first_whole <= after_whole && tail_start < end {
            self.punch_piece(Piece { index: after_whole, from: 0, to: (end - tail_start) as usize })?;
        }
        Ok(())
    }

    fn punch_piece(&self, piece: Piece) -> Result<()> {
        let Some(stored) = self.chunks.find(piece.index)? else { return Ok(()) };
        let mut content = self.chunks.load(stored)?;
        content.truncate(self.bytes_of(piece.index, self.shape.size));
        let to = piece.to.min(content.len());
        if piece.from >= to {
            return Ok(());
        }
        let zeros = &mut content[piece.from..to];
        zeros.fill(0);
        let length = zeros.len();
        if is_zero(&content) {
            return self.chunks.delete(piece.index..piece.index.next());
        }
        self.chunks.overwrite(stored, piece.from, &content[piece.from..piece.from + length])
    }
}

/// Copies up to `length` bytes from one file, or another place in the same one, and returns how
/// many; fewer only at the end of the source. Holes of whole chunks stay holes. How much one operation
/// may change at most is for the caller to say: it stays in memory until the group is committed.
///
/// # Errors
/// EFBIG when `to` cannot hold what there is to copy; EINVAL when the ranges overlap in one file; what
/// [`Content::read`] and [`Content::write`] return.
pub(crate) fn copy_range(
    session: &Session<'_>,
    configuration: Configuration,
    from: (Ino, FileShape),
    from_offset: u64,
    to: &mut Content<'_>,
    to_offset: u64,
    length: u64,
) -> Result<u64> {
    let (ino, shape) = from;
    let length = length.min(shape.size.saturating_sub(from_offset));
    if length == 0 {
        return Ok(0);
    }
    let to_end = end_of(to_offset, length)?;
    let end = from_offset + length;
    let same_file = ino == to.ino;
    if same_file && from_offset < to_end && to_offset < end {
        return Err(Errno::EINVAL.into());
    }
    let chunk_size = to.chunk_size();
    let step = (COPY_STEP_BYTES / chunk_size).max(1) * chunk_size;
    let mut at = from_offset;
    while at < end {
        let target = to_offset + (at - from_offset);
        // In the same file the layout may change under the copy.
        let shape = if same_file { to.shape() } else { shape };
        let source = Content::new(session, configuration, ino, shape);
        let data = match source.seek(at, SeekTo::Data) {
            Err(error) if error.errno() == Errno::ENXIO => end,
            found => found?.min(end),
        };
        if data > at {
            to.punch_hole(target, data - at)?;
            at = data;
            continue;
        }
        // Up to a border between chunks of the target, so that each is written once.
        let step = step - target % chunk_size;
        let data_end = source.data_end(at, end.min(at + step))?;
        to.write(target, &source.read(at, (data_end - at) as usize)?)?;
        at = data_end;
    }
    if to_end > to.shape().size {
        to.set_size(to_end)?;
    }
    Ok(length)
}

/// The end of a range that a caller has given.
fn end_of(offset: u64, length: u64) -> Result<u64> {
    if length == 0 {
        return Err(Errno::EINVAL.into());
    }
    let end = offset.checked_add(length).filter(|end| *end <= MAX_FILE_BYTES);
    Ok(end.ok_or(Errno::EFBIG)?)
}
