//! `agentfs fs cp`: what survives the way in and the way out.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Timespec, Timestamps, XattrFlags};

use crate::program::Place;
use crate::shows;

const HOLE: u64 = 8 << 20;

/// A tree with everything that a copy has to keep.
fn plant(root: &Path) {
    fs::create_dir_all(root.join("inner/empty")).unwrap();
    fs::write(root.join("plain"), "plain").unwrap();
    fs::hard_link(root.join("plain"), root.join("inner/same")).unwrap();
    symlink("../plain", root.join("inner/link")).unwrap();
    symlink("/nowhere/at/all", root.join("dangling")).unwrap();
    fs::write(root.join(OsStr::from_bytes(b"caf\xe9")), "bytes").unwrap();
    fs::write(root.join("large"), vec![7; 3 << 20]).unwrap();
    let sparse = fs::File::create(root.join("sparse")).unwrap();
    sparse.write_all_at(b"data", HOLE).unwrap();
    sparse.set_len(3 * HOLE).unwrap();
    rustix::fs::mknodat(CWD, root.join("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    // A file system without them costs this part of the test, and nothing else.
    let _ = rustix::fs::lsetxattr(root.join("large"), "user.colour", b"blue", XattrFlags::empty());
    fs::set_permissions(root.join("plain"), fs::Permissions::from_mode(0o4751)).unwrap();
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    for (name, seconds) in
        [("inner/link", 1_000), ("plain", -500), ("inner/empty", 2_000), ("inner", 3_000), ("", 4_000)]
    {
        let times = Timestamps { last_access: time(77, 0), last_modification: time(seconds, 123_456_789) };
        rustix::fs::utimensat(CWD, root.join(name), &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
    fs::set_permissions(root.join("inner/empty"), fs::Permissions::from_mode(0o500)).unwrap();
}

/// What can be seen of a tree and has to be the same after a copy.
fn describe(root: &Path) -> BTreeMap<PathBuf, String> {
    fn visit(root: &Path, path: &Path, seen: &mut BTreeMap<PathBuf, String>) {
        let metadata = fs::symlink_metadata(path).unwrap();
        let content = if metadata.is_file() {
            let bytes = fs::read(path).unwrap();
            format!("{} bytes, sum {}", bytes.len(), bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>())
        } else if metadata.is_symlink() {
            format!("{:?}", fs::read_link(path).unwrap())
        } else {
            String::new()
        };
        let mut value = [0_u8; 100];
        let colour = rustix::fs::lgetxattr(path, "user.colour", &mut value[..]).map_or("", |_| "blue");
        // A directory's link count is the file system's own affair.
        let links = if metadata.is_dir() { 0 } else { metadata.nlink() };
        let text = format!(
            "{:o} {links} {}:{} {}.{} {content} {colour}",
            metadata.mode(),
            metadata.uid(),
            metadata.gid(),
            metadata.mtime(),
            metadata.mtime_nsec(),
        );
        seen.insert(path.strip_prefix(root).unwrap().to_owned(), text);
        if metadata.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                visit(root, &entry.unwrap().path(), seen);
            }
        }
    }
    let mut seen = BTreeMap::new();
    visit(root, root, &mut seen);
    seen
}

// spec: CLI-13
#[test]
fn a_tree_comes_out_as_it_went_in() {
    let place = Place::with_demo();
    plant(&place.at("tree"));
    let copied = place.run(["fs", "cp", "demo", "./tree", ":/", "--json"]).json();
    let expected = serde_json::json!({
        "files": 4, "directories": 3, "symlinks": 2, "others": 2, "bytes": copied["bytes"],
    });
    assert_eq!(copied, expected);
    let bytes = copied["bytes"].as_u64().unwrap();
    assert!((3 << 20..4 << 20).contains(&bytes), "{bytes} bytes: holes are not copied");
    // Within the database, and out again.
    place.run(["fs", "cp", "demo", ":/tree", ":/twin"]).answer();
    place.run(["fs", "cp", "demo", ":/twin", "./out"]).answer();
    assert_eq!(describe(&place.at("out")), describe(&place.at("tree")));
    let blocks = fs::metadata(place.at("out/sparse")).unwrap().blocks();
    assert!(blocks * 512 < HOLE, "{blocks} blocks: holes stay holes");
    let linked = |name: &str| fs::metadata(place.at(name)).unwrap().ino();
    assert_eq!(linked("out/plain"), linked("out/inner/same"));
}

// spec: CLI-13
#[test]
fn where_a_copy_goes_is_as_in_cp() {
    let place = Place::with_demo();
    fs::create_dir(place.at("d")).unwrap();
    fs::write(place.at("d/a"), "first").unwrap();
    fs::write(place.at("b"), "second").unwrap();
    shows!(
        "copy-destinations",
        place.session(&[
            "fs cp demo d :/new-name",
            "fs cp demo d b :/new-name",
            "fs cp demo d/. :/new-name",
            "fs cp demo b :/new-name/a",
            "fs tree demo",
            "fs cat demo /new-name/a --json",
            "fs cp demo :/new-name/a :b-inside out",
            "fs cp demo b d :/not-a-directory",
            "fs cp demo b :/new-name/d",
            "fs cp demo d :/new-name/b",
            "fs cp demo b d",
            "fs cp demo :/new-name :/new-name/d/below",
            "fs cp demo :/missing .",
            "fs cp demo missing :/",
            "fs cp demo :/new-name no/such/place",
            "fs cp demo b :/missing/",
            "fs cp demo :/new-name/a missing/",
        ])
    );
}

// spec: CLI-13
#[test]
fn a_symlink_below_the_destination_is_not_followed() {
    let place = Place::with_demo();
    fs::create_dir_all(place.at("victim")).unwrap();
    fs::create_dir_all(place.at("out")).unwrap();
    symlink(place.at("victim"), place.at("out/d")).unwrap();
    place.run(["fs", "write", "demo", "/t/d/file", "text"]).answer();
    let refused = place.run(["fs", "cp", "demo", ":/t/.", "out"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert_eq!(fs::read_dir(place.at("victim")).unwrap().count(), 0);
    // A file takes the place of the link, not of what it leads to.
    fs::write(place.at("victim/precious"), "precious").unwrap();
    symlink(place.at("victim/precious"), place.at("out/file")).unwrap();
    place.run(["fs", "cp", "demo", ":/t/d/file", "out"]).answer();
    assert_eq!(fs::read_to_string(place.at("victim/precious")).unwrap(), "precious");
    assert_eq!(fs::read_to_string(place.at("out/file")).unwrap(), "text");
}

// spec: CLI-13
#[test]
fn a_copy_leaves_the_database_itself_out() {
    let place = Place::with_demo();
    fs::write(place.at("file"), vec![7; 1 << 20]).unwrap();
    let copied = place.run(["fs", "cp", "demo", ".", ":/all"]);
    assert_eq!(copied.code, 0, "{}", copied.stderr);
    let warnings: Vec<_> = copied.stderr.lines().collect();
    assert!(
        warnings.iter().all(|line| line.contains("/demo.db") && line.contains("left out")),
        "{warnings:?}"
    );
    assert_eq!(place.run(["fs", "find", "demo", "/all", "--type", "f"]).answer(), "/all/file\n");
    let own = ".agentfs/demo.db";
    for arguments in [["fs", "cp", "demo", own, ":/copy"], ["fs", "cp", "demo", ":/all/file", own]] {
        let refused = place.run(arguments);
        assert_eq!((refused.code, refused.stderr.lines().count()), (1, 1), "{}", refused.stderr);
    }
    assert_eq!(place.run(["fs", "stat", "demo", "/all/file", "--json"]).json()["size"], 1 << 20);
}

// spec: PATH-12, CLI-13
#[test]
fn a_file_is_not_copied_onto_itself() {
    let place = Place::with_demo();
    place.run(["fs", "write", "demo", "/a", "text"]).answer();
    place.run(["fs", "ln", "demo", "/a", "/b"]).answer();
    let refused = place.run(["fs", "cp", "demo", ":/a", ":/b"]);
    assert_eq!((refused.code, refused.stderr.lines().count()), (1, 1), "{}", refused.stderr);
    assert_eq!(place.run(["fs", "stat", "demo", "/a", "--json"]).json()["nlink"], 2);
}

// spec: CLI-13, PATH-12
#[test]
fn a_directory_that_lies_below_itself_is_not_copied_for_ever() {
    let place = Place::new();
    place.run(["init", "loop.db"]).answer();
    place.run(["fs", "write", "loop.db", "/d/inner/f", "x"]).answer();
    let connection = rusqlite::Connection::open(place.at("loop.db")).unwrap();
    connection
        .execute_batch(
            "INSERT INTO fs_dentry (name, parent_ino, ino)
               SELECT 'again', ino, parent_ino FROM fs_dentry WHERE name = 'inner'",
        )
        .unwrap();
    drop(connection);
    let refused = place.run(["fs", "cp", "loop.db", ":/d", "out"]);
    assert!(refused.stderr.contains("lies below itself"), "{}", refused.stderr);
    assert!(place.at("out/inner").is_dir() && !place.at("out/inner/again").exists());
}

// spec: CLI-13
#[test]
fn a_pipe_or_device_at_the_destination_is_not_replaced() {
    let place = Place::with_demo();
    place.run(["fs", "write", "demo", "/a", "text"]).answer();
    let pipe = place.at("pipe");
    rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let refused = place.run(["fs", "cp", "demo", ":/a", "pipe"]);
    assert_eq!((refused.code, refused.stderr.lines().count()), (1, 1), "{}", refused.stderr);
    assert!(!fs::symlink_metadata(&pipe).unwrap().is_file());
    // A pipe takes the place of a pipe, so that a tree can be copied twice.
    place.run(["fs", "cp", "demo", "pipe", ":/"]).answer();
    place.run(["fs", "cp", "demo", "pipe", ":/"]).answer();
    place.run(["fs", "cp", "demo", ":/pipe", "."]).answer();
}

// spec: CLI-13
#[test]
fn a_file_that_does_not_know_its_size_is_copied_as_it_reads() {
    let place = Place::with_demo();
    for file in ["/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"] {
        let Ok(content) = fs::read_to_string(file) else { continue };
        place.run(["fs", "cp", "demo", file, ":/copy"]).answer();
        assert_eq!(place.run(["fs", "cat", "demo", "/copy"]).answer(), content, "{file}");
    }
}
