//! The rows of one file in `fs_data`: every statement on that table stands here.
//!
//! A row holds the bytes of one chunk. What its length should be, and when a row may be missing, is
//! decided by the module `content` (FS-DATA-11); this one only finds, reads and changes rows.
//! Rows that other programs have left with an odd length are handed out as they are.
//!
//! All statements but those by rowid are served by the table's primary key, the automatic index on
//! (ino, chunk_index).

use std::ops::{ControlFlow, Range};

use rusqlite::Row;

use crate::error::Result;
use crate::store::{Session, bytes};
use crate::types::Ino;

const TABLE: &str = "fs_data";
const COLUMN: &str = "data";

// Index (ino, chunk_index), then the header of the row: the length of a value is in it.
const FIND: &str = "SELECT rowid, octet_length(data) FROM fs_data WHERE ino = ?1 AND chunk_index = ?2";
// The table by rowid.
const LOAD: &str = "SELECT data FROM fs_data WHERE rowid = ?1";
// Index (ino, chunk_index), then the rows.
const READ: &str = "SELECT chunk_index, data FROM fs_data \
    WHERE ino = ?1 AND chunk_index >= ?2 AND chunk_index < ?3 ORDER BY chunk_index";
// Index (ino, chunk_index), alone.
const LIST: &str = "SELECT chunk_index FROM fs_data \
    WHERE ino = ?1 AND chunk_index >= ?2 AND chunk_index < ?3 ORDER BY chunk_index";
// Index (ino, chunk_index), alone.
const COUNT: &str = "SELECT count(*) FROM fs_data WHERE ino = ?1 AND chunk_index >= ?2 AND chunk_index < ?3";
// Index (ino, chunk_index), for the conflict.
const PUT: &str = "INSERT INTO fs_data (ino, chunk_index, data) VALUES (?1, ?2, ?3) \
    ON CONFLICT (ino, chunk_index) DO UPDATE SET data = excluded.data";
// The table by rowid.
const REPLACE: &str = "UPDATE fs_data SET data = ?2 WHERE rowid = ?1";
// Index (ino, chunk_index).
const DELETE: &str = "DELETE FROM fs_data WHERE ino = ?1 AND chunk_index >= ?2 AND chunk_index < ?3";
// Index (ino, chunk_index).
const DELETE_FROM: &str = "DELETE FROM fs_data WHERE ino = ?1 AND chunk_index >= ?2";
// Index (ino, chunk_index): its first column.
const DELETE_ALL: &str = "DELETE FROM fs_data WHERE ino = ?1";
// Index (ino, chunk_index), alone; it holds the rowid too.
const FIRST_ROWS: &str = "SELECT rowid, chunk_index FROM fs_data \
    WHERE ino = ?1 AND chunk_index >= ?2 AND chunk_index < ?3 ORDER BY chunk_index ASC LIMIT 1024";
// Index (ino, chunk_index), alone, read backwards.
const LAST_ROWS: &str = "SELECT rowid, chunk_index FROM fs_data \
    WHERE ino = ?1 AND chunk_index >= ?2 AND chunk_index < ?3 ORDER BY chunk_index DESC LIMIT 1024";
// The table by rowid, and the index (ino, chunk_index) for the entry that moves.
const RENUMBER: &str = "UPDATE fs_data SET chunk_index = ?2 WHERE rowid = ?1";

/// The number of a chunk within its file, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChunkIndex(pub(super) u64);

impl ChunkIndex {
    /// The chunk that the byte at `offset` is in.
    pub(super) const fn containing(offset: u64, chunk_size: u64) -> Self {
        Self(offset / chunk_size)
    }

    /// The first chunk that begins at or after `offset`.
    pub(super) const fn at_or_after(offset: u64, chunk_size: u64) -> Self {
        Self(offset.div_ceil(chunk_size))
    }

    /// The chunk after this one.
    pub(super) const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The offset of its first byte. A file ends below 2^63, so that the product fits.
    pub(super) const fn start(self, chunk_size: u64) -> u64 {
        self.0 * chunk_size
    }

    const fn sql(self) -> i64 {
        self.0.cast_signed()
    }

    /// Reads the number from a row that was asked for by a range of such numbers.
    fn of(row: &Row<'_>, column: usize) -> rusqlite::Result<Self> {
        Ok(Self(row.get::<_, i64>(column)?.cast_unsigned()))
    }
}

/// A part of one chunk: the bytes `from..to`, counted from the start of the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) index: ChunkIndex,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Cuts a range of a file at the borders of its chunks.
pub(super) fn pieces(range: Range<u64>, chunk_size: u64) -> impl Iterator<Item = Piece> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        if at >= range.end {
            return None;
        }
        let index = ChunkIndex::containing(at, chunk_size);
        let start = index.start(chunk_size);
        let end = range.end.min(start + chunk_size);
        let piece = Piece { index, from: (at - start) as usize, to: (end - start) as usize };
        at = end;
        Some(piece)
    })
}

/// A row that exists.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredChunk {
    rowid: i64,
    /// Bytes in it, whatever they should be.
    pub(super) length: usize,
}

/// Which way [`Chunks::renumber`] moves rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shift {
    /// To lower numbers.
    Down(u64),
    /// To higher numbers.
    Up(u64),
}

/// The chunks of one file.
#[derive(Clone, Copy)]
pub(super) struct Chunks<'s> {
    session: &'s Session<'s>,
    ino: i64,
}

impl<'s> Chunks<'s> {
    pub(super) fn new(session: &'s Session<'s>, ino: Ino) -> Self {
        Self { session, ino: ino.0.cast_signed() }
    }

