//! Making, linking, moving and removing names, and reading symlinks.
//!
//! The order of the checks above the library is that of Linux's `filename_create`, `do_unlinkat`, `do_rmdir` and
//! `do_renameat2` (PATH-6, PATH-7); everything else is for the library to refuse.

use agentfs_model::bytes::Bytes;
use agentfs_model::call::{Place, RenameFlags};
use agentfs_model::values::{FileKind, Handle, ProcessId};

use super::convert;
use super::kernel::Kernel;
use super::path::{Found, Last, Located};
use crate::error::{Errno, Result};
use crate::types::{Attributes, DeviceNumber, Ino, Mode, Target};
use crate::vfs::{self, NodeSpec, Vfs};

/// One end of a rename.
struct End {
    parent: Ino,
    name: Vec<u8>,
    slash: bool,
}

impl End {
    /// None when the path does not end in a name.
    fn of(located: Located) -> Option<Self> {
        let Located { parent, last: Last::Name(name), slash } = located else { return None };
        Some(Self { parent, name, slash })
    }
}

impl Kernel {
    /// Where something that is no directory can be made. After a slash it cannot (PATH-6).
    fn vacancy(&mut self, who: ProcessId, place: &Place) -> Result<(Ino, Vec<u8>)> {
        let located = self.locate(who, place)?;
        let Last::Name(name) = located.last else { return Err(Errno::EEXIST.into()) };
        if located.slash {
            self.look_up(who, located.parent, &name)?;
            return Err(Errno::EEXIST.into());
        }
        Ok((located.parent, name))
    }

    /// The reference on what was made is given back at the end of the call.
    fn made(&mut self, attributes: &Attributes) {
        self.taken.push(attributes.ino);
    }

    pub(super) fn mkdir(&mut self, who: ProcessId, place: &Place, mode: u32) -> Result<()> {
        let located = self.locate(who, place)?;
        let Last::Name(name) = located.last else { return Err(Errno::EEXIST.into()) };
        let parent = located.parent;
        let made = self.fs().mkdir(self.processes.caller(who), parent, self.name(parent, &name)?, mode)?;
        self.made(&made);
        self.places.insert(made.ino, (parent, name));
        Ok(())
    }

    pub(super) fn mknod(
        &mut self,
        who: ProcessId,
        place: &Place,
        kind: FileKind,
        mode: u32,
        rdev: u32,
    ) -> Result<()> {
        match kind {
            FileKind::Directory => return Err(Errno::EPERM.into()),
            FileKind::Symlink => return Err(Errno::EINVAL.into()),
            _ => {}
        }
        let node = NodeSpec { mode: Mode::new(convert::kind(kind), mode), rdev: DeviceNumber(rdev) };
        let (parent, name) = self.vacancy(who, place)?;
        let made = self.fs().mknod(self.processes.caller(who), parent, self.name(parent, &name)?, node)?;
        self.made(&made);
        Ok(())
    }

    pub(super) fn symlink(&mut self, who: ProcessId, target: &Bytes, place: &Place) -> Result<()> {
        let target = Target::new(target)?;
        let (parent, name) = self.vacancy(who, place)?;
        let made =
            self.fs().symlink(self.processes.caller(who), parent, self.name(parent, &name)?, target)?;
        self.made(&made);
        Ok(())
    }

    pub(super) fn link(&mut self, who: ProcessId, from: &Place, to: &Place, follow: bool) -> Result<()> {
        let source = self.resolve(who, from, follow)?.ino;
        self.link_inode(who, source, to)
    }

    pub(super) fn link_handle(&mut self, who: ProcessId, handle: Handle, to: &Place) -> Result<()> {
        let source = self.processes.description(who, handle)?.ino;
        self.link_inode(who, source, to)
    }

