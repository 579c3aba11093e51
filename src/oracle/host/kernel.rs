//! The system calls of a trace, each as the kernel has it, with nothing between.
//!
//! No library's wrapper: those check, translate or emulate, and the answer would be theirs. Descriptors are plain
//! numbers, since what the kernel says of one that is not open is a part of traces. All `unsafe` of the oracle is here.

use std::ffi::CStr;
use std::mem::MaybeUninit;

use nix::libc::{self, c_long};

/// A descriptor, open or not.
pub(super) type Descriptor = i32;
/// What no descriptor ever is.
pub(super) const NOT_OPEN: Descriptor = -1;
/// The working directory, which is the root of the file system.
pub(super) const HERE: Descriptor = libc::AT_FDCWD;

/// The kernel's refusal, as it numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused(pub(super) i32);

/// What a system call answers.
pub(super) type Result<T = ()> = std::result::Result<T, Refused>;

// The calls that the C library's headers may not know yet have the same number on every architecture.
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const GETXATTRAT: c_long = 464;
const LISTXATTRAT: c_long = 465;
const REMOVEXATTRAT: c_long = 466;

/// An argument of a system call: the memory that a pointer leads to is borrowed for as long as the call runs.
enum Argument<'a> {
    Number(i64),
    Text(&'a CStr),
    Input(&'a [u8]),
    Output(&'a mut [u8]),
    /// A structure that the call reads or writes, by its address.
    Structure(*mut libc::c_void),
    Null,
}

use Argument::{Input, Null, Number, Output, Structure, Text};

impl Argument<'_> {
    fn register(&mut self) -> i64 {
        match self {
            Number(number) => *number,
            Text(text) => text.as_ptr().expose_provenance() as i64,
            Input(bytes) => bytes.as_ptr().expose_provenance() as i64,
            Output(bytes) => bytes.as_mut_ptr().expose_provenance() as i64,
            Structure(address) => address.expose_provenance() as i64,
            Null => 0,
        }
    }
}

/// Makes a system call. Private to this file: every function of it gives the call the memory that the call's manual
/// page asks for, of the length that it passes.
fn call<const COUNT: usize>(number: c_long, mut arguments: [Argument<'_>; COUNT]) -> Result<i64> {
    let mut registers = [0; 6];
    for (register, argument) in registers.iter_mut().zip(&mut arguments) {
        *register = argument.register();
    }
    let [a, b, c, d, e, f] = registers;
    // SAFETY: the pointers among the arguments are borrowed until after the call, and as long as the callers in this file
    // say, who keep the contract above; no call of this file keeps one, or touches other memory.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if answer == -1 { Err(Refused(nix::errno::Errno::last_raw())) } else { Ok(answer) }
}

/// The same, of a call that only says whether it was done.
fn done<const COUNT: usize>(number: c_long, arguments: [Argument<'_>; COUNT]) -> Result {
    call(number, arguments).map(|_| ())
}

fn descriptor(descriptor: Descriptor) -> Argument<'static> {
    Number(i64::from(descriptor))
}

fn word(word: u32) -> Argument<'static> {
    Number(i64::from(word))
}

fn flags(flags: i32) -> Argument<'static> {
    Number(i64::from(flags))
}

/// What does not fit becomes negative, as in C.
fn long(number: u64) -> Argument<'static> {
    Number(number.cast_signed())
}

fn length(bytes: &[u8]) -> Argument<'static> {
    // A slice is never longer than isize::MAX.
    Number(bytes.len() as i64)
}

pub(super) fn umask(mask: u32) {
    // It cannot fail.
    let _ = call(libc::SYS_umask, [word(mask)]);
}

pub(super) fn openat(at: Descriptor, path: &CStr, how: i32, mode: u32) -> Result<Descriptor> {
    let opened = call(libc::SYS_openat, [descriptor(at), Text(path), flags(how), word(mode)])?;
    // A descriptor is an int.
    Ok(opened as Descriptor)
}

