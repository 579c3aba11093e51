//! Whiteouts, the key-value store and the log of tool calls.

use agentfs::integrity::verify_file;

use crate::sound::{Sound, shown};

// spec: INT-31
#[test]
fn a_whiteout_names_the_directory_above_it() {
    let sound = Sound::new();
    let whiteouts =
        |rows: &str| format!("INSERT INTO fs_whiteout (path, parent_path, created_at) VALUES {rows}");
    let found =
        sound.damage(&whiteouts("('/', '/', 0), ('/a', '/', 0), ('/a/b', '/a', 0), ('/a/b/c', '/a/b', 0)"));
    assert_eq!(found, [""; 0]);
    let found = sound.damage(&whiteouts("('/x/y', '/', 0), ('z', '', 0)"));
    let names = |path: &str, parent: &str| {
        format!(
            "INT-31 error fs_whiteout path={path}: the whiteout of \"{path}\" has the parent_path \"{parent}\", which \
             is not what follows from it"
        )
    };
    assert_eq!(found, [names("/x/y", "/"), names("z", "")]);
}

// spec: INT-31
#[test]
fn whiteouts_of_an_older_format_are_found_and_none_at_all_are_no_mistake() {
    let sound = Sound::new();
    let found = sound.damage(
        "DROP TABLE fs_whiteout; CREATE TABLE fs_whiteout (path TEXT PRIMARY KEY, created_at INTEGER NOT NULL)",
    );
    let expected =
        "INT-31 error fs_whiteout: the whiteouts have no column parent_path: they are of an older format";
    assert_eq!(found, [expected]);
    assert_eq!(sound.damage("DROP TABLE fs_whiteout"), [""; 0]);
    assert!(!sound.fixture.fs.verify().unwrap().rules_checked.contains(&"INT-31"));
}

// spec: INT-32, FMT-8
#[test]
fn keys_are_texts_and_none_is_there_twice() {
    let sound = Sound::new();
    assert_eq!(
        sound.damage("INSERT INTO kv_store (key, value) VALUES (CAST(x'610062' AS TEXT), '1')"),
        ["INT-32 error kv_store key=a\0b: the key \"a\\u{0}b\" is no text in UTF-8 without NUL"]
    );
    sound.fixture.foreign("DELETE FROM kv_store WHERE key LIKE 'a%'");
    assert_eq!(
        sound.damage("INSERT INTO kv_store (key, value) VALUES (NULL, '1')"),
        ["INT-32 error kv_store key=NULL: the key NULL is no text in UTF-8 without NUL"]
    );
    sound.fixture.foreign("DELETE FROM kv_store WHERE key IS NULL");
    assert_eq!(
        sound.damage("INSERT INTO kv_store (key, value) VALUES (CAST(x'636166e9' AS TEXT), '1')"),
        ["INT-32 error kv_store key=caf\u{fffd}: the key \"caf\\xe9\" is no text in UTF-8 without NUL"]
    );
    sound.fixture.foreign("DELETE FROM kv_store WHERE key LIKE 'caf%'");
    let found = sound.damage(
        "CREATE TABLE pairs (updated_at INTEGER, created_at INTEGER, value TEXT, key TEXT);
         INSERT INTO pairs (key, value, created_at, updated_at)
           SELECT key, value, created_at, updated_at FROM kv_store;
         INSERT INTO pairs (key, value, created_at, updated_at) VALUES ('plan', '2', 0, 0);
         DROP TABLE kv_store; ALTER TABLE pairs RENAME TO kv_store",
    );
    assert_eq!(found, ["INT-32 error kv_store key=plan: the key \"plan\" is there 2 times"]);
}

// spec: INT-33
#[test]
fn values_are_json() {
    let sound = Sound::new();
    for value in [
        "'not JSON'",
        "''",
        "'{'",
        "x'31'",
        "CAST(x'310032' AS TEXT)",
        "CAST(x'22e922' AS TEXT)",
        "'1 2'",
        "'[1,]'",
        "'{a:1}'",
    ] {
        let found = sound.damage(&format!("UPDATE kv_store SET value = {value} WHERE key = 'plan'"));
        let expected = "INT-33 error kv_store key=plan: the value of the key \"plan\" is not JSON";
        assert_eq!(found, [expected], "{value}");
    }
    for value in ["'null'", "' [1, 2.50]\n'", "'\"caf\u{e9}\"'", "'1e400'"] {
        let found = sound.damage(&format!("UPDATE kv_store SET value = {value} WHERE key = 'plan'"));
        assert_eq!(found, [""; 0], "{value}");
    }
}

// spec: INT-34
#[test]
fn times_of_keys_are_whole_seconds() {
    let sound = Sound::new();
    for (change, shown) in [
        ("created_at = NULL", "created_at NULL"),
        ("created_at = 1.5", "created_at 1.5"),
        ("created_at = 0, updated_at = 'noon'", "updated_at 'noon'"),
    ] {
        let found = sound.damage(&format!("UPDATE kv_store SET {change} WHERE key = 'plan'"));
        let expected = format!(
            "INT-34 error kv_store key=plan: the key \"plan\" has {shown}, where a whole number of seconds is demanded"
        );
        assert_eq!(found, [expected]);
    }
}

