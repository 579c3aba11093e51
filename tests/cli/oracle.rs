//! `agentfs oracle`: traces in, what is allowed out.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::program::Place;
use crate::shows;

/// The first line of every trace here.
pub fn setting() -> String {
    let vector = std::fs::read_to_string(vectors().join("CALL-2-offsets.jsonl")).unwrap();
    vector.lines().next().unwrap().to_owned()
}

fn vectors() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("spec/vectors")
}

fn trace(steps: &[&str]) -> String {
    let lines = std::iter::once(setting()).chain(steps.iter().map(|step| (*step).to_owned()));
    lines.map(|line| line + "\n").collect()
}

const MKDIR: &str = r#"{"op":"mkdir","path":"d","mode":493,"now":[10,0],"outcome":"done"}"#;

// spec: ORA-32
#[test]
fn each_line_comes_back_with_what_is_allowed_before_the_next_is_read() {
    let place = Place::new();
    let mut child = place.command(["oracle"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut ask = |line: &str| -> Value {
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    assert_eq!(ask(&setting())["processes"][0]["uid"], 0);
    let allowed = |answer: &Value| answer["allowed"][0]["expected"].clone();
    assert_eq!(
        allowed(&ask(r#"{"op":"mkdir","path":"d","mode":493}"#)),
        serde_json::json!({ "exactly": "done" })
    );
    // Without an outcome the first of those allowed was followed.
    let again = ask(r#"{"op":"mkdir","path":"d","mode":493}"#);
    assert_eq!(allowed(&again), serde_json::json!({ "exactly": { "error": "EEXIST" } }));
    assert_eq!(again["allowed"][0]["rules"], serde_json::json!(["FS-CREATE-3"]));
    let status = ask(r#"{"op":"stat","path":"d"}"#);
    assert_eq!(allowed(&status)["status"]["mtime"], serde_json::json!({ "during": 1 }));
    drop(input);
    assert!(child.wait().unwrap().success());
}

// spec: ORA-22, ORA-27
#[test]
fn a_trace_is_checked_and_what_is_wrong_with_it_is_said_with_the_line() {
    let place = Place::new();
    let write = |name: &str, steps: &[&str]| std::fs::write(place.at(name), trace(steps)).unwrap();
    write("right.jsonl", &[MKDIR, r#"{"op":"rmdir","path":"d","outcome":"done"}"#]);
    write("wrong.jsonl", &[MKDIR, "", r#"{"op":"unlink","path":"d","outcome":{"error":"EPERM"}}"#]);
    let unsupported = r#"{"op":"mkdir","path":"d","mode":493,"outcome":{"unsupported":"no directories"}}"#;
    write("unsupported.jsonl", &[r#"{"op":"sync","outcome":{"unsupported":"no"}}"#, unsupported, MKDIR]);
    write("unknown.jsonl", &[MKDIR, r#"{"op":"chdir","path":"d","outcome":"done"}"#]);
    write("field.jsonl", &[r#"{"op":"mkdir","path":"d","mode":493,"mod":1,"outcome":"done"}"#]);
    write("argument.jsonl", &[r#"{"op":"mkdir","path":"d","outcome":"done"}"#]);
    write("json.jsonl", &[MKDIR, r#"{"op":"mkdir","path":"#]);
    write("open.jsonl", &[r#"{"op":"open","path":"d","flags":"","handle":1,"outcome":"done"}"#]);
    write("missing.jsonl", &[MKDIR, r#"{"op":"rmdir","path":"d"}"#]);
    std::fs::write(place.at("setting.jsonl"), format!("{MKDIR}\n")).unwrap();
    std::fs::write(place.at("empty.jsonl"), "").unwrap();
    let names = [
        "right",
        "wrong",
        "unsupported",
        "unknown",
        "field",
        "argument",
        "json",
        "open",
        "missing",
        "setting",
        "empty",
    ];
    let mut commands: Vec<String> = names.iter().map(|name| format!("oracle check {name}.jsonl")).collect();
    commands.extend(["oracle check wrong.jsonl --json", "oracle check none.jsonl"].map(String::from));
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    shows!("oracle-check", place.session(&commands));
    assert_eq!(place.run_with_input(&["oracle", "check", "-"], trace(&[MKDIR]).as_bytes()).code, 0);
}

// spec: ORA-27
#[test]
fn an_answer_that_is_not_allowed_ends_the_conversation() {
    let place = Place::new();
    let outcome = place.run_with_input(
        &["oracle"],
        trace(&[MKDIR, r#"{"op":"rmdir","path":"d","outcome":{"error":"ENOENT"}}"#]).as_bytes(),
    );
    assert_eq!(outcome.code, 10);
    assert_eq!(String::from_utf8(outcome.stdout).unwrap().lines().count(), 3);
    let expected = "agentfs: standard input: line 3: step 2: rmdir path \"d\": answered ENOENT; allowed: success \
                    (FS-RMDIR-1)\n";
    assert_eq!(outcome.stderr, expected);
}

// spec: ORA-29
#[test]
fn one_command_writes_the_vectors_that_are_committed() {
    let place = Place::new();
    let written = place.run(["oracle", "vectors", "here"]).answer();
    let mut committed = 0;
    for entry in std::fs::read_dir(vectors()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let made = place.at("here").join(path.file_name().unwrap());
            assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(made).unwrap(), "{}", path.display());
            committed += 1;
        }
    }
    assert_eq!(written.lines().count(), committed);
}

// spec: ORA-26
#[test]
fn a_trace_is_run_again_on_the_library() {
    let place = Place::new();
    for vector in ["FS-RENAME-6-ancestor", "OPEN-9-reopened", "FS-PERM-4-sticky"] {
        let path = vectors().join(format!("{vector}.jsonl"));
        let answer = place.run(["oracle".as_ref(), "replay".as_ref(), path.as_os_str()]).answer();
        // What it prints has the outcomes, so that it can be checked as it is.
        let checked = place.run_with_input(&["oracle", "check", "-", "--json"], answer.as_bytes());
        assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{vector}");
    }
    let wrong = trace(&["{\"op\":\"open\",\"path\":\"d\",\"flags\":\"\",\"handle\":1}"]);
    let outcome = place.run_with_input(&["oracle", "replay", "-"], wrong.as_bytes());
    assert_eq!(outcome.code, 2);
    assert_eq!(outcome.stderr, "agentfs: standard input: line 2: open needs READ, WRITE or both\n");
}
