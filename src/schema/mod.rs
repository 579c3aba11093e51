//! The database format: its DDL, its version, and how a database of another format is told apart.
//!
//! Keeps FMT-1 to FMT-4. The DDL that runs is the text of `spec/schema/`, byte for byte. Nothing here touches
//! SQLite: [`Observed`] is what the store has read of a database, [`recognise`] what it means.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::DatabaseProblem;

/// The core tables of format 0.5.
pub const CORE_DDL: &str = include_str!("../../spec/schema/v0.5.sql");
/// The extension tables, each statement safe to repeat.
pub const EXTENSION_DDL: &str = include_str!("../../spec/schema/extensions.sql");
/// `PRAGMA user_version` of format 0.5.
pub const USER_VERSION: i64 = 5;
/// `fs_config.schema_version` of format 0.5.
pub const SCHEMA_VERSION: &str = "0.5";
/// Version of every extension table, as `ext_registry` records it.
pub const EXTENSION_VERSION: i64 = 1;
/// The extension tables by name.
pub const EXTENSIONS: [&str; 4] = ["ext_xattr", "ext_orphan", "ext_mount", "ext_tool_call"];

/// What there is to see in a SQLite database.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// `PRAGMA user_version`.
    pub user_version: i64,
    /// The columns of each table.
    pub tables: BTreeMap<String, BTreeSet<String>>,
}

impl Observed {
    fn has(&self, table: &str, columns: &[&str]) -> bool {
        self.tables.get(table).is_some_and(|found| columns.iter().all(|column| found.contains(*column)))
    }
}

/// Columns that this program reads, by table: what a usable 0.5 database has at the least.
const REQUIRED: [(&str, &[&str]); 7] = [
    ("tool_calls", &["id", "name", "parameters", "result", "error", "started_at"]),
    ("fs_config", &["key", "value"]),
    (
        "fs_inode",
        &[
            "ino",
            "mode",
            "nlink",
            "uid",
            "gid",
            "size",
            "atime",
            "mtime",
            "ctime",
            "rdev",
            "atime_nsec",
            "mtime_nsec",
            "ctime_nsec",
            "data_inline",
            "storage_kind",
        ],
    ),
    ("fs_dentry", &["id", "name", "parent_ino", "ino"]),
    ("fs_data", &["ino", "chunk_index", "data"]),
    ("fs_symlink", &["ino", "target"]),
    ("kv_store", &["key", "value", "created_at", "updated_at"]),
];

/// Decides whether a database is one of format 0.5 (FMT-3): the version stamp first, then the shape
/// of its tables, since releases before 0.5 never stamped.
///
/// # Errors
/// The problem that a person is told, with what to do.
pub fn recognise(observed: &Observed) -> Result<(), DatabaseProblem> {
    let inode = |columns: &[&str]| observed.has("fs_inode", columns);
    match observed.user_version {
        USER_VERSION => {
            let missing = REQUIRED.iter().find(|(table, columns)| !observed.has(table, columns));
            return match missing {
                None => Ok(()),
                Some((table, _)) => Err(DatabaseProblem::NotAgentFs(format!(
                    "user_version is 5, but the table {table} is missing or lacks columns"
                ))),
            };
        }
        0 => {}
        _ if !observed.tables.contains_key("fs_inode") => {
            return Err(DatabaseProblem::NotAgentFs("it has no table fs_inode".into()));
        }
        2 => return Err(DatabaseProblem::Older("0.2".into())),
        4 => return Err(DatabaseProblem::Older("0.4".into())),
        other => return Err(DatabaseProblem::Newer(format!("with user_version {other}"))),
    }
    let version = if observed.tables.is_empty() {
        return Err(DatabaseProblem::NotAgentFs("it is empty".into()));
    } else if !inode(&["ino", "mode"]) {
        return Err(DatabaseProblem::NotAgentFs("it has no table fs_inode".into()));
    } else if inode(&["data_inline", "storage_kind"]) {
        "0.5 without its version stamp"
    } else if inode(&["rdev", "atime_nsec", "mtime_nsec", "ctime_nsec"]) {
        "0.4"
    } else if inode(&["nlink"]) && observed.tables.contains_key("fs_origin") {
        "0.3"
    } else if inode(&["nlink"]) {
        "0.2"
    } else if observed.has("fs_data", &["chunk_index"]) {
        "0.1"
    } else {
        "0.0"
    };
    Err(DatabaseProblem::Older(version.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table by name and columns.
    type Table = (&'static str, &'static [&'static str]);

    fn observed(user_version: i64, tables: &[Table]) -> Observed {
        let tables = tables
            .iter()
            .map(|(table, columns)| {
                ((*table).to_owned(), columns.iter().map(|column| (*column).to_owned()).collect())
            })
            .collect();
        Observed { user_version, tables }
    }

    // spec: FMT-3
    #[test]
    fn every_released_format_is_told_apart_by_its_shape() {
        let cases: [(&[Table], &str); 6] = [
            (&[("fs_inode", &["ino", "mode"]), ("fs_data", &["offset", "size"])], "0.0"),
            (&[("fs_inode", &["ino", "mode"]), ("fs_data", &["chunk_index"])], "0.1"),
            (&[("fs_inode", &["ino", "mode", "nlink"])], "0.2"),
            (&[("fs_inode", &["ino", "mode", "nlink"]), ("fs_origin", &[])], "0.3"),
            (
                &[("fs_inode", &["ino", "mode", "nlink", "rdev", "atime_nsec", "mtime_nsec", "ctime_nsec"])],
                "0.4",
            ),
            (
                &[("fs_inode", &["ino", "mode", "nlink", "data_inline", "storage_kind"])],
                "0.5 without its version stamp",
            ),
        ];
        for (tables, version) in cases {
            assert_eq!(recognise(&observed(0, tables)), Err(DatabaseProblem::Older(version.into())));
        }
    }

    // spec: FMT-3
    #[test]
    fn a_stamp_decides_before_the_shape() {
        let required: Vec<_> = REQUIRED.to_vec();
        assert_eq!(recognise(&observed(5, &required)), Ok(()));
        assert!(matches!(recognise(&observed(5, &required[1..])), Err(DatabaseProblem::NotAgentFs(_))));
        assert!(matches!(recognise(&observed(6, &required)), Err(DatabaseProblem::Newer(_))));
        assert!(matches!(recognise(&observed(4, &required)), Err(DatabaseProblem::Older(_))));
        assert!(matches!(
            recognise(&observed(7, &[("songs", &["id"])])),
            Err(DatabaseProblem::NotAgentFs(_))
        ));
        assert!(matches!(recognise(&observed(0, &[])), Err(DatabaseProblem::NotAgentFs(_))));
    }
}
