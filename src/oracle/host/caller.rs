//! One process of a trace: its open handles, and each operation as the system call that it is.
//!
//! Nothing is checked that the kernel checks: what is not open, negative, too long or refused is passed on, so that the
//! answer is the kernel's. Keeps ORA-10 (handles), ORA-11 (positions in listings, in `listing`), ORA-13 (what has no system
//! call is unsupported) and ORA-14 (no device of the machine is opened).

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};

use agentfs_model::Errno;
use agentfs_model::bytes::{Bytes, MAX_BYTES};
use agentfs_model::call::{Object, OpenFlags, Operation, Place, TimeChange, Whence, XattrMode};
use agentfs_model::outcome::Outcome;
use agentfs_model::values::{FileKind, Handle};
use nix::libc;

use super::kernel::{self, Descriptor, HERE, NOT_OPEN, Refused, Subject, at_flags};
use super::status;

/// An open handle.
pub(super) struct Open {
    pub(super) descriptor: Descriptor,
    /// The positions after the entries that its listing has returned.
    pub(super) returned: Vec<u64>,
}

/// The process.
pub(super) struct Caller {
    handles: BTreeMap<Handle, Open>,
    /// The root directory, open for as long as the process is in it.
    root: Descriptor,
    /// None for user 0; the one user and group that have a number where the process is not that.
    only: Option<(u32, u32)>,
    pub(super) buffer: Vec<u8>,
}

/// Why an operation has no outcome of its own.
pub(super) enum Stop {
    /// The kernel refused it.
    Kernel(Refused),
    /// It is refused before the kernel sees it, as it would.
    Refused(Errno),
    /// It cannot be done here.
    Unsupported(String),
}

impl From<Refused> for Stop {
    fn from(refused: Refused) -> Self {
        Self::Kernel(refused)
    }
}

pub(super) type Done<T = Outcome> = Result<T, Stop>;

/// A path and the descriptor that it begins at.
struct Located {
    at: Descriptor,
    path: CString,
}

impl Located {
    fn pair(&self) -> (Descriptor, &CStr) {
        (self.at, &self.path)
    }
}

/// The byte string as the kernel takes paths and targets. One with a NUL cannot be passed.
fn text(bytes: &Bytes) -> Done<CString> {
    CString::new(bytes.0.clone()).map_err(|_| Stop::Refused(Errno::EINVAL))
}

fn unsupported<T>(why: impl Into<String>) -> Done<T> {
    Err(Stop::Unsupported(why.into()))
}

/// A call that not every kernel has.
fn since<T>(version: &str, call: &str, answer: kernel::Result<T>) -> Done<T> {
    match answer {
        Err(Refused(libc::ENOSYS)) => unsupported(format!("{call} needs Linux {version}")),
        answer => Ok(answer?),
    }
}

impl Caller {
    pub(super) const fn new(root: Descriptor, only: Option<(u32, u32)>) -> Self {
        Self { handles: BTreeMap::new(), root, only, buffer: Vec::new() }
    }

    /// Closes every handle.
    pub(super) fn close_all(&mut self) {
        for open in std::mem::take(&mut self.handles).into_values() {
            // What closing says belongs to nobody here.
            let _ = kernel::close(open.descriptor);
        }
    }

    pub(super) fn open_handle(&mut self, handle: Handle) -> Option<&mut Open> {
        self.handles.get_mut(&handle)
    }

    pub(super) fn descriptor(&self, handle: Handle) -> Descriptor {
        self.handles.get(&handle).map_or(NOT_OPEN, |open| open.descriptor)
    }

    fn locate(&self, place: &Place) -> Done<Located> {
        let at = place.at.map_or(HERE, |handle| self.descriptor(handle));
        Ok(Located { at, path: text(&place.path)? })
    }

