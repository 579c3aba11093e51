//! What is checked of a database as a whole: SQLite's own structures, the version, the settings, the tables.
//!
//! Keeps INT-7, INT-8, INT-9 and INT-38, and of INT-31 and INT-36 what is about a whole table. Rows are for the
//! checks.

use std::ops::ControlFlow;

use super::finding::{Finding, Report, Severity, Value};
use super::shape::Shape;
use crate::error::Result;
use crate::schema;
use crate::store::Session;

/// The rule about SQLite's own structures.
pub(super) const SQLITE_RULE: &str = "INT-7";

// As many findings as a report lists, and one that says that there are more.
const SQLITE_CHECK: &str = "PRAGMA integrity_check(101)";

/// Lets SQLite check its pages and indexes.
pub(super) fn check_sqlite(session: &Session<'_>, report: &mut Report) -> Result<()> {
    session.each(SQLITE_CHECK, [], |row| {
        let message = Value::from(row.get_ref(0)?);
        if message != Value::Text(b"ok".into()) {
            report.add(whole(SQLITE_RULE, None, format!("SQLite's own check says: {message}")));
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Says what is wrong with the version, the settings and the tables.
pub(super) fn check_shape(shape: &Shape, report: &mut Report) {
    report.checked("INT-8");
    if shape.user_version != schema::USER_VERSION {
        let message =
            format!("user_version is {}, where this format has {}", shape.user_version, schema::USER_VERSION);
        report.add(whole("INT-8", None, message));
    }
    check_settings(shape, report);
    if shape.has_whiteouts() && !shape.has_parents_of_whiteouts() {
        report.checked("INT-31");
        let message = "the whiteouts have no column parent_path: they are of an older format";
        report.add(whole("INT-31", Some("fs_whiteout"), message.into()));
    }
    if !shape.has_completed_calls() {
        report.checked("INT-36");
        let message = "the tool calls have no column completed_at, or none duration_ms";
        report.add(whole("INT-36", Some("tool_calls"), message.into()));
    }
    report.checked("INT-38");
    for (name, version) in &shape.foreign_extensions {
        report.add(Finding {
            rule: "INT-38",
            severity: Severity::Note,
            table: Some("ext_registry"),
            key: vec![("name", Value::Text(name.as_bytes().to_vec()))],
            message: format!(
                "{name} has version {version}, where this program knows {}: it was not checked",
                schema::EXTENSION_VERSION
            ),
        });
    }
}

fn check_settings(shape: &Shape, report: &mut Report) {
    report.checked("INT-9");
    let mut complain = |key: &'static str, severity, expected: String| {
        let found = shape.setting(key).map_or_else(|| "missing".to_owned(), ToString::to_string);
        report.add(Finding {
            rule: "INT-9",
            severity,
            table: Some("fs_config"),
            key: vec![("key", Value::Text(key.into()))],
            message: format!("the setting {key} is {found}; {expected}"),
        });
    };
    if shape.chunk_size().is_none() {
        complain("chunk_size", Severity::Error, "512 to 16777216 is possible".into());
    }
    if shape.inline_threshold().is_none() {
        let largest = shape.chunk_size().map_or_else(|| "the chunk size".into(), |size| size.to_string());
        complain("inline_threshold", Severity::Error, format!("0 to {largest} is possible"));
    }
    if shape.setting("schema_version") != Some(&Value::Text(schema::SCHEMA_VERSION.into())) {
        let expected = format!("a program that looks at it expects {:?}", schema::SCHEMA_VERSION);
        complain("schema_version", Severity::Note, expected);
    }
}

/// An error that is not about one row.
pub(super) fn whole(rule: &'static str, table: Option<&'static str>, message: String) -> Finding {
    Finding { rule, severity: Severity::Error, table, key: Vec::new(), message }
}
