//! `agentfs verify`: its answer in both forms, its exit codes, and that it changes nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rusqlite::Connection;

use crate::program::Place;
use crate::shows;

fn damage(place: &Place, sql: &str) {
    let connection = Connection::open(place.at(".agentfs/demo.db")).unwrap();
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
}

// spec: CLI-1, CLI-2, CLI-3, CLI-4, INT-1
#[test]
fn findings_are_rows_or_json_and_errors_are_10() {
    let place = Place::with_demo();
    for arguments in [
        &["fs", "write", "demo", "/notes.txt", "buy milk"][..],
        &["fs", "mkdir", "demo", "/plans"],
        &["kv", "set", "demo", "plan", "1"],
        &["tools", "record", "demo", "search", "--result", "[]", "--started", "@10", "--completed", "@12"],
    ] {
        place.run(arguments).answer();
    }
    let sound = place.session(&["verify demo", "verify demo --json"]);
    // Another way to count, a name that is not UTF-8, and an inode that waits to be removed.
    damage(
        &place,
        "UPDATE fs_inode SET nlink = 3 WHERE ino = 1;
         UPDATE fs_dentry SET name = CAST(x'636166e9' AS TEXT) WHERE name = 'notes.txt';
         INSERT INTO fs_inode (ino, mode, nlink, atime, mtime, ctime) VALUES (40, 33188, 0, 0, 0, 0);
         INSERT INTO ext_orphan (ino) VALUES (40)",
    );
    let odd = place.session(&["verify demo", "verify demo --json"]);
    damage(
        &place,
        "INSERT INTO fs_dentry (id, name, parent_ino, ino) VALUES (50, 'ghost' || char(27), 1, 4711);
         UPDATE fs_inode SET size = 9 WHERE size = 8;
         UPDATE kv_store SET value = '{';
         UPDATE tool_calls SET duration_ms = 1",
    );
    let unsound = place.session(&["verify demo", "verify demo --json", "verify demo --frobnicate"]);
    shows!("verify", [sound, odd, unsound].concat());
}

