//! Which object a path is to lead to, and the many ways to write the path.

use crate::bytes::Bytes;
use crate::call::{Object, Place};
use crate::values::{FileKind, Handle};

use super::draft::Drawing;
use super::scene::{Folder, Named, above, below};

/// A path in one of its forms.
#[derive(Clone, Copy)]
enum Spelling {
    Plain,
    Absolute,
    FromHandle,
    ThroughSymlink,
    Dot,
    UpAndDown,
    Slash,
    Slashes,
    FinalDot,
    FinalDotDot,
    Beyond,
    BeyondSymlink,
    Unknown,
    LongName,
    LongestName,
    LongPath,
    Empty,
    Root,
    FromRemoved,
    FromFile,
    FromClosed,
}

const SPELLINGS: &[(usize, Spelling)] = &[
    (220, Spelling::Plain),
    (12, Spelling::Absolute),
    (18, Spelling::FromHandle),
    (14, Spelling::ThroughSymlink),
    (6, Spelling::Dot),
    (6, Spelling::UpAndDown),
    (10, Spelling::Slash),
    (4, Spelling::Slashes),
    (4, Spelling::FinalDot),
    (4, Spelling::FinalDotDot),
    (6, Spelling::Beyond),
    (10, Spelling::BeyondSymlink),
    (4, Spelling::Unknown),
    (3, Spelling::LongName),
    (1, Spelling::LongestName),
    (2, Spelling::LongPath),
    (2, Spelling::Empty),
    (3, Spelling::Root),
    (10, Spelling::FromRemoved),
    (3, Spelling::FromFile),
    (4, Spelling::FromClosed),
];

/// Any kind of object.
pub(super) const fn any(_: FileKind) -> bool {
    true
}

/// A regular file.
pub(super) fn regular(kind: FileKind) -> bool {
    kind == FileKind::Regular
}

/// A directory.
pub(super) fn directory(kind: FileKind) -> bool {
    kind == FileKind::Directory
}

/// Anything but a directory.
pub(super) fn leaf(kind: FileKind) -> bool {
    kind != FileKind::Directory
}

/// A symlink.
pub(super) fn symlink(kind: FileKind) -> bool {
    kind == FileKind::Symlink
}

