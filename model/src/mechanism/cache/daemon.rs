//! The workers of the daemon, the database below them, other processes, and what a user may be served.

use super::state::{
    Age, Change, DIRECTORY, EMPTY, FILE, Known, NONE, NOTHING, Operation, Page, Request, Stage, State,
    Stored, Trouble, Whose, ZERO,
};
use super::{BOUND, Bug, Caches};

/// The places in [`State::ages`].
const CONTENT: usize = 0;
const MODE: usize = 1;
const NAME: usize = 2;

impl Age {
    /// As it has always been, or as a user of the mount made it.
    pub(super) const NONE: Self = Self { past: [NONE; 3], ticks: [0; 3] };

    fn replace(&mut self, before: u8) {
        *self = Self { past: [before, self.past[0], self.past[1]], ticks: [0, self.ticks[0], self.ticks[1]] };
    }

    /// A tick goes by; what nobody may be served any more is forgotten.
    pub(super) fn grow(&mut self) {
        for (past, ticks) in self.past.iter_mut().zip(&mut self.ticks) {
            *ticks = if *past == NONE { 0 } else { *ticks + 1 };
            if *ticks > BOUND {
                (*past, *ticks) = (NONE, 0);
            }
        }
    }
}

impl Known {
    pub(super) fn forget_file(&mut self) {
        let named = if self.named == FILE { NOTHING } else { self.named };
        let Self { directory_differs, late, again, .. } = *self;
        *self = Self { named, directory_differs, late, again, ..Self::default() };
    }

    /// `Known::see`: notes attributes that an answer shows, as they are or as they were.
    fn see(&mut self, outdated: bool) {
        if outdated {
            self.touched |= !self.differs;
            self.differs = true;
        } else {
            self.touched |= self.differs;
            self.differs = false;
        }
    }

    /// `KnownInodes::hand_out`, of the file.
    fn hand_out(&mut self, request: &Request) {
        let size = u8::from(request.answer.content != EMPTY);
        if self.file {
            self.see(request.outdated);
            self.size = self.size.min(size);
        } else {
            *self = Self { file: true, touched: true, differs: request.outdated, size, ..*self };
        }
        self.passes = 0;
    }
}

impl Caches {
    /// Whether a request that was sent can be served: a change waits for another process that writes, and a search for
    /// data until the kernel has written back.
    pub(super) fn may_serve(&self, state: &State, whose: Whose) -> bool {
        use Operation::{Chmod, FlushTimes, Seek, Truncate, Unlink, Utimens, Write};
        match state.request(whose).operation {
            Seek if self.has(Bug::SeekWithoutWriteBack) => true,
            Seek => self.may_drop_pages(state),
            Write | FlushTimes | Utimens | Truncate | Chmod | Unlink => state.uncommitted.is_none(),
            _ => true,
        }
    }

    /// The kernel drops pages when they are written back, and no read is about to fill them.
    pub(super) fn may_drop_pages(&self, state: &State) -> bool {
        let dirty = matches!(state.inode.page, Page::Dirty(_));
        !dirty && state.is_idle(Whose::Data) && !state.is_under_way(Operation::Read)
    }

