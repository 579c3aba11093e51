//! The log, the main file, checkpoints, and what a crash leaves: what SQLite does in WAL mode, as its documentation
//! ("Write-Ahead Logging", "WAL-mode File Format") has it, and what the kernel does below it.
//!
//! One frame here is one transaction with all its pages: of a transaction that is cut in the middle, recovery uses
//! nothing, so that a finer grain would show nothing more. A page of the main file is one cell.
//!
//! Not here: a main file whose flush fails (SQLite copies the same pages again), and a process that opens the database
//! after a flush of the log has failed (the kernel may already have told somebody else, and nothing is left to see).

use super::state::{CELLS, Cells, Checkpoint, Descriptor, Disk, Reading, State, TORN, Trouble, Who};
use super::{Bug, Groups};

impl Disk {
    /// What a transaction that begins now sees.
    #[must_use]
    pub fn content(&self) -> Cells {
        self.seen_from(self.length)
    }

    /// The main file with the first `mark` transactions of the log over it.
    pub(super) fn seen_from(&self, mark: u8) -> Cells {
        overlay(self.main, &self.frames[..usize::from(mark)])
    }

    /// Appends a transaction. A log that has been copied in full starts anew, unless a reader still looks into it.
    pub(super) fn append(&mut self, pages: Cells, read_in_log: bool) {
        if self.length > 0 && self.copied >= self.length && !read_in_log {
            // The new header is flushed before anything follows it, so that no old frame counts any more.
            self.frames = Default::default();
            self.length = 0;
            self.copied = 0;
            self.synced = 0;
        }
        self.frames[usize::from(self.length)] = pages;
        self.length += 1;
    }

    /// Whether a flush now finds something to write, so that it can fail.
    pub(super) const fn is_dirty(&self) -> bool {
        !self.hole && self.synced < self.length
    }

    /// Flushes the log through one description; false when it fails, or has to report an earlier failure.
    pub(super) fn flush(&mut self, through: u8, succeeds: bool, open: u8) -> bool {
        if !succeeds {
            if self.is_dirty() {
                self.hole = true;
                self.failing = open & !through;
            }
            return false;
        }
        if self.failing & through != 0 {
            self.failing &= !through;
            return false;
        }
        if !self.hole {
            self.synced = self.length;
        }
        true
    }

    /// Copies `frames` of the log into the main file, as the kernel has it.
    fn copy(&mut self, frames: std::ops::Range<u8>) {
        if frames.start < frames.end {
            let (from, to) = (usize::from(frames.start), usize::from(frames.end));
            self.main = overlay(self.main, &self.frames[from..to]);
        }
    }

    /// Copies all and removes the log: the end of the last connection.
    pub(super) fn fold(&mut self) {
        self.copy(0..self.length);
        *self = Self { main: self.main, main_synced: self.main, ..Self::default() };
    }

    /// The process that copied is gone, and its lock with it.
    pub(super) fn abandon_checkpoint(&mut self, who: Who) {
        if let Checkpoint::Flushed { by, .. } | Checkpoint::Copied { by, .. } = self.checkpoint
            && by == who as u8
        {
            self.checkpoint = Checkpoint::None;
        }
    }

    /// The first connection after a crash: how far the log was copied is known to nobody any more.
    pub(super) const fn recover(&mut self) {
        self.copied = 0;
    }

    /// What is on the disk when of the log `frames` arrived and of the main file the `pages`.
    fn lose_power(&mut self, frames: u8, pages: u8) {
        for cell in 0..CELLS {
            if pages & 1 << cell == 0 {
                self.main[cell] = self.main_synced[cell];
            }
        }
        self.frames[usize::from(frames)..].fill(Cells::default());
        let (kept, main) = (self.frames, self.main);
        *self =
            Self { frames: kept, length: frames, synced: frames, main, main_synced: main, ..Self::default() };
    }

    /// How many transactions of the log can be found after a loss of power, at least and at most.
    pub(super) const fn survivors(&self) -> (u8, u8) {
        (self.synced, if self.hole { self.synced } else { self.length })
    }

