//! Holds the answers of an implementation against the model: step by step, and the whole tree.
//!
//! A [`Checker`] has the model's state. It is given each call with its answer and says whether that is allowed; if it is,
//! the state moves on along the branch that was taken. What differs without being wrong is not here but in the
//! profile: numbers of inodes, which need only be as different as the inodes are (FMT-9), and times of the machine's
//! clock, which need only lie within their step.
//!
//! Keeps ORA-20 to ORA-25. It runs nothing and reads no clock.

mod answer;
mod candidate;
mod causes;
mod clock;
mod divergence;
mod example;
mod identity;
mod status;
mod tree;
mod words;

use std::collections::BTreeMap;

use agentfs_model::call::{Call, Operation};
use agentfs_model::fs::{FileSystem, Inadmissible};
use agentfs_model::outcome::{Allowed, Outcome};
use agentfs_model::trace::Setting;

pub use agentfs_model::coverage::{Coverage, Pair, listed};
pub use clock::Moment;
pub use divergence::{Difference, Divergence};
pub use example::example;

use super::tree::Tree;
use candidate::Candidate;
use clock::Clock;

/// How many states are followed side by side; a crash after a long time without a barrier leaves the latest of them.
const MOST_CANDIDATES: usize = 256;

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The answer is allowed.
    Allowed,
    /// The implementation has no such call. The state has not moved.
    Unsupported {
        /// Whether the model would not have moved either: else what comes later in a trace that does not look at the
        /// model is about something that is not there.
        comparable: bool,
    },
}

/// Why a step is not in order.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Rejection {
    /// No program could make the call at this place.
    #[error("{0}")]
    Inadmissible(#[from] Inadmissible),
    /// The answer is not allowed.
    #[error("{0}")]
    Divergence(Box<Divergence>),
}

/// The model beside an implementation.
#[derive(Clone, Debug)]
pub struct Checker {
    /// At least one.
    candidates: Vec<Candidate>,
    clock: Clock,
    step: u32,
    coverage: Coverage,
    unsupported: BTreeMap<&'static str, u64>,
}

impl Checker {
    /// Begins as `setting` says; the empty root directory was made at `moment`.
    #[must_use]
    pub fn new(setting: &Setting, moment: Moment) -> Self {
        let mut clock = Clock::default();
        let model = FileSystem::start(setting, clock.next(moment));
        Self {
            candidates: vec![Candidate::new(model)],
            clock,
            step: 0,
            coverage: Coverage::default(),
            unsupported: BTreeMap::new(),
        }
    }

    /// The state; where several are possible, that which lost least.
    #[must_use]
    pub fn model(&self) -> &FileSystem {
        &self.candidates[0].model
    }

    /// How many states are possible.
    #[must_use]
    pub const fn possible(&self) -> usize {
        self.candidates.len()
    }

    /// The number of the last step; 0 at the start.
    #[must_use]
    pub const fn step(&self) -> u32 {
        self.step
    }

