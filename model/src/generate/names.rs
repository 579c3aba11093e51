//! Drafts of what makes, moves and removes names, and lists them.

use crate::bytes::Bytes;
use crate::call::{OpenFlags, Operation, RenameFlags};
use crate::values::FileKind;

use super::draft::Drawing;
use super::scene::{above, below};
use super::spelling::{any, directory, leaf, symlink};

/// Permissions to create with.
const MODES: &[u32] = &[0o755, 0o777, 0o777, 0o775, 0o700, 0o000, 0o2775, 0o1777, 0o6755, 0o7777, 0o555];

/// Where a name goes.
#[derive(Clone, Copy)]
enum Destination {
    Anywhere,
    SameKind,
    Anything,
    Below,
    Above,
    Same,
}

const DESTINATIONS: &[(usize, Destination)] = &[
    (40, Destination::Anywhere),
    (25, Destination::SameKind),
    (15, Destination::Anything),
    (6, Destination::Below),
    (6, Destination::Above),
    (6, Destination::Same),
];

impl Drawing<'_> {
    pub(super) fn mkdir(&mut self) -> Operation {
        let path = self.new_place();
        Operation::Mkdir { path, mode: *self.picks.of(MODES) }
    }

    pub(super) fn mknod(&mut self) -> Operation {
        let path = self.new_place();
        let mut kinds = vec![FileKind::Regular];
        if self.scene.alphabet.special_files {
            kinds.extend([FileKind::Fifo, FileKind::Socket, FileKind::CharDevice, FileKind::BlockDevice]);
            kinds.extend([FileKind::Directory, FileKind::Symlink]);
        }
        let kind = *self.picks.of(&kinds);
        let is_device = matches!(kind, FileKind::CharDevice | FileKind::BlockDevice);
        // 0:0 is the device that anyone may make; 259:70000 needs all of the encoding.
        let rdev = if is_device {
            *self.picks.of(&[0x0103, 0, (70_000 & 0xff) | 259 << 8 | (70_000 & !0xff) << 12])
        } else {
            0
        };
        Operation::Mknod { path, kind, mode: *self.picks.of(MODES), rdev }
    }

    pub(super) fn symlink(&mut self) -> Operation {
        let path = self.vacancy();
        let target = self.target(&path);
        Operation::Symlink { target, path: self.spell(&path) }
    }

    /// What the symlink at `path` points to.
    fn target(&mut self, path: &Bytes) -> Bytes {
        let up = above(path).split(|byte| *byte == b'/').filter(|part| !part.is_empty()).count();
        let to_root = b"../".repeat(up);
        match self.picks.weighted(&[
            (40, 0),
            (15, 1),
            (15, 2),
            (16, 3),
            (5, 4),
            (5, 5),
            (2, 6),
            (2, 7),
            (2, 8),
            (2, 9),
        ]) {
            0 => [&to_root[..], &self.path_to(directory)].concat().into(),
            1 => [&to_root[..], &self.path_to(leaf)].concat().into(),
            // Another symlink, or nothing.
            2 => [&to_root[..], &self.path_to(symlink)].concat().into(),
            // Itself.
            3 => Bytes::from(path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()),
            4 => Bytes::from(".."),
            5 if self.scene.alphabet.absolute_targets => [b"/", &self.path_to(any)[..]].concat().into(),
            5 => Bytes::from("."),
            6 => [&to_root[..], &self.path_to(any), b"/"].concat().into(),
            7 => Bytes::default(),
            8 => Bytes::repeated(b't', 4096),
            _ => Bytes::repeated(b't', 300),
        }
    }

    pub(super) fn link(&mut self) -> Operation {
        let from = self.place_of(leaf);
        let to = if self.picks.chance(25) { self.place_of(any) } else { self.new_place() };
        Operation::Link { from, to, follow: self.picks.chance(30) }
    }

    pub(super) fn link_handle(&mut self) -> Operation {
        let Some(handle) = self.handle(leaf) else { return self.open() };
        Operation::LinkHandle { handle, to: self.new_place() }
    }

    pub(super) fn unlink(&mut self) -> Operation {
        Operation::Unlink { path: self.place_of(leaf) }
    }

    pub(super) fn rmdir(&mut self) -> Operation {
        Operation::Rmdir { path: self.place_of(directory) }
    }

    pub(super) fn rename(&mut self) -> Operation {
        let source = self.existing(any);
        let kind = source.as_ref().map_or(FileKind::Regular, |named| named.kind);
        let from = match source {
            Some(named) if !self.picks.chance(8) => named.path,
            _ => self.anywhere(),
        };
        let same = |other: FileKind| (other == FileKind::Directory) == (kind == FileKind::Directory);
        let to = match self.picks.weighted(DESTINATIONS) {
            Destination::Anywhere => self.anywhere(),
            Destination::SameKind => self.path_to(same),
            Destination::Anything => self.path_to(any),
            Destination::Below => below(&from, &self.name()),
            Destination::Above if above(&from).is_empty() => Bytes::from("."),
            Destination::Above => Bytes::from(above(&from)),
            Destination::Same => from.clone(),
        };
        let flags = self.picks.weighted(&[
            (60, RenameFlags::empty()),
            (18, RenameFlags::NOREPLACE),
            (20, RenameFlags::EXCHANGE),
            (2, RenameFlags::all()),
        ]);
        Operation::Rename { from: self.spell(&from), to: self.spell(&to), flags }
    }

    pub(super) fn readlink(&mut self) -> Operation {
        Operation::Readlink { path: self.place_of(symlink) }
    }

    pub(super) fn readdir(&mut self) -> Operation {
        let Some(handle) = self.handle(directory) else { return self.open_directory() };
        Operation::Readdir { handle, count: *self.picks.of(&[1, 2, 3, 1000]) }
    }

    pub(super) fn seekdir(&mut self) -> Operation {
        let Some(handle) = self.handle(directory) else { return self.open_directory() };
        let mine = self.scene.mine().find(|(mine, _)| *mine == handle);
        let returned = mine.map_or(0, |(_, description)| description.listing.length());
        let after = u32::try_from(self.picks.below(returned + 1)).unwrap_or(u32::MAX);
        Operation::Seekdir { handle, after }
    }

    /// What makes a later listing possible.
    fn open_directory(&mut self) -> Operation {
        let folder = self.folder();
        let path = if folder.is_empty() { Bytes::from("/") } else { folder };
        let flags = OpenFlags::READ | OpenFlags::DIRECTORY;
        self.open_at(path, flags)
    }
}