pub(super) fn close(file: Descriptor) -> Result {
    done(libc::SYS_close, [descriptor(file)])
}

/// Closes every descriptor from this one on.
pub(super) fn close_from(first: Descriptor) -> Result {
    done(libc::SYS_close_range, [descriptor(first), word(u32::MAX), flags(0)])
}

pub(super) fn read(file: Descriptor, buffer: &mut [u8]) -> Result<usize> {
    let length = length(buffer);
    Ok(call(libc::SYS_read, [descriptor(file), Output(buffer), length])? as usize)
}

pub(super) fn pread(file: Descriptor, buffer: &mut [u8], offset: u64) -> Result<usize> {
    let length = length(buffer);
    Ok(call(libc::SYS_pread64, [descriptor(file), Output(buffer), length, long(offset)])? as usize)
}

pub(super) fn write(file: Descriptor, data: &[u8]) -> Result<u64> {
    Ok(call(libc::SYS_write, [descriptor(file), Input(data), length(data)])? as u64)
}

pub(super) fn pwrite(file: Descriptor, data: &[u8], offset: u64) -> Result<u64> {
    Ok(call(libc::SYS_pwrite64, [descriptor(file), Input(data), length(data), long(offset)])? as u64)
}

pub(super) fn lseek(file: Descriptor, offset: i64, whence: i32) -> Result<u64> {
    Ok(call(libc::SYS_lseek, [descriptor(file), Number(offset), flags(whence)])? as u64)
}

pub(super) fn truncate(path: &CStr, size: u64) -> Result {
    done(libc::SYS_truncate, [Text(path), long(size)])
}

pub(super) fn ftruncate(file: Descriptor, size: u64) -> Result {
    done(libc::SYS_ftruncate, [descriptor(file), long(size)])
}

pub(super) fn fallocate(file: Descriptor, mode: u32, offset: u64, size: u64) -> Result {
    done(libc::SYS_fallocate, [descriptor(file), word(mode), long(offset), long(size)])
}

pub(super) fn copy_file_range(from: (Descriptor, u64), to: (Descriptor, u64), size: u64) -> Result<u64> {
    let (mut source, mut target) = (from.1, to.1);
    let arguments = [
        descriptor(from.0),
        Structure((&raw mut source).cast()),
        descriptor(to.0),
        Structure((&raw mut target).cast()),
        long(size),
        flags(0),
    ];
    Ok(call(libc::SYS_copy_file_range, arguments)? as u64)
}

pub(super) fn fsync(file: Descriptor) -> Result {
    done(libc::SYS_fsync, [descriptor(file)])
}

pub(super) fn fdatasync(file: Descriptor) -> Result {
    done(libc::SYS_fdatasync, [descriptor(file)])
}

pub(super) fn syncfs(file: Descriptor) -> Result {
    done(libc::SYS_syncfs, [descriptor(file)])
}

pub(super) fn fstat(file: Descriptor) -> Result<libc::stat> {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    done(libc::SYS_fstat, [descriptor(file), Structure(status.as_mut_ptr().cast())])?;
    // SAFETY: all its members are integers, for which zeroes are values also where the kernel wrote nothing.
    Ok(unsafe { status.assume_init() })
}

pub(super) fn fstatat(at: Descriptor, path: &CStr, how: i32) -> Result<libc::stat> {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    let place = Structure(status.as_mut_ptr().cast());
    done(libc::SYS_newfstatat, [descriptor(at), Text(path), place, flags(how)])?;
    // SAFETY: all its members are integers, for which zeroes are values also where the kernel wrote nothing.
    Ok(unsafe { status.assume_init() })
}

pub(super) fn statfs(path: &CStr) -> Result<libc::statfs> {
    let mut statistics = MaybeUninit::<libc::statfs>::zeroed();
    done(libc::SYS_statfs, [Text(path), Structure(statistics.as_mut_ptr().cast())])?;
    // SAFETY: all its members are integers, for which zeroes are values also where the kernel wrote nothing.
    Ok(unsafe { statistics.assume_init() })
}

