//! What is in the file, and what other programs may do to it without harm.

use std::collections::BTreeSet;

use agentfs::schema::{CORE_DDL, EXTENSION_DDL};
use agentfs::types::{Caller, FileKind, Gid, Ino, Mode, SetAttributes, Uid};
use agentfs::vfs::{Vfs, WriteFlags, XattrMode};
use agentfs::{AgentFs, Errno, Options};
use rusqlite::Connection;

use crate::common::{Fixture, START, errno, n};

// spec: FMT-7
#[test]
fn a_new_root_directory_is_empty_owned_and_made_now() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.clock = std::sync::Arc::new(agentfs::types::ManualClock::new(START));
    for (name, owner) in [("a.db", (Uid(0), Gid(0))), ("b.db", (Uid(12), Gid(34)))] {
        options.root_owner = owner;
        let fs = AgentFs::create(&folder.path().join(name), &options).unwrap();
        let root = fs.getattr(Ino::ROOT).unwrap();
        assert_eq!(root.mode, Mode::new(FileKind::Directory, 0o755));
        assert_eq!((root.uid, root.gid), owner);
        assert_eq!((root.atime, root.mtime, root.ctime), (START, START, START));
        fs.close().unwrap();
        let connection = Connection::open(folder.path().join(name)).unwrap();
        let row: (i64, i64, i64) = connection
            .query_row("SELECT mode, nlink, size FROM fs_inode WHERE ino = 1", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .unwrap();
        assert_eq!(row, (0o040_755, 1, 0));
    }
}

// spec: FMT-8
#[test]
fn columns_in_another_order_and_tables_that_nobody_knows_are_tolerated_and_kept() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", &[7; 100_000]).ino;
    let path = fixture.path();
    let Fixture { fs, options, folder: _folder, .. } = fixture;
    fs.close().unwrap();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE moved (storage_kind INTEGER NOT NULL DEFAULT 0, data_inline BLOB, rdev INTEGER NOT NULL
               DEFAULT 0, note TEXT DEFAULT 'kept', ctime_nsec INTEGER NOT NULL DEFAULT 0, mtime_nsec INTEGER NOT
               NULL DEFAULT 0, atime_nsec INTEGER NOT NULL DEFAULT 0, ctime INTEGER NOT NULL, mtime INTEGER NOT
               NULL, atime INTEGER NOT NULL, size INTEGER NOT NULL DEFAULT 0, gid INTEGER NOT NULL DEFAULT 0, uid
               INTEGER NOT NULL DEFAULT 0, nlink INTEGER NOT NULL DEFAULT 0, mode INTEGER NOT NULL, ino INTEGER
               PRIMARY KEY AUTOINCREMENT);
             INSERT INTO moved (ino, mode, nlink, uid, gid, size, atime, mtime, ctime, rdev, atime_nsec, mtime_nsec,
               ctime_nsec, data_inline, storage_kind) SELECT ino, mode, nlink, uid, gid, size, atime, mtime, ctime,
               rdev, atime_nsec, mtime_nsec, ctime_nsec, data_inline, storage_kind FROM fs_inode;
             DROP TABLE fs_inode;
             ALTER TABLE moved RENAME TO fs_inode;
             UPDATE fs_inode SET note = 'of another' WHERE ino = 2;
             ALTER TABLE fs_dentry ADD COLUMN color TEXT DEFAULT 'red';
             CREATE TABLE songs (title TEXT);
             INSERT INTO songs VALUES ('one');",
        )
        .unwrap();
    drop(connection);
    let fs = AgentFs::open(&path, &options).unwrap();
    assert_eq!(fs.read(file, 0, 200_000).unwrap(), [7; 100_000]);
    let made = fs.create(&Caller::root(), Ino::ROOT, n("g"), 0o600).unwrap();
    fs.write(made.ino, 0, b"x", WriteFlags::empty()).unwrap();
    fs.setattr(
        &Caller::root(),
        file,
        &SetAttributes { permissions: Some(0o600), ..SetAttributes::default() },
    )
    .unwrap();
    fs.close().unwrap();
    let connection = Connection::open(&path).unwrap();
    let one = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(one("SELECT note FROM fs_inode WHERE ino = 2"), "of another");
    assert_eq!(one("SELECT note FROM fs_inode WHERE ino = 3"), "kept");
    assert_eq!(one("SELECT title FROM songs"), "one");
}

// spec: FMT-9
#[test]
fn the_number_of_an_inode_is_never_given_out_again() {
    let fixture = Fixture::new();
    let first = fixture.file(Ino::ROOT, "f", b"").ino;
    fixture.unlink(Ino::ROOT, "f").unwrap();
    fixture.fs.forget(first, 1);
    let fixture = fixture.reopen();
    let second = fixture.file(Ino::ROOT, "g", b"").ino;
    assert!(second > first, "{second} after {first}");
}

// spec: FMT-10
#[test]
fn the_configuration_is_never_changed_and_unknown_keys_are_kept() {
    let fixture = Fixture::new();
    fixture.foreign("INSERT INTO fs_config (key, value) VALUES ('color', 'red')");
    let before = configuration(&fixture);
    let fixture = fixture.reopen();
    let file = fixture.file(Ino::ROOT, "f", &[1; 200_000]).ino;
    fixture.fs.setxattr(&Caller::root(), file, b"user.a", b"1", XattrMode::Set).unwrap();
    fixture.unlink(Ino::ROOT, "f").unwrap();
    fixture.fs.sweep_orphans().unwrap();
    assert_eq!(configuration(&fixture), before);
    assert_eq!(before.len(), 4);
}

