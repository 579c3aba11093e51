//! A state in which the implementation can be, given what it has answered.
//!
//! Mostly there is one. Where the model allows one answer from two states, and after a crash, which may have lost what
//! was not yet safe (DUR-1, ORA-25), there are several, until later answers rule the others out.

use std::sync::Arc;

use agentfs_model::call::{Call, Operation};
use agentfs_model::fs::{Branch, FileSystem, Inadmissible};
use agentfs_model::outcome::{Allowed, Expected, Outcome};
use agentfs_model::profile::AtimePolicy;
use agentfs_model::values::Time;

use super::answer::{self, Context};
use super::causes::{Cause, Causes};
use super::clock::Clock;
use super::divergence::Difference;
use super::example::example;
use super::identity::Identities;
use super::status::SeenTimes;
use super::tree;
use crate::oracle::tree::Tree;

/// A possible state.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) model: Arc<FileSystem>,
    pub(super) identities: Identities,
    pub(super) causes: Causes,
    pub(super) seen_times: SeenTimes,
    /// The states since the last barrier, that at the barrier first: a crash can go back to each.
    unsafe_since: Vec<Arc<FileSystem>>,
}

/// What a candidate says of an answer.
pub(super) struct Judgement {
    /// Where the implementation can be now.
    pub(super) next: Vec<Candidate>,
    /// Every branch, and in what the answer differs from it.
    pub(super) branches: Vec<(Allowed, Vec<Difference>)>,
}

/// Whether everything that was done before is safe once the call has succeeded (DUR-4).
const fn is_barrier(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Fsync { .. } | Operation::Fdatasync { .. } | Operation::Sync | Operation::Reopen { .. }
    )
}

impl Candidate {
    /// Symlinks may have been followed.
    pub(super) fn forget_followed_symlinks(&mut self) {
        Arc::make_mut(&mut self.model).forget_followed_symlinks();
    }

    pub(super) fn new(model: FileSystem) -> Self {
        let identities = Identities::new(model.profile().inode_numbers_reused);
        let model = Arc::new(model);
        Self {
            identities,
            causes: Causes::default(),
            seen_times: SeenTimes::default(),
            unsafe_since: vec![Arc::clone(&model)],
            model,
        }
    }

    pub(super) fn context<'a>(&'a self, clock: &'a Clock) -> Context<'a> {
        let access_times = self.model.profile().atime != AtimePolicy::Unchecked;
        let Self { identities, causes, seen_times, .. } = self;
        Context { clock, identities, causes, seen_times, access_times }
    }

    /// What it is once the tree was seen, which is its own.
    pub(super) fn shown(&self, seen: &Tree) -> Self {
        let mut next = self.clone();
        for (pattern, status) in tree::statuses(&self.model, seen) {
            next.identities.learn(pattern.inode, status.inode);
            next.seen_times.learn(&pattern, status);
        }
        if self.model.profile().atime == AtimePolicy::Unchecked {
            // Looking may have moved them.
            let mut model = (*self.model).clone();
            model.forget_access_times();
            next.model = Arc::new(model);
        }
        next
    }

    /// The states to which a crash can lead, the latest first.
    pub(super) fn crash(&self) -> Vec<Self> {
        let states = self.unsafe_since.iter().rev();
        let lost = states.map(|state| {
            let mut candidate = self.clone();
            candidate.identities.go_back(state);
            candidate.seen_times = SeenTimes::default();
            candidate.causes =
                if Arc::ptr_eq(state, &self.model) { self.causes.clone() } else { Causes::default() };
            let mut left = FileSystem::clone(state);
            // ORA-18: what was lost is the file system's, and processes are not in it.
            left.keep_processes(&self.model);
            candidate.model = Arc::new(left);
            candidate.unsafe_since = vec![Arc::clone(&candidate.model)];
            candidate
        });
        lost.collect()
    }

    /// Holds the answer of `call` against every branch.
    pub(super) fn judge(
        &self,
        clock: &Clock,
        (step, now): (u32, Time),
        call: &Call,
        seen: &Outcome,
    ) -> Result<Judgement, Inadmissible> {
        let mut judgement = Judgement { next: Vec::new(), branches: Vec::new() };
        for branch in self.model.step(now, call)? {
            let differences = answer::differences(&branch.allowed, seen, &self.context(clock));
            judgement.branches.push((branch.allowed.clone(), differences));
            if judgement.branches.last().is_some_and(|(_, differences)| differences.is_empty()) {
                judgement.next.push(self.follow(branch, step, call, seen));
            }
        }
        Ok(judgement)
    }

    /// Moves along the first branch, as if what it expects had been answered. Learns nothing of numbers and times.
    pub(super) fn assume(&mut self, call: &Call, now: Time) -> Result<(), Inadmissible> {
        if let Some(branch) = self.model.step(now, call)?.into_iter().next() {
            let outcome = example(&branch.allowed.expected);
            self.model = Arc::new(branch.settle(&outcome));
            self.identities.retain(&self.model);
            self.unsafe_since.push(Arc::clone(&self.model));
        }
        Ok(())
    }

    fn follow(&self, branch: Branch, step: u32, call: &Call, seen: &Outcome) -> Self {
        let mut next = self.clone();
        for (inode, number) in answer::numbers(&branch.allowed.expected, seen, &self.identities) {
            next.identities.learn(inode, number);
        }
        if let (Expected::Status(pattern), Outcome::Status(status)) = (&branch.allowed.expected, seen) {
            next.seen_times.learn(pattern, status);
        }
        let cause = Cause { step, operation: call.operation.name(), rules: branch.allowed.rules.clone() };
        let mut model = branch.settle(seen);
        if matches!(call.operation, Operation::Crash) {
            // DUR-12: they need not have been written.
            model.forget_access_times();
        }
        if model != *self.model {
            next.causes.note(&self.model, &model, &cause);
            next.identities.retain(&model);
            next.model = Arc::new(model);
            next.unsafe_since.push(Arc::clone(&next.model));
        }
        if is_barrier(&call.operation) && !matches!(seen, Outcome::Error(_)) {
            next.unsafe_since = vec![Arc::clone(&next.model)];
        }
        next
    }
}
