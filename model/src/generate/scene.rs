//! What is there for one process: every name, every handle, every directory that has been removed but is open.

use crate::bytes::Bytes;
use crate::fs::{Description, FileSystem, Node};
use crate::values::{FileKind, Handle, InodeId, ProcessId};

use super::Alphabet;

/// Names listed at most: a trace of ordinary length makes fewer.
const MOST_NAMES: usize = 200;

/// A name in the tree.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// Its path from the root, without a slash before it.
    pub(super) path: Bytes,
    /// What it names.
    pub(super) inode: InodeId,
    /// What that is.
    pub(super) kind: FileKind,
}

/// A directory that a path can lead to.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    /// Its path from the root; empty for the root.
    pub(super) path: Bytes,
    /// Its inode.
    pub(super) inode: InodeId,
}

/// Everything that a call can be about.
pub(super) struct Scene<'a> {
    /// The state.
    pub(super) model: &'a FileSystem,
    /// What is drawn from.
    pub(super) alphabet: &'a Alphabet,
    /// Who calls.
    pub(super) by: ProcessId,
    /// Every name, parents before children.
    pub(super) names: Vec<Named>,
    /// Every directory, the root first.
    pub(super) folders: Vec<Folder>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(model: &'a FileSystem, alphabet: &'a Alphabet, by: ProcessId) -> Self {
        let mut folders = vec![Folder { path: Bytes::default(), inode: InodeId::ROOT }];
        let mut names = Vec::new();
        let mut at = 0;
        while let (Some(folder), true) = (folders.get(at).cloned(), names.len() < MOST_NAMES) {
            at += 1;
            let Node::Directory(directory) = &model.inodes()[&folder.inode].node else { continue };
            for (name, dentry) in &directory.entries {
                let path = below(&folder.path, name);
                let kind = model.inodes()[&dentry.inode].kind();
                if kind == FileKind::Directory {
                    folders.push(Folder { path: path.clone(), inode: dentry.inode });
                }
                names.push(Named { path, inode: dentry.inode, kind });
            }
        }
        Self { model, alphabet, by, names, folders }
    }

    /// The handles of the process whose inode is of a kind that `fits`.
    pub(super) fn handles(&self, fits: impl Fn(FileKind) -> bool) -> Vec<Handle> {
        let mine = self.mine().filter(|(_, description)| fits(self.kind(description.inode)));
        mine.map(|(handle, _)| handle).collect()
    }

    /// The open directories of the process that have no name any more.
    pub(super) fn removed(&self) -> Vec<Handle> {
        let mine = self.mine().filter(|(_, description)| {
            let inode = &self.model.inodes()[&description.inode];
            inode.names == 0 && inode.kind() == FileKind::Directory
        });
        mine.map(|(handle, _)| handle).collect()
    }

    /// The lowest number that no handle of the process has.
    pub(super) fn free_handle(&self) -> Handle {
        let taken: Vec<Handle> = self.mine().map(|(handle, _)| handle).collect();
        let free = (0..).map(Handle).find(|handle| !taken.contains(handle));
        free.expect("a process has fewer than 2^32 handles")
    }

    /// Whether there is anything that must not be opened.
    pub(super) fn has_special_files(&self) -> bool {
        self.names.iter().any(|named| is_special(named.kind))
    }

    /// Whether the caller can probably make names there: said by the bits for owner and others alone.
    pub(super) fn may_write(&self, folder: &Folder) -> bool {
        let caller = &self.model.processes()[usize::from(self.by.0)].credentials;
        let inode = &self.model.inodes()[&folder.inode];
        let bits = if caller.uid == inode.uid { 0o200 } else { 0o002 };
        caller.is_superuser() || inode.permissions & bits != 0
    }

    /// The process's handles.
    pub(super) fn mine(&self) -> impl Iterator<Item = (Handle, &'a Description)> + use<'a> {
        let by = self.by;
        let all = self.model.descriptions().iter();
        all.filter(move |((process, _), _)| *process == by)
            .map(|((_, handle), description)| (*handle, description))
    }

    /// What an inode is.
    pub(super) fn kind(&self, inode: InodeId) -> FileKind {
        self.model.inodes()[&inode].kind()
    }

    /// The size of a regular file; 0 of anything else.
    pub(super) fn size(&self, inode: InodeId) -> u64 {
        match &self.model.inodes()[&inode].node {
            Node::Regular(content) => content.size(),
            _ => 0,
        }
    }

    /// The symlinks that lead straight to the directory at `path`, as far as their text alone tells.
    pub(super) fn links_to(&self, path: &[u8]) -> Vec<&Bytes> {
        let leads_there = |named: &&Named| match &self.model.inodes()[&named.inode].node {
            Node::Symlink(target) => plain(&named.path, target).is_some_and(|end| end == path),
            _ => false,
        };
        self.names.iter().filter(leads_there).map(|named| &named.path).collect()
    }
}

const fn is_special(kind: FileKind) -> bool {
    matches!(kind, FileKind::Fifo | FileKind::Socket | FileKind::CharDevice | FileKind::BlockDevice)
}

/// The path of `name` in the directory at `path`.
pub(super) fn below(path: &[u8], name: &[u8]) -> Bytes {
    if path.is_empty() { Bytes::from(name) } else { Bytes([path, name].join(&b'/')) }
}

/// The path of the directory that holds the last component of `path`.
pub(super) fn above(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &path[..slash])
}

/// Where the symlink at `link` points, if that can be said without looking at anything.
fn plain(link: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    let base = if target.starts_with(b"/") { &[][..] } else { above(link) };
    let mut components: Vec<&[u8]> =
        base.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
    for part in target.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".") {
        if part == b".." {
            components.pop()?;
        } else {
            components.push(part);
        }
    }
    Some(components.join(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn the_plain_end_of_a_symlink_is_relative_to_where_it_lies() {
        assert_eq!(plain(b"a/b/link", b"../c/./d").as_deref(), Some(&b"a/c/d"[..]));
        assert_eq!(plain(b"a/link", b"/c//d/").as_deref(), Some(&b"c/d"[..]));
        assert_eq!(plain(b"link", b"../c"), None);
    }
}
