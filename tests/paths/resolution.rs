//! From paths to inodes.

use agentfs::types::Ino;
use agentfs::vfs::paths::{Follow, MAX_PATH_BYTES, MAX_SYMLINKS};
use agentfs::{Errno, Error};

use super::common::{Fixture, errno};
use super::{root, user};

// spec: PATH-1 PATH-2
#[test]
fn relative_paths_and_repeated_slashes_count_from_the_root() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/a/b", "x").unwrap();
    for path in ["a/b", "/a/b", "//a///b", "./a/./b", "a/../a/b", "../../a/b", "/../a/b"] {
        assert_eq!(paths.read(path).unwrap(), b"x", "{path}");
    }
    assert_eq!(paths.stat("/").unwrap().ino, Ino::ROOT);
    assert_eq!(paths.stat("..").unwrap().ino, Ino::ROOT);
}

// spec: PATH-1
#[test]
fn paths_are_bytes() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write(b"/caf\xe9/\xff", "x").unwrap();
    assert_eq!(paths.read(b"caf\xe9/\xff").unwrap(), b"x");
    assert_eq!(paths.list("/").unwrap()[0].name, b"caf\xe9");
}

// spec: PATH-5
#[test]
fn paths_that_are_none_are_refused() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    assert_eq!(errno(paths.stat("")), Errno::ENOENT);
    assert_eq!(errno(paths.stat("a\0b")), Errno::EINVAL);
    assert_eq!(errno(paths.stat("n".repeat(256))), Errno::ENAMETOOLONG);
    paths.write("n".repeat(255), "").unwrap();
    let dots = |bytes: usize| "/".repeat(bytes - 1) + ".";
    paths.stat(dots(MAX_PATH_BYTES)).unwrap();
    assert_eq!(errno(paths.stat(dots(MAX_PATH_BYTES + 1))), Errno::ENAMETOOLONG);
}

// spec: PATH-3
#[test]
fn a_symlink_at_the_end_is_followed_or_not_and_one_on_the_way_always() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/d/f", "x").unwrap();
    paths.symlink("d", "/to-d").unwrap();
    paths.symlink("/d/f", "/d/absolute").unwrap();
    paths.symlink("../d/./f", "/d/relative").unwrap();
    for path in ["/to-d/f", "/to-d/absolute", "/to-d/relative"] {
        assert_eq!(paths.read(path).unwrap(), b"x", "{path}");
    }
    assert!(paths.lstat("/to-d").unwrap().mode.is_symlink());
    assert!(paths.stat("/to-d").unwrap().mode.is_directory());
    assert_eq!(paths.read_link("/to-d/absolute").unwrap(), b"/d/f");
    assert_eq!(errno(paths.read_link("/d/f")), Errno::EINVAL);
}

// spec: PATH-4
#[test]
fn forty_symlinks_are_followed_and_no_more() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/0", "x").unwrap();
    for number in 1..=MAX_SYMLINKS + 1 {
        paths.symlink((number - 1).to_string(), format!("/{number}")).unwrap();
    }
    assert_eq!(paths.read("/40").unwrap(), b"x");
    assert_eq!(errno(paths.read("/41")), Errno::ELOOP);
    assert_eq!(errno(paths.stat("/41/")), Errno::ELOOP);
    assert!(paths.lstat("/41").unwrap().mode.is_symlink());
    paths.symlink("self", "/self").unwrap();
    assert_eq!(errno(paths.stat("/self/x")), Errno::ELOOP);
    assert_eq!(errno(paths.write("/self", "")), Errno::ELOOP);
}

// spec: PATH-2
#[test]
fn two_dots_lead_to_the_parent_of_where_a_symlink_led() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.create_dir_all("/x/y").unwrap();
    paths.write("/x/found", "").unwrap();
    paths.symlink("x/y", "/link").unwrap();
    assert!(paths.exists("/link/../found").unwrap());
    paths.rename("/x", "/moved").unwrap();
    assert!(paths.exists("/moved/y/../found").unwrap());
}

// spec: PATH-2
#[test]
fn dots_need_a_directory_before_them() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/f", "").unwrap();
    for path in ["/f/.", "/f/..", "/f/../f", "/f/./x", "/f/"] {
        assert_eq!(errno(paths.stat(path)), Errno::ENOTDIR, "{path}");
    }
    assert_eq!(errno(paths.stat("/missing/..")), Errno::ENOENT);
}

