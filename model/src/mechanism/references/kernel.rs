//! The kernel's side: what it sends, what it takes in, what it drops.

use super::inode::{Ino, Name};
use super::state::{Channel, Phase, Request, State};
use super::{Bug, References, Step};

impl References {
    pub(super) fn kernel_steps(&self, state: &State, steps: &mut Vec<Step>) {
        for ino in state.channel.entries.some().each() {
            steps.extend([Step::TakeIn(ino), Step::Refuse(ino)]);
        }
        for ino in state.kernel.lookups.some().each() {
            if state.kernel.open.has(ino) {
                steps.push(Step::Close(ino));
                continue;
            }
            steps.extend([Step::Open(ino), Step::Evict(ino)]);
        }
        steps.push(Step::Cut);
        let answered = state.daemon.busy() == 0 && state.channel.entries.some().is_empty();
        if answered && state.kernel.open.is_empty() {
            steps.push(Step::Unmount);
        }
    }

    /// RELEASE, which the daemon need not know of.
    pub(super) fn close(&self, state: &mut State, ino: Ino) {
        state.kernel.open.take(ino);
        if self.has(Bug::EndsWithRelease) {
            state.daemon.release(ino, u8::MAX);
        }
    }
}

impl Request {
    /// What the kernel may have asked.
    pub(super) fn possible(state: &State) -> impl Iterator<Item = Self> {
        let linked = state.kernel.lookups.some();
        let of_name = move |name| {
            let plain = [Self::Lookup(name), Self::Create(name), Self::Unlink(name), Self::Rename(name)];
            plain.into_iter().chain(linked.each().map(move |ino| Self::Link(ino, name)))
        };
        Name::ALL.into_iter().flat_map(of_name).chain([Self::List])
    }
}

impl State {
    pub(super) fn take_in(&mut self, ino: Ino) {
        self.channel.entries[ino] -= 1;
        self.kernel.lookups[ino] += 1;
    }

    pub(super) fn refuse(&mut self, ino: Ino) {
        self.channel.entries[ino] -= 1;
        self.channel.forgets[0][ino] += 1;
    }

    pub(super) fn evict(&mut self, ino: Ino) {
        let count = std::mem::take(&mut self.kernel.lookups[ino]);
        self.channel.forgets[usize::from(count) - 1][ino] += 1;
    }

    /// What was read goes on; what the kernel has not taken in, and what it would send, is gone. It keeps its inodes
    /// and those who have them open, but can give nothing back.
    pub(super) fn cut(&mut self) {
        self.phase = Phase::Cut;
        self.channel = Channel::default();
    }
}
