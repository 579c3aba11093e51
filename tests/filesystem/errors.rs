//! Which error wins when several apply: the ordered lists of SPEC.md, on cases where two lines fit.

use agentfs::Errno;
use agentfs::types::{
    Access, Caller, DeviceNumber, FileKind, Gid, Ino, Mode, SetAttributes, SetTime, Target,
};
use agentfs::types::{Timestamp, Uid};
use agentfs::vfs::{FallocateMode, NodeSpec, OpenFlags, RenameFlags, Vfs, WriteFlags, XattrMode};

use crate::common::{Fixture, errno, n};

const STRANGER: Caller = Caller::user(7, 7);
const ROOT: Ino = Ino::ROOT;

fn node(kind: FileKind, rdev: u32) -> NodeSpec {
    NodeSpec { mode: Mode::new(kind, 0o644), rdev: DeviceNumber(rdev) }
}

/// Files and directories that refuse a stranger in every way there is.
struct Place {
    fixture: Fixture,
    /// 0755 and root's: searched but not written by strangers.
    plain: Ino,
    /// 0700 and root's.
    closed: Ino,
    /// 0600, in `plain` as "f".
    file: Ino,
    /// In `plain` as "l".
    link: Ino,
    /// In `plain` as "p".
    fifo: Ino,
    gone: Ino,
}

impl Place {
    fn new() -> Self {
        let fixture = Fixture::new();
        let (plain, closed) = (fixture.directory(ROOT, "plain"), fixture.directory(ROOT, "closed"));
        fixture.chmod(closed, 0o700);
        let file = fixture.file(plain, "f", b"content").ino;
        fixture.chmod(file, 0o600);
        fixture.file(closed, "x", b"");
        let link = fixture.symlink(plain, "l", "f");
        let fifo = fixture.fs.mknod(&Caller::root(), plain, n("p"), node(FileKind::Fifo, 0)).unwrap().ino;
        Self { fixture, plain, closed, file, link, fifo, gone: Ino(4711) }
    }

    fn read_only() -> Self {
        let place = Self::new();
        Self { fixture: place.fixture.read_only(), ..place }
    }
}

