//! Mutants of the core: small changes of `src/fs` and `src/store` that the fast tests must notice.
//!
//! cargo-mutants makes them and runs the tests on each, in a copy of the tree under target/. A sample is drawn by
//! [`SEED`] and the mutants' names, so that it stays the same when other code changes, and a larger one contains a
//! smaller one. What is not noticed must stand in `expected/mutants.txt` with its reason; an entry that names no mutant,
//! or one that is noticed, fails the gate too.

use super::{Gate, cargo_tool, own_file};
use crate::place::Arena;
use crate::program::Program;
use crate::report::Report;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "mutants",
    about: "cargo-mutants on src/fs and src/store: a sample by seed, each noticed by the fast tests or accepted with a reason",
    tools: &["rsync"],
    quick: false,
    limit: Duration::from_secs(120 * 60),
    run,
};

const SEED: u64 = 20_260_301;
/// Mutants drawn; some do not compile.
const DRAWN: u64 = 72;
/// Of those, at least so many in a hundred must compile, else the sample says little.
const LEAST_VIABLE: u64 = 83;

const FILES: [&str; 2] = ["src/fs/**", "src/store/**"];
const TESTS: [&str; 6] =
    ["--lib", "--test=filesystem", "--test=store", "--test=integrity", "--test=tools", "--test=conformance"];
/// Random traces of each test of the conformance suite.
const CASES: &str = "60";
/// The tests take 10 s on a quiet machine.
const TEST_LIMIT: Duration = Duration::from_secs(240);
const BUILD_LIMIT: Duration = Duration::from_secs(600);

/// A change that cargo-mutants can make.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mutant {
    /// As cargo-mutants calls it, with line and column.
    listed: String,
    /// Without them, and with a number where a function has several alike.
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// A test failed.
    Caught,
    /// The tests did not come to an end.
    Hung,
    Missed,
    /// It does not compile.
    Unviable,
}

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    let place = own_file("../target/mutants");
    let tree = copy_of_tree(&place)?;
    let mutants = list(&tree)?;
    let count = arena.settings.count(6, DRAWN);
    let sample = draw(&mutants, usize::try_from(count)?);
    report.section(&format!("{} of {} mutants, seed {SEED}", sample.len(), mutants.len()));
    let mut fates = test(&place, &tree, &sample)?;
    // The filter lets some through that were not drawn.
    fates.retain(|listed, _| sample.iter().any(|mutant| mutant.listed == *listed));
    let accepted = accepted(&fs::read_to_string(own_file("expected/mutants.txt"))?)?;
    judge(report, &sample, &fates, &accepted);
    for name in accepted.keys().filter(|name| mutants.iter().all(|mutant| mutant.name != **name)) {
        report.fail(name, "is accepted, and there is no such mutant");
    }
    let viable = sample.len() as u64 - of(&fates, Fate::Unviable);
    ensure!(viable * 100 >= count * LEAST_VIABLE, "only {viable} mutants compile: draw more");
    Ok(())
}

fn of(fates: &BTreeMap<String, Fate>, fate: Fate) -> u64 {
    fates.values().filter(|known| **known == fate).count() as u64
}

/// Every mutant of the sample was noticed or is accepted, and what is accepted is not noticed.
fn judge(
    report: &mut Report,
    sample: &[Mutant],
    fates: &BTreeMap<String, Fate>,
    accepted: &BTreeMap<String, String>,
) {
    for Mutant { listed, name } in sample {
        match (fates.get(listed), accepted.get(name)) {
            (None, _) => report.fail(listed, "was not tested"),
            (Some(Fate::Missed), None) => report.fail(listed, "no test notices it"),
            (Some(Fate::Missed), Some(reason)) => report.skip(listed, reason),
            (Some(Fate::Caught | Fate::Hung), Some(_)) => {
                report.fail(listed, "is accepted and is noticed: strike it");
            }
            (Some(_), _) => {}
        }
    }
    let (caught, hung, missed) = (of(fates, Fate::Caught), of(fates, Fate::Hung), of(fates, Fate::Missed));
    let tested = caught + hung + missed;
    report.note(format_args!(
        "{} of {tested} noticed ({hung} by a test that does not end), {missed} not; {} do not compile",
        caught + hung,
        of(fates, Fate::Unviable)
    ));
    report.pass_many(usize::try_from(caught + hung).unwrap_or_default(), "mutants that the tests notice");
}

