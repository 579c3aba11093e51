//! The host's side of a copy.
//!
//! Names that come out of a database are checked before they become host paths, and nothing below the destination is
//! followed, so that a database cannot lead a copy elsewhere.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use rustix::fs::{AtFlags, CWD, Dev, FileType, Mode as HostMode, Timespec, Timestamps, XattrFlags};

use super::copy::{Meta, Named, Present, Sink, Source, Take, Xattrs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::printable;
use crate::fuse;
use crate::types::{DeviceNumber, FileKind, Ino, Mode, Name, Timestamp};

/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;
/// Largest list of names, and largest value, of extended attributes in Linux.
const MAX_XATTR: usize = 64 << 10;

/// The host's files.
pub(super) struct Host {
    /// Whether owners can be given away.
    keeps_owners: bool,
    /// The devices under which the database's own files appear where it is mounted.
    mounts: Vec<u64>,
    /// What is part of where the copy goes, by identity.
    own: HashSet<(u64, u64)>,
}

/// A file of the host, open while it is written.
pub(super) struct Node {
    path: PathBuf,
    file: RefCell<Option<File>>,
}

impl Node {
    pub(super) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: RefCell::new(None) }
    }

    fn child(&self, name: &[u8]) -> Result<Self, Failure> {
        Name::new(name).map_err(|error| {
            Failure::from(error).about(format_args!("{}: {}", self.path.display(), printable(name)))
        })?;
        Ok(Self::new(self.path.join(OsStr::from_bytes(name))))
    }

    fn failed(&self, operation: &str, error: impl Into<io::Error>) -> Failure {
        Failure::host(operation, &self.path, error)
    }
}

impl Host {
    /// The host around `database`, whose files are never copied or replaced: they grow with the copy, and closing one
    /// would end the locks that SQLite has on it.
    pub(super) fn new(database: &Path) -> Result<Self, Failure> {
        let beside = ["", "-wal", "-shm"].map(|ending| {
            let mut path = database.as_os_str().to_owned();
            path.push(ending);
            fs::metadata(path)
        });
        let own = beside.into_iter().flatten().map(|metadata| (metadata.dev(), metadata.ino())).collect();
        let keeps_owners = rustix::process::geteuid().is_root();
        Ok(Self { keeps_owners, mounts: fuse::devices(database)?, own })
    }

    /// Leaves out the database's own `directories` as well, where they are met through a mount.
    pub(super) fn without(mut self, directories: impl IntoIterator<Item = Ino>) -> Self {
        self.own.extend(directories.into_iter().map(|ino| (0, ino.0)));
        self
    }

    /// Whether `directory` of the database is the host's `path` or above it.
    pub(super) fn is_below(&self, path: &Path, directory: Ino) -> Result<bool, Failure> {
        if self.mounts.is_empty() {
            return Ok(false);
        }
        let absolute = path.canonicalize().or_else(|_| std::path::absolute(path));
        let absolute = absolute.map_err(|error| Failure::host("copy to", path, error))?;
        let is_it = |metadata: fs::Metadata| self.identity(&metadata) == (0, directory.0);
        Ok(absolute.ancestors().any(|above| fs::metadata(above).is_ok_and(is_it)))
    }

    /// As the database's side has it, when the file is one of the database.
    fn identity(&self, metadata: &fs::Metadata) -> (u64, u64) {
        let device = if self.mounts.contains(&metadata.dev()) { 0 } else { metadata.dev() };
        (device, metadata.ino())
    }

    /// Returns when everything below `path`'s file system is on the disk.
    pub(super) fn sync(&self, path: &Path) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::host("sync", path, error);
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(failed)?;
        rustix::fs::syncfs(&file).map_err(|errno| failed(errno.into()))
    }
}

impl Source for Host {
    type Node = Node;

