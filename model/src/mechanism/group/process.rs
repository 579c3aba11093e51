//! One process: operations, the group that they run in, its commit and its loss, reading operations, opening and closing.
//!
//! `Store::mutate`, `Shared::open_group`, `Shared::commit`, `Writer::lose_group`, `Store::read`, `Store::shut_down` and,
//! of the file system above them, `Losses::settle` and `touch`.

use super::state::{
    Barrier, CELLS, Cells, Descriptor, Fate, Group, Life, Phase, Process, Reading, State, TORN, Target,
    Trouble, Who, operation,
};
use super::{Bug, Groups, How};

impl State {
    pub(super) fn process(&mut self, who: Who) -> &mut Process {
        &mut self.processes[who as usize]
    }

    pub(super) fn is_open(&self, who: Who) -> bool {
        self.processes[who as usize].life != Life::Closed
    }

    /// Notes the first trouble.
    pub(super) const fn trouble(&mut self, trouble: Trouble) {
        if self.trouble.is_none() {
            self.trouble = Some(trouble);
        }
    }
}

impl Process {
    /// Whether the lock of the writer is free: no reading operation has it, and none that waits for the other process.
    pub(super) fn is_free(&self) -> bool {
        self.life != Life::Closed && !self.waits && self.reading == Reading::None
    }

    /// Barriers under way.
    pub(super) fn under_way(&mut self) -> impl Iterator<Item = &mut Barrier> {
        self.barriers.iter_mut().filter(|barrier| barrier.phase != Phase::None)
    }
}

impl Groups {
    /// Whether a group can begin: SQLite's lock is free, and no other process waits for whom this one steps back.
    ///
    /// Stepping back is a matter of time in the implementation (the holder rests longer than a waiter sleeps between two
    /// tries); here it is the order in which the two take the lock.
    pub(super) fn may_begin(&self, state: &State, who: Who) -> bool {
        let waiting = state.processes[who.other() as usize].waits;
        state.writer.is_none() && (!waiting || self.bug == Some(Bug::NoStepBack))
    }

    fn begin_group(&self, state: &mut State, who: Who) {
        state.writer = Some(who);
        let other = state.process(who.other());
        if other.waits {
            other.overtaken += 1;
        }
        let content = state.disk.content();
        let process = state.process(who);
        let kept = (self.bug == Some(Bug::SnapshotKept)).then_some(process.group.view);
        let view = kept.filter(|&view| view != Cells::default()).unwrap_or(content);
        process.group = Group { open: true, view, ..Group::default() };
        process.waits = false;
        process.overtaken = 0;
        self.notice(process);
    }

    /// `Writer::notice_foreign_changes`: what the other has committed may be on no disk yet.
    pub(super) fn notice(&self, process: &mut Process) {
        if std::mem::take(&mut process.news) && self.bug != Some(Bug::ForeignNotFlushed) {
            process.unflushed += 1;
        }
    }

    /// An operation on `cell`.
    pub(super) fn operate(&self, state: &mut State, who: Who, cell: u8, how: How) {
        if !state.process(who).group.open {
            self.begin_group(state, who);
        }
        if state.processes[who as usize].group.view != state.told.after(state.told.length) {
            state.trouble(Trouble::StaleView);
        }
        let is_file = self.is_file(cell);
        let late = self.bug == Some(Bug::LossToLaterTouchers);
        if is_file && !late {
            self.settle(state.process(who));
        }
        match how {
            How::Kept | How::FillsGroup { committed: _ } => {
                state.spent.operations += 1;
                let operation = operation(state.spent.operations, cell);
                state.told.acknowledge(operation);
                self.write(state.process(who), cell, operation);
            }
            How::Fails => {
                state.spent.failures += 1;
                if self.bug == Some(Bug::NoSavepoint) {
                    self.write(state.process(who), cell, TORN);
                }
            }
            How::LosesGroup => {
                state.spent.failures += 1;
                self.lose_group(state, who);
            }
        }
        if is_file && late {
            self.settle(state.process(who));
        }
        match how {
            How::FillsGroup { committed: true } => self.commit(state, who),
            How::FillsGroup { committed: false } => self.lose_group(state, who),
            _ => {}
        }
    }

    fn write(&self, process: &mut Process, cell: u8, value: u8) {
        process.group.view[usize::from(cell)] = value;
        process.group.written |= 1 << cell;
        if self.is_file(cell) {
            process.touched |= 1 << cell;
            process.touched_in = Fate::Open;
        }
    }

    /// The group goes into the log.
    pub(super) fn commit(&self, state: &mut State, who: Who) {
        let read_in_log = state.is_read_in_log();
        let process = state.process(who);
        let group = std::mem::take(&mut process.group);
        let ahead =
            self.bug == Some(Bug::OutOfOrder) && group.written != 0 && group.taken != Cells::default();
        let mut pages = if ahead { Cells::default() } else { group.taken };
        for cell in (0..CELLS).filter(|cell| group.written & 1 << cell != 0) {
            pages[cell] = group.view[cell];
        }
        process.unflushed += 1;
        process.end_of_group(Fate::Committed);
        if pages != Cells::default() {
            state.disk.append(pages, read_in_log);
            let other = state.process(who.other());
            other.news = other.life != Life::Closed;
        }
        state.writer = None;
        state.told.open = 0;
        if ahead {
            state.process(who).group = Group { written: 0, ..group };
            state.writer = Some(who);
        }
    }

