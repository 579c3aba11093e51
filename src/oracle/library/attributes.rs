//! stat, access, chmod, chown, utimens, and extended attributes.
//!
//! The checks above the library are those of Linux's `open.c`, `attr.c`, `utimes.c` and `xattr.c`: what the values alone
//! decide comes before the path is looked at.

use agentfs_model::bytes::Bytes;
use agentfs_model::call::{AccessMode, Object, Place, TimeChange, XattrMode};
use agentfs_model::values::ProcessId;

use super::convert;
use super::kernel::Kernel;
use crate::error::{Errno, Result};
use crate::types::{Attributes, Caller, Gid, Ino, Mode, SetAttributes, Uid};
use crate::vfs::Vfs;

/// `XATTR_NAME_MAX`.
const LONGEST_XATTR_NAME: usize = 255;
/// `XATTR_SIZE_MAX`.
const LARGEST_XATTR_VALUE: usize = 65536;

impl Kernel {
    pub(super) fn object(&mut self, who: ProcessId, object: &Object) -> Result<Ino> {
        match object {
            Object::Handle { handle } => Ok(self.processes.description(who, *handle)?.ino),
            Object::Path { path, follow } => Ok(self.resolve(who, path, *follow)?.ino),
        }
    }

    pub(super) fn stat(&mut self, who: ProcessId, object: &Object) -> Result<Attributes> {
        let ino = self.object(who, object)?;
        self.fs().getattr(ino)
    }

    pub(super) fn access(&mut self, who: ProcessId, place: &Place, mode: AccessMode) -> Result<()> {
        let found = self.resolve(who, place, true)?;
        self.fs().access(self.processes.caller(who), found.ino, convert::access(mode))
    }

    fn set_attributes(&self, who: ProcessId, ino: Ino, changes: SetAttributes) -> Result<()> {
        self.check_writable()?;
        self.fs().setattr(self.processes.caller(who), ino, &changes).map(drop)
    }

    pub(super) fn chmod(&mut self, who: ProcessId, object: &Object, mode: u32) -> Result<()> {
        let ino = self.object(who, object)?;
        let permissions = Some(mode & Mode::PERMISSION_MASK);
        self.set_attributes(who, ino, SetAttributes { permissions, ..SetAttributes::default() })
    }

    pub(super) fn chown(
        &mut self,
        who: ProcessId,
        object: &Object,
        uid: Option<u32>,
        gid: Option<u32>,
    ) -> Result<()> {
        let ino = self.object(who, object)?;
        if uid.is_none() && gid.is_none() {
            return self.chown_to_nothing(who, ino);
        }
        let changes = SetAttributes { uid: uid.map(Uid), gid: gid.map(Gid), ..SetAttributes::default() };
        self.set_attributes(who, ino, changes)
    }

    /// A kernel takes set-id bits and capabilities away all the same: the bits for the owner alone, the capabilities for
    /// anyone.
    fn chown_to_nothing(&self, who: ProcessId, ino: Ino) -> Result<()> {
        self.check_writable()?;
        let file = self.fs().getattr(ino)?;
        let caller = self.processes.caller(who);
        let owns = caller.uid == file.uid || caller.uid == Uid::ROOT;
        if file.mode.is_directory() {
            return self.set_attributes(who, ino, SetAttributes::default());
        }
        if !owns && without_set_id(caller, &file) != file.mode.permissions() {
            return Err(Errno::EPERM.into());
        }
        // To the library this is a change to the same owner.
        let changes = SetAttributes { uid: Some(file.uid), ..SetAttributes::default() };
        let caller = if owns { caller.clone() } else { self.admitted(who) };
        self.fs().setattr(&caller, ino, &changes).map(drop)
    }

    /// The caller of what needs no permission any more: the way in which a file was opened allows it.
    pub(super) fn admitted(&self, who: ProcessId) -> Caller {
        Caller { authorized: true, ..self.processes.caller(who).clone() }
    }

    pub(super) fn utimens(
        &mut self,
        who: ProcessId,
        object: &Object,
        atime: TimeChange,
        mtime: TimeChange,
    ) -> Result<()> {
        if (atime, mtime) == (TimeChange::Omit, TimeChange::Omit) {
            return Ok(());
        }
        let ino = self.object(who, object)?;
        let (atime, mtime) = (convert::time_change(atime), convert::time_change(mtime));
        let changes = SetAttributes { atime, mtime, ..SetAttributes::default() };
        self.fs().setattr(self.processes.caller(who), ino, &changes).map(drop)
    }

    pub(super) fn getxattr(&mut self, who: ProcessId, object: &Object, name: &Bytes) -> Result<Vec<u8>> {
        check_xattr_name(name)?;
        let ino = self.object(who, object)?;
        self.fs().getxattr(self.processes.caller(who), ino, name)
    }

    pub(super) fn setxattr(
        &mut self,
        who: ProcessId,
        object: &Object,
        (name, value): (&Bytes, &Bytes),
        mode: XattrMode,
    ) -> Result<()> {
        check_xattr_name(name)?;
        if value.len() > LARGEST_XATTR_VALUE {
            return Err(Errno::E2BIG.into());
        }
        let ino = self.object(who, object)?;
        self.fs().setxattr(self.processes.caller(who), ino, name, value, convert::xattr_mode(mode))
    }

    pub(super) fn listxattr(&mut self, who: ProcessId, object: &Object) -> Result<Vec<Vec<u8>>> {
        let ino = self.object(who, object)?;
        self.fs().listxattr(self.processes.caller(who), ino)
    }

    pub(super) fn removexattr(&mut self, who: ProcessId, object: &Object, name: &Bytes) -> Result<()> {
        check_xattr_name(name)?;
        let ino = self.object(who, object)?;
        self.fs().removexattr(self.processes.caller(who), ino, name)
    }
}

fn check_xattr_name(name: &Bytes) -> Result<()> {
    if (1..=LONGEST_XATTR_NAME).contains(&name.len()) { Ok(()) } else { Err(Errno::ERANGE.into()) }
}

/// What a change of owner leaves of the permissions of a file (FS-PERM-11), and a change of content by anyone but user 0.
pub(super) fn without_set_id(caller: &Caller, file: &Attributes) -> u32 {
    let permissions = file.mode.permissions();
    let member = caller.uid == Uid::ROOT || caller.is_in_group(file.gid);
    let group = if permissions & 0o010 != 0 || !member { Mode::SET_GID } else { 0 };
    permissions & !(Mode::SET_UID | group)
}
