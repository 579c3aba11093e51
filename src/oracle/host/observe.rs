//! The whole tree of a directory: looking at it without moving a time, and taking it away.
//!
//! Done by a client of its own that stays user 0, from the root of the file system. Files and directories are opened with
//! `O_NOATIME`. Reading a symlink moves its access time whatever one does, so targets are left out except where the mount
//! moves none.

use std::ffi::{CStr, CString};

use agentfs_model::bytes::{Bytes, MAX_BYTES};
use agentfs_model::outcome::Entry;
use agentfs_model::trace::RootSetting;
use agentfs_model::values::FileKind;
use nix::libc;

use super::kernel::{self, Descriptor, HERE, Refused, Subject};
use super::listing::decode;
use super::status;
use crate::oracle::tree::{Observed, Piece, Tree};

/// What went wrong, and where.
pub(super) struct Trouble {
    pub(super) doing: String,
    pub(super) number: i32,
}

type Done<T = ()> = Result<T, Trouble>;

/// Names what was being done on `path`.
fn while_doing<'a>(doing: &'a str, path: &'a [u8]) -> impl FnOnce(Refused) -> Trouble + 'a {
    move |Refused(number)| Trouble { doing: format!("{doing} {}", String::from_utf8_lossy(path)), number }
}

fn c_path(path: &[u8]) -> CString {
    CString::new(path).expect("names come from the kernel, without a NUL")
}

/// An open descriptor, closed at the end.
struct Opened(Descriptor);

impl Opened {
    fn open(path: &CStr, how: i32) -> kernel::Result<Self> {
        let how = how | libc::O_NOFOLLOW | libc::O_NOATIME | libc::O_NONBLOCK | libc::O_CLOEXEC;
        kernel::openat(HERE, path, how, 0).map(Self)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // Nothing was written.
        let _ = kernel::close(self.0);
    }
}

/// Everything from the root on.
pub(super) fn observe() -> Done<Tree> {
    let mounted = rustix::fs::statvfs("/").map_err(|error| Refused(error.raw_os_error()));
    let flags = mounted.map_err(while_doing("statvfs of", b"/"))?.f_flag;
    let no_atime = flags.contains(rustix::fs::StatVfsMountFlags::NOATIME);
    let mut tree = Tree::default();
    let mut coming = vec![Bytes::from("/")];
    while let Some(path) = coming.pop() {
        let observed = look(path, no_atime)?;
        for entry in observed.entries.iter().flatten().rev() {
            coming.push(below(&observed.path, &entry.name));
        }
        tree.objects.push(observed);
    }
    Ok(tree)
}

fn below(directory: &[u8], name: &[u8]) -> Bytes {
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    Bytes([directory, b"/", name].concat())
}

fn look(path: Bytes, no_atime: bool) -> Done<Observed> {
    let name = c_path(&path);
    let shown =
        kernel::fstatat(HERE, &name, libc::AT_SYMLINK_NOFOLLOW).map_err(while_doing("stat of", &path))?;
    let Some(shown) = status::status(&shown) else {
        return Err(while_doing("an unknown kind of file:", &path)(Refused(0)));
    };
    let content = match shown.kind {
        FileKind::Regular => Some(pieces(&name, &path)?),
        _ => None,
    };
    let entries = match shown.kind {
        FileKind::Directory => Some(entries(&name, &path)?),
        _ => None,
    };
    let target = match shown.kind {
        FileKind::Symlink if no_atime => Some(target(&name, &path)?),
        _ => None,
    };
    let xattrs = xattrs(&name, &path)?;
    Ok(Observed { path, status: shown, content, target, xattrs, entries })
}

/// The stretches of a file that are no holes.
fn pieces(name: &CStr, path: &[u8]) -> Done<Vec<Piece>> {
    let file = Opened::open(name, libc::O_RDONLY).map_err(while_doing("open of", path))?;
    let mut pieces = Vec::new();
    let mut total = 0;
    let mut end = 0;
    loop {
        let start = match kernel::lseek(file.0, end, libc::SEEK_DATA) {
            Ok(start) => start,
            Err(Refused(libc::ENXIO)) => {
                pieces.extend(last_page(&file, end.cast_unsigned(), path)?);
                return Ok(pieces);
            }
            Err(refused) => return Err(while_doing("SEEK_DATA in", path)(refused)),
        };
        let hole = kernel::lseek(file.0, start.cast_signed(), libc::SEEK_HOLE)
            .map_err(while_doing("SEEK_HOLE in", path))?;
        end = hole.cast_signed();
        total += hole.saturating_sub(start);
        if total > MAX_BYTES {
            return Err(while_doing("the content is more than a trace can hold: read of", path)(Refused(
                libc::EFBIG,
            )));
        }
        pieces.push((start, Bytes(read_exactly(&file, start, hole, path)?)));
    }
}