/// The tree beside the one that people work in; files that are the same keep their times, so that little is built.
fn copy_of_tree(place: &Path) -> Result<PathBuf> {
    let tree = place.join("tree");
    fs::create_dir_all(&tree)?;
    let copy = Program::new("rsync").args(["-rlp", "--checksum", "--delete"]);
    let copy = copy.args(["--exclude=/target", "--exclude=/.git", "--exclude=*.snap.new"]);
    copy.arg(own_file("../")).arg(&tree).succeed()?;
    Ok(tree)
}

fn cargo_mutants(tree: &Path) -> Result<Program> {
    let program = Program::new(cargo_tool("cargo-mutants")?).args(["mutants", "--no-config", "--in-place"]);
    Ok(FILES.iter().fold(program.dir(tree), |program, files| program.args(["--file", files])))
}

fn list(tree: &Path) -> Result<Vec<Mutant>> {
    let listed = cargo_mutants(tree)?.args(["--list", "--json"]).answer()?;
    parse_list(&listed)
}

fn parse_list(json: &str) -> Result<Vec<Mutant>> {
    let listed: Vec<Value> = serde_json::from_str(json)?;
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mutants = listed.iter().map(|mutant| {
        let listed = mutant["name"].as_str().context("a mutant without a name")?.to_owned();
        let mut parts = listed.splitn(4, ':');
        let (file, change) = (parts.next().unwrap_or_default(), parts.nth(2));
        let name = format!("{file}:{}", change.with_context(|| format!("no place in {listed:?}"))?);
        let before = seen.entry(name.clone()).or_default();
        *before += 1;
        let name = if *before == 1 { name } else { format!("{name} #{before}") };
        Ok(Mutant { listed, name })
    });
    mutants.collect()
}

/// The mutants with the largest hashes of the seed and their names.
fn draw(mutants: &[Mutant], count: usize) -> Vec<Mutant> {
    let mut drawn = mutants.to_vec();
    drawn.sort_by_cached_key(|mutant| Reverse(hash(&mutant.name)));
    drawn.truncate(count);
    drawn
}