// spec: FS-ERR-1, FS-ATTR-11, FS-OPEN-2, FS-ATTR-7
#[test]
fn a_read_only_database_refuses_after_the_path_walk_and_before_permissions() {
    let Place { fixture, plain, closed, file, link, fifo, gone } = Place::read_only();
    let (fs, root) = (&fixture.fs, Caller::root());
    let create = |caller: &Caller, parent, name| errno(fs.create(caller, parent, n(name), 0o644));
    assert_eq!(create(&root, gone, "a"), Errno::ENOENT);
    assert_eq!(create(&root, file, "a"), Errno::ENOTDIR);
    assert_eq!(create(&STRANGER, closed, "a"), Errno::EACCES);
    assert_eq!(create(&STRANGER, plain, "f"), Errno::EEXIST, "what mkdir -p counts on");
    assert_eq!(create(&STRANGER, plain, "a"), Errno::EROFS);
    assert_eq!(errno(fs.mkdir(&STRANGER, plain, n("f"), 0o755)), Errno::EEXIST);
    assert_eq!(errno(fs.mkdir(&root, plain, n("a"), 0o755)), Errno::EROFS);
    let target = Target::new(b"t").unwrap();
    assert_eq!(errno(fs.symlink(&root, plain, n("a"), target)), Errno::EROFS);
    assert_eq!(errno(fs.mknod(&root, plain, n("a"), node(FileKind::Directory, 0))), Errno::EPERM);
    assert_eq!(errno(fs.link(&root, file, plain, n("l"))), Errno::EEXIST);
    assert_eq!(errno(fs.link(&root, plain, plain, n("a"))), Errno::EROFS);
    assert_eq!(errno(fs.unlink(&root, plain, n("missing"))), Errno::EROFS);
    assert_eq!(errno(fs.unlink(&STRANGER, closed, n("x"))), Errno::EACCES);
    assert_eq!(errno(fs.rmdir(&root, plain, n("f"))), Errno::EROFS);
    let rename = |caller: &Caller, from, flags| errno(fs.rename(caller, from, n("no"), plain, n("l"), flags));
    assert_eq!(rename(&root, plain, RenameFlags::all()), Errno::EINVAL);
    assert_eq!(rename(&STRANGER, closed, RenameFlags::empty()), Errno::EACCES);
    assert_eq!(rename(&root, plain, RenameFlags::NOREPLACE), Errno::EROFS);

    let set = |caller: &Caller, ino, changes: SetAttributes| errno(fs.setattr(caller, ino, &changes));
    let size = SetAttributes { size: Some(0), ..SetAttributes::default() };
    let permissions = SetAttributes { permissions: Some(0), ..SetAttributes::default() };
    assert_eq!(set(&root, gone, size), Errno::ENOENT);
    assert_eq!(set(&root, plain, size), Errno::EISDIR);
    assert_eq!(set(&root, fifo, size), Errno::EINVAL);
    assert_eq!(set(&root, link, permissions), Errno::EROFS);
    assert_eq!(set(&STRANGER, file, size), Errno::EROFS);
    assert_eq!(set(&STRANGER, file, permissions), Errno::EROFS);

    let (write, truncate) = (OpenFlags::WRITE, OpenFlags::TRUNCATE);
    assert_eq!(errno(fs.open(&STRANGER, link, write)), Errno::ELOOP);
    assert_eq!(errno(fs.open(&STRANGER, plain, truncate)), Errno::EISDIR);
    assert_eq!(errno(fs.open(&STRANGER, file, write)), Errno::EROFS);
    assert_eq!(errno(fs.open(&root, file, OpenFlags::READ | truncate)), Errno::EROFS);
    assert_eq!(errno(fs.open(&STRANGER, file, OpenFlags::READ)), Errno::EACCES);
    fs.open(&root, fifo, write | truncate).unwrap();
    assert_eq!(errno(fs.access(&STRANGER, file, Access::READ | Access::WRITE)), Errno::EROFS);
    assert_eq!(errno(fs.access(&STRANGER, file, Access::READ)), Errno::EACCES);
    assert_eq!(errno(fs.access(&STRANGER, fifo, Access::WRITE)), Errno::EACCES);
    fs.access(&root, fifo, Access::WRITE).unwrap();
    fs.access(&root, file, Access::READ).unwrap();
    fs.access(&STRANGER, file, Access::empty()).unwrap();

    assert_eq!(errno(fs.write(gone, 0, b"x", WriteFlags::empty())), Errno::ENOENT);
    assert_eq!(errno(fs.write(file, 0, b"", WriteFlags::empty())), Errno::EROFS);
    assert_eq!(errno(fs.fallocate(file, 0, 0, FallocateMode::empty(), WriteFlags::empty())), Errno::EINVAL);
    assert_eq!(errno(fs.fallocate(file, 0, 1, FallocateMode::empty(), WriteFlags::empty())), Errno::EROFS);
    assert_eq!(errno(fs.copy_file_range(file, 0, file, 100, 1, WriteFlags::empty())), Errno::EROFS);
    let xattr = |name: &[u8], value: &[u8]| errno(fs.setxattr(&STRANGER, file, name, value, XattrMode::Set));
    assert_eq!(xattr(b"", b""), Errno::ERANGE);
    assert_eq!(xattr(b"user.a", &[0; 65537]), Errno::E2BIG);
    assert_eq!(xattr(b"other.a", b""), Errno::EROFS);
    assert_eq!(errno(fs.removexattr(&root, file, b"user.a")), Errno::EROFS);
}

// spec: FS-ATTR-7
#[test]
fn setattr_has_an_order_of_errors() {
    let Place { fixture, plain, file, link, fifo, .. } = Place::new();
    let set = |ino, changes: SetAttributes| errno(fixture.fs.setattr(&STRANGER, ino, &changes));
    let none = SetAttributes::default();
    let bad = Some(SetTime::At(Timestamp::new(0, 1_000_000_000)));
    let huge = 1 << 63;
    assert_eq!(set(link, SetAttributes { permissions: Some(0), size: Some(0), ..none }), Errno::EINVAL);
    assert_eq!(
        set(link, SetAttributes { permissions: Some(0), uid: Some(Uid(7)), ..none }),
        Errno::EOPNOTSUPP
    );
    assert_eq!(set(plain, SetAttributes { size: Some(0), mtime: bad, ..none }), Errno::EISDIR);
    assert_eq!(set(fifo, SetAttributes { size: Some(0), mtime: bad, ..none }), Errno::EINVAL);
    assert_eq!(set(file, SetAttributes { size: Some(0), mtime: bad, ..none }), Errno::EINVAL);
    assert_eq!(set(file, SetAttributes { ctime: Some(Timestamp::new(0, u32::MAX)), ..none }), Errno::EINVAL);
    let owner = Some(Uid(7));
    assert_eq!(set(file, SetAttributes { size: Some(huge), uid: owner, ..none }), Errno::EACCES);
    let now = Some(SetTime::Now);
    let touch = SetAttributes { atime: now, mtime: now, uid: owner, ..none };
    assert_eq!(set(file, touch), Errno::EACCES, "before the owner");
    fixture.chmod(file, 0o666);
    assert_eq!(set(file, touch), Errno::EPERM);
    assert_eq!(set(file, SetAttributes { size: Some(huge), uid: owner, ..none }), Errno::EFBIG);
    assert_eq!(set(file, SetAttributes { size: Some(1), gid: Some(Gid(7)), ..none }), Errno::EPERM);
    assert_eq!(set(file, SetAttributes { size: Some(1), permissions: Some(0), ..none }), Errno::EPERM);
    assert_eq!(set(file, SetAttributes { size: Some(1), atime: now, ..none }), Errno::EPERM);
    assert_eq!(fixture.content(file), b"content", "none of it was done");
}

