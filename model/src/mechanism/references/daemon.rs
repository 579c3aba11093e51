//! The daemon's side: serving, counting, giving back, removing.
//!
//! Each function is one step of the real one: what it does while it holds the lock of the file system's state.

use super::inode::{Ino, Inodes, Name};
use super::state::{Daemon, Request, Stage, State, Worker};
use super::{Bug, References};

/// The file whose removal takes several operations; that of any other is part of the unlink.
pub(super) const LARGE: Ino = Ino::file(0);

impl References {
    pub(super) fn serve(&self, state: &mut State, request: Request) {
        let worker = self.operate(state, request);
        if worker.each().next().is_some() {
            state.daemon.put_worker(worker);
        }
    }

    /// The commit that an operation brings about fails: its caller is told so, and gives nothing back.
    pub(super) fn serve_in_vain(&self, state: &mut State, request: Request) {
        let worker = self.operate(state, request);
        if !self.has(Bug::FailedStaysCounted) {
            worker.each().for_each(|ino| state.daemon.take_back(ino));
        }
        self.lose(state);
    }

    /// Whether `request` adds an entry.
    pub(super) fn makes_entry(&self, state: &State, request: Request) -> bool {
        match request {
            Request::Create(name) => state.now.named(name).is_none() && self.next_number(state).is_some(),
            Request::Link(ino, name) => {
                state.now.has_name(ino) && state.now.named(name).is_none() && self.can_serve(state, ino)
            }
            _ => false,
        }
    }

    /// Whether `ino` is what it says: not the number of a lost inode, which another process may have been given since
    /// and which somebody still has from before.
    fn can_serve(&self, state: &State, ino: Ino) -> bool {
        self.has(Bug::TrustsLostNumber) || !state.daemon.lost.has(ino)
    }

    fn operate(&self, state: &mut State, request: Request) -> Worker {
        let made = self.makes_entry(state, request);
        let found = |state: &State, name| state.now.named(name).filter(|&ino| self.can_serve(state, ino));
        let mut worker = Worker { stage: Stage::Replying, ..Worker::default() };
        match request {
            Request::Lookup(name) => worker.entries[0] = found(state, name),
            Request::Create(name) if made => {
                worker.entries[0] = self.next_number(state);
                self.create(state, name);
            }
            Request::Create(name) => worker.entries[0] = found(state, name),
            Request::Link(ino, name) if made => {
                state.now.set_name(name, Some(ino));
                worker.entries[0] = Some(ino);
            }
            Request::Link(..) => {}
            Request::Unlink(name) => {
                if let Some(victim) = found(state, name) {
                    state.now.set_name(name, None);
                    self.drop_name(state, victim);
                }
            }
            Request::Rename(from) => self.rename(state, from),
            Request::List => {
                worker.entries = Name::ALL.map(|name| found(state, name));
                if worker.entries[0].is_none() {
                    worker.entries.swap(0, 1);
                }
            }
        }
        self.count_found(state, worker, request);
        worker
    }

    fn rename(&self, state: &mut State, from: Name) {
        let (moved, replaced) = (state.now.named(from), state.now.named(from.other()));
        let served = moved.into_iter().chain(replaced).all(|ino| self.can_serve(state, ino));
        if moved.is_none() || moved == replaced || !served {
            return;
        }
        state.now.set_name(from, None);
        state.now.set_name(from.other(), moved);
        if let Some(replaced) = replaced {
            self.drop_name(state, replaced);
        }
    }

    fn create(&self, state: &mut State, name: Name) {
        if let Some(ino) = self.next_number(state) {
            state.daemon.numbers = ino.position();
            state.now.add(name, ino);
        }
    }

    /// Takes the references that a reply will hand out.
    fn count_found(&self, state: &mut State, worker: Worker, request: Request) {
        let uncounted =
            self.has(Bug::CountedAfterReply) || self.has(Bug::ListedIsNotCounted) && request == Request::List;
        for ino in worker.each() {
            if state.daemon.lost.has(ino) {
                state.mixed.put(ino);
            }
            let known = self.has(Bug::KnownIsNotCounted) && state.daemon.references[ino] > 0;
            if !uncounted && !known {
                state.daemon.references[ino] += 1;
            }
        }
    }

    /// A number that was never given out, not even to an inode of a group that was lost.
    fn next_number(&self, state: &State) -> Option<Ino> {
        let remembered = if self.has(Bug::ReusesNumber) { 0 } else { state.daemon.numbers };
        let given = remembered.max(state.now.numbers);
        (given < self.bounds.files).then_some(Ino::file(given))
    }

