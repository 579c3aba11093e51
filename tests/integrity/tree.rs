//! Entries and the tree that they make.

use agentfs::types::{Caller, Ino};
use agentfs::vfs::Vfs;

use crate::common::{Fixture, n};
use crate::sound::{Sound, shown};

// spec: INT-10
#[test]
fn a_root_that_is_missing() {
    let fixture = Fixture::new();
    fixture.foreign("DELETE FROM fs_inode WHERE ino = 1");
    let expected = ["INT-10 error fs_inode ino=1: inode 1, the root, does not exist"];
    assert_eq!(shown(&fixture.fs.verify().unwrap()), expected);
    assert_eq!(shown(&agentfs::integrity::verify_file(&fixture.path()).unwrap()), expected);
}

// spec: INT-10
#[test]
fn a_root_that_is_no_directory() {
    let fixture = Fixture::new();
    fixture.foreign("UPDATE fs_inode SET mode = 33188");
    let expected = ["INT-10 error fs_inode ino=1: inode 1, the root, is no directory: its mode is 33188"];
    assert_eq!(shown(&fixture.fs.verify().unwrap()), expected);
}

// spec: INT-10
#[test]
fn a_root_with_a_name() {
    let sound = Sound::new();
    let directory = sound.directory;
    let found = sound.damage(&format!(
        "INSERT INTO fs_dentry (id, name, parent_ino, ino) VALUES (99, 'top', {directory}, 1)"
    ));
    let expected =
        format!("INT-10 error fs_dentry id=99: the entry \"top\" of directory {directory} names the root");
    assert_eq!(found, [expected]);
}

// spec: INT-11
#[test]
fn an_entry_that_names_nothing() {
    let sound = Sound::new();
    let found =
        sound.damage("INSERT INTO fs_dentry (id, name, parent_ino, ino) VALUES (99, 'ghost', 1, 4711)");
    let expected = "INT-11 error fs_dentry id=99: the entry \"ghost\" of directory 1 names inode 4711, which does \
                    not exist";
    assert_eq!(found, [expected]);
}

// spec: INT-12
#[test]
fn an_entry_that_lies_nowhere_or_in_a_file() {
    let sound = Sound::new();
    let empty = sound.empty;
    let (id, other) = (sound.entry("empty"), sound.entry("fifo"));
    let found = sound.damage(&format!("UPDATE fs_dentry SET parent_ino = 4711 WHERE id = {id}"));
    let nowhere = format!(
        "INT-12 error fs_dentry id={id}: the entry \"empty\" lies in inode 4711, which does not exist"
    );
    assert_eq!(found, std::slice::from_ref(&nowhere));
    let found = sound.damage(&format!("UPDATE fs_dentry SET parent_ino = {empty} WHERE id = {other}"));
    let inside = format!(
        "INT-12 error fs_dentry id={other}: the entry \"fifo\" lies in inode {empty}, which is no directory"
    );
    assert_eq!(found, [nowhere, inside]);
}

/// A table of entries without the constraint that names be unique, as no writer should make it.
const WITHOUT_CONSTRAINT: &str =
    "CREATE TABLE entries (name TEXT NOT NULL, ino INTEGER NOT NULL, parent_ino INTEGER NOT NULL,
       id INTEGER PRIMARY KEY);
     INSERT INTO entries (id, name, parent_ino, ino) SELECT id, name, parent_ino, ino FROM fs_dentry;
     DROP TABLE fs_dentry;
     ALTER TABLE entries RENAME TO fs_dentry;";

// spec: INT-13, FMT-8
#[test]
fn two_entries_of_one_name() {
    let sound = Sound::new();
    let (inner, fifo) = (sound.inner, sound.fifo);
    assert_eq!(sound.damage(WITHOUT_CONSTRAINT), [""; 0], "columns may have any order");
    let found = sound.damage(&format!(
        "INSERT INTO fs_dentry (id, name, parent_ino, ino) VALUES (99, 'chunked', {inner}, {fifo});
         UPDATE fs_inode SET nlink = 2 WHERE ino = {fifo}"
    ));
    let expected = format!(
        "INT-13 error fs_dentry id=99: directory {inner} has 2 entries of the name \"chunked\"; this is the last of them"
    );
    assert_eq!(found, [expected]);
}

