//! `agentfs conform`: other implementations, good, bad and broken ones.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::Place;
use crate::shows;

/// A program that says hello, answers so many lines with "done", and then goes on as `then` says.
fn answering(place: &Place, name: &str, lines: u32, then: &str) {
    let hello =
        r#"{"hello":{"protocol":1,"name":"NAME","operations":["mkdir","stat"]}}"#.replace("NAME", name);
    let done = r#"{"outcome":"done"}"#;
    let script = format!(
        "echo '{hello}'\nfor line in $(seq {lines}); do read -r request || exit 0; echo '{done}'; done\nread -r request\n{then}\n"
    );
    fs::write(place.at(format!("{name}.sh")), script).unwrap();
}

// spec: ORA-5, ORA-7, ORA-30
#[test]
fn whoever_hangs_dies_or_answers_nonsense_is_named_with_what_it_did() {
    let place = Place::new();
    answering(&place, "hangs", 1, "sleep 60");
    answering(&place, "dies", 2, "echo 'out of memory' >&2; exit 3");
    answering(&place, "babbles", 1, "echo '{\"outcome\":\"dine\"}'");
    let mut commands = vec![
        "conform --exec 'sleep 60' --time-limit 0.2".to_owned(),
        "conform --exec 'exit 3'".to_owned(),
        "conform --exec 'echo hello'".to_owned(),
    ];
    for name in ["hangs", "dies", "babbles"] {
        commands.push(format!("conform --exec 'sh {name}.sh' --time-limit 0.5 --seed 1 --profile posix"));
    }
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    shows!("conform-broken", place.session(&commands));
}

// spec: ORA-30
#[test]
fn the_example_of_the_protocol_passes_what_it_supports() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec/adapters/minimal.py");
    let place = Place::new();
    let command = format!("python3 '{}'", example.display());
    let arguments = ["conform", "--exec", &command, "--random", "0", "--profile", "posix", "--json"];
    let answer: serde_json::Value = serde_json::from_slice(&place.run(arguments).stdout).unwrap();
    let vectors = &answer["vectors"];
    let number = |name: &str| vectors[name].as_u64().unwrap();
    assert!(number("passed") > 20 && number("unsupported") > 100, "{vectors}");
    assert_eq!(answer["divergences"], serde_json::json!([]));
}

// spec: ORA-31, ORA-12
#[test]
fn a_directory_is_taken_when_it_is_empty_and_left_so() {
    let place = Place::new();
    fs::create_dir(place.at("full")).unwrap();
    fs::write(place.at("full/precious"), "x").unwrap();
    fs::create_dir(place.at("empty")).unwrap();
    let before = place.contents();
    shows!(
        "conform-refused",
        place.session(&[
            "conform --dir full",
            "conform --dir none",
            "conform",
            "conform --dir empty --exec true",
            "conform --dir empty --profile nosuch",
            "conform --dir empty --time-limit 0",
        ])
    );
    let ran = place.run([
        "conform",
        "--dir",
        "empty",
        "--random",
        "3",
        "--seed",
        "1",
        "--json",
        "--trace-dir",
        "traces",
    ]);
    let answer: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert!(answer["vectors"]["passed"].as_u64().unwrap() > 20, "{answer}");
    assert_eq!(fs::read_dir(place.at("empty")).unwrap().count(), 0);
    let _ = fs::remove_dir_all(place.at("traces"));
    assert_eq!(place.contents(), before);
}

// spec: ORA-31
#[test]
fn an_interrupted_run_leaves_the_directory_empty() {
    let place = Place::new();
    fs::create_dir(place.at("empty")).unwrap();
    let mut command: Command = place.command(["conform", "--dir", "empty", "--random", "100000"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    while fs::read_dir(place.at("empty")).unwrap().next().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(30), "it never began");
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(fs::read_dir(place.at("empty")).unwrap().count(), 0);
}

// spec: ORA-26, ORA-22
#[test]
fn what_was_found_is_kept_as_a_trace_that_shows_it_again() {
    let place = Place::new();
    // A program for which every directory is there already.
    let hello = r#"{"hello":{"protocol":1,"name":"full","operations":["mkdir"]}}"#;
    let script = format!(
        "echo '{hello}'\nwhile read -r line; do case $line in\n\
         *'\"op\":\"mkdir\"'*) echo '{{\"outcome\":{{\"error\":\"EEXIST\"}}}}' ;;\n\
         *'\"op\"'*) echo '{{\"outcome\":{{\"unsupported\":\"no\"}}}}' ;;\n\
         *) echo '{{\"outcome\":\"done\"}}' ;;\nesac; done\n"
    );
    fs::write(place.at("full.sh"), script).unwrap();
    let ran = place.run([
        "conform",
        "--exec",
        "sh full.sh",
        "--random",
        "5",
        "--seed",
        "1",
        "--trace-dir",
        "traces",
    ]);
    assert_eq!(ran.code, 10, "{}", ran.stderr);
    let traces: Vec<_> =
        fs::read_dir(place.at("traces")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!traces.is_empty());
    for trace in traces {
        let checked = place.run(["oracle".as_ref(), "check".as_ref(), trace.as_os_str()]);
        assert_eq!(checked.code, 10, "{}", trace.display());
        assert!(
            String::from_utf8(checked.stdout).unwrap().contains("answered EEXIST; allowed: "),
            "{}",
            trace.display()
        );
    }
}
