//! From a call to what answers it, and what is not a call.

use super::attributes::CAPABILITY;
use super::description::LAST_PAGE;
use super::{Answer, FileSystem, Inadmissible, Node};
use crate::Errno;
use crate::Errno::{EEXIST, ENOSPC, ENOTEMPTY, EPERM};
use crate::call::{AccessMode, Call, FallocateMode, Object, OpenFlags, Operation, Place, TimeChange, Whence};
use crate::outcome::{Expected, Outcome, RuleId};
use crate::values::{Handle, ProcessId, Time};

/// What may not be there on a disk: asking for more may be refused for want of room (FS-ALLOC-8).
const PLENTY: u64 = 16 << 20;
/// The most bytes that one call of a trace reads.
const LARGEST_READ: u64 = 64 << 20;

impl FileSystem {
    /// Answers `call` and changes the state.
    pub(super) fn run(&mut self, now: Time, call: &Call) -> Answer {
        let who = call.by;
        match &call.operation {
            Operation::Umask { mask } => Ok(self.umask(who, *mask)),
            Operation::Open { path, flags, mode, handle } => {
                self.open(who, path, *flags, *mode, *handle, now)
            }
            Operation::Close { handle } => self.close(who, *handle),
            Operation::Read { handle, length } => self.read(who, *handle, None, *length, now),
            Operation::Pread { handle, offset, length } => {
                self.read(who, *handle, Some(*offset), *length, now)
            }
            Operation::Write { handle, data } => self.write(who, *handle, None, data, now),
            Operation::Pwrite { handle, offset, data } => self.write(who, *handle, Some(*offset), data, now),
            Operation::Seek { handle, offset, whence } => self.seek(who, *handle, *offset, *whence),
            Operation::Truncate { object, size } => self.truncate(who, object, *size, now),
            Operation::Fallocate { handle, mode, offset, length } => {
                self.fallocate(who, *handle, *mode, (*offset, *length), now)
            }
            Operation::CopyFileRange { from, from_offset, to, to_offset, length } => {
                self.copy_file_range(who, (*from, *from_offset), (*to, *to_offset), *length, now)
            }
            Operation::Fsync { handle } | Operation::Fdatasync { handle } => self.fsync(who, *handle),
            Operation::Sync => Ok(Expected::done()),
            Operation::Stat { object } => self.stat(who, object, now),
            Operation::Access { path, mode } => self.access(who, path, *mode, now),
            Operation::Chmod { object, mode } => self.chmod(who, object, *mode, now),
            Operation::Chown { object, uid, gid } => self.chown(who, object, (*uid, *gid), now),
            Operation::Utimens { object, atime, mtime } => self.utimens(who, object, (*atime, *mtime), now),
            Operation::Mkdir { path, mode } => self.mkdir(who, path, *mode, now),
            Operation::Mknod { path, kind, mode, rdev } => self.mknod(who, path, (*kind, *rdev), *mode, now),
            Operation::Symlink { target, path } => self.symlink(who, target, path, now),
            Operation::Link { from, to, follow } => self.link(who, from, to, *follow, now),
            Operation::LinkHandle { handle, to } => self.link_handle(who, *handle, to, now),
            Operation::Unlink { path } => self.unlink(who, path, now),
            Operation::Rmdir { path } => self.rmdir(who, path, now),
            Operation::Rename { from, to, flags } => self.rename(who, from, to, *flags, now),
            Operation::Readlink { path } => self.readlink(who, path, now),
            Operation::Readdir { handle, count } => self.readdir(who, *handle, *count, now),
            Operation::Seekdir { handle, after } => self.seekdir(who, *handle, *after),
            Operation::Getxattr { object, name } => self.getxattr(who, object, name, now),
            Operation::Setxattr { object, name, value, mode } => {
                self.setxattr(who, object, (name, value), *mode, now)
            }
            Operation::Listxattr { object } => self.listxattr(who, object, now),
            Operation::Removexattr { object, name } => self.removexattr(who, object, name, now),
            Operation::Statfs => Ok(Self::statfs()),
            Operation::Reopen { read_only } => {
                self.close_all();
                self.read_only = *read_only;
                Ok(Expected::done())
            }
            Operation::Crash => {
                self.close_all();
                Ok(Expected::done())
            }
        }
    }

    /// What the answer tells about the state: a choice that was the implementation's.
    pub(super) fn learn(&mut self, call: &Call, outcome: &Outcome) {
        match (&call.operation, outcome) {
            (Operation::Readdir { handle, .. }, Outcome::Entries(entries)) => {
                self.returned(call.by, *handle, entries);
            }
            (
                Operation::Seek { handle, whence: Whence::Data | Whence::Hole, .. },
                Outcome::Offset(offset),
            ) => {
                self.description_mut(call.by, *handle).offset = *offset;
            }
            (Operation::CopyFileRange { .. }, Outcome::Count(count)) => self.copied_more(call, *count),
            _ => {}
        }
    }

