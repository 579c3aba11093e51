//! What each operation does with what a path names.

use agentfs::Errno;
use agentfs::types::{Caller, Gid, SetTime, Timestamp, Uid};
use agentfs::vfs::{Paths, RenameFlags, Vfs};

use super::common::{Fixture, START, errno};
use super::{root, user};

// spec: PATH-9 PATH-10
#[test]
fn write_makes_the_parents_and_replaces_the_content() {
    let fixture = Fixture::new();
    let caller = Caller { umask: 0o027, ..Caller::user(1000, 1000) };
    let paths = Paths::new(&fixture.fs, caller);
    paths.write("/a/b/c", "the first, which is longer").unwrap();
    paths.write("/a/b/c", "the second").unwrap();
    assert_eq!(paths.read("/a/b/c").unwrap(), b"the second");
    assert_eq!(paths.stat("/a/b").unwrap().mode.permissions(), 0o750);
    let file = paths.stat("/a/b/c").unwrap();
    assert_eq!((file.mode.permissions(), file.uid, file.gid), (0o640, Uid(1000), Gid(1000)));
    paths.write("/a/b/c", "").unwrap();
    assert_eq!(paths.stat("/a/b/c").unwrap().size, 0);
}

// spec: PATH-9 PATH-10
#[test]
fn a_write_that_fails_leaves_everything_as_it_was() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/kept", "the old content").unwrap();
    fixture.fs.sync().unwrap();
    let inodes = || {
        let statistics = fixture.fs.statfs().unwrap();
        statistics.files - statistics.files_free
    };
    let before = inodes();
    let connection = rusqlite::Connection::open(fixture.path()).unwrap();
    connection
        .execute_batch("CREATE TRIGGER refuse BEFORE INSERT ON fs_data BEGIN SELECT RAISE(ABORT, 'no'); END")
        .unwrap();
    let chunked = [1; 5000];
    paths.write("/kept", chunked).unwrap_err();
    paths.write("/a/b/new", chunked).unwrap_err();
    assert_eq!(paths.read("/kept").unwrap(), b"the old content");
    assert!(!paths.exists("/a").unwrap());
    assert_eq!(inodes(), before);
    connection.execute_batch("DROP TRIGGER refuse").unwrap();
    paths.write("/a/b/new", chunked).unwrap();
    assert_eq!(paths.stat("/").unwrap().nlink, 3);
    assert_eq!(paths.stat("/a").unwrap().nlink, 3);
    assert_eq!(paths.stat("/a/b").unwrap().nlink, 2);
    // The second directory cannot be made in the first, which its own umask closes.
    let closed = Caller { umask: 0o777, ..Caller::user(1000, 1000) };
    assert_eq!(errno(Paths::new(&fixture.fs, closed).write("/x/y/z", "")), Errno::EACCES);
    assert!(!paths.exists("/x").unwrap());
    assert_eq!(fixture.fs.referenced_inodes(), 0);
}

// spec: PATH-9
#[test]
fn another_reader_finds_the_old_content_or_the_new() {
    let fixture = Fixture::new();
    let (old, new) = ([b'o'; 20_000], [b'n'; 70_000]);
    root(&fixture).write("/file", old).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0..100 {
                let content: &[u8] = if turn % 2 == 0 { &new } else { &old };
                root(&fixture).write("/file", content).unwrap();
            }
        });
        for _ in 0..200 {
            let found = root(&fixture).read("/file").unwrap();
            assert!(found == old || found == new, "{} bytes of both", found.len());
        }
    });
}

// spec: PATH-10
#[test]
fn no_other_operation_makes_directories() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/f", "").unwrap();
    assert_eq!(errno(paths.append("/a/b", "x")), Errno::ENOENT);
    assert_eq!(errno(paths.rename("/f", "/a/b")), Errno::ENOENT);
    assert_eq!(errno(paths.symlink("x", "/a/b")), Errno::ENOENT);
    assert_eq!(errno(paths.write("/a/../b", "x")), Errno::ENOENT);
    assert_eq!(errno(paths.write("/a/..", "x")), Errno::ENOENT);
    assert_eq!(paths.list("/").unwrap().len(), 1);
    paths.append("/new", "x").unwrap();
    assert_eq!(paths.read("/new").unwrap(), b"x");
}

