//! Every bad input, at the command line: the exit code, one line on standard error, nothing on standard
//! output, nothing left behind and nothing changed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::program::{Outcome, Place};
use crate::shows;

/// What the program says when it refuses, and that this is all it did.
#[track_caller]
fn refused(place: &Place, arguments: &[&str], code: i32) -> String {
    let before = place.contents();
    let outcome = place.run(arguments);
    said(place, arguments, code, outcome, &before)
}

#[track_caller]
fn said(
    place: &Place,
    arguments: &[&str],
    code: i32,
    outcome: Outcome,
    before: &std::collections::BTreeMap<PathBuf, Option<Vec<u8>>>,
) -> String {
    let Outcome { code: was, stdout, stderr } = outcome;
    assert_eq!(was, code, "{arguments:?}: {stderr}");
    assert_eq!(String::from_utf8_lossy(&stdout), "", "{arguments:?}: nothing on standard output");
    assert!(stderr.starts_with("agentfs: ") && stderr.ends_with('\n'), "{arguments:?}: {stderr:?}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: one line: {stderr}");
    assert!(place.contents() == *before, "{arguments:?}: something was left behind or changed");
    stderr.replace(&place.at("").to_string_lossy().into_owned(), "[folder]/")
}

/// Commands that read, change and mount a database.
fn uses(database: &str) -> [Vec<&str>; 5] {
    [
        vec!["info", database],
        vec!["fs", "ls", database, "--json"],
        vec!["kv", "set", database, "key", "1"],
        vec!["fs", "write", database, "/file", "text"],
        vec!["mount", database, "mountpoint"],
    ]
}

/// Every use is refused with `code`, in the same words.
#[track_caller]
fn refused_in_every_use(place: &Place, database: &str, code: i32) -> String {
    fs::create_dir_all(place.at("mountpoint")).unwrap();
    let words: Vec<String> = uses(database).iter().map(|arguments| refused(place, arguments, code)).collect();
    assert!(words.iter().all(|other| *other == words[0]), "{words:#?}");
    words[0].clone()
}

// spec: CLI-1, CLI-2, OPEN-2
#[test]
fn what_is_not_a_database_of_ours() {
    let place = Place::new();
    fs::write(place.at("text.db"), "a text that is longer than the header of a database ".repeat(4)).unwrap();
    fs::write(place.at("empty.db"), "").unwrap();
    fs::create_dir(place.at("directory.db")).unwrap();
    Connection::open(place.at("songs.db")).unwrap().execute_batch("CREATE TABLE songs (id INTEGER)").unwrap();
    let utf16 = Connection::open(place.at("utf16.db")).unwrap();
    utf16.execute_batch("PRAGMA encoding = 'UTF-16le'").unwrap();
    utf16.execute_batch(include_str!("../../spec/schema/v0.5.sql")).unwrap();
    utf16.execute_batch("PRAGMA user_version = 5").unwrap();
    drop(utf16);
    let names = ["text.db", "empty.db", "directory.db", "songs.db", "utf16.db"];
    let words: String = names.iter().map(|name| refused_in_every_use(&place, name, 4)).collect();
    shows!("not-a-database", words);
}

// spec: CLI-1, CLI-2, OPEN-4
#[test]
fn a_damaged_database() {
    let place = Place::with_demo();
    let whole = fs::read(place.at(".agentfs/demo.db")).unwrap();
    let mut torn = whole.clone();
    torn[100..4000].fill(0xa5);
    fs::write(place.at("header.db"), &whole[..50]).unwrap();
    fs::write(place.at("half.db"), &whole[..whole.len() / 2]).unwrap();
    fs::write(place.at("torn.db"), &torn).unwrap();
    fs::copy(place.at(".agentfs/demo.db"), place.at("config.db")).unwrap();
    let config = Connection::open(place.at("config.db")).unwrap();
    config.execute_batch("UPDATE fs_config SET value = 'many' WHERE key = 'chunk_size'").unwrap();
    config.close().unwrap();
    let names = ["header.db", "half.db", "torn.db", "config.db"];
    let words: String = names.iter().map(|name| refused_in_every_use(&place, name, 4)).collect();
    shows!("damaged", words);
}

