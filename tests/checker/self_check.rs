//! A right implementation is never accused, whatever clock it has.

use std::time::Duration;

use agentfs::oracle::play::Look;
use agentfs::oracle::search::{Findings, Search, search};
use agentfs_model::generate::Alphabet;
use agentfs_model::profile::{AtimePolicy, Profile};

use crate::simulated::Simulated;

pub fn how(cases: u32) -> Search {
    Search { seed: 1, cases, until: None, length: 60, look: Look::EveryStep, shrink: Duration::from_secs(60) }
}

fn assert_nothing(findings: &Findings) {
    for found in &findings.found {
        println!("{} times: {}", found.times, found.fault);
    }
    assert!(findings.found.is_empty(), "{} kinds of findings", findings.found.len());
    assert_eq!(findings.passed, findings.cases);
}

#[test]
fn the_model_passes_as_an_implementation() {
    let findings = search(&Alphabet::library(), &mut Simulated::new(None), &how(300), |_| {});
    assert_nothing(&findings);
    // So that a search that became empty is noticed.
    assert!(findings.steps > 5000, "{} steps", findings.steps);
}

#[test]
fn times_of_a_clock_of_its_own_need_only_lie_in_their_step() {
    for profile in
        [Profile::agentfs(), Profile { atime: AtimePolicy::Strict, ..Profile::linux() }, Profile::posix()]
    {
        let alphabet = Alphabet { profile, ..Alphabet::library() };
        let findings = search(&alphabet, &mut Simulated::with_own_clock(), &how(100), |_| {});
        assert_nothing(&findings);
    }
}
