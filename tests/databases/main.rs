//! The golden databases of spec/vectors/databases: what another program that reads the format must find in them.
//!
//! Each NAME.db has a NAME.json: the listing of its tree, its keys and tool calls, and what breaks the rules of chapter 10.
//! They are made by the library, the damaged ones with a stroke of SQL after that. With WRITE_DATABASES=1 in the
//! environment, those that are missing or differ are written anew.

#[path = "../common/mod.rs"]
mod common;

mod damaged;
mod sound;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentfs::integrity::{listing_of_file, verify_file};
use agentfs::vfs::Vfs;
use agentfs::{AgentFs, Options};
use common::Fixture;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Small pages, chunks and thresholds, so that the files are small and everything happens in them.
pub const CHUNK: usize = 512;

/// A database and what it shows.
pub struct Golden {
    name: &'static str,
    about: &'static str,
    /// Where it has been made.
    made: TempDir,
    /// Whether it can be opened: what is damaged need not.
    sound: bool,
}

impl Golden {
    /// What `make` puts into a new database.
    pub fn new(name: &'static str, about: &'static str, make: impl FnOnce(&Fixture)) -> Self {
        let fixture = fixture();
        make(&fixture);
        let Fixture { fs, folder, .. } = fixture;
        fs.close().unwrap();
        Self { name, about, made: folder, sound: true }
    }

    /// The same, of a process that is killed then: it closes nothing, and gives no references back.
    pub fn killed(name: &'static str, about: &'static str, make: impl FnOnce(&Fixture)) -> Self {
        let fixture = fixture();
        make(&fixture);
        fixture.fs.sync().unwrap();
        let left = tempfile::tempdir().unwrap();
        for file in ["agent.db", "agent.db-wal"] {
            std::fs::copy(fixture.folder.path().join(file), left.path().join(file)).unwrap();
        }
        let golden = Self { name, about, made: left, sound: true };
        // Folds the log in.
        rusqlite::Connection::open(golden.path())
            .unwrap()
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        golden
    }

    /// The same after `sql`, which may break every rule.
    pub fn damaged_by(self, sql: &str) -> Self {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.execute_batch(sql).unwrap();
        connection.close().unwrap();
        Self { sound: false, ..self }
    }

    /// The same with other bytes.
    pub fn overwritten_by(self, change: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut bytes = std::fs::read(self.path()).unwrap();
        change(&mut bytes);
        std::fs::write(self.path(), bytes).unwrap();
        Self { sound: false, ..self }
    }

    fn path(&self) -> PathBuf {
        self.made.path().join("agent.db")
    }
}

fn fixture() -> Fixture {
    Fixture::with(|options| {
        options.chunk_size = CHUNK as u32;
        options.inline_threshold = 64;
        options.page_size = 1024;
    })
}

/// What a reader finds in the database at `path`.
fn expected(path: &Path, about: &str, sound: bool) -> Value {
    let report = verify_file(path).unwrap();
    let listing = listing_of_file(path)
        .map_or_else(|error| json!({ "error": error.to_string() }), |listing| json!(listing));
    let mut expected = json!({
        "about": about,
        "listing": listing,
        "findings": report.findings,
    });
    if sound {
        let mut options = Options::default();
        options.read_only = true;
        let fs = AgentFs::open(path, &options).unwrap();
        let keys = fs.kv().list_with_values(None).unwrap();
        let keys =
            keys.into_iter().map(|entry| (entry.key.clone(), fs.kv().get(&entry.key).unwrap().unwrap()));
        expected["keys"] = Value::Object(keys.collect());
        let mut calls = fs.tools().query(&agentfs::tools::Filter::default()).unwrap();
        calls.sort_by_key(|call| call.id);
        let calls = calls
            .into_iter()
            .map(|call| json!({ "id": call.id, "name": call.name, "status": call.status().text() }));
        expected["tool_calls"] = calls.collect();
    }
    expected
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("spec/vectors/databases")
}

fn all() -> Vec<Golden> {
    sound::databases().into_iter().chain(damaged::databases()).collect()
}

/// The rules that the findings are about.
fn rules(expected: &Value) -> BTreeSet<String> {
    let findings = expected["findings"].as_array().unwrap().iter();
    let severe = findings.filter(|finding| finding["severity"] == "error");
    severe.map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
}

// spec: ORA-33
#[test]
fn every_golden_database_is_what_it_says_and_what_the_library_makes() {
    let write = std::env::var_os("WRITE_DATABASES").is_some();
    std::fs::create_dir_all(folder()).unwrap();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for golden in all() {
        let made = expected(&golden.path(), golden.about, golden.sound);
        let (database, description) = (format!("{}.db", golden.name), format!("{}.json", golden.name));
        let text = format!("{:#}\n", made);
        let committed = std::fs::read_to_string(folder().join(&description)).unwrap_or_default();
        if write && committed != text {
            std::fs::copy(golden.path(), folder().join(&database)).unwrap();
            std::fs::write(folder().join(&description), &text).unwrap();
        } else {
            assert_eq!(committed, text, "{description}: WRITE_DATABASES=1 cargo test --test databases");
        }
        // What is committed may be by another version of SQLite, but shows the same.
        let copy = tempfile::tempdir().unwrap();
        let path = copy.path().join(&database);
        std::fs::copy(folder().join(&database), &path).unwrap();
        assert_eq!(expected(&path, golden.about, golden.sound), made, "{database}");
        assert_eq!(rules(&made).is_empty(), golden.sound, "{database}: {:?}", rules(&made));
        known.extend([database, description]);
    }
    let files =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(files.filter(|name| !known.contains(name)).collect::<Vec<_>>(), Vec::<String>::new());
}
