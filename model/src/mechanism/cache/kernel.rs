//! The kernel: what it answers from its caches, what it sends, and how it takes over answers and notifications.

use super::daemon::is_set;
use super::state::{
    DIRECTORY, EMPTY, Entry, FILE, Inode, NOTHING, Operation, Page, Request, Stage, State, Stored, Trouble,
    Trust, Whose, ZERO,
};
use super::{ABSENT, BOUND, Bug, Caches};

impl State {
    pub(super) const fn request(&self, whose: Whose) -> &Request {
        &self.requests[whose as usize]
    }

    pub(super) fn is_idle(&self, whose: Whose) -> bool {
        self.request(whose).stage == Stage::None
    }

    /// Whether `operation` is on its way.
    pub(super) fn is_under_way(&self, operation: Operation) -> bool {
        self.requests.iter().any(|request| request.stage != Stage::None && request.operation == operation)
    }

    /// The name leads to the file, or somebody has the file open.
    pub(super) fn reaches_file(&self) -> bool {
        self.inode.there && (self.inode.open || self.entry.leads() && self.entry.to == FILE)
    }

    /// Notes the first trouble.
    pub(super) const fn trouble(&mut self, trouble: Trouble) {
        if self.trouble.is_none() {
            self.trouble = Some(trouble);
        }
    }
}

impl Entry {
    /// Whether the kernel goes by it without asking.
    pub(super) fn leads(self) -> bool {
        self.there && self.trust != Trust::Expired
    }
}

impl Caches {
    /// A page is on its way, as far as the kernel knows.
    fn writes_back(&self, state: &State) -> bool {
        !state.is_idle(Whose::Data) && !self.has(Bug::WriteAnsweredEarly)
    }

    /// Nothing is left to be written back.
    pub(super) fn is_written_back(&self, state: &State) -> bool {
        let dirty = matches!(state.inode.page, Page::Dirty(_)) || state.inode.mtime_dirty;
        !dirty && !self.writes_back(state) && state.is_idle(Whose::Times)
    }

    /// Whether the request of the writer, which waits, can be sent.
    pub(super) fn may_send(&self, state: &State) -> bool {
        match state.request(Whose::Writer).operation {
            // It waits for the pages under way, and throws the dirty one away afterwards.
            Operation::Truncate => !self.writes_back(state),
            Operation::Utimens if self.has(Bug::TimesOvertaken) => true,
            Operation::Fsync if self.has(Bug::FsyncBeforeWriteBack) => true,
            Operation::Unmount if self.has(Bug::EndWithoutWriteBack) => true,
            _ => self.is_written_back(state),
        }
    }

    /// A system call begins.
    pub(super) fn begin(&self, state: &mut State, whose: Whose, operation: Operation) {
        use Operation::{
            Chmod, Close, Fsync, Lookup, Read, Revalidate, Stat, Truncate, Unlink, Unmount, Utimens,
        };
        let value = match operation {
            Utimens | Truncate | Chmod | Unlink => {
                state.spent.own += 1;
                state.spent.changes += 1;
                state.spent.changes
            }
            _ => 0,
        };
        let stage = match operation {
            Utimens | Truncate | Chmod | Fsync | Close | Unmount => Stage::Waiting,
            _ => Stage::Sent,
        };
        match operation {
            Lookup if state.entry.leads() => return self.serve_name(state, false, state.entry.to),
            Stat if state.inode.mode_valid => return self.serve_mode(state, false, state.inode.mode),
            Read if state.inode.size == 0 => return self.serve_content(state, false, EMPTY),
            Read => {
                if let Page::Clean(byte) | Page::Dirty(byte) = state.inode.page {
                    return self.serve_content(state, false, byte);
                }
            }
            _ => {}
        }
        let again = operation == Lookup && state.entry.there && state.entry.to != NOTHING;
        let operation = if again { Revalidate } else { operation };
        state.requests[whose as usize] = Request { operation, stage, value, ..Request::default() };
    }

    /// write(2): into the page, whatever the file system has.
    pub(super) fn write_byte(&self, state: &mut State) {
        state.spent.own += 1;
        state.spent.changes += 1;
        let value = state.spent.changes;
        state.inode.page = Page::Dirty(value);
        state.inode.size = 1;
        state.inode.mtime = value;
        state.inode.mtime_dirty = true;
        state.mine.content = value;
        state.mine.mtime = value;
        self.note_overlap(state);
    }

    /// A user looks while another changes: whatever is seen is right.
    pub(super) fn note_overlap(&self, state: &mut State) {
        let reader = &mut state.requests[Whose::Reader as usize];
        reader.overlaps |= reader.stage != Stage::None;
    }

    /// The kernel writes its dirty page back.
    pub(super) fn write_back(&self, state: &mut State) {
        if let Page::Dirty(value) = state.inode.page {
            state.inode.page = Page::Clean(value);
            state.requests[Whose::Data as usize] =
                Request { operation: Operation::Write, stage: Stage::Sent, value, ..Request::default() };
        }
    }

    /// The kernel sends the time that it kept.
    pub(super) fn send_times(&self, state: &mut State) {
        state.inode.mtime_dirty = false;
        let value = state.inode.mtime;
        state.requests[Whose::Times as usize] =
            Request { operation: Operation::FlushTimes, stage: Stage::Sent, value, ..Request::default() };
    }

