//! Copying a tree from one side to another, whatever the sides are.
//!
//! Keeps CLI-13: content byte for byte, holes as holes, hard links within the copied tree as hard links;
//! modes, times and symlinks; owners where that is allowed; extended attributes where the other side takes them.
//! It never follows a symlink below the place that was named, and never copies the copy.

use std::collections::{HashMap, HashSet};

use indicatif::{ProgressBar, ProgressStyle};

use super::show::kind_name;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{printable, warn};
use crate::types::{DeviceNumber, FileKind, Mode, Timestamp};

/// What is copied beside the content.
#[derive(Clone, Debug)]
pub(super) struct Meta {
    pub(super) mode: Mode,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) size: u64,
    pub(super) nlink: u64,
    /// What makes it the same file as another name's, on the same side or the other.
    pub(super) identity: (u64, u64),
    pub(super) rdev: DeviceNumber,
    pub(super) atime: Timestamp,
    pub(super) mtime: Timestamp,
}

/// Extended attributes by name.
pub(super) type Xattrs = Vec<(Vec<u8>, Vec<u8>)>;

/// The entries of a directory by name.
pub(super) type Named<N> = Vec<(Vec<u8>, N)>;

/// Takes bytes of a file and their offset.
pub(super) type Take<'t> = &'t mut dyn FnMut(u64, &[u8]) -> Result<(), Failure>;

/// Where a tree is copied from.
pub(super) trait Source {
    /// Something in it.
    type Node;

    fn meta(&self, node: &Self::Node) -> Result<Meta, Failure>;
    /// The entries of a directory, in byte order.
    fn children(&self, node: &Self::Node) -> Result<Named<Self::Node>, Failure>;
    /// The target of a symlink.
    fn target(&self, node: &Self::Node) -> Result<Vec<u8>, Failure>;
    /// The stored bytes of a file in pieces with their offsets, in order; holes are left out. Returns the size that the
    /// file turned out to have, which need not be the one in its attributes (in /proc, for one).
    fn content(&self, node: &Self::Node, take: Take<'_>) -> Result<u64, Failure>;
    /// Those that can be read.
    fn xattrs(&self, node: &Self::Node) -> Xattrs;
    /// Whether a copy of it would be one of the copy itself: a file of the database that is written, or a directory
    /// that the copy goes into.
    fn is_own(&self, _meta: &Meta) -> bool {
        false
    }
    /// For messages.
    fn describe(&self, node: &Self::Node) -> String;
}

/// What stands where something is to be copied to.
pub(super) enum Present<N> {
    Nothing,
    Directory(N),
    /// With its kind, and its identity as in [`Meta`].
    Other(FileKind, (u64, u64)),
}

/// Where a tree is copied to.
pub(super) trait Sink {
    /// Something in it.
    type Node;

    /// What `name` in `directory` is, a symlink being itself.
    fn look(&self, directory: &Self::Node, name: &[u8]) -> Result<Present<Self::Node>, Failure>;
    /// Removes something that is not a directory.
    fn unlink(&self, directory: &Self::Node, name: &[u8]) -> Result<(), Failure>;
    fn make_directory(&self, directory: &Self::Node, name: &[u8]) -> Result<Self::Node, Failure>;
    fn make_file(&self, directory: &Self::Node, name: &[u8]) -> Result<Self::Node, Failure>;
    fn make_symlink(&self, directory: &Self::Node, name: &[u8], target: &[u8])
    -> Result<Self::Node, Failure>;
    fn make_special(&self, directory: &Self::Node, name: &[u8], meta: &Meta) -> Result<Self::Node, Failure>;
    fn link(&self, existing: &Self::Node, directory: &Self::Node, name: &[u8]) -> Result<(), Failure>;
    fn write(&self, file: &Self::Node, offset: u64, data: &[u8]) -> Result<(), Failure>;
    /// Gives a node its attributes, last of all: size, owner, mode, extended attributes, times.
    fn finish(&self, node: &Self::Node, meta: &Meta, xattrs: &Xattrs) -> Result<(), Failure>;
}

/// What a copy came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct Copied {
    pub(super) files: u64,
    pub(super) directories: u64,
    pub(super) symlinks: u64,
    /// Hard links, pipes, devices.
    pub(super) others: u64,
    /// Bytes of content, holes left out.
    pub(super) bytes: u64,
}

impl Copied {
    /// Counts what another copy came to.
    pub(super) fn add(&mut self, other: Self) {
        self.files += other.files;
        self.directories += other.directories;
        self.symlinks += other.symlinks;
        self.others += other.others;
        self.bytes += other.bytes;
    }
}

/// A directory whose entries are being copied.
struct Level<S: Source, T: Sink> {
    node: S::Node,
    made: T::Node,
    children: std::vec::IntoIter<(Vec<u8>, S::Node)>,
}

/// One copy.
pub(super) struct Copier<'a, S: Source, T: Sink> {
    source: &'a S,
    sink: &'a T,
    /// Files with more than one name that have been copied.
    linked: HashMap<(u64, u64), T::Node>,
    /// The directories that are being copied. In a damaged database one of them can lie below itself.
    above: HashSet<(u64, u64)>,
    copied: Copied,
    progress: ProgressBar,
}

impl<'a, S: Source, T: Sink> Copier<'a, S, T> {
    pub(super) fn new(source: &'a S, sink: &'a T) -> Self {
        // Shown on standard error, and only when that is a terminal.
        let progress = ProgressBar::new_spinner();
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {binary_bytes} {binary_bytes_per_sec} {wide_msg}")
        {
            progress.set_style(style);
        }
        Self {
            source,
            sink,
            linked: HashMap::new(),
            above: HashSet::new(),
            copied: Copied::default(),
            progress,
        }
    }

