//! From a path to an inode, as path_resolution(7) and Linux's path walk have it (PATH-1 to PATH-8).
//!
//! Resolution is apart from what the operations do: it changes nothing but the access times of the symlinks that it
//! passes, also when the call fails later.

use super::{Answer, Dentry, Directory, FileSystem, Node, refusal};
use crate::Errno::{EACCES, EBADF, EINVAL, EISDIR, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR};
use crate::bytes::Bytes;
use crate::call::Place;
use crate::fs::permission::STICKY;
use crate::values::{InodeId, ProcessId, Time};

/// The longest path in bytes.
const LONGEST_PATH: usize = 4095;
/// The longest name in bytes.
const LONGEST_NAME: usize = 255;
/// Symlinks followed in one resolution.
const MOST_SYMLINKS: u32 = 40;

/// The end of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// Nothing but slashes: the root.
    Root,
    /// ".".
    Dot,
    /// "..".
    DotDot,
    /// A name, which need not exist.
    Name(Bytes),
}

/// Where the last component of a path is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Located {
    /// The directory.
    pub(super) parent: InodeId,
    /// The component.
    pub(super) last: Last,
    /// Whether slashes follow it.
    pub(super) slash: bool,
}

/// A walk under way.
struct Walk {
    current: InodeId,
    /// Components to come, the next one last.
    rest: Vec<Bytes>,
    /// Whether the path ended in a slash.
    slash: bool,
    symlinks: u32,
}

impl Walk {
    /// Puts the components of `path` before those to come.
    fn push(&mut self, path: &Bytes) {
        if path.starts_with(b"/") {
            self.current = InodeId::ROOT;
        }
        let components = path.split(|byte| *byte == b'/').filter(|component| !component.is_empty());
        self.rest.extend(components.rev().map(Bytes::from));
    }
}

impl FileSystem {
    fn begin(&self, who: ProcessId, place: &Place) -> Answer<Walk> {
        let path = &place.path;
        if path.contains(&0) {
            return Err(refusal(EINVAL, "PATH-5"));
        }
        if path.is_empty() {
            return Err(refusal(ENOENT, "PATH-5"));
        }
        if path.len() > LONGEST_PATH {
            return Err(refusal(ENAMETOOLONG, "PATH-5"));
        }
        let mut walk =
            Walk { current: InodeId::ROOT, rest: Vec::new(), slash: path.ends_with(b"/"), symlinks: 0 };
        if let (Some(handle), false) = (place.at, path.starts_with(b"/")) {
            let description = self.descriptions.get(&(who, handle)).ok_or(refusal(EBADF, "CALL-1"))?;
            walk.current = description.inode;
            if self.directory(walk.current).is_none() {
                return Err(refusal(ENOTDIR, "PATH-2"));
            }
        }
        walk.push(path);
        Ok(walk)
    }

    /// The directory that `inode` is, if it is one.
    pub(super) fn directory(&self, inode: InodeId) -> Option<&Directory> {
        match &self.inodes[&inode].node {
            Node::Directory(directory) => Some(directory),
            _ => None,
        }
    }

    /// Whether the directory has been removed and is only open.
    pub(super) fn is_removed(&self, inode: InodeId) -> bool {
        self.inodes[&inode].names == 0
    }

    /// What `name` is in the directory `parent`: FS-LOOKUP-1, FS-LOOKUP-2, FS-NAME-2. Search permission comes before.
    pub(super) fn find(&self, parent: InodeId, name: &Bytes) -> Answer<Option<Dentry>> {
        if self.is_removed(parent) {
            return Err(refusal(ENOENT, "FS-LOOKUP-2"));
        }
        if name.len() > LONGEST_NAME {
            return Err(refusal(ENAMETOOLONG, "FS-NAME-2"));
        }
        let directory = self.directory(parent).ok_or(refusal(ENOTDIR, "FS-ERR-1"))?;
        Ok(directory.entries.get(name).copied())
    }

    fn parent_of(&self, inode: InodeId) -> Answer<InodeId> {
        if self.is_removed(inode) && !self.profile.parent_of_removed {
            return Err(refusal(ENOENT, "FS-LOOKUP-3"));
        }
        let directory = self.directory(inode).ok_or(refusal(ENOTDIR, "PATH-2"))?;
        Ok(directory.parent)
    }

