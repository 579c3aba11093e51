//! Random traces on the model alone: every draft is a call that a program could make, the model keeps its own invariants,
//! and calls meet what is there.

use agentfs_model::coverage::{Coverage, listed};
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
fn play(alphabet: &Alphabet, script: &Script, seen: &mut Coverage) {
    let at = |step: usize| Time::At(Timestamp { seconds: 1_700_000_000 + step as i64, nanoseconds: 0 });
    let mut model = FileSystem::start(&alphabet.setting(script.root, ""), at(0));
    for (step, draft) in script.drafts.iter().enumerate() {
        let call = draft.resolve(&model, alphabet);
        let branches = model.step(at(step + 1), &call).unwrap_or_else(|why| panic!("{call:?}: {why}"));
        let branch = branches.into_iter().next().expect("a call has an answer");
        let outcome = match &branch.allowed.expected {
            Expected::Exactly(outcome) => outcome.clone(),
            _ => Outcome::Done,
        };
        seen.count(&call.operation, &outcome);
        model = branch.settle(&outcome);
        assert_eq!(model.violation(), None, "after {call:?}");
    }
}

// spec: CALL-11
#[test]
fn every_draft_is_a_call_the_model_stays_sound_and_every_listed_pair_is_reached() {
    let alphabet = Alphabet::library();
    let mut runner = runner();
    let mut seen = Coverage::default();
    for _ in 0..5000 {
        let script = scripts(&alphabet, 1..=80).new_tree(&mut runner).unwrap().current();
        play(&alphabet, &script, &mut seen);
    }
    let all: u64 = seen.pairs().values().sum();
    let done: u64 =
        seen.pairs().iter().filter(|(pair, _)| pair.errno.is_none()).map(|(_, count)| count).sum();
    // Refusals stop a trace from growing: about half of the calls must get somewhere.
    assert!(done * 100 > all * 45, "only {done} of {all} calls were not refused");
    let listed = listed(include_str!("../../SPEC.md")).unwrap();
    assert!(listed.len() > 200, "CALL-11 lists {} pairs", listed.len());
    let missing: Vec<String> = seen.missing(&listed).iter().map(ToString::to_string).collect();
    assert!(missing.is_empty(), "never reached: {missing:?}");
}
