//! What can be opened, what is refused and in which words.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use agentfs::error::DatabaseProblem;
use agentfs::types::{Caller, Gid, Ino, Uid};
use agentfs::vfs::Vfs;
use agentfs::{AgentFs, Errno, Error, Options};
use rusqlite::Connection;

use crate::common::{Fixture, errno, n};

fn problem(outcome: agentfs::Result<AgentFs>) -> DatabaseProblem {
    match outcome.map(|_| ()).unwrap_err() {
        Error::Database { problem, .. } => problem,
        other => panic!("not a problem of the database: {other}"),
    }
}

fn open(path: &Path) -> agentfs::Result<AgentFs> {
    AgentFs::open(path, &Options::default())
}

/// A closed database.
fn closed() -> (tempfile::TempDir, std::path::PathBuf) {
    let fixture = Fixture::new();
    let path = fixture.path();
    let Fixture { fs, folder, .. } = fixture;
    fs.close().unwrap();
    (folder, path)
}

// spec: FMT-1, FMT-2
#[test]
fn a_new_database_has_the_core_tables_exactly_and_is_stamped() {
    let (_folder, path) = closed();
    let connection = Connection::open(path).unwrap();
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 5);
    let ddl = include_str!("../../spec/schema/v0.5.sql");
    let mut statement = connection
        .prepare(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'ext_%'
                  AND name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let stored = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut count = 0;
    for sql in stored {
        let sql = sql.unwrap();
        assert!(ddl.contains(&sql), "not the specification's text: {sql}");
        count += 1;
    }
    assert_eq!(count, ddl.matches("CREATE ").count());
    let configuration: Vec<(String, String)> = connection
        .prepare("SELECT key, value FROM fs_config ORDER BY key")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let expected = [("chunk_size", "65536"), ("inline_threshold", "4096"), ("schema_version", "0.5")];
    assert_eq!(configuration, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
}

// spec: OPEN-1
#[test]
fn opening_changes_nothing_in_the_configuration() {
    let (_folder, path) = closed();
    let before = std::fs::read(&path).unwrap();
    let mut options = Options::default();
    options.chunk_size = 4096;
    options.inline_threshold = 100;
    let fs = AgentFs::open(&path, &options).unwrap();
    assert_eq!(fs.store().configuration().chunk_size, 65536);
    fs.getattr(Ino::ROOT).unwrap();
    fs.close().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), before, "a session that changed nothing");
}

// spec: OPEN-2, FMT-3
#[test]
fn what_is_no_agent_file_system_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert_eq!(problem(open(&at("missing.db"))), DatabaseProblem::Missing);
    std::fs::write(at("text.db"), "some text that is longer than the header of a database".repeat(4))
        .unwrap();
    assert_eq!(problem(open(&at("text.db"))), DatabaseProblem::NotSqlite);
    std::fs::write(at("empty.db"), "").unwrap();
    assert!(matches!(problem(open(&at("empty.db"))), DatabaseProblem::NotAgentFs(_)));
    std::fs::create_dir(at("directory.db")).unwrap();
    assert_eq!(problem(open(&at("directory.db"))), DatabaseProblem::NotSqlite);
    Connection::open(at("music.db")).unwrap().execute_batch("CREATE TABLE songs (id INTEGER)").unwrap();
    assert!(matches!(problem(open(&at("music.db"))), DatabaseProblem::NotAgentFs(_)));
    let utf16 = Connection::open(at("utf16.db")).unwrap();
    utf16.execute_batch("PRAGMA encoding = 'UTF-16le'").unwrap();
    utf16.execute_batch(include_str!("../../spec/schema/v0.5.sql")).unwrap();
    utf16.execute_batch("PRAGMA user_version = 5").unwrap();
    drop(utf16);
    assert!(matches!(problem(open(&at("utf16.db"))), DatabaseProblem::Encoding(_)));
}

// spec: OPEN-2, FMT-3
#[test]
fn other_formats_are_named_and_left_alone() {
    let (_folder, path) = closed();
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 6").unwrap();
    assert!(matches!(problem(open(&path)), DatabaseProblem::Newer(_)));
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 0").unwrap();
    let refused = open(&path).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("agentfs migrate"), "{refused}");
}

