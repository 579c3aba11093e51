//! A search for divergences, and what a test says of it.
#![allow(dead_code, reason = "each suite uses a part of it")]

use std::path::Path;
use std::time::Duration;

use agentfs::oracle::search::{Findings, Search, search};
use agentfs::oracle::{Implementation, file, play::Look};
use agentfs_model::generate::Alphabet;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_agentfs");

/// The number in an environment variable, if it is set.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

/// How many traces a test draws: `AGENTFS_TEST_CASES`, else `PROPTEST_CASES`, else what is usual.
pub fn cases(usual: u64) -> u64 {
    setting("AGENTFS_TEST_CASES").or_else(|| setting("PROPTEST_CASES")).unwrap_or(usual)
}

/// Which traces a test draws: `AGENTFS_TEST_SEED`, else always the same.
pub fn seed() -> u64 {
    setting("AGENTFS_TEST_SEED").unwrap_or(1)
}

/// Draws traces and fails when one of them shows a divergence; each is kept as a file that `agentfs oracle replay` runs.
pub fn assert_no_divergence(
    alphabet: &Alphabet,
    implementation: &mut dyn Implementation,
    look: Look,
    usual_cases: u64,
) {
    search_without_divergence(alphabet, implementation, look, cases(usual_cases), seed());
}

/// As [`assert_no_divergence`], with exactly so many cases from this seed.
pub fn search_without_divergence(
    alphabet: &Alphabet,
    implementation: &mut dyn Implementation,
    look: Look,
    cases: u64,
    seed: u64,
) -> Findings {
    let cases = u32::try_from(cases).unwrap();
    let plan = Search { seed, cases, until: None, length: 40, look, shrink: Duration::from_secs(20) };
    let findings = search(alphabet, implementation, &plan, |_| ());
    println!("seed {seed}: {} traces, {} steps", findings.cases, findings.steps);
    assert_eq!(findings.refused, [] as [String; 0]);
    for (number, found) in findings.found.iter().enumerate() {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("divergence-{seed}-{number}.jsonl"));
        let mut text = Vec::new();
        file::write(&found.trace, &mut text).unwrap();
        std::fs::write(&path, &text).unwrap();
        println!("{} times: {}\n{}", found.times, found.fault, String::from_utf8_lossy(&text));
        println!("kept in {}", path.display());
    }
    assert!(findings.found.is_empty(), "{} kinds of divergence", findings.found.len());
    assert_eq!(findings.passed, cases);
    findings
}
