//! Follows a path through directories alone, for the judgement and the bugs, which must not ask the model's own walk.

use crate::bytes::Bytes;
use crate::call::Place;
use crate::fs::{FileSystem, Node};
use crate::values::{InodeId, ProcessId};

/// The directory that the last component is looked for in, and the component. None where the path leads over a symlink,
/// over nothing, or ends in a dot.
pub(super) fn parent(fs: &FileSystem, by: ProcessId, place: &Place) -> Option<(InodeId, Bytes)> {
    let mut current = match place.at {
        Some(handle) if !place.path.starts_with(b"/") => fs.descriptions().get(&(by, handle))?.inode,
        _ => InodeId::ROOT,
    };
    let mut components =
        place.path.split(|byte| *byte == b'/').filter(|component| !component.is_empty()).peekable();
    while let Some(component) = components.next() {
        let Node::Directory(directory) = &fs.inodes().get(&current)?.node else { return None };
        let is_dot = matches!(component, b"." | b"..");
        if components.peek().is_none() {
            return (!is_dot).then(|| (current, component.into()));
        }
        current = match component {
            b"." => current,
            b".." => directory.parent,
            _ => directory.entries.get(&Bytes::from(component))?.inode,
        };
    }
    None
}

/// What a path names, a symlink at its end not followed.
pub(super) fn named(fs: &FileSystem, by: ProcessId, place: &Place) -> Option<InodeId> {
    let (parent, name) = parent(fs, by, place)?;
    entry(fs, parent, &name)
}

/// What a name in a directory names.
pub(super) fn entry(fs: &FileSystem, parent: InodeId, name: &Bytes) -> Option<InodeId> {
    match &fs.inodes().get(&parent)?.node {
        Node::Directory(directory) => directory.entries.get(name).map(|dentry| dentry.inode),
        _ => None,
    }
}