pub(super) fn faccessat(at: Descriptor, path: &CStr, mode: u32) -> Result {
    done(libc::SYS_faccessat, [descriptor(at), Text(path), word(mode)])
}

pub(super) fn fchmod(file: Descriptor, mode: u32) -> Result {
    done(libc::SYS_fchmod, [descriptor(file), word(mode)])
}

pub(super) fn fchmodat(at: Descriptor, path: &CStr, mode: u32) -> Result {
    done(libc::SYS_fchmodat, [descriptor(at), Text(path), word(mode)])
}

/// Since Linux 6.6.
pub(super) fn fchmodat2(at: Descriptor, path: &CStr, mode: u32, how: i32) -> Result {
    done(FCHMODAT2, [descriptor(at), Text(path), word(mode), flags(how)])
}

pub(super) fn fchown(file: Descriptor, uid: u32, gid: u32) -> Result {
    done(libc::SYS_fchown, [descriptor(file), word(uid), word(gid)])
}

pub(super) fn fchownat(at: Descriptor, path: &CStr, uid: u32, gid: u32, how: i32) -> Result {
    done(libc::SYS_fchownat, [descriptor(at), Text(path), word(uid), word(gid), flags(how)])
}

/// Without a path, of what is open.
pub(super) fn utimensat(at: Descriptor, path: Option<&CStr>, times: [libc::timespec; 2], how: i32) -> Result {
    let mut times = times;
    let path = path.map_or(Null, Text);
    done(libc::SYS_utimensat, [descriptor(at), path, Structure((&raw mut times).cast()), flags(how)])
}

pub(super) fn mkdirat(at: Descriptor, path: &CStr, mode: u32) -> Result {
    done(libc::SYS_mkdirat, [descriptor(at), Text(path), word(mode)])
}

pub(super) fn mknodat(at: Descriptor, path: &CStr, mode: u32, device: u32) -> Result {
    done(libc::SYS_mknodat, [descriptor(at), Text(path), word(mode), word(device)])
}

pub(super) fn symlinkat(target: &CStr, at: Descriptor, path: &CStr) -> Result {
    done(libc::SYS_symlinkat, [Text(target), descriptor(at), Text(path)])
}

pub(super) fn linkat(from: (Descriptor, &CStr), to: (Descriptor, &CStr), how: i32) -> Result {
    let arguments = [descriptor(from.0), Text(from.1), descriptor(to.0), Text(to.1), flags(how)];
    done(libc::SYS_linkat, arguments)
}

pub(super) fn unlinkat(at: Descriptor, path: &CStr, how: i32) -> Result {
    done(libc::SYS_unlinkat, [descriptor(at), Text(path), flags(how)])
}

pub(super) fn renameat2(from: (Descriptor, &CStr), to: (Descriptor, &CStr), how: u32) -> Result {
    let arguments = [descriptor(from.0), Text(from.1), descriptor(to.0), Text(to.1), word(how)];
    done(libc::SYS_renameat2, arguments)
}

pub(super) fn readlinkat(at: Descriptor, path: &CStr, buffer: &mut [u8]) -> Result<usize> {
    let length = length(buffer);
    Ok(call(libc::SYS_readlinkat, [descriptor(at), Text(path), Output(buffer), length])? as usize)
}

/// A directory that has been removed has no entries. The kernel says ENOENT; that it is the end is what readdir(3) makes
/// of it.
pub(super) fn getdents64(directory: Descriptor, buffer: &mut [u8]) -> Result<usize> {
    let length = length(buffer);
    match call(libc::SYS_getdents64, [descriptor(directory), Output(buffer), length]) {
        Err(Refused(libc::ENOENT)) => Ok(0),
        answered => Ok(answered? as usize),
    }
}