    /// Follows the symlink `link`: its target comes next.
    fn follow(&mut self, who: ProcessId, walk: &mut Walk, link: InodeId, now: Time) -> Answer<()> {
        walk.symlinks += 1;
        if walk.symlinks > MOST_SYMLINKS {
            return Err(refusal(ELOOP, "PATH-4"));
        }
        // Asked of the last one only.
        if walk.rest.is_empty() {
            self.may_follow(who, walk.current, link)?;
        }
        self.accessed(link, now);
        if let Node::Symlink(target) = &self.inodes[&link].node {
            if walk.rest.is_empty() {
                walk.slash |= target.ends_with(b"/");
            }
            walk.push(target);
        }
        Ok(())
    }

    /// `protected_symlinks`.
    fn may_follow(&self, who: ProcessId, parent: InodeId, link: InodeId) -> Answer<()> {
        let (directory, link) = (&self.inodes[&parent], &self.inodes[&link]);
        let open_to_all = directory.permissions & (STICKY | 0o002) == STICKY | 0o002;
        let refused = self.profile.protections.symlinks
            && open_to_all
            && link.uid != self.credentials(who).uid
            && link.uid != directory.uid;
        if refused { Err(refusal(EACCES, "CALL-9")) } else { Ok(()) }
    }

    /// Walks all but the last component.
    fn walk_to_last(&mut self, who: ProcessId, walk: &mut Walk, now: Time) -> Answer<Located> {
        loop {
            let Some(component) = walk.rest.pop() else {
                return Ok(Located { parent: walk.current, last: Last::Root, slash: false });
            };
            if self.directory(walk.current).is_none() {
                return Err(refusal(ENOTDIR, "PATH-2"));
            }
            self.may_search(who, walk.current).map_err(|_| refusal(EACCES, "PATH-8"))?;
            if walk.rest.is_empty() {
                let last = match &*component {
                    b"." => Last::Dot,
                    b".." => Last::DotDot,
                    _ => Last::Name(component),
                };
                return Ok(Located { parent: walk.current, last, slash: walk.slash });
            }
            match &*component {
                b"." => {}
                b".." => walk.current = self.parent_of(walk.current)?,
                _ => {
                    let dentry =
                        self.find(walk.current, &component)?.ok_or(refusal(ENOENT, "FS-LOOKUP-1"))?;
                    if matches!(self.inodes[&dentry.inode].node, Node::Symlink(_)) {
                        self.follow(who, walk, dentry.inode, now)?;
                    } else {
                        walk.current = dentry.inode;
                    }
                }
            }
        }
    }

    /// Where the last component of `place` is: what creates and removes entries needs.
    pub(super) fn locate(&mut self, who: ProcessId, place: &Place, now: Time) -> Answer<Located> {
        let mut walk = self.begin(who, place)?;
        self.walk_to_last(who, &mut walk, now)
    }

    /// What `place` names; a symlink at its end is followed when asked for, and when a slash comes after it.
    pub(super) fn resolve(
        &mut self,
        who: ProcessId,
        place: &Place,
        follow: bool,
        now: Time,
    ) -> Answer<InodeId> {
        let mut walk = self.begin(who, place)?;
        let (_, found) = self.resolve_last(who, &mut walk, follow, false, now)?;
        found.ok_or(refusal(ENOENT, "FS-LOOKUP-1"))
    }

    /// As [`resolve`](Self::resolve), but says where a name that does not exist would be, symlinks at the end followed:
    /// what open with CREATE needs.
    pub(super) fn resolve_for_creation(
        &mut self,
        who: ProcessId,
        place: &Place,
        follow: bool,
        now: Time,
    ) -> Answer<(Located, Option<InodeId>)> {
        let mut walk = self.begin(who, place)?;
        self.resolve_last(who, &mut walk, follow, true, now)
    }

    fn resolve_last(
        &mut self,
        who: ProcessId,
        walk: &mut Walk,
        follow: bool,
        creating: bool,
        now: Time,
    ) -> Answer<(Located, Option<InodeId>)> {
        loop {
            let located = self.walk_to_last(who, walk, now)?;
            if creating && located.slash && matches!(located.last, Last::Name(_)) {
                return Err(refusal(EISDIR, "PATH-6"));
            }
            let found = match &located.last {
                Last::Root | Last::Dot => Some(located.parent),
                Last::DotDot => Some(self.parent_of(located.parent)?),
                Last::Name(name) => self.find(located.parent, name)?.map(|dentry| dentry.inode),
            };
            if let Some(inode) = found {
                let is_link = matches!(self.inodes[&inode].node, Node::Symlink(_));
                if is_link && (follow || located.slash) {
                    self.follow(who, walk, inode, now)?;
                    continue;
                }
                if located.slash && self.directory(inode).is_none() {
                    return Err(refusal(ENOTDIR, "PATH-6"));
                }
            }
            return Ok((located, found));
        }
    }
}