/// What the last page holds that a file can have, where the rest after `end` is said to be a hole: tmpfs does not look there.
fn last_page(file: &Opened, end: u64, path: &[u8]) -> Done<Option<Piece>> {
    const START: u64 = (1 << 63) - 4096;
    let size = kernel::lseek(file.0, 0, libc::SEEK_END).map_err(while_doing("SEEK_END in", path))?;
    let start = START.max(end);
    if size <= start {
        return Ok(None);
    }
    let piece = read_exactly(file, start, size, path)?;
    Ok(piece.iter().any(|byte| *byte != 0).then_some((start, Bytes(piece))))
}

fn read_exactly(file: &Opened, start: u64, end: u64, path: &[u8]) -> Done<Vec<u8>> {
    // Not more than 64 MiB.
    let mut piece = vec![0; (end - start) as usize];
    let mut filled = 0;
    while filled < piece.len() {
        let count = kernel::pread(file.0, &mut piece[filled..], start + filled as u64)
            .map_err(while_doing("read of", path))?;
        if count == 0 {
            // SEEK_HOLE promised more: it is shown as it is, too short.
            piece.truncate(filled);
            break;
        }
        filled += count;
    }
    Ok(piece)
}

fn entries(name: &CStr, path: &[u8]) -> Done<Vec<Entry>> {
    let how = libc::O_RDONLY | libc::O_DIRECTORY;
    let directory = Opened::open(name, how).map_err(while_doing("open of", path))?;
    let mut buffer = vec![0; 1 << 15];
    let mut entries = Vec::new();
    loop {
        let length = kernel::getdents64(directory.0, &mut buffer).map_err(while_doing("readdir of", path))?;
        if length == 0 {
            return Ok(entries);
        }
        entries.extend(decode(&buffer[..length]).0.into_iter().map(|listed| listed.entry));
    }
}

fn target(name: &CStr, path: &[u8]) -> Done<Bytes> {
    let mut buffer = [0; 4096];
    let length = kernel::readlinkat(HERE, name, &mut buffer).map_err(while_doing("readlink of", path))?;
    Ok(Bytes::from(&buffer[..length]))
}

fn xattrs(name: &CStr, path: &[u8]) -> Done<Vec<(Bytes, Bytes)>> {
    let subject = Subject::Path(name, false);
    let mut list = vec![0; status::LARGEST_XATTR];
    let length = match kernel::listxattr(subject, &mut list) {
        Ok(length) => length,
        // The file system has none at all.
        Err(Refused(libc::EOPNOTSUPP)) => 0,
        Err(refused) => return Err(while_doing("listxattr of", path)(refused)),
    };
    let mut xattrs = Vec::new();
    for name in status::xattr_names(&list[..length]) {
        let mut value = vec![0; status::LARGEST_XATTR];
        let length = kernel::getxattr(subject, &c_path(&name), &mut value)
            .map_err(while_doing("getxattr of", path))?;
        value.truncate(length);
        xattrs.push((name, Bytes(value)));
    }
    xattrs.sort();
    Ok(xattrs)
}

/// Takes everything away, and makes the root as if it were new.
pub(super) fn empty(root: RootSetting) -> Done {
    empty_directory(b"/")?;
    let failed = |doing| while_doing(doing, b"/");
    kernel::fchownat(HERE, c"/", root.uid, root.gid, 0).map_err(failed("chown of"))?;
    // Only now: chown takes away set-id bits.
    kernel::fchmodat(HERE, c"/", root.permissions).map_err(failed("chmod of"))?;
    for (name, _) in xattrs(c"/", b"/")? {
        match kernel::removexattr(Subject::Path(c"/", true), &c_path(&name)) {
            // What belongs to the machine's own protection cannot always be removed, and concerns no trace.
            Err(_) if name.starts_with(b"security.") => {}
            removed => removed.map_err(failed("removexattr of"))?,
        }
    }
    let now = libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW };
    kernel::utimensat(HERE, Some(c"/"), [now, now], 0).map_err(failed("utimens of"))
}

fn empty_directory(path: &[u8]) -> Done {
    for entry in entries(&c_path(path), path)? {
        let inner = below(path, &entry.name);
        let name = c_path(&inner);
        let removed = match entry.kind {
            // Not every file system says what its entries are.
            Some(FileKind::Directory) | None => kernel::unlinkat(HERE, &name, libc::AT_REMOVEDIR),
            Some(_) => kernel::unlinkat(HERE, &name, 0),
        };
        match removed {
            Ok(()) => {}
            Err(Refused(libc::ENOTDIR)) => {
                kernel::unlinkat(HERE, &name, 0).map_err(while_doing("unlink of", &inner))?;
            }
            Err(Refused(libc::ENOTEMPTY | libc::EEXIST)) => {
                empty_directory(&inner)?;
                kernel::unlinkat(HERE, &name, libc::AT_REMOVEDIR).map_err(while_doing("rmdir of", &inner))?;
            }
            Err(refused) => return Err(while_doing("removal of", &inner)(refused)),
        }
    }
    Ok(())
}