    /// Refusals that are as right as `expected`, and change nothing.
    pub(super) fn other_refusals(&self, call: &Call, expected: &Expected) -> Vec<(Errno, &'static str)> {
        let refused = match expected {
            Expected::Exactly(Outcome::Error(errno)) => Some(*errno),
            _ => None,
        };
        let mut others = Vec::new();
        match &call.operation {
            Operation::Fallocate { length, mode, .. } if refused.is_none() && *length > PLENTY => {
                let takes_room = !mode.intersects(
                    FallocateMode::PUNCH_HOLE | FallocateMode::COLLAPSE_RANGE | FallocateMode::INSERT_RANGE,
                );
                if takes_room {
                    others.push((ENOSPC, "FS-ALLOC-8"));
                }
            }
            // A hole up to the end of the file may be answered as such.
            Operation::Seek { handle, offset, whence: Whence::Data } if refused.is_none() => {
                let content =
                    self.description(call.by, *handle).ok().and_then(|found| self.content(found.inode));
                let from = u64::try_from(*offset).unwrap_or_default();
                let unseen = |at: u64| at >= LAST_PAGE && !self.profile.last_page_sought;
                let hole = content
                    .is_some_and(|content| content.next_nonzero(from, self.layout()).is_none_or(unseen));
                if hole && !self.profile.layout {
                    others.push((Errno::ENXIO, "FS-SEEK-2"));
                }
            }
            // Where a listing stands is the file system's own number, and may be the largest there is.
            Operation::Read { handle, length: 1.. }
                if refused == Some(Errno::EISDIR) && !self.profile.directory_order =>
            {
                let listed = |found: &super::Description| found.listing.has_begun();
                if self.description(call.by, *handle).is_ok_and(listed) {
                    others.push((Errno::EINVAL, "CALL-3"));
                }
            }
            Operation::Rmdir { .. } | Operation::Rename { .. } if self.profile.posix_errors => {
                match refused {
                    Some(ENOTEMPTY) => others.push((EEXIST, "CALL-10")),
                    Some(EEXIST) => others.push((ENOTEMPTY, "CALL-10")),
                    _ => {}
                }
            }
            Operation::Unlink { .. } if self.profile.posix_errors && refused == Some(Errno::EISDIR) => {
                others.push((EPERM, "CALL-10"));
            }
            _ => {}
        }
        others
    }

    /// Whether `call` is one that a program could make in this state, and that the model speaks about.
    pub(super) fn admit(&self, call: &Call) -> Result<(), Inadmissible> {
        let refuse = |why: &str| Err(Inadmissible(why.to_owned()));
        if usize::from(call.by.0) >= self.processes.len() {
            return refuse("the setting has no process of that number");
        }
        match &call.operation {
            Operation::Open { flags, handle, .. } => {
                if !flags.intersects(OpenFlags::READ | OpenFlags::WRITE) {
                    return refuse("open needs READ, WRITE or both");
                }
                if OpenFlags::from_bits(flags.bits()).is_none() {
                    return refuse("open has no such flag");
                }
                if self.is_open(call.by, *handle) {
                    return refuse("the handle is in use");
                }
            }
            Operation::Access { mode, .. } if AccessMode::from_bits(mode.bits()).is_none() => {
                return refuse("access has no such mode");
            }
            Operation::Read { length, .. } | Operation::Pread { length, .. } if *length > LARGEST_READ => {
                return refuse("a read of more than 64 MiB");
            }
            Operation::Readdir { count: 0, .. } => return refuse("readdir needs a count of 1 or more"),
            Operation::Seek { handle, .. } if !self.is_regular(call.by, *handle) => {
                return refuse("seek is for regular files; seekdir is for directories");
            }
            Operation::Truncate { object: Object::Path { follow: false, .. }, .. } => {
                return refuse("truncate follows symlinks");
            }
            Operation::Seekdir { handle, after } if !self.has_returned(call.by, *handle, *after) => {
                return refuse("seekdir goes to an entry that the handle has returned");
            }
            Operation::Utimens { atime, mtime, .. } if [atime, mtime].into_iter().any(is_special) => {
                return refuse("UTIME_NOW and UTIME_OMIT are no nanoseconds");
            }
            Operation::Setxattr { name, value, .. }
                if self.profile.kernel && name == &CAPABILITY.into() && !is_capability(value) =>
            {
                return refuse("a value that is no set of capabilities, which the kernel understands itself");
            }
            Operation::Getxattr { name, .. }
            | Operation::Setxattr { name, .. }
            | Operation::Removexattr { name, .. }
                if name.contains(&0) =>
            {
                return refuse("a name of an attribute has no NUL");
            }
            _ => {}
        }
        Ok(())
    }

