//! Checks of the modules `chunk`, `content` and `extent`: a database with files to try them on, and the
//! layout rules read from the tables themselves.

mod rules;
mod sequences;

use crate::error::{Errno, Result};
use crate::fs::content::{Content, FileShape, StorageKind};
use crate::fs::extent::copy_range;
use crate::store::{Session, Store};
use crate::types::{Ino, Options};

const CHUNK: u64 = 512;
const INLINE: u64 = 100;
const TIB: u64 = 1 << 40;

struct Fixture {
    directory: tempfile::TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        Self::with(CHUNK as u32, INLINE as u32)
    }

    fn with(chunk_size: u32, inline_threshold: u32) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { chunk_size, inline_threshold, ..Options::default() };
        let store = Store::create(&directory.path().join("a.db"), &options).unwrap();
        Self { directory, store }
    }

    fn file(&self) -> Ino {
        const CREATE: &str =
            "INSERT INTO fs_inode (mode, nlink, atime, mtime, ctime) VALUES (33188, 1, 0, 0, 0)";
        let created = self.store.mutate(|session| {
            session.execute(CREATE, [])?;
            Ok(session.last_insert_rowid())
        });
        Ino(created.unwrap().cast_unsigned())
    }

    fn file_with(&self, content: &[u8]) -> Ino {
        let ino = self.file();
        self.change(ino, |file| file.write(0, content)).unwrap();
        ino
    }

    /// Writes rows as another program might.
    fn foreign(&self, size: u64, inline: Option<&[u8]>, chunks: &[(i64, &[u8])]) -> Ino {
        const SHAPE: &str =
            "UPDATE fs_inode SET size = ?2, storage_kind = ?3, data_inline = ?4 WHERE ino = ?1";
        const INSERT: &str = "INSERT INTO fs_data (ino, chunk_index, data) VALUES (?1, ?2, ?3)";
        let ino = self.file();
        let key = ino.0.cast_signed();
        let filled = self.store.mutate(|session| {
            session.execute(SHAPE, (key, size.cast_signed(), i64::from(inline.is_some()), inline))?;
            for (index, data) in chunks {
                session.execute(INSERT, (key, index, data))?;
            }
            Ok(())
        });
        filled.unwrap();
        ino
    }

    fn change<T>(&self, ino: Ino, operation: impl FnOnce(&mut Content<'_>) -> Result<T>) -> Result<T> {
        self.store.mutate(|session| {
            let mut content = self.content(session, ino)?;
            let outcome = operation(&mut content)?;
            assert_eq!(content.shape(), shape(session, ino)?, "what is stored and what the value says");
            Ok(outcome)
        })
    }

    fn look<T>(&self, ino: Ino, operation: impl FnOnce(&Content<'_>) -> Result<T>) -> Result<T> {
        self.store.read(|session| operation(&self.content(session, ino)?))
    }

    fn content<'s>(&self, session: &'s Session<'s>, ino: Ino) -> Result<Content<'s>> {
        Ok(Content::new(session, self.store.configuration(), ino, shape(session, ino)?))
    }

    fn copy(&self, from: Ino, from_offset: u64, to: Ino, to_offset: u64, length: u64) -> Result<u64> {
        self.store.mutate(|session| {
            let source = (from, shape(session, from)?);
            let mut target = self.content(session, to)?;
            let configuration = self.store.configuration();
            let copied =
                copy_range(session, configuration, source, from_offset, &mut target, to_offset, length)?;
            assert_eq!(target.shape(), shape(session, to)?);
            Ok(copied)
        })
    }

    fn all(&self, ino: Ino) -> Vec<u8> {
        self.look(ino, |file| file.read(0, file.shape().size as usize)).unwrap()
    }

    fn shape(&self, ino: Ino) -> FileShape {
        self.store.read(|session| shape(session, ino)).unwrap()
    }

    /// Index and length of each row of `fs_data`.
    fn rows(&self, ino: Ino) -> Vec<(i64, u64)> {
        const ROWS: &str =
            "SELECT chunk_index, octet_length(data) FROM fs_data WHERE ino = ?1 ORDER BY chunk_index";
        let rows = self.store.read(|session| {
            session.rows(ROWS, [ino.0.cast_signed()], |row| {
                Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned()))
            })
        });
        rows.unwrap()
    }

    fn inline(&self, ino: Ino) -> Option<u64> {
        const INLINE_LENGTH: &str = "SELECT octet_length(data_inline) FROM fs_inode WHERE ino = ?1";
        let length = self.store.read(|session| {
            session.row(INLINE_LENGTH, [ino.0.cast_signed()], |row| row.get::<_, Option<i64>>(0))
        });
        length.unwrap().unwrap().map(i64::cast_unsigned)
    }

    /// The specification's layout rules, on the tables.
    fn check_layout(&self, ino: Ino) {
        let FileShape { size, storage } = self.shape(ino);
        let rows = self.rows(ino);
        match storage {
            StorageKind::Inline => {
                assert!(size <= INLINE, "an inline file of {size} bytes");
                assert_eq!(self.inline(ino), Some(size), "an inline file holds exactly its size");
                assert_eq!(rows, [], "an inline file has no chunks");
            }
            StorageKind::Chunked => {
                assert_eq!(self.inline(ino), None, "a chunked file has nothing inline");
                for (index, length) in rows {
                    let start = index.cast_unsigned() * CHUNK;
                    assert!(start < size, "chunk {index} begins past the size {size}");
                    assert_eq!(length, CHUNK.min(size - start), "length of chunk {index}, size {size}");
                }
            }
        }
    }
}

fn shape(session: &Session<'_>, ino: Ino) -> Result<FileShape> {
    const SHAPE: &str = "SELECT size, storage_kind FROM fs_inode WHERE ino = ?1";
    let found = session.row(SHAPE, [ino.0.cast_signed()], |row| {
        let storage = if row.get::<_, bool>(1)? { StorageKind::Inline } else { StorageKind::Chunked };
        Ok(FileShape { size: row.get::<_, i64>(0)?.cast_unsigned(), storage })
    })?;
    Ok(found.unwrap())
}

fn refused<T: std::fmt::Debug>(outcome: Result<T>) -> Errno {
    outcome.unwrap_err().errno()
}

/// Bytes none of which is zero, different at each place.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8 + 1).collect()
}