// spec: FS-CREATE-3, FS-CREATE-4, FS-LINK-2
#[test]
fn creation_has_an_order_of_errors() {
    let Place { fixture, plain, closed, file, .. } = Place::new();
    let fs = &fixture.fs;
    let make = |parent, name, kind| errno(fs.mknod(&STRANGER, parent, n(name), node(kind, 5)));
    assert_eq!(make(plain, "f", FileKind::Directory), Errno::EPERM);
    assert_eq!(make(plain, "f", FileKind::Symlink), Errno::EINVAL);
    assert_eq!(make(file, "f", FileKind::Regular), Errno::ENOTDIR);
    assert_eq!(make(closed, "x", FileKind::Regular), Errno::EACCES, "search comes before the name");
    assert_eq!(make(plain, "f", FileKind::BlockDevice), Errno::EEXIST);
    assert_eq!(make(plain, "new", FileKind::BlockDevice), Errno::EACCES);
    assert_eq!(make(ROOT, "new", FileKind::BlockDevice), Errno::EPERM);
    let whiteout = NodeSpec { mode: Mode::new(FileKind::CharacterDevice, 0), rdev: DeviceNumber(0) };
    fs.mknod(&STRANGER, ROOT, n("whiteout"), whiteout).unwrap();
    let removed = fixture.directory(ROOT, "removed");
    fixture.rmdir(ROOT, "removed").unwrap();
    assert_eq!(make(removed, "new", FileKind::Regular), Errno::ENOENT, "before the missing permission");

    let link = |ino, parent, name| errno(fs.link(&STRANGER, ino, parent, n(name)));
    assert_eq!(link(Ino(4711), plain, "f"), Errno::ENOENT);
    assert_eq!(link(plain, plain, "f"), Errno::EEXIST);
    assert_eq!(link(plain, removed, "new"), Errno::ENOENT);
    assert_eq!(link(plain, plain, "new"), Errno::EACCES);
    assert_eq!(link(plain, ROOT, "new"), Errno::EPERM);
    fixture.unlink(plain, "f").unwrap();
    assert_eq!(link(file, plain, "new"), Errno::EACCES);
    assert_eq!(link(file, ROOT, "new"), Errno::ENOENT, "what has no name left gets no other");
}

// spec: FS-UNLINK-2, FS-RMDIR-2, FS-PERM-3, FS-PERM-4
#[test]
fn removal_has_an_order_of_errors() {
    let Place { fixture, plain, closed, .. } = Place::new();
    let fs = &fixture.fs;
    let full = fixture.directory(plain, "full");
    fixture.file(full, "entry", b"");
    let unlink = |parent, name| errno(fs.unlink(&STRANGER, parent, n(name)));
    let rmdir = |parent, name| errno(fs.rmdir(&STRANGER, parent, n(name)));
    assert_eq!((unlink(closed, "no"), rmdir(closed, "no")), (Errno::EACCES, Errno::EACCES));
    assert_eq!((unlink(plain, "no"), rmdir(plain, "no")), (Errno::ENOENT, Errno::ENOENT));
    assert_eq!((unlink(plain, "full"), rmdir(plain, "f")), (Errno::EACCES, Errno::EACCES));
    fixture.chmod(plain, 0o1777);
    assert_eq!((unlink(plain, "full"), rmdir(plain, "f")), (Errno::EPERM, Errno::EPERM));
    assert_eq!(rmdir(plain, "full"), Errno::EPERM);
    fixture.chmod(plain, 0o777);
    assert_eq!((unlink(plain, "full"), rmdir(plain, "f")), (Errno::EISDIR, Errno::ENOTDIR));
    assert_eq!(rmdir(plain, "full"), Errno::ENOTEMPTY);
}

