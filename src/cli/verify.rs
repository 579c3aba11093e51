//! `agentfs verify`: whether a database is sound, rule by rule.
//!
//! Keeps INT-1 to INT-4 at the command line. The database is not opened for use, so that one which nobody could open
//! any more can be checked as well. What holds is decided in the module [`integrity`](crate::integrity).

use std::ffi::OsString;
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::database;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::target::Target;
use crate::integrity::{self, Finding, Report, Severity};

/// Check the consistency rules of a database, whoever wrote it, and change nothing
#[derive(Args)]
#[command(after_help = "\
Each finding names its rule in SPEC.md and the row. An error breaks the rule; what is pending ends without repair; a note
may surprise another program. Ends with 10 when there are errors. Of each rule and severity the first 100 findings are
listed. The database may be mounted or otherwise in use.

JSON: {path, rules_checked: [rule], errors, pending, notes, findings: [{rule, severity, table: null or name,
  key: {column: value}, message}], unlisted: [{rule, severity, count}]}")]
pub(crate) struct Verify {
    /// Id or path of the database
    #[arg(value_name = "ID|PATH")]
    target: OsString,
}

impl Verify {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let target = Target::existing(&self.target)?;
        database::check(&target.path)?;
        database::flush(&target.path);
        let report = integrity::verify_file(&target.path)?;
        if output.is_json() {
            output.json(&to_json(&target.path, &report))?;
        } else {
            output.table(&rows(&report))?;
            output.line(output.name(summary(&target, &report).as_bytes()))?;
        }
        output.flush()?;
        match report.count(Severity::Error) {
            0 => Ok(()),
            errors => Err(Failure::new(Exit::Unsound, format!("{}: {}", target.shown, found(errors)))),
        }
    }
}

fn rows(report: &Report) -> Vec<Vec<String>> {
    let findings = report.findings.iter().map(|finding| {
        let severity = finding.severity.text().to_owned();
        vec![finding.rule.to_owned(), severity, place(finding), finding.message.clone()]
    });
    let unlisted = report.unlisted.iter().map(|unlisted| {
        let more = format!("{} more", unlisted.count);
        vec![unlisted.rule.to_owned(), unlisted.severity.text().to_owned(), "...".to_owned(), more]
    });
    findings.chain(unlisted).collect()
}

/// The table and the key of the row.
fn place(finding: &Finding) -> String {
    let key = finding.key.iter().map(|(column, value)| format!("{column}={value}"));
    let words: Vec<String> = std::iter::once(finding.table.unwrap_or("file").to_owned()).chain(key).collect();
    words.join(" ")
}

fn summary(target: &Target, report: &Report) -> String {
    let rules = report.rules_checked.len();
    let [errors, pending, notes] = Severity::ALL.map(|severity| report.count(severity));
    let verdict = if errors == 0 { "sound".to_owned() } else { found(errors) };
    let more = [(pending, "pending"), (notes, if notes == 1 { "note" } else { "notes" })];
    let more = more.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!(", {count} {word}"));
    format!("{}: {verdict}{} ({rules} rules checked)", target.shown, more.collect::<String>())
}

fn found(errors: u64) -> String {
    format!("{errors} {}", if errors == 1 { "error" } else { "errors" })
}

fn to_json(path: &Path, report: &Report) -> serde_json::Value {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let [errors, pending, notes] = Severity::ALL.map(|severity| report.count(severity));
    json!({
        "path": path.to_string_lossy(),
        "rules_checked": report.rules_checked,
        "errors": errors,
        "pending": pending,
        "notes": notes,
        "findings": report.findings,
        "unlisted": report.unlisted,
    })
}
