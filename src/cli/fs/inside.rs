//! The database's side of a copy.

use super::copy::{Meta, Named, Present, Sink, Source, Take, Xattrs};
use super::files::Tree;
use crate::cli::exit::Failure;
use crate::cli::output::printable;
use crate::error::{Errno, Result as LibraryResult};
use crate::types::{FileKind, Gid, Name, SetAttributes, SetTime, Target, Uid};
use crate::vfs::paths::Reference;
use crate::vfs::{NodeSpec, SeekTo, Vfs, WriteFlags, XattrMode};

/// Bytes that are read at a time.
const PIECE: u64 = 1 << 20;

/// The database's files.
pub(super) struct Inside<'a> {
    tree: &'a Tree<'a>,
    /// Whether what is made keeps the owner of what it was copied from.
    keeps_owners: bool,
}

/// A file of the database, and the name it was found under, for messages.
pub(super) struct Node<'a> {
    held: Reference<'a>,
    name: Vec<u8>,
}

impl<'a> Inside<'a> {
    pub(super) fn new(tree: &'a Tree<'a>) -> Self {
        Self { tree, keeps_owners: rustix::process::geteuid().is_root() }
    }

    pub(super) fn node(&self, held: Reference<'a>, name: &[u8]) -> Node<'a> {
        Node { held, name: name.to_vec() }
    }

    fn made(&self, name: &[u8], made: LibraryResult<crate::types::Attributes>) -> Result<Node<'a>, Failure> {
        let attributes = made.map_err(|error| error.at_path(name))?;
        Ok(self.node(Reference::taken(self.tree.fs, attributes), name))
    }
}

impl<'a> Source for Inside<'a> {
    type Node = Node<'a>;

    fn meta(&self, node: &Node<'a>) -> Result<Meta, Failure> {
        let attributes = self.tree.fs.getattr(node.held.ino()).map_err(|error| error.at_path(&node.name))?;
        Ok(Meta {
            mode: attributes.mode,
            uid: attributes.uid.0,
            gid: attributes.gid.0,
            size: attributes.size,
            nlink: attributes.nlink.into(),
            // No device of the host has this number.
            identity: (0, attributes.ino.0),
            rdev: attributes.rdev,
            atime: attributes.atime,
            mtime: attributes.mtime,
        })
    }

    fn children(&self, node: &Node<'a>) -> Result<Named<Node<'a>>, Failure> {
        let children = self.tree.children(node.held.ino()).map_err(|error| error.at_path(&node.name))?;
        Ok(children.into_iter().map(|(name, held)| (name.clone(), Node { held, name })).collect())
    }

    fn target(&self, node: &Node<'a>) -> Result<Vec<u8>, Failure> {
        Ok(self.tree.fs.readlink(node.held.ino()).map_err(|error| error.at_path(&node.name))?)
    }

    fn content(&self, node: &Node<'a>, take: Take<'_>) -> Result<u64, Failure> {
        let (fs, ino) = (self.tree.fs, node.held.ino());
        let mut offset = 0;
        loop {
            let start = match fs.seek(ino, offset, SeekTo::Data) {
                Err(error) if error.errno() == Errno::ENXIO => return Ok(fs.getattr(ino)?.size.max(offset)),
                start => start?,
            };
            let end = fs.seek(ino, start, SeekTo::Hole)?;
            offset = start;
            while offset < end {
                // At most a piece, which fits.
                let data = fs.read(ino, offset, (end - offset).min(PIECE) as usize)?;
                if data.is_empty() {
                    return Ok(offset);
                }
                take(offset, &data)?;
                offset += data.len() as u64;
            }
        }
    }

    fn xattrs(&self, node: &Node<'a>) -> Xattrs {
        let (fs, caller, ino) = (self.tree.fs, &self.tree.caller, node.held.ino());
        let names = fs.listxattr(caller, ino).unwrap_or_default();
        names
            .into_iter()
            .filter_map(|name| fs.getxattr(caller, ino, &name).ok().map(|value| (name, value)))
            .collect()
    }

    fn describe(&self, node: &Node<'a>) -> String {
        format!(":{}", printable(&node.name))
    }
}

impl<'a> Sink for Inside<'a> {
    type Node = Node<'a>;