    /// Does it. With `devices`, there may be devices in the tree.
    pub(super) fn run(&mut self, operation: &Operation, devices: bool) -> Done {
        match operation {
            Operation::Umask { mask } => {
                kernel::umask(*mask);
                Ok(Outcome::Done)
            }
            Operation::Open { path, flags, mode, handle } => self.open(path, *flags, *mode, *handle, devices),
            Operation::Close { handle } => self.close(*handle),
            Operation::Read { handle, length } => self.read(*handle, None, *length),
            Operation::Pread { handle, offset, length } => self.read(*handle, Some(*offset), *length),
            Operation::Write { handle, data } => {
                Ok(Outcome::Count(kernel::write(self.descriptor(*handle), data)?))
            }
            Operation::Pwrite { handle, offset, data } => {
                Ok(Outcome::Count(kernel::pwrite(self.descriptor(*handle), data, *offset)?))
            }
            Operation::Seek { handle, offset, whence } => self.seek(*handle, *offset, *whence),
            Operation::Truncate { object, size } => self.truncate(object, *size),
            Operation::Fallocate { handle, mode, offset, length } => {
                done(kernel::fallocate(self.descriptor(*handle), mode.bits(), *offset, *length))
            }
            Operation::CopyFileRange { from, from_offset, to, to_offset, length } => {
                let [from, to] = [self.descriptor(*from), self.descriptor(*to)];
                let copied = kernel::copy_file_range((from, *from_offset), (to, *to_offset), *length)?;
                Ok(Outcome::Count(copied))
            }
            Operation::Fsync { handle } => done(kernel::fsync(self.descriptor(*handle))),
            Operation::Fdatasync { handle } => done(kernel::fdatasync(self.descriptor(*handle))),
            Operation::Sync => done(kernel::syncfs(self.root)),
            Operation::Stat { object } => self.stat(object),
            Operation::Access { path, mode } => {
                let Located { at, path } = self.locate(path)?;
                done(kernel::faccessat(at, &path, mode.bits()))
            }
            Operation::Chmod { object, mode } => self.chmod(object, *mode),
            Operation::Chown { object, uid, gid } => self.chown(object, *uid, *gid),
            Operation::Utimens { object, atime, mtime } => self.utimens(object, *atime, *mtime),
            Operation::Mkdir { path, mode } => {
                let Located { at, path } = self.locate(path)?;
                done(kernel::mkdirat(at, &path, *mode))
            }
            Operation::Mknod { path, kind, mode, rdev } => {
                let Located { at, path } = self.locate(path)?;
                // The kernel takes the number in the encoding of FMT-12.
                done(kernel::mknodat(at, &path, status::type_bits(*kind) | *mode, *rdev))
            }
            Operation::Symlink { target, path } => {
                let Located { at, path } = self.locate(path)?;
                done(kernel::symlinkat(&text(target)?, at, &path))
            }
            Operation::Link { from, to, follow } => {
                let [from, to] = [self.locate(from)?, self.locate(to)?];
                let how = if *follow { libc::AT_SYMLINK_FOLLOW } else { 0 };
                done(kernel::linkat(from.pair(), to.pair(), how))
            }
            Operation::LinkHandle { handle, to } => {
                let to = self.locate(to)?;
                done(kernel::linkat((self.descriptor(*handle), c""), to.pair(), libc::AT_EMPTY_PATH))
            }
            Operation::Unlink { path } => self.unlink(path, 0),
            Operation::Rmdir { path } => self.unlink(path, libc::AT_REMOVEDIR),
            Operation::Rename { from, to, flags } => {
                let [from, to] = [self.locate(from)?, self.locate(to)?];
                done(kernel::renameat2(from.pair(), to.pair(), flags.bits()))
            }
            Operation::Readlink { path } => self.readlink(path),
            Operation::Readdir { handle, count } => self.readdir(*handle, *count),
            Operation::Seekdir { handle, after } => self.seekdir(*handle, *after),
            Operation::Getxattr { object, name } => self.getxattr(object, name),
            Operation::Setxattr { object, name, value, mode } => self.setxattr(object, name, value, *mode),
            Operation::Listxattr { object } => self.listxattr(object),
            Operation::Removexattr { object, name } => {
                let name = xattr_name(name)?;
                self.on_xattrs(object, |subject| kernel::removexattr(subject, &name)).map(|()| Outcome::Done)
            }
            Operation::Statfs => Ok(Outcome::Statistics(status::statistics(&kernel::statfs(c"/")?))),
            Operation::Reopen { .. } | Operation::Crash => unsupported("no process of a trace can do that"),
        }
    }

    fn open(&mut self, place: &Place, flags: OpenFlags, mode: u32, handle: Handle, devices: bool) -> Done {
        if self.handles.contains_key(&handle) {
            return unsupported(format!("handle {} is open already", handle.0));
        }
        let Some(how) = open_flags(flags) else { return unsupported("open for neither reading nor writing") };
        let Located { at, path } = self.locate(place)?;
        // These open nothing that is there, and are refused before a symlink is followed, which a look would be seen to do.
        let opens_nothing = flags.contains(OpenFlags::CREATE)
            && (flags.intersects(OpenFlags::DIRECTORY | OpenFlags::EXCLUSIVE) || place.path.ends_with(b"/"));
        if devices && !opens_nothing && is_device(at, &path, how) {
            return unsupported("a device of the machine is not opened");
        }
        let descriptor = kernel::openat(at, &path, how, mode)?;
        self.handles.insert(handle, Open { descriptor, returned: Vec::new() });
        Ok(Outcome::Done)
    }

