//! mkdir, mknod, symlink, link: new names (FS-CREATE, FS-LINK).

use super::path::Last;
use super::{Answer, Content, Dentry, Directory, EntryId, FileSystem, Inode, Node, refusal};
use crate::Errno::{EACCES, EEXIST, EINVAL, EMLINK, ENAMETOOLONG, ENOENT, EPERM};
use crate::bytes::Bytes;
use crate::call::{AccessMode, Place};
use crate::fs::permission::{GROUP_EXECUTE, SET_GROUP_ID, SET_USER_ID};
use crate::outcome::{Expected, Outcome};
use crate::values::{FileKind, Handle, InodeId, ProcessId, Time};

/// The longest symlink target in bytes.
const LONGEST_TARGET: usize = 4095;
/// The most names of an inode (FS-NLINK-5).
const MOST_NAMES: u64 = (1 << 31) - 1;

/// A place for a new entry.
struct Vacancy {
    parent: InodeId,
    name: Bytes,
}

impl FileSystem {
    /// Where `place` can get a new name: PATH-6 and PATH-7, then FS-CREATE-3 down to the permission on the parent, which
    /// is for [`may_create`](Self::may_create), since others come between.
    fn vacancy(&mut self, who: ProcessId, place: &Place, directory: bool, now: Time) -> Answer<Vacancy> {
        let located = self.locate(who, place, now)?;
        let Last::Name(name) = located.last else { return Err(refusal(EEXIST, "PATH-7")) };
        if self.find(located.parent, &name)?.is_some() {
            return Err(refusal(EEXIST, "FS-CREATE-3"));
        }
        if located.slash && !directory {
            return Err(refusal(ENOENT, "PATH-6"));
        }
        self.writable()?;
        Ok(Vacancy { parent: located.parent, name })
    }

    fn may_create(&self, who: ProcessId, vacancy: &Vacancy) -> Answer<()> {
        self.may_change_entries(who, vacancy.parent)
    }

    /// Enters `inode` as `name` in `parent`, as an entry with the given number.
    pub(super) fn enter(&mut self, parent: InodeId, name: Bytes, inode: InodeId, id: EntryId) {
        let Node::Directory(directory) = &mut self.inode_mut(parent).node else {
            unreachable!("callers have found that the parent is a directory")
        };
        directory.entries.insert(name, Dentry { inode, id });
        let child = self.inode_mut(inode);
        child.names += 1;
        if let Node::Directory(directory) = &mut child.node {
            directory.parent = parent;
        }
    }

    pub(super) const fn new_entry_id(&mut self) -> EntryId {
        let id = self.next_entry;
        self.next_entry += 1;
        id
    }

    /// Makes the inode of `node` with the name of `vacancy`. FS-CREATE-1, FS-TIME-3.
    pub(super) fn give_birth(
        &mut self,
        who: ProcessId,
        (parent, name): (InodeId, Bytes),
        node: Node,
        mode: u32,
        now: Time,
    ) -> InodeId {
        let inode = InodeId(self.next_inode);
        self.next_inode += 1;
        let (uid, gid, permissions) = self.newborn(who, parent, node.kind(), mode);
        let newborn = Inode {
            permissions,
            uid,
            gid,
            names: 0,
            atime: now,
            mtime: now,
            ctime: now,
            xattrs: std::collections::BTreeMap::new(),
            node,
        };
        self.inodes.insert(inode, newborn);
        let id = self.new_entry_id();
        self.enter(parent, name, inode, id);
        self.directory_changed(parent, now);
        inode
    }

    pub(super) fn mkdir(&mut self, who: ProcessId, place: &Place, mode: u32, now: Time) -> Answer {
        let vacancy = self.vacancy(who, place, true, now)?;
        self.may_create(who, &vacancy)?;
        let node =
            Node::Directory(Directory { parent: vacancy.parent, entries: std::collections::BTreeMap::new() });
        self.give_birth(who, (vacancy.parent, vacancy.name), node, mode, now);
        Ok(Expected::done())
    }