    /// The kernel takes an answer over.
    pub(super) fn deliver(&self, state: &mut State, whose: Whose) {
        let request = std::mem::take(&mut state.requests[whose as usize]);
        let answer = request.answer;
        match request.operation {
            Operation::Lookup => {
                let trust = match (answer.name, self.has(Bug::AbsenceBelievedTooLong)) {
                    (NOTHING, false) => Trust::Ticks(ABSENT),
                    (NOTHING, true) => Trust::Ticks(BOUND),
                    _ => Trust::Always,
                };
                state.entry = Entry { there: true, to: answer.name, trust };
                self.take_attributes(state, &request);
                self.serve_name(state, request.overlaps, answer.name);
            }
            Operation::Revalidate if state.entry.there && state.entry.to == answer.name => {
                state.entry.trust = Trust::Always;
                self.take_attributes(state, &request);
                self.serve_name(state, request.overlaps, answer.name);
            }
            // The user's walk goes on with a new LOOKUP.
            Operation::Revalidate => state.entry = Entry::default(),
            Operation::Stat => {
                self.take_attributes(state, &request);
                self.serve_mode(state, request.overlaps, answer.mode);
            }
            Operation::Read => {
                let byte = if answer.content == EMPTY { ZERO } else { answer.content };
                if state.inode.page == Page::None {
                    state.inode.page = Page::Clean(byte);
                }
                self.serve_content(state, request.overlaps, byte);
            }
            Operation::Utimens => {
                state.inode.mtime = request.value;
                self.take_mode(state, answer.mode);
            }
            Operation::Truncate => {
                state.inode.size = 0;
                state.inode.page = Page::None;
                state.inode.mtime = request.value;
                state.inode.mtime_dirty = false;
                self.take_mode(state, answer.mode);
            }
            Operation::Chmod => self.take_mode(state, answer.mode),
            // Also when there was no such name any more; of anything else it is not removed.
            Operation::Unlink if answer.name == NOTHING => state.entry = Entry::default(),
            Operation::Seek => {
                let written = state.mine.content;
                if answer.content != written && is_set(written) {
                    state.trouble(Trouble::TakenForHole);
                }
            }
            Operation::Close => {
                state.inode.open = false;
                state.let_go = 0;
            }
            _ => {}
        }
        if whose == Whose::Writer {
            self.note_overlap(state);
        }
    }

    /// Attributes in an answer: a new inode takes them all, a known one no size and no times.
    fn take_attributes(&self, state: &mut State, request: &Request) {
        let Stored { content, mtime, mode, name } = request.answer;
        let size = u8::from(content != EMPTY);
        if request.operation != Operation::Stat && name != FILE {
            return;
        }
        if !state.inode.there {
            state.inode = Inode { there: true, size, mtime, mode, mode_valid: true, ..Inode::default() };
        } else if !request.overtaken {
            self.take_mode(state, mode);
        }
        if self.has(Bug::SizeOfAnswerBelieved) && size < state.inode.size {
            state.inode.size = size;
            state.inode.page = Page::None;
        }
    }

    /// Attributes that were asked for before these were taken over will not be.
    fn take_mode(&self, state: &mut State, mode: u8) {
        state.inode.mode = mode;
        state.inode.mode_valid = true;
        self.overtake(state);
    }

    fn overtake(&self, state: &mut State) {
        for request in &mut state.requests {
            request.overtaken |= request.stage != Stage::None;
        }
    }

    /// The inode goes with its last name, descriptor and request.
    pub(super) fn evict(&self, state: &mut State) {
        let named = state.entry.there && state.entry.to == FILE;
        let file = |request: &Request| !matches!(request.operation, Operation::None | Operation::Lookup);
        let used = state.inode.open || named || state.requests.iter().any(file);
        if state.inode.there && !used {
            state.inode = Inode::default();
            // FORGET gives back what was handed out to this inode; an answer under way has handed out more.
            let told = |request: &Request| request.stage == Stage::Told && request.answer.name == FILE;
            if !state.requests.iter().any(told) {
                state.known.forget_file();
            }
        }
    }

    /// `NOTIFY_INVAL_INODE`, with the pages or without.
    pub(super) fn drop_inode(&self, state: &mut State, pages: bool) {
        state.inode.mode_valid = false;
        if pages {
            state.inode.page = Page::None;
        }
        self.overtake(state);
    }

    /// `NOTIFY_INVAL_ENTRY`, of a directory only to let it expire.
    pub(super) fn drop_entry(&self, state: &mut State, named: u8) {
        if named == DIRECTORY {
            state.entry.trust = Trust::Expired;
        } else {
            state.entry = Entry::default();
        }
    }

    /// `NOTIFY_STORE` of the byte at the end: into the page, dirty or not.
    pub(super) fn store_byte(&self, state: &mut State, byte: u8) {
        if state.inode.there {
            // `KnownInodes::note_growth`: an inode of another size may be about to take the place of this one.
            if state.known.passes == 2 || self.has(Bug::GrowthShownOnce) {
                state.known.size = 1;
            }
            state.inode.size = 1;
            state.inode.page = match state.inode.page {
                Page::Dirty(_) => Page::Dirty(byte),
                _ => Page::Clean(byte),
            };
        }
    }
}