// spec: PATH-6
#[test]
fn a_trailing_slash_demands_a_directory_and_follows() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/d/f", "").unwrap();
    paths.symlink("d", "/to-d").unwrap();
    paths.symlink("d/f/", "/slashed").unwrap();
    assert!(paths.lstat("/to-d/").unwrap().mode.is_directory());
    assert_eq!(errno(paths.stat("/slashed")), Errno::ENOTDIR, "the target's slash counts too");
    assert_eq!(errno(paths.write("/new/", "")), Errno::EISDIR);
    assert_eq!(errno(paths.remove("/to-d/")), Errno::ENOTDIR);
    assert_eq!(errno(paths.symlink("d", "/new/")), Errno::ENOENT);
    assert_eq!(errno(paths.link("/d/f", "/d/")), Errno::EEXIST);
    paths.create_dir("/made/").unwrap();
    paths.rename("/made/", "/renamed/").unwrap();
    assert_eq!(errno(paths.rename("/d/f", "/other/")), Errno::ENOTDIR);
    paths.remove("/renamed/").unwrap();
}

// spec: PATH-8
#[test]
fn each_directory_on_the_way_must_grant_search() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/closed/f", "x").unwrap();
    paths.write("/closed/open/g", "x").unwrap();
    paths.chmod("/closed", 0o766).unwrap();
    let user = user(&fixture);
    for path in ["/closed/f", "/closed/open/g", "/closed/.", "/closed/..", "/closed/missing"] {
        assert_eq!(errno(user.stat(path)), Errno::EACCES, "{path}");
    }
    assert!(user.stat("/closed").is_ok(), "the directory itself is reached");
    assert_eq!(errno(user.exists("/closed/f")), Errno::EACCES, "nobody can tell");
    assert_eq!(errno(user.list("/closed")), Errno::EACCES);
    paths.chmod("/closed", 0o711).unwrap();
    assert_eq!(user.read("/closed/f").unwrap(), b"x");
    assert_eq!(errno(user.list("/closed")), Errno::EACCES);
}

// spec: PATH-13
#[test]
fn errors_name_the_path_that_was_given() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    let error = paths.read("/no/such").unwrap_err();
    assert!(matches!(&error, Error::Path { path, errno: Errno::ENOENT } if path == b"/no/such"));
    assert_eq!(error.to_string(), "/no/such: no such file or directory");
    paths.write("/here", "").unwrap();
    assert!(paths.rename("/here", "/no/such").unwrap_err().to_string().starts_with("/no/such: "));
}

// spec: PATH-14
#[test]
fn every_reference_is_given_back_also_when_an_operation_fails() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/d/e/f", "x").unwrap();
    paths.symlink("e/f", "/d/link").unwrap();
    paths.symlink("nowhere/at/all", "/d/dangling").unwrap();
    paths.symlink("loop", "/d/loop").unwrap();
    paths.link("/d/e/f", "/d/second").unwrap();
    let tries: [(&str, bool); 9] = [
        ("/d/e/f", true),
        ("/d/link", true),
        ("/d/dangling", false),
        ("/d/loop", false),
        ("/d/e/f/g", false),
        ("/d/e/f/", false),
        ("/d/e/../e/f", true),
        ("/d/missing", false),
        ("/d/e", true),
    ];
    for (path, found) in tries {
        assert_eq!(paths.stat(path).is_ok(), found, "{path}");
        let _ = (paths.lstat(path), paths.exists(path), paths.read(path), paths.list(path));
        let _ = (paths.create_dir(path), paths.symlink("t", path), paths.link(path, path));
        let _ = (paths.rename(path, "/d/e/f/x"), paths.chmod(path, 0o700), paths.truncate(path, 3));
        let _ = (paths.append(path, "y"), paths.write("/d/e/f/x/y", "z"), paths.create_dir_all("/d/e/f"));
        assert_eq!(fixture.fs.referenced_inodes(), 0, "{path}");
    }
    let mut walk = paths.walk("/").unwrap();
    walk.nth(3).unwrap().unwrap();
    assert!(fixture.fs.referenced_inodes() > 0, "a walk holds on to where it is");
    drop(walk);
    let held = paths.resolve("/d/e/f", Follow::Yes).unwrap();
    assert_eq!(fixture.fs.referenced_inodes(), 1);
    drop(held);
    paths.remove_all("/d").unwrap();
    assert_eq!(fixture.fs.referenced_inodes(), 0);
    assert_eq!(fixture.count("SELECT count(*) FROM fs_inode"), 1, "nothing was left behind");
}

// spec: PATH-14
#[test]
fn what_is_held_outlives_its_name() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/f", "x").unwrap();
    let held = paths.resolve("/f", Follow::Yes).unwrap();
    paths.remove("/f").unwrap();
    assert_eq!(fixture.content(held.ino()), b"x");
    drop(held);
    assert_eq!(fixture.count("SELECT count(*) FROM fs_inode"), 1);
}