    /// The pages of the main file of which it is open whether they are on the disk.
    pub(super) fn loose_pages(&self) -> u8 {
        (0..CELLS)
            .filter(|&cell| self.main[cell] != self.main_synced[cell])
            .fold(0, |set, cell| set | 1 << cell)
    }
}

fn overlay(mut cells: Cells, frames: &[Cells]) -> Cells {
    for frame in frames {
        for (cell, &written) in cells.iter_mut().zip(frame) {
            if written != 0 {
                *cell = written;
            }
        }
    }
    cells
}

impl State {
    /// Descriptions of the log that are open.
    pub(super) fn open_descriptors(&self) -> u8 {
        Who::ALL
            .into_iter()
            .filter(|&who| self.is_open(who))
            .fold(0, |set, who| set | Descriptor::Syncer.bit(who) | Descriptor::Checkpointer.bit(who))
    }

    /// The marks of the readers.
    fn marks(&self) -> impl Iterator<Item = u8> {
        self.processes.iter().filter_map(|process| match process.reading {
            Reading::To { mark, .. } => Some(mark),
            Reading::None => None,
        })
    }

    pub(super) fn is_read_in_log(&self) -> bool {
        self.marks().any(|mark| mark > 0)
    }

    /// How far a checkpoint can copy now; None when there is nothing to do, or a reader looks at the main file alone.
    pub(super) fn checkpoint_target(&self) -> Option<u8> {
        let target = self.marks().fold(self.disk.length, u8::min);
        (target > self.disk.copied).then_some(target)
    }
}

impl Groups {
    /// `sqlite3WalCheckpoint` up to the flush of the log. A failure ends all promises: the next flush would not tell of
    /// it any more, and a page that is copied from a log that is not on the disk can come to the disk before it.
    pub(super) fn begin_checkpoint(&self, state: &mut State, who: Who, succeeds: bool) {
        let target = match state.checkpoint_target() {
            Some(target) => target,
            None => state.disk.length,
        };
        let open = state.open_descriptors();
        if self.bug != Some(Bug::CheckpointBeforeFlush)
            && !state.disk.flush(Descriptor::Checkpointer.bit(who), succeeds, open)
        {
            let process = &mut state.processes[who as usize];
            process.has_failed = true;
            process.failed = self.bug != Some(Bug::CheckpointAfterFailure);
            return;
        }
        state.disk.checkpoint = Checkpoint::Flushed { by: who as u8, target };
    }

    /// Its next step: the pages, then their flush when nothing was added to the log meanwhile.
    pub(super) fn go_on_with_checkpoint(&self, disk: &mut Disk) {
        match disk.checkpoint {
            Checkpoint::None => {}
            Checkpoint::Flushed { by, target } => {
                disk.copy(disk.copied..target);
                disk.checkpoint = Checkpoint::Copied { by, target };
            }
            Checkpoint::Copied { target, .. } => {
                if target >= disk.length {
                    disk.main_synced = disk.main;
                }
                disk.copied = target;
                disk.checkpoint = Checkpoint::None;
            }
        }
    }

    /// The machine stops, and starts again; both processes are gone.
    pub(super) fn lose_power(&self, state: &mut State, frames: u8, pages: u8) {
        state.disk.lose_power(frames, pages);
        state.writer = None;
        state.processes = Default::default();
        let found = state.disk.content();
        let prefix = (0..=state.told.length).find(|&length| state.told.after(length) == found);
        match prefix {
            None => state.trouble = Some(Trouble::NoPrefix),
            Some(length) if length < state.told.promised => state.trouble = Some(Trouble::Forgotten),
            Some(length) => state.told.cut(length),
        }
    }

    /// Whether what is committed is what the committed operations make of it, in their order.
    #[must_use]
    pub fn is_a_prefix(&self, state: &State) -> bool {
        state.trouble.is_some() || state.disk.content() == state.told.after(state.told.committed())
    }

    /// Whether an operation that failed has left something.
    #[must_use]
    pub fn is_torn(&self, state: &State) -> bool {
        let views = state.processes.iter().map(|process| process.group.view);
        views.chain([state.disk.content()]).any(|cells| cells.contains(&TORN))
    }
}