    /// The file system serves a request.
    pub(super) fn serve(&self, state: &mut State, whose: Whose) {
        let Request { operation, value, .. } = *state.request(whose);
        match operation {
            Operation::Write => {
                let size_changes = state.stored.content == EMPTY;
                self.change(state, |stored| stored.content = value, CONTENT);
                state.known.size = 1;
                if size_changes {
                    self.attributes_changed(state);
                }
                if self.has(Bug::WriteMovesTimes) {
                    state.spent.changes += 1;
                    state.stored.mtime = state.spent.changes;
                    self.attributes_changed(state);
                }
            }
            Operation::FlushTimes => self.set_time(state, value),
            Operation::Utimens => {
                state.mine.mtime = value;
                self.set_time(state, value);
            }
            Operation::Truncate => {
                // The kernel may be sending the time of a write before, and does not wait for that.
                let time = if state.is_idle(Whose::Times) { value } else { NONE };
                (state.mine.content, state.mine.mtime) = (EMPTY, time);
                self.change(state, |stored| (stored.content, stored.mtime) = (EMPTY, value), CONTENT);
                state.known.size = 0;
                self.attributes_changed(state);
            }
            Operation::Chmod => {
                state.mine.mode = value;
                self.change(state, |stored| stored.mode = value, MODE);
                self.attributes_changed(state);
            }
            Operation::Unlink if state.stored.name == FILE => {
                state.requests[whose as usize].value = 1;
                state.mine.name = NOTHING;
                self.change(state, |stored| stored.name = NOTHING, NAME);
                self.attributes_changed(state);
            }
            Operation::Seek if !self.has(Bug::SeekWithoutWriteBack) => self.drop_inode(state, true),
            Operation::Fsync if !self.is_as_written(state) => state.trouble(Trouble::Unsynced),
            Operation::Unmount => {
                state.unmounted = true;
                if !self.is_as_written(state) {
                    state.trouble(Trouble::LostAtTheEnd);
                }
            }
            _ => {}
        }
        let stored = state.stored;
        let request = &mut state.requests[whose as usize];
        request.stage = match operation {
            // What these answer is in no table of the daemon's.
            Operation::Read | Operation::Seek | Operation::Fsync | Operation::Close => Stage::Told,
            Operation::Write | Operation::FlushTimes | Operation::Unmount => Stage::Told,
            _ => Stage::Served,
        };
        request.answer = match operation {
            Operation::Lookup | Operation::Revalidate if stored.name == FILE => stored,
            Operation::Lookup | Operation::Revalidate => Stored { name: stored.name, ..Stored::NOTHING },
            Operation::Stat | Operation::Utimens | Operation::Truncate | Operation::Chmod => {
                Stored { name: NONE, ..stored }
            }
            Operation::Unlink => Stored { name: stored.name, ..Stored::NOTHING },
            Operation::Read | Operation::Seek => Stored { content: stored.content, ..Stored::NOTHING },
            _ => Stored::NOTHING,
        };
    }

    fn set_time(&self, state: &mut State, value: u8) {
        state.stored.mtime = value;
        self.note_group(state);
        self.attributes_changed(state);
    }

    /// A change through the mount, in its group.
    fn change(&self, state: &mut State, change: impl FnOnce(&mut Stored), what: usize) {
        change(&mut state.stored);
        state.ages[what] = Age::NONE;
        self.note_group(state);
        self.note_overlap(state);
    }

    fn note_group(&self, state: &mut State) {
        if !state.group {
            state.group = true;
            if !self.has(Bug::CommitMissed) {
                self.notice(state);
            }
        }
        state.known.touched |= state.known.file;
    }

    /// Answers that are not sent, or not taken over, are from before.
    fn attributes_changed(&self, state: &mut State) {
        state.known.differs = state.known.file;
        for request in &mut state.requests {
            request.outdated |= matches!(request.stage, Stage::Served | Stage::Told);
        }
    }

    /// `PRAGMA data_version` has moved: another connection has committed.
    pub(super) fn notice(&self, state: &mut State) {
        state.news |= std::mem::take(&mut state.unnoticed);
    }

    /// The group is committed.
    pub(super) fn commit(&self, state: &mut State) {
        state.group = false;
        state.news |= self.has(Bug::OwnCommitsNoticed);
        if self.has(Bug::CommitMissed) {
            // The version is read anew after each commit of our own, with whatever came before it.
            state.unnoticed = false;
        }
    }

    /// Another process commits.
    pub(super) fn change_foreign(&self, state: &mut State, change: Change) {
        state.spent.foreign += 1;
        state.spent.changes += 1;
        let value = state.spent.changes;
        let before = state.stored;
        match change {
            Change::Content | Change::Cut => {
                state.stored.content = if change == Change::Cut { EMPTY } else { value };
                state.stored.mtime = value;
                state.ages[CONTENT].replace(before.content);
                // What is still to be written back comes after this, unless it is about to be cut off.
                let comes = |whose| state.request(whose).stage == Stage::Sent;
                let page_comes = matches!(state.inode.page, Page::Dirty(_)) || comes(Whose::Data);
                let time_comes = state.inode.mtime_dirty || comes(Whose::Times);
                if !page_comes || self.has_truncated(state) {
                    state.mine.content = NONE;
                }
                if !time_comes || self.has_truncated(state) {
                    state.mine.mtime = NONE;
                }
            }
            Change::Mode => {
                state.stored.mode = value;
                state.ages[MODE].replace(before.mode);
                state.mine.mode = NONE;
            }
            Change::Name(to) => {
                state.stored.name = to;
                state.ages[NAME].replace(before.name);
                state.mine.name = NONE;
                state.known.directory_differs = true;
            }
        }
        if !matches!(change, Change::Name(_)) || before.name == FILE {
            self.attributes_changed(state);
        }
        if state.uncommitted.take().is_none() {
            state.unnoticed = true;
        }
    }

