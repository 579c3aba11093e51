//! Which steps are possible, and what each leads to.

use super::daemon::may_become;
use super::state::{Change, EMPTY, FILE, Operation, Page, Request, Stage, State, Trust, Whose};
use super::{BOUND, Bug, Caches, Step};

impl Caches {
    /// The steps that are possible in `state`; none once something has gone wrong.
    pub fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        if state.trouble.is_some() || state.unmounted {
            return;
        }
        self.steps_of_users(state, steps);
        self.steps_of_requests(state, steps);
        self.steps_of_others(state, steps);
        if state.group {
            steps.push(Step::Commit);
        }
        if self.may_pass(state) {
            steps.push(Step::Pass);
        }
        if state.watcher.left != 0 && self.may_notify(state) {
            steps.push(Step::Notify);
        }
        let old = state.requests.iter().any(|request| request.old);
        if state.watcher.left == 0
            && state.watcher.passed
            && !old
            && !state.group
            && state.uncommitted.is_none()
        {
            steps.push(Step::Tick);
        }
    }

    fn steps_of_users(&self, state: &State, steps: &mut Vec<Step>) {
        let calls = |operation| self.bounds.calls.contains(&operation);
        if state.is_idle(Whose::Reader) {
            let begin = |operation| Step::Begin(Whose::Reader, operation);
            // A directory is locked while a name is looked up in it or removed; not while one is looked up again.
            let locked =
                state.is_under_way(Operation::Unlink) && !(state.entry.there && state.entry.to == FILE);
            if calls(Operation::Lookup) && !locked {
                steps.push(begin(Operation::Lookup));
            }
            if state.reaches_file() {
                let looks = [Operation::Stat, Operation::Read].into_iter();
                steps.extend(looks.filter(|&operation| calls(operation)).map(begin));
            }
        }
        if !state.is_idle(Whose::Writer) {
            return;
        }
        let begin = |operation| Step::Begin(Whose::Writer, operation);
        if !state.inode.open {
            if state.reaches_file() && calls(Operation::Close) {
                steps.push(Step::Open);
            }
        } else if calls(Operation::Close) {
            steps.push(begin(Operation::Close));
        }
        if calls(Operation::Unmount) {
            steps.push(begin(Operation::Unmount));
        }
        if !state.inode.open {
            return;
        }
        let looks = [Operation::Fsync, Operation::Seek].into_iter();
        steps.extend(looks.filter(|&operation| calls(operation)).map(begin));
        if state.spent.own >= self.bounds.own {
            return;
        }
        let changes = [Operation::Utimens, Operation::Truncate, Operation::Chmod].into_iter();
        let collides = |operation| operation == Operation::Truncate && self.collides(state);
        let possible = changes.filter(|&operation| calls(operation) && !collides(operation));
        steps.extend(possible.map(begin));
        let looked_up = state.is_under_way(Operation::Lookup);
        if calls(Operation::Unlink) && state.entry.leads() && state.entry.to == FILE && !looked_up {
            steps.push(begin(Operation::Unlink));
        }
        // The page that is being read is locked.
        if calls(Operation::Write) && !state.is_under_way(Operation::Read) && !self.collides(state) {
            steps.push(Step::WriteByte);
        }
    }

    fn steps_of_requests(&self, state: &State, steps: &mut Vec<Step>) {
        let truncates = state.request(Whose::Writer).operation == Operation::Truncate
            && state.request(Whose::Writer).stage != Stage::Waiting;
        if matches!(state.inode.page, Page::Dirty(_)) && state.is_idle(Whose::Data) && !truncates {
            steps.push(Step::WriteBack);
        }
        if state.inode.mtime_dirty && state.is_idle(Whose::Times) && !truncates {
            steps.push(Step::SendTimes);
        }
        for whose in Whose::ALL {
            match state.request(whose).stage {
                Stage::None => {}
                Stage::Waiting => steps.extend(self.may_send(state).then_some(Step::Send)),
                Stage::Sent => steps.extend(self.may_serve(state, whose).then_some(Step::Serve(whose))),
                Stage::Served => steps.push(Step::Tell(whose)),
                Stage::Told => steps.push(Step::Deliver(whose)),
            }
        }
    }

    fn steps_of_others(&self, state: &State, steps: &mut Vec<Step>) {
        if let Some(change) = state.uncommitted {
            steps.push(Step::Foreign(change));
            return;
        }
        if state.group || state.spent.foreign >= self.bounds.foreign {
            return;
        }
        let possible = self.bounds.changes.iter().filter(|&&change| match change {
            Change::Content | Change::Mode => state.stored.name == FILE,
            Change::Cut => state.stored.name == FILE && state.stored.content != EMPTY,
            Change::Name(to) => may_become(state.stored.name, to),
        });
        let early = self.has(Bug::NoticedBeforeCommit);
        let step = |&change| if early { Step::ForeignBegin(change) } else { Step::Foreign(change) };
        steps.extend(possible.map(step));
    }

    /// Where `step`, which is possible in `state`, leads.
    #[must_use]
    pub fn take(&self, state: &State, step: Step) -> State {
        let mut next = *state;
        match step {
            Step::Begin(whose, operation) => self.begin(&mut next, whose, operation),
            Step::Open => next.inode.open = true,
            Step::WriteByte => self.write_byte(&mut next),
            Step::WriteBack => self.write_back(&mut next),
            Step::SendTimes => self.send_times(&mut next),
            Step::Send => next.requests[Whose::Writer as usize].stage = Stage::Sent,
            Step::Serve(whose) => self.serve(&mut next, whose),
            Step::Tell(whose) => self.tell(&mut next, whose),
            Step::Deliver(whose) => self.deliver(&mut next, whose),
            Step::Commit => self.commit(&mut next),
            Step::ForeignBegin(change) => {
                next.uncommitted = Some(change);
                next.unnoticed = true;
            }
            Step::Foreign(change) => self.change_foreign(&mut next, change),
            Step::Pass => self.pass(&mut next),
            Step::Notify => self.notify(&mut next),
            Step::Tick => self.tick(&mut next),
        }
        self.evict(&mut next);
        self.check_written(&mut next);
        next
    }

    /// Whether what has begun can go on: a request, a group, a pass, or else time.
    #[must_use]
    pub fn goes_on(&self, state: &State) -> bool {
        if state.trouble.is_some() || state.unmounted {
            return true;
        }
        let mut steps = Vec::with_capacity(16);
        self.steps(state, &mut steps);
        steps.into_iter().any(|step| !matches!(step, Step::Begin(..) | Step::Open | Step::WriteByte))
    }

    fn tick(&self, state: &mut State) {
        state.watcher.passed = false;
        state.ages.iter_mut().for_each(super::Age::grow);
        state.entry.trust = match state.entry.trust {
            Trust::Ticks(0) => Trust::Expired,
            Trust::Ticks(left) => Trust::Ticks(left - 1),
            trust => trust,
        };
        let under_way = |request: &&mut Request| request.stage != Stage::None;
        state.requests.iter_mut().filter(under_way).for_each(|request| request.old = true);
        state.let_go =
            if state.inode.there && !state.inode.open { (state.let_go + 1).min(BOUND + 1) } else { 0 };
    }
}
