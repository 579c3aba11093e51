//! The key-value store: what is accepted, what is kept, in which order it is listed.

use std::path::PathBuf;

use agentfs::kv::{Entry, Kv};
use agentfs::store::Store;
use agentfs::types::{ManualClock, Timestamp};
use agentfs::{Errno, Options};
use proptest::prelude::*;
use serde_json::json;

struct Fixture {
    directory: tempfile::TempDir,
    clock: ManualClock,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(&directory.path().join("agent.db"), &Options::default()).unwrap();
        Self { directory, clock: ManualClock::new(Timestamp::new(1_000, 999_999_999)), store }
    }

    fn kv(&self) -> Kv<'_> {
        Kv::new(&self.store, &self.clock)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("agent.db")
    }

    /// Writes a row as another program would.
    fn foreign(&self, sql: &str, parameters: impl rusqlite::Params) {
        self.store.barrier().unwrap();
        rusqlite::Connection::open(self.path()).unwrap().execute(sql, parameters).unwrap();
    }
}

fn keys(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.key.as_str()).collect()
}

// spec: KV-1 KV-3 KV-4
#[test]
fn a_value_reads_as_it_was_set_and_the_last_one_counts() {
    let fixture = Fixture::new();
    let kv = fixture.kv();
    for value in [json!(null), json!([1, {"a": "ü\n"}]), json!(u64::MAX), json!("text"), json!(-0.5)] {
        kv.set("key", &value).unwrap();
        assert_eq!(kv.get("key").unwrap(), Some(value));
    }
    assert_eq!(kv.get("KEY").unwrap(), None, "keys are compared as bytes");
}

// spec: KV-1 KV-8
#[test]
fn values_outlive_the_store() {
    let Fixture { directory, clock, store } = Fixture::new();
    Kv::new(&store, &clock).set("", &json!("an empty key is a key")).unwrap();
    store.close().unwrap();
    let store = Store::open(&directory.path().join("agent.db"), &Options::default()).unwrap();
    assert_eq!(Kv::new(&store, &clock).get("").unwrap(), Some(json!("an empty key is a key")));
}

// spec: KV-2
#[test]
fn text_is_kept_to_the_byte() {
    let fixture = Fixture::new();
    let text = " {\"b\": 1.10,\n  \"a\": 100000000000000000000000000001, \"a\": \"\\u00e9\"} ";
    fixture.kv().set_text("key", text).unwrap();
    assert_eq!(fixture.kv().get_text("key").unwrap().as_deref(), Some(text));
}

// spec: KV-2 KV-9
#[test]
fn what_is_not_json_is_refused_with_the_place_and_changes_nothing() {
    let fixture = Fixture::new();
    let kv = fixture.kv();
    kv.set("key", &json!(1)).unwrap();
    for (text, place) in [
        ("", "line 1 column 0"),
        ("{\"a\": 1,}", "line 1 column 9"),
        ("[1,\n2", "line 2 column 1"),
        ("1 2", "line 1 column 3"),
        ("NaN", "line 1 column 1"),
        ("'a'", "line 1 column 1"),
    ] {
        let error = kv.set_text("key", text).unwrap_err();
        assert_eq!(error.errno(), Errno::EINVAL);
        assert!(error.to_string().contains(place), "{text:?}: {error}");
        assert!(error.to_string().contains("\"key\""), "{error}");
    }
    assert_eq!(kv.get("key").unwrap(), Some(json!(1)));
}

// spec: KV-2
#[test]
fn nesting_that_could_not_be_read_back_is_refused() {
    let fixture = Fixture::new();
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    fixture.kv().set_text("deep", &nested(100)).unwrap();
    assert!(fixture.kv().get("deep").unwrap().is_some());
    assert_eq!(fixture.kv().set_text("deep", &nested(100_000)).unwrap_err().errno(), Errno::EINVAL);
}

// spec: KV-3 KV-5
#[test]
fn an_update_keeps_the_creation_time_and_refreshes_the_other() {
    let fixture = Fixture::new();
    let kv = fixture.kv();
    kv.set("key", &json!(1)).unwrap();
    let entry = kv.entry("key").unwrap().unwrap();
    assert_eq!((entry.created_at, entry.updated_at), (Some(1_000), Some(1_000)), "whole seconds");
    fixture.clock.advance(5);
    kv.set("key", &json!(2)).unwrap();
    let entry = kv.entry("key").unwrap().unwrap();
    assert_eq!((entry.created_at, entry.updated_at), (Some(1_000), Some(1_005)));
    kv.delete("key").unwrap();
    kv.set("key", &json!(3)).unwrap();
    assert_eq!(kv.entry("key").unwrap().unwrap().created_at, Some(1_005), "a new key");
}

// spec: KV-4 KV-5
#[test]
fn delete_tells_whether_the_key_was_set() {
    let fixture = Fixture::new();
    fixture.kv().set("key", &json!(1)).unwrap();
    assert!(fixture.kv().delete("key").unwrap());
    assert!(!fixture.kv().delete("key").unwrap());
    assert_eq!(fixture.kv().get("key").unwrap(), None);
}

