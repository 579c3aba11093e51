//! Who may do what: permission bits, sticky directories, set-id bits (FS-PERM).

use super::{Answer, FileSystem, Inode, refusal};
use crate::Errno::{EACCES, EPERM, EROFS};
use crate::call::AccessMode;
use crate::values::{Credentials, FileKind, InodeId, ProcessId};

/// Set-user-id.
pub(super) const SET_USER_ID: u32 = 0o4000;
/// Set-group-id.
pub(super) const SET_GROUP_ID: u32 = 0o2000;
/// Sticky.
pub(super) const STICKY: u32 = 0o1000;
/// The group may execute.
pub(super) const GROUP_EXECUTE: u32 = 0o010;

impl FileSystem {
    pub(super) fn credentials(&self, who: ProcessId) -> &Credentials {
        &self.processes[usize::from(who.0)].credentials
    }

    /// FS-PERM-1 and FS-PERM-2.
    pub(super) fn may(&self, who: ProcessId, inode: InodeId, access: AccessMode) -> Answer<()> {
        let caller = self.credentials(who);
        let target = &self.inodes[&inode];
        if caller.is_superuser() {
            let executable = target.kind() == FileKind::Directory || target.permissions & 0o111 != 0;
            let refused = access.contains(AccessMode::EXECUTE) && !executable;
            return if refused { Err(refusal(EACCES, "FS-PERM-2")) } else { Ok(()) };
        }
        let shift = match () {
            () if caller.uid == target.uid => 6,
            () if caller.is_member(target.gid) => 3,
            () => 0,
        };
        let granted = target.permissions >> shift;
        if access.bits() & !granted == 0 { Ok(()) } else { Err(refusal(EACCES, "FS-PERM-1")) }
    }

    pub(super) fn may_search(&self, who: ProcessId, directory: InodeId) -> Answer<()> {
        self.may(who, directory, AccessMode::EXECUTE)
    }

    /// FS-PERM-3: adding and taking out entries.
    pub(super) fn may_change_entries(&self, who: ProcessId, directory: InodeId) -> Answer<()> {
        self.may(who, directory, AccessMode::WRITE | AccessMode::EXECUTE)
            .map_err(|_| refusal(EACCES, "FS-PERM-3"))
    }

    /// FS-PERM-4: in a sticky directory.
    pub(super) fn may_take_out(&self, who: ProcessId, directory: InodeId, victim: InodeId) -> Answer<()> {
        let caller = self.credentials(who);
        let (directory, victim) = (&self.inodes[&directory], &self.inodes[&victim]);
        let allowed = directory.permissions & STICKY == 0
            || caller.is_superuser()
            || [directory.uid, victim.uid].contains(&caller.uid);
        if allowed { Ok(()) } else { Err(refusal(EPERM, "FS-PERM-4")) }
    }

    /// The owner, or user 0.
    pub(super) fn owns(&self, who: ProcessId, inode: InodeId) -> bool {
        let caller = self.credentials(who);
        caller.is_superuser() || caller.uid == self.inodes[&inode].uid
    }

    pub(super) fn writable(&self) -> Answer<()> {
        if self.read_only { Err(refusal(EROFS, "OPEN-8")) } else { Ok(()) }
    }

    /// Whether `caller` keeps set-group-id on what belongs to `gid`: user 0, and members.
    fn keeps_set_group_id(caller: &Credentials, gid: u32) -> bool {
        caller.is_superuser() || caller.is_member(gid)
    }

    /// FS-PERM-6, FS-PERM-7, FS-PERM-14: owner, group and permissions of what `who` creates in `directory`.
    pub(super) fn newborn(
        &self,
        who: ProcessId,
        directory: InodeId,
        kind: FileKind,
        mode: u32,
    ) -> (u32, u32, u32) {
        let process = &self.processes[usize::from(who.0)];
        let (caller, parent) = (&process.credentials, &self.inodes[&directory]);
        let inherited = parent.permissions & SET_GROUP_ID != 0;
        let gid = if inherited { parent.gid } else { caller.gid };
        let permissions = match kind {
            FileKind::Symlink => 0o777,
            FileKind::Directory => {
                let own = mode & 0o1777 & !process.umask;
                if inherited { own | SET_GROUP_ID } else { own }
            }
            _ => {
                let both = SET_GROUP_ID | GROUP_EXECUTE;
                let foreign = inherited && mode & both == both && !Self::keeps_set_group_id(caller, gid);
                mode & 0o7777 & !process.umask & if foreign { !SET_GROUP_ID } else { !0 }
            }
        };
        (caller.uid, gid, permissions)
    }

    /// FS-PERM-11: what a change of owner takes away from a file of these permissions, and by others also a change of
    /// content (FS-PERM-12, MNT-38).
    pub(super) fn without_set_id(&self, who: ProcessId, inode: &Inode, owner_changes: bool) -> u32 {
        let caller = self.credentials(who);
        if inode.kind() == FileKind::Directory || (caller.is_superuser() && !owner_changes) {
            return inode.permissions;
        }
        let mut dropped = SET_USER_ID;
        let stranger = !Self::keeps_set_group_id(caller, inode.gid) && self.profile.plain_set_group_id_falls;
        if inode.permissions & GROUP_EXECUTE != 0 || stranger {
            dropped |= SET_GROUP_ID;
        }
        inode.permissions & !dropped
    }

    /// FS-PERM-10: the permissions that chmod gives to what belongs to `gid`.
    pub(super) fn chmod_permissions(&self, who: ProcessId, gid: u32, mode: u32) -> u32 {
        let kept = Self::keeps_set_group_id(self.credentials(who), gid);
        mode & 0o7777 & if kept { !0 } else { !SET_GROUP_ID }
    }
}
