//! `agentfs fs` and `agentfs info`: both forms of every answer, and names that are not UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::program::Place;
use crate::shows;

fn with_files() -> Place {
    let place = Place::with_demo();
    for command in [
        &["fs", "mkdir", "demo", "-m", "2750", "/src"][..],
        &["fs", "write", "demo", "/src/main.rs", "fn main() {}"],
        &["fs", "write", "demo", "/notes.txt", "remember the milk"],
        &["fs", "chmod", "demo", "0640", "/notes.txt"],
        &["fs", "ln", "demo", "/notes.txt", "/same.txt"],
        &["fs", "ln", "-s", "demo", "src/main.rs", "/main"],
        &["fs", "mkdir", "-p", "demo", "/deep/er/still"],
    ] {
        place.run(command).answer();
    }
    place
}

// spec: CLI-3, CLI-4, CLI-5
#[test]
fn files_are_shown_to_people_and_to_programs() {
    let place = with_files();
    shows!(
        "files",
        place.session(&[
            "fs ls demo",
            "fs ls demo /src --json",
            "fs ls -l demo",
            "fs ls -lh demo /main",
            "fs ls -ld demo /main",
            "fs ls demo /main --json",
            "fs tree demo",
            "fs tree demo -L 1 --json",
            "fs cat demo /main",
            "fs cat demo /notes.txt /main --json",
            "fs stat demo /src",
            "fs stat demo /main",
            "fs stat -L demo /main --json",
            "fs find demo --name '*.{rs,txt}'",
            "fs find demo /src --type f --size -1k --json",
            "fs find demo --type l",
        ])
    );
}

// spec: CLI-3, CLI-8
#[test]
fn changes_say_nothing_and_can_be_seen() {
    let place = with_files();
    shows!(
        "changes",
        place.session(&[
            "fs write demo /new/file 'one '",
            "fs write demo /new/file two --append",
            "fs cat demo /new/file --json",
            "fs write demo /new/file three",
            "fs mv demo /new/file /notes.txt /src",
            "fs mv demo /src/file /src/renamed",
            "fs mv --exchange demo /src/renamed /src/main.rs",
            "fs cat demo /src/main.rs --json",
            "fs chmod -R demo u=rwX,go= /src",
            "fs rm demo /same.txt",
            "fs rm -f demo /nothing-there",
            "fs rm -r demo /deep",
            "fs tree demo",
            "fs ls -l demo /src",
        ])
    );
    let left: Vec<_> =
        std::fs::read_dir(place.at(".agentfs")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["demo.db"], "one file is left");
}

// spec: CLI-1, CLI-2, PATH-13
#[test]
fn what_cannot_be_done_to_files_is_said_in_one_line() {
    let place = with_files();
    shows!(
        "refused-changes",
        place.session(&[
            "fs cat demo /nothing",
            "fs cat demo /src",
            "fs ls demo /notes.txt/below",
            "fs rm demo /src",
            "fs rm -r demo /",
            "fs mkdir demo /src",
            "fs mkdir demo /no/parent",
            "fs mv -n demo /notes.txt /main",
            "fs mv demo /notes.txt /main /nowhere",
            "fs mv demo /src /src/below",
            "fs ln demo /src /linked",
            "fs write demo /src text",
            "fs chmod demo rwx /src",
            "fs find demo --size big",
            "fs tree demo /notes.txt",
        ])
    );
}

// spec: CLI-4, FS-NAME-1
#[test]
fn names_and_content_that_are_not_utf_8_are_not_lost() {
    let place = Place::with_demo();
    let name = OsStr::from_bytes(b"/caf\xe9");
    let write = [
        OsStr::new("fs"),
        OsStr::new("write"),
        OsStr::new("demo"),
        name,
        OsStr::from_bytes(b"\xff\x00".split_at(1).0),
    ];
    place.run(write).answer();
    place
        .run([
            OsStr::new("fs"),
            OsStr::new("ln"),
            OsStr::new("-s"),
            OsStr::new("demo"),
            name,
            OsStr::new("/link"),
        ])
        .answer();
    let listed = place.run(["fs", "ls", "demo"]);
    assert_eq!(listed.stdout, b"caf\xe9\nlink\n", "bytes as they are where no terminal reads them");
    let listed = place.run(["fs", "ls", "demo", "--json"]).json();
    assert_eq!(listed[0]["name"], "caf\u{fffd}");
    assert_eq!(listed[0]["name_bytes"], "636166e9");
    assert_eq!(listed[1]["name_bytes"], serde_json::Value::Null);
    assert_eq!(listed[1]["target_bytes"], "2f636166e9");
    let content = place.run(["fs", "cat", "demo", "/link", "--json"]).json();
    assert_eq!(content[0]["content_bytes"], "ff");
    assert_eq!(place.run(["fs", "cat", "demo", "/link"]).stdout, b"\xff");
}

// spec: CLI-13, PATH-9
#[test]
fn standard_input_is_stored_to_the_byte() {
    let place = Place::with_demo();
    let content: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let written = place.run_with_input(&["fs", "write", "demo", "/big"], &content);
    assert_eq!((written.code, written.stdout.len()), (0, 0));
    assert!(place.run(["fs", "cat", "demo", "/big"]).stdout == content);
}

// spec: CLI-3
#[test]
fn the_facts_about_a_database_are_shown() {
    let place = with_files();
    shows!("info", place.session(&["info demo", "info -H .agentfs/demo.db", "info demo --json"]));
}

// spec: CLI-9, CLI-13
#[test]
fn reading_changes_no_access_time_and_no_byte() {
    let place = with_files();
    let before = place.contents();
    place.run(["fs", "cat", "demo", "/notes.txt"]).answer();
    place.run(["fs", "tree", "demo"]).answer();
    place.run(["info", "demo"]).answer();
    assert!(place.contents() == before);
}
