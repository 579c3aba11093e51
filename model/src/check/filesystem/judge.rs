//! Judges one call: the state before, the answer, and the state after, by statements that do not know how the model works.
//!
//! Keeps FS-REAP-1, FS-LINK-2, FS-RENAME-1, FS-PERM-3, FS-PERM-4, FS-PERM-12, FS-TIME-3, FS-DATA-1, FS-TRUNC-1, CALL-12, each as
//! a statement about what may be different after a call. What is here need not be complete: it must be true, and simple.

mod bytes;
mod names;
mod times;

use super::Promise;
use crate::call::{Call, OpenFlags, Operation};
use crate::fs::{FileSystem, Node};
use crate::outcome::Outcome;
use crate::values::{FileKind, Time};

use names::Change;

/// One call, and what it made of the state.
#[derive(Clone, Copy)]
pub(super) struct Step<'s> {
    pub(super) before: &'s FileSystem,
    pub(super) call: &'s Call,
    /// None where the answer tells nothing that is looked at.
    pub(super) answer: Option<&'s Outcome>,
    /// The first rule that is named for the answer.
    pub(super) rule: &'s str,
    pub(super) after: &'s FileSystem,
    pub(super) now: Time,
    /// Whether the state is another one, which is dear to find out.
    pub(super) changed: bool,
}

impl Step<'_> {
    pub(super) const fn is_refused(&self) -> bool {
        matches!(self.answer, Some(Outcome::Error(_)))
    }

    /// The promise that the call breaks, if any.
    pub(super) fn broken_promise(&self) -> Option<Promise> {
        if self.is_refused() {
            return self.refusal();
        }
        let answers = || self.right_answer().then_some(()).map_or(Some(Promise::ContentAsWritten), |()| None);
        if !self.changed && !matches!(self.call.operation, Operation::Rename { .. }) {
            return answers();
        }
        let changes = names::changes(self.before, self.after);
        let promises: [(Promise, &dyn Fn() -> bool); 8] = [
            (Promise::OpenStays, &|| self.open_stays()),
            (Promise::NamelessStays, &|| self.nameless_stays()),
            (Promise::StickyHolds, &|| changes.iter().all(|change| self.may_be_taken_out(change))),
            (Promise::EntriesNeedPermission, &|| changes.iter().all(|change| self.may_be_changed(change))),
            (Promise::EntriesAsAsked, &|| self.as_asked(&changes)),
            (Promise::ContentAsWritten, &|| self.holds_what_was_written()),
            (Promise::SetIdFalls, &|| self.set_id_falls()),
            (Promise::TimesTell, &|| self.times_tell(&changes)),
        ];
        promises.iter().find(|(_, is_kept)| !is_kept()).map(|(promise, _)| *promise).or_else(answers)
    }

    fn refusal(&self) -> Option<Promise> {
        if !is_rule(self.rule) {
            return Some(Promise::RefusalHasRule);
        }
        (self.changed && !self.differs_in_passed_symlinks()).then_some(Promise::RefusalChangesNothing)
    }

    /// CALL-12.
    fn differs_in_passed_symlinks(&self) -> bool {
        let (before, after) = (self.before, self.after);
        let inodes = before.inodes().len() == after.inodes().len()
            && before.inodes().iter().zip(after.inodes()).all(|((old_id, old), (new_id, new))| {
                let passed = old.kind() == FileKind::Symlink && new.atime == self.now;
                let atime = if passed { new.atime } else { old.atime };
                old_id == new_id && (old == new || crate::fs::Inode { atime, ..old.clone() } == *new)
            });
        inodes
            && before.descriptions() == after.descriptions()
            && before.processes() == after.processes()
            && before.is_read_only() == after.is_read_only()
    }

    /// FS-REAP-1.
    fn open_stays(&self) -> bool {
        let closed = match &self.call.operation {
            Operation::Close { handle } => Some((self.call.by, *handle)),
            Operation::Reopen { .. } | Operation::Crash => return self.after.descriptions().is_empty(),
            _ => None,
        };
        self.before.descriptions().iter().filter(|(key, _)| Some(**key) != closed).all(|(key, old)| {
            let kind = |fs: &FileSystem| fs.inodes().get(&old.inode).map(crate::fs::Inode::kind);
            let same = self.after.descriptions().get(key).is_some_and(|new| new.inode == old.inode);
            same && kind(self.after).is_some() && kind(self.before) == kind(self.after)
        })
    }

    /// FS-LINK-2.
    fn nameless_stays(&self) -> bool {
        self.before
            .inodes()
            .iter()
            .filter(|(_, inode)| inode.names == 0)
            .all(|(id, _)| self.after.inodes().get(id).is_none_or(|inode| inode.names == 0))
    }

    /// FS-PERM-12, MNT-38.
    fn set_id_falls(&self) -> bool {
        if self.before.processes()[usize::from(self.call.by.0)].credentials.is_superuser() {
            return true;
        }
        self.before.inodes().iter().all(|(id, old)| {
            let Some(new) = self.after.inodes().get(id) else { return true };
            let (Node::Regular(was), Node::Regular(is)) = (&old.node, &new.node) else { return true };
            let powerful = new.permissions & 0o4000 != 0 || new.permissions & 0o2010 == 0o2010;
            was == is || !powerful
        })
    }
}

/// Whether a text has the form of a rule's id.
fn is_rule(text: &str) -> bool {
    let Some((family, number)) = text.rsplit_once('-') else { return false };
    let capitals = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase());
    family.split('-').all(capitals) && number.parse::<u32>().is_ok_and(|number| number > 0)
}

/// Whether the call may write to a file's content, one way or another.
const fn writes(operation: &Operation) -> bool {
    match operation {
        Operation::Open { flags, .. } => flags.contains(OpenFlags::TRUNCATE),
        Operation::Write { .. }
        | Operation::Pwrite { .. }
        | Operation::Truncate { .. }
        | Operation::Fallocate { .. }
        | Operation::CopyFileRange { .. } => true,
        _ => false,
    }
}

impl Step<'_> {
    fn credentials(&self) -> &crate::values::Credentials {
        &self.before.processes()[usize::from(self.call.by.0)].credentials
    }

    /// FS-PERM-4.
    fn may_be_taken_out(&self, change: &Change<'_>) -> bool {
        let Some(old) = change.old else { return true };
        let directory = &self.before.inodes()[&change.parent];
        let uid = self.credentials().uid;
        directory.permissions & 0o1000 == 0
            || uid == 0
            || uid == directory.uid
            || self.before.inodes().get(&old).is_some_and(|inode| inode.uid == uid)
    }

    /// FS-PERM-3.
    fn may_be_changed(&self, change: &Change<'_>) -> bool {
        let Some(directory) = self.before.inodes().get(&change.parent) else { return false };
        let credentials = self.credentials();
        let shift = match () {
            () if credentials.is_superuser() => return true,
            () if credentials.uid == directory.uid => 6,
            () if credentials.is_member(directory.gid) => 3,
            () => 0,
        };
        directory.permissions >> shift & 0o3 == 0o3
    }
}