    fn meta(&self, node: &Node) -> Result<Meta, Failure> {
        let metadata = fs::symlink_metadata(&node.path).map_err(|error| node.failed("read", error))?;
        let mode = Mode::from_bits(metadata.mode()).ok_or_else(|| {
            Failure::new(Exit::Refused, format!("{}: of an unknown kind", node.path.display()))
        })?;
        let time = |seconds, nanoseconds| Timestamp::new(seconds, u32::try_from(nanoseconds).unwrap_or(0));
        Ok(Meta {
            mode,
            uid: metadata.uid(),
            gid: metadata.gid(),
            size: metadata.size(),
            nlink: metadata.nlink(),
            identity: self.identity(&metadata),
            // Linux's 32-bit encoding is the lower half of the 64-bit one.
            rdev: DeviceNumber(metadata.rdev() as u32),
            atime: time(metadata.atime(), metadata.atime_nsec()),
            mtime: time(metadata.mtime(), metadata.mtime_nsec()),
        })
    }

    fn children(&self, node: &Node) -> Result<Named<Node>, Failure> {
        let entries = fs::read_dir(&node.path).map_err(|error| node.failed("list", error))?;
        let mut children = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| node.failed("list", error))?;
            children.push((entry.file_name().as_bytes().to_vec(), Node::new(entry.path())));
        }
        children.sort_by(|(left, _), (right, _)| left.cmp(right));
        Ok(children)
    }

    fn target(&self, node: &Node) -> Result<Vec<u8>, Failure> {
        let target = fs::read_link(&node.path).map_err(|error| node.failed("read", error))?;
        Ok(target.as_os_str().as_bytes().to_vec())
    }

    fn content(&self, node: &Node, take: Take<'_>) -> Result<u64, Failure> {
        let failed = |error: io::Error| node.failed("read", error);
        let mut file =
            File::options().read(true).custom_flags(libc::O_NOFOLLOW).open(&node.path).map_err(failed)?;
        let mut buffer = vec![0; PIECE];
        let mut offset = 0;
        while let Some((start, end)) = data_range(&file, offset).map_err(failed)? {
            file.seek(SeekFrom::Start(start)).map_err(failed)?;
            offset = start;
            while offset < end {
                let wanted = usize::try_from(end - offset).unwrap_or(PIECE).min(PIECE);
                let read = file.read(&mut buffer[..wanted]).map_err(failed)?;
                if read == 0 {
                    return Ok(offset);
                }
                take(offset, &buffer[..read])?;
                offset += read as u64;
            }
        }
        let size = file.metadata().map_err(failed)?.len();
        // What was read is there, whatever became of the file since.
        Ok(size.max(offset))
    }

    fn xattrs(&self, node: &Node) -> Xattrs {
        let mut names = vec![0_u8; MAX_XATTR];
        let Ok(length) = rustix::fs::llistxattr(&node.path, &mut names[..]) else { return Xattrs::new() };
        let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let mut value = vec![0_u8; MAX_XATTR];
        names
            .filter_map(|name| {
                let length = rustix::fs::lgetxattr(&node.path, name, &mut value[..]).ok()?;
                Some((name.to_vec(), value[..length].to_vec()))
            })
            .collect()
    }

    fn is_own(&self, meta: &Meta) -> bool {
        self.own.contains(&meta.identity)
    }

    fn describe(&self, node: &Node) -> String {
        node.path.display().to_string()
    }
}

/// The next stored bytes at or after `offset`. A file system that knows no holes says that all is stored.
fn data_range(file: &File, offset: u64) -> io::Result<Option<(u64, u64)>> {
    use rustix::fs::SeekFrom::{Data, Hole};
    use rustix::io::Errno;
    let start = match rustix::fs::seek(file, Data(offset)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL | Errno::OPNOTSUPP) if offset == 0 => return Ok(Some((0, u64::MAX))),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    Ok(Some((start, rustix::fs::seek(file, Hole(start))?)))
}

impl Sink for Host {
    type Node = Node;

