//! Extended attributes (FS-XATTR).

use super::{Answer, FileSystem, refusal};
use crate::Errno::{E2BIG, EACCES, EEXIST, EINVAL, ENODATA, ENOSPC, EOPNOTSUPP, EPERM, ERANGE};
use crate::bytes::Bytes;
use crate::call::{AccessMode, Object, XattrMode};
use crate::fs::permission::STICKY;
use crate::outcome::{Expected, Outcome};
use crate::values::{FileKind, InodeId, ProcessId, Time};

/// The longest name, its namespace included.
const LONGEST_NAME: usize = 255;
/// The largest value.
const LARGEST_VALUE: usize = 65536;
/// What all names of an inode may take together, each with a byte after it.
const LARGEST_LIST: usize = 65536;

/// Whether a call reads attributes or changes them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Change,
}

fn check_name(name: &Bytes) -> Answer<()> {
    let acceptable = (1..=LONGEST_NAME).contains(&name.len()) && !name.contains(&0);
    if acceptable { Ok(()) } else { Err(refusal(ERANGE, "FS-XATTR-7")) }
}

impl FileSystem {
    /// FS-XATTR-7, from the namespaces on.
    fn may_use(&self, who: ProcessId, id: InodeId, name: &Bytes, purpose: Use) -> Answer<()> {
        let (inode, caller) = (&self.inodes[&id], self.credentials(who));
        let change = purpose == Use::Change;
        let hidden = |rule| Err(refusal(if change { EPERM } else { ENODATA }, rule));
        if name.starts_with(b"system.") {
            return Err(refusal(EOPNOTSUPP, "FS-XATTR-1"));
        }
        let in_namespace = |namespace: &[u8]| name.starts_with(namespace);
        if in_namespace(b"security.") {
            let refused = change && !caller.is_superuser();
            return if refused { Err(refusal(EPERM, "FS-XATTR-5")) } else { has_suffix(name, 9) };
        }
        if in_namespace(b"trusted.") {
            return if caller.is_superuser() { has_suffix(name, 8) } else { hidden("FS-XATTR-5") };
        }
        if in_namespace(b"user.") {
            if !matches!(inode.kind(), FileKind::Regular | FileKind::Directory) {
                return hidden("FS-XATTR-3");
            }
            let sticky = inode.kind() == FileKind::Directory && inode.permissions & STICKY != 0;
            if sticky && change && !self.owns(who, id) {
                return Err(refusal(EPERM, "FS-XATTR-3"));
            }
        }
        let access = if change { AccessMode::WRITE } else { AccessMode::READ };
        self.may(who, id, access).map_err(|_| refusal(EACCES, "FS-XATTR-4"))?;
        if !in_namespace(b"user.") {
            return Err(refusal(EOPNOTSUPP, "FS-XATTR-1"));
        }
        has_suffix(name, 5)
    }

    pub(super) fn getxattr(&mut self, who: ProcessId, object: &Object, name: &Bytes, now: Time) -> Answer {
        check_name(name)?;
        let id = self.object(who, object, now)?;
        self.may_use(who, id, name, Use::Read)?;
        let value = self.inodes[&id].xattrs.get(name).ok_or(refusal(ENODATA, "FS-XATTR-6"))?;
        Ok(Expected::Exactly(Outcome::Value(value.clone())))
    }

    pub(super) fn setxattr(
        &mut self,
        who: ProcessId,
        object: &Object,
        (name, value): (&Bytes, &Bytes),
        mode: XattrMode,
        now: Time,
    ) -> Answer {
        check_name(name)?;
        if value.len() > LARGEST_VALUE {
            return Err(refusal(E2BIG, "FS-XATTR-7"));
        }
        let id = self.object(who, object, now)?;
        self.writable()?;
        self.may_use(who, id, name, Use::Change)?;
        let xattrs = &self.inodes[&id].xattrs;
        match (mode, xattrs.contains_key(name)) {
            (XattrMode::Create, true) => return Err(refusal(EEXIST, "FS-XATTR-6")),
            (XattrMode::Replace, false) => return Err(refusal(ENODATA, "FS-XATTR-6")),
            (_, exists) => {
                let listed: usize = xattrs.keys().map(|name| name.len() + 1).sum();
                if !exists && listed + name.len() + 1 > LARGEST_LIST {
                    return Err(refusal(ENOSPC, "FS-XATTR-9"));
                }
            }
        }
        let same_changes = self.profile.same_xattr_changes;
        let inode = self.inode_mut(id);
        let before = inode.xattrs.insert(name.clone(), value.clone());
        if same_changes || before.as_ref() != Some(value) {
            inode.ctime = now;
        }
        Ok(Expected::done())
    }

    /// FS-XATTR-8.
    pub(super) fn listxattr(&mut self, who: ProcessId, object: &Object, now: Time) -> Answer {
        let id = self.object(who, object, now)?;
        let all = self.credentials(who).is_superuser();
        let names = self.inodes[&id].xattrs.keys();
        let visible = names.filter(|name| all || !name.starts_with(b"trusted.")).cloned().collect();
        Ok(Expected::Exactly(Outcome::Names(visible)))
    }

    pub(super) fn removexattr(&mut self, who: ProcessId, object: &Object, name: &Bytes, now: Time) -> Answer {
        check_name(name)?;
        let id = self.object(who, object, now)?;
        self.writable()?;
        self.may_use(who, id, name, Use::Change)?;
        let inode = self.inode_mut(id);
        inode.xattrs.remove(name).ok_or(refusal(ENODATA, "FS-XATTR-6"))?;
        inode.ctime = now;
        Ok(Expected::done())
    }
}

/// Whether a name goes on after its namespace.
fn has_suffix(name: &Bytes, namespace: usize) -> Answer<()> {
    if name.len() > namespace { Ok(()) } else { Err(refusal(EINVAL, "FS-XATTR-7")) }
}