/// `fs_inode` and `fs_data` as each release before 0.5 had them; a later format with today's tables.
const OTHER_FORMATS: [(&str, &str); 8] = [
    (
        "v0.0",
        "CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY, mode INTEGER, uid INTEGER, gid INTEGER, size INTEGER);
         CREATE TABLE fs_data (id INTEGER PRIMARY KEY, ino INTEGER, offset INTEGER, size INTEGER, data BLOB);",
    ),
    (
        "v0.1",
        "CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY, mode INTEGER, uid INTEGER, gid INTEGER, size INTEGER);
         CREATE TABLE fs_data (ino INTEGER, chunk_index INTEGER, data BLOB, PRIMARY KEY (ino, chunk_index));",
    ),
    ("v0.2", "CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY, mode INTEGER, nlink INTEGER, size INTEGER);"),
    (
        "v0.3",
        "CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY, mode INTEGER, nlink INTEGER, size INTEGER);
         CREATE TABLE fs_origin (delta_ino INTEGER PRIMARY KEY, base_ino INTEGER NOT NULL);",
    ),
    (
        "v0.4",
        "CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY, mode INTEGER, nlink INTEGER, size INTEGER,
         rdev INTEGER, atime_nsec INTEGER, mtime_nsec INTEGER, ctime_nsec INTEGER);",
    ),
    (
        "v0.4-stamped",
        "CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY, mode INTEGER, nlink INTEGER);
         PRAGMA user_version = 4;",
    ),
    (
        "v0.5-unstamped",
        "CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY, mode INTEGER, nlink INTEGER, data_inline BLOB,
         storage_kind INTEGER);",
    ),
    ("v0.6", "CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY, mode INTEGER); PRAGMA user_version = 6;"),
];

// spec: CLI-1, CLI-2, FMT-3, OPEN-3
#[test]
fn older_and_newer_formats() {
    let place = Place::new();
    let mut words = String::new();
    for (name, ddl) in OTHER_FORMATS {
        let name = format!("{name}.db");
        Connection::open(place.at(&name)).unwrap().execute_batch(ddl).unwrap();
        words.push_str(&refused_in_every_use(&place, &name, 5));
    }
    shows!("other-formats", words);
}

// spec: CLI-1, CLI-2, CLI-6
#[test]
fn a_database_that_does_not_exist() {
    let place = Place::new();
    let words = [
        refused_in_every_use(&place, "missing.db", 3),
        refused_in_every_use(&place, "no/such/directory/x.db", 3),
        refused_in_every_use(&place, "missing", 3),
        refused(&place, &["init", "no/such/directory/x.db"], 3),
    ];
    shows!("missing", words.concat());
}

// spec: CLI-1, CLI-7
#[test]
fn ids_that_are_none() {
    let place = Place::new();
    let long = "x".repeat(65);
    let mut words = String::new();
    for id in ["", ".", "..", ".hidden", "two words", "caf\u{e9}", "a:b", &long] {
        words.push_str(&refused(&place, &["init", id], 2));
        refused(&place, &["info", id], 2);
        refused(&place, &["mount", "--create", id, "dir"], 2);
    }
    refused(&place, &["init", "--", "-rf"], 2);
    shows!("invalid-ids", words);
    use std::os::unix::ffi::OsStrExt;
    let outcome = place.run([OsStr::new("init"), OsStr::from_bytes(b"caf\xe9")]);
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1));
    // Two dots are a path only with a slash, and then a directory.
    refused(&place, &["info", "../.."], 4);
}

// spec: CLI-1, CLI-2
#[test]
fn names_that_are_too_long() {
    let place = Place::with_demo();
    let name = "n".repeat(256);
    let path = format!("/{}", "d/".repeat(2_500));
    refused(&place, &["fs", "write", "demo", &name, "text"], 1);
    refused(&place, &["fs", "mkdir", "demo", &name], 1);
    refused(&place, &["fs", "ln", "-s", "demo", "target", &name], 1);
    refused(&place, &["fs", "ln", "-s", "demo", &path, "/link"], 1);
    refused(&place, &["fs", "ls", "demo", &path], 1);
    let file = format!("./{}.db", "n".repeat(300));
    refused(&place, &["info", &file], 1);
    refused(&place, &["init", &file], 1);
}

// spec: CLI-1, PATH-7
#[test]
fn dots_at_the_end_of_a_path() {
    let place = Place::with_demo();
    place.run(["fs", "mkdir", "demo", "/d"]).answer();
    refused(&place, &["fs", "mkdir", "demo", "/d/."], 1);
    refused(&place, &["fs", "mkdir", "demo", "/d/.."], 1);
    refused(&place, &["fs", "rm", "-r", "demo", "/d/."], 1);
    refused(&place, &["fs", "rm", "-r", "demo", "/d/.."], 1);
    refused(&place, &["fs", "mv", "demo", "/d/.", "/e"], 1);
    refused(&place, &["fs", "write", "demo", "/d/..", "text"], 1);
}

// spec: CLI-1, KV-1
#[test]
fn a_nul_where_there_can_be_none() {
    let place = Place::with_demo();
    let before = place.contents();
    let arguments = ["kv", "set", "demo", "key"];
    let outcome = place.run_with_input(&arguments, b"\"a\0b\"");
    said(&place, &arguments, 2, outcome, &before);
}