// spec: PATH-11
#[test]
fn write_through_a_dangling_symlink_makes_its_target() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.symlink("below/target", "/link").unwrap();
    paths.write("/link", "x").unwrap();
    assert_eq!(paths.read("/below/target").unwrap(), b"x");
    assert!(paths.lstat("/link").unwrap().mode.is_symlink());
}

// spec: PATH-9
#[test]
fn write_needs_permission_and_a_file() {
    let fixture = Fixture::new();
    root(&fixture).write("/theirs", "kept").unwrap();
    root(&fixture).chmod("/theirs", 0o644).unwrap();
    let paths = user(&fixture);
    assert_eq!(errno(paths.write("/theirs", "lost")), Errno::EACCES);
    assert_eq!(errno(paths.append("/theirs", "lost")), Errno::EACCES);
    assert_eq!(errno(paths.truncate("/theirs", 0)), Errno::EACCES);
    assert_eq!(paths.read("/theirs").unwrap(), b"kept");
    assert_eq!(errno(paths.write("/", "")), Errno::EISDIR);
    assert_eq!(errno(paths.read("/")), Errno::EISDIR);
    assert_eq!(errno(paths.write("/theirs/below", "")), Errno::ENOTDIR);
    root(&fixture).chmod("/theirs", 0o600).unwrap();
    assert_eq!(errno(paths.read("/theirs")), Errno::EACCES);
}

// spec: PATH-9
#[test]
fn a_write_by_another_user_takes_set_user_id_away() {
    let fixture = Fixture::new();
    root(&fixture).write("/tool", "x").unwrap();
    root(&fixture).chmod("/tool", 0o4777).unwrap();
    root(&fixture).append("/tool", "y").unwrap();
    assert_eq!(root(&fixture).stat("/tool").unwrap().mode.permissions(), 0o4777);
    user(&fixture).append("/tool", "z").unwrap();
    assert_eq!(root(&fixture).stat("/tool").unwrap().mode.permissions(), 0o777);
    assert_eq!(root(&fixture).read("/tool").unwrap(), b"xyz");
}

// spec: PATH-9
#[test]
fn large_content_is_kept() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    let content: Vec<u8> = (0..(17 << 20) + 5).map(|at: u32| (at % 251) as u8).collect();
    paths.write("/large", &content).unwrap();
    assert!(paths.read("/large").unwrap() == content);
    assert_eq!(paths.read_range("/large", 65_533, 6).unwrap(), content[65_533..65_539]);
    paths.append("/hole", "x").unwrap();
    paths.truncate("/hole", 1 << 47).unwrap();
    assert_eq!(errno(paths.read("/hole")), Errno::ENOMEM);
    assert_eq!(paths.read_range("/hole", 0, 2).unwrap(), b"x\0");
    assert_eq!(paths.read_range("/large", u64::MAX, 1).unwrap(), b"");
    assert_eq!(paths.read_range("/large", 0, 0).unwrap(), b"");
}

// spec: PATH-10
#[test]
fn create_dir_all_accepts_what_is_there_unless_it_is_no_directory() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.create_dir_all("/a/b/../c/").unwrap();
    paths.create_dir_all("/a/b").unwrap();
    paths.create_dir_all("/").unwrap();
    assert!(paths.exists("/a/c").unwrap());
    paths.write("/a/file", "").unwrap();
    assert_eq!(errno(paths.create_dir_all("/a/file")), Errno::EEXIST);
    assert_eq!(errno(paths.create_dir_all("/a/file/below")), Errno::ENOTDIR);
    assert_eq!(errno(paths.create_dir("/a")), Errno::EEXIST);
    assert_eq!(errno(paths.create_dir("/")), Errno::EEXIST);
    assert_eq!(errno(paths.create_dir("/x/y")), Errno::ENOENT);
}

// spec: PATH-14
#[test]
fn a_list_is_sorted_by_bytes_and_shows_symlinks_themselves() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    for number in 0..2500 {
        paths.write(format!("/many/{number:04}"), "").unwrap();
    }
    paths.symlink("0000", "/many/Z").unwrap();
    let entries = paths.list("/many").unwrap();
    assert_eq!(entries.len(), 2501);
    assert!(entries.is_sorted_by(|one, other| one.name < other.name));
    assert!(entries[2500].attributes.mode.is_symlink());
    assert_eq!(fixture.fs.referenced_inodes(), 0);
    assert_eq!(errno(paths.list("/many/0001")), Errno::ENOTDIR);
}

