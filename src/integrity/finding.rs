//! What a check found: the rule, how much it matters, which row, and a sentence; and the report of all of it.
//!
//! Keeps INT-1 (the form of a finding) and INT-4 (at most [`LISTED`] findings of a kind are kept, the others counted).

use std::cmp::Ordering;

use rusqlite::types::ValueRef;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use serde_json::Map;

use crate::types::text::{printable, put_bytes};

/// Findings of one rule and severity that a report lists; it counts the others.
pub const LISTED: u64 = 100;
/// Bytes of a text that a key keeps: whole names and all but monstrous keys.
const KEPT_BYTES: usize = 1024;
/// Bytes of a text that a sentence shows: whole names.
const SHOWN_BYTES: usize = 256;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A rule is broken.
    Error,
    /// Something is on its way, and ends without repair.
    Pending,
    /// Nothing is wrong, but another program may be surprised.
    Note,
}

impl Severity {
    /// All of them, the worst first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Pending, Self::Note];

    /// The word for it: "error", "pending" or "note".
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Pending => "pending",
            Self::Note => "note",
        }
    }
}

/// A value of a row, as it is stored. A long text or BLOB is kept only in part (1024 bytes).
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Value {
    /// NULL.
    Null,
    /// INTEGER.
    Integer(i64),
    /// REAL.
    Real(f64),
    /// TEXT, which need not be UTF-8.
    Text(Vec<u8>),
    /// BLOB.
    Blob(Vec<u8>),
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        let kept = |bytes: &[u8]| bytes[..bytes.len().min(KEPT_BYTES)].to_vec();
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(bytes) => Self::Text(kept(bytes)),
            ValueRef::Blob(bytes) => Self::Blob(kept(bytes)),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Integer(number) => number.fmt(f),
            Self::Real(number) => write!(f, "{number:?}"),
            Self::Text(bytes) => write!(f, "\"{}\"", shown(bytes)),
            Self::Blob(bytes) => write!(f, "BLOB \"{}\"", shown(bytes)),
        }
    }
}

/// Text for a sentence: on one line, and not at length.
pub(super) fn shown(bytes: &[u8]) -> String {
    match bytes.get(..SHOWN_BYTES) {
        Some(beginning) if bytes.len() > SHOWN_BYTES => format!("{}\u{2026}", printable(beginning)),
        _ => printable(bytes),
    }
}

/// One row that is not as a rule says.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule, by its id in SPEC.md.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The table of the row; None when it is about the file as a whole.
    pub table: Option<&'static str>,
    /// Which row it is: columns and their values. Empty when it is about the table as a whole.
    pub key: Vec<(&'static str, Value)>,
    /// What is wrong, in one sentence with the values.
    pub message: String,
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut key = Map::new();
        for (column, value) in &self.key {
            match value {
                Value::Null => drop(key.insert((*column).to_owned(), serde_json::Value::Null)),
                Value::Integer(number) => drop(key.insert((*column).to_owned(), (*number).into())),
                Value::Real(number) => drop(key.insert((*column).to_owned(), (*number).into())),
                Value::Text(bytes) | Value::Blob(bytes) => put_bytes(&mut key, column, bytes),
            }
        }
        let mut object = serializer.serialize_struct("Finding", 5)?;
        object.serialize_field("rule", self.rule)?;
        object.serialize_field("severity", &self.severity)?;
        object.serialize_field("table", &self.table)?;
        object.serialize_field("key", &key)?;
        object.serialize_field("message", &self.message)?;
        object.end()
    }
}

/// How many more findings there are than are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Unlisted {
    /// Of which rule.
    pub rule: &'static str,
    /// And how much each matters.
    pub severity: Severity,
    /// How many.
    pub count: u64,
}

/// What a verification came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The rules that were checked, in their order. A rule about a table that the database does not have is not
    /// among them.
    pub rules_checked: Vec<&'static str>,
    /// What was found, in the order of the rules, and within one of tables and keys.
    pub findings: Vec<Finding>,
    /// Findings beyond those listed.
    pub unlisted: Vec<Unlisted>,
}