// spec: CLI-4, INT-4
#[test]
fn what_is_not_listed_is_counted() {
    let place = Place::with_demo();
    damage(
        &place,
        "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 150)
           INSERT INTO fs_symlink (ino, target) SELECT 1000 + n, 'x' FROM numbers",
    );
    let outcome = place.run(["verify", "demo"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (10, "agentfs: demo: 150 errors\n"));
    let seen = String::from_utf8(outcome.stdout).unwrap();
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines.len(), 102);
    assert_eq!(lines[100].split_whitespace().collect::<Vec<_>>(), ["INT-30", "error", "...", "50", "more"]);
    assert!(lines[101].starts_with("demo: 150 errors ("), "{}", lines[101]);
    let outcome = place.run(["verify", "demo", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!(
        report["unlisted"],
        serde_json::json!([{ "rule": "INT-30", "severity": "error", "count": 50 }])
    );
    assert_eq!(report["errors"], 150);
}

// spec: CLI-1, CLI-2, INT-3
#[test]
fn what_cannot_be_checked_is_refused_as_by_every_command() {
    let place = Place::with_demo();
    let whole = fs::read(place.at(".agentfs/demo.db")).unwrap();
    fs::write(place.at("text.db"), "a text that is longer than the header of a database ".repeat(4)).unwrap();
    fs::write(place.at("empty.db"), "").unwrap();
    fs::write(place.at("half.db"), &whole[..whole.len() / 2]).unwrap();
    fs::create_dir(place.at("directory.db")).unwrap();
    let old = Connection::open(place.at("old.db")).unwrap();
    old.execute_batch("CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY, mode INTEGER, nlink INTEGER)")
        .unwrap();
    old.close().unwrap();
    for (name, code) in [
        ("text.db", 4),
        ("empty.db", 4),
        ("half.db", 4),
        ("directory.db", 4),
        ("old.db", 5),
        ("missing.db", 3),
        ("no/such/directory/x.db", 3),
        ("two words", 2),
    ] {
        let before = place.contents();
        let info = place.run(["info", name]);
        for json in [&["verify", name][..], &["verify", name, "--json"]] {
            let outcome = place.run(json);
            assert_eq!((outcome.code, outcome.stdout.len()), (code, 0), "{name}: {}", outcome.stderr);
            assert_eq!(outcome.stderr, info.stderr);
        }
        assert!(place.contents() == before, "{name}: something was left behind");
    }
}

// spec: CLI-1, INT-2
#[test]
fn who_may_only_read_can_check_also_what_a_crash_left() {
    let place = Place::with_demo();
    let database = place.at(".agentfs/demo.db");
    let connection = Connection::open(&database).unwrap();
    connection.execute_batch("INSERT INTO fs_symlink (ino, target) VALUES (4711, 'x')").unwrap();
    fs::create_dir(place.at("crashed")).unwrap();
    let endings = ["", "-wal", "-shm"];
    let beside = |name: &str, ending: &str| PathBuf::from(format!("{}{ending}", place.at(name).display()));
    let set = |mode: u32| {
        for path in fs::read_dir(place.at("crashed")).unwrap().map(|entry| entry.unwrap().path()) {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let folder = if mode == 0o444 { 0o555 } else { 0o755 };
        fs::set_permissions(place.at("crashed"), fs::Permissions::from_mode(folder)).unwrap();
    };
    for ending in endings {
        fs::copy(beside(".agentfs/demo.db", ending), beside("crashed/x.db", ending)).unwrap();
    }
    drop(connection);
    set(0o444);
    let before = place.contents();
    let outcome = place.run_as_nobody(["verify", "crashed/x.db"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (10, "agentfs: crashed/x.db: 1 error\n"));
    assert!(place.contents() == before);
    set(0o644);
    fs::remove_file(beside("crashed/x.db", "-shm")).unwrap();
    set(0o444);
    let before = place.contents();
    let outcome = place.run_as_nobody(["verify", "crashed/x.db"]);
    assert_eq!(outcome.code, 7, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("a log without an index"), "{}", outcome.stderr);
    assert!(place.contents() == before);
    set(0o644);
    fs::remove_file(beside("crashed/x.db", "-wal")).unwrap();
    set(0o444);
    let before = place.contents();
    assert!(place.run_as_nobody(["verify", "crashed/x.db"]).answer().contains("sound"));
    assert!(place.contents() == before);
    set(0o644);
}

// spec: CLI-9, INT-2, MNT-4
#[test]
fn a_mounted_database_is_checked_as_any_other() {
    let place = Place::with_demo();
    assert!(fs::File::options().read(true).write(true).open("/dev/fuse").is_ok(), "this test mounts");
    fs::create_dir(place.at("mnt")).unwrap();
    place.run(["mount", "demo", "mnt"]).answer();
    let file = place.at("mnt/open");
    fs::write(&file, vec![b'x'; 100_000]).unwrap();
    let open = fs::File::open(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let seen = place.run(["verify", "demo", "--json"]).json();
    assert_eq!((&seen["errors"], &seen["pending"]), (&0.into(), &1.into()), "{seen}");
    assert_eq!(seen["findings"][0]["rule"], "INT-15");
    drop(open);
    fs::write(place.at("mnt/later"), "text").unwrap();
    damage(
        &place,
        "UPDATE fs_inode SET rdev = 7 WHERE ino = (SELECT ino FROM fs_dentry WHERE name = 'later')",
    );
    let outcome = place.run(["verify", "demo"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (10, "agentfs: demo: 1 error\n"));
    place.run(["unmount", "mnt"]).answer();
    let left: Vec<_> =
        fs::read_dir(place.at(".agentfs")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["demo.db"], "one file is left");
    assert_eq!(place.run(["verify", "demo"]).code, 10);
}
