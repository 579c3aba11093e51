//! Random traces on the model alone: every draft is a call that a program could make, the model keeps its own invariants,
//! and calls meet what is there.

use std::collections::BTreeMap;

use agentfs_model::Errno;
use agentfs_model::fs::FileSystem;
use agentfs_model::generate::{Alphabet, Script, scripts};
use agentfs_model::outcome::{Expected, Outcome};
use agentfs_model::values::{Time, Timestamp};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

fn runner() -> TestRunner {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    TestRunner::new_with_rng(Config { failure_persistence: None, ..Config::default() }, rng)
}

/// Plays a script on the model, whose answers are the first that it allows; says what was called and answered.
fn play(alphabet: &Alphabet, script: &Script, seen: &mut BTreeMap<(&'static str, Option<Errno>), u64>) {
    let at = |step: usize| Time::At(Timestamp { seconds: 1_700_000_000 + step as i64, nanoseconds: 0 });
    let mut model = FileSystem::start(&alphabet.setting(script.root, ""), at(0));
    for (step, draft) in script.drafts.iter().enumerate() {
        let call = draft.resolve(&model, alphabet);
        let branches = model.step(at(step + 1), &call).unwrap_or_else(|why| panic!("{call:?}: {why}"));
        let branch = branches.into_iter().next().expect("a call has an answer");
        let errno = match &branch.allowed.expected {
            Expected::Exactly(Outcome::Error(errno)) => Some(*errno),
            _ => None,
        };
        *seen.entry((call.operation.name(), errno)).or_default() += 1;
        let outcome = match &branch.allowed.expected {
            Expected::Exactly(outcome) => outcome.clone(),
            _ => Outcome::Done,
        };
        model = branch.settle(&outcome);
        assert_eq!(model.violation(), None, "after {call:?}");
    }
}

#[test]
fn every_draft_is_a_call_and_the_model_stays_sound() {
    let alphabet = Alphabet::library();
    let mut runner = runner();
    let mut seen = BTreeMap::new();
    for _ in 0..500 {
        let script = scripts(&alphabet, 1..=80).new_tree(&mut runner).unwrap().current();
        play(&alphabet, &script, &mut seen);
    }
    let all: u64 = seen.values().sum();
    let done: u64 = seen.iter().filter(|((_, errno), _)| errno.is_none()).map(|(_, count)| count).sum();
    // Refusals stop a trace from growing: about half of the calls must get somewhere.
    assert!(done * 100 > all * 45, "only {done} of {all} calls were not refused");
    assert!(seen.len() > 200, "only {} pairs of a call and its answer", seen.len());
}
