//! Statements on the database, for the layers above the store.
//!
//! A [`Session`] lives inside [`Store::read`](super::Store::read) or
//! [`Store::mutate`](super::Store::mutate). Statements are prepared once per connection and text.

use std::cell::Cell;
use std::ops::ControlFlow;

use rusqlite::types::{FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Params, Row, ToSql};

use super::EndedGroups;
use super::failure::storage;
use crate::error::Result;

/// Bytes that are stored in a TEXT column exactly as they are, UTF-8 or not (FMT-6).
#[derive(Clone, Copy, Debug)]
pub struct Text<'a>(pub &'a [u8]);

impl ToSql for Text<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// The bytes of a TEXT or BLOB column.
///
/// # Errors
/// When the column holds something else.
pub fn bytes<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<&'a [u8]> {
    fn of(value: ValueRef<'_>) -> FromSqlResult<&[u8]> {
        match value {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(bytes),
            _ => Err(FromSqlError::InvalidType),
        }
    }
    of(row.get_ref(column)?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Blob, Box::new(error))
    })
}

/// Access to the database for one operation.
pub struct Session<'a> {
    connection: &'a Connection,
    foreign_changes: u64,
    ended: &'a EndedGroups,
    charged: Cell<u64>,
}

impl<'a> Session<'a> {
    pub(super) fn new(connection: &'a Connection, foreign_changes: u64, ended: &'a EndedGroups) -> Self {
        Self { connection, foreign_changes, ended, charged: Cell::new(0) }
    }

    /// Runs a statement and returns how many rows it changed.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage).
    pub fn execute(&self, sql: &'static str, parameters: impl Params) -> Result<usize> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(parameters))
            .map_err(storage(sql))
    }

    /// The first row of a query, if there is one.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage).
    pub fn row<T>(
        &self,
        sql: &'static str,
        parameters: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let first = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(parameters)?;
            rows.next()?.map(read).transpose()
        };
        first().map_err(storage(sql))
    }

    /// Calls `visit` with each row of a query until it breaks.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage), or what `visit` returns.
    pub fn each(
        &self,
        sql: &'static str,
        parameters: impl Params,
        mut visit: impl FnMut(&Row<'_>) -> rusqlite::Result<ControlFlow<()>>,
    ) -> Result<()> {
        let all = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(parameters)?;
            while let Some(row) = rows.next()? {
                if visit(row)?.is_break() {
                    break;
                }
            }
            Ok(())
        };
        all().map_err(storage(sql))
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage).
    pub fn rows<T>(
        &self,
        sql: &'static str,
        parameters: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.each(sql, parameters, |row| {
            found.push(read(row)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// The rowid of the last row inserted.
    #[must_use]
    pub fn last_insert_rowid(&self) -> i64 {
        self.connection.last_insert_rowid()
    }

    /// Overwrites bytes of a stored BLOB in place, touching only the pages that hold them.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage), also when the range is not inside the BLOB.
    pub fn overwrite_blob(
        &self,
        table: &'static str,
        column: &'static str,
        rowid: i64,
        offset: usize,
        data: &[u8],
    ) -> Result<()> {
        self.connection
            .blob_open("main", table, column, rowid, false)
            .and_then(|mut blob| blob.write_all_at(data, offset))
            .map_err(storage("overwrite a blob"))
    }

    /// Reads bytes of a stored BLOB in place; the whole range must be inside it.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage).
    pub fn read_blob(
        &self,
        table: &'static str,
        column: &'static str,
        rowid: i64,
        offset: usize,
        into: &mut [u8],
    ) -> Result<()> {
        self.connection
            .blob_open("main", table, column, rowid, true)
            .and_then(|blob| blob.read_at_exact(into, offset))
            .map_err(storage("read a blob"))
    }

    /// Runs DDL of the specification.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage).
    pub fn define(&self, ddl: &'static str) -> Result<()> {
        self.connection.execute_batch(ddl).map_err(storage("define tables"))
    }

    /// Whether a table exists.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage).
    pub fn has_table(&self, name: &str) -> Result<bool> {
        const FIND: &str = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?";
        Ok(self.row(FIND, [name], |_| Ok(()))?.is_some())
    }

    /// Whether a table has a column.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage).
    pub fn has_column(&self, table: &str, column: &str) -> Result<bool> {
        const FIND: &str = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?";
        Ok(self.row(FIND, [table, column], |_| Ok(()))?.is_some())
    }

    /// How often another connection has changed the database, or a group was lost, since it was
    /// opened. What a layer remembers of the database is void when this has moved.
    #[must_use]
    pub const fn foreign_changes(&self) -> u64 {
        self.foreign_changes
    }

    /// [`Store::ended_groups`](super::Store::ended_groups), at this moment of the order of operations.
    #[must_use]
    pub const fn ended_groups(&self) -> &EndedGroups {
        self.ended
    }

    /// Tells the store that the operation adds about `bytes` to the group.
    pub fn charge(&self, bytes: u64) {
        self.charged.set(self.charged.get() + bytes);
    }

    pub(super) fn charged(&self) -> u64 {
        self.charged.get()
    }
}
