//! The published package `agentfs-sdk` of PyPI, held against SPEC.md: where it diverges is documented, and stays true.
//!
//! `agentfs conform` runs the vectors and random traces on it through spec/adapters/agentfs_sdk.py. What it finds must be
//! what `expected/foreign.txt` lists and docs/FOREIGN.md tells: one that is new, and one of the vectors' that is not seen any
//! more, fail the gate. [`databases`] looks at what it writes, and at what it sees of ours. Its own engine opens the
//! databases; ours looks at them when that process has ended.

mod databases;

use super::{Gate, own_file};
use crate::place::Arena;
use crate::program::Program;
use crate::report::Report;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "foreign",
    about: "agentfs-sdk of PyPI: its divergences are those documented, and so is what it makes of databases",
    tools: &["python3"],
    quick: false,
    limit: Duration::from_secs(60 * 60),
    run,
};

const SEED: &str = "1";

/// A run of `agentfs conform`. What hides other things is left out in some.
struct Run {
    profile: &'static str,
    /// Options of the adapter.
    options: &'static [&'static str],
    /// How many random traces, in the short and in the full form.
    random: (u64, u64),
}

const RUNS: &[Run] = &[
    Run { profile: "agentfs", options: &[], random: (0, 0) },
    Run { profile: "agentfs", options: &["--without", "stat"], random: (0, 0) },
    Run { profile: "posix", options: &[], random: (10, 60) },
    Run { profile: "posix", options: &["--plain"], random: (10, 60) },
    Run { profile: "posix", options: &["--plain", "--without", "stat"], random: (10, 100) },
];

/// Where each kind of divergence was seen.
#[derive(Default)]
struct Seen {
    vectors: BTreeMap<String, BTreeSet<String>>,
    random: BTreeMap<String, u64>,
}

/// What is documented: each kind, and whether the vectors show it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Documented {
    kinds: BTreeMap<String, bool>,
    /// What they come of, as docs/FOREIGN.md says it.
    causes: Vec<String>,
}

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    let text = fs::read_to_string(own_file("expected/foreign.txt"))?;
    let documented = Documented::parse(&text)?;
    let mut seen = Seen::default();
    for run in RUNS {
        conform(arena, report, run, &mut seen)?;
    }
    compare(report, &documented, &seen);
    let guide = fs::read_to_string(own_file("../docs/FOREIGN.md"))?;
    for cause in &documented.causes {
        report
            .check(cause, guide.contains(cause.as_str()), || "does not stand in docs/FOREIGN.md".to_owned());
    }
    databases::check(arena, report)
}

/// The interpreter that has the package.
fn python() -> Result<PathBuf> {
    // Not its canonical path: by this one it finds its packages.
    let path = own_file("../target/tools/agentfs-sdk/bin/python");
    ensure!(path.exists(), "agentfs-sdk is not installed: run `.ci/install all`");
    Ok(path)
}

fn adapter() -> PathBuf {
    own_file("../spec/adapters/agentfs_sdk.py")
}

fn conform(arena: &Arena, report: &mut Report, run: &Run, seen: &mut Seen) -> Result<()> {
    let random = match run.random {
        (_, 0) => 0,
        (short, full) => arena.settings.count(short, full),
    };
    report.section(&format!("profile {} {}, {random} random traces", run.profile, run.options.join(" ")));
    let command = format!("'{}' '{}' {}", python()?.display(), adapter().display(), run.options.join(" "));
    let program = Program::new(arena.agentfs()?).args(["conform", "--json", "--exec", &command]);
    let program = program.args(["--profile", run.profile, "--seed", SEED, "--random", &random.to_string()]);
    let finished = program.timeout(Duration::from_secs(30 * 60)).run()?;
    let found: Value = serde_json::from_str(&finished.stdout).with_context(|| {
        format!("`{}` {}{}", finished.line, finished.describe_status(), finished.last_words())
    })?;
    ensure!(found["name"] == "agentfs-sdk 0.6.4", "another implementation answers: {}", found["name"]);
    ensure!(found["not_run"] == 0, "it did not answer every vector");
    report.note(format_args!("vectors {}, random traces {}", found["vectors"], found["random"]));
    seen.add(&found)
}

impl Seen {
    fn add(&mut self, found: &Value) -> Result<()> {
        for finding in found["divergences"].as_array().context("no divergences")? {
            let vectors = finding["vectors"].as_array().context("no vectors")?;
            for kind in kinds(finding)? {
                if vectors.is_empty() {
                    *self.random.entry(kind).or_default() += finding["times"].as_u64().unwrap_or_default();
                } else {
                    let names = vectors.iter().filter_map(Value::as_str).map(str::to_owned);
                    self.vectors.entry(kind).or_default().extend(names);
                }
            }
        }
        Ok(())
    }
}

/// The kinds of a finding: one for each thing that differs. "stat: ctime since write (FS-TIME-3)".
fn kinds(finding: &Value) -> Result<Vec<String>> {
    let divergence = &finding["divergence"];
    let Some(differences) = divergence["differences"].as_array() else {
        // Without an answer there is nothing that differs.
        return Ok(vec![format!("no answer: {}", finding["words"].as_str().context("no words")?)]);
    };
    let operation = divergence["call"]["op"].as_str().context("no operation")?;
    let kind = |difference: &Value| {
        let text = |name: &str| difference[name].as_str().with_context(|| format!("no {name}"));
        let rule = difference["rules"][0].as_str().context("no rule")?;
        let (subject, seen, allowed) = (text("subject")?, text("seen")?, text("allowed")?);
        Ok(if subject == "answer" {
            let seen = brief(seen.trim_start_matches("answered "));
            format!("{operation}: {seen} for {} ({rule})", brief(allowed))
        } else {
            let subject = subject.split(' ').next().unwrap_or_default();
            // "... since step 3 (write)"
            let cause =
                allowed.rsplit_once(" since step ").and_then(|(_, step)| step.split(['(', ')']).nth(1));
            let cause = cause.map(|cause| format!(" since {cause}")).unwrap_or_default();
            format!("{operation}: {subject}{cause} ({rule})")
        })
    };
    differences.iter().map(kind).collect()
}

