//! A barrier, step by step: `AgentFs::barrier_on`, and `Shared::barrier` and `flush` below it.
//!
//! Several threads of one process may be in one at once, while others go on to change things: between any two steps here
//! anything else can happen.

use super::state::{Barrier, Descriptor, Outcome, Phase, Process, State, Target, Trouble, Who};
use super::{Bug, Groups};

impl Groups {
    /// Counts the lost groups.
    pub(super) fn begin_barrier(&self, state: &mut State, who: Who, on: Target) {
        let told = state.told;
        let own = state.writer == Some(who);
        let open =
            if on == Target::Everything { u8::from(told.open > 0) } else { told.open_cells() & on.bit() };
        let process = state.process(who);
        let untold = process.unheard & on.bit() != 0;
        let begun = Barrier {
            phase: Phase::Begun,
            on,
            needs: if own { told.length } else { told.committed() },
            inside: own && open != 0,
            must_report: untold,
            may_report: untold,
            after_failure: process.has_failed,
            ..Barrier::default()
        };
        if let Some(free) = process.barriers.iter_mut().find(|barrier| barrier.phase == Phase::None) {
            *free = begun;
        }
        state.spent.barriers = (state.spent.barriers + 1).min(self.bounds.barriers_begun);
    }

    /// Commits what is open, and says what has to be flushed.
    pub(super) fn commit_for_barrier(&self, state: &mut State, who: Who, which: usize, succeeds: bool) {
        if state.process(who).group.open {
            if !succeeds {
                self.lose_group(state, who);
                let barrier = &mut state.process(who).barriers[which];
                barrier.outcome = Outcome::Lost;
                barrier.phase = Phase::Ending;
                return;
            }
            self.commit(state, who);
        }
        let process = state.process(who);
        self.notice(process);
        let wanted = process.unflushed;
        let barrier = &mut process.barriers[which];
        barrier.wanted = wanted;
        barrier.phase = Phase::Committed;
    }

    /// Takes the lock of the syncer, and perhaps finds that another flush was enough.
    pub(super) fn look_at_syncer(&self, process: &mut Process, which: usize) {
        let (failed, unflushed) = (process.failed, process.unflushed);
        let barrier = &mut process.barriers[which];
        if failed {
            barrier.outcome = Outcome::Unflushed;
            barrier.phase = Phase::Ending;
        } else if barrier.wanted == 0 {
            barrier.phase = Phase::Ending;
        } else {
            // What was committed while it waited for the lock goes to the disk with the same flush.
            barrier.covers = unflushed;
            barrier.phase = Phase::Flushing;
        }
    }

    /// Flushes the log.
    pub(super) fn flush_for_barrier(&self, state: &mut State, who: Who, which: usize, succeeds: bool) {
        let descriptors = state.open_descriptors();
        let busy = state.is_read_in_log() || state.disk.checkpoint != super::Checkpoint::None;
        let flushed = match self.bug {
            Some(Bug::CommitOnly) => true,
            // The bytes reach the main file only if nobody is in the way, which nobody looks at.
            Some(Bug::TrustsCheckpoint) if busy => true,
            _ => state.disk.flush(Descriptor::Syncer.bit(who), succeeds, descriptors),
        };
        let process = state.process(who);
        if !flushed {
            process.has_failed = true;
            process.failed = self.bug != Some(Bug::FailedFlushForgotten);
            let barrier = &mut process.barriers[which];
            barrier.outcome = Outcome::Unflushed;
            barrier.phase = Phase::Ending;
        } else if self.bug == Some(Bug::CoverReadLate) {
            process.barriers[which].phase = Phase::Flushed;
        } else {
            self.note_flush(process, which);
        }
    }

    /// Notes what the flush has covered.
    pub(super) fn note_flush(&self, process: &mut Process, which: usize) {
        let covered = match self.bug {
            Some(Bug::CoverReadLate) => process.unflushed,
            _ => process.barriers[which].covers,
        };
        process.unflushed -= covered.min(process.unflushed);
        for barrier in process.under_way() {
            barrier.wanted = barrier.wanted.saturating_sub(covered);
            barrier.covers = barrier.covers.saturating_sub(covered);
        }
        process.barriers[which].phase = Phase::Ending;
    }

    /// Looks whether something was lost, and answers.
    pub(super) fn end_barrier(&self, state: &mut State, who: Who, which: usize) {
        let process = state.process(who);
        self.settle(process);
        let barrier = process.barriers[which];
        let loss = process.unreported & barrier.on.bit() != 0;
        process.unreported &= !barrier.on.bit();
        let shared = barrier.told_meanwhile && self.bug != Some(Bug::LossTakenByOneBarrier);
        let others = barrier.outcome == Outcome::Lost || barrier.outcome == Outcome::Unflushed;
        let patient = !(barrier.again && self.bug == Some(Bug::SecondLossToldTwice));
        if loss {
            for other in process.under_way().filter(|other| other.on == barrier.on) {
                other.told_meanwhile = true;
            }
        }
        if loss || shared {
            self.answer(state, who, which, Outcome::Lost);
        } else if others && barrier.lost_meanwhile && patient {
            // What was lost now is others'; what was done to this file still has to reach the disk.
            process.barriers[which] = Barrier {
                phase: Phase::Begun,
                outcome: Outcome::Fine,
                wanted: 0,
                covers: 0,
                lost_meanwhile: false,
                again: self.bug == Some(Bug::SecondLossToldTwice),
                ..barrier
            };
        } else {
            self.answer(state, who, which, barrier.outcome);
        }
    }

    fn answer(&self, state: &mut State, who: Who, which: usize, outcome: Outcome) {
        let process = state.process(who);
        let barrier = std::mem::take(&mut process.barriers[which]);
        match outcome {
            Outcome::Fine => {
                if barrier.must_report {
                    state.trouble(Trouble::LossUntold);
                }
                if barrier.after_failure {
                    state.trouble(Trouble::Hollow);
                }
                state.told.promised = state.told.promised.max(barrier.needs);
            }
            Outcome::Lost => {
                process.unheard &= !barrier.on.bit();
                if !barrier.may_report {
                    state.trouble(Trouble::LossToldTwice);
                }
            }
            Outcome::Unflushed => {}
        }
    }
}