fn configuration(fixture: &Fixture) -> Vec<(String, String)> {
    fixture.fs.sync().unwrap();
    let connection = Connection::open(fixture.path()).unwrap();
    let mut statement = connection.prepare("SELECT key, value FROM fs_config ORDER BY key").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

// spec: FMT-4
#[test]
fn extension_tables_are_made_and_listed_together() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    for table in ["ext_registry", "ext_xattr", "ext_orphan", "ext_mount", "ext_tool_call"] {
        fixture.foreign(&format!("DROP TABLE {table}"));
    }
    let core = "SELECT group_concat(sql) FROM sqlite_master WHERE name NOT LIKE 'ext_%'";
    let ddl = |fixture: &Fixture| -> String {
        fixture.fs.sync().unwrap();
        let connection = Connection::open(fixture.path()).unwrap();
        connection.query_row(core, [], |row| row.get(0)).unwrap()
    };
    let before = ddl(&fixture);
    let fixture = fixture.reopen();
    fixture.fs.setxattr(&Caller::root(), file, b"user.a", b"1", XattrMode::Set).unwrap();
    assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_registry WHERE version = 1"), 4);
    assert_eq!(ddl(&fixture), before, "the core is as it was");
}

// spec: FMT-4
#[test]
fn extension_tables_ask_no_more_of_an_engine_than_the_core_tables() {
    // An engine that knows no CHECK refuses the whole file for the sake of one in a table that it never looks at.
    let keywords = |ddl: &str| -> BTreeSet<String> {
        let code = ddl.lines().map(|line| line.split("--").next().unwrap_or_default());
        let words =
            code.flat_map(|line| line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_'));
        let keyword = |word: &&str| word.len() > 1 && word.bytes().all(|letter| letter.is_ascii_uppercase());
        words.filter(keyword).map(str::to_owned).collect()
    };
    // What the statements begin with is not kept in the file.
    let (core, extensions) = (keywords(CORE_DDL), keywords(&EXTENSION_DDL.replace("IF NOT EXISTS", "")));
    assert!(extensions.contains("PRIMARY"));
    assert_eq!(extensions.difference(&core).collect::<Vec<_>>(), [""; 0]);
}

// spec: FMT-5
#[test]
fn a_version_of_an_extension_that_is_not_known_is_left_alone() {
    let fixture = Fixture::new();
    let (root, name) = (Caller::root(), b"user.a");
    let file = fixture.file(Ino::ROOT, "f", b"content").ino;
    fixture.fs.setxattr(&root, file, name, b"1", XattrMode::Set).unwrap();
    fixture.foreign("UPDATE ext_registry SET version = 2 WHERE name = 'ext_xattr'");
    let fixture = fixture.reopen();
    let fs = &fixture.fs;
    assert_eq!(errno(fs.setxattr(&root, file, name, b"2", XattrMode::Set)), Errno::EINVAL);
    assert_eq!(errno(fs.getxattr(&root, file, name)), Errno::EINVAL);
    assert_eq!(errno(fs.listxattr(&root, file)), Errno::EINVAL);
    assert_eq!(errno(fs.removexattr(&root, file, name)), Errno::EINVAL);
    // What needs no extended attributes goes on.
    fs.write(file, 0, b"C", WriteFlags::CLEAR_SET_ID).unwrap();
    fixture.chmod(file, 0o600);
    let cut = SetAttributes { size: Some(3), uid: Some(Uid(5)), ..SetAttributes::default() };
    fs.setattr(&root, file, &cut).unwrap();
    assert_eq!(fixture.content(file), b"Con");
    fixture.unlink(Ino::ROOT, "f").unwrap();
    fs.forget(file, 1);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM fs_inode"), 1);
    assert_eq!(fixture.count("SELECT COUNT(*) FROM ext_xattr WHERE value = x'31'"), 1);

    let open = fixture.file(Ino::ROOT, "open", b"still here").ino;
    let closed = fixture.file(Ino::ROOT, "closed", b"").ino;
    fs.forget(closed, 1);
    fixture.foreign("UPDATE ext_registry SET version = 2 WHERE name = 'ext_orphan'");
    assert_eq!(errno(fixture.unlink(Ino::ROOT, "open")), Errno::EINVAL);
    assert_eq!((fixture.content(open), fixture.stat(open).nlink), (b"still here".to_vec(), 1));
    assert_eq!(errno(fs.sweep_orphans()), Errno::EINVAL);
    fixture.foreign("UPDATE ext_registry SET version = 2 WHERE name = 'ext_mount'");
    let holder =
        agentfs::store::MountHolder { pid: 1, host: "here".into(), mountpoint: "/mnt".into(), since: 1 };
    assert_eq!(errno(fs.store().claim_mount(&holder)), Errno::EINVAL);
    let other = AgentFs::open(&fixture.path(), &fixture.options).unwrap();
    assert!(!other.store().is_mounted_elsewhere());
    other.close().unwrap();
    fixture.unlink(Ino::ROOT, "closed").unwrap();
    assert_eq!(fixture.names(Ino::ROOT), ["open"]);
}

// spec: FMT-8
#[test]
fn a_virtual_table_of_a_module_that_is_not_here_is_tolerated() {
    let fixture = Fixture::new();
    fixture.file(Ino::ROOT, "f", b"");
    fixture.foreign(
        "PRAGMA writable_schema = ON;
         INSERT INTO sqlite_master VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING vectors(x)')",
    );
    assert_eq!(fixture.reopen().names(Ino::ROOT), ["f"]);
}
