//! A check is a query for the rows that break a rule, with the sentence about each of them.
//!
//! The queries stand as named constants in the files of this folder, by subject; each can be run as it is in any
//! SQLite from 3.43 on. They name their columns (FMT-8), stream, and are guarded against values of the wrong type, so that one
//! damaged value is one finding: INT-20 reports it, the others leave it alone. Where SQL cannot decide (bytes that are
//! not UTF-8, the directory above a path), a function in Rust has the last word on each row.

mod content;
mod inodes;
mod stores;
mod tree;

use std::ops::ControlFlow;

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::finding::{Finding, Report, Severity, Value, shown};
use super::shape::Shape;
use crate::error::Result;
use crate::store::Session;

/// What a database must have for a check to mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// What every database has that is recognised as ours.
    Core,
    /// A chunk size that can be used.
    ChunkSize,
    /// An inline threshold that can be used.
    InlineThreshold,
    /// The table `ext_xattr` as we know it.
    Xattrs,
    /// The table `ext_orphan` as we know it.
    Orphans,
    /// The table `fs_whiteout` with `parent_path`.
    Whiteouts,
    /// All the columns that the specification gives `tool_calls`.
    CompletedCalls,
}

/// A query for rows that break a rule.
pub(super) struct Check {
    /// The rule, as SPEC.md has it.
    rule: &'static str,
    /// How much a row matters, unless the query has a column `severity` with the word for it.
    severity: Severity,
    /// The table of the rows.
    table: &'static str,
    /// The columns of the query that say which row it is.
    key: &'static [&'static str],
    needs: Needs,
    sql: &'static str,
    /// What is wrong with a row: `{column}` is a value of it, `{column:o}` the same in octal. The column `why` is
    /// words of ours.
    sentence: &'static str,
    /// Whether a row breaks the rule after all.
    decide: Option<fn(&Row<'_>) -> rusqlite::Result<bool>>,
}

/// All checks, those of one rule after each other.
pub(super) fn all() -> impl Iterator<Item = &'static Check> {
    [tree::CHECKS, inodes::CHECKS, content::CHECKS, stores::CHECKS].into_iter().flatten()
}

impl Check {
    /// An error of a row that every database has; the constants say what is different.
    const fn new(rule: &'static str, table: &'static str, key: &'static [&'static str]) -> Self {
        Self {
            rule,
            severity: Severity::Error,
            table,
            key,
            needs: Needs::Core,
            sql: "",
            sentence: "",
            decide: None,
        }
    }

    /// Whether the database has what the check is about.
    pub(super) fn applies_to(&self, shape: &Shape) -> bool {
        match self.needs {
            Needs::Core => true,
            Needs::ChunkSize => shape.chunk_size().is_some(),
            Needs::InlineThreshold => shape.inline_threshold().is_some(),
            Needs::Xattrs => shape.has_xattrs(),
            Needs::Orphans => shape.has_orphans(),
            Needs::Whiteouts => shape.has_parents_of_whiteouts(),
            Needs::CompletedCalls => shape.has_completed_calls(),
        }
    }

    /// The rule that is checked.
    pub(super) const fn rule(&self) -> &'static str {
        self.rule
    }

    /// Adds the rows that break the rule to the report.
    pub(super) fn run(&self, session: &Session<'_>, report: &mut Report) -> Result<()> {
        session.each(self.sql, [], |row| {
            if self.decide.map_or(Ok(true), |decide| decide(row))? {
                let severity = self.severity_of(row)?;
                if report.has_room(self.rule, severity) {
                    report.findings.push(self.finding(row, severity)?);
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn severity_of(&self, row: &Row<'_>) -> rusqlite::Result<Severity> {
        if row.as_ref().column_index("severity").is_err() {
            return Ok(self.severity);
        }
        let word = row.get_ref("severity")?.as_str()?;
        Ok(Severity::ALL.into_iter().find(|severity| severity.text() == word).unwrap_or(self.severity))
    }

    fn finding(&self, row: &Row<'_>, severity: Severity) -> rusqlite::Result<Finding> {
        let key = self.key.iter().map(|&column| Ok((column, row.get_ref(column)?.into())));
        Ok(Finding {
            rule: self.rule,
            severity,
            table: Some(self.table),
            key: key.collect::<rusqlite::Result<_>>()?,
            message: self.say(row)?,
        })
    }

    fn say(&self, row: &Row<'_>) -> rusqlite::Result<String> {
        let mut said = String::new();
        let mut rest = self.sentence;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            said.push_str(before);
            rest = after;
            let (column, octal) = match name.strip_suffix(":o") {
                Some(column) => (column, true),
                None => (name, false),
            };
            match (column, row.get_ref(column)?) {
                ("why", ValueRef::Text(words)) => said.push_str(&shown(words)),
                (_, ValueRef::Integer(number)) if octal => said.push_str(&format!("{number:#o}")),
                (_, value) => said.push_str(&Value::from(value).to_string()),
            }
        }
        said.push_str(rest);
        Ok(said)
    }
}

/// Whether any text of the row is not UTF-8.
fn has_text_that_is_not_utf8(row: &Row<'_>) -> rusqlite::Result<bool> {
    for column in 0..row.as_ref().column_count() {
        if let ValueRef::Text(bytes) = row.get_ref(column)?
            && std::str::from_utf8(bytes).is_err()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    fn prepared(check: &Check) -> Vec<String> {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch(schema::CORE_DDL).unwrap();
        connection.execute_batch(schema::EXTENSION_DDL).unwrap();
        let statement = connection.prepare(check.sql).unwrap();
        statement.column_names().map(str::to_owned).collect()
    }

    // spec: INT-1
    #[test]
    fn every_check_has_the_columns_that_it_speaks_of() {
        for check in all() {
            let columns = prepared(check);
            let has = |name: &str| columns.iter().any(|column| column == name);
            for key in check.key {
                assert!(has(key), "{}: {key} of {columns:?}", check.rule);
            }
            for name in check.sentence.split('{').skip(1).map(|part| part.split_once('}').unwrap().0) {
                let name = name.strip_suffix(":o").unwrap_or(name);
                assert!(has(name), "{}: {name} of {columns:?}", check.rule);
            }
        }
    }

    // spec: INT-1
    #[test]
    fn the_checks_of_a_rule_stand_together_in_the_order_of_the_specification() {
        let numbers: Vec<u32> =
            all().map(|check| check.rule.strip_prefix("INT-").unwrap().parse().unwrap()).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
    }
}
