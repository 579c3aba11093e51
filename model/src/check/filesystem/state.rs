//! A state of a space: a file system, and what was seen of listings under way.

use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

use super::Promise;
use super::listing::Watches;
use crate::fs::{FileSystem, Node};
use crate::values::{InodeId, Time};

/// A state of a [`Space`](super::Space).
#[derive(Clone, PartialEq, Eq)]
pub struct State {
    /// In its canonical form.
    pub(super) fs: FileSystem,
    pub(super) watches: Watches,
    /// The promise that the call which led here has broken.
    pub(super) broken: Option<Promise>,
}

impl State {
    pub(super) fn new(fs: FileSystem) -> Self {
        Self { fs, watches: Watches::default(), broken: None }
    }

    /// The file system.
    #[must_use]
    pub const fn file_system(&self) -> &FileSystem {
        &self.fs
    }
}

/// Without the profile, which never changes, and the next numbers, which the canonical form fixes.
impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.fs.inodes().hash(hasher);
        self.fs.descriptions().hash(hasher);
        self.fs.processes().hash(hasher);
        self.fs.is_read_only().hash(hasher);
        self.watches.hash(hasher);
        self.broken.hash(hasher);
    }
}

fn seconds(time: Time) -> String {
    match time {
        Time::At(time) => time.seconds.to_string(),
        other => format!("{other:?}"),
    }
}

/// As a listing of the tree, of what has no name, and of what is open.
impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        for (id, inode) in self.fs.inodes() {
            let times = [inode.atime, inode.mtime, inode.ctime];
            let times = if times == [super::START; 3] {
                String::new()
            } else {
                let [atime, mtime, ctime] = times.map(seconds);
                format!(" a {atime} m {mtime} c {ctime}")
            };
            let holds = match &inode.node {
                Node::Directory(directory) => {
                    let entries = directory.entries.iter();
                    let entries = entries.map(|(name, dentry)| format!("{name:?} is {}", dentry.inode.0));
                    format!(
                        "directory in {} of [{}]",
                        directory.parent.0,
                        entries.collect::<Vec<_>>().join(", ")
                    )
                }
                Node::Regular(content) => format!("{content:?}"),
                Node::Symlink(target) => format!("symlink to {target:?}"),
                Node::Special(kind, _) => format!("{kind:?}"),
            };
            let (mode, uid, gid, names) = (inode.permissions, inode.uid, inode.gid, inode.names);
            let root = if *id == InodeId::ROOT { " (root)" } else { "" };
            let _ = write!(
                text,
                "\n        inode {}{root}: {names} names, {mode:04o} {uid}:{gid}{times}, {holds}",
                id.0
            );
            if !inode.xattrs.is_empty() {
                let _ = write!(text, " {:?}", inode.xattrs);
            }
        }
        for ((process, handle), description) in self.fs.descriptions() {
            let (inode, offset, listing) = (description.inode.0, description.offset, &description.listing);
            let flags = description.flags.iter_names().map(|(name, _)| name).collect::<Vec<_>>().join("|");
            let _ = write!(
                text,
                "\n        process {} has handle {} on inode {inode} for {flags} at {offset}, {} entries listed",
                process.0,
                handle.0,
                listing.length()
            );
        }
        if let Some(violation) = self.fs.violation() {
            let _ = write!(text, "\n        violation: {violation:?}");
        }
        f.write_str(text.trim_start())
    }
}
