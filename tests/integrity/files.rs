//! Databases as files: at rest, left by a crash, in use, of other formats, too damaged to be opened; and that looking
//! at them changes nothing.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use agentfs::error::DatabaseProblem;
use agentfs::integrity::verify_file;
use agentfs::store::inspect;
use agentfs::types::{Caller, Ino};
use agentfs::vfs::Vfs;
use agentfs::{AgentFs, Error, Options};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::common::{Fixture, n};
use crate::sound::{Sound, shown};

/// A database at rest, and its folder.
fn at_rest() -> (TempDir, PathBuf) {
    let Fixture { fs, folder, .. } = Sound::new().fixture;
    fs.close().unwrap();
    let path = folder.path().join("agent.db");
    (folder, path)
}

/// The state of a folder: every file with its content, and when a name last came or went.
fn state(folder: &Path) -> (BTreeMap<PathBuf, Vec<u8>>, SystemTime) {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    (files, std::fs::metadata(folder).unwrap().modified().unwrap())
}

/// What is found in a file, and that the folder stays as it is.
#[track_caller]
fn found(path: &Path) -> Vec<String> {
    let before = state(path.parent().unwrap());
    let report = verify_file(path).unwrap();
    assert!(state(path.parent().unwrap()) == before, "the check left something behind");
    shown(&report)
}

#[track_caller]
fn problem<T>(outcome: agentfs::Result<T>) -> DatabaseProblem {
    match outcome.map(|_| ()).unwrap_err() {
        Error::Database { problem, .. } => problem,
        other => panic!("not a problem of the database: {other}"),
    }
}