// spec: OPEN-2
#[test]
fn damage_is_found_before_it_is_used() {
    let (_folder, path) = closed();
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..50]).unwrap();
    assert!(matches!(problem(open(&path)), DatabaseProblem::Corrupt(_)));
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(problem(open(&path)), DatabaseProblem::Corrupt(_)));
    let mut torn = whole.clone();
    torn[100..4000].fill(0xa5);
    std::fs::write(&path, &torn).unwrap();
    assert!(matches!(problem(open(&path)), DatabaseProblem::Corrupt(_)));
    std::fs::write(&path, &whole).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("DELETE FROM fs_inode WHERE ino = 1").unwrap();
    drop(connection);
    assert!(matches!(problem(open(&path)), DatabaseProblem::Corrupt(_)));
}

// spec: OPEN-2, OPEN-4
#[test]
fn a_setting_that_makes_no_sense_is_named() {
    for (key, value) in [("chunk_size", "0"), ("chunk_size", "many"), ("inline_threshold", "-1")] {
        let (_folder, path) = closed();
        let connection = Connection::open(&path).unwrap();
        connection.execute("UPDATE fs_config SET value = ? WHERE key = ?", (value, key)).unwrap();
        drop(connection);
        let expected = DatabaseProblem::Config { key: key.into(), value: value.into() };
        assert_eq!(problem(open(&path)), expected);
    }
}

// spec: OPEN-2, OPEN-5, OPEN-6
#[test]
fn creation_refuses_bad_options_and_existing_files_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let refuse = |adjust: fn(&mut Options)| {
        let mut options = Options::default();
        adjust(&mut options);
        errno(AgentFs::create(&path, &options).map(|_| ()))
    };
    assert_eq!(refuse(|options| options.chunk_size = 1000), Errno::EINVAL);
    assert_eq!(refuse(|options| options.inline_threshold = 1 << 20), Errno::EINVAL);
    assert_eq!(refuse(|options| options.page_size = 100), Errno::EINVAL);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let missing = folder.path().join("no/such/agent.db");
    assert!(AgentFs::create(&missing, &Options::default()).is_err());
    AgentFs::create(&path, &Options::default()).unwrap().close().unwrap();
    let again = AgentFs::create(&path, &Options::default());
    assert_eq!(problem(again), DatabaseProblem::Exists);
    assert!(open(&path).is_ok(), "the existing one is untouched");
}

// spec: OPEN-6
#[test]
fn a_database_whose_name_cannot_be_made_durable_is_not_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    // To sync a directory it has to be opened for reading.
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o333)).unwrap();
    let program = env!("CARGO_BIN_EXE_agentfs");
    let mut command = match rustix::process::geteuid().is_root() {
        // Another user, who is bound by permissions.
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "1001", "--regid", "1001", "--clear-groups", program]);
            command
        }
        false => Command::new(program),
    };
    let done = command.arg("init").arg(closed.join("agent.db")).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("cannot sync"), "{said}");
    assert_eq!(done.status.code(), Some(7));
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(std::fs::read_dir(&closed).unwrap().count(), 0);
}

// spec: OPEN-5, FMT-7
#[test]
fn options_of_creation_are_kept() {
    let fixture = Fixture::with(|options| {
        options.chunk_size = 4096;
        options.inline_threshold = 512;
        options.page_size = 4096;
        options.root_owner = (Uid(12), Gid(34));
    });
    let fixture = fixture.reopen();
    let configuration = fixture.fs.store().configuration();
    assert_eq!((configuration.chunk_size, configuration.inline_threshold), (4096, 512));
    assert_eq!(configuration.page_size, 4096);
    let root = fixture.stat(Ino::ROOT);
    assert_eq!((root.uid, root.gid), (Uid(12), Gid(34)));
}

// spec: OPEN-8
#[test]
fn a_read_only_file_system_shows_everything_and_changes_nothing() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"content").ino;
    let path = fixture.path();
    let Fixture { fs, folder, .. } = fixture;
    fs.close().unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut options = Options::default();
    options.read_only = true;
    let fs = AgentFs::open(&path, &options).unwrap();
    assert_eq!(fs.read(file, 0, 10).unwrap(), b"content");
    assert_eq!(errno(fs.create(&Caller::root(), Ino::ROOT, n("g"), 0o644)), Errno::EROFS);
    assert_eq!(errno(fs.unlink(&Caller::root(), Ino::ROOT, n("f"))), Errno::EROFS);
    fs.close().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