    /// A handle that is not open is the call's own affair (EBADF).
    fn is_regular(&self, who: ProcessId, handle: Handle) -> bool {
        self.description(who, handle).map_or(true, |found| self.content(found.inode).is_some())
    }

    fn has_returned(&self, who: ProcessId, handle: Handle, after: u32) -> bool {
        self.description(who, handle).map_or(true, |found| {
            self.directory(found.inode).is_none() || after as usize <= found.listing.length()
        })
    }

    fn readlink(&mut self, who: ProcessId, place: &Place, now: Time) -> Answer {
        let id = self.resolve(who, place, false, now)?;
        let Node::Symlink(target) = &self.inodes[&id].node else {
            return Err(super::refusal(Errno::EINVAL, "FS-LOOKUP-4"));
        };
        let target = target.clone();
        self.accessed(id, now);
        Ok(Expected::Exactly(Outcome::Target(target)))
    }
}

/// Whether the nanoseconds are one of the two numbers that have another meaning.
const fn is_special(change: &TimeChange) -> bool {
    matches!(change, TimeChange::At(time) if matches!(time.nanoseconds, 0x3fff_fffe | 0x3fff_ffff))
}

/// Whether the kernel passes the value of `security.capability` on as it is: empty, or `struct vfs_cap_data` of revision 2.
fn is_capability(value: &[u8]) -> bool {
    value.is_empty() || (value.len() == 20 && matches!(value[..4], [0 | 1, 0, 0, 2]))
}

impl Operation {
    /// The rules that say what the call does when it is not refused.
    #[must_use]
    pub fn rules(&self) -> Vec<RuleId> {
        let rules: &[&'static str] = match self {
            Self::Umask { .. } => &["FS-PERM-14"],
            Self::Open { .. } => &["FS-OPEN-1", "FS-OPEN-3", "FS-CREATE-1"],
            Self::Close { .. } => &["FS-REAP-4"],
            Self::Read { .. } | Self::Pread { .. } => &["FS-DATA-1", "CALL-2"],
            Self::Write { .. } | Self::Pwrite { .. } => &["FS-DATA-3", "CALL-2"],
            Self::Seek { .. } => &["FS-SEEK-1", "CALL-2"],
            Self::Truncate { .. } => &["FS-TRUNC-1", "FS-TRUNC-2"],
            Self::Fallocate { .. } => &["FS-ALLOC-1", "FS-ALLOC-2", "FS-ALLOC-3"],
            Self::CopyFileRange { .. } => &["FS-COPY-1"],
            Self::Fsync { .. } | Self::Fdatasync { .. } | Self::Sync => &["DUR-4"],
            Self::Stat { .. } => &["FS-ATTR-1"],
            Self::Access { .. } => &["FS-ATTR-11"],
            Self::Chmod { .. } => &["FS-ATTR-10"],
            Self::Chown { .. } => &["FS-PERM-8", "FS-PERM-9"],
            Self::Utimens { .. } => &["FS-ATTR-8", "FS-ATTR-9"],
            Self::Mkdir { .. } | Self::Mknod { .. } | Self::Symlink { .. } => &["FS-CREATE-1"],
            Self::Link { .. } | Self::LinkHandle { .. } => &["FS-LINK-1"],
            Self::Unlink { .. } => &["FS-UNLINK-1"],
            Self::Rmdir { .. } => &["FS-RMDIR-1"],
            Self::Rename { .. } => &["FS-RENAME-1", "FS-RENAME-3"],
            Self::Readlink { .. } => &["FS-LOOKUP-4"],
            Self::Readdir { .. } => &["FS-DIR-1", "FS-DIR-3", "FS-DIR-5"],
            Self::Seekdir { .. } => &["FS-DIR-4"],
            Self::Getxattr { .. } | Self::Setxattr { .. } => &["FS-XATTR-6"],
            Self::Listxattr { .. } => &["FS-XATTR-8"],
            Self::Removexattr { .. } => &["FS-XATTR-6"],
            Self::Statfs => &["FS-STATFS-1", "FS-STATFS-3"],
            Self::Reopen { .. } => &["OPEN-9", "OPEN-8"],
            Self::Crash => &["DUR-1"],
        };
        rules.iter().map(|rule| RuleId::Borrowed(rule)).collect()
    }
}