// spec: KV-6
#[test]
fn keys_are_listed_in_byte_order() {
    let fixture = Fixture::new();
    for key in ["b", "a", "B", "é", "\u{10FFFF}", "a\u{1}", "", "z"] {
        fixture.kv().set(key, &json!(key)).unwrap();
    }
    let all = fixture.kv().list(None).unwrap();
    assert_eq!(keys(&all), ["", "B", "a", "a\u{1}", "b", "z", "é", "\u{10FFFF}"]);
    assert!(all.iter().all(|entry| entry.value.is_none()), "values were not asked for");
    let with_values = fixture.kv().list_with_values(Some("B")).unwrap();
    assert_eq!(with_values[0].value.as_deref(), Some("\"B\""));
}

// spec: KV-6
#[test]
fn a_prefix_has_no_wildcards_and_no_folding_of_case() {
    let fixture = Fixture::new();
    let top = "\u{10FFFF}";
    let (above, twice) = (format!("{top}x"), format!("{top}{top}"));
    for key in
        ["100%", "100%x", "1000", "a_b", "axb", "A_b", top, &above, &twice, "\u{FFFF}", "\u{7f}", "\u{80}"]
    {
        fixture.kv().set(key, &json!(1)).unwrap();
    }
    let list = |prefix| fixture.kv().list(Some(prefix)).unwrap();
    assert_eq!(keys(&list("100%")), ["100%", "100%x"]);
    assert_eq!(keys(&list("a_")), ["a_b"]);
    assert_eq!(keys(&list(top)), [top, &above, &twice]);
    assert_eq!(keys(&list("\u{7f}")), ["\u{7f}"]);
    assert_eq!(list("").len(), 12, "the empty prefix is every key's");
    assert!(list("none").is_empty());
}

// spec: KV-7 KV-9
#[test]
fn a_foreign_value_that_is_not_json_is_given_as_text_only() {
    let fixture = Fixture::new();
    fixture.foreign("INSERT INTO kv_store (key, value) VALUES ('legacy', 'plain words')", []);
    assert_eq!(fixture.kv().get_text("legacy").unwrap().as_deref(), Some("plain words"));
    let error = fixture.kv().get("legacy").unwrap_err();
    assert_eq!(error.errno(), Errno::EINVAL);
    assert!(error.to_string().contains("\"legacy\" is not JSON"), "{error}");
}

// spec: KV-7
#[test]
fn foreign_oddities_do_not_break_the_list() {
    let fixture = Fixture::new();
    fixture.foreign("INSERT INTO kv_store VALUES ('a', CAST(x'ff' AS TEXT), NULL, NULL)", []);
    fixture.foreign("INSERT INTO kv_store VALUES (CAST(x'62ff' AS TEXT), 7, 1, 2)", []);
    let all = fixture.kv().list_with_values(None).unwrap();
    assert_eq!(keys(&all), ["a", "b\u{FFFD}"]);
    assert_eq!((all[0].created_at, all[1].updated_at), (None, Some(2)));
    assert_eq!(all[1].value.as_deref(), Some("7"));
    assert!(fixture.kv().get_text("a").unwrap_err().to_string().contains("not UTF-8"));
}

// spec: KV-1 KV-9
#[test]
fn a_key_with_a_nul_is_refused() {
    let fixture = Fixture::new();
    assert_eq!(fixture.kv().set("a\0b", &json!(1)).unwrap_err().errno(), Errno::EINVAL);
    assert!(fixture.kv().list(None).unwrap().is_empty());
}

// spec: KV-8
#[test]
fn a_read_only_store_refuses_every_change() {
    let Fixture { directory, clock, store } = Fixture::new();
    Kv::new(&store, &clock).set("key", &json!(1)).unwrap();
    store.close().unwrap();
    let mut options = Options::default();
    options.read_only = true;
    let store = Store::open(&directory.path().join("agent.db"), &options).unwrap();
    let kv = Kv::new(&store, &clock);
    assert_eq!(kv.set("key", &json!(2)).unwrap_err().errno(), Errno::EROFS);
    assert_eq!(kv.delete("key").unwrap_err().errno(), Errno::EROFS);
    assert_eq!(kv.get("key").unwrap(), Some(json!(1)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    // spec: KV-6
    #[test]
    fn a_list_is_what_filtering_a_sorted_set_gives(
        stored in proptest::collection::btree_set("[a%_\u{7f}é\u{FFFF}\u{10FFFF}]{0,4}", 0..24),
        prefix in "[a%_\u{7f}é\u{FFFF}\u{10FFFF}]{0,2}",
    ) {
        let fixture = Fixture::new();
        for key in &stored {
            fixture.kv().set(key, &json!(null)).unwrap();
        }
        let expected: Vec<&str> =
            stored.iter().map(String::as_str).filter(|key| key.starts_with(&prefix)).collect();
        let listed = fixture.kv().list(Some(&prefix)).unwrap();
        prop_assert_eq!(keys(&listed), expected);
    }
}

// spec: KV-7
#[test]
fn a_time_that_is_none_does_not_hide_the_other_keys() {
    let fixture = Fixture::new();
    fixture.kv().set("good", &json!(1)).unwrap();
    const INSERT: &str =
        "INSERT INTO kv_store (key, value, created_at, updated_at) VALUES ('odd', '2', 'noon', 7.9)";
    fixture.foreign(INSERT, []);
    let entries = fixture.kv().list(None).unwrap();
    assert_eq!(keys(&entries), ["good", "odd"]);
    assert_eq!((entries[1].created_at, entries[1].updated_at), (None, Some(7)));
}
