//! Whole trees: walking and removing them.

use agentfs::Errno;
use agentfs::types::{Caller, Ino};
use agentfs::vfs::Vfs;
use agentfs::vfs::paths::{Reference, Walk};

use super::common::{Fixture, errno, n};
use super::{root, user};

fn visited(walk: Walk<'_>) -> Vec<String> {
    walk.map(|entry| {
        let entry = entry.unwrap();
        format!("{} {}", entry.depth, String::from_utf8_lossy(&entry.path))
    })
    .collect()
}

/// A chain of directories that no path could name, and a file at its end.
fn deep(fixture: &Fixture, levels: usize) {
    let root = Caller::root();
    let mut parent =
        Reference::taken(&fixture.fs, fixture.fs.mkdir(&root, Ino::ROOT, n("deep"), 0o755).unwrap());
    for _ in 0..levels {
        let below = fixture.fs.mkdir(&root, parent.ino(), n("d"), 0o755).unwrap();
        parent = Reference::taken(&fixture.fs, below);
    }
    drop(Reference::taken(&fixture.fs, fixture.fs.create(&root, parent.ino(), n("end"), 0o644).unwrap()));
}

// spec: PATH-3 PATH-6
#[test]
fn a_walk_shows_a_directory_before_its_sorted_entries() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    for file in ["/b/z", "/b/a/x", "/a", "/c"] {
        paths.write(file, "").unwrap();
    }
    paths.symlink("b", "/to-b").unwrap();
    assert_eq!(
        visited(paths.walk("/").unwrap()),
        ["0 /", "1 /a", "1 /b", "2 /b/a", "3 /b/a/x", "2 /b/z", "1 /c", "1 /to-b"]
    );
    assert_eq!(visited(paths.walk("b/").unwrap()), ["0 b/", "1 b/a", "2 b/a/x", "1 b/z"]);
    assert_eq!(visited(paths.walk("/a").unwrap()), ["0 /a"]);
    assert_eq!(visited(paths.walk("/to-b").unwrap()), ["0 /to-b"]);
    assert_eq!(visited(paths.walk("/to-b/").unwrap()).len(), 4, "a trailing slash follows");
    assert_eq!(errno(paths.walk("/missing").map(drop)), Errno::ENOENT);
}

// spec: PATH-8
#[test]
fn a_walk_goes_on_after_a_directory_that_it_may_not_read() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/a/x", "").unwrap();
    paths.write("/closed/x", "").unwrap();
    paths.write("/z", "").unwrap();
    paths.chmod("/closed", 0o700).unwrap();
    let user = user(&fixture);
    let found: Vec<String> = user
        .walk("/")
        .unwrap()
        .map(|entry| {
            entry.map_or_else(|error| error.to_string(), |entry| String::from_utf8(entry.path).unwrap())
        })
        .collect();
    assert_eq!(found, ["/", "/a", "/a/x", "/closed", "/closed: permission denied", "/z"]);
}

// spec: PATH-14
#[test]
fn a_walk_bears_that_the_tree_changes_under_it() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    for name in ["a", "b", "c"] {
        paths.write(format!("/{name}/x"), "").unwrap();
    }
    let mut found = Vec::new();
    for entry in paths.walk("/").unwrap() {
        let entry = entry.unwrap();
        if entry.path == b"/a" {
            paths.remove_all("/b").unwrap();
            paths.rename("/c", "/d").unwrap();
            paths.write("/c", "a file now").unwrap();
        }
        found.push(String::from_utf8(entry.path).unwrap());
    }
    assert_eq!(found, ["/", "/a", "/a/x", "/b", "/c"]);
    assert_eq!(fixture.fs.referenced_inodes(), 0);
}

// spec: PATH-12 PATH-14
#[test]
fn trees_deeper_than_any_path_are_walked_and_removed() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    deep(&fixture, 3000);
    let last = paths.walk("/deep").unwrap().last().unwrap().unwrap();
    assert_eq!((last.depth, last.path.len()), (3001, "/deep".len() + 2 * 3000 + "/end".len()));
    paths.remove_all("/deep").unwrap();
    assert_eq!(fixture.count("SELECT count(*) FROM fs_inode"), 1);
    assert_eq!(fixture.fs.referenced_inodes(), 0);
}

// spec: PATH-12
#[test]
fn remove_all_never_follows_symlinks() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/kept/x", "").unwrap();
    paths.write("/doomed/a/x", "").unwrap();
    paths.symlink("/kept", "/doomed/a/out").unwrap();
    paths.symlink("/kept", "/link").unwrap();
    paths.remove_all("/doomed").unwrap();
    paths.remove_all("/link").unwrap();
    assert_eq!(visited(paths.walk("/").unwrap()), ["0 /", "1 /kept", "2 /kept/x"]);
    assert_eq!(errno(paths.remove_all("/doomed")), Errno::ENOENT);
    assert_eq!(errno(paths.remove_all("/")), Errno::EBUSY);
    assert_eq!(errno(paths.remove_all("/kept/.")), Errno::EINVAL);
    assert!(paths.exists("/kept/x").unwrap());
}

// spec: PATH-12
#[test]
fn remove_all_empties_directories_larger_than_a_page() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    for number in 0..2100 {
        paths.write(format!("/many/{number}"), "").unwrap();
    }
    paths.create_dir_all("/many/in/the/middle").unwrap();
    paths.remove_all("/many").unwrap();
    assert_eq!(fixture.count("SELECT count(*) FROM fs_dentry"), 0);
}

// spec: PATH-12
#[test]
fn remove_all_removes_what_it_can_and_tells_the_first_error() {
    let fixture = Fixture::new();
    let paths = user(&fixture);
    for file in ["/d/a/x", "/d/e/f", "/d/e/g", "/d/closed/h", "/d/z/y/x"] {
        paths.write(file, "").unwrap();
    }
    paths.chmod("/d/e", 0o500).unwrap();
    paths.chmod("/d/closed", 0o300).unwrap();
    let error = paths.remove_all("/d").unwrap_err();
    assert_eq!(error.to_string(), "/d/e/f: permission denied");
    let left = visited(root(&fixture).walk("/d").unwrap());
    assert_eq!(left, ["0 /d", "1 /d/closed", "2 /d/closed/h", "1 /d/e", "2 /d/e/f", "2 /d/e/g"]);
    assert_eq!(fixture.fs.referenced_inodes(), 0);
}

// spec: PATH-12
#[test]
fn a_directory_that_lies_in_itself_does_not_hold_a_walk_or_a_removal_for_ever() {
    let fixture = Fixture::new();
    let paths = root(&fixture);
    paths.write("/d/inner/f", "").unwrap();
    paths.write("/d/z", "").unwrap();
    let (directory, inner) = (paths.stat("/d").unwrap().ino, paths.stat("/d/inner").unwrap().ino);
    fixture.foreign(&format!(
        "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('again', {inner}, {directory})"
    ));
    let found: Vec<_> = paths.walk("/d").unwrap().take(100).collect();
    let errors: Vec<_> = found.iter().filter_map(|entry| entry.as_ref().err()).collect();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].errno(), Errno::ELOOP);
    assert_eq!(errors[0].to_string().split(':').next(), Some("/d/inner/again"));
    assert_eq!(found.len(), 5, "{found:?}");
    assert_eq!(errno(paths.remove_all("/d")), Errno::ELOOP);
    assert!(!paths.exists("/d/inner/f").unwrap() && !paths.exists("/d/z").unwrap(), "the rest is removed");
}