/// A sound call with this change.
fn call(change: &str) -> String {
    format!(
        "DELETE FROM tool_calls WHERE id = 99;
         INSERT INTO tool_calls (id, name, parameters, result, error, started_at, completed_at, duration_ms)
           VALUES (99, 'grep', '{{}}', '1', NULL, 10, 12, 2000);
         UPDATE tool_calls SET {change} WHERE id = 99"
    )
}

// spec: INT-35, TOOL-2
#[test]
fn a_call_has_either_a_result_or_an_error() {
    let sound = Sound::new();
    assert_eq!(sound.damage(&call("id = 99")), [""; 0]);
    let has = |severity: &str, what: &str| {
        format!("INT-35 {severity} tool_calls id=99: the call 99 of \"grep\" has {what}")
    };
    let found = sound.damage(&call("result = NULL"));
    assert_eq!(found, [has("error", "neither a result nor an error")]);
    let found = sound.damage(&call("error = 'no'"));
    assert_eq!(found, [has("error", "both a result and an error")]);
    // Other programs store empty texts for what is absent.
    let found = sound.damage(&call("error = ''"));
    assert_eq!(found, [has("note", "a result and an error, one of them empty")]);
}

// spec: INT-36
#[test]
fn a_call_is_complete_and_its_duration_is_the_difference_of_its_times() {
    let sound = Sound::new();
    let has = |what: &str| [format!("INT-36 error tool_calls id=99: the call 99 of \"grep\" has {what}")];
    let found = sound.damage(&call("duration_ms = 1999"));
    assert_eq!(found, has("duration_ms 1999, where (completed_at - started_at) * 1000 is 2000"));
    let found = sound.damage(&call("started_at = 10.5"));
    assert_eq!(found, has("started_at 10.5, which is no second"));
    let found = sound.damage(&call("completed_at = 'noon'"));
    assert_eq!(found, has("completed_at 'noon', which is no second"));
}

/// The log as other programs make it.
const WITH_STATUS: &str = "DROP TABLE tool_calls;
     CREATE TABLE tool_calls (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, parameters TEXT,
       result TEXT, error TEXT, status TEXT NOT NULL DEFAULT 'pending', started_at INTEGER NOT NULL,
       completed_at INTEGER, duration_ms INTEGER);";

// spec: INT-35, INT-36, INT-37, TOOL-9
#[test]
fn a_call_that_has_not_ended_is_pending() {
    let sound = Sound::new();
    let found = sound.damage(&format!(
        "{WITH_STATUS}
         INSERT INTO tool_calls (id, name, parameters, result, error, started_at, completed_at, duration_ms) VALUES
           (1, 'new', NULL, NULL, NULL, 10, NULL, NULL), (2, 'old', '', '', '', 10, NULL, NULL),
           (3, 'lost', NULL, '1', NULL, 10, NULL, NULL), (4, 'odd', NULL, '1', NULL, 10, 11, NULL)"
    ));
    assert_eq!(
        found,
        [
            "INT-36 pending tool_calls id=1: the call 1 of \"new\" has not ended yet",
            "INT-36 pending tool_calls id=2: the call 2 of \"old\" has not ended yet",
            "INT-36 error tool_calls id=3: the call 3 of \"lost\" has completed_at NULL, which is no second",
            "INT-36 error tool_calls id=4: the call 4 of \"odd\" has duration_ms NULL, where (completed_at - started_at) \
             * 1000 is 1000",
            "INT-37 note tool_calls id=2: the call 2 of \"old\" has an empty text for parameters",
            "INT-37 note tool_calls id=2: the call 2 of \"old\" has an empty text for results",
        ]
    );
    let without =
        "CREATE TABLE calls (id INTEGER PRIMARY KEY, name TEXT, parameters TEXT, result TEXT, error TEXT,
         started_at INTEGER); DROP TABLE tool_calls; ALTER TABLE calls RENAME TO tool_calls";
    let found = sound.damage(without);
    assert_eq!(
        found,
        ["INT-36 error tool_calls: the tool calls have no column completed_at, or none duration_ms"]
    );
    let report = verify_file(&sound.fixture.path()).unwrap();
    assert!(!report.rules_checked.contains(&"INT-35"), "{:?}", shown(&report));
}

// spec: INT-37, TOOL-3
#[test]
fn parameters_and_results_are_json() {
    let sound = Sound::new();
    let has = |severity: &str, what: &str| {
        [format!("INT-37 {severity} tool_calls id=99: the call 99 of \"grep\" has {what}")]
    };
    let found = sound.damage(&call("parameters = 'path=x'"));
    assert_eq!(found, has("error", "parameters that are not JSON"));
    for result in ["x'31'", "CAST(x'22e922' AS TEXT)", "CAST(x'310032' AS TEXT)"] {
        let found = sound.damage(&call(&format!("result = {result}")));
        assert_eq!(found, has("error", "results that are not JSON"), "{result}");
    }
    let found = sound.damage(&call("parameters = ''"));
    assert_eq!(found, has("note", "an empty text for parameters"));
    assert_eq!(sound.damage(&call("parameters = NULL")), [""; 0]);
}