    /// The file system has cut the file short, and the kernel does not know yet.
    fn has_truncated(&self, state: &State) -> bool {
        let Request { operation, stage, .. } = *state.request(Whose::Writer);
        operation == Operation::Truncate && matches!(stage, Stage::Served | Stage::Told)
    }

    /// Notes what an answer shows, and sends it.
    pub(super) fn tell(&self, state: &mut State, whose: Whose) {
        let request = *state.request(whose);
        match request.operation {
            Operation::Lookup | Operation::Revalidate => {
                if request.answer.name == FILE {
                    state.known.hand_out(&request);
                }
                if request.answer.name != NOTHING {
                    state.known.named = request.answer.name;
                }
            }
            Operation::Stat | Operation::Utimens | Operation::Truncate | Operation::Chmod
                if state.known.file =>
            {
                state.known.see(request.outdated);
            }
            Operation::Unlink if request.value == 1 => state.known.named = NOTHING,
            _ => {}
        }
        state.known.late |= request.late && !self.has(Bug::LateAnswerForgotten);
        let request = &mut state.requests[whose as usize];
        request.stage = Stage::Told;
        request.late = false;
    }

    /// Whether the database has what users wrote last.
    fn is_as_written(&self, state: &State) -> bool {
        let Stored { content, mtime, mode, name } = state.mine;
        let same = |mine: u8, stored: u8| !is_set(mine) || mine == stored;
        same(content, state.stored.content)
            && same(mtime, state.stored.mtime)
            && same(mode, state.stored.mode)
            && same(name, state.stored.name)
    }

    /// With nothing on its way and nothing dirty, the database has what users wrote last.
    pub(super) fn check_written(&self, state: &mut State) {
        let idle = Whose::ALL.into_iter().all(|whose| state.is_idle(whose));
        if idle && self.is_written_back(state) && !self.is_as_written(state) {
            state.trouble(Trouble::Undone);
        }
    }

    pub(super) fn serve_name(&self, state: &mut State, overlaps: bool, name: u8) {
        if overlaps || state.is_under_way(Operation::Unlink) {
            return;
        }
        if is_set(state.mine.name) {
            if state.mine.name != name {
                state.trouble(Trouble::NotReadBack);
            }
        } else if !is_fresh(state.stored.name, &state.ages[NAME], name) {
            state.trouble(Trouble::Stale);
        }
    }

    pub(super) fn serve_mode(&self, state: &mut State, overlaps: bool, mode: u8) {
        if overlaps || state.is_under_way(Operation::Chmod) {
            return;
        }
        if is_set(state.mine.mode) {
            if state.mine.mode != mode {
                state.trouble(Trouble::NotReadBack);
            }
        } else if !is_fresh(state.stored.mode, &state.ages[MODE], mode) {
            state.trouble(Trouble::Stale);
        }
    }

    /// A file that was cut short while it is open reads as zeros.
    pub(super) fn serve_content(&self, state: &mut State, overlaps: bool, byte: u8) {
        if overlaps || state.is_under_way(Operation::Truncate) {
            return;
        }
        let age = &state.ages[CONTENT];
        if is_set(state.mine.content) {
            if state.mine.content != byte {
                state.trouble(Trouble::NotReadBack);
            }
        } else if byte == ZERO {
            let held = state.inode.open || state.let_go <= BOUND;
            let cut = is_fresh(state.stored.content, age, EMPTY) && (held || age.past[0] != NONE);
            if !cut {
                state.trouble(Trouble::Stale);
            }
        } else if !is_fresh(state.stored.content, age, byte) {
            state.trouble(Trouble::Stale);
        }
    }
}

/// Whether a value is known that users must find again.
pub(super) const fn is_set(value: u8) -> bool {
    value != NONE
}

/// Whether a user may be served `value`: it is so, or it was until lately.
fn is_fresh(now: u8, age: &Age, value: u8) -> bool {
    value == now || age.past.contains(&value)
}

/// What another process can put in the place of what `name` stands for.
pub(super) const fn may_become(name: u8, to: u8) -> bool {
    name != to && matches!(to, NOTHING | DIRECTORY)
}