/// An answer without what is in it: names, numbers, bytes.
fn brief(answer: &str) -> &str {
    answer
        .split(['"', '[', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        .next()
        .unwrap_or_default()
        .trim()
}

impl Documented {
    /// Lines of `vectors KIND` or `random KIND`, below lines of `## CAUSE`.
    fn parse(text: &str) -> Result<Self> {
        let mut documented = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
            if let Some(cause) = line.strip_prefix("## ") {
                documented.causes.push(cause.to_owned());
                continue;
            }
            ensure!(!documented.causes.is_empty(), "`{line}` stands below no cause");
            let (word, kind) = line.split_once(' ').with_context(|| format!("`{line}` is no kind"))?;
            ensure!(
                matches!(word, "vectors" | "random"),
                "`{line}` is neither of vectors nor of random traces"
            );
            let twice = documented.kinds.insert(kind.to_owned(), word == "vectors").is_some();
            ensure!(!twice, "`{kind}` stands twice");
        }
        Ok(documented)
    }
}

fn compare(report: &mut Report, documented: &Documented, seen: &Seen) {
    report.section("the kinds of divergences");
    let mut known = 0;
    for (kind, vectors) in &seen.vectors {
        let shown = vectors.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        match documented.kinds.get(kind) {
            Some(true) => known += 1,
            Some(false) => report.fail(kind, format_args!("the vectors show it now: {shown}")),
            None => report.fail(kind, format_args!("is new: {shown}")),
        }
    }
    for (kind, times) in seen.random.iter().filter(|(kind, _)| !seen.vectors.contains_key(*kind)) {
        match documented.kinds.get(kind) {
            Some(_) => known += 1,
            None => report.fail(kind, format_args!("is new, in {times} random traces")),
        }
    }
    for (kind, _) in
        documented.kinds.iter().filter(|(kind, of_vectors)| **of_vectors && !seen.vectors.contains_key(*kind))
    {
        report.fail(kind, "is documented, and no vector shows it any more");
    }
    report.pass_many(known, "kinds of divergences, all documented");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn finding(vectors: &[&str], differences: &Value) -> Value {
        json!({"vectors": vectors, "times": 2, "words": "", "divergence": {"call": {"op": "stat"}, "differences": differences}})
    }

    fn difference(subject: &str, seen: &str, allowed: &str) -> Value {
        json!({"subject": subject, "seen": seen, "allowed": allowed, "rules": ["FS-TIME-3", "FS-DATA-3"]})
    }

    #[test]
    fn a_kind_says_what_differs_and_since_what_without_names_and_numbers() {
        let of = |one: Value| kinds(&finding(&[], &json!([one]))).unwrap();
        let ctime = difference(
            "ctime",
            "1796079032+0ns",
            "from 1+0ns to 1+0ns, the time of step 2 since step 2 (write)",
        );
        assert_eq!(of(ctime), ["stat: ctime since write (FS-TIME-3)"]);
        assert_eq!(
            of(difference("answer", "answered success", "EBUSY")),
            ["stat: success for EBUSY (FS-TIME-3)"]
        );
        assert_eq!(
            of(difference("answer", "answered the data \"x\"", "17 bytes")),
            ["stat: the data for  (FS-TIME-3)"]
        );
        assert_eq!(of(difference("entry \"a b\"", "missing", "returned once")), ["stat: entry (FS-TIME-3)"]);
    }

    fn verdict(documented: &str, vectors: &[&str]) -> bool {
        let mut seen = Seen::default();
        let differences = json!([difference("answer", "answered success", "EBUSY")]);
        seen.add(&json!({"divergences": [finding(vectors, &differences)]})).unwrap();
        let mut report = Report::new("foreign");
        compare(&mut report, &Documented::parse(documented).unwrap(), &seen);
        report.close()
    }

    #[test]
    fn the_gate_fails_for_a_kind_that_is_new_and_for_one_that_is_gone() {
        let known = "## cause\nvectors stat: success for EBUSY (FS-TIME-3)\n";
        assert!(verdict(known, &["FS-TIME-3-a"]));
        assert!(!verdict("## cause\n", &["FS-TIME-3-a"]));
        assert!(!verdict(&format!("{known}vectors stat: EIO for success (FS-TIME-3)\n"), &["FS-TIME-3-a"]));
        assert!(!verdict(known, &[]), "no vector shows it any more");
        assert!(verdict(&known.replace("vectors", "random"), &[]));
        assert!(verdict(&format!("{}random stat: rare\n", known.replace("vectors", "random")), &[]));
    }

    #[test]
    fn a_line_that_is_no_kind_is_refused() {
        assert!(Documented::parse("## cause\nsometimes stat: x\n").is_err());
        assert!(Documented::parse("random stat: x\n").is_err());
        assert!(Documented::parse("## cause\nrandom stat: x\nrandom stat: x\n").is_err());
    }
}