    fn look(&self, directory: &Node, name: &[u8]) -> Result<Present<Node>, Failure> {
        let node = directory.child(name)?;
        match fs::symlink_metadata(&node.path) {
            Ok(metadata) if metadata.is_dir() => Ok(Present::Directory(node)),
            Ok(metadata) => {
                // One of a kind that nobody knows is nothing to replace either.
                let kind = Mode::from_bits(metadata.mode()).map_or(FileKind::Socket, Mode::kind);
                Ok(Present::Other(kind, self.identity(&metadata)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Present::Nothing),
            Err(error) => Err(node.failed("look at", error)),
        }
    }

    fn unlink(&self, directory: &Node, name: &[u8]) -> Result<(), Failure> {
        let node = directory.child(name)?;
        if self.is_own(&self.meta(&node)?) {
            let message = format!("{}: is the database itself; choose another name", node.path.display());
            return Err(Failure::new(Exit::Refused, message));
        }
        fs::remove_file(&node.path).map_err(|error| node.failed("replace", error))
    }

    fn make_directory(&self, directory: &Node, name: &[u8]) -> Result<Node, Failure> {
        let node = directory.child(name)?;
        rustix::fs::mkdirat(CWD, &node.path, HostMode::RWXU).map_err(|errno| node.failed("create", errno))?;
        Ok(node)
    }

    fn make_file(&self, directory: &Node, name: &[u8]) -> Result<Node, Failure> {
        let node = directory.child(name)?;
        let file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&node.path)
            .map_err(|error| node.failed("create", error))?;
        node.file.replace(Some(file));
        Ok(node)
    }

    fn make_symlink(&self, directory: &Node, name: &[u8], target: &[u8]) -> Result<Node, Failure> {
        let node = directory.child(name)?;
        rustix::fs::symlinkat(target, CWD, &node.path).map_err(|errno| node.failed("create", errno))?;
        Ok(node)
    }

    fn make_special(&self, directory: &Node, name: &[u8], meta: &Meta) -> Result<Node, Failure> {
        let node = directory.child(name)?;
        let kind = match meta.mode.kind() {
            FileKind::CharacterDevice => FileType::CharacterDevice,
            FileKind::BlockDevice => FileType::BlockDevice,
            _ => FileType::Fifo,
        };
        let mode = HostMode::RUSR | HostMode::WUSR;
        rustix::fs::mknodat(CWD, &node.path, kind, mode, Dev::from(meta.rdev.0))
            .map_err(|errno| node.failed("create", errno))?;
        Ok(node)
    }

    fn link(&self, existing: &Node, directory: &Node, name: &[u8]) -> Result<(), Failure> {
        let node = directory.child(name)?;
        fs::hard_link(&existing.path, &node.path).map_err(|error| node.failed("create", error))
    }

    fn write(&self, file: &Node, offset: u64, data: &[u8]) -> Result<(), Failure> {
        match &*file.file.borrow() {
            Some(open) => open.write_all_at(data, offset).map_err(|error| file.failed("write", error)),
            None => Err(file.failed("write", rustix::io::Errno::BADF)),
        }
    }

    fn finish(&self, node: &Node, meta: &Meta, xattrs: &Xattrs) -> Result<(), Failure> {
        let kind = meta.mode.kind();
        if let Some(file) = node.file.take() {
            // A hole at the end is not written.
            file.set_len(meta.size).map_err(|error| node.failed("write", error))?;
        }
        if self.keeps_owners {
            std::os::unix::fs::lchown(&node.path, Some(meta.uid), Some(meta.gid))
                .map_err(|error| node.failed("give away", error))?;
        }
        if kind != FileKind::Symlink {
            fs::set_permissions(&node.path, fs::Permissions::from_mode(meta.mode.permissions()))
                .map_err(|error| node.failed("change the mode of", error))?;
        }
        for (name, value) in xattrs {
            // Best effort: the host may not take attributes, or not of this name space.
            let _ = rustix::fs::lsetxattr(&node.path, &name[..], value, XattrFlags::empty());
        }
        let spec = |time: Timestamp| Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() };
        let times = Timestamps { last_access: spec(meta.atime), last_modification: spec(meta.mtime) };
        rustix::fs::utimensat(CWD, &node.path, &times, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| node.failed("set the times of", errno))
    }
}
