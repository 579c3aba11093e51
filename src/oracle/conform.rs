//! Holds an implementation against everything there is: the vectors, and random traces.
//!
//! Keeps ORA-30 (what counts as passed, diverged and unsupported), and ends when the implementation itself does: whoever
//! gives no answer again and again is not asked all of it.

use std::collections::BTreeMap;

use agentfs_model::profile::Profile;
use agentfs_model::trace::RootSetting;
use agentfs_model::values::Credentials;
use serde::Serialize;

use super::implementation::Implementation;
use super::play::{Ended, Fault, Look, Played, Trace, replay};
use super::search::Findings;
use super::vectors::{self, Scenario};

/// So many times an implementation may fail to answer before it is left alone: each may have taken the whole time limit.
const MOST_FAILURES: u32 = 5;

/// How traces of one kind ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Every answer is allowed.
    pub passed: u32,
    /// An answer is not, or there is none.
    pub diverged: u32,
    /// They need what the implementation does not have.
    pub unsupported: u32,
}

impl Tally {
    /// The sum of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            diverged: self.diverged + other.diverged,
            unsupported: self.unsupported + other.unsupported,
        }
    }
}

/// A vector that did not pass.
#[derive(Debug)]
pub struct Failed {
    /// Its name.
    pub vector: &'static str,
    /// What is wrong.
    pub fault: Fault,
    /// What was called and answered, as far as it came.
    pub trace: Trace,
}

/// A vector that could not be tried to its end.
#[derive(Debug)]
pub struct Skipped {
    /// Its name.
    pub vector: &'static str,
    /// What is missing.
    pub why: String,
}

/// What the vectors came to.
#[derive(Debug, Default)]
pub struct Vectors {
    /// By the family of the rule that a vector is named by.
    pub families: BTreeMap<&'static str, Tally>,
    /// In the order of the vectors.
    pub failed: Vec<Failed>,
    /// In the order of the vectors.
    pub skipped: Vec<Skipped>,
    /// Vectors that were not begun, since the implementation did not answer any more.
    pub not_run: u32,
}

/// Who calls where only one process does: mostly user 0, and on a machine where we are not, whoever we are.
#[derive(Clone, Debug)]
pub struct Caller(pub Credentials);

impl Caller {
    /// The trace of a scenario, its first process being this caller and the root directory theirs.
    fn trace(&self, scenario: &Scenario, profile: &Profile) -> Trace {
        let mut trace = scenario.trace(profile);
        if !self.0.is_superuser() {
            let RootSetting { permissions, .. } = trace.setting.root;
            trace.setting.root = RootSetting { uid: self.0.uid, gid: self.0.gid, permissions };
            trace.setting.processes[0] = self.0.clone();
        }
        trace
    }
}

/// Runs every vector under `profile`; `goes_on` hears the name of each before it begins, and says whether it shall.
pub fn run_vectors(
    implementation: &mut dyn Implementation,
    profile: &Profile,
    caller: &Caller,
    mut goes_on: impl FnMut(&'static str) -> bool,
) -> Vectors {
    let mut came_to = Vectors::default();
    let mut failures = 0;
    for scenario in vectors::all() {
        let tally = came_to.families.entry(scenario.family()).or_default();
        if failures >= MOST_FAILURES || !goes_on(scenario.name) {
            came_to.not_run += 1;
            continue;
        }
        if !scenario.is_for(profile) {
            tally.unsupported += 1;
            let why = "the limits of AgentFS".to_owned();
            came_to.skipped.push(Skipped { vector: scenario.name, why });
            continue;
        }
        let trace = caller.trace(&scenario, profile);
        let Played { trace, checker: _, ended } = replay(&trace, implementation, Look::AtEnd);
        let skipped = match ended {
            Ok(Ended::Complete) => {
                tally.passed += 1;
                continue;
            }
            Ok(Ended::Refused(why)) => why,
            Ok(Ended::Unsupported { step }) => unsupported(&trace, step),
            // An earlier answer, though allowed, was not the one that the rest of the vector is about.
            Err(Fault::Inadmissible { step, why }) => format!("step {step}: {why}"),
            Err(fault) => {
                failures += u32::from(matches!(fault, Fault::Failure(_)));
                tally.diverged += 1;
                came_to.failed.push(Failed { vector: scenario.name, fault, trace });
                continue;
            }
        };
        tally.unsupported += 1;
        came_to.skipped.push(Skipped { vector: scenario.name, why: skipped });
    }
    came_to
}

/// Why a step is not supported, as the implementation says.
fn unsupported(trace: &Trace, step: u32) -> String {
    let step = trace.steps.get((step as usize).saturating_sub(1));
    let name = step.map_or("", |step| step.call.operation.name());
    match step.and_then(|step| step.outcome.as_ref()) {
        Some(agentfs_model::outcome::Outcome::Unsupported(why)) => format!("{name}: {why}"),
        _ => name.to_owned(),
    }
}

impl Vectors {
    /// All families together.
    #[must_use]
    pub fn total(&self) -> Tally {
        self.families.values().fold(Tally::default(), |sum, tally| sum.and(*tally))
    }
}

/// What random traces came to, as a tally.
#[must_use]
pub fn tally_of(findings: &Findings) -> Tally {
    let diverged = findings.found.iter().map(|found| found.times).sum();
    let unsupported = findings.cases - findings.passed - diverged;
    Tally { passed: findings.passed, diverged, unsupported }
}
