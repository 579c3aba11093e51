//! The report: its limits, its form as JSON, and that it is about this very moment.

use std::time::Duration;

use agentfs::integrity::{Severity, Unlisted, verify_file};
use agentfs::types::{Caller, Ino};
use agentfs::vfs::Vfs;
use serde_json::json;

use crate::common::{Fixture, n};
use crate::sound::shown;

// spec: INT-4
#[test]
fn a_hundred_findings_of_a_kind_are_listed_and_the_others_counted() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    fixture.foreign(&format!(
        "WITH RECURSIVE numbers(n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1249)
           INSERT INTO fs_dentry (id, name, parent_ino, ino) SELECT n, 'ghost' || n, 1, 4711 FROM numbers;
         WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 101)
           INSERT INTO fs_dentry (name, parent_ino, ino)
           SELECT CAST(x'e9' || n AS TEXT), 1, {file} FROM numbers;
         UPDATE fs_inode SET nlink = 102 WHERE ino = {file}"
    ));
    let report = fixture.fs.verify().unwrap();
    assert_eq!(report, {
        let mut outside = verify_file(&fixture.path()).unwrap();
        outside.rules_checked.remove(0);
        outside
    });
    assert_eq!(report.findings.len(), 200);
    assert_eq!(
        report.unlisted,
        [
            Unlisted { rule: "INT-11", severity: Severity::Error, count: 150 },
            Unlisted { rule: "INT-19", severity: Severity::Note, count: 1 },
        ]
    );
    assert_eq!(Severity::ALL.map(|severity| report.count(severity)), [250, 0, 101]);
    assert!(!report.is_sound());
}

// spec: INT-1, CLI-4
#[test]
fn a_report_is_json_with_stable_keys() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    fixture.foreign(&format!(
        "INSERT INTO fs_data (ino, chunk_index, data) VALUES ({file}, 5, x'00');
         INSERT INTO kv_store (key, value) VALUES (CAST(x'636166e9' AS TEXT), '1'), (NULL, '1');
         PRAGMA user_version = 6"
    ));
    let report = serde_json::to_value(fixture.fs.verify().unwrap()).unwrap();
    let expected = json!([
        {
            "rule": "INT-8", "severity": "error", "table": null, "key": {},
            "message": "user_version is 6, where this format has 5",
        },
        {
            "rule": "INT-29", "severity": "error", "table": "fs_data", "key": { "ino": file.0, "chunk_index": 5 },
            "message": format!("chunk 5 of inode {file} begins past the end of the file, whose size is 0"),
        },
        {
            "rule": "INT-32", "severity": "error", "table": "kv_store", "key": { "key": null },
            "message": "the key NULL is no text in UTF-8 without NUL",
        },
        {
            "rule": "INT-32", "severity": "error", "table": "kv_store",
            "key": { "key": "caf\u{fffd}", "key_bytes": "636166e9" },
            "message": "the key \"caf\\xe9\" is no text in UTF-8 without NUL",
        },
    ]);
    assert_eq!(report["findings"], expected);
    assert_eq!(report["unlisted"], json!([]));
    assert_eq!(report["rules_checked"][0], "INT-8");
}

// spec: INT-5
#[test]
fn what_is_not_committed_is_checked_and_the_group_goes_on() {
    let fixture = Fixture::with(|options| {
        options.group.idle = Duration::from_secs(3600);
        options.group.age = Duration::from_secs(3600);
    });
    fixture.fs.sync().unwrap();
    let store = fixture.fs.store();
    fixture.fs.create(&Caller::root(), Ino::ROOT, n("new"), 0o644).unwrap();
    assert_eq!(shown(&fixture.fs.verify().unwrap()), [""; 0]);
    let damage = "INSERT INTO fs_dentry (id, name, parent_ino, ino) VALUES (99, 'ghost', 1, 4711)";
    store.mutate(|session| session.execute(damage, [])).unwrap();
    let found = shown(&fixture.fs.verify().unwrap());
    assert!(found.len() == 1 && found[0].starts_with("INT-11 error fs_dentry id=99: "), "{found:?}");
    let listing = fixture.fs.listing().unwrap();
    let paths: Vec<_> = listing.entries.iter().map(|entry| &entry.path[..]).collect();
    assert_eq!(paths, [&b"/"[..], b"/ghost", b"/new"]);
    let outside = verify_file(&fixture.path()).unwrap();
    assert_eq!(shown(&outside), [""; 0], "the group is still open, and others see nothing of it");
    fixture.fs.sync().unwrap();
    assert_eq!(shown(&verify_file(&fixture.path()).unwrap()), found);
}

// spec: INT-5, INT-6
#[test]
fn a_database_that_is_opened_read_only_can_be_checked_and_listed() {
    let fixture = Fixture::new();
    fixture.file(Ino::ROOT, "f", b"content");
    let listing = fixture.fs.listing().unwrap();
    let fixture = fixture.read_only();
    assert_eq!(shown(&fixture.fs.verify().unwrap()), [""; 0]);
    assert_eq!(fixture.fs.listing().unwrap(), listing);
}
