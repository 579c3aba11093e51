//! open and close.
//!
//! Keeps FS-OPEN-1 to FS-OPEN-3 as far as they are the kernel's, PATH-6, PATH-11; the order is that of Linux's
//! `path_openat` and `do_open`.

use agentfs_model::call::{OpenFlags, Place};
use agentfs_model::values::{Handle, ProcessId};

use super::kernel::Kernel;
use super::path::{Found, Last};
use super::process::Description;
use crate::error::{Errno, Result};
use crate::types::{Caller, FileKind, Ino, Name};
use crate::vfs::{self, Vfs};

impl Kernel {
    pub(super) fn open(
        &mut self,
        who: ProcessId,
        place: &Place,
        flags: OpenFlags,
        mode: u32,
        handle: Handle,
    ) -> Result<()> {
        if flags.contains(OpenFlags::CREATE | OpenFlags::DIRECTORY) {
            return Err(Errno::EINVAL.into());
        }
        let ino = if flags.contains(OpenFlags::CREATE) {
            self.open_or_create(who, place, flags, mode)?
        } else {
            let found = self.resolve(who, place, !flags.contains(OpenFlags::NOFOLLOW))?;
            self.open_existing(who, found, flags)?
        };
        self.keep(ino)?;
        self.processes.insert(who, handle, Description::new(ino, flags));
        Ok(())
    }

    fn open_or_create(&mut self, who: ProcessId, place: &Place, flags: OpenFlags, mode: u32) -> Result<Ino> {
        let exclusive = flags.contains(OpenFlags::EXCLUSIVE);
        let follow = !flags.contains(OpenFlags::NOFOLLOW) && !exclusive;
        let (located, found) = self.resolve_to_create(who, place, follow)?;
        if let Some(found) = found {
            if exclusive {
                return Err(Errno::EEXIST.into());
            }
            if found.mode.is_directory() {
                return Err(Errno::EISDIR.into());
            }
            return self.open_existing(who, found, flags);
        }
        let Last::Name(name) = &located.last else {
            unreachable!("only a name can be missing");
        };
        // Whoever makes a file may use it as they like: there is no further check, and nothing to cut off.
        let made = self.fs().create(self.processes.caller(who), located.parent, Name::new(name)?, mode)?;
        self.taken.push(made.ino);
        Ok(made.ino)
    }

    fn open_existing(&self, who: ProcessId, found: Found, flags: OpenFlags) -> Result<Ino> {
        let mut wanted = vfs::OpenFlags::empty();
        for (flag, meaning) in [
            (OpenFlags::READ, vfs::OpenFlags::READ),
            (OpenFlags::WRITE, vfs::OpenFlags::WRITE),
            (OpenFlags::TRUNCATE, vfs::OpenFlags::TRUNCATE),
            (OpenFlags::DIRECTORY, vfs::OpenFlags::DIRECTORY),
        ] {
            wanted.set(meaning, flags.contains(flag));
        }
        self.fs().open(self.processes.caller(who), found.ino, wanted)?;
        // A socket is reached by connect(2) alone.
        if found.mode.kind() == FileKind::Socket { Err(Errno::ENXIO.into()) } else { Ok(found.ino) }
    }

    /// Lets a reference to an inode that the call has found outlive it.
    fn keep(&mut self, ino: Ino) -> Result<()> {
        if let Some(index) = self.taken.iter().position(|taken| *taken == ino) {
            self.taken.swap_remove(index);
        } else if ino == Ino::ROOT || self.held.contains(ino) {
            return Ok(());
        } else {
            // ".." leads to a directory that a kernel has in memory, with its name, since it holds what is below. The
            // library gives references by name only.
            let (parent, name) = self.places.get(&ino).ok_or(Errno::ESTALE)?;
            let found = self.fs().lookup(&Caller::root(), *parent, Name::new(name)?)?;
            if found.ino != ino {
                self.fs().forget(found.ino, 1);
                return Err(Errno::ESTALE.into());
            }
        }
        self.held.add(ino);
        Ok(())
    }

    pub(super) fn close(&mut self, who: ProcessId, handle: Handle) -> Result<()> {
        let ino = self.processes.remove(who, handle)?.ino;
        if !self.processes.has_open(ino) {
            let held = self.held.take(ino);
            self.fs().forget(ino, held);
        }
        Ok(())
    }
}
