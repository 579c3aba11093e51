//! The whole tree as plain data, for whoever compares it with a file system's.

use super::{FileSystem, Node};
use crate::bytes::Bytes;
use crate::outcome::StatusPattern;
use crate::values::{FileKind, InodeId, Time};

/// What an object holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectContent {
    /// Stretches of bytes that are not all zeros, by offset; everything else reads as zeros.
    Extents(Vec<(u64, Vec<u8>)>),
    /// The names in it, sorted.
    Entries(Vec<Bytes>),
    /// Where it points.
    Target(Bytes),
    /// Nothing.
    Nothing,
}

/// An object of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// From the root, without a leading slash; the root's is empty. Other names of one inode are other objects.
    pub path: Bytes,
    /// What stat shows.
    pub status: StatusPattern,
    /// Its extended attributes, sorted by name.
    pub xattrs: Vec<(Bytes, Bytes)>,
    /// What it holds.
    pub content: ObjectContent,
}

impl FileSystem {
    /// Every object that has a path, parents before children, names in the order of their bytes.
    #[must_use]
    pub fn tree(&self) -> Vec<Object> {
        let mut objects = Vec::new();
        let mut waiting = vec![(Bytes::default(), InodeId::ROOT)];
        while let Some((path, inode)) = waiting.pop() {
            if let Some(directory) = self.directory(inode) {
                let child = |(name, dentry): (&Bytes, &super::Dentry)| {
                    let separator: &[u8] = if path.is_empty() { b"" } else { b"/" };
                    (Bytes([&*path, separator, name].concat()), dentry.inode)
                };
                waiting.extend(directory.entries.iter().rev().map(child));
            }
            objects.push(self.object_at(path, inode));
        }
        objects
    }

    fn object_at(&self, path: Bytes, id: InodeId) -> Object {
        let inode = &self.inodes[&id];
        let content = match &inode.node {
            Node::Regular(content) => ObjectContent::Extents(content.extents(self.layout())),
            Node::Directory(directory) => ObjectContent::Entries(directory.entries.keys().cloned().collect()),
            Node::Symlink(target) => ObjectContent::Target(target.clone()),
            Node::Special(..) => ObjectContent::Nothing,
        };
        let xattrs = inode.xattrs.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let status = self.status(id).expect("entries name inodes that exist");
        Object { path, status, xattrs, content }
    }

    /// Takes the processes as they are in `now`: their umask is theirs, and no crash of the file system sets it back.
    pub fn keep_processes(&mut self, now: &Self) {
        self.processes.clone_from(&now.processes);
    }

    /// Forgets the access times of everything that has a path: after a crash they may be older (DUR-12).
    pub fn forget_access_times(&mut self) {
        for inode in self.inodes.values_mut() {
            inode.atime = Time::Unknown;
        }
    }

    /// Forgets the access times of symlinks: somebody may have followed them beside the calls of the trace.
    pub fn forget_followed_symlinks(&mut self) {
        for inode in self.inodes.values_mut().filter(|inode| inode.kind() == FileKind::Symlink) {
            inode.atime = Time::Unknown;
        }
    }
}