/// FNV-1a, and a mix of the bits, since similar names must lie apart.
fn hash(name: &str) -> u64 {
    let bytes = SEED.to_le_bytes().into_iter().chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

/// Runs the tests on each, one after the other.
fn test(place: &Path, tree: &Path, sample: &[Mutant]) -> Result<BTreeMap<String, Fate>> {
    let seconds = |limit: Duration| limit.as_secs().to_string();
    let program = cargo_mutants(tree)?
        .args(["--no-shuffle", "--colors", "never", "--baseline", "run"])
        .args(["--timeout", &seconds(TEST_LIMIT), "--build-timeout", &seconds(BUILD_LIMIT)])
        .arg("--output")
        .arg(place);
    // To cargo in whatever it does: arguments of the tests alone would have it build all others too.
    let program = TESTS.iter().fold(program, |program, word| program.args(["--cargo-arg", word]));
    let program = sample
        .iter()
        .fold(program, |program, mutant| program.arg("--re").arg(format!("^{}$", literally(&mutant.listed))));
    let program = program
        .env("AGENTFS_TEST_CASES", CASES)
        .env("CARGO_TARGET_DIR", place.join("build"))
        // What is built is run once: small and quick to build counts.
        .env("CARGO_INCREMENTAL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    // What an earlier run came to must not be taken for this one's.
    let folder = place.join("mutants.out");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    // Not even the tests of the unchanged tree may fail: then there are no outcomes of mutants.
    let finished = program.timeout(GATE.limit).run()?;
    let outcomes = fs::read_to_string(folder.join("outcomes.json"));
    let outcomes = outcomes.with_context(|| format!("`cargo mutants`{}", finished.last_words()))?;
    let fates = parse_outcomes(&outcomes)?;
    ensure!(!fates.is_empty(), "no mutant was tested{}", finished.last_words());
    Ok(fates)
}

/// A regular expression of the text itself.
fn literally(text: &str) -> String {
    // Nothing else: a backslash gives a meaning to characters that have none, `<` for one.
    let escape = |character: char| {
        r"\.+*?()|[]{}^$#&-~".contains(character).then_some('\\').into_iter().chain([character])
    };
    text.chars().flat_map(escape).collect()
}

fn parse_outcomes(json: &str) -> Result<BTreeMap<String, Fate>> {
    let outcomes: Value = serde_json::from_str(json)?;
    let outcomes = outcomes["outcomes"].as_array().context("no outcomes")?;
    let mutants = outcomes.iter().filter(|outcome| outcome["scenario"] != "Baseline");
    let fates = mutants.map(|outcome| {
        let name = outcome["scenario"]["Mutant"]["name"].as_str().context("an outcome without a name")?;
        let fate = match outcome["summary"].as_str() {
            Some("CaughtMutant") => Fate::Caught,
            Some("Timeout") => Fate::Hung,
            Some("MissedMutant") => Fate::Missed,
            Some("Unviable") => Fate::Unviable,
            other => bail!("{name}: an unknown outcome {other:?}"),
        };
        Ok((name.to_owned(), fate))
    });
    fates.collect()
}

/// Names and reasons: a name begins its line, the lines below it that do not are its reason.
fn accepted(text: &str) -> Result<BTreeMap<String, String>> {
    let mut accepted: BTreeMap<String, String> = BTreeMap::new();
    let mut last: Option<String> = None;
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        if !line.starts_with(' ') {
            ensure!(accepted.insert(line.to_owned(), String::new()).is_none(), "`{line}` stands twice");
            last = Some(line.to_owned());
            continue;
        }
        let reason =
            last.as_ref().and_then(|name| accepted.get_mut(name)).context("a reason without a name")?;
        if !reason.is_empty() {
            reason.push(' ');
        }
        reason.push_str(line.trim());
    }
    let without = accepted.iter().find(|(_, reason)| reason.is_empty());
    ensure!(without.is_none(), "no reason: {without:?}");
    Ok(accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(name: &str) -> Mutant {
        Mutant { listed: name.to_owned(), name: name.to_owned() }
    }

    #[test]
    fn a_name_has_no_place_in_it_and_a_number_where_there_are_several() {
        let json = r#"[{"name": "src/fs/a.rs:1:2: replace + with - in f"}, {"name": "src/fs/a.rs:9:9: replace + with - in f"}]"#;
        let names: Vec<String> = parse_list(json).unwrap().into_iter().map(|mutant| mutant.name).collect();
        assert_eq!(names, ["src/fs/a.rs: replace + with - in f", "src/fs/a.rs: replace + with - in f #2"]);
    }

    #[test]
    fn a_larger_sample_contains_a_smaller_one_and_other_mutants_do_not_change_it() {
        let mutants: Vec<Mutant> = (0..100).map(|number| mutant(&number.to_string())).collect();
        let small = draw(&mutants, 10);
        assert_eq!(draw(&mutants, 20)[..10], small);
        let fewer: Vec<Mutant> = mutants.iter().filter(|mutant| small.contains(mutant)).cloned().collect();
        assert_eq!(draw(&fewer, 10), small);
        assert_ne!(small, mutants[..10]);
    }

    #[test]
    fn a_pattern_means_the_text_itself() {
        assert_eq!(literally("a.rs:1:2: f -> Result<()>"), r"a\.rs:1:2: f \-> Result<\(\)>");
    }

    #[test]
    fn outcomes_are_read() {
        let json = r#"{"outcomes": [{"scenario": "Baseline", "summary": "Success"},
            {"scenario": {"Mutant": {"name": "a"}}, "summary": "MissedMutant"},
            {"scenario": {"Mutant": {"name": "b"}}, "summary": "Timeout"}]}"#;
        let fates = parse_outcomes(json).unwrap();
        assert_eq!(fates, BTreeMap::from([("a".into(), Fate::Missed), ("b".into(), Fate::Hung)]));
        assert!(parse_outcomes(&json.replace("Timeout", "Tired")).is_err());
    }

    #[test]
    fn a_miss_needs_a_reason() {
        let text = "# about\nsrc/a.rs: x\n    equivalent:\n    the same\n";
        assert_eq!(accepted(text).unwrap()["src/a.rs: x"], "equivalent: the same");
        assert!(accepted("src/a.rs: x\n").is_err());
        assert!(accepted("    equivalent\n").is_err());
    }

    #[test]
    fn the_gate_fails_for_a_miss_that_is_not_listed_and_for_an_entry_that_is_noticed() {
        let sample = [mutant("missed"), mutant("noticed")];
        let fates = BTreeMap::from([("missed".into(), Fate::Missed), ("noticed".into(), Fate::Caught)]);
        let verdict = |names: &[&str]| {
            let accepted = names.iter().map(|name| ((*name).to_owned(), "a reason".to_owned())).collect();
            let mut report = Report::new("mutants");
            judge(&mut report, &sample, &fates, &accepted);
            report.close()
        };
        assert!(verdict(&["missed"]));
        assert!(!verdict(&[]));
        assert!(!verdict(&["missed", "noticed"]));
    }
}