// spec: INT-14
#[test]
fn a_directory_with_two_names() {
    let sound = Sound::new();
    let inner = sound.inner;
    let found = sound.damage(&format!(
        "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('again', 1, {inner});
         UPDATE fs_inode SET nlink = 2 WHERE ino = {inner}"
    ));
    let expected = format!(
        "INT-14 error fs_inode ino={inner}: directory {inner} has 2 entries, where one is all that a directory can have"
    );
    assert_eq!(found, [expected]);
}

// spec: INT-14
#[test]
fn directories_that_lie_below_themselves() {
    let sound = Sound::new();
    let Sound { directory, inner, .. } = sound;
    let found = sound.damage(&format!("UPDATE fs_dentry SET parent_ino = {inner} WHERE ino = {directory}"));
    let lies = |ino: Ino| {
        format!(
            "INT-14 error fs_inode ino={ino}: directory {ino} lies below itself, or below a directory that does"
        )
    };
    assert_eq!(found, [lies(directory), lies(inner)]);
    let alone = Sound::new();
    let inner = alone.inner;
    let found = alone.damage(&format!("UPDATE fs_dentry SET parent_ino = {inner} WHERE ino = {inner}"));
    assert_eq!(found, [lies(inner)]);
}

// spec: INT-15
#[test]
fn a_file_and_a_directory_without_a_name() {
    let sound = Sound::new();
    let Sound { directory, chunked, .. } = sound;
    let nameless = |ino: Ino, mode: &str| {
        format!("INT-15 error fs_inode ino={ino}: no entry names inode {ino} (mode {mode}), whose nlink is 1")
    };
    let found = sound.damage(&format!("DELETE FROM fs_dentry WHERE ino = {chunked}"));
    assert_eq!(found, [nameless(chunked, "0o100644")]);
    // What lies below it is not reported.
    let found = sound.damage(&format!("DELETE FROM fs_dentry WHERE ino = {directory}"));
    assert_eq!(found, [nameless(directory, "0o40755"), nameless(chunked, "0o100644")]);
}

// spec: INT-15, FS-REAP-9
#[test]
fn what_waits_to_be_removed_is_pending() {
    let sound = Sound::new();
    let Sound { empty, ref fixture, .. } = sound;
    let removed = fixture.directory(Ino::ROOT, "removed");
    fixture.unlink(Ino::ROOT, "empty").unwrap();
    fixture.rmdir(Ino::ROOT, "removed").unwrap();
    fixture.fs.sync().unwrap();
    let pending = |ino: Ino, mode: &str| {
        format!(
            "INT-15 pending fs_inode ino={ino}: no entry names inode {ino} (mode {mode}), whose nlink is 0: it is \
             removed when nobody uses it any more, at the latest by the next mount"
        )
    };
    assert_eq!(sound.found(), [pending(empty, "0o100644"), pending(removed, "0o40755")]);
    assert!(fixture.fs.verify().unwrap().is_sound());
    fixture.fs.forget(empty, 1);
    fixture.fs.forget(removed, 1);
    fixture.fs.sync().unwrap();
    assert_eq!(sound.found(), [""; 0]);
}

// spec: INT-16
#[test]
fn the_list_of_what_is_to_be_removed_is_complete_and_has_nothing_else() {
    let sound = Sound::new();
    let Sound { empty, inline, ref fixture, .. } = sound;
    fixture.unlink(Ino::ROOT, "empty").unwrap();
    fixture.foreign("DELETE FROM ext_orphan");
    let found = sound.found();
    let expected = format!(
        "INT-16 note fs_inode ino={empty}: inode {empty} waits to be removed, but ext_orphan does not list it, so no \
         mount will remove it"
    );
    assert_eq!(found.len(), 2, "it is pending as well");
    assert_eq!(found[1], expected);
    let found = sound.damage(&format!("INSERT INTO ext_orphan (ino) VALUES ({empty}), ({inline}), (4711)"));
    let dropped = |ino: u64, why: &str| {
        format!(
            "INT-16 pending ext_orphan ino={ino}: inode {ino} is listed as one to be removed, but {why}; the next \
             mount drops it from the list"
        )
    };
    assert_eq!(found[1..], [dropped(inline.0, "has a name"), dropped(4711, "does not exist")]);
    // Without the list, the first mount searches.
    fixture.foreign("DROP TABLE ext_orphan");
    let report = fixture.fs.verify().unwrap();
    assert!(!report.rules_checked.contains(&"INT-16"));
    assert_eq!(report.findings.len(), 1);
}