impl Report {
    /// How many findings there are of one severity, listed or not.
    #[must_use]
    pub fn count(&self, severity: Severity) -> u64 {
        let listed = self.findings.iter().filter(|finding| finding.severity == severity).count() as u64;
        let unlisted = self.unlisted.iter().filter(|unlisted| unlisted.severity == severity);
        listed + unlisted.map(|unlisted| unlisted.count).sum::<u64>()
    }

    /// Whether no rule is broken.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.count(Severity::Error) == 0
    }

    pub(super) fn checked(&mut self, rule: &'static str) {
        if !self.rules_checked.contains(&rule) {
            self.rules_checked.push(rule);
        }
    }

    /// Brings rules and findings into their order.
    pub(super) fn arrange(&mut self) {
        let number = |rule: &str| rule.rsplit('-').next().and_then(|number| number.parse::<u32>().ok());
        self.rules_checked.sort_by_key(|rule| number(rule));
        // Which index a query went by must not show.
        self.findings.sort_by(|one, other| {
            let by_key = || one.key.partial_cmp(&other.key).unwrap_or(Ordering::Equal);
            number(one.rule).cmp(&number(other.rule)).then(one.table.cmp(&other.table)).then_with(by_key)
        });
        self.unlisted.sort_by_key(|unlisted| number(unlisted.rule));
    }

    /// Whether a further finding of this kind is to be listed; when it is not, it has been counted.
    pub(super) fn has_room(&mut self, rule: &'static str, severity: Severity) -> bool {
        let same = |unlisted: &&mut Unlisted| unlisted.rule == rule && unlisted.severity == severity;
        if let Some(unlisted) = self.unlisted.iter_mut().find(same) {
            unlisted.count += 1;
            return false;
        }
        let listed =
            self.findings.iter().filter(|finding| finding.rule == rule && finding.severity == severity);
        if (listed.count() as u64) < LISTED {
            return true;
        }
        self.unlisted.push(Unlisted { rule, severity, count: 1 });
        false
    }

    pub(super) fn add(&mut self, finding: Finding) {
        if self.has_room(finding.rule, finding.severity) {
            self.findings.push(finding);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: INT-1
    #[test]
    fn a_value_is_shown_on_one_line_and_not_at_length() {
        assert_eq!(Value::Text(b"a\n\xe9".to_vec()).to_string(), "\"a\\n\\xe9\"");
        assert_eq!(Value::Blob(b"a".to_vec()).to_string(), "BLOB \"a\"");
        assert_eq!((Value::Null.to_string(), Value::Real(1.0).to_string()), ("NULL".into(), "1.0".into()));
        assert_eq!(Value::Text(vec![b'x'; 256]).to_string().len(), 258);
        let long = Value::Text(vec![b'x'; 5000]);
        assert_eq!(long.to_string(), format!("\"{}\u{2026}\"", "x".repeat(256)));
        let Value::Text(kept) = Value::from(ValueRef::Text(&[b'x'; 5000])) else { panic!("it was a text") };
        assert_eq!(kept.len(), 1024);
    }

    // spec: INT-4
    #[test]
    fn findings_beyond_a_hundred_of_a_kind_are_counted() {
        let mut report = Report::default();
        let finding = |severity| Finding {
            rule: "INT-4",
            severity,
            table: None,
            key: Vec::new(),
            message: String::new(),
        };
        for _ in 0..LISTED + 7 {
            report.add(finding(Severity::Note));
        }
        report.add(finding(Severity::Error));
        assert_eq!(report.findings.len() as u64, LISTED + 1);
        assert_eq!(report.unlisted, [Unlisted { rule: "INT-4", severity: Severity::Note, count: 7 }]);
        assert_eq!((report.count(Severity::Note), report.count(Severity::Error)), (LISTED + 7, 1));
        assert!(!report.is_sound());
    }
}
