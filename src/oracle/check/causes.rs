//! Which step gave each attribute of each inode its present value: the step to name when it is wrong later.

use std::collections::BTreeMap;

use agentfs_model::fs::{FileSystem, Inode, Node};
use agentfs_model::outcome::RuleId;
use agentfs_model::values::{FileKind, InodeId, Time};

/// An attribute that stat shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Field {
    Inode,
    Kind,
    Permissions,
    Links,
    Uid,
    Gid,
    Size,
    Blocks,
    Rdev,
    Atime,
    Mtime,
    Ctime,
}

impl Field {
    /// As it is called in a status.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Inode => "inode",
            Self::Kind => "kind",
            Self::Permissions => "permissions",
            Self::Links => "links",
            Self::Uid => "uid",
            Self::Gid => "gid",
            Self::Size => "size",
            Self::Blocks => "blocks",
            Self::Rdev => "rdev",
            Self::Atime => "atime",
            Self::Mtime => "mtime",
            Self::Ctime => "ctime",
        }
    }

    /// The rules that say what it shows.
    pub(super) const fn rules(self, kind: FileKind) -> &'static [&'static str] {
        match (self, kind) {
            (Self::Inode, _) => &["FMT-9", "FS-RENAME-8"],
            (Self::Kind, _) => &["FS-CREATE-1"],
            (Self::Permissions, _) => &["FS-PERM-14", "FS-PERM-11", "FS-ATTR-10"],
            (Self::Links, FileKind::Directory) => &["FS-NLINK-2"],
            (Self::Links, _) => &["FS-NLINK-2", "FS-NLINK-1"],
            (Self::Uid, _) => &["FS-PERM-6", "FS-PERM-8"],
            (Self::Gid, _) => &["FS-PERM-6", "FS-PERM-9"],
            (Self::Size, FileKind::Regular) => &["FS-DATA-3", "FS-TRUNC-1"],
            (Self::Size, _) => &["FS-ATTR-2"],
            (Self::Blocks, _) => &["FS-ATTR-3"],
            (Self::Rdev, _) => &["FMT-12"],
            (Self::Atime, _) => &["FS-TIME-3", "FS-TIME-4"],
            (Self::Mtime | Self::Ctime, _) => &["FS-TIME-3"],
        }
    }
}

/// A step that changed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    /// Its number.
    pub(super) step: u32,
    /// Its call.
    pub(super) operation: &'static str,
    /// The rules that it followed.
    pub(super) rules: Vec<RuleId>,
}

/// The last cause of each attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Causes(BTreeMap<(InodeId, Field), Cause>);

impl Causes {
    /// What gave the attribute its present value.
    pub(super) fn of(&self, inode: InodeId, field: Field) -> Option<&Cause> {
        self.0.get(&(inode, field))
    }

    /// `cause` led from one state to the next.
    pub(super) fn note(&mut self, before: &FileSystem, after: &FileSystem, cause: &Cause) {
        for (id, inode) in after.inodes() {
            let old = before.inodes().get(id);
            if old == Some(inode) {
                continue;
            }
            for field in changed(old, inode) {
                self.0.insert((*id, field), cause.clone());
            }
        }
        self.0.retain(|(id, _), _| after.inodes().contains_key(id));
    }
}

/// The attributes in which an inode differs from what it was; all when it is new.
fn changed(old: Option<&Inode>, new: &Inode) -> Vec<Field> {
    let size = |inode: &Inode| match &inode.node {
        Node::Regular(content) => content.size(),
        _ => 0,
    };
    let is = |time: fn(&Inode) -> Time| old.map(time) != Some(time(new));
    let candidates = [
        (Field::Permissions, old.map(|inode| inode.permissions) != Some(new.permissions)),
        (Field::Links, old.map(|inode| inode.names) != Some(new.names)),
        (Field::Uid, old.map(|inode| inode.uid) != Some(new.uid)),
        (Field::Gid, old.map(|inode| inode.gid) != Some(new.gid)),
        (Field::Size, old.map(size) != Some(size(new))),
        (Field::Blocks, old.map(|inode| &inode.node) != Some(&new.node)),
        (Field::Atime, is(|inode| inode.atime)),
        (Field::Mtime, is(|inode| inode.mtime)),
        (Field::Ctime, is(|inode| inode.ctime)),
    ];
    candidates.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect()
}