    fn link_inode(&mut self, who: ProcessId, source: Ino, to: &Place) -> Result<()> {
        let (parent, name) = self.vacancy(who, to)?;
        let made = self.fs().link(self.processes.caller(who), source, parent, self.name(parent, &name)?)?;
        self.made(&made);
        Ok(())
    }

    pub(super) fn unlink(&mut self, who: ProcessId, place: &Place) -> Result<()> {
        let located = self.locate(who, place)?;
        let Last::Name(name) = &located.last else { return Err(Errno::EISDIR.into()) };
        if located.slash {
            self.check_writable()?;
            let found = self.look_up(who, located.parent, name)?;
            let errno = if found.mode.is_directory() { Errno::EISDIR } else { Errno::ENOTDIR };
            return Err(errno.into());
        }
        self.check_writable()?;
        let name = self.name(located.parent, name)?;
        self.fs().unlink(self.processes.caller(who), located.parent, name)
    }

    pub(super) fn rmdir(&mut self, who: ProcessId, place: &Place) -> Result<()> {
        let located = self.locate(who, place)?;
        let name = match &located.last {
            Last::Root => return Err(Errno::EBUSY.into()),
            Last::Dot => return Err(Errno::EINVAL.into()),
            Last::DotDot => return Err(Errno::ENOTEMPTY.into()),
            Last::Name(name) => name,
        };
        self.check_writable()?;
        let name = self.name(located.parent, name)?;
        self.fs().rmdir(self.processes.caller(who), located.parent, name)
    }

    pub(super) fn rename(
        &mut self,
        who: ProcessId,
        from: &Place,
        to: &Place,
        flags: RenameFlags,
    ) -> Result<()> {
        let flags = convert::rename_flags(flags);
        if flags.contains(vfs::RenameFlags::all()) {
            return Err(Errno::EINVAL.into());
        }
        let old = self.locate(who, from)?;
        let new = self.locate(who, to)?;
        let old = End::of(old).ok_or(Errno::EBUSY)?;
        let taken = if flags.contains(vfs::RenameFlags::NOREPLACE) { Errno::EEXIST } else { Errno::EBUSY };
        let new = End::of(new).ok_or(taken)?;
        self.check_writable()?;
        // A kernel looks both up before it asks the file system to rename.
        let source = self.look_up(who, old.parent, &old.name)?;
        let target = self.look_for(who, new.parent, &new.name)?;
        if (old.slash || new.slash) && !allowed_with_slashes((&old, source), (&new, target), flags) {
            return Err(Errno::ENOTDIR.into());
        }
        let (name, new_name) = (self.name(old.parent, &old.name)?, self.name(new.parent, &new.name)?);
        let caller = self.processes.caller(who);
        self.fs().rename(caller, old.parent, name, new.parent, new_name, flags)?;
        if source.mode.is_directory() {
            self.places.insert(source.ino, (new.parent, new.name));
        }
        if let Some(target) = target.filter(|found| found.mode.is_directory()) {
            // True of an exchange; of what was replaced nobody can ask any more.
            self.places.insert(target.ino, (old.parent, old.name));
        }
        Ok(())
    }

    pub(super) fn readlink(&mut self, who: ProcessId, place: &Place) -> Result<Vec<u8>> {
        let found = self.resolve(who, place, false)?;
        self.fs().readlink(found.ino)
    }
}

/// A slash after a name is for directories; where the new name must or must not exist, that is looked at before.
fn allowed_with_slashes(
    (old, source): (&End, Found),
    (new, target): (&End, Option<Found>),
    flags: vfs::RenameFlags,
) -> bool {
    let exchange = flags.contains(vfs::RenameFlags::EXCHANGE);
    if flags.contains(vfs::RenameFlags::NOREPLACE) && target.is_some() {
        return true;
    }
    if exchange {
        let Some(target) = target else { return true };
        if new.slash && !target.mode.is_directory() {
            return false;
        }
    }
    source.mode.is_directory() || !(old.slash || (new.slash && !exchange))
}
