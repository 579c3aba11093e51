//! Every seeded bug is caught, and comes down to a short trace.

use agentfs::oracle::play::Look;
use agentfs::oracle::search::{Search, search};
use agentfs_model::generate::Alphabet;

use crate::self_check::how;
use crate::simulated::{Bug, Simulated};

/// No bug of these needs more steps to show.
const LONGEST: usize = 8;

#[test]
fn every_seeded_bug_is_caught_with_a_short_trace() {
    for bug in Bug::ALL {
        // Answers alone must do for what shows in answers; what a crash has lost shows in the tree.
        let look = if bug == Bug::CrashLosesTheMiddle { Look::EveryStep } else { Look::Never };
        let mut simulated = Simulated::new(Some(bug));
        let found = (1..=10).find_map(|seed| {
            let search_for = Search { seed, look, ..how(150) };
            let findings = search(&Alphabet::library(), &mut simulated, &search_for, |_| {});
            findings.found.into_iter().min_by_key(|found| found.trace.steps.len())
        });
        let found = found.unwrap_or_else(|| panic!("{bug:?} was not caught"));
        println!("{bug:?}: {}", found.fault);
        for step in &found.trace.steps {
            println!("    {}", serde_json::to_string(step).unwrap());
        }
        assert!(found.trace.steps.len() <= LONGEST, "{bug:?} took {} steps", found.trace.steps.len());
    }
}
