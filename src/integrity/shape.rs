//! What there is to check in a database: the tables and columns that not every database has, and the settings.
//!
//! It only looks; what is wrong with it the module [`file`](super::file) says. Keeps FMT-5 and FMT-8: a table that
//! another version of this program made is not ours to judge, and one that is not there is no mistake.

use super::finding::Value;
use crate::error::Result;
use crate::schema;
use crate::store::Session;

// The columns that a check needs and that recognition does not promise (FMT-3), counted.
const COLUMNS: &str = "SELECT
  (SELECT count(*) FROM pragma_table_info('fs_whiteout') WHERE name IN ('path', 'parent_path')),
  (SELECT count(*) FROM pragma_table_info('tool_calls') WHERE name IN ('completed_at', 'duration_ms')),
  (SELECT count(*) FROM pragma_table_info('ext_xattr') WHERE name = 'ino'),
  (SELECT count(*) FROM pragma_table_info('ext_orphan') WHERE name = 'ino'),
  (SELECT count(*) FROM pragma_table_info('ext_registry') WHERE name IN ('name', 'version'))";
const OTHER_VERSIONS: &str = "SELECT name, version FROM ext_registry WHERE version IS NOT ? ORDER BY name";
const SETTINGS: &str = "SELECT key, value FROM fs_config
  WHERE key IN ('schema_version', 'chunk_size', 'inline_threshold')";
const USER_VERSION: &str = "PRAGMA user_version";

/// What a database has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shape {
    pub(super) user_version: i64,
    /// The settings of the core.
    settings: Vec<(Value, Value)>,
    /// How many of the columns above there are.
    whiteouts: u8,
    calls: u8,
    xattrs: u8,
    orphans: u8,
    /// Extension tables in a version that is not ours.
    pub(super) foreign_extensions: Vec<(String, Value)>,
}

impl Shape {
    pub(super) fn of(session: &Session<'_>) -> Result<Self> {
        let settings =
            session.rows(SETTINGS, [], |row| Ok((row.get_ref(0)?.into(), row.get_ref(1)?.into())))?;
        let counts: Option<(u8, u8, u8, u8, u8)> = session.row(COLUMNS, [], |row| row.try_into())?;
        let (whiteouts, calls, xattrs, orphans, registry) = counts.unwrap_or_default();
        let mut foreign_extensions: Vec<(String, Value)> = match registry {
            2 => session.rows(OTHER_VERSIONS, [schema::EXTENSION_VERSION], |row| {
                Ok((row.get(0)?, row.get_ref(1)?.into()))
            })?,
            _ => Vec::new(),
        };
        // What programs to come may register is not ours to know.
        foreign_extensions.retain(|(name, _)| schema::EXTENSIONS.contains(&name.as_str()));
        let user_version = session.row(USER_VERSION, [], |row| row.get(0))?.unwrap_or(0);
        Ok(Self { user_version, settings, whiteouts, calls, xattrs, orphans, foreign_extensions })
    }

    /// What is stored for a setting of the core.
    pub(super) fn setting(&self, key: &str) -> Option<&Value> {
        let key = Value::Text(key.into());
        self.settings.iter().find(|(stored, _)| *stored == key).map(|(_, value)| value)
    }

    fn number(&self, key: &str, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let Some(Value::Text(text)) = self.setting(key) else { return None };
        std::str::from_utf8(text).ok()?.parse().ok().filter(|number| range.contains(number))
    }

    /// The chunk size, where it is one that a database may have (OPEN-4).
    pub(super) fn chunk_size(&self) -> Option<i64> {
        self.number("chunk_size", 512..=16 << 20)
    }

    /// The inline threshold, where it is one that a database may have (OPEN-4).
    pub(super) fn inline_threshold(&self) -> Option<i64> {
        self.number("inline_threshold", 0..=self.chunk_size().unwrap_or(16 << 20))
    }

    /// Whether there is a table of whiteouts at all.
    pub(super) const fn has_whiteouts(&self) -> bool {
        self.whiteouts > 0
    }

    /// Whether whiteouts name their parents, as they have since 0.5.
    pub(super) const fn has_parents_of_whiteouts(&self) -> bool {
        self.whiteouts == 2
    }

    /// Whether tool calls have a time of completion and a duration.
    pub(super) const fn has_completed_calls(&self) -> bool {
        self.calls == 2
    }

    /// Whether `ext_xattr` is there as we know it.
    pub(super) fn has_xattrs(&self) -> bool {
        self.xattrs == 1 && !self.is_foreign("ext_xattr")
    }

    /// Whether `ext_orphan` is there as we know it.
    pub(super) fn has_orphans(&self) -> bool {
        self.orphans == 1 && !self.is_foreign("ext_orphan")
    }

    fn is_foreign(&self, table: &str) -> bool {
        self.foreign_extensions.iter().any(|(name, _)| name == table)
    }
}
