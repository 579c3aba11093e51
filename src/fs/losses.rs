//! Who must hear that a group was lost: each inode that it touched, by its next fsync, and everybody by the next sync.
//!
//! Keeps DUR-6. A loss is told once; only barriers that were under way together may all tell it, since each of them
//! answers for what was done before it began.

use std::collections::{HashMap, HashSet};

use crate::error::Errno;
use crate::store::EndedGroups;
use crate::types::Ino;

/// What a barrier is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Concern {
    /// fsync of an inode.
    Inode(Ino),
    /// sync.
    Everything,
}

/// When a barrier began, among the losses that were told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Begun(u64);

/// What became of groups since it was last asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    /// One was lost.
    pub(super) lost: bool,
    /// The one in which inodes were touched was lost. Others come and go in which only keys are changed.
    pub(super) own_lost: bool,
    /// That one has ended, one way or the other.
    pub(super) own_ended: bool,
}

#[derive(Default)]
pub(super) struct Losses {
    /// Inodes changed in the group `group`.
    touched: HashSet<Ino>,
    group: u64,
    /// Lost groups that were noticed.
    noticed: u64,
    /// What was lost, until a barrier has said so.
    untold: HashMap<Concern, Errno>,
    /// What a barrier has said, and when, while others are under way that may have begun before.
    told: HashMap<Concern, (u64, Errno)>,
    tellings: u64,
    barriers: usize,
}

impl Losses {
    /// Takes over what became of the groups, before the next operation joins one.
    pub(super) fn settle(&mut self, ended: &EndedGroups) -> Settled {
        let settled = Settled {
            lost: ended.lost != self.noticed,
            own_lost: ended.was_lost(self.group),
            own_ended: ended.next() != self.group,
        };
        let errno = ended.errno.unwrap_or(Errno::EIO);
        if settled.lost {
            self.noticed = ended.lost;
            self.untold.insert(Concern::Everything, errno);
        }
        if settled.own_ended {
            let touched = self.touched.drain().map(|ino| (Concern::Inode(ino), errno));
            if settled.own_lost {
                self.untold.extend(touched);
            }
        }
        self.group = ended.next();
        settled
    }

    /// The group that is open holds changes of these.
    pub(super) fn touch(&mut self, inos: impl IntoIterator<Item = Ino>) {
        self.touched.extend(inos);
    }

    /// A barrier begins.
    pub(super) fn begin(&mut self) -> Begun {
        self.barriers += 1;
        Begun(self.tellings)
    }

    /// The loss that a barrier must report.
    pub(super) fn take(&mut self, concern: Concern, begun: Begun) -> Option<Errno> {
        if let Some(errno) = self.untold.remove(&concern) {
            self.tellings += 1;
            self.told.insert(concern, (self.tellings, errno));
            return Some(errno);
        }
        let told = self.told.get(&concern).filter(|(when, _)| *when > begun.0);
        told.map(|(_, errno)| *errno)
    }

    /// A barrier ends.
    pub(super) fn end(&mut self) {
        self.barriers -= 1;
        if self.barriers == 0 {
            self.told.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Concern = Concern::Inode(Ino(7));

    /// A barrier alone.
    fn tells(losses: &mut Losses, concern: Concern) -> bool {
        let begun = losses.begin();
        let told = losses.take(concern, begun).is_some();
        losses.end();
        told
    }

    fn group_with(losses: &mut Losses, inos: &[u64], ended: &EndedGroups) {
        losses.settle(ended);
        losses.touch(inos.iter().copied().map(Ino));
    }

    // spec: DUR-6
    #[test]
    fn a_loss_is_told_once_to_each_inode_and_once_to_sync() {
        let (mut losses, mut ended) = (Losses::default(), EndedGroups::default());
        group_with(&mut losses, &[7], &ended);
        ended.lose(Errno::EIO);
        assert!(losses.settle(&ended).own_lost);
        assert!(!tells(&mut losses, Concern::Inode(Ino(8))));
        for concern in [FILE, Concern::Everything] {
            assert!(tells(&mut losses, concern));
            assert!(!tells(&mut losses, concern), "{concern:?}");
        }
    }

    // spec: DUR-6
    #[test]
    fn what_became_of_one_group_is_not_taken_for_what_became_of_the_next() {
        let fates = [[true, false], [false, true], [true, true], [false, false]];
        for [first, second] in fates {
            let (mut losses, mut ended) = (Losses::default(), EndedGroups::default());
            group_with(&mut losses, &[7], &ended);
            for lost in [first, second] {
                if lost { ended.lose(Errno::EIO) } else { ended.commit() }
            }
            losses.settle(&ended);
            assert_eq!(tells(&mut losses, FILE), first, "{first} {second}");
            assert_eq!(tells(&mut losses, Concern::Everything), first || second, "{first} {second}");
        }
    }

    // spec: DUR-6
    #[test]
    fn barriers_that_are_under_way_together_all_tell_a_loss_and_later_ones_do_not() {
        let (mut losses, mut ended) = (Losses::default(), EndedGroups::default());
        group_with(&mut losses, &[7], &ended);
        let (early, late) = (losses.begin(), losses.begin());
        ended.lose(Errno::ENOSPC);
        losses.settle(&ended);
        assert_eq!(losses.take(FILE, late), Some(Errno::ENOSPC));
        losses.end();
        assert!(!tells(&mut losses, FILE), "it began when the loss had been told");
        assert_eq!(losses.take(FILE, early), Some(Errno::ENOSPC));
        losses.end();
        assert!(losses.told.is_empty(), "nobody can ask any more");
    }
}