impl Drawing<'_> {
    /// One of the alphabet's names.
    pub(super) fn name(&mut self) -> Bytes {
        self.picks.of(&self.scene.alphabet.names).clone()
    }

    /// The path of some directory, mostly one that the caller can probably write to; the root half of the time.
    pub(super) fn folder(&mut self) -> Bytes {
        let open: Vec<&Folder> =
            self.scene.folders.iter().filter(|folder| self.scene.may_write(folder)).collect();
        let all: Vec<&Folder> = self.scene.folders.iter().collect();
        let folders = if open.is_empty() || self.picks.chance(25) { all } else { open };
        let place = self.picks.below(2 * folders.len());
        folders[place.saturating_sub(folders.len())].path.clone()
    }

    /// A name in some directory, which may be taken or free.
    pub(super) fn anywhere(&mut self) -> Bytes {
        let folder = self.folder();
        below(&folder, &self.name())
    }

    /// A name in some directory that is mostly free, if there is such a name.
    pub(super) fn vacancy(&mut self) -> Bytes {
        let folder = self.folder();
        let taken = |path: &Bytes| self.scene.names.iter().any(|named| named.path == *path);
        let paths = self.scene.alphabet.names.iter().map(|name| below(&folder, name));
        let free: Vec<Bytes> = paths.filter(|path| !taken(path)).collect();
        if free.is_empty() || self.picks.chance(35) {
            below(&folder, &self.name())
        } else {
            self.picks.of(&free).clone()
        }
    }

    /// A name that exists, of what `fits` while there is any.
    pub(super) fn existing(&mut self, fits: impl Fn(FileKind) -> bool) -> Option<Named> {
        let fitting: Vec<&Named> = self.scene.names.iter().filter(|named| fits(named.kind)).collect();
        match fitting.len() {
            0 if self.scene.names.is_empty() => None,
            0 => Some(self.picks.of(&self.scene.names).clone()),
            _ => Some((*self.picks.of(&fitting)).clone()),
        }
    }

    /// A path to what `fits`, mostly; else to anything, or to a name that is mostly free.
    pub(super) fn path_to(&mut self, fits: impl Fn(FileKind) -> bool) -> Bytes {
        let found = match self.picks.weighted(&[(75, 0), (15, 1), (10, 2)]) {
            0 => self.existing(fits),
            1 => self.existing(any),
            _ => None,
        };
        match found {
            Some(named) => named.path,
            None => self.anywhere(),
        }
    }

    /// The place of what `fits`, written in some way.
    pub(super) fn place_of(&mut self, fits: impl Fn(FileKind) -> bool) -> Place {
        let path = self.path_to(fits);
        self.spell(&path)
    }

    /// The place of a new name: most often one that is free or one that is taken by chance.
    pub(super) fn new_place(&mut self) -> Place {
        let path = self.vacancy();
        self.spell(&path)
    }

    /// What `fits`, by path or by handle.
    pub(super) fn object(&mut self, fits: impl Fn(FileKind) -> bool + Copy) -> Object {
        if self.picks.chance(30)
            && let Some(handle) = self.handle(fits)
        {
            return Object::Handle { handle };
        }
        let follow = !self.picks.chance(25);
        Object::Path { path: self.place_of(fits), follow }
    }

    /// An open handle, mostly of what `fits`; rarely one that is not open.
    pub(super) fn handle(&mut self, fits: impl Fn(FileKind) -> bool) -> Option<Handle> {
        if self.picks.chance(3) {
            return Some(self.scene.free_handle());
        }
        let fitting = self.scene.handles(fits);
        // Without one that fits, the caller mostly makes one.
        let unfit = if fitting.is_empty() { 20 } else { 5 };
        let handles = if self.picks.chance(unfit) { self.scene.handles(any) } else { fitting };
        if handles.is_empty() { None } else { Some(*self.picks.of(&handles)) }
    }

    /// The path, written in one of the ways that there are at this moment.
    pub(super) fn spell(&mut self, path: &Bytes) -> Place {
        let spelling = self.picks.weighted(SPELLINGS);
        let folder = above(path);
        let last = if folder.is_empty() { &path[..] } else { &path[folder.len() + 1..] };
        let text = match spelling {
            Spelling::Plain => path.to_vec(),
            Spelling::Absolute => [b"/", &path[..]].concat(),
            Spelling::FromHandle => return self.relative_to_handle(path),
            Spelling::ThroughSymlink => {
                let links = self.scene.links_to(folder);
                if links.is_empty() { path.to_vec() } else { [self.picks.of(&links), last].join(&b'/') }
            }
            Spelling::Dot => [&below(folder, b"."), last].join(&b'/'),
            Spelling::UpAndDown => self.up_and_down(folder, last),
            Spelling::Slash => [&path[..], b"/"].concat(),
            Spelling::Slashes => [b"//", folder, b"//", last, b"//"].concat(),
            Spelling::FinalDot => [&path[..], b"/."].concat(),
            Spelling::FinalDotDot => [&path[..], b"/.."].concat(),
            Spelling::Beyond => [&path[..], &self.name()].join(&b'/'),
            Spelling::BeyondSymlink => {
                let links: Vec<&Named> =
                    self.scene.names.iter().filter(|named| symlink(named.kind)).collect();
                if links.is_empty() {
                    path.to_vec()
                } else {
                    [&self.picks.of(&links).path[..], last].join(&b'/')
                }
            }
            Spelling::Unknown => [&self.name()[..], b"unknown", &self.name()].join(&b'/'),
            Spelling::LongName => below(folder, &[b'n'; 256]).0,
            Spelling::LongestName => below(folder, &[b'n'; 255]).0,
            Spelling::LongPath => [&b"./".repeat(2048)[..], &path[..]].concat(),
            Spelling::Empty => Vec::new(),
            Spelling::Root => b"/".to_vec(),
            Spelling::FromRemoved => return self.relative_to_removed(path),
            Spelling::FromFile => {
                let at = self.handle(leaf);
                return Place { path: Bytes::from(last), at };
            }
            Spelling::FromClosed => {
                return Place { path: Bytes::from(last), at: Some(self.scene.free_handle()) };
            }
        };
        Place { path: Bytes(text), at: None }
    }

    /// From an open directory above it, else from the root.
    fn relative_to_handle(&mut self, path: &Bytes) -> Place {
        let mut ways: Vec<(Handle, Bytes)> = Vec::new();
        for (handle, description) in self.scene.mine() {
            for folder in self.scene.folders.iter().filter(|folder| folder.inode == description.inode) {
                let rest = match folder.path.len() {
                    0 => Some(&path[..]),
                    _ => path.strip_prefix(&folder.path[..]).and_then(|rest| rest.strip_prefix(b"/")),
                };
                ways.extend(rest.map(|rest| (handle, Bytes::from(rest))));
            }
        }
        if ways.is_empty() {
            return Place { path: path.clone(), at: None };
        }
        let (at, path) = self.picks.of(&ways).clone();
        Place { path, at: Some(at) }
    }

    /// From an open directory that has been removed, else from the root.
    fn relative_to_removed(&mut self, path: &Bytes) -> Place {
        let removed = self.scene.removed();
        if removed.is_empty() {
            return Place { path: path.clone(), at: None };
        }
        let at = Some(*self.picks.of(&removed));
        let name = self.name();
        let path = self.picks.of(&[name, Bytes::from("."), Bytes::from("..")]).clone();
        Place { path, at }
    }

    /// Into another directory and out again by "..".
    fn up_and_down(&mut self, folder: &[u8], last: &[u8]) -> Vec<u8> {
        let inside = |named: &&Named| named.kind == FileKind::Directory && above(&named.path) == folder;
        let inner: Vec<&Named> = self.scene.names.iter().filter(inside).collect();
        if inner.is_empty() {
            // ".." of the root is the root.
            return [b"../", &below(folder, last)[..]].concat();
        }
        let through = self.picks.of(&inner).path.clone();
        [&through[..], b"..", last].join(&b'/')
    }
}