    /// Ends the copy.
    pub(super) fn finish(self) -> Copied {
        self.progress.finish_and_clear();
        self.copied
    }

    /// Copies `node` and everything below it to `name` in `directory`, into a directory that is there already.
    pub(super) fn copy(&mut self, node: S::Node, directory: &T::Node, name: &[u8]) -> Result<(), Failure> {
        match self.copy_one(node, directory, name)? {
            Some(level) => self.descend(level),
            None => Ok(()),
        }
    }

    /// Copies what is in `node` into the directory `made`, and gives that its attributes.
    pub(super) fn fill(&mut self, node: S::Node, made: T::Node) -> Result<(), Failure> {
        let level = self.level(node, made)?;
        self.descend(level)
    }

    /// Goes down without recursion, since a tree can be deeper than the stack.
    fn descend(&mut self, top: Level<S, T>) -> Result<(), Failure> {
        let mut levels = vec![top];
        while let Some(level) = levels.last_mut() {
            if let Some((name, child)) = level.children.next() {
                let below = self.copy_one(child, &level.made, &name)?;
                levels.extend(below);
            } else if let Some(done) = levels.pop() {
                // Only now: what was made in it has moved its times, and its mode may forbid that.
                let meta = self.source.meta(&done.node)?;
                self.above.remove(&meta.identity);
                self.sink.finish(&done.made, &meta, &self.source.xattrs(&done.node))?;
            }
        }
        Ok(())
    }

    fn level(&mut self, node: S::Node, made: T::Node) -> Result<Level<S, T>, Failure> {
        self.above.insert(self.source.meta(&node)?.identity);
        let children = self.source.children(&node)?.into_iter();
        Ok(Level { node, made, children })
    }

    /// Copies anything but what is in a directory; that is returned, to be copied next.
    fn copy_one(
        &mut self,
        node: S::Node,
        directory: &T::Node,
        name: &[u8],
    ) -> Result<Option<Level<S, T>>, Failure> {
        let mut meta = self.source.meta(&node)?;
        if self.source.is_own(&meta) {
            warn(format_args!("{}: left out, a part of where the copy goes", self.source.describe(&node)));
            return Ok(None);
        }
        let present = self.sink.look(directory, name)?;
        if meta.mode.is_directory() {
            if self.above.contains(&meta.identity) {
                let message = format!("{}: the directory lies below itself", self.source.describe(&node));
                return Err(Failure::new(Exit::Refused, message));
            }
            let made = match present {
                Present::Directory(there) => there,
                Present::Nothing => self.sink.make_directory(directory, name)?,
                Present::Other(..) => return Err(self.conflict(&node, name, "not a directory")),
            };
            self.copied.directories += 1;
            return self.level(node, made).map(Some);
        }
        match present {
            Present::Directory(_) => return Err(self.conflict(&node, name, "a directory")),
            Present::Other(_, same) if same == meta.identity => {
                return Err(self.conflict(&node, name, "the same file"));
            }
            // Nobody who names /dev/null means to replace it.
            Present::Other(kind, _)
                if !matches!(kind, FileKind::Regular | FileKind::Symlink) && kind != meta.mode.kind() =>
            {
                return Err(self.conflict(&node, name, &format!("a {}", kind_name(kind))));
            }
            Present::Other(..) => self.sink.unlink(directory, name)?,
            Present::Nothing => {}
        }
        if let Some(existing) = self.linked.get(&meta.identity) {
            self.copied.others += 1;
            self.sink.link(existing, directory, name)?;
            return Ok(None);
        }
        self.progress.set_message(printable(name));
        if let Some(made) = self.make(&node, &mut meta, directory, name)? {
            self.sink.finish(&made, &meta, &self.source.xattrs(&node))?;
            if meta.nlink > 1 {
                self.linked.insert(meta.identity, made);
            }
        }
        Ok(None)
    }

    fn make(
        &mut self,
        node: &S::Node,
        meta: &mut Meta,
        directory: &T::Node,
        name: &[u8],
    ) -> Result<Option<T::Node>, Failure> {
        match meta.mode.kind() {
            FileKind::Regular => {
                let file = self.sink.make_file(directory, name)?;
                meta.size = self.source.content(node, &mut |offset, data| {
                    self.copied.bytes += data.len() as u64;
                    self.progress.set_position(self.copied.bytes);
                    self.sink.write(&file, offset, data)
                })?;
                self.copied.files += 1;
                Ok(Some(file))
            }
            FileKind::Symlink => {
                self.copied.symlinks += 1;
                self.sink.make_symlink(directory, name, &self.source.target(node)?).map(Some)
            }
            FileKind::Socket => {
                warn(format_args!("{}: a socket is not copied", self.source.describe(node)));
                Ok(None)
            }
            _ => {
                self.copied.others += 1;
                self.sink.make_special(directory, name, meta).map(Some)
            }
        }
    }

    fn conflict(&self, node: &S::Node, name: &[u8], is: &str) -> Failure {
        let kind = self.source.meta(node).map_or("file", |meta| kind_name(meta.mode.kind()));
        Failure::new(
            Exit::Refused,
            format!(
                "{}: cannot copy the {kind} to {}, which is {is}",
                self.source.describe(node),
                printable(name)
            ),
        )
    }
}