    fn close(&mut self, handle: Handle) -> Done {
        let descriptor = self.handles.remove(&handle).map_or(NOT_OPEN, |open| open.descriptor);
        done(kernel::close(descriptor))
    }

    fn read(&mut self, handle: Handle, offset: Option<u64>, length: u64) -> Done {
        let descriptor = self.descriptor(handle);
        if length > MAX_BYTES {
            return unsupported("more than 64 MiB at once are not read");
        }
        // At most 64 MiB.
        self.buffer.resize(length as usize, 0);
        let buffer = &mut self.buffer[..length as usize];
        let count = match offset {
            None => kernel::read(descriptor, buffer)?,
            Some(offset) => kernel::pread(descriptor, buffer, offset)?,
        };
        Ok(Outcome::Data(Bytes::from(&self.buffer[..count])))
    }

    fn seek(&self, handle: Handle, offset: i64, whence: Whence) -> Done {
        let whence = match whence {
            Whence::Set => libc::SEEK_SET,
            Whence::Current => libc::SEEK_CUR,
            Whence::End => libc::SEEK_END,
            Whence::Data => libc::SEEK_DATA,
            Whence::Hole => libc::SEEK_HOLE,
        };
        Ok(Outcome::Offset(kernel::lseek(self.descriptor(handle), offset, whence)?))
    }

    fn truncate(&self, object: &Object, size: u64) -> Done {
        match object {
            Object::Handle { handle } => done(kernel::ftruncate(self.descriptor(*handle), size)),
            Object::Path { path, .. } if path.at.is_some() => unsupported("Linux has no truncateat"),
            Object::Path { path, .. } => done(kernel::truncate(&text(&path.path)?, size)),
        }
    }

    fn stat(&self, object: &Object) -> Done {
        let shown = match object {
            Object::Handle { handle } => kernel::fstat(self.descriptor(*handle))?,
            Object::Path { path, follow } => {
                let Located { at, path } = self.locate(path)?;
                kernel::fstatat(at, &path, at_flags(*follow))?
            }
        };
        status::status(&shown).map(Outcome::Status).map_or_else(|| unsupported("an unknown kind of file"), Ok)
    }

    fn chmod(&self, object: &Object, mode: u32) -> Done {
        match object {
            Object::Handle { handle } => done(kernel::fchmod(self.descriptor(*handle), mode)),
            Object::Path { path, follow } => {
                let Located { at, path } = self.locate(path)?;
                if *follow {
                    return done(kernel::fchmodat(at, &path, mode));
                }
                since("6.6", "fchmodat2", kernel::fchmodat2(at, &path, mode, libc::AT_SYMLINK_NOFOLLOW))?;
                Ok(Outcome::Done)
            }
        }
    }

    fn chown(&self, object: &Object, uid: Option<u32>, gid: Option<u32>) -> Done {
        let others = self.only.is_some_and(|(own_uid, own_gid)| {
            uid.is_some_and(|uid| uid != own_uid) || gid.is_some_and(|gid| gid != own_gid)
        });
        if others {
            return unsupported("only user 0 can try this with the ids of others");
        }
        let [uid, gid] = [uid, gid].map(|id| id.unwrap_or(u32::MAX));
        match object {
            Object::Handle { handle } => done(kernel::fchown(self.descriptor(*handle), uid, gid)),
            Object::Path { path, follow } => {
                let Located { at, path } = self.locate(path)?;
                done(kernel::fchownat(at, &path, uid, gid, at_flags(*follow)))
            }
        }
    }

    fn utimens(&self, object: &Object, atime: TimeChange, mtime: TimeChange) -> Done {
        let times = [timespec(atime)?, timespec(mtime)?];
        match object {
            Object::Handle { handle } => done(kernel::utimensat(self.descriptor(*handle), None, times, 0)),
            Object::Path { path, follow } => {
                let Located { at, path } = self.locate(path)?;
                done(kernel::utimensat(at, Some(&path), times, at_flags(*follow)))
            }
        }
    }

    fn unlink(&self, place: &Place, how: i32) -> Done {
        let Located { at, path } = self.locate(place)?;
        done(kernel::unlinkat(at, &path, how))
    }

    fn readlink(&self, place: &Place) -> Done {
        let Located { at, path } = self.locate(place)?;
        // No target is longer.
        let mut buffer = [0; 4096];
        let length = kernel::readlinkat(at, &path, &mut buffer)?;
        Ok(Outcome::Target(Bytes::from(&buffer[..length])))
    }