/// What a call about extended attributes concerns.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    /// What is open.
    Open(Descriptor),
    /// What is at a path from the root; whether a symlink at its end is followed.
    Path(&'a CStr, bool),
    /// What is at a path from an open directory. Since Linux 6.13.
    At(Descriptor, &'a CStr, bool),
}

/// `AT_SYMLINK_NOFOLLOW` or nothing.
pub(super) const fn at_flags(follow: bool) -> i32 {
    if follow { 0 } else { libc::AT_SYMLINK_NOFOLLOW }
}

/// `struct xattr_args`.
#[repr(C)]
struct XattrArguments {
    value: u64,
    size: u32,
    flags: u32,
}

pub(super) fn getxattr(subject: Subject<'_>, name: &CStr, buffer: &mut [u8]) -> Result<usize> {
    let size = length(buffer);
    let answer = match subject {
        Subject::Open(file) => {
            call(libc::SYS_fgetxattr, [descriptor(file), Text(name), Output(buffer), size])
        }
        Subject::Path(path, follow) => {
            let number = if follow { libc::SYS_getxattr } else { libc::SYS_lgetxattr };
            call(number, [Text(path), Text(name), Output(buffer), size])
        }
        Subject::At(at, path, follow) => {
            let value = buffer.as_mut_ptr().expose_provenance() as u64;
            let size = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
            let mut arguments = XattrArguments { value, size, flags: 0 };
            let place = Structure((&raw mut arguments).cast());
            let [how, size] = [flags(at_flags(follow)), Number(size_of::<XattrArguments>() as i64)];
            call(GETXATTRAT, [descriptor(at), Text(path), how, Text(name), place, size])
        }
    };
    Ok(answer? as usize)
}

pub(super) fn setxattr(subject: Subject<'_>, name: &CStr, value: &[u8], mode: i32) -> Result {
    match subject {
        Subject::Open(file) => {
            let number = libc::SYS_fsetxattr;
            done(number, [descriptor(file), Text(name), Input(value), length(value), flags(mode)])
        }
        Subject::Path(path, follow) => {
            let number = if follow { libc::SYS_setxattr } else { libc::SYS_lsetxattr };
            done(number, [Text(path), Text(name), Input(value), length(value), flags(mode)])
        }
        Subject::At(at, path, follow) => {
            let address = value.as_ptr().expose_provenance() as u64;
            // The kernel refuses what is longer than 64 KiB; what has no 32-bit length is longer.
            let size = u32::try_from(value.len()).unwrap_or(u32::MAX);
            let mut arguments = XattrArguments { value: address, size, flags: mode as u32 };
            let place = Structure((&raw mut arguments).cast());
            let [how, size] = [flags(at_flags(follow)), Number(size_of::<XattrArguments>() as i64)];
            done(SETXATTRAT, [descriptor(at), Text(path), how, Text(name), place, size])
        }
    }
}

pub(super) fn listxattr(subject: Subject<'_>, buffer: &mut [u8]) -> Result<usize> {
    let size = length(buffer);
    let answer = match subject {
        Subject::Open(file) => call(libc::SYS_flistxattr, [descriptor(file), Output(buffer), size]),
        Subject::Path(path, follow) => {
            let number = if follow { libc::SYS_listxattr } else { libc::SYS_llistxattr };
            call(number, [Text(path), Output(buffer), size])
        }
        Subject::At(at, path, follow) => {
            let how = flags(at_flags(follow));
            call(LISTXATTRAT, [descriptor(at), Text(path), how, Output(buffer), size])
        }
    };
    Ok(answer? as usize)
}

pub(super) fn removexattr(subject: Subject<'_>, name: &CStr) -> Result {
    match subject {
        Subject::Open(file) => done(libc::SYS_fremovexattr, [descriptor(file), Text(name)]),
        Subject::Path(path, follow) => {
            let number = if follow { libc::SYS_removexattr } else { libc::SYS_lremovexattr };
            done(number, [Text(path), Text(name)])
        }
        Subject::At(at, path, follow) => {
            let how = flags(at_flags(follow));
            done(REMOVEXATTRAT, [descriptor(at), Text(path), how, Text(name)])
        }
    }
}