fn files(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Puts one dangling entry into a database.
const DAMAGE: &str = "INSERT INTO fs_dentry (id, name, parent_ino, ino) VALUES (99, 'ghost', 1, 4711)";
const FOUND: &str =
    "INT-11 error fs_dentry id=99: the entry \"ghost\" of directory 1 names inode 4711, which does not exist";

// spec: INT-2
#[test]
fn a_database_at_rest_stays_as_it_is() {
    let (_folder, path) = at_rest();
    assert_eq!(found(&path), [""; 0]);
    Connection::open(&path).unwrap().execute_batch(DAMAGE).unwrap();
    assert_eq!(found(&path), [FOUND]);
}

/// What a crash leaves of a database whose damage is in the log alone; with or without the log's index.
fn crashed(with_index: bool) -> TempDir {
    let (folder, path) = at_rest();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(DAMAGE).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let left = ["agent.db", "agent.db-wal", "agent.db-shm"];
    for name in &left[..if with_index { 3 } else { 2 }] {
        std::fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    copy
}

// spec: INT-2
#[test]
fn a_log_that_a_crash_left_is_read_and_stays() {
    for with_index in [true, false] {
        let folder = crashed(with_index);
        let path = folder.path().join("agent.db");
        assert_eq!(found(&path), [FOUND], "with its index: {with_index}");
        std::fs::remove_file(folder.path().join("agent.db-wal")).unwrap();
        if with_index {
            std::fs::remove_file(folder.path().join("agent.db-shm")).unwrap();
        }
        assert_eq!(found(&path), [""; 0], "it was in the log alone");
    }
}

// spec: INT-2, DUR-9
#[test]
fn others_are_kept_out_while_the_log_of_a_crash_is_read() {
    let folder = crashed(true);
    let path = folder.path().join("agent.db");
    let mut options = Options::default();
    options.busy_timeout = Duration::from_millis(20);
    inspect(&path, |_| {
        assert_eq!(problem(AgentFs::open(&path, &options)), DatabaseProblem::Busy);
        Ok(())
    })
    .unwrap();
    AgentFs::open(&path, &options).unwrap().close().unwrap();
    assert_eq!(files(&folder), ["agent.db"]);
}

// spec: INT-2, OPEN-9
#[test]
fn whoever_closes_last_folds_the_log_in_also_when_it_is_the_check() {
    let Fixture { fs, folder, .. } = Sound::new().fixture;
    let path = folder.path().join("agent.db");
    let fs = std::cell::Cell::new(Some(fs));
    inspect(&path, |session| {
        fs.take().expect("the work runs once").close().unwrap();
        assert_eq!(files(&folder), ["agent.db", "agent.db-shm", "agent.db-wal"]);
        session.row("SELECT count(*) FROM fs_inode", [], |row| row.get::<_, i64>(0))
    })
    .unwrap();
    assert_eq!(files(&folder), ["agent.db"]);
    assert_eq!(found(&path), [""; 0]);
}

// spec: INT-2
#[test]
fn a_file_that_is_changed_meanwhile_is_read_again() {
    let (folder, path) = at_rest();
    let runs = AtomicU32::new(0);
    let entries = inspect(&path, |session| {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        if run < 2 {
            let fs = AgentFs::open(&path, &Options::default()).unwrap();
            fs.create(&Caller::root(), Ino::ROOT, n(&format!("new{run}")), 0o644).unwrap();
            fs.close().unwrap();
        }
        session.row("SELECT count(*) FROM fs_dentry WHERE name LIKE 'new%'", [], |row| row.get::<_, i64>(0))
    });
    assert_eq!((entries.unwrap(), runs.into_inner()), (Some(2), 3));
    assert_eq!(files(&folder), ["agent.db"]);
}

// spec: INT-2
#[test]
fn a_file_that_never_rests_is_read_beside_those_who_write() {
    let (folder, path) = at_rest();
    let runs = AtomicU32::new(0);
    let seen = inspect(&path, |session| {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        let fs = AgentFs::open(&path, &Options::default()).unwrap();
        fs.create(&Caller::root(), Ino::ROOT, n(&format!("new{run}")), 0o644).unwrap();
        fs.close().unwrap();
        session.row("SELECT count(*) FROM fs_dentry WHERE name LIKE 'new%'", [], |row| row.get::<_, i64>(0))
    });
    // The last time it reads the state from before the last change, whatever is changed.
    assert_eq!((seen.unwrap(), runs.into_inner()), (Some(3), 4));
    assert_eq!(files(&folder), ["agent.db"]);
}

// spec: INT-2, MNT-4
#[test]
fn a_database_that_is_written_to_is_sound_at_every_moment() {
    let fixture = Fixture::new();
    let path = fixture.path();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut i = 0;
            while !stop.load(Ordering::Relaxed) {
                let file = fixture.file(Ino::ROOT, &format!("f{i}"), &[b'x'; 5000]).ino;
                let directory = fixture.directory(Ino::ROOT, &format!("d{i}"));
                fixture.unlink(Ino::ROOT, &format!("f{i}")).unwrap();
                fixture.rmdir(Ino::ROOT, &format!("d{i}")).unwrap();
                for ino in [file, directory] {
                    fixture.fs.forget(ino, 1);
                }
                i += 1;
                if i % 50 == 0 {
                    fixture.fs.sync().unwrap();
                }
            }
        });
        for _ in 0..20 {
            let report = verify_file(&path).unwrap();
            assert!(report.is_sound(), "{:?}", shown(&report));
        }
        stop.store(true, Ordering::Relaxed);
    });
}

// spec: INT-2, INT-3
#[test]
fn a_database_with_a_rollback_journal_is_read_unless_it_must_be_rolled_back() {
    let (folder, path) = at_rest();
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).unwrap();
    assert_eq!(found(&path), [""; 0]);
    // A transaction that spills into the file before it is committed.
    connection.execute_batch("PRAGMA cache_size = 1; BEGIN").unwrap();
    for _ in 0..50 {
        connection
            .execute_batch("INSERT INTO kv_store (key, value) VALUES (hex(randomblob(9000)), '1')")
            .unwrap();
    }
    let copy = tempfile::tempdir().unwrap();
    for name in ["agent.db", "agent.db-journal"] {
        std::fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    let path = copy.path().join("agent.db");
    let before = state(copy.path());
    let refused = verify_file(&path).unwrap_err().to_string();
    assert!(refused.contains("a write to it was cut short"), "{refused}");
    assert!(state(copy.path()) == before);
    AgentFs::open(&path, &Options::default()).unwrap().close().unwrap();
    assert_eq!(found(&path), [""; 0]);
}