    fn look(&self, directory: &Node<'a>, name: &[u8]) -> Result<Present<Node<'a>>, Failure> {
        let found = self.tree.fs.lookup(&self.tree.caller, directory.held.ino(), Name::new(name)?);
        match found.map(|attributes| Reference::taken(self.tree.fs, attributes)) {
            Ok(held) if held.attributes().mode.is_directory() => {
                Ok(Present::Directory(self.node(held, name)))
            }
            Ok(held) => Ok(Present::Other(held.attributes().mode.kind(), (0, held.ino().0))),
            Err(error) if error.errno() == Errno::ENOENT => Ok(Present::Nothing),
            Err(error) => Err(error.at_path(name).into()),
        }
    }

    fn unlink(&self, directory: &Node<'a>, name: &[u8]) -> Result<(), Failure> {
        let unlinked = self.tree.fs.unlink(&self.tree.caller, directory.held.ino(), Name::new(name)?);
        Ok(unlinked.map_err(|error| error.at_path(name))?)
    }

    fn make_directory(&self, directory: &Node<'a>, name: &[u8]) -> Result<Node<'a>, Failure> {
        let Tree { fs, caller, .. } = self.tree;
        self.made(name, fs.mkdir(caller, directory.held.ino(), Name::new(name)?, 0o700))
    }

    fn make_file(&self, directory: &Node<'a>, name: &[u8]) -> Result<Node<'a>, Failure> {
        let Tree { fs, caller, .. } = self.tree;
        self.made(name, fs.create(caller, directory.held.ino(), Name::new(name)?, 0o600))
    }

    fn make_symlink(&self, directory: &Node<'a>, name: &[u8], target: &[u8]) -> Result<Node<'a>, Failure> {
        let Tree { fs, caller, .. } = self.tree;
        let target = Target::new(target).map_err(|error| error.at_path(name))?;
        self.made(name, fs.symlink(caller, directory.held.ino(), Name::new(name)?, target))
    }

    fn make_special(&self, directory: &Node<'a>, name: &[u8], meta: &Meta) -> Result<Node<'a>, Failure> {
        let Tree { fs, caller, .. } = self.tree;
        let spec = NodeSpec { mode: meta.mode, rdev: meta.rdev };
        self.made(name, fs.mknod(caller, directory.held.ino(), Name::new(name)?, spec))
    }

    fn link(&self, existing: &Node<'a>, directory: &Node<'a>, name: &[u8]) -> Result<(), Failure> {
        let Tree { fs, caller, .. } = self.tree;
        let linked = fs.link(caller, existing.held.ino(), directory.held.ino(), Name::new(name)?);
        self.made(name, linked).map(drop)
    }

    fn write(&self, file: &Node<'a>, offset: u64, data: &[u8]) -> Result<(), Failure> {
        let written = self.tree.fs.write(file.held.ino(), offset, data, WriteFlags::empty());
        written.map_err(|error| error.at_path(&file.name))?;
        Ok(())
    }

    fn finish(&self, node: &Node<'a>, meta: &Meta, xattrs: &Xattrs) -> Result<(), Failure> {
        let Tree { fs, caller, .. } = self.tree;
        let set = |changes: SetAttributes| {
            fs.setattr(caller, node.held.ino(), &changes).map_err(|error| error.at_path(&node.name))
        };
        let kind = meta.mode.kind();
        set(SetAttributes {
            // A hole at the end is not written.
            size: (kind == FileKind::Regular).then_some(meta.size),
            uid: self.keeps_owners.then_some(Uid(meta.uid)),
            gid: self.keeps_owners.then_some(Gid(meta.gid)),
            ..SetAttributes::default()
        })?;
        for (name, value) in xattrs {
            // Best effort: the host has name spaces that are not kept here.
            let _ = fs.setxattr(caller, node.held.ino(), name, value, XattrMode::Set);
        }
        // After the change of owner, which takes set-id bits away; the times last of all.
        set(SetAttributes {
            permissions: (kind != FileKind::Symlink).then_some(meta.mode.permissions()),
            atime: Some(SetTime::At(meta.atime)),
            mtime: Some(SetTime::At(meta.mtime)),
            ..SetAttributes::default()
        })?;
        Ok(())
    }
}
