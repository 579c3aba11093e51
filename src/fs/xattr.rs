//! Extended attributes, in the extension table `ext_xattr`.
//!
//! Keeps FS-XATTR-1 to FS-XATTR-10, as in Linux's `xattr_permission` and ext4's limits. POSIX ACLs (`system.`) are
//! not kept.

use super::inode::Inode;
use super::permission::{check_access, owns};
use super::{Errno, Operation, Result};
use crate::store::{Text, bytes};
use crate::types::{Access, Caller, FileKind, Ino, Mode};
use crate::vfs::XattrMode;

const MAX_NAME_BYTES: usize = 255;
const MAX_VALUE_BYTES: usize = 65536;
/// The kernel's `XATTR_LIST_MAX`.
const MAX_LIST_BYTES: i64 = 65536;
const CAPABILITIES: &[u8] = b"security.capability";

// All by the primary key (ino, name).
const GET: &str = "SELECT value FROM ext_xattr WHERE ino = ? AND name = ?";
const LIST: &str = "SELECT name FROM ext_xattr WHERE ino = ? ORDER BY name";
const LIST_BYTES: &str = "SELECT coalesce(sum(octet_length(name) + 1), 0) FROM ext_xattr WHERE ino = ?";
const SET: &str = "INSERT INTO ext_xattr (ino, name, value) VALUES (?, ?, ?)
  ON CONFLICT(ino, name) DO UPDATE SET value = excluded.value";
const REMOVE: &str = "DELETE FROM ext_xattr WHERE ino = ? AND name = ?";

impl Operation<'_> {
    pub(super) fn getxattr(&mut self, caller: &Caller, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        check_name(name)?;
        let inode = self.inode(ino)?;
        check_xattr(caller, &inode, name, Access::READ)?;
        self.xattr(ino, name)?.ok_or_else(|| Errno::ENODATA.into())
    }

    fn xattr(&mut self, ino: Ino, name: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.has_xattrs()? {
            return Ok(None);
        }
        self.session.row(GET, (ino.0 as i64, Text(name)), |row| Ok(bytes(row, 0)?.to_vec()))
    }

    pub(super) fn listxattr(&mut self, caller: &Caller, ino: Ino) -> Result<Vec<Vec<u8>>> {
        self.inode(ino)?;
        if !self.has_xattrs()? {
            return Ok(Vec::new());
        }
        let mut names = self.session.rows(LIST, [ino.0 as i64], |row| Ok(bytes(row, 0)?.to_vec()))?;
        // By id, also for a caller that the kernel has authorized: it does not look at lists.
        if caller.uid.0 != 0 {
            names.retain(|name| !name.starts_with(b"trusted."));
        }
        Ok(names)
    }

    pub(super) fn setxattr(
        &mut self,
        caller: &Caller,
        ino: Ino,
        name: &[u8],
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        check_name(name)?;
        if value.len() > MAX_VALUE_BYTES {
            return Err(Errno::E2BIG.into());
        }
        let inode = self.inode(ino)?;
        self.check_writable()?;
        check_xattr(caller, &inode, name, Access::WRITE)?;
        match (mode, self.xattr(ino, name)?) {
            (XattrMode::Create, Some(_)) => return Err(Errno::EEXIST.into()),
            (XattrMode::Replace, None) => return Err(Errno::ENODATA.into()),
            (_, Some(_)) => {}
            (_, None) => self.check_list(ino, name)?,
        }
        self.check_room()?;
        self.session.ensure_extension("ext_xattr")?;
        self.session.execute(SET, (ino.0 as i64, Text(name), value))?;
        self.session.charge(value.len() as u64);
        self.state.xattrs = None;
        self.xattr_changed(ino)
    }

    pub(super) fn removexattr(&mut self, caller: &Caller, ino: Ino, name: &[u8]) -> Result<()> {
        check_name(name)?;
        let inode = self.inode(ino)?;
        self.check_writable()?;
        check_xattr(caller, &inode, name, Access::WRITE)?;
        if self.xattr(ino, name)?.is_none() {
            return Err(Errno::ENODATA.into());
        }
        self.session.execute(REMOVE, (ino.0 as i64, Text(name)))?;
        self.xattr_changed(ino)
    }

    /// ENOSPC when one more name would make a list that the kernel cannot return.
    fn check_list(&mut self, ino: Ino, name: &[u8]) -> Result<()> {
        if !self.has_xattrs()? {
            return Ok(());
        }
        let taken: i64 = self.session.row(LIST_BYTES, [ino.0 as i64], |row| row.get(0))?.unwrap_or(0);
        // Each name takes one byte more.
        let fits = taken + (name.len() as i64) < MAX_LIST_BYTES;
        if fits { Ok(()) } else { Err(Errno::ENOSPC.into()) }
    }

    fn xattr_changed(&mut self, ino: Ino) -> Result<()> {
        Inode::touch_attributes(self.session, ino, self.now)?;
        self.state.touch([ino]);
        Ok(())
    }

    /// Changed content or ownership takes file capabilities away, like set-id bits.
    pub(super) fn remove_capabilities(&mut self, inode: &Inode) -> Result<()> {
        if self.keeps_xattrs()? {
            self.session.execute(REMOVE, (inode.ino.0 as i64, Text(CAPABILITIES)))?;
        }
        Ok(())
    }
}

fn check_name(name: &[u8]) -> Result<()> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(&0) {
        return Err(Errno::ERANGE.into());
    }
    Ok(())
}

/// Errors in the order of FS-XATTR-7.
fn check_xattr(caller: &Caller, inode: &Inode, name: &[u8], access: Access) -> Result<()> {
    let writes = access == Access::WRITE;
    // Whoever may not see an attribute is told that it is not there.
    let refused = if writes { Errno::EPERM } else { Errno::ENODATA };
    let named = if name.starts_with(b"system.") {
        return Err(Errno::EOPNOTSUPP.into());
    } else if let Some(named) = name.strip_prefix(b"security.") {
        if writes && !caller.is_unrestricted() {
            return Err(Errno::EPERM.into());
        }
        named
    } else if let Some(named) = name.strip_prefix(b"trusted.") {
        if !caller.is_unrestricted() {
            return Err(refused.into());
        }
        named
    } else if let Some(named) = name.strip_prefix(b"user.") {
        if !matches!(inode.mode.kind(), FileKind::Regular | FileKind::Directory) {
            return Err(refused.into());
        }
        let sticky = inode.mode.is_directory() && inode.mode.permissions() & Mode::STICKY != 0;
        if writes && sticky && !owns(caller, inode) {
            return Err(Errno::EPERM.into());
        }
        check_access(caller, inode, access)?;
        named
    } else {
        check_access(caller, inode, access)?;
        return Err(Errno::EOPNOTSUPP.into());
    };
    if named.is_empty() { Err(Errno::EINVAL.into()) } else { Ok(()) }
}
