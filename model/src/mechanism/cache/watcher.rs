//! The thread that watches for commits of other processes: `Watch::pass`, one message to the kernel a step.

use super::state::{EMPTY, FILE, NOTHING, Operation, Stage, State, Trouble, todo};
use super::{Bug, Caches, RETRY};

impl Caches {
    /// Whether a pass can begin: the last one is over, and no answer is on its way since before it.
    pub(super) fn may_pass(&self, state: &State) -> bool {
        state.watcher.left == 0 && !state.requests.iter().any(|request| request.passed)
    }

    /// A pass begins: what must be dropped?
    pub(super) fn pass(&self, state: &mut State) {
        state.watcher.passed = true;
        if !state.group {
            self.notice(state);
        }
        for request in &mut state.requests {
            request.passed = request.stage == Stage::Told;
        }
        if state.known.file {
            state.known.passes = (state.known.passes + 1).min(2);
        }
        let mut left = std::mem::take(&mut state.known.again);
        let late = std::mem::take(&mut state.known.late);
        if std::mem::take(&mut state.news) {
            for request in &mut state.requests {
                request.late |= request.stage == Stage::Served;
            }
            let differs = state.known.touched || state.known.differs;
            left |= self.to_drop(state, differs, state.known.directory_differs);
            state.known.directory_differs = false;
        } else {
            state.known.touched = false;
        }
        if late {
            left |= self.to_drop(state, true, true);
        }
        let known = &mut state.known;
        if known.held > 0 {
            known.held -= 1;
            if known.held == 0 && !self.has(Bug::HeldForgotten) {
                known.held = RETRY;
                left |= if known.named == FILE { todo::NAME } else { 0 };
            }
        }
        if left != 0 && state.spent.foreign == 0 && state.uncommitted.is_none() {
            state.trouble(Trouble::Needless);
        }
        state.watcher.left = left;
    }

    fn to_drop(&self, state: &mut State, file_differs: bool, directory_differs: bool) -> u8 {
        let known = &mut state.known;
        let file = known.file && file_differs;
        let name = known.named != NOTHING && (directory_differs || file && known.named == FILE);
        let mut left = 0;
        if file {
            left |= todo::INODE;
        }
        if name {
            left |= todo::NAME;
        }
        if file && name && known.named == FILE {
            known.held = RETRY + 1;
        }
        if file && known.held > 0 {
            left |= todo::GROWTH;
        }
        if !self.has(Bug::DroppedOnce) {
            let growth = if known.held > 0 { todo::GROWTH } else { 0 };
            known.again =
                if file { todo::ATTRIBUTES | growth } else { 0 } | if name { todo::NAME } else { 0 };
        }
        left
    }

    /// Whether the next message can be sent: the kernel must write its dirty pages back first.
    pub(super) fn may_notify(&self, state: &State) -> bool {
        let left = state.watcher.left;
        if left & todo::INODE != 0 {
            return self.may_drop_pages(state);
        }
        if left & (todo::ATTRIBUTES | todo::NAME) != 0 {
            return true;
        }
        if left == 0 || state.is_under_way(Operation::Truncate) && !self.bounds.collisions {
            return false;
        }
        let reads = state.watcher.byte == 0 && self.has_grown(state);
        !reads || self.may_drop_pages(state) || self.has(Bug::EndStoredOverWrites)
    }

    /// The next message of the pass.
    pub(super) fn notify(&self, state: &mut State) {
        let left = state.watcher.left;
        if left & todo::INODE != 0 {
            state.watcher.left &= !(todo::INODE | todo::ATTRIBUTES);
            self.drop_inode(state, true);
        } else if left & todo::ATTRIBUTES != 0 {
            state.watcher.left &= !todo::ATTRIBUTES;
            self.drop_inode(state, false);
        } else if left & todo::NAME != 0 {
            state.watcher.left &= !todo::NAME;
            if state.known.named != NOTHING {
                self.drop_entry(state, state.known.named);
            }
        } else if state.watcher.byte == 0 && self.has_grown(state) {
            // What was written since the pages were dropped comes first: it may have made the file longer as well.
            if !self.has(Bug::EndStoredOverWrites) {
                self.drop_inode(state, true);
            }
            state.watcher.byte = state.stored.content;
        } else {
            let byte = std::mem::take(&mut state.watcher.byte);
            state.watcher.left = 0;
            if byte != 0 {
                self.store_byte(state, byte);
            }
        }
    }

    /// `Watch::show_growth`: the file is longer than the kernel can know.
    fn has_grown(&self, state: &State) -> bool {
        let longer = state.known.size == 0 || self.has(Bug::EndStoredOverWrites);
        state.known.file && state.stored.content != EMPTY && longer
    }

    /// Whether a byte written now at the end, or a cut now, would meet the byte that is about to be stored there.
    pub(super) fn collides(&self, state: &State) -> bool {
        state.watcher.byte != 0 && !self.bounds.collisions
    }
}
