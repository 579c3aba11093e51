//! Searches for divergences with random traces, and makes each kind of them as small as it gets.
//!
//! One mistake shows in many traces. Each kind of finding (see `Divergence::kind`) is shrunk once. Keeps ORA-26: the same
//! seed draws the same traces.

use std::time::{Duration, Instant};

use agentfs_model::generate::{Alphabet, scripts};
use proptest::strategy::{Strategy as _, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::check::Coverage;
use super::implementation::Implementation;
use super::play::{Ended, Fault, Look, Trace};
use super::shrink::{Shrinker, play};

/// How long, how much, and how closely is searched.
#[derive(Clone, Debug)]
pub struct Search {
    /// Where the random numbers begin.
    pub seed: u64,
    /// How many traces are drawn.
    pub cases: u32,
    /// No trace begins after this.
    pub until: Option<Instant>,
    /// Most steps of a trace.
    pub length: usize,
    /// What is looked at.
    pub look: Look,
    /// How long one kind of finding may be shrunk.
    pub shrink: Duration,
}

/// A kind of finding, with the smallest trace that shows it.
#[derive(Debug)]
pub struct Found {
    /// What is wrong.
    pub fault: Fault,
    /// What was called and answered, the last step being the one that shows it.
    pub trace: Trace,
    /// In how many traces it came first.
    pub times: u32,
}

/// What a search came to.
#[derive(Debug, Default)]
pub struct Findings {
    /// Traces drawn.
    pub cases: u32,
    /// Those in which nothing was wrong.
    pub passed: u32,
    /// Steps in all, those of shrinking not counted.
    pub steps: u64,
    /// What was called and answered.
    pub coverage: Coverage,
    /// Why settings were refused; none of those traces counts as passed.
    pub refused: Vec<String>,
    /// Each kind once.
    pub found: Vec<Found>,
}

/// Draws traces from `alphabet` and plays them; `progress` hears the number of every trace before it begins.
pub fn search(
    alphabet: &Alphabet,
    implementation: &mut dyn Implementation,
    search: &Search,
    mut progress: impl FnMut(u32),
) -> Findings {
    search_while(alphabet, implementation, search, |case, _| {
        progress(case);
        true
    })
}

/// As [`search()`]; `goes_on` hears the number of every trace before it begins and what was found so far, and says whether
/// it shall.
pub fn search_while(
    alphabet: &Alphabet,
    implementation: &mut dyn Implementation,
    search: &Search,
    mut goes_on: impl FnMut(u32, &Findings) -> bool,
) -> Findings {
    let mut findings = Findings::default();
    let strategy = scripts(alphabet, 1..=search.length);
    for case in 0..search.cases {
        if search.until.is_some_and(|until| Instant::now() >= until) || !goes_on(case, &findings) {
            break;
        }
        let mut runner = runner(search.seed, case);
        let Ok(tree) = strategy.new_tree(&mut runner) else {
            unreachable!("no value of a script is rejected")
        };
        let script = tree.current();
        let played = play(&script, alphabet, implementation, search.look);
        findings.cases += 1;
        findings.steps += u64::from(played.checker.step());
        findings.coverage.add(played.checker.coverage());
        match played.ended {
            Ok(Ended::Refused(why)) => {
                if !findings.refused.contains(&why) {
                    findings.refused.push(why);
                }
            }
            Ok(Ended::Complete | Ended::Unsupported { .. }) => findings.passed += 1,
            Err(fault) => {
                let kind = fault.kind();
                if let Some(known) = findings.found.iter_mut().find(|found| found.fault.kind() == kind) {
                    known.times += 1;
                    continue;
                }
                let until = Instant::now() + search.shrink;
                let implementation = &mut *implementation;
                let shrinker = Shrinker { alphabet, implementation, look: search.look, kind, until };
                let (fault, trace) = shrinker.shrink(script, (fault, played.trace));
                findings.found.push(Found { fault, trace, times: 1 });
            }
        }
    }
    findings
}

/// Random numbers that depend on the seed and the number of the trace alone.
fn runner(seed: u64, case: u32) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..12].copy_from_slice(&case.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    TestRunner::new_with_rng(Config { failure_persistence: None, ..Config::default() }, rng)
}
