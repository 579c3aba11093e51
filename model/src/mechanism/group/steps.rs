//! Which steps are possible, and what each leads to.

use super::state::{Barrier, CELLS, Checkpoint, Life, Phase, State, Target, Who};
use super::{Bug, Groups, How, Step};

impl Groups {
    /// The steps that are possible in `state`; none once something has gone wrong.
    pub fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        if state.trouble.is_some() {
            return;
        }
        for who in Who::ALL {
            self.steps_of_operations(state, who, steps);
            self.steps_of_barriers(state, who, steps);
            self.steps_of_life(state, who, steps);
        }
        self.steps_of_checkpoints(state, steps);
        if state.spent.power_losses < self.bounds.power_losses {
            let (least, most) = state.disk.survivors();
            let loose = state.disk.loose_pages();
            for frames in least..=most {
                let chosen = (0..1 << CELLS).filter(|pages| pages & !loose == 0);
                steps.extend(chosen.map(|pages| Step::LosePower { frames, pages }));
            }
        }
    }

    fn steps_of_operations(&self, state: &State, who: Who, steps: &mut Vec<Step>) {
        let bounds = &self.bounds;
        let process = &state.processes[who as usize];
        if process.life == Life::Closed {
            return;
        }
        if let super::Reading::To { .. } = process.reading {
            steps.push(Step::EndReading { who });
            return;
        }
        let may_lose = state.spent.lost_groups < bounds.lost_groups;
        let may_run = process.group.open || self.may_begin(state, who);
        let cells = (0..CELLS as u8).filter(|&cell| bounds.cells[who as usize] & 1 << cell != 0);
        // What a waiting process wants to do is kept for it.
        let kept = u8::from(state.processes[who.other() as usize].waits);
        let may_succeed = state.spent.operations + kept < bounds.operations;
        if may_run {
            for cell in cells {
                if may_succeed {
                    steps.push(Step::Operate { who, cell, how: How::Kept });
                    if bounds.full_groups {
                        let fills =
                            |committed| Step::Operate { who, cell, how: How::FillsGroup { committed } };
                        steps.push(fills(true));
                        steps.extend(may_lose.then(|| fills(false)));
                    }
                }
                if state.spent.failures < bounds.failures {
                    steps.push(Step::Operate { who, cell, how: How::Fails });
                    if may_lose && state.writer == Some(who) && state.told.open > 0 {
                        steps.push(Step::Operate { who, cell, how: How::LosesGroup });
                    }
                }
            }
        }
        if process.waits {
            return;
        }
        let wants = may_succeed && bounds.cells[who as usize] != 0;
        if state.writer == Some(who.other()) && wants {
            steps.push(Step::Wait { who });
        }
        if process.group.open && process.life == Life::Open {
            steps.push(Step::CommitInTime { who, succeeds: true });
            if may_lose && state.told.open > 0 {
                steps.push(Step::CommitInTime { who, succeeds: false });
            }
        }
        if bounds.reads[who as usize] && !process.group.open {
            steps.push(Step::BeginReading { who });
        }
    }

    fn steps_of_barriers(&self, state: &State, who: Who, steps: &mut Vec<Step>) {
        let bounds = &self.bounds;
        let process = &state.processes[who as usize];
        let may_fail = state.spent.failed_flushes < bounds.failed_flushes && state.disk.is_dirty();
        let may_lose = state.spent.lost_groups < bounds.lost_groups && state.told.open > 0;
        let holds = |barrier: &Barrier| matches!(barrier.phase, Phase::Flushing | Phase::Flushed);
        let syncer_is_free = !process.barriers.iter().any(holds);
        for (which, barrier) in process.barriers.iter().enumerate() {
            let on = barrier.on;
            match barrier.phase {
                Phase::None => {}
                Phase::Begun if process.is_free() => {
                    steps.push(Step::CommitForBarrier { who, which, on, succeeds: true });
                    if process.group.open && may_lose {
                        steps.push(Step::CommitForBarrier { who, which, on, succeeds: false });
                    }
                }
                Phase::Committed if syncer_is_free => steps.push(Step::LookAtSyncer { who, which, on }),
                Phase::Flushing => {
                    steps.push(Step::FlushForBarrier { who, which, on, succeeds: true });
                    if may_fail {
                        steps.push(Step::FlushForBarrier { who, which, on, succeeds: false });
                    }
                }
                Phase::Flushed => steps.push(Step::NoteFlush { who, which, on }),
                Phase::Ending if process.is_free() => steps.push(Step::EndBarrier { who, which, on }),
                Phase::Begun | Phase::Committed | Phase::Ending => {}
            }
        }
        let under_way = process.barriers.iter().filter(|barrier| barrier.phase != Phase::None).count();
        let unlimited = bounds.barriers_begun == 0 || state.spent.barriers < bounds.barriers_begun;
        let room = under_way < usize::from(bounds.barriers[who as usize]);
        if process.life == Life::Open && process.is_free() && room && unlimited {
            let targets = [Target::File, Target::Other, Target::Everything];
            let chosen = targets.into_iter().filter(|target| bounds.targets & target.bit() != 0);
            steps.extend(chosen.map(|on| Step::BeginBarrier { who, on }));
        }
    }

    fn steps_of_life(&self, state: &State, who: Who, steps: &mut Vec<Step>) {
        let process = &state.processes[who as usize];
        let idle = process.barriers == [Barrier::default(); super::BARRIERS];
        match process.life {
            Life::Closed if state.spent.openings < self.bounds.openings && !state.disk.hole => {
                steps.push(Step::Open { who });
            }
            Life::Closed => {}
            Life::Open if self.bounds.closes[who as usize] && process.is_free() && idle => {
                steps.push(Step::BeginClosing { who });
            }
            Life::Open => {}
            Life::Closing if process.is_free() => steps.push(Step::EndClosing { who }),
            Life::Closing => {}
        }
        if process.life != Life::Closed && state.spent.kills < self.bounds.kills {
            steps.push(Step::Kill { who });
        }
    }

    fn steps_of_checkpoints(&self, state: &State, steps: &mut Vec<Step>) {
        match state.disk.checkpoint {
            Checkpoint::None => {}
            Checkpoint::Flushed { by, .. } | Checkpoint::Copied { by, .. } => {
                steps.push(Step::GoOnWithCheckpoint { who: Who::ALL[usize::from(by)] });
                return;
            }
        }
        let idle = self.bug == Some(Bug::CheckpointIgnoresReset) && state.disk.length > 0;
        if state.checkpoint_target().is_none() && !idle {
            return;
        }
        let may_fail = state.spent.failed_flushes < self.bounds.failed_flushes && state.disk.is_dirty();
        for who in Who::ALL {
            let process = &state.processes[who as usize];
            if self.bounds.checkpoints[who as usize] && process.life == Life::Open && !process.failed {
                steps.push(Step::BeginCheckpoint { who, succeeds: true });
                if may_fail {
                    steps.push(Step::BeginCheckpoint { who, succeeds: false });
                }
            }
        }
    }

    /// Where `step`, which is possible in `state`, leads.
    #[must_use]
    pub fn take(&self, state: &State, step: Step) -> State {
        let mut next = *state;
        let was_whole = !state.disk.hole;
        match step {
            Step::Operate { who, cell, how } => self.operate(&mut next, who, cell, how),
            Step::Wait { who } => next.process(who).waits = true,
            Step::CommitInTime { who, succeeds: true } => {
                let early = matches!(self.bug, Some(Bug::PendingDropped | Bug::OutOfOrder));
                if early && next.process(who).group.written != 0 {
                    self.take_out(&mut next, who);
                } else {
                    self.commit(&mut next, who);
                }
            }
            Step::CommitInTime { who, succeeds: false } => self.lose_group(&mut next, who),
            Step::BeginReading { who } => self.begin_reading(&mut next, who),
            Step::EndReading { who } => self.end_reading(&mut next, who),
            Step::BeginBarrier { who, on } => self.begin_barrier(&mut next, who, on),
            Step::CommitForBarrier { who, which, succeeds, .. } => {
                self.commit_for_barrier(&mut next, who, which, succeeds);
            }
            Step::LookAtSyncer { who, which, .. } => self.look_at_syncer(next.process(who), which),
            Step::FlushForBarrier { who, which, succeeds, .. } => {
                self.flush_for_barrier(&mut next, who, which, succeeds);
            }
            Step::NoteFlush { who, which, .. } => self.note_flush(next.process(who), which),
            Step::EndBarrier { who, which, .. } => self.end_barrier(&mut next, who, which),
            Step::BeginCheckpoint { who, succeeds } => self.begin_checkpoint(&mut next, who, succeeds),
            Step::GoOnWithCheckpoint { .. } => self.go_on_with_checkpoint(&mut next.disk),
            Step::BeginClosing { who } => self.begin_closing(&mut next, who),
            Step::EndClosing { who } => self.end_closing(&mut next, who),
            Step::Open { who } => {
                next.spent.openings += 1;
                self.open(&mut next, who);
            }
            Step::Kill { who } => {
                next.spent.kills += 1;
                self.kill(&mut next, who);
            }
            Step::LosePower { frames, pages } => {
                next.spent.power_losses += 1;
                self.lose_power(&mut next, frames, pages);
            }
        }
        if was_whole && next.disk.hole {
            next.spent.failed_flushes += 1;
        }
        // Which of several barriers is which means nothing.
        for process in &mut next.processes {
            process.barriers.sort_unstable();
        }
        next
    }

    /// Whether somebody who waits, or is in the middle of something, can go on by a step that is no fault.
    #[must_use]
    pub fn goes_on(&self, state: &State) -> bool {
        let busy = |who: Who| {
            let process = &state.processes[who as usize];
            let idle = process.barriers == [Barrier::default(); super::BARRIERS];
            process.waits || process.group.open || !idle || process.life == Life::Closing
        };
        if state.trouble.is_some() || !Who::ALL.into_iter().any(busy) {
            return true;
        }
        let mut steps = Vec::with_capacity(32);
        self.steps(state, &mut steps);
        steps.into_iter().any(|step| match step {
            Step::CommitInTime { succeeds, .. }
            | Step::CommitForBarrier { succeeds, .. }
            | Step::FlushForBarrier { succeeds, .. } => succeeds,
            Step::Operate { who, how: How::Kept, .. } => state.processes[who as usize].waits,
            Step::LookAtSyncer { .. }
            | Step::NoteFlush { .. }
            | Step::EndBarrier { .. }
            | Step::EndReading { .. }
            | Step::EndClosing { .. } => true,
            _ => false,
        })
    }
}