    /// The name of `victim` is gone.
    fn drop_name(&self, state: &mut State, victim: Ino) {
        if state.now.has_name(victim) {
            return;
        }
        let referenced = state.daemon.references[victim] > 0 && !self.has(Bug::ReapsAtUnlink);
        if !referenced && victim != LARGE {
            return self.remove_rows(state, victim);
        }
        self.make_list(state);
        if !referenced || !self.has(Bug::UnlinkDoesNotList) {
            state.now.listed.put(victim);
        }
        let destiny = if referenced { &mut state.daemon.orphans } else { &mut state.daemon.freeing };
        destiny.put(victim);
    }

    /// Who makes the list searches for what belongs into it.
    pub(super) fn make_list(&self, state: &mut State) {
        if !state.now.has_list && !self.has(Bug::ListsWithoutSearch) {
            self.search(state);
        }
        state.now.has_list = true;
    }

    /// Lists what has no name.
    pub(super) fn search(&self, state: &mut State) {
        state.now.listed = state.now.nameless();
        if self.has(Bug::SweepsRoot) {
            state.now.listed.put(Ino::ROOT);
        }
        state.now.has_list = true;
    }

    fn remove_rows(&self, state: &mut State, ino: Ino) {
        if ino != Ino::ROOT || self.has(Bug::SweepsRoot) {
            state.now.remove(ino);
            state.daemon.orphans.take(ino);
        }
    }

    pub(super) fn reply(&self, state: &mut State, worker: Worker) {
        state.daemon.take_worker(worker);
        worker.each().for_each(|ino| state.channel.entries[ino] += 1);
        if self.has(Bug::CountedAfterReply) {
            state.daemon.put_worker(Worker { stage: Stage::Counting, ..worker });
        }
    }

    pub(super) fn reply_part(&self, state: &mut State, worker: Worker) {
        let [sent, unsent] = worker.entries;
        state.daemon.take_worker(worker);
        let short = Worker { entries: [sent, None], ..worker };
        state.daemon.put_worker(short);
        self.reply(state, short);
        if let Some(unsent) = unsent
            && !self.has(Bug::UnsentStaysCounted)
        {
            state.daemon.release(unsent, 1);
        }
    }

    pub(super) fn count(state: &mut State, worker: Worker) {
        state.daemon.take_worker(worker);
        worker.each().for_each(|ino| state.daemon.references[ino] += 1);
    }

    pub(super) fn forget(&self, state: &mut State, ino: Ino, count: u8) {
        state.channel.forgets[usize::from(count) - 1][ino] -= 1;
        state.daemon.release(ino, if self.has(Bug::ForgetCountsOnce) { 1 } else { count });
    }

    /// Somebody may refer to it again, and it may have its name again.
    pub(super) fn free(&self, state: &mut State, ino: Ino) {
        state.daemon.freeing.take(ino);
        let believed = self.has(Bug::DeletesUnlooked) && state.daemon.orphans.has(ino);
        if self.is_referenced(state, ino) {
            state.daemon.orphans.put(ino);
        } else if !state.now.listed.has(ino) && !believed {
            state.daemon.orphans.take(ino);
        } else {
            self.remove_rows(state, ino);
        }
    }

    pub(super) fn sweep(&self, state: &mut State) {
        state.daemon.unseen = false;
        if !state.now.has_list {
            self.search(state);
        }
        let is_noted = |ino| self.is_referenced(state, ino) && state.daemon.orphans.has(ino);
        if state.now.listed.each().all(is_noted) {
            return;
        }
        for ino in state.now.listed.each() {
            let referenced = self.is_referenced(state, ino);
            if state.now.has_name(ino) && !(referenced && self.has(Bug::NotesNamed)) {
                state.now.listed.take(ino);
                state.daemon.orphans.take(ino);
            } else if referenced {
                state.daemon.orphans.put(ino);
            } else {
                state.daemon.freeing.put(ino);
            }
        }
    }

    fn is_referenced(&self, state: &State, ino: Ino) -> bool {
        state.daemon.references[ino] > 0 && !self.has(Bug::SweepsReferenced)
    }

    /// The group is gone, and what the daemon remembers is not.
    pub(super) fn lose(&self, state: &mut State) {
        let lost: Inodes = (state.committed.numbers..state.now.numbers).map(Ino::file).collect();
        state.daemon.lost = state.daemon.lost.or(lost.and(state.daemon.references.some()));
        state.now = state.committed.clone();
        state.daemon.unseen |= !self.has(Bug::LossIsNotSeen);
    }
}

impl Daemon {
    /// Gives references back. With the last one, an orphan is about to go.
    pub(super) fn release(&mut self, ino: Ino, count: u8) {
        let held = self.references[ino];
        self.references[ino] = held.saturating_sub(count);
        if held > 0 && self.references[ino] == 0 {
            self.lost.take(ino);
            if self.orphans.has(ino) {
                self.freeing.put(ino);
            }
        }
    }

    /// Gives a reference back that nobody was told of.
    fn take_back(&mut self, ino: Ino) {
        self.references[ino] = self.references[ino].saturating_sub(1);
    }
}
