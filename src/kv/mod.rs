//! The key-value store: an agent's small state, as JSON by key, in the spec's table `kv_store`.
//!
//! Keeps KV-1 to KV-9. A key is any string without NUL, a value a JSON text that is kept exactly as
//! it was given, times are whole seconds. A mutation joins the open group like any other and is
//! durable after the next [barrier](crate::store::Store::barrier). There are no namespaces, no expiry and no
//! history here; a prefix serves as a namespace.

use rusqlite::types::ValueRef;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::store::{Session, Store, Text, bytes};
use crate::types::Clock;

// The primary key's index serves every statement, the two ranges included: a prefix is a range of
// keys in byte order, which LIKE is not.
const SET: &str = "INSERT INTO kv_store (key, value, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)
     ON CONFLICT(key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at";
const GET: &str = "SELECT key, value, created_at, updated_at FROM kv_store WHERE key = ?";
const DELETE: &str = "DELETE FROM kv_store WHERE key = ?";
const LIST_ALL: &str = "SELECT key, NULL, created_at, updated_at FROM kv_store ORDER BY key";
const LIST_RANGE: &str = "SELECT key, NULL, created_at, updated_at FROM kv_store
     WHERE key >= ?1 AND key < ?2 ORDER BY key";
const LIST_ALL_VALUES: &str = "SELECT key, value, created_at, updated_at FROM kv_store ORDER BY key";
const LIST_RANGE_VALUES: &str = "SELECT key, value, created_at, updated_at FROM kv_store
     WHERE key >= ?1 AND key < ?2 ORDER BY key";

/// One key, its times, and its value where it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key. Bytes of another writer that are not UTF-8 show as U+FFFD.
    pub key: String,
    /// The stored text; None from [`Kv::list`], which leaves values where they are. Bytes of another
    /// writer that are not UTF-8 show as U+FFFD.
    pub value: Option<String>,
    /// When the key was first set, in seconds since 1970; None where another writer stored no time.
    pub created_at: Option<i64>,
    /// When the value was last set, in seconds since 1970; None where another writer stored no time.
    pub updated_at: Option<i64>,
}

/// The key-value store of a database.
///
/// ```
/// use agentfs::{kv::Kv, store::Store, types::SystemClock, Options};
/// use serde_json::json;
///
/// # fn main() -> agentfs::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// let store = Store::create(&directory.path().join("agent.db"), &Options::default())?;
/// let kv = Kv::new(&store, &SystemClock);
/// kv.set("session:goal", &json!({"text": "tidy up", "steps": 3}))?;
/// assert_eq!(kv.get("session:goal")?, Some(json!({"text": "tidy up", "steps": 3})));
/// assert_eq!(kv.get("session:mood")?, None);
/// # Ok(())
/// # }
/// ```
pub struct Kv<'a> {
    store: &'a Store,
    clock: &'a dyn Clock,
}

impl<'a> Kv<'a> {
    /// The key-value store in `store`, stamped by `clock`.
    #[must_use]
    pub fn new(store: &'a Store, clock: &'a dyn Clock) -> Self {
        Self { store, clock }
    }

    /// Sets `key` to `value`. A key that exists keeps its creation time.
    ///
    /// # Errors
    /// [`Error::Invalid`] (NUL in the key), EROFS, ENOSPC.
    pub fn set(&self, key: &str, value: &Value) -> Result<()> {
        self.put(key, &value.to_string())
    }

