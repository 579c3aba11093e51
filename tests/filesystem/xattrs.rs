//! Extended attributes.

use agentfs::Errno;
use agentfs::types::{Caller, DeviceNumber, FileKind, Ino, Mode};
use agentfs::vfs::{NodeSpec, Vfs, WriteFlags, XattrMode};

use crate::common::{Fixture, errno, n};

// spec: FS-XATTR-5, FS-XATTR-6, FS-XATTR-8
#[test]
fn attributes_are_set_listed_replaced_and_removed() {
    let fixture = Fixture::new();
    let (fs, root) = (&fixture.fs, Caller::root());
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    assert_eq!(errno(fs.getxattr(&root, file, b"user.a")), Errno::ENODATA);
    assert_eq!(errno(fs.setxattr(&root, file, b"user.a", b"1", XattrMode::Replace)), Errno::ENODATA);
    fs.setxattr(&root, file, b"user.a", b"1", XattrMode::Create).unwrap();
    assert_eq!(errno(fs.setxattr(&root, file, b"user.a", b"2", XattrMode::Create)), Errno::EEXIST);
    fs.setxattr(&root, file, b"user.a", b"\0\xff", XattrMode::Set).unwrap();
    fs.setxattr(&root, file, b"trusted.b", b"", XattrMode::Set).unwrap();
    let fixture = fixture.reopen();
    let fs = &fixture.fs;
    assert_eq!(fs.getxattr(&root, file, b"user.a").unwrap(), b"\0\xff");
    assert_eq!(fs.listxattr(&root, file).unwrap(), [&b"trusted.b"[..], b"user.a"]);
    assert_eq!(fs.listxattr(&Caller::user(1, 1), file).unwrap(), [b"user.a"]);
    fs.removexattr(&root, file, b"user.a").unwrap();
    assert_eq!(errno(fs.removexattr(&root, file, b"user.a")), Errno::ENODATA);
}

// spec: FS-XATTR-1, FS-XATTR-2, FS-XATTR-3, FS-XATTR-4, FS-XATTR-5
#[test]
fn namespaces_names_and_values_are_limited() {
    let fixture = Fixture::new();
    let (fs, root, user) = (&fixture.fs, Caller::root(), Caller::user(1, 1));
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    let set = |caller: &Caller, ino, name: &[u8], value: &[u8]| {
        fs.setxattr(caller, ino, name, value, XattrMode::Set)
    };
    for name in [&b"system.posix_acl_access"[..], b"other"] {
        assert_eq!(errno(set(&root, file, name, b"")), Errno::EOPNOTSUPP);
    }
    let long = [b"user.", &[b'x'; 251][..]].concat();
    assert_eq!(errno(set(&root, file, &long, b"")), Errno::ERANGE);
    assert_eq!(errno(set(&root, file, b"user.a", &[0; 65537])), Errno::E2BIG);
    set(&root, file, b"user.a", &[0; 65536]).unwrap();
    assert_eq!(errno(set(&user, file, b"user.b", b"")), Errno::EACCES);
    assert_eq!(errno(set(&user, file, b"trusted.b", b"")), Errno::EPERM);
    assert_eq!(errno(set(&user, file, b"security.b", b"")), Errno::EPERM);
    let link = fixture.symlink(Ino::ROOT, "l", "f");
    assert_eq!(errno(set(&root, link, b"user.a", b"")), Errno::EPERM);
    let node = NodeSpec { mode: Mode::new(FileKind::Fifo, 0o666), rdev: DeviceNumber(0) };
    let fifo = fs.mknod(&root, Ino::ROOT, n("p"), node).unwrap().ino;
    assert_eq!(errno(set(&root, fifo, b"user.a", b"")), Errno::EPERM);
    set(&root, link, b"trusted.a", b"").unwrap();
}

