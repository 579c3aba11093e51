//! On whose behalf an operation runs.

use bitflags::bitflags;

/// A user id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Uid(pub u32);

impl Uid {
    /// The superuser, whom permission bits do not bind.
    pub const ROOT: Self = Self(0);
}

/// A group id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gid(pub u32);

bitflags! {
    /// Kinds of access to an inode, with the bits of `access(2)`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Access: u32 {
        /// Execute a file, search a directory.
        const EXECUTE = 1;
        /// Write.
        const WRITE = 2;
        /// Read.
        const READ = 4;
    }
}

/// The credentials of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Effective (file-system) user id: owner of what is created.
    pub uid: Uid,
    /// Effective (file-system) group id.
    pub gid: Gid,
    /// Supplementary groups.
    pub groups: Vec<Gid>,
    /// Bits taken away from the mode of what is created.
    pub umask: u32,
    /// The kernel has already allowed the operation (a mount with `default_permissions`). Then the
    /// ids only say who owns what is created and whose set-id bits fall; nothing is refused.
    pub authorized: bool,
}

impl Caller {
    /// The superuser, with an empty umask.
    #[must_use]
    pub const fn root() -> Self {
        Self { uid: Uid::ROOT, gid: Gid(0), groups: Vec::new(), umask: 0, authorized: false }
    }

    /// An ordinary user without supplementary groups, umask 022.
    #[must_use]
    pub const fn user(uid: u32, gid: u32) -> Self {
        Self { uid: Uid(uid), gid: Gid(gid), groups: Vec::new(), umask: 0o022, authorized: false }
    }

    /// A caller whom the kernel has checked; it applied the umask as well.
    #[must_use]
    pub const fn authorized(uid: u32, gid: u32) -> Self {
        Self { uid: Uid(uid), gid: Gid(gid), groups: Vec::new(), umask: 0, authorized: true }
    }

    /// Whether permission checks do not bind this caller.
    #[must_use]
    pub const fn is_unrestricted(&self) -> bool {
        self.authorized || self.uid.0 == 0
    }

    /// Whether `gid` is the caller's group or one of the supplementary ones.
    #[must_use]
    pub fn is_in_group(&self, gid: Gid) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }
}
