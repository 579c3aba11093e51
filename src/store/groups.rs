//! How the groups so far have ended (DUR-6): those above the store ask what became of the one that they were in.

use crate::error::Errno;

/// The groups that have ended since the database was opened, counted in their order from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedGroups {
    /// How many were committed.
    pub committed: u64,
    /// How many could not be: what they held is gone, and barriers must say so.
    pub lost: u64,
    /// Why the last of those was lost.
    pub errno: Option<Errno>,
    /// Which ones. A group is rarely lost, so that they are few.
    lost_numbers: Vec<u64>,
}

impl EndedGroups {
    /// The number of the group that is open, or is opened next.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.committed + self.lost
    }

    /// Whether the group with this number was lost.
    #[must_use]
    pub fn was_lost(&self, number: u64) -> bool {
        self.lost_numbers.binary_search(&number).is_ok()
    }

    pub(crate) const fn commit(&mut self) {
        self.committed += 1;
    }

    pub(crate) fn lose(&mut self, errno: Errno) {
        self.lost_numbers.push(self.next());
        self.lost += 1;
        self.errno = Some(errno);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: DUR-6
    #[test]
    fn every_group_is_known_by_how_it_ended() {
        let mut ended = EndedGroups::default();
        for lost in [false, true, true, false, true] {
            if lost { ended.lose(Errno::EIO) } else { ended.commit() }
        }
        assert_eq!((ended.committed, ended.lost, ended.next()), (2, 3, 5));
        assert_eq!((0..6).filter(|&number| ended.was_lost(number)).collect::<Vec<_>>(), [1, 2, 4]);
    }
}
