//! Drafts of what looks at attributes and changes them.

use crate::bytes::Bytes;
use crate::call::{AccessMode, Object, Operation, TimeChange, XattrMode};
use crate::values::FileKind;

use super::draft::Drawing;
use super::spelling::{any, leaf};

const PERMISSIONS: &[u32] = &[
    0o644, 0o755, 0o777, 0o600, 0o000, 0o070, 0o007, 0o4755, 0o2755, 0o2745, 0o6777, 0o1777, 0o2777, 0o444,
    0o7777,
];

/// What extended attributes belong to.
fn carries_attributes(kind: FileKind) -> bool {
    matches!(kind, FileKind::Regular | FileKind::Directory)
}

impl Drawing<'_> {
    pub(super) fn stat(&mut self) -> Operation {
        Operation::Stat { object: self.object(any) }
    }

    pub(super) fn access(&mut self) -> Operation {
        let path = self.place_of(any);
        let mode = AccessMode::from_bits_truncate(u32::try_from(self.picks.below(8)).unwrap_or(0));
        Operation::Access { path, mode }
    }

    pub(super) fn chmod(&mut self) -> Operation {
        let object = self.object(any);
        Operation::Chmod { object, mode: *self.picks.of(PERMISSIONS) }
    }

    pub(super) fn chown(&mut self) -> Operation {
        // A pointer to either of two functions, which are two types.
        let fits: fn(FileKind) -> bool = if self.picks.chance(50) { leaf } else { any };
        let object = self.object(fits);
        let (uid, gid) = (self.id(), self.id());
        Operation::Chown { object, uid, gid }
    }

    fn id(&mut self) -> Option<u32> {
        if self.picks.chance(65) { Some(*self.picks.of(&self.scene.alphabet.ids)) } else { None }
    }

    pub(super) fn utimens(&mut self) -> Operation {
        let object = self.object(any);
        let (atime, mtime) = match self.picks.weighted(&[(20, 0), (60, 1), (5, 2)]) {
            0 => (TimeChange::Now, TimeChange::Now),
            1 => (self.time(), self.time()),
            _ => (TimeChange::Omit, TimeChange::Omit),
        };
        Operation::Utimens { object, atime, mtime }
    }

    fn time(&mut self) -> TimeChange {
        match self.picks.weighted(&[(60, 0), (15, 1), (15, 2)]) {
            0 => TimeChange::At(*self.picks.of(&self.scene.alphabet.times)),
            1 => TimeChange::Omit,
            _ => TimeChange::Now,
        }
    }

    pub(super) fn umask(&mut self) -> Operation {
        Operation::Umask { mask: *self.picks.of(&[0o022, 0, 0o077, 0o777, 0o002]) }
    }

    pub(super) fn setxattr(&mut self) -> Operation {
        let object = self.object(carries_attributes);
        let name = self.attribute();
        let length = *self.picks.of(&self.scene.alphabet.value_lengths);
        let value = Bytes::repeated(*self.picks.of(b"vw\0"), length);
        let mode =
            self.picks.weighted(&[(60, XattrMode::Set), (20, XattrMode::Create), (20, XattrMode::Replace)]);
        Operation::Setxattr { object, name, value, mode }
    }

    pub(super) fn getxattr(&mut self) -> Operation {
        let (object, name) = self.object_and_attribute();
        Operation::Getxattr { object, name }
    }

    pub(super) fn listxattr(&mut self) -> Operation {
        Operation::Listxattr { object: self.object(carries_attributes) }
    }

    pub(super) fn removexattr(&mut self) -> Operation {
        let (object, name) = self.object_and_attribute();
        Operation::Removexattr { object, name }
    }

    /// An object and the name of an attribute that it mostly has, if any object has one.
    fn object_and_attribute(&mut self) -> (Object, Bytes) {
        let inodes = self.scene.model.inodes();
        let mut there: Vec<(&Bytes, &Bytes)> = Vec::new();
        for named in &self.scene.names {
            there.extend(inodes[&named.inode].xattrs.keys().map(|name| (&named.path, name)));
        }
        if there.is_empty() || self.picks.chance(40) {
            return (self.object(carries_attributes), self.attribute());
        }
        let (path, name) = *self.picks.of(&there);
        let (path, name) = (path.clone(), name.clone());
        (Object::Path { path: self.spell(&path), follow: true }, name)
    }

    fn attribute(&mut self) -> Bytes {
        let alphabet = self.scene.alphabet;
        match self.picks.weighted(&[(70, 0), (22, 1), (8, 2)]) {
            0 => alphabet.attributes[0].clone(),
            2 if !alphabet.odd_attributes.is_empty() => self.picks.of(&alphabet.odd_attributes).clone(),
            _ => self.picks.of(&alphabet.attributes).clone(),
        }
    }
}
