//! Every seeded bug is caught, and comes down to a short trace.

use agentfs::oracle::play::{Look, replay};
use agentfs::oracle::search::{Findings, Search, search, search_while};
use agentfs_model::generate::Alphabet;

use crate::self_check::how;
use crate::simulated::{Bug, Simulated};

/// No bug of these needs more steps to show.
const LONGEST: usize = 8;

// spec: ORA-20, ORA-21, ORA-24, ORA-25
#[test]
fn every_seeded_bug_is_caught_with_a_short_trace() {
    std::thread::scope(|scope| {
        for bug in Bug::ALL {
            scope.spawn(move || assert_caught(bug));
        }
    });
}

fn assert_caught(bug: Bug) {
    // Answers alone must do for what shows in answers; what a crash has lost shows in the tree.
    let look = if bug == Bug::CrashLosesTheMiddle { Look::EveryStep } else { Look::Never };
    let mut simulated = Simulated::new(Some(bug));
    let found = (1..=40).find_map(|seed| {
        let search_for = Search { seed, look, ..how(40) };
        let first_only = |_, findings: &Findings| findings.found.is_empty();
        search_while(&Alphabet::library(), &mut simulated, &search_for, first_only).found.into_iter().next()
    });
    let found = found.unwrap_or_else(|| panic!("{bug:?} was not caught"));
    println!("{bug:?}: {}", found.fault);
    assert!(found.trace.steps.len() <= LONGEST, "{bug:?} took {} steps", found.trace.steps.len());
    // What was written down shows the same again.
    let again = replay(&found.trace, &mut simulated, look).ended.unwrap_err();
    assert_eq!(again.kind(), found.fault.kind());
    // And it is the bug that it shows.
    let without = replay(&found.trace, &mut Simulated::new(None), look);
    assert!(without.ended.is_ok(), "{bug:?}: {:?}", without.ended);
}

// spec: ORA-26
#[test]
fn the_same_seed_draws_the_same_traces() {
    let found = |seed| {
        let search_for = Search { seed, ..how(30) };
        let findings = search(
            &Alphabet::library(),
            &mut Simulated::new(Some(Bug::WriteKeepsMtime)),
            &search_for,
            |_| {},
        );
        let traces = findings.found.into_iter().map(|found| found.trace);
        (findings.steps, traces.collect::<Vec<_>>())
    };
    assert_eq!(found(7), found(7));
    assert_ne!(found(7).0, found(8).0);
}