// spec: PATH-3 PATH-7
#[test]
fn remove_takes_files_symlinks_and_empty_directories() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/d/f", "").unwrap();
    paths.symlink("d", "/link").unwrap();
    assert_eq!(errno(paths.remove("/d")), Errno::ENOTEMPTY);
    assert_eq!(errno(paths.remove("/")), Errno::EBUSY);
    assert_eq!(errno(paths.remove("/d/.")), Errno::EINVAL);
    assert_eq!(errno(paths.remove("/d/..")), Errno::ENOTEMPTY);
    paths.remove("/link").unwrap();
    assert!(paths.exists("/d/f").unwrap(), "the symlink went, not what it pointed to");
    paths.remove("/d/f").unwrap();
    paths.remove("/d").unwrap();
    assert_eq!(errno(paths.remove("/d")), Errno::ENOENT);
}

// spec: PATH-7 PATH-12
#[test]
fn rename_replaces_refuses_or_exchanges() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/a", "a").unwrap();
    paths.write("/b", "b").unwrap();
    assert_eq!(errno(paths.rename_with("/a", "/b", RenameFlags::NOREPLACE)), Errno::EEXIST);
    paths.rename_with("/a", "/b", RenameFlags::EXCHANGE).unwrap();
    assert_eq!(paths.read("/a").unwrap(), b"b");
    paths.rename("/a", "/b").unwrap();
    assert_eq!(paths.read("/b").unwrap(), b"b");
    assert!(!paths.exists("/a").unwrap());
    paths.create_dir_all("/d/e").unwrap();
    assert_eq!(errno(paths.rename("/d", "/d/e/f")), Errno::EINVAL);
    assert_eq!(errno(paths.rename("/d/.", "/x")), Errno::EBUSY);
    assert_eq!(errno(paths.rename("/b", "/")), Errno::EBUSY);
}

// spec: PATH-3 PATH-7
#[test]
fn a_link_is_another_name_and_never_a_directorys() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/f", "x").unwrap();
    paths.create_dir("/d").unwrap();
    paths.link("/f", "/d/g").unwrap();
    paths.append("/d/g", "y").unwrap();
    assert_eq!(paths.read("/f").unwrap(), b"xy");
    paths.symlink("f", "/s").unwrap();
    paths.link("/s", "/t").unwrap();
    assert!(paths.lstat("/t").unwrap().mode.is_symlink(), "the symlink itself");
    assert_eq!(errno(paths.link("/d", "/e")), Errno::EPERM);
    assert_eq!(errno(paths.link("/f", "/t")), Errno::EEXIST);
    assert_eq!(errno(paths.link("/f", "/d/.")), Errno::EEXIST);
    assert_eq!(errno(paths.symlink("", "/u")), Errno::ENOENT);
    assert_eq!(errno(paths.symlink("x", "/f")), Errno::EEXIST);
}

// spec: PATH-3
#[test]
fn attributes_change_on_what_the_symlink_points_to() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/f", "12345").unwrap();
    paths.symlink("f", "/s").unwrap();
    let given = Timestamp::new(-1, 5);
    fixture.clock.advance(9);
    paths.chmod("/s", 0o4751).unwrap();
    paths.chown("/s", None, Some(Gid(7))).unwrap();
    paths.truncate("/s", 2).unwrap();
    paths.set_times("/s", Some(SetTime::Now), Some(SetTime::At(given))).unwrap();
    let file = paths.stat("/f").unwrap();
    assert_eq!((file.mode.permissions(), file.uid, file.gid, file.size), (0o751, Uid(0), Gid(7), 2));
    assert_eq!((file.atime.seconds, file.mtime), (START.seconds + 9, given));
    assert_eq!(errno(user(&fixture).chmod("/s", 0o777)), Errno::EPERM);
    assert_eq!(errno(paths.truncate("/", 0)), Errno::EISDIR);
}
