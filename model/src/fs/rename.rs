//! rename in all its forms (FS-RENAME).

use super::path::{Last, Located};
use super::{Answer, Dentry, FileSystem, Node, refusal};
use crate::Errno::{EACCES, EBUSY, EEXIST, EINVAL, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY};
use crate::bytes::Bytes;
use crate::call::{AccessMode, Place, RenameFlags};
use crate::outcome::Expected;
use crate::values::{InodeId, ProcessId, Time};

/// An end of a rename.
#[derive(Clone, Debug)]
struct End {
    parent: InodeId,
    name: Bytes,
    slash: bool,
}

impl End {
    fn of(located: Located) -> Option<Self> {
        let Located { parent, last: Last::Name(name), slash } = located else { return None };
        Some(Self { parent, name, slash })
    }
}

impl FileSystem {
    pub(super) fn rename(
        &mut self,
        who: ProcessId,
        from: &Place,
        to: &Place,
        flags: RenameFlags,
        now: Time,
    ) -> Answer {
        if RenameFlags::from_bits(flags.bits()).is_none() || flags == RenameFlags::all() {
            return Err(refusal(EINVAL, "FS-RENAME-6"));
        }
        let exchange = flags.contains(RenameFlags::EXCHANGE);
        let old = self.locate(who, from, now)?;
        let new = self.locate(who, to, now)?;
        let old = End::of(old).ok_or(refusal(EBUSY, "PATH-7"))?;
        let no_replace = flags.contains(RenameFlags::NOREPLACE);
        let new = End::of(new).ok_or(refusal(if no_replace { EEXIST } else { EBUSY }, "PATH-7"))?;
        self.writable()?;

        let source = self.find(old.parent, &old.name)?.ok_or(refusal(ENOENT, "FS-RENAME-6"))?;
        let target = self.find(new.parent, &new.name)?;
        self.ends_allowed(&old, &new, source, target, flags)?;
        if target.is_some_and(|target| target.inode == source.inode) {
            return Ok(Expected::done());
        }
        self.may_rename(who, (&old, source), (&new, target), exchange)?;
        match target {
            Some(target) if exchange => self.exchange((&old, source), (&new, target), now),
            _ => self.replace((&old, source), (&new, target), now),
        }
        Ok(Expected::done())
    }

    /// FS-RENAME-6, what does not depend on the caller before permissions: existence, slashes, ancestry.
    fn ends_allowed(
        &self,
        old: &End,
        new: &End,
        source: Dentry,
        target: Option<Dentry>,
        flags: RenameFlags,
    ) -> Answer<()> {
        let exchange = flags.contains(RenameFlags::EXCHANGE);
        if flags.contains(RenameFlags::NOREPLACE) && target.is_some() {
            return Err(refusal(EEXIST, "FS-RENAME-4"));
        }
        let is_directory = |dentry: Dentry| self.directory(dentry.inode).is_some();
        if exchange {
            let target = target.ok_or(refusal(ENOENT, "FS-RENAME-6"))?;
            if new.slash && !is_directory(target) {
                return Err(refusal(ENOTDIR, "PATH-6"));
            }
        }
        if !is_directory(source) && (old.slash || (new.slash && !exchange)) {
            return Err(refusal(ENOTDIR, "PATH-6"));
        }
        // In one directory neither can be above the other.
        if old.parent == new.parent {
            return Ok(());
        }
        if self.is_within(new.parent, source.inode) {
            return Err(refusal(EINVAL, "FS-RENAME-6"));
        }
        if let Some(target) = target
            && self.is_within(old.parent, target.inode)
        {
            return Err(refusal(if exchange { EINVAL } else { ENOTEMPTY }, "FS-RENAME-6"));
        }
        Ok(())
    }

    /// Whether `inode` is `ancestor` or lies below it.
    fn is_within(&self, inode: InodeId, ancestor: InodeId) -> bool {
        let mut current = inode;
        loop {
            if current == ancestor {
                return true;
            }
            match self.directory(current) {
                Some(directory) if directory.parent != current => current = directory.parent,
                _ => return false,
            }
        }
    }

    /// FS-RENAME-6, from the permission on the old parent on.
    fn may_rename(
        &self,
        who: ProcessId,
        (old, source): (&End, Dentry),
        (new, target): (&End, Option<Dentry>),
        exchange: bool,
    ) -> Answer<()> {
        let is_directory = |dentry: Dentry| self.directory(dentry.inode).is_some();
        self.may_change_entries(who, old.parent)?;
        self.may_take_out(who, old.parent, source.inode)?;
        self.may_change_entries(who, new.parent)?;
        if let Some(target) = target {
            self.may_take_out(who, new.parent, target.inode)?;
            match (is_directory(source), is_directory(target)) {
                (true, false) if !exchange => return Err(refusal(ENOTDIR, "FS-RENAME-6")),
                (false, true) if !exchange => return Err(refusal(EISDIR, "FS-RENAME-6")),
                _ => {}
            }
        }
        if old.parent != new.parent {
            let moved = [Some(source), target.filter(|_| exchange)];
            for directory in moved.into_iter().flatten().filter(|dentry| is_directory(*dentry)) {
                self.may(who, directory.inode, AccessMode::WRITE)
                    .map_err(|_| refusal(EACCES, "FS-PERM-5"))?;
            }
        }
        let occupied = |target: &Dentry| {
            self.directory(target.inode).is_some_and(|directory| !directory.entries.is_empty())
        };
        if !exchange && target.as_ref().is_some_and(occupied) {
            return Err(refusal(ENOTEMPTY, "FS-RENAME-6"));
        }
        Ok(())
    }

    /// FS-RENAME-1, FS-RENAME-7, FS-RENAME-9.
    fn replace(&mut self, (old, source): (&End, Dentry), (new, target): (&End, Option<Dentry>), now: Time) {
        let id = match target {
            _ if !self.profile.replaced_entry_stays => self.new_entry_id(),
            Some(target) => target.id,
            None => source.id,
        };
        self.take_out(new.parent, &new.name);
        self.take_out(old.parent, &old.name);
        self.enter(new.parent, new.name.clone(), source.inode, id);
        for inode in [Some(source), target].into_iter().flatten() {
            self.inode_mut(inode.inode).ctime = now;
        }
        self.directory_changed(old.parent, now);
        self.directory_changed(new.parent, now);
    }

    /// FS-RENAME-5.
    fn exchange(&mut self, (old, source): (&End, Dentry), (new, target): (&End, Dentry), now: Time) {
        let (old_id, new_id) = match self.profile.replaced_entry_stays {
            true => (source.id, target.id),
            false => (self.new_entry_id(), self.new_entry_id()),
        };
        self.take_out(old.parent, &old.name);
        self.take_out(new.parent, &new.name);
        self.enter(old.parent, old.name.clone(), target.inode, old_id);
        self.enter(new.parent, new.name.clone(), source.inode, new_id);
        for inode in [source.inode, target.inode] {
            self.inode_mut(inode).ctime = now;
        }
        self.directory_changed(old.parent, now);
        self.directory_changed(new.parent, now);
    }
}

impl Node {
    /// What kind of inode holds it.
    #[must_use]
    pub const fn kind(&self) -> crate::values::FileKind {
        use crate::values::FileKind;
        match self {
            Self::Regular(_) => FileKind::Regular,
            Self::Directory(_) => FileKind::Directory,
            Self::Symlink(_) => FileKind::Symlink,
            Self::Special(kind, _) => *kind,
        }
    }
}
