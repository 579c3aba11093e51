//! Follows listings by the names that they return, which is all that a caller has (FS-DIR-3, FS-RENAME-7).
//!
//! A name is there throughout as long as it exists after every call since the listing began. Where a file system may take
//! a name that rename puts in place of another for a new one, it must name the same inode all the time as well.

use std::collections::{BTreeMap, BTreeSet};

use super::Promise;
use super::judge::Step;
use crate::bytes::Bytes;
use crate::call::Operation;
use crate::fs::{Dentry, FileSystem, Node};
use crate::outcome::Outcome;
use crate::values::{Handle, InodeId, ProcessId};

/// The listings under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Watches(BTreeMap<(ProcessId, Handle), Watch>);

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Watch {
    /// What has been there since it began; None before it begins.
    throughout: Option<BTreeSet<Bytes>>,
    /// What it has returned, in order. Names that are not there throughout may come again, so that they are forgotten.
    returned: Vec<Option<Bytes>>,
}

fn entries(fs: &FileSystem, inode: InodeId) -> Option<&BTreeMap<Bytes, Dentry>> {
    match &fs.inodes().get(&inode)?.node {
        Node::Directory(directory) => Some(&directory.entries),
        _ => None,
    }
}

impl Watch {
    /// A call has changed `before` to `after`.
    fn pass(&mut self, before: &BTreeMap<Bytes, Dentry>, after: &BTreeMap<Bytes, Dentry>, same_inode: bool) {
        let Some(throughout) = &mut self.throughout else { return };
        throughout.retain(|name| match (before.get(name), after.get(name)) {
            (Some(old), Some(new)) => !same_inode || old.inode == new.inode,
            _ => false,
        });
        for name in &mut self.returned {
            if name.as_ref().is_some_and(|name| !throughout.contains(name)) {
                *name = None;
            }
        }
    }

    /// A call of readdir has returned these.
    fn returns(&mut self, names: Vec<Bytes>) -> Option<Promise> {
        let throughout = self.throughout.get_or_insert_default();
        let seen = |name: &Bytes| self.returned.iter().flatten().any(|returned| returned == name);
        let twice = names.iter().any(seen);
        let missed = names.is_empty() && throughout.iter().any(|name| !seen(name));
        self.returned.extend(names.into_iter().map(|name| throughout.contains(&name).then_some(name)));
        (twice || missed).then_some(Promise::ListedOnce)
    }
}

impl Watches {
    pub(super) fn are_under_way(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether something that was returned is not there throughout any more.
    pub(super) fn has_lost(&self) -> bool {
        self.0.values().any(|watch| watch.returned.contains(&None))
    }

    /// Takes note of the call; says when it breaks the promise.
    pub(super) fn follow(&mut self, step: &Step<'_>) -> Option<Promise> {
        if step.is_refused() {
            return None;
        }
        let same_inode = !step.before.profile().replaced_entry_stays;
        let (before, after) = (step.before, step.after);
        self.0.retain(|key, watch| {
            let Some(description) = after.descriptions().get(key) else { return false };
            let entries = (entries(before, description.inode), entries(after, description.inode));
            if let (Some(before), Some(after)) = entries {
                watch.pass(before, after, same_inode);
            }
            true
        });
        let key = |handle: &Handle| (step.call.by, *handle);
        match (&step.call.operation, step.answer) {
            (Operation::Readdir { handle, .. }, Some(Outcome::Entries(entries))) => {
                let watch = self.0.entry(key(handle)).or_default();
                let inode = after.descriptions().get(&key(handle))?.inode;
                let present =
                    || self::entries(after, inode).into_iter().flatten().map(|(name, _)| name.clone());
                watch.throughout.get_or_insert_with(|| present().collect());
                watch.returns(entries.iter().map(|entry| entry.name.clone()).collect())
            }
            (Operation::Seekdir { handle, after }, _) => {
                if *after == 0 {
                    self.0.remove(&key(handle));
                } else if let Some(watch) = self.0.get_mut(&key(handle)) {
                    watch.returned.truncate(*after as usize);
                }
                None
            }
            _ => None,
        }
    }
}