    /// What was called and answered so far.
    #[must_use]
    pub const fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// How often each call was not supported.
    #[must_use]
    pub const fn unsupported(&self) -> &BTreeMap<&'static str, u64> {
        &self.unsupported
    }

    /// What the next call may answer if it comes at `moment`.
    ///
    /// # Errors
    /// When no program could make the call.
    pub fn allowed(&self, call: &Call, moment: Moment) -> Result<Vec<Allowed>, Inadmissible> {
        let now = self.clock.clone().next(moment);
        let mut allowed = Vec::new();
        for candidate in self.before(call) {
            for branch in candidate.model.step(now, call)? {
                if !allowed.contains(&branch.allowed) {
                    allowed.push(branch.allowed);
                }
            }
        }
        Ok(allowed)
    }

    /// The next step, with no answer known: the state moves along the first branch. What the call may answer.
    ///
    /// # Errors
    /// When no program could make the call.
    pub fn assume(&mut self, call: &Call, moment: Moment) -> Result<Vec<Allowed>, Inadmissible> {
        let allowed = self.allowed(call, moment)?;
        let now = self.clock.next(moment);
        self.step += 1;
        let mut candidates = self.before(call);
        candidates.truncate(1);
        for candidate in &mut candidates {
            candidate.assume(call, now)?;
        }
        self.candidates = candidates;
        Ok(allowed)
    }

    /// The states from which the call may begin.
    fn before(&self, call: &Call) -> Vec<Candidate> {
        match call.operation {
            Operation::Crash => {
                let mut after: Vec<Candidate> = Vec::new();
                for candidate in self.candidates.iter().flat_map(Candidate::crash) {
                    if after.len() < MOST_CANDIDATES
                        && !after.iter().any(|known| known.model == candidate.model)
                    {
                        after.push(candidate);
                    }
                }
                after
            }
            _ => self.candidates.clone(),
        }
    }

    /// The next step: `call` was made at `moment` and answered `seen`.
    ///
    /// # Errors
    /// When the answer is not allowed, or the call is none. The state is then that before the step, so that nothing
    /// but the end or the same step can follow.
    pub fn check(&mut self, call: &Call, moment: Moment, seen: &Outcome) -> Result<Verdict, Rejection> {
        let mut clock = self.clock.clone();
        let now = clock.next(moment);
        let step = self.step + 1;
        if let Outcome::Unsupported(_) = seen {
            let comparable = self.stays(call, now)?;
            if matches!(call.operation, Operation::Open { .. }) {
                // To see that it is a device of the machine, its path was followed.
                self.candidates.iter_mut().for_each(Candidate::forget_followed_symlinks);
            }
            *self.unsupported.entry(call.operation.name()).or_default() += 1;
            (self.clock, self.step) = (clock, step);
            return Ok(Verdict::Unsupported { comparable });
        }
        let (mut next, mut branches): (Vec<Candidate>, Vec<(Allowed, Vec<Difference>)>) =
            (Vec::new(), Vec::new());
        let mut inadmissible = None;
        for candidate in self.before(call) {
            match candidate.judge(&clock, (step, now), call, seen) {
                Ok(judgement) => {
                    branches.extend(judgement.branches);
                    next.extend(judgement.next);
                }
                // Only where another state is the right one.
                Err(why) => inadmissible = Some(why),
            }
        }
        if let (Some(why), true) = (inadmissible, branches.is_empty()) {
            return Err(why.into());
        }
        if next.is_empty() {
            return Err(Rejection::Divergence(Box::new(divergence(step, call, seen, branches))));
        }
        self.coverage.count(&call.operation, seen);
        self.candidates = without_repetition(next);
        (self.clock, self.step) = (clock, step);
        Ok(Verdict::Allowed)
    }

    /// The whole tree is `seen` after the last step.
    ///
    /// # Errors
    /// In what it differs from that of the model; where several states are possible, from the one that is nearest.
    pub fn compare_tree(&mut self, seen: &Tree) -> Result<(), Box<Divergence>> {
        let mut nearest: Option<Vec<Difference>> = None;
        let mut fitting = Vec::new();
        for candidate in &self.candidates {
            let differences = tree::differences(&candidate.model, seen, &candidate.context(&self.clock));
            if differences.is_empty() {
                fitting.push(candidate.shown(seen));
            } else if nearest.as_ref().is_none_or(|nearest| differences.len() < nearest.len()) {
                nearest = Some(differences);
            }
        }
        if fitting.is_empty() {
            let (step, differences) = (self.step, nearest.unwrap_or_default());
            return Err(Box::new(Divergence {
                step,
                call: None,
                outcome: None,
                differences,
                allowed: Vec::new(),
            }));
        }
        self.candidates = without_repetition(fitting);
        Ok(())
    }

    /// Whether the call leaves the model's state as it is, whatever it answers.
    fn stays(&self, call: &Call, now: agentfs_model::values::Time) -> Result<bool, Inadmissible> {
        let branches = self.model().step(now, call)?;
        Ok(branches.into_iter().all(|branch| branch.into_next() == *self.model()))
    }
}

/// Each state once, in order.
fn without_repetition(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        let known = kept
            .iter()
            .any(|known| known.model == candidate.model && known.identities == candidate.identities);
        if !known {
            kept.push(candidate);
        }
    }
    kept
}

/// The divergence of an answer that fits no branch, told by the branches that are nearest to it.
fn divergence(
    step: u32,
    call: &Call,
    seen: &Outcome,
    branches: Vec<(Allowed, Vec<Difference>)>,
) -> Divergence {
    let of_a_part =
        |differences: &[Difference]| differences.iter().all(|difference| difference.subject != "answer");
    let mut allowed: Vec<Allowed> = Vec::new();
    for (branch, _) in &branches {
        if !allowed.contains(branch) {
            allowed.push(branch.clone());
        }
    }
    let near =
        branches.iter().map(|(_, differences)| differences).filter(|differences| of_a_part(differences));
    let differences = match near.min_by_key(|differences| differences.len()) {
        Some(differences) => differences.clone(),
        None => in_one(branches),
    };
    Divergence { step, call: Some(call.clone()), outcome: Some(seen.clone()), differences, allowed }
}

/// Where the answer as a whole is none of those allowed: all of those in one line.
fn in_one(branches: Vec<(Allowed, Vec<Difference>)>) -> Vec<Difference> {
    let mut differences: Vec<Difference> = Vec::new();
    for difference in branches.into_iter().flat_map(|(_, differences)| differences) {
        match differences.iter_mut().find(|known| known.seen == difference.seen) {
            Some(known) if known.allowed.split(" or ").any(|one| one == difference.allowed) => {}
            Some(known) => {
                known.allowed = format!("{} or {}", known.allowed, difference.allowed);
                known.rules.extend(difference.rules);
            }
            None => differences.push(difference),
        }
    }
    differences
}