    pub(super) fn mknod(
        &mut self,
        who: ProcessId,
        place: &Place,
        (kind, rdev): (FileKind, u32),
        mode: u32,
        now: Time,
    ) -> Answer {
        let node = match kind {
            FileKind::Directory => return Err(refusal(EPERM, "FS-CREATE-3")),
            FileKind::Symlink => return Err(refusal(EINVAL, "FS-CREATE-3")),
            FileKind::Regular => Node::Regular(Content::default()),
            FileKind::CharDevice | FileKind::BlockDevice => Node::Special(kind, rdev),
            FileKind::Fifo | FileKind::Socket => Node::Special(kind, 0),
        };
        let vacancy = self.vacancy(who, place, false, now)?;
        self.may_create(who, &vacancy)?;
        let whiteout = kind == FileKind::CharDevice && rdev == 0;
        let device = matches!(kind, FileKind::CharDevice | FileKind::BlockDevice) && !whiteout;
        if device && !self.credentials(who).is_superuser() {
            return Err(refusal(EPERM, "FS-CREATE-3"));
        }
        self.give_birth(who, (vacancy.parent, vacancy.name), node, mode, now);
        Ok(Expected::done())
    }

    pub(super) fn symlink(&mut self, who: ProcessId, target: &Bytes, place: &Place, now: Time) -> Answer {
        let errno = match () {
            () if target.contains(&0) => Some(EINVAL),
            () if target.is_empty() => Some(ENOENT),
            () if target.len() > LONGEST_TARGET => Some(ENAMETOOLONG),
            () => None,
        };
        if let Some(errno) = errno {
            return Err(refusal(errno, "FS-NAME-3"));
        }
        let vacancy = self.vacancy(who, place, false, now)?;
        self.may_create(who, &vacancy)?;
        let node = Node::Symlink(target.clone());
        self.give_birth(who, (vacancy.parent, vacancy.name), node, 0o777, now);
        Ok(Expected::done())
    }

    pub(super) fn link(
        &mut self,
        who: ProcessId,
        from: &Place,
        to: &Place,
        follow: bool,
        now: Time,
    ) -> Answer {
        let inode = self.resolve(who, from, follow, now)?;
        self.link_inode(who, inode, to, now)
    }

    pub(super) fn link_handle(&mut self, who: ProcessId, handle: Handle, to: &Place, now: Time) -> Answer {
        let inode = self.description(who, handle)?.inode;
        self.link_inode(who, inode, to, now)
    }

    /// FS-LINK-2.
    fn link_inode(&mut self, who: ProcessId, inode: InodeId, to: &Place, now: Time) -> Answer {
        let vacancy = self.vacancy(who, to, false, now)?;
        self.may_link(who, inode)?;
        self.may_create(who, &vacancy)?;
        let source = &self.inodes[&inode];
        if source.kind() == FileKind::Directory {
            return Err(refusal(EPERM, "FS-LINK-2"));
        }
        if source.names == 0 {
            return Err(refusal(ENOENT, "FS-LINK-2"));
        }
        if source.names >= MOST_NAMES {
            return Err(refusal(EMLINK, "FS-NLINK-5"));
        }
        let id = self.new_entry_id();
        self.enter(vacancy.parent, vacancy.name, inode, id);
        self.inode_mut(inode).ctime = now;
        self.directory_changed(vacancy.parent, now);
        Ok(Expected::done())
    }

    /// `protected_hardlinks`.
    fn may_link(&self, who: ProcessId, inode: InodeId) -> Answer<()> {
        if !self.profile.protections.hardlinks || self.owns(who, inode) {
            return Ok(());
        }
        let source = &self.inodes[&inode];
        let both = SET_GROUP_ID | GROUP_EXECUTE;
        let safe = source.kind() == FileKind::Regular
            && source.permissions & SET_USER_ID == 0
            && source.permissions & both != both
            && self.may(who, inode, AccessMode::READ | AccessMode::WRITE).is_ok();
        if safe { Ok(()) } else { Err(refusal(EPERM, "CALL-9")) }
    }

    /// `protected_fifos` and `protected_regular`, and of other kinds always: opening what exists with CREATE.
    pub(super) fn may_open_in_sticky(&self, who: ProcessId, parent: InodeId, inode: InodeId) -> Answer<()> {
        let (directory, target) = (&self.inodes[&parent], &self.inodes[&inode]);
        let protections = &self.profile.protections;
        let level = match target.kind() {
            FileKind::Fifo => protections.fifos,
            FileKind::Regular => protections.regular,
            _ => u8::from(self.profile.kernel),
        };
        let sticky = directory.permissions & crate::fs::permission::STICKY != 0;
        let own = target.uid == directory.uid || target.uid == self.credentials(who).uid;
        let open_to_many =
            directory.permissions & 0o002 != 0 || (level >= 2 && directory.permissions & 0o020 != 0);
        let refused = level > 0 && sticky && !own && open_to_many;
        if refused { Err(refusal(EACCES, "CALL-9")) } else { Ok(()) }
    }
}

impl Expected {
    pub(super) const fn done() -> Self {
        Self::Exactly(Outcome::Done)
    }
}