// spec: INT-2
#[test]
fn a_database_that_may_only_be_read_is_checked_as_any_other() {
    let (folder, path) = at_rest();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    mode(&path, 0o444);
    mode(folder.path(), 0o555);
    let program = env!("CARGO_BIN_EXE_agentfs");
    let mut command = Command::new(program);
    if rustix::process::geteuid().is_root() {
        // Another user, who is bound by permissions.
        command = Command::new("setpriv");
        command.args(["--reuid", "1001", "--regid", "1001", "--clear-groups", program]);
    }
    let done = command.arg("verify").arg(&path).output().unwrap();
    mode(folder.path(), 0o755);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

// spec: INT-3, OPEN-2, FMT-3
#[test]
fn what_is_no_database_of_this_format_has_no_findings() {
    let (folder, path) = at_rest();
    let whole = std::fs::read(&path).unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("text.db"), "a text that is longer than the header of a database ".repeat(4)).unwrap();
    std::fs::write(at("empty.db"), "").unwrap();
    std::fs::write(at("header.db"), &whole[..50]).unwrap();
    std::fs::write(at("half.db"), &whole[..whole.len() / 2]).unwrap();
    let mut torn = whole.clone();
    torn[100..4000].fill(0xa5);
    std::fs::write(at("torn.db"), torn).unwrap();
    std::fs::create_dir(at("directory.db")).unwrap();
    let make = |name: &str, sql: &str| Connection::open(at(name)).unwrap().execute_batch(sql).unwrap();
    make("songs.db", "CREATE TABLE songs (id INTEGER)");
    make("old.db", "CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY, mode INTEGER, nlink INTEGER)");
    let core = include_str!("../../spec/schema/v0.5.sql");
    make("new.db", &format!("{core}; PRAGMA user_version = 6"));
    make("utf16.db", &format!("PRAGMA encoding = 'UTF-16le'; {core}; PRAGMA user_version = 5"));
    let names = [
        "text.db",
        "empty.db",
        "header.db",
        "half.db",
        "torn.db",
        "directory.db",
        "songs.db",
        "old.db",
        "new.db",
        "utf16.db",
        "missing.db",
    ];
    for name in names {
        let opened = problem(AgentFs::open(&at(name), &Options::default()));
        assert_eq!(problem(verify_file(&at(name))), opened, "{name}");
        assert_eq!(problem(agentfs::integrity::listing_of_file(&at(name))), opened, "{name}");
    }
    assert_eq!(problem(verify_file(&at("old.db"))), DatabaseProblem::Older("0.2".into()));
}

// spec: INT-7
#[test]
fn what_sqlite_finds_is_reported() {
    let (_folder, path) = at_rest();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'idx_kv_store_created_at'",
        )
        .unwrap();
    connection.close().unwrap();
    let found = found(&path);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("INT-7 error file: SQLite's own check says: \""), "{}", found[0]);
    assert!(found[0].contains("never used"), "{}", found[0]);
}

// spec: INT-7
#[test]
fn a_table_that_cannot_be_read_to_its_end_is_reported_and_the_others_are_checked() {
    let (_folder, path) = at_rest();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("INSERT INTO kv_store (key, value) VALUES ('no', 'JSON')").unwrap();
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, usize>(0)).unwrap();
    let page = number("SELECT rootpage FROM sqlite_schema WHERE name = 'fs_dentry'");
    let page_size = number("PRAGMA page_size");
    connection.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[(page - 1) * page_size..page * page_size].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let found = found(&path);
    let all = found.join("\n");
    for what in ["SQLite's own check says: ", "SQLite's own check could not be read to the end: "] {
        assert!(all.contains(&format!("INT-7 error file: {what}")), "{all}");
    }
    assert_eq!(all.matches("INT-7 error file: INT-14 could not be read to the end: ").count(), 1, "{all}");
    assert!(all.contains("INT-33 error kv_store key=no: "), "{all}");
    let report = verify_file(&path).unwrap();
    assert!(report.rules_checked.contains(&"INT-33"));
    for unfinished in ["INT-10", "INT-11", "INT-14"] {
        assert!(!report.rules_checked.contains(&unfinished), "{unfinished}");
    }
}

