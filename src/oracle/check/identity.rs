//! Which number of the implementation stands for which inode of the model.
//!
//! Keeps ORA-24, and with it FMT-9 and FS-RENAME-8: two inodes never have one number, an inode never gets another one, and a number of an
//! inode that is gone comes again only where the profile says so.

use std::collections::BTreeMap;

use agentfs_model::fs::FileSystem;
use agentfs_model::values::InodeId;

/// The numbers seen so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identities {
    number_of: BTreeMap<InodeId, u64>,
    /// Also those of inodes that are gone, where they may not come again.
    inode_of: BTreeMap<u64, InodeId>,
    reused: bool,
}

impl Identities {
    pub(super) const fn new(reused: bool) -> Self {
        Self { number_of: BTreeMap::new(), inode_of: BTreeMap::new(), reused }
    }

    /// What is wrong with `number` standing for `inode`; None when it may.
    pub(super) fn contradiction(&self, inode: InodeId, number: u64) -> Option<String> {
        if let Some(known) = self.number_of.get(&inode)
            && *known != number
        {
            return Some(format!("it had number {known} before"));
        }
        match self.inode_of.get(&number) {
            Some(other) if *other != inode && self.number_of.contains_key(other) => {
                Some("the number is that of another inode".into())
            }
            Some(other) if *other != inode => Some("the number was that of an inode that is gone".into()),
            _ => None,
        }
    }

    /// `number` stands for `inode`.
    pub(super) fn learn(&mut self, inode: InodeId, number: u64) {
        self.number_of.insert(inode, number);
        self.inode_of.insert(number, inode);
    }

    /// Inodes that `model` does not have any more are gone.
    pub(super) fn retain(&mut self, model: &FileSystem) {
        let Self { number_of, inode_of, reused } = self;
        number_of.retain(|inode, _| model.inodes().contains_key(inode));
        if *reused {
            inode_of.retain(|_, inode| number_of.contains_key(inode));
        }
    }

    /// The model went back to an earlier state: it gives the numbers after it again, to other inodes.
    pub(super) fn go_back(&mut self, model: &FileSystem) {
        self.number_of.retain(|inode, _| model.inodes().contains_key(inode));
        self.inode_of.retain(|_, inode| self.number_of.contains_key(inode));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: FMT-9
    #[test]
    fn a_number_stands_for_one_inode_and_an_inode_has_one_number() {
        let mut identities = Identities::new(false);
        assert_eq!(identities.contradiction(InodeId(2), 70), None);
        identities.learn(InodeId(2), 70);
        assert_eq!(identities.contradiction(InodeId(2), 70), None);
        assert!(identities.contradiction(InodeId(2), 71).is_some());
        assert!(identities.contradiction(InodeId(3), 70).is_some());
    }
}