// spec: INT-17
#[test]
fn a_link_count_that_is_not_the_number_of_entries() {
    let sound = Sound::new();
    let Sound { directory, inline, empty, .. } = sound;
    let found = sound.damage(&format!(
        "UPDATE fs_inode SET nlink = 1 WHERE ino = {inline};
         UPDATE fs_inode SET nlink = 0 WHERE ino IN ({directory}, {empty});
         UPDATE fs_inode SET nlink = 7 WHERE ino = 1"
    ));
    let counts = |ino: Ino, nlink, names| {
        format!("INT-17 error fs_inode ino={ino}: inode {ino} has nlink {nlink}, where {names} is due")
    };
    let expected =
        [counts(Ino::ROOT, 7, 1), counts(directory, 0, 1), counts(empty, 0, 1), counts(inline, 1, 2)];
    assert_eq!(found, expected);
}

// spec: INT-17, FS-NLINK-1
#[test]
fn the_other_way_to_count_links_of_directories_is_a_note() {
    let sound = Sound::new();
    let Sound { directory, inner, ref fixture, .. } = sound;
    let found = sound.damage(&format!(
        "UPDATE fs_inode SET nlink = 3 WHERE ino IN (1, {directory});
         UPDATE fs_inode SET nlink = 2 WHERE ino = {inner}"
    ));
    let counts = |ino: Ino, nlink| {
        format!(
            "INT-17 note fs_inode ino={ino}: inode {ino} has nlink {nlink}, where 1 is due: as other programs count, 2 \
             and its subdirectories"
        )
    };
    assert_eq!(found, [counts(Ino::ROOT, 3), counts(directory, 3), counts(inner, 2)]);
    assert!(fixture.fs.verify().unwrap().is_sound());
}

// spec: INT-18, FS-NAME-1
#[test]
fn names_that_none_can_have() {
    let sound = Sound::new();
    let Sound { inner, fifo, .. } = sound;
    let long = "n".repeat(256);
    let names = [
        ("''", "\"\""),
        ("'.'", "\".\""),
        ("'..'", "\"..\""),
        ("'../up'", "\"../up\""),
        ("CAST(x'6100ff' AS TEXT)", "\"a\\u{0}\\xff\""),
        ("x'61'", "BLOB \"a\""),
        (&format!("'{long}'"), &format!("\"{long}\"")),
    ];
    let mut expected = Vec::new();
    for (index, (sql, shown)) in names.iter().enumerate() {
        let id = 1000 + index;
        sound.fixture.foreign(&format!(
            "INSERT INTO fs_dentry (id, name, parent_ino, ino) VALUES ({id}, {sql}, {inner}, {fifo});
             UPDATE fs_inode SET nlink = nlink + 1 WHERE ino = {fifo}"
        ));
        expected.push(format!(
            "INT-18 error fs_dentry id={id}: the entry {shown} of directory {inner} has a name that none can have"
        ));
    }
    assert_eq!(sound.found(), expected);
}

// spec: INT-19
#[test]
fn names_and_targets_that_are_not_utf8_are_notes() {
    let sound = Sound::new();
    let Sound { inner, symlink, .. } = sound;
    sound.raw_name(inner, b"caf\xe9");
    sound.raw_name(inner, &[0x80; 255]);
    let target = agentfs::types::Target::new(b"\xff/x").unwrap();
    let link = sound.fixture.fs.symlink(&Caller::root(), inner, n("link"), target).unwrap().ino;
    sound.fixture.fs.sync().unwrap();
    let found = sound.found();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("INT-19 note fs_dentry") && found[0].contains("\"caf\\xe9\""), "{}", found[0]);
    assert!(found[1].contains(&"\\x80".repeat(255)), "{}", found[1]);
    assert!(found[2].starts_with(&format!("INT-19 note fs_symlink ino={link}: ")), "{}", found[2]);
    assert!(found.iter().all(|finding| !finding.contains(&format!("ino={symlink}"))), "that one is UTF-8");
}
