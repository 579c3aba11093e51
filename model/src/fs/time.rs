//! When times move (FS-TIME).

use super::{FileSystem, Inode};
use crate::profile::AtimePolicy;
use crate::values::{InodeId, Time};

/// A day in seconds: how old an access time may become under the relative policy.
const DAY: i64 = 24 * 60 * 60;

impl Inode {
    /// Content changed.
    pub(super) const fn modified(&mut self, now: Time) {
        self.mtime = now;
        self.ctime = now;
    }
}

impl FileSystem {
    pub(super) fn inode_mut(&mut self, inode: InodeId) -> &mut Inode {
        self.inodes.get_mut(&inode).expect("callers have found the inode in this very call")
    }

    /// FS-TIME-4: `inode` was read.
    pub(super) fn accessed(&mut self, inode: InodeId, now: Time) {
        if self.read_only {
            return;
        }
        let policy = self.profile.atime;
        let inode = self.inode_mut(inode);
        inode.atime = match policy {
            AtimePolicy::Never => return,
            AtimePolicy::Strict => now,
            AtimePolicy::Unchecked => Time::Unknown,
            AtimePolicy::Relative => match (inode.atime, inode.mtime, inode.ctime, now) {
                (Time::At(atime), Time::At(mtime), Time::At(ctime), Time::At(present)) => {
                    let due = atime <= mtime
                        || atime <= ctime
                        || present.seconds.saturating_sub(atime.seconds) >= DAY;
                    if due { now } else { inode.atime }
                }
                // On the machine's clock two steps may have had one time: which was later cannot be said.
                _ => Time::Unknown,
            },
        };
    }

    /// The entries of `directory` changed.
    pub(super) fn directory_changed(&mut self, directory: InodeId, now: Time) {
        self.inode_mut(directory).modified(now);
    }
}