// spec: INT-8
#[test]
fn a_stamp_that_changes_under_an_open_database() {
    let sound = Sound::new();
    sound.fixture.foreign("PRAGMA user_version = 6");
    let found = shown(&sound.fixture.fs.verify().unwrap());
    assert_eq!(found, ["INT-8 error file: user_version is 6, where this format has 5"]);
    assert!(matches!(problem(verify_file(&sound.fixture.path())), DatabaseProblem::Newer(_)));
}

// spec: INT-3, INT-9, OPEN-4
#[test]
fn settings_that_make_no_sense_are_reported_though_nobody_can_open_it() {
    let (_folder, path) = at_rest();
    let set = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let says = |severity, key: &str, found: &str, expected: &str| {
        format!("INT-9 {severity} fs_config key={key}: the setting {key} is {found}; {expected}")
    };
    for value in ["many", "511", "16777217", "65536.0", ""] {
        set(&format!("UPDATE fs_config SET value = '{value}' WHERE key = 'chunk_size'"));
        let expected = says("error", "chunk_size", &format!("\"{value}\""), "512 to 16777216 is possible");
        assert_eq!(found(&path), [expected]);
        assert!(matches!(problem(AgentFs::open(&path, &Options::default())), DatabaseProblem::Config { .. }));
    }
    let report = verify_file(&path).unwrap();
    assert!(!report.rules_checked.contains(&"INT-29"), "chunks mean nothing without their size");
    set("DELETE FROM fs_config WHERE key = 'chunk_size'; INSERT INTO fs_config VALUES ('chunk_size', '512')");
    set("UPDATE fs_config SET value = '513' WHERE key = 'inline_threshold'");
    assert_eq!(found(&path), [says("error", "inline_threshold", "\"513\"", "0 to 512 is possible")]);
    set("DELETE FROM fs_config WHERE key = 'inline_threshold'");
    assert_eq!(found(&path), [says("error", "inline_threshold", "missing", "0 to 512 is possible")]);
    set("INSERT INTO fs_config VALUES ('inline_threshold', '64')");
    set("UPDATE fs_config SET value = '0.4' WHERE key = 'schema_version'");
    let expected = says("note", "schema_version", "\"0.4\"", "a program that looks at it expects \"0.5\"");
    assert_eq!(found(&path), [expected]);
}

// spec: INT-3, INT-10
#[test]
fn a_root_that_is_missing_is_reported_though_nobody_can_open_it() {
    let (_folder, path) = at_rest();
    Connection::open(&path).unwrap().execute_batch("DELETE FROM fs_inode WHERE ino = 1").unwrap();
    let found = found(&path);
    assert_eq!(found[0], "INT-10 error fs_inode ino=1: inode 1, the root, does not exist");
    assert!(found[1..].iter().all(|finding| finding.starts_with("INT-12 error")), "{found:?}");
}

// spec: INT-38, FMT-5
#[test]
fn extension_tables_of_another_version_are_not_judged() {
    let (_folder, path) = at_rest();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "UPDATE ext_registry SET version = 2 WHERE name IN ('ext_xattr', 'ext_orphan');
             INSERT INTO ext_registry (name, version) VALUES ('ext_of_others', 7);
             INSERT INTO ext_xattr (ino, name, value) VALUES (4711, 'user.a', x'');
             INSERT INTO ext_orphan (ino) VALUES (4711);
             CREATE TABLE others (ino TEXT)",
        )
        .unwrap();
    connection.close().unwrap();
    let says = |name: &str| {
        format!(
            "INT-38 note ext_registry name={name}: {name} has version 2, where this program knows 1: it was not checked"
        )
    };
    assert_eq!(found(&path), [says("ext_orphan"), says("ext_xattr")]);
}