    fn on_xattrs<T>(&self, object: &Object, call: impl FnOnce(Subject<'_>) -> kernel::Result<T>) -> Done<T> {
        match object {
            Object::Handle { handle } => Ok(call(Subject::Open(self.descriptor(*handle)))?),
            Object::Path { path, follow } => {
                let Located { at, path: text } = self.locate(path)?;
                if path.at.is_some() {
                    return since(
                        "6.13",
                        "this call from an open directory",
                        call(Subject::At(at, &text, *follow)),
                    );
                }
                Ok(call(Subject::Path(&text, *follow))?)
            }
        }
    }

    fn getxattr(&mut self, object: &Object, name: &Bytes) -> Done {
        let name = xattr_name(name)?;
        let mut value = vec![0; status::LARGEST_XATTR];
        let length = self.on_xattrs(object, |subject| kernel::getxattr(subject, &name, &mut value))?;
        value.truncate(length);
        Ok(Outcome::Value(Bytes(value)))
    }

    fn setxattr(&self, object: &Object, name: &Bytes, value: &Bytes, mode: XattrMode) -> Done {
        let name = xattr_name(name)?;
        let mode = match mode {
            XattrMode::Set => 0,
            XattrMode::Create => libc::XATTR_CREATE,
            XattrMode::Replace => libc::XATTR_REPLACE,
        };
        self.on_xattrs(object, |subject| kernel::setxattr(subject, &name, value, mode))?;
        Ok(Outcome::Done)
    }

    fn listxattr(&self, object: &Object) -> Done {
        let mut list = vec![0; status::LARGEST_XATTR];
        let length = self.on_xattrs(object, |subject| kernel::listxattr(subject, &mut list))?;
        Ok(Outcome::Names(status::xattr_names(&list[..length])))
    }
}

fn done(answer: kernel::Result) -> Done {
    answer?;
    Ok(Outcome::Done)
}

/// No system call can name an attribute with a NUL.
fn xattr_name(name: &Bytes) -> Done<CString> {
    CString::new(name.0.clone())
        .map_err(|_| Stop::Unsupported("the name of an attribute cannot have a NUL".into()))
}

fn open_flags(flags: OpenFlags) -> Option<i32> {
    let access = match (flags.contains(OpenFlags::READ), flags.contains(OpenFlags::WRITE)) {
        (true, true) => libc::O_RDWR,
        (true, false) => libc::O_RDONLY,
        (false, true) => libc::O_WRONLY,
        (false, false) => return None,
    };
    let bits = [
        (OpenFlags::CREATE, libc::O_CREAT),
        (OpenFlags::EXCLUSIVE, libc::O_EXCL),
        (OpenFlags::TRUNCATE, libc::O_TRUNC),
        (OpenFlags::APPEND, libc::O_APPEND),
        (OpenFlags::DIRECTORY, libc::O_DIRECTORY),
        (OpenFlags::NOFOLLOW, libc::O_NOFOLLOW),
    ];
    let given = bits.iter().filter(|(flag, _)| flags.contains(*flag)).fold(access, |all, (_, bit)| all | bit);
    // A FIFO must not block; a terminal among the devices must not become ours.
    Some(given | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_LARGEFILE)
}

/// Whether this leads to a device: a trace must not write to a disk of the machine that it runs on.
fn is_device(at: Descriptor, path: &CStr, how: i32) -> bool {
    let how = libc::O_PATH | libc::O_CLOEXEC | (how & libc::O_NOFOLLOW);
    let Ok(found) = kernel::openat(at, path, how, 0) else { return false };
    let kind = kernel::fstat(found).ok().and_then(|shown| status::kind(shown.st_mode));
    let _ = kernel::close(found);
    matches!(kind, Some(FileKind::CharDevice | FileKind::BlockDevice))
}

fn timespec(change: TimeChange) -> Done<libc::timespec> {
    let (tv_sec, tv_nsec) = match change {
        TimeChange::Now => (0, libc::UTIME_NOW),
        TimeChange::Omit => (0, libc::UTIME_OMIT),
        TimeChange::At(time) => (time.seconds, i64::from(time.nanoseconds)),
    };
    if matches!(change, TimeChange::At(_)) && [libc::UTIME_NOW, libc::UTIME_OMIT].contains(&tv_nsec) {
        return unsupported("these nanoseconds mean something else to utimensat");
    }
    Ok(libc::timespec { tv_sec, tv_nsec })
}
