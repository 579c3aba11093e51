//! pjdfstest, the POSIX file system suite: what passes on ext4 passes on the mount.
//!
//! Exceptions stand in `expected/pjdfstest.txt` with their reason. One that passes after all, or
//! that names no test, fails the gate, so that the list cannot outlive its reasons.

use super::{Gate, cargo_tool, own_file};
use crate::place::{Arena, Kind, Place};
use crate::program::Program;
use crate::report::Report;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "pjdfstest",
    about: "pjdfstest on the mount: every test that passes on ext4",
    tools: &[],
    quick: true,
    limit: Duration::from_secs(5 * 60),
    run,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Skipped,
    Failed,
}

#[derive(Debug)]
struct Test {
    outcome: Outcome,
    /// The lines below the test's name.
    detail: String,
}

// spec: MNT-14 MNT-15 FS-NAME-2 FS-ATTR-6 FS-ATTR-7 FS-ATTR-8 FS-ATTR-10 FS-TIME-3 FS-PERM-1 FS-PERM-3 FS-PERM-4
// spec: FS-PERM-6 FS-PERM-8 FS-PERM-9 FS-PERM-11 FS-CREATE-1 FS-CREATE-3 FS-LINK-1 FS-LINK-2 FS-UNLINK-1
// spec: FS-UNLINK-2 FS-RMDIR-1 FS-RMDIR-2 FS-RENAME-1 FS-RENAME-2 FS-RENAME-6 FS-TRUNC-1 FS-OPEN-1 FS-OPEN-2
fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    let mut native = BTreeMap::new();
    let mut mounted = BTreeMap::new();
    arena.on_both(report, |place, report| {
        let tests = run_suite(place)?;
        report.note(counts(&tests));
        *if place.kind == Kind::Native { &mut native } else { &mut mounted } = tests;
        Ok(())
    })?;
    report.section("comparison");
    let exceptions = exceptions()?;
    let mut same = 0;
    for (name, expected) in &native {
        let Some(seen) = mounted.get(name) else {
            report.fail(name, "did not run on the mount");
            continue;
        };
        let reason = exceptions.get(name);
        match (expected.outcome, seen.outcome, reason) {
            (Outcome::Passed, Outcome::Passed, None) => same += 1,
            (Outcome::Passed, Outcome::Passed, Some(_)) => {
                report.fail(name, "is an exception and passes: strike it")
            }
            (Outcome::Passed, _, Some(reason)) => report.skip(name, reason),
            (Outcome::Passed, Outcome::Skipped, None) => {
                report.fail(name, format_args!("skipped{}", seen.detail))
            }
            (Outcome::Passed, Outcome::Failed, None) => report.fail(name, &seen.detail),
            (Outcome::Failed, Outcome::Passed, _) => {
                report.note(format_args!("{name} fails on ext4 and passes on the mount:{}", expected.detail));
            }
            (Outcome::Failed, _, _) => {
                report.skip(name, format_args!("fails on ext4 as well{}", expected.detail))
            }
            (Outcome::Skipped, _, _) => {}
        }
    }
    for name in exceptions.keys().filter(|name| !native.contains_key(*name)) {
        report.fail(name, "is an exception and no test");
    }
    report.pass_many(same, "tests that pass on ext4 and on the mount");
    ensure!(
        native.values().filter(|test| test.outcome == Outcome::Passed).count() > 300,
        "ext4 passes too few tests to compare with"
    );
    Ok(())
}

fn run_suite(place: &Place) -> Result<BTreeMap<String, Test>> {
    // The other file system, for the tests of EXDEV.
    let other = tempfile::tempdir_in("/dev/shm").context("the tests of EXDEV need a second file system")?;
    let suite = Program::new(cargo_tool("pjdfstest")?).arg("-c").arg(own_file("pjdfstest.toml"));
    let suite = suite.arg("-p").arg(&place.directory).arg("-s").arg(other.path());
    let finished = suite.env("NO_COLOR", "1").timeout(Duration::from_secs(2 * 60)).run()?;
    let tests = parse(&finished.stdout);
    ensure!(
        finished.stdout.contains("\nSummary: "),
        "`{}` {} without a summary{}",
        finished.line,
        finished.describe_status(),
        finished.last_words()
    );
    Ok(tests)
}

fn counts(tests: &BTreeMap<String, Test>) -> String {
    let count = |outcome| tests.values().filter(|test| test.outcome == outcome).count();
    let (passed, failed, skipped) = (count(Outcome::Passed), count(Outcome::Failed), count(Outcome::Skipped));
    format!("{} tests: {passed} pass, {failed} fail, {skipped} are skipped by the suite", tests.len())
}

fn parse(output: &str) -> BTreeMap<String, Test> {
    let mut tests = BTreeMap::new();
    let mut last = None;
    for line in output.lines() {
        let mut words = line.split_whitespace();
        let outcome = match (words.next(), words.next(), words.next()) {
            (Some(name), Some("ok"), None) => Some((name, Outcome::Passed)),
            (Some(name), Some("FAILED"), None) => Some((name, Outcome::Failed)),
            (Some(name), Some("skipped"), None) => Some((name, Outcome::Skipped)),
            _ => None,
        };
        if let Some((name, outcome)) = outcome.filter(|(name, _)| name.contains("::")) {
            last = Some(name.to_owned());
            tests.insert(name.to_owned(), Test { outcome, detail: String::new() });
        } else if let Some(test) = last.as_ref().and_then(|name| tests.get_mut(name))
            && !line.trim().is_empty()
            && !line.starts_with("Summary")
        {
            test.detail.push_str("\n      | ");
            test.detail.push_str(line.trim());
        }
    }
    tests
}

/// Test and reason of each line of the list of exceptions.
fn exceptions() -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(own_file("expected/pjdfstest.txt"))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, reason) = line.split_once(' ').with_context(|| format!("`{line}` has no reason"))?;
            Ok((name.to_owned(), reason.trim().to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_and_details_are_read_from_the_output() {
        let output = "chmod::a   ok\nopen::b   FAILED\n\tassertion failed\n\tleft: 1\nrmdir::c  skipped\n\tno remount\n\nSummary: x";
        let tests = parse(output);
        assert_eq!(tests.len(), 3);
        assert_eq!(tests["chmod::a"].outcome, Outcome::Passed);
        assert_eq!(tests["open::b"].outcome, Outcome::Failed);
        assert_eq!(tests["open::b"].detail, "\n      | assertion failed\n      | left: 1");
        assert_eq!(tests["rmdir::c"].outcome, Outcome::Skipped);
    }
}