    /// Sets `key` to a JSON text, which is kept to the byte.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is not JSON, with line and column; and those of [`set`](Self::set).
    ///
    /// ```
    /// # use agentfs::{kv::Kv, store::Store, types::SystemClock, Errno, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let store = Store::create(&directory.path().join("agent.db"), &Options::default())?;
    /// let kv = Kv::new(&store, &SystemClock);
    /// kv.set_text("pi", "3.14159265358979323846")?;
    /// assert_eq!(kv.get_text("pi")?.as_deref(), Some("3.14159265358979323846"));
    ///
    /// let refused = kv.set_text("pi", "[3, 14").unwrap_err();
    /// assert_eq!(refused.errno(), Errno::EINVAL);
    /// assert!(refused.to_string().contains("line 1 column 6"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_text(&self, key: &str, json_text: &str) -> Result<()> {
        parse(key, json_text)?;
        self.put(key, json_text)
    }

    /// The value of `key`, if it is set.
    ///
    /// # Errors
    /// [`Error::Invalid`] when another writer stored what is not JSON; [`get_text`](Self::get_text)
    /// gives that.
    pub fn get(&self, key: &str) -> Result<Option<Value>> {
        self.get_text(key)?.map(|text| parse(key, &text)).transpose()
    }

    /// The stored text of `key`, if it is set, whether it is JSON or not.
    ///
    /// # Errors
    /// [`Error::Invalid`] when another writer stored bytes that are not UTF-8.
    pub fn get_text(&self, key: &str) -> Result<Option<String>> {
        let found =
            self.store.read(|session| session.row(GET, [key], |row| bytes(row, 1).map(<[u8]>::to_vec)))?;
        let text = found.map(String::from_utf8).transpose();
        text.map_err(|error| Error::Invalid(format!("the value of key {key:?} is not UTF-8: {error}")))
    }

    /// The value of `key` as text, with its times.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn entry(&self, key: &str) -> Result<Option<Entry>> {
        self.store.read(|session| session.row(GET, [key], entry))
    }

    /// Removes `key`, and returns whether it was set.
    ///
    /// # Errors
    /// EROFS.
    ///
    /// ```
    /// # use agentfs::{kv::Kv, store::Store, types::SystemClock, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let store = Store::create(&directory.path().join("agent.db"), &Options::default())?;
    /// let kv = Kv::new(&store, &SystemClock);
    /// kv.set("draft", &true.into())?;
    /// assert!(kv.delete("draft")?);
    /// assert!(!kv.delete("draft")?, "it is gone already");
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete(&self, key: &str) -> Result<bool> {
        self.store.mutate(|session| Ok(session.execute(DELETE, [key])? > 0))
    }

    /// The keys that begin with `prefix` (all of them with None), in byte order, without their values.
    ///
    /// # Errors
    /// [`Error::Storage`].
    ///
    /// ```
    /// # use agentfs::{kv::Kv, store::Store, types::SystemClock, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let store = Store::create(&directory.path().join("agent.db"), &Options::default())?;
    /// let kv = Kv::new(&store, &SystemClock);
    /// for key in ["user:2", "user:1", "users", "100%"] {
    ///     kv.set(key, &1.into())?;
    /// }
    /// let keys: Vec<String> = kv.list(Some("user:"))?.into_iter().map(|entry| entry.key).collect();
    /// assert_eq!(keys, ["user:1", "user:2"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn list(&self, prefix: Option<&str>) -> Result<Vec<Entry>> {
        self.store.read(|session| scan(session, prefix, LIST_ALL, LIST_RANGE))
    }

    /// As [`list`](Self::list), with the values.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn list_with_values(&self, prefix: Option<&str>) -> Result<Vec<Entry>> {
        self.store.read(|session| scan(session, prefix, LIST_ALL_VALUES, LIST_RANGE_VALUES))
    }

    fn put(&self, key: &str, json_text: &str) -> Result<()> {
        if key.contains('\0') {
            return Err(Error::Invalid(format!("the key {key:?} contains a NUL")));
        }
        let size = (key.len() + json_text.len()) as u64;
        self.store.reserve_space(size)?;
        let now = self.clock.now().seconds;
        self.store.mutate(|session| {
            session.execute(SET, (key, json_text, now))?;
            session.charge(size);
            Ok(())
        })
    }
}

/// What is accepted here is what [`Kv::get`] can give back later.
fn parse(key: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Error::Invalid(format!("the value of key {key:?} is not JSON: {error}")))
}

fn scan(
    session: &Session<'_>,
    prefix: Option<&str>,
    all: &'static str,
    range: &'static str,
) -> Result<Vec<Entry>> {
    match prefix.and_then(|prefix| Some((prefix, behind(prefix)?))) {
        Some((prefix, end)) => session.rows(range, (prefix, Text(&end)), entry),
        None => session.rows(all, [], entry),
    }
}

/// The first byte string in order that is behind everything that begins with `prefix`; None when
/// everything does. UTF-8 has no byte 0xFF, so that the last byte can always be counted up.
fn behind(prefix: &str) -> Option<Vec<u8>> {
    let mut end = prefix.as_bytes().to_vec();
    *end.last_mut()? += 1;
    Some(end)
}

fn entry(row: &rusqlite::Row<'_>) -> rusqlite::Result<Entry> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let value = match row.get_ref(1)? {
        ValueRef::Null => None,
        _ => Some(text(bytes(row, 1)?)),
    };
    Ok(Entry { key: text(bytes(row, 0)?), value, created_at: seconds(row, 2)?, updated_at: seconds(row, 3)? })
}

/// Whole seconds. Another writer may have stored a fraction, or something that is no time: one such row must not
/// hide the others.
fn seconds(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(seconds) => Some(seconds),
        ValueRef::Real(seconds) => Some(seconds.floor() as i64),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Options;

    // spec: KV-6
    #[test]
    fn a_prefix_is_searched_in_the_primary_key_without_a_sort() {
        const PLANS: [&str; 2] = [
            "EXPLAIN QUERY PLAN SELECT key, NULL, created_at, updated_at FROM kv_store
     WHERE key >= ?1 AND key < ?2 ORDER BY key",
            "EXPLAIN QUERY PLAN SELECT key, value, created_at, updated_at FROM kv_store
     WHERE key >= ?1 AND key < ?2 ORDER BY key",
        ];
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(&directory.path().join("plan.db"), &Options::default()).unwrap();
        for (plan, statement) in PLANS.into_iter().zip([LIST_RANGE, LIST_RANGE_VALUES]) {
            assert_eq!(plan.strip_prefix("EXPLAIN QUERY PLAN "), Some(statement));
            let steps: Vec<String> =
                store.read(|session| session.rows(plan, ("a", "b"), |row| row.get("detail"))).unwrap();
            assert_eq!(steps, ["SEARCH kv_store USING INDEX sqlite_autoindex_kv_store_1 (key>? AND key<?)"]);
        }
    }
}