// spec: FMT-4
#[test]
fn a_database_without_extension_tables_works_and_gets_them_when_needed() {
    let fixture = Fixture::new();
    let path = fixture.path();
    let Fixture { fs, folder: _folder, .. } = fixture;
    fs.close().unwrap();
    let foreign = Connection::open(&path).unwrap();
    for table in ["ext_registry", "ext_xattr", "ext_orphan", "ext_mount", "ext_tool_call"] {
        foreign.execute_batch(&format!("DROP TABLE {table}")).unwrap();
    }
    drop(foreign);
    let fs = open(&path).unwrap();
    let file = fs.create(&Caller::root(), Ino::ROOT, n("f"), 0o644).unwrap().ino;
    assert_eq!(fs.listxattr(&Caller::root(), file).unwrap(), Vec::<Vec<u8>>::new());
    fs.setxattr(&Caller::root(), file, b"user.a", b"1", agentfs::vfs::XattrMode::Set).unwrap();
    fs.unlink(&Caller::root(), Ino::ROOT, n("f")).unwrap();
    fs.forget(file, 1);
    fs.close().unwrap();
    let version: i64 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT version FROM ext_registry WHERE name = 'ext_xattr'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 1);
}

// spec: OPEN-4
#[test]
fn other_programs_choose_their_settings_within_bounds() {
    let set = |key: &str, value: &str| {
        let (folder, path) = closed();
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(&format!("UPDATE fs_config SET value = {value} WHERE key = '{key}'"))
            .unwrap();
        drop(connection);
        (folder, path)
    };
    for (key, value) in [("chunk_size", "'4097'"), ("chunk_size", "'16777216'"), ("inline_threshold", "'0'")]
    {
        let (_folder, path) = set(key, value);
        let fs = open(&path).unwrap();
        let file = fs.create(&Caller::root(), Ino::ROOT, n("f"), 0o644).unwrap().ino;
        fs.write(file, 5000, b"end", agentfs::vfs::WriteFlags::empty()).unwrap();
        assert_eq!(fs.read(file, 4999, 10).unwrap(), b"\0end", "{key} {value}");
        fs.close().unwrap();
    }
    for (key, value) in [
        ("chunk_size", "'511'"),
        ("chunk_size", "'16777217'"),
        ("inline_threshold", "'65537'"),
        ("chunk_size", "x'ff'"),
    ] {
        let (_folder, path) = set(key, value);
        let DatabaseProblem::Config { key: named, .. } = problem(open(&path)) else {
            panic!("{key} {value}")
        };
        assert_eq!(named, key);
    }
    let (_folder, path) = closed();
    Connection::open(&path).unwrap().execute_batch("DELETE FROM fs_config WHERE key = 'chunk_size'").unwrap();
    assert!(matches!(problem(open(&path)), DatabaseProblem::Config { .. }));
}

// spec: OPEN-9, OPEN-8
#[test]
fn with_another_opening_the_log_stays_until_that_one_closes() {
    let fixture = Fixture::new();
    let other = open(&fixture.path()).unwrap();
    let Fixture { fs, folder, .. } = fixture;
    fs.create(&Caller::root(), Ino::ROOT, n("f"), 0o644).unwrap();
    fs.close().unwrap();
    assert!(other.lookup(&Caller::root(), Ino::ROOT, n("f")).is_ok());
    other.close().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

// spec: FMT-3
#[test]
fn a_stamp_without_the_tables_of_the_core_is_not_enough() {
    for table in ["fs_config", "fs_dentry", "fs_data", "fs_symlink", "kv_store", "tool_calls"] {
        let (_folder, path) = closed();
        Connection::open(&path).unwrap().execute_batch(&format!("DROP TABLE {table}")).unwrap();
        assert!(matches!(problem(open(&path)), DatabaseProblem::NotAgentFs(_)), "{table}");
    }
}
