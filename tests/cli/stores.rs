//! `agentfs kv`, `agentfs tools` and `agentfs timeline`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::program::Place;
use crate::shows;

// spec: CLI-3, CLI-4, KV-1
#[test]
fn the_key_value_store_is_set_listed_and_deleted() {
    let place = Place::with_demo();
    shows!(
        "kv",
        place.session(&[
            "kv set demo plan '{\"steps\": 3, \"exact\": 1.10}'",
            "kv set demo note --text 'not JSON'",
            "kv set demo zero 0 --json",
            "kv get demo plan",
            "kv get demo plan --json",
            "kv get demo note",
            "kv get demo note --text",
            "kv list demo",
            "kv list demo --long",
            "kv list demo --prefix z --json",
            "kv delete demo zero",
            "kv delete demo note --json",
            "kv delete demo zero",
            "kv get demo zero",
            "kv set demo bad '{'",
            "kv list demo",
        ])
    );
}

// spec: CLI-12, KV-2, TOOL-3
#[test]
fn a_value_may_be_a_negative_number_and_a_text_begin_with_a_hyphen() {
    let place = Place::with_demo();
    place.run(["kv", "set", "demo", "balance", "-1.5"]).answer();
    assert_eq!(place.run(["kv", "get", "demo", "balance"]).answer(), "-1.5\n");
    place.run(["tools", "record", "demo", "sum", "--parameters", "-1", "--result", "-2"]).answer();
    place.run(["tools", "record", "demo", "sum", "--error", "--q: unknown option"]).answer();
    let calls = place.run(["tools", "list", "demo", "--json"]).json();
    assert_eq!((&calls[1]["parameters"], &calls[1]["result"]), (&(-1).into(), &(-2).into()));
    assert_eq!(calls[0]["error"], "--q: unknown option");
}

// spec: CLI-13, KV-1
#[test]
fn a_value_may_come_from_standard_input() {
    let place = Place::with_demo();
    assert_eq!(place.run_with_input(&["kv", "set", "demo", "k"], b"[1,\n2]\n").code, 0);
    assert_eq!(place.run(["kv", "get", "demo", "k"]).answer(), "[1,\n2]\n");
}

fn with_calls() -> Place {
    let place = Place::with_demo();
    for arguments in [
        &["search", "--parameters", "{\"q\":\"rust\"}", "--result", "[1]", "--session", "morning"][..],
        &["search", "--error", "no network", "--session", "evening"],
        &["read_file", "--result", "null", "--parent", "1"],
    ] {
        let times = ["--started", "2026-01-31T09:30:00Z", "--completed", "2026-01-31T09:30:01.25Z"];
        place.run([&["tools", "record", "demo"], arguments, &times].concat()).answer();
    }
    place
}

// spec: CLI-3, CLI-4, CLI-5, TOOL-1
#[test]
fn tool_calls_are_recorded_listed_and_counted() {
    let place = with_calls();
    shows!(
        "tools",
        place.session(&[
            "tools list demo",
            "tools list demo --failed --json",
            "tools list demo --name search --limit 1",
            "tools stats demo",
            "tools stats demo --json",
            "tools record demo sleep --result true --started @0 --completed @90000 --json",
            "tools list demo --until 2000-01-01",
            "timeline demo",
            "timeline demo --session morning --json",
            "timeline demo --since 2026-02-01",
            "timeline demo --since later",
            "tools record demo nothing",
            "tools record demo broken --result '{'",
            "tools record demo backwards --result 1 --started @10 --completed @5",
        ])
    );
}

// spec: CLI-4, CLI-9
#[test]
fn a_timeline_can_be_followed_until_it_is_interrupted() {
    let place = with_calls();
    let mut follower =
        place.command(["timeline", "demo", "--follow", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<serde_json::Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!([next()["id"].clone(), next()["id"].clone(), next()["id"].clone()], [1, 2, 3]);
    place.run(["tools", "record", "demo", "late", "--result", "1"]).answer();
    assert_eq!(next()["name"], "late");
    let pid = rustix::process::Pid::from_child(&follower);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(follower.wait().unwrap().code(), Some(0));
    let left: Vec<_> =
        std::fs::read_dir(place.at(".agentfs")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["demo.db"], "one file is left");
}