// spec: FS-OPEN-2, FS-COPY-2, FS-ALLOC-8
#[test]
fn open_copy_and_fallocate_have_an_order_of_errors() {
    let Place { fixture, plain, closed, file, link, fifo, .. } = Place::new();
    let fs = &fixture.fs;
    let (read, write, directory) = (OpenFlags::READ, OpenFlags::WRITE, OpenFlags::DIRECTORY);
    assert_eq!(errno(fs.open(&STRANGER, link, write)), Errno::ELOOP);
    assert_eq!(errno(fs.open(&STRANGER, link, read | directory)), Errno::ENOTDIR);
    assert_eq!(errno(fs.open(&STRANGER, file, write | directory)), Errno::ENOTDIR);
    assert_eq!(errno(fs.open(&STRANGER, closed, write | directory)), Errno::EISDIR);
    assert_eq!(errno(fs.open(&STRANGER, closed, read | directory)), Errno::EACCES);

    let copy = |from, at, to, to_at, length| {
        errno(fs.copy_file_range(from, at, to, to_at, length, WriteFlags::empty()))
    };
    assert_eq!(copy(fifo, 0, plain, 0, 1), Errno::EISDIR, "either");
    assert_eq!(copy(plain, 0, fifo, 0, 1), Errno::EISDIR);
    assert_eq!(copy(fifo, 0, file, 0, 1), Errno::EINVAL);
    assert_eq!(copy(file, 0, file, u64::MAX - 2, 7), Errno::EFBIG);
    assert_eq!(copy(file, 0, file, 6, 7), Errno::EINVAL);
    assert_eq!(
        fs.copy_file_range(file, 0, file, 7, u64::MAX, WriteFlags::empty()).unwrap(),
        7,
        "cut at the end, it is no overlap"
    );

    let max = i64::MAX as u64;
    let allocate =
        |ino, offset, length, mode| errno(fs.fallocate(ino, offset, length, mode, WriteFlags::empty()));
    let (collapse, insert) = (FallocateMode::COLLAPSE_RANGE, FallocateMode::INSERT_RANGE);
    let nonsense = FallocateMode::PUNCH_HOLE | collapse;
    assert_eq!(allocate(plain, 0, 0, nonsense), Errno::EINVAL);
    assert_eq!(allocate(plain, max + 1, 1, nonsense), Errno::EINVAL);
    assert_eq!(allocate(plain, max, max, nonsense), Errno::EOPNOTSUPP);
    assert_eq!(allocate(plain, max, max, collapse), Errno::EISDIR);
    assert_eq!(allocate(fifo, max, max, collapse), Errno::ENODEV);
    assert_eq!(allocate(file, max, 1, collapse), Errno::EFBIG);
    assert_eq!(allocate(file, 1, max - 1, insert), Errno::EINVAL, "alignment before the end");
    assert_eq!(allocate(file, 0, 65536, collapse), Errno::EINVAL);
    assert_eq!(allocate(file, 65536, 65536, insert), Errno::EINVAL);
    fs.write(file, 65536, b"x", WriteFlags::empty()).unwrap();
    assert_eq!(allocate(file, 0, max - 65535, insert), Errno::EFBIG);
    assert_eq!(fixture.stat(file).size, 65537);
}

// spec: FS-XATTR-7
#[test]
fn extended_attributes_have_an_order_of_errors() {
    let Place { fixture, plain, file, link, .. } = Place::new();
    let fs = &fixture.fs;
    let huge = vec![0; 65537];
    let set =
        |ino, name: &[u8], value: &[u8]| errno(fs.setxattr(&STRANGER, ino, name, value, XattrMode::Replace));
    assert_eq!(set(file, &[b'x'; 256], &huge), Errno::ERANGE);
    assert_eq!(set(file, b"system.a", &huge), Errno::E2BIG);
    assert_eq!(set(file, b"system.a", b""), Errno::EOPNOTSUPP);
    assert_eq!(set(link, b"user.", b""), Errno::EPERM);
    assert_eq!(set(file, b"trusted.", b""), Errno::EPERM);
    assert_eq!(set(file, b"user.", b""), Errno::EACCES);
    assert_eq!(set(file, b"other.a", b""), Errno::EACCES, "permission before the unknown namespace");
    fixture.chmod(file, 0o666);
    assert_eq!(set(file, b"other.a", b""), Errno::EOPNOTSUPP);
    assert_eq!(set(file, b"user.", b""), Errno::EINVAL);
    assert_eq!(set(file, b"user.a", b""), Errno::ENODATA);
    fixture.chmod(plain, 0o1777);
    assert_eq!(set(plain, b"user.a", b""), Errno::EPERM, "a sticky directory of another");
    let get = |ino, name: &[u8]| errno(fs.getxattr(&STRANGER, ino, name));
    assert_eq!(get(link, b"user."), Errno::ENODATA);
    assert_eq!(get(file, b"trusted."), Errno::ENODATA);
    assert_eq!(get(file, b"security."), Errno::EINVAL);
    fixture.chmod(file, 0o600);
    assert_eq!(get(file, b"user.a"), Errno::EACCES);
    assert_eq!(errno(fs.removexattr(&STRANGER, file, b"user.a")), Errno::EACCES);
    assert_eq!(errno(fs.removexattr(&Caller::root(), file, b"user.a")), Errno::ENODATA);
}