// spec: CLI-1, CLI-2
#[test]
fn init_where_something_is() {
    let place = Place::with_demo();
    fs::write(place.at("file.db"), "precious").unwrap();
    fs::create_dir(place.at("directory.db")).unwrap();
    let words = [
        refused(&place, &["init", "demo"], 1),
        refused(&place, &["init", "file.db"], 1),
        refused(&place, &["init", "directory.db"], 1),
    ];
    shows!("exists", words.concat());
}

fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

// spec: CLI-1, OPEN-6
#[test]
fn a_file_and_a_directory_that_cannot_be_written() {
    let place = Place::with_demo();
    let database = place.at(".agentfs/demo.db");
    set_mode(&database, 0o444);
    set_mode(place.at(".agentfs"), 0o555);
    let refused_for_nobody = |arguments: &[&str]| {
        let before = place.contents();
        let outcome = place.run_as_nobody(arguments);
        said(&place, arguments, 7, outcome, &before)
    };
    // Reading works, and leaves nothing.
    let before = place.contents();
    assert!(place.run_as_nobody(["info", "demo"]).answer().contains("0.5"));
    assert_eq!(place.run_as_nobody(["fs", "ls", "demo"]).answer(), "");
    assert!(place.contents() == before);
    refused_for_nobody(&["fs", "write", "demo", "/file", "text"]);
    refused_for_nobody(&["kv", "delete", "demo", "key"]);
    // The file can be written, but nothing beside it.
    set_mode(&database, 0o666);
    refused_for_nobody(&["kv", "set", "demo", "key", "1"]);
    refused_for_nobody(&["init", ".agentfs/new.db"]);
    refused_for_nobody(&["init", "new"]);
    // Nothing at all.
    set_mode(&database, 0o000);
    if rustix::process::geteuid().is_root() {
        refused_for_nobody(&["info", "demo"]);
        refused_for_nobody(&["fs", "write", "demo", "/file", "text"]);
    }
    set_mode(&database, 0o644);
    set_mode(place.at(".agentfs"), 0o755);
}

/// A small file system of its own, for as long as the value lives.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None when the tests do not run as root.
    fn mount(at: PathBuf, size: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        fs::create_dir(&at).unwrap();
        let options = format!("size={size},mode=755");
        nix::mount::mount(
            Some("none"),
            &at,
            Some("tmpfs"),
            nix::mount::MsFlags::empty(),
            Some(options.as_str()),
        )
        .unwrap();
        Some(Self(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        nix::mount::umount(&self.0).unwrap();
    }
}

// spec: CLI-1, CLI-13, PATH-9
#[test]
fn a_full_disk() {
    let place = Place::new();
    let Some(_tiny) = SmallDisk::mount(place.at("tiny"), "100k") else { return };
    let mut words = refused(&place, &["init", "tiny/agent.db"], 8);
    let Some(_small) = SmallDisk::mount(place.at("small"), "6m") else { return };
    place.run(["init", "small/agent.db"]).answer();
    place.run(["fs", "write", "small/agent.db", "/file", "as it was"]).answer();
    fs::write(place.at("large"), vec![1; 5 << 20]).unwrap();
    let outcome = place.run_with_input(&["fs", "write", "small/agent.db", "/file"], &vec![1; 5 << 20]);
    assert_eq!(
        (outcome.code, outcome.stdout.len(), outcome.stderr.lines().count()),
        (8, 0, 1),
        "{}",
        outcome.stderr
    );
    words.push_str(&outcome.stderr);
    let outcome = place.run(["fs", "cp", "small/agent.db", "large", ":/large"]);
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (8, 1), "{}", outcome.stderr);
    assert_eq!(place.run(["fs", "cat", "small/agent.db", "/file"]).answer(), "as it was");
    let left: Vec<_> =
        fs::read_dir(place.at("small")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["agent.db"], "one file is left");
    shows!("full-disk", words);
}

// spec: CLI-2, CLI-10
#[test]
fn a_name_with_control_characters_does_not_break_the_line() {
    let place = Place::with_demo();
    for arguments in [
        ["fs", "cat", "demo", "/a\n\x1b[31m"],
        ["fs", "ls", "./no\n\x1b[31m.db", "/"],
        ["fs", "cp", "no\n\x1b[31m", ":/"],
    ] {
        let refused = place.run(arguments);
        assert_eq!(refused.stderr.lines().count(), 1, "{:?}", refused.stderr);
        assert!(!refused.stderr.contains('\x1b'), "{:?}", refused.stderr);
    }
}
