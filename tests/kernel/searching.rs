//! A search for divergences, and what a test says of it.

use std::path::Path;
use std::time::Duration;

use agentfs::oracle::Implementation;
use agentfs::oracle::play::Look;
use agentfs::oracle::search::{Search, search};
use agentfs_model::generate::Alphabet;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_agentfs");

/// The number in an environment variable, or what is usual.
fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

/// Draws traces and fails when one of them shows a divergence; each is kept as a file that `agentfs oracle replay` runs.
/// `AGENTFS_TEST_CASES` and `AGENTFS_TEST_SEED` say how many and which.
pub fn assert_no_divergence(
    alphabet: &Alphabet,
    implementation: &mut dyn Implementation,
    look: Look,
    cases: u64,
) {
    let cases = setting("AGENTFS_TEST_CASES", cases);
    let seed = setting("AGENTFS_TEST_SEED", 1);
    let plan = Search {
        seed,
        cases: u32::try_from(cases).unwrap(),
        until: None,
        length: 40,
        look,
        shrink: Duration::from_secs(20),
    };
    let findings = search(alphabet, implementation, &plan, |_| ());
    println!("seed {seed}: {} traces, {} steps", findings.cases, findings.steps);
    assert_eq!(findings.refused, [] as [String; 0]);
    for (number, found) in findings.found.iter().enumerate() {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("divergence-{seed}-{number}.jsonl"));
        let setting = serde_json::to_string(&found.trace.setting).unwrap();
        let steps = found.trace.steps.iter().map(|step| serde_json::to_string(step).unwrap());
        let lines: Vec<String> = std::iter::once(setting).chain(steps).collect();
        std::fs::write(&file, lines.join("\n") + "\n").unwrap();
        println!("{} times: {}\n{}", found.times, found.fault, lines[1..].join("\n"));
        println!("kept in {}", file.display());
    }
    assert!(findings.found.is_empty(), "{} kinds of divergence", findings.found.len());
    assert_eq!(u64::from(findings.passed), cases);
}