// spec: FS-XATTR-10, FS-XATTR-11
#[test]
fn a_write_takes_capabilities_away_and_removal_takes_all() {
    let fixture = Fixture::new();
    let (fs, root) = (&fixture.fs, Caller::root());
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    fs.setxattr(&root, file, b"security.capability", b"cap", XattrMode::Set).unwrap();
    fs.setxattr(&root, file, b"user.a", b"", XattrMode::Set).unwrap();
    fs.write(file, 0, b"x", WriteFlags::CLEAR_SET_ID).unwrap();
    assert_eq!(fs.listxattr(&root, file).unwrap(), [b"user.a"]);
    fixture.unlink(Ino::ROOT, "f").unwrap();
    fs.forget(file, 1);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_xattr"), 0);
}

// spec: FS-XATTR-2, FS-XATTR-8
#[test]
fn names_and_values_are_bytes_and_lists_need_no_permission() {
    let fixture = Fixture::new();
    let (fs, root) = (&fixture.fs, Caller::root());
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    let long = [b"user.", &[b'x'; 250][..]].concat();
    let names: [&[u8]; 4] = [b"trusted.t", b"user.\xff", b"user.a", b"user.Z"];
    for name in names {
        fs.setxattr(&root, file, name, b"", XattrMode::Set).unwrap();
        assert_eq!(fs.getxattr(&root, file, name).unwrap(), b"");
    }
    fs.setxattr(&root, file, &long, &[0xff; 65536], XattrMode::Set).unwrap();
    assert_eq!(fs.getxattr(&root, file, &long).unwrap(), [0xff; 65536]);
    fixture.chmod(file, 0);
    let seen: [&[u8]; 4] = [b"user.Z", b"user.a", &long, b"user.\xff"];
    assert_eq!(fs.listxattr(&Caller::user(1, 1), file).unwrap(), seen);
    assert_eq!(fs.listxattr(&Caller::authorized(1, 1), file).unwrap(), seen);
    assert_eq!(fs.listxattr(&Caller::authorized(0, 0), file).unwrap().len(), 5);
    assert_eq!(errno(fs.getxattr(&Caller::user(1, 1), file, b"user.a")), Errno::EACCES);
}

// spec: FS-XATTR-9
#[test]
fn the_names_of_one_inode_fit_a_list() {
    let fixture = Fixture::new();
    let (fs, root) = (&fixture.fs, Caller::root());
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    let name = |i: u32| format!("user.{i:0250}").into_bytes();
    for i in 0..256 {
        fs.setxattr(&root, file, &name(i), b"", XattrMode::Set).unwrap();
    }
    let bytes: usize = fs.listxattr(&root, file).unwrap().iter().map(|name| name.len() + 1).sum();
    assert_eq!(bytes, 65536);
    assert_eq!(errno(fs.setxattr(&root, file, b"user.a", b"", XattrMode::Set)), Errno::ENOSPC);
    fs.setxattr(&root, file, &name(7), b"replaced", XattrMode::Set).unwrap();
    fs.removexattr(&root, file, &name(7)).unwrap();
    fs.setxattr(&root, file, b"user.a", b"", XattrMode::Set).unwrap();
}

// spec: FS-XATTR-10
#[test]
fn attributes_belong_to_the_inode() {
    let fixture = Fixture::new();
    let (fs, root) = (&fixture.fs, Caller::root());
    let file = fixture.file(Ino::ROOT, "a", b"").ino;
    fs.setxattr(&root, file, b"user.a", b"1", XattrMode::Set).unwrap();
    fs.link(&root, file, Ino::ROOT, n("b")).unwrap();
    fixture.rename((Ino::ROOT, "b"), (Ino::ROOT, "c"), agentfs::vfs::RenameFlags::empty()).unwrap();
    fixture.unlink(Ino::ROOT, "a").unwrap();
    let found = fixture.lookup(Ino::ROOT, "c").unwrap().ino;
    assert_eq!(fs.getxattr(&root, found, b"user.a").unwrap(), b"1");
}
