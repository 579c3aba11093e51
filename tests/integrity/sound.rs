//! A sound database of every kind of object, which every other test damages in one place.

use agentfs::integrity::{Finding, Report, Value, verify_file};
use agentfs::tools::{Call, Outcome};
use agentfs::types::{Caller, DeviceNumber, FileKind, Ino, Mode, Name, SetAttributes, Timestamp};
use agentfs::vfs::{NodeSpec, Vfs, WriteFlags, XattrMode};
use serde_json::json;

use crate::common::{Fixture, START, n};

/// The inodes by what they are.
pub struct Sound {
    pub fixture: Fixture,
    pub directory: Ino,
    pub inner: Ino,
    pub empty: Ino,
    pub inline: Ino,
    pub chunked: Ino,
    pub symlink: Ino,
    pub fifo: Ino,
    pub device: Ino,
}

pub const CHUNK: u64 = 512;

impl Sound {
    pub fn new() -> Self {
        let fixture = Fixture::with(|options| {
            options.chunk_size = CHUNK as u32;
            options.inline_threshold = 64;
        });
        let root = Caller::root();
        let directory = fixture.directory(Ino::ROOT, "directory");
        let inner = fixture.directory(directory, "inner");
        let empty = fixture.file(Ino::ROOT, "empty", b"").ino;
        let inline = fixture.file(directory, "inline", b"a few bytes").ino;
        let chunked = fixture.file(inner, "chunked", &[b'x'; 700]).ino;
        // A hole of several chunks, and one at the end.
        fixture.fs.write(chunked, 5 * CHUNK + 10, b"after a hole", WriteFlags::empty()).unwrap();
        let size = Some(1 << 40);
        fixture.fs.setattr(&root, chunked, &SetAttributes { size, ..SetAttributes::default() }).unwrap();
        fixture.fs.link(&root, inline, inner, n("second name")).unwrap();
        let symlink = fixture.symlink(inner, "caf\u{e9}", "../inl\u{ef}ne");
        let node = |name, kind, number| {
            let mode = Mode::new(kind, 0o600);
            let node = NodeSpec { mode, rdev: DeviceNumber(number) };
            fixture.fs.mknod(&root, directory, n(name), node).unwrap().ino
        };
        let fifo = node("fifo", FileKind::Fifo, 0);
        node("socket", FileKind::Socket, 0);
        node("block", FileKind::BlockDevice, 0x700);
        let device = node("device", FileKind::CharacterDevice, 0x103);
        for ino in [directory, chunked] {
            fixture.fs.setxattr(&root, ino, b"user.mime_type", b"\0\xff", XattrMode::Set).unwrap();
        }
        let removed = fixture.symlink(directory, "removed", "target");
        fixture.unlink(directory, "removed").unwrap();
        fixture.fs.forget(removed, 1);
        fixture.fs.kv().set("plan", &json!({ "step": 1, "caf\u{e9}": null })).unwrap();
        fixture.fs.kv().set("", &json!("a value of no name")).unwrap();
        let long_ago = Timestamp::new(-1, 999_999_999);
        let tools = fixture.fs.tools();
        let call = Call::succeeded("read_file", json!("caf\u{e9}"), long_ago, START);
        tools.record(&call.with_parameters_text("[1, 2]").unwrap()).unwrap();
        tools.record(&Call::failed("search", "no network", START, START)).unwrap();
        tools.record(&Call::failed("search", "", START, START)).unwrap();
        tools.record(&Call { outcome: Outcome::Success(json!(null)), ..call_without_end() }).unwrap();
        Self { fixture, directory, inner, empty, inline, chunked, symlink, fifo, device }
    }

    /// Damages the database as another program could, and returns what is found: `rule severity where: what`.
    pub fn damage(&self, sql: &str) -> Vec<String> {
        self.fixture.foreign(sql);
        self.found()
    }

    /// What is found from inside and from outside, which must be the same.
    #[track_caller]
    pub fn found(&self) -> Vec<String> {
        let inside = self.fixture.fs.verify().unwrap();
        let outside = verify_file(&self.fixture.path()).unwrap();
        assert_eq!(inside.findings, outside.findings);
        assert_eq!(inside.rules_checked, outside.rules_checked[1..], "without SQLite's own check");
        shown(&inside)
    }

    /// The id of the entry of this name.
    pub fn entry(&self, name: &str) -> i64 {
        self.fixture.count(&format!("SELECT id FROM fs_dentry WHERE name = '{name}'"))
    }

    pub fn raw_name(&self, parent: Ino, name: &[u8]) -> Ino {
        let name = Name::new(name).unwrap();
        self.fixture.fs.create(&Caller::root(), parent, name, 0o644).unwrap().ino
    }
}

fn call_without_end() -> Call {
    Call::succeeded("quick", json!(1), START, START)
}

/// Findings as text.
pub fn shown(report: &Report) -> Vec<String> {
    report.findings.iter().map(show).collect()
}

fn show(finding: &Finding) -> String {
    let Finding { rule, severity, table, key, message } = finding;
    let key: Vec<String> = key.iter().map(|(column, value)| format!("{column}={}", plain(value))).collect();
    let place = [&[table.unwrap_or("file").to_owned()][..], &key].concat();
    format!("{rule} {} {}: {message}", severity.text(), place.join(" "))
}

fn plain(value: &Value) -> String {
    match value {
        Value::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.to_string(),
    }
}

// spec: INT-1
#[test]
fn in_a_sound_database_nothing_is_found() {
    let sound = Sound::new();
    assert_eq!(sound.found(), [""; 0]);
    let Sound { fixture, .. } = sound;
    let path = fixture.path();
    let Fixture { fs, folder, .. } = fixture;
    fs.close().unwrap();
    let report = verify_file(&path).unwrap();
    assert_eq!(shown(&report), [""; 0]);
    // All of them: a sound database has every table.
    let expected: Vec<String> = (7..=38).map(|number| format!("INT-{number}")).collect();
    assert_eq!(report.rules_checked, expected);
    drop(folder);
}

// spec: INT-1, INT-5
#[test]
fn a_new_database_is_sound() {
    let fixture = Fixture::new();
    assert_eq!(shown(&fixture.fs.verify().unwrap()), [""; 0]);
    assert_eq!(shown(&verify_file(&fixture.path()).unwrap()), [""; 0]);
}
