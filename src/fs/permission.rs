//! Who may do what: permission bits, ownership, sticky directories, and which set-id bits fall.
//!
//! Keeps FS-ERR-3, FS-PERM-1 to FS-PERM-7 and FS-PERM-11 to FS-PERM-14, as in `inode_permission`, `may_delete`, `may_create` and `setattr_prepare` of
//! Linux. Capabilities are not modelled: user 0 has all of them, others none.

use super::inode::Inode;
use crate::error::{Errno, Result};
use crate::types::{Access, Caller, FileKind, Gid, Mode};

/// EACCES unless `caller` has all of `access` on `inode`.
pub(super) fn check_access(caller: &Caller, inode: &Inode, access: Access) -> Result<()> {
    if caller.authorized {
        return Ok(());
    }
    let permissions = inode.mode.permissions();
    let granted = if caller.uid.0 == 0 {
        // The superuser may execute what somebody may execute, and search every directory.
        let executable = inode.mode.is_directory() || permissions & 0o111 != 0;
        if executable { Access::all() } else { Access::READ | Access::WRITE }
    } else if caller.uid == inode.uid {
        Access::from_bits_truncate(permissions >> 6)
    } else if caller.is_in_group(inode.gid) {
        Access::from_bits_truncate(permissions >> 3)
    } else {
        Access::from_bits_truncate(permissions)
    };
    if granted.contains(access) { Ok(()) } else { Err(Errno::EACCES.into()) }
}

/// Search permission on a directory; ENOTDIR on anything else.
pub(super) fn check_search(caller: &Caller, directory: &Inode) -> Result<()> {
    if !directory.mode.is_directory() {
        return Err(Errno::ENOTDIR.into());
    }
    check_access(caller, directory, Access::EXECUTE)
}

/// Whether an entry may be added to `directory`.
pub(super) fn check_add(caller: &Caller, directory: &Inode) -> Result<()> {
    check_access(caller, directory, Access::WRITE | Access::EXECUTE)
}

/// Whether the entry of `victim` may be taken out of `directory`: EACCES, or EPERM by the sticky bit.
pub(super) fn check_remove(caller: &Caller, directory: &Inode, victim: &Inode) -> Result<()> {
    check_access(caller, directory, Access::WRITE | Access::EXECUTE)?;
    let sticky = directory.mode.permissions() & Mode::STICKY != 0;
    if sticky && !owns(caller, victim) && !owns(caller, directory) {
        return Err(Errno::EPERM.into());
    }
    Ok(())
}

/// Whether `caller` may do what only the owner may.
pub(super) fn owns(caller: &Caller, inode: &Inode) -> bool {
    caller.is_unrestricted() || caller.uid == inode.uid
}

/// The permissions left after a truncation by an unprivileged `caller`, or a change of owner by anyone.
pub(super) fn without_set_id(caller: &Caller, inode: &Inode) -> Mode {
    drop_set_id(inode.mode, !caller.is_unrestricted() && !caller.is_in_group(inode.gid))
}

/// `mode` without set-user-id, and without set-group-id where it means execution, or for a stranger to the group.
pub(super) fn drop_set_id(mode: Mode, stranger: bool) -> Mode {
    let permissions = mode.permissions();
    let group = if permissions & 0o010 != 0 || stranger { Mode::SET_GID } else { 0 };
    mode.with_permissions(permissions & !(Mode::SET_UID | group))
}

/// Mode and group of what `caller` makes in `directory`.
pub(super) fn inherit(caller: &Caller, directory: &Inode, kind: FileKind, permissions: u32) -> (Mode, Gid) {
    let kept = !caller.umask;
    if directory.mode.permissions() & Mode::SET_GID == 0 {
        return (Mode::new(kind, permissions & kept), caller.gid);
    }
    let foreign = !caller.is_unrestricted() && !caller.is_in_group(directory.gid);
    let permissions = match kind {
        FileKind::Directory => (permissions & kept) | Mode::SET_GID,
        // What is asked for counts, not what the umask leaves of it.
        _ if permissions & 0o2010 == 0o2010 && foreign => permissions & kept & !Mode::SET_GID,
        _ => permissions & kept,
    };
    (Mode::new(kind, permissions), directory.gid)
}
