//! The start and the end of a mount, and what other processes do before, beside and after it.

use super::inode::{Ino, Inodes, Name};
use super::state::{Channel, Daemon, Kernel, Phase, State};
use super::{Bug, Database, References, Step};

impl State {
    /// A database that nobody has open.
    pub(super) fn at_rest(database: Database, phase: Phase) -> Self {
        Self {
            phase,
            kernel: Kernel::default(),
            channel: Channel::default(),
            daemon: Daemon::default(),
            now: database.clone(),
            committed: database,
            mixed: Inodes::default(),
        }
    }

    /// A commit by another process; it waits until the group is committed.
    fn commit_beside(&mut self) {
        self.committed = self.now.clone();
        self.daemon.unseen = true;
    }
}

impl References {
    pub(super) fn others_steps(&self, state: &State, steps: &mut Vec<Step>) {
        if state.now != state.committed {
            return;
        }
        for name in Name::ALL {
            match state.now.named(name) {
                Some(ino) => {
                    steps.extend(self.bounds.others.then_some(Step::UnlinkBeside(name)));
                    let listable = self.bounds.mislisting && !state.now.listed.has(ino);
                    steps.extend(listable.then_some(Step::Mislist(name)));
                }
                None if self.bounds.others && state.now.numbers < self.bounds.files => {
                    steps.push(Step::CreateBeside(name));
                }
                None => {}
            }
        }
    }

    /// The other process knows the database alone: the number may be one that was lost with a group of the mount.
    pub(super) fn create_beside(state: &mut State, name: Name) {
        state.now.add(name, Ino::file(state.now.numbers));
        // The daemon will see it when it needs a number; that it knows at once makes fewer states, and no other number.
        state.daemon.numbers = state.daemon.numbers.max(state.now.numbers);
        state.commit_beside();
    }

    /// A mount may refer to the inode, so that only the mount may remove it.
    pub(super) fn unlink_beside(&self, state: &mut State, name: Name) {
        let victim = state.now.named(name);
        state.now.set_name(name, None);
        if let Some(victim) = victim.filter(|&victim| !state.now.has_name(victim)) {
            if self.has(Bug::ReapsBesideMount) {
                state.now.remove(victim);
            } else {
                self.make_list(state);
                state.now.listed.put(victim);
            }
        }
        state.commit_beside();
    }

    pub(super) fn mislist(state: &mut State, name: Name) {
        if let Some(ino) = state.now.named(name) {
            state.now.listed.put(ino);
        }
        state.commit_beside();
    }

    /// All of it, as one step: what a kill between two of its operations leaves, one of the daemon leaves as well.
    pub(super) fn unlink_alone(&self, state: &mut State, name: Name) {
        self.serve(state, super::state::Request::Unlink(name));
        self.free_all(state);
        *state = State::at_rest(state.now.clone(), state.phase);
    }

    pub(super) fn start(&self, state: &mut State) {
        state.phase = Phase::Swept;
        state.daemon.numbers = state.now.numbers;
        self.sweep(state);
        self.free_all(state);
    }

    /// Everything is given back, what others left is looked for, and the database is closed.
    pub(super) fn end(&self, state: &mut State) {
        for ino in Ino::files() {
            let count = match self.has(Bug::UndeliveredStaysCounted) {
                true => state.kernel.lookups[ino] + state.channel.forgotten(ino),
                false => state.daemon.references[ino],
            };
            state.daemon.release(ino, count);
        }
        if !self.has(Bug::EndsWithoutSweep) {
            self.sweep(state);
        }
        self.free_all(state);
        *state = State::at_rest(state.now.clone(), Phase::Ended);
    }

    fn free_all(&self, state: &mut State) {
        for ino in state.daemon.freeing.each() {
            self.free(state, ino);
        }
    }
}