    /// Seeded bugs only: the bytes leave memory before they are in the log.
    pub(super) fn take_out(&self, state: &mut State, who: Who) {
        let content = state.disk.content();
        let group = &mut state.process(who).group;
        for cell in (0..CELLS).filter(|cell| group.written & 1 << cell != 0) {
            group.taken[cell] = group.view[cell];
        }
        group.written = 0;
        if self.bug == Some(Bug::PendingDropped) {
            group.view = content;
        }
    }

    /// The group cannot be committed, or SQLite gave it up: what it held is gone.
    pub(super) fn lose_group(&self, state: &mut State, who: Who) {
        state.spent.lost_groups += 1;
        let files = Target::File.bit() | if self.bounds.key { 0 } else { Target::Other.bit() };
        let lost = (state.told.open_cells() & files) | Target::Everything.bit();
        let kept = state.told.committed();
        if kept < state.told.promised {
            state.trouble(Trouble::Forgotten);
        }
        state.told.cut(kept);
        state.writer = None;
        let process = state.process(who);
        process.group = Group::default();
        process.unheard |= lost;
        for barrier in process.under_way() {
            barrier.lost_meanwhile = true;
            barrier.needs = barrier.needs.min(kept);
            if lost & barrier.on.bit() != 0 {
                barrier.may_report = true;
                barrier.must_report |= barrier.inside;
            }
        }
        process.unsettled = true;
        process.end_of_group(Fate::Lost);
        if self.bug == Some(Bug::LossToLaterTouchers) {
            process.touched = 0;
        }
    }

    /// What became of the groups, before the next operation of the file system joins one, or a barrier reports.
    pub(super) fn settle(&self, process: &mut Process) {
        let blames = process.touched_in == Fate::Lost || self.bug == Some(Bug::KeyLossBlamedOnFile);
        if std::mem::take(&mut process.unsettled) && self.bug != Some(Bug::LossUnreported) {
            process.unreported |= Target::Everything.bit();
            if blames || self.bug == Some(Bug::LossToLaterTouchers) {
                process.unreported |= process.touched;
            }
        }
        if process.touched_in != Fate::Open {
            process.touched = 0;
            process.touched_in = Fate::Open;
        }
    }

    pub(super) fn begin_reading(&self, state: &mut State, who: Who) {
        let disk = state.disk;
        let mark = if disk.copied >= disk.length { 0 } else { disk.length };
        let process = state.process(who);
        process.reading = Reading::To { mark, view: disk.content() };
        self.notice(process);
    }

    pub(super) fn end_reading(&self, state: &mut State, who: Who) {
        let disk = state.disk;
        let process = state.process(who);
        let Reading::To { mark, view } = std::mem::take(&mut process.reading) else { return };
        if self.bug == Some(Bug::SnapshotKept) {
            process.group.view = view;
        }
        if disk.seen_from(mark) != view {
            state.trouble(Trouble::TwoStates);
        }
    }

    /// Opens the database. What the log holds may never have been flushed: its writer may be dead.
    pub(super) fn open(&self, state: &mut State, who: Who) {
        if !state.is_open(who.other()) {
            state.disk.recover();
        }
        let forgets = self.bug == Some(Bug::ForeignNotFlushed);
        let unflushed = u8::from(state.disk.length > 0 && !forgets);
        *state.process(who) = Process { life: Life::Open, unflushed, ..Process::default() };
    }

    /// The process is gone, and with it what is in its memory.
    pub(super) fn kill(&self, state: &mut State, who: Who) {
        if state.writer == Some(who) {
            state.writer = None;
            state.told.cut(state.told.committed());
        }
        self.leave(state, who);
    }

    /// `Store::shut_down` up to the end of its barrier; what was lost is told by the `sync` before it.
    pub(super) fn begin_closing(&self, state: &mut State, who: Who) {
        if state.process(who).group.open {
            self.commit(state, who);
        }
        self.last_flush(state, who);
        let process = state.process(who);
        process.life = Life::Closing;
        process.unheard = 0;
    }

    /// Its end. Others may have used the file system meanwhile: what they were told is kept as well.
    pub(super) fn end_closing(&self, state: &mut State, who: Who) {
        if state.process(who).group.open {
            if self.bug == Some(Bug::ClosingDropsGroup) {
                state.told.cut(state.told.committed());
                state.writer = None;
                state.trouble(Trouble::Vanished);
            } else {
                self.commit(state, who);
            }
            self.last_flush(state, who);
        }
        let failed = state.process(who).failed;
        self.leave(state, who);
        if !failed && !state.is_open(who.other()) {
            state.disk.fold();
        }
        if !failed && !state.is_open(who.other()) && state.disk.length > 0 {
            state.trouble(Trouble::LogLeft);
        }
    }

    fn last_flush(&self, state: &mut State, who: Who) {
        let open = state.open_descriptors();
        let committed = state.told.committed();
        let mut disk = state.disk;
        let process = state.process(who);
        if !process.failed && !disk.flush(Descriptor::Syncer.bit(who), true, open) {
            process.failed = true;
            process.has_failed = true;
        }
        if !process.failed {
            process.unflushed = 0;
            state.told.promised = state.told.promised.max(committed);
        }
        state.disk = disk;
    }

    fn leave(&self, state: &mut State, who: Who) {
        *state.process(who) = Process::default();
        state.disk.failing &= !(Descriptor::Syncer.bit(who) | Descriptor::Checkpointer.bit(who));
        state.disk.abandon_checkpoint(who);
    }
}

impl Process {
    fn end_of_group(&mut self, fate: Fate) {
        if self.touched_in == Fate::Open {
            self.touched_in = fate;
        }
        for barrier in &mut self.barriers {
            barrier.inside = false;
        }
    }
}