    pub(super) fn find(&self, index: ChunkIndex) -> Result<Option<StoredChunk>> {
        self.session.row(FIND, (self.ino, index.sql()), |row| {
            Ok(StoredChunk { rowid: row.get(0)?, length: row.get::<_, i64>(1)? as usize })
        })
    }

    pub(super) fn load(&self, chunk: StoredChunk) -> Result<Vec<u8>> {
        let data = self.session.row(LOAD, [chunk.rowid], |row| Ok(bytes(row, 0)?.to_vec()))?;
        Ok(data.unwrap_or_default())
    }

    /// Reads bytes inside a stored chunk, without the pages behind them.
    pub(super) fn load_part(&self, chunk: StoredChunk, from: usize, into: &mut [u8]) -> Result<()> {
        self.session.read_blob(TABLE, COLUMN, chunk.rowid, from, into)
    }

    /// Calls `visit` with each chunk that is stored, in order.
    pub(super) fn read(
        &self,
        range: Range<ChunkIndex>,
        mut visit: impl FnMut(ChunkIndex, &[u8]),
    ) -> Result<()> {
        self.session.each(READ, (self.ino, range.start.sql(), range.end.sql()), |row| {
            visit(ChunkIndex::of(row, 0)?, bytes(row, 1)?);
            Ok(ControlFlow::Continue(()))
        })
    }

    /// The first chunk in the range that is stored.
    pub(super) fn first_stored(&self, range: Range<ChunkIndex>) -> Result<Option<ChunkIndex>> {
        self.session.row(LIST, (self.ino, range.start.sql(), range.end.sql()), |row| ChunkIndex::of(row, 0))
    }

    /// The first chunk in the range that is missing; the end of the range when none is.
    pub(super) fn first_missing(&self, range: Range<ChunkIndex>) -> Result<ChunkIndex> {
        let mut expected = range.start;
        self.session.each(LIST, (self.ino, range.start.sql(), range.end.sql()), |row| {
            if ChunkIndex::of(row, 0)? != expected {
                return Ok(ControlFlow::Break(()));
            }
            expected = expected.next();
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(expected)
    }

    /// How many chunks in the range are stored.
    pub(super) fn count(&self, range: Range<ChunkIndex>) -> Result<u64> {
        if range.is_empty() {
            return Ok(0);
        }
        let parameters = (self.ino, range.start.sql(), range.end.sql());
        let count = self.session.row(COUNT, parameters, |row| row.get::<_, i64>(0))?;
        Ok(count.unwrap_or_default().cast_unsigned())
    }

    /// Stores a chunk, new or in the place of what was stored.
    pub(super) fn put(&self, index: ChunkIndex, data: &[u8]) -> Result<()> {
        self.session.charge(data.len() as u64);
        self.session.execute(PUT, (self.ino, index.sql(), data))?;
        Ok(())
    }

    pub(super) fn replace(&self, chunk: StoredChunk, data: &[u8]) -> Result<()> {
        self.session.charge(data.len() as u64);
        self.session.execute(REPLACE, (chunk.rowid, data))?;
        Ok(())
    }

    /// Changes bytes inside a stored chunk, at the cost of these bytes.
    pub(super) fn overwrite(&self, chunk: StoredChunk, from: usize, data: &[u8]) -> Result<()> {
        self.session.charge(data.len() as u64);
        self.session.overwrite_blob(TABLE, COLUMN, chunk.rowid, from, data)
    }

    pub(super) fn delete(&self, range: Range<ChunkIndex>) -> Result<()> {
        self.session.execute(DELETE, (self.ino, range.start.sql(), range.end.sql()))?;
        Ok(())
    }

    pub(super) fn delete_from(&self, start: ChunkIndex) -> Result<()> {
        self.session.execute(DELETE_FROM, (self.ino, start.sql()))?;
        Ok(())
    }

    /// Also rows whose numbers make no sense.
    pub(super) fn delete_all(&self) -> Result<()> {
        self.session.execute(DELETE_ALL, [self.ino])?;
        Ok(())
    }

    /// Gives the chunks in the range other numbers; those that they move to must be free. Each row
    /// costs a page or two (`page_size` bytes each): SQLite leaves the pages alone whose bytes do not change.
    pub(super) fn renumber(&self, range: Range<ChunkIndex>, shift: Shift, page_size: u32) -> Result<()> {
        let Range { mut start, mut end } = range;
        // In the order in which no row meets one that has not moved yet.
        let sql = match shift {
            Shift::Down(_) => FIRST_ROWS,
            Shift::Up(_) => LAST_ROWS,
        };
        loop {
            let parameters = (self.ino, start.sql(), end.sql());
            let rows = self
                .session
                .rows(sql, parameters, |row| Ok((row.get::<_, i64>(0)?, ChunkIndex::of(row, 1)?)))?;
            let Some(&(_, last)) = rows.last() else { return Ok(()) };
            for &(rowid, index) in &rows {
                let moved = match shift {
                    Shift::Down(by) => ChunkIndex(index.0 - by),
                    Shift::Up(by) => ChunkIndex(index.0 + by),
                };
                self.session.charge(2 * u64::from(page_size));
                self.session.execute(RENUMBER, (rowid, moved.sql()))?;
            }
            match shift {
                Shift::Down(_) => start = last.next(),
                Shift::Up(_) => end = last,
            }
        }
    }
}

#[cfg(test)]
pub(super) const STATEMENTS_BY_INDEX: [&str; 9] =
    [FIND, READ, LIST, COUNT, DELETE, DELETE_FROM, DELETE_ALL, FIRST_ROWS, LAST_ROWS];
#[cfg(test)]
pub(super) const STATEMENTS_BY_INDEX_ALONE: [&str; 4] = [LIST, COUNT, FIRST_ROWS, LAST_ROWS];
