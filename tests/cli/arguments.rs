//! The command line itself: naming databases, making them, help, completions, manual pages, the end of output.

use std::fs;
use std::process::Stdio;

use crate::program::{Outcome, Place, program};
use crate::shows;

// spec: CLI-6, CLI-7
#[test]
fn a_database_is_named_by_an_id_or_a_path() {
    let place = Place::new();
    shows!(
        "init",
        place.session(&[
            "init demo",
            "init ./by-path.sqlite",
            "init plain.db --json",
            "init other --chunk-size 4096 --inline-threshold 0 --page-size 4096 --json",
            "info other --json",
            "kv set ./by-path.sqlite which '\"path\"'",
            "kv get by-path.sqlite which",
            "info plain",
        ])
    );
    // The id wins over a file of its name; './' means the file.
    fs::copy(place.at("by-path.sqlite"), place.at("demo")).unwrap();
    assert_eq!(place.run(["kv", "list", "demo"]).answer(), "");
    assert_eq!(place.run(["kv", "list", "./demo"]).answer(), "which\n");
}

// spec: CLI-7
#[test]
fn without_an_id_init_chooses_one_and_prints_it() {
    let place = Place::new();
    let ids = [place.run(["init"]).answer(), place.run(["init"]).answer()];
    assert_ne!(ids[0], ids[1]);
    for id in ids {
        let id = id.strip_suffix('\n').unwrap();
        assert!(place.at(format!(".agentfs/{id}.db")).is_file());
        place.run(["info", id]).answer();
    }
}

// spec: CLI-1, CLI-12
#[test]
fn help_is_there_for_every_command() {
    let help = Outcome::of(program().arg("--help")).answer();
    shows!("help", help);
    shows!("help-mount", Outcome::of(program().args(["help", "mount"])).answer());
    let codes = Outcome::of(program().args(["exit-codes", "--json"])).json();
    assert_eq!(codes.as_array().map(Vec::len), Some(11));
    assert_eq!(codes[9], serde_json::json!({ "code": 9, "meaning": "FUSE is not available" }));
    assert_eq!(codes[10], serde_json::json!({ "code": 10, "meaning": "a check found errors" }));
    shows!("help-exit-codes", Outcome::of(program().args(["help", "exit-codes"])).answer());
    for command in ["init", "unmount", "kv", "tools", "timeline", "info", "verify", "completions", "man"] {
        assert!(
            Outcome::of(program().args([command, "--help"])).answer().contains("Usage: agentfs"),
            "{command}"
        );
    }
    for command in ["ls", "tree", "cat", "write", "cp", "mv", "rm", "mkdir", "ln", "stat", "chmod", "find"] {
        let help = Outcome::of(program().args(["fs", command, "--help"])).answer();
        assert!(help.contains("<ID|PATH>"), "{command}");
    }
    assert!(Outcome::of(program().arg("--version")).answer().starts_with("agentfs 0."));
}

// spec: CLI-12
#[test]
fn completions_and_manual_pages_come_from_the_same_description() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Outcome::of(program().args(["completions", shell])).answer();
        assert!(script.contains("agentfs") && script.contains("timeline"), "{shell}");
    }
    let place = Place::new();
    assert!(place.run(["man"]).answer().contains(".TH agentfs 1"));
    let written = place.run(["man", "--output", "pages"]).answer();
    assert_eq!(written.lines().count(), fs::read_dir(place.at("pages")).unwrap().count());
    for name in ["agentfs", "agentfs-mount", "agentfs-fs-cp", "agentfs-kv-set", "agentfs-exit-codes"] {
        let page = fs::read_to_string(place.at(format!("pages/{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{name}");
    }
    let page = fs::read_to_string(place.at("pages/agentfs.1")).unwrap();
    assert!(page.contains("no space left"), "the exit codes are in the manual");
}

// spec: CLI-1, CLI-12
#[test]
fn mistakes_on_the_command_line_are_one_line_and_2() {
    let place = Place::with_demo();
    shows!(
        "usage",
        place.session(&[
            "frobnicate",
            "info",
            "info demo --verbose",
            "inof demo",
            "init a --chunk-size many",
            "init a --chunk-size 1000",
            "mount demo",
            "mount demo dir -o frobnicate",
            "mount demo dir -o uid=me",
            "fs cp demo a b",
            "tools record demo name",
            "kv get",
            "info demo --log-level =",
        ])
    );
}

// spec: CLI-1, CLI-3
#[test]
fn a_reader_who_goes_away_is_no_failure() {
    let place = Place::with_demo();
    let content = vec![b'x'; 4 << 20];
    assert_eq!(place.run_with_input(&["fs", "write", "demo", "/big"], &content).code, 0);
    for arguments in [&["fs", "cat", "demo", "/big"][..], &["--help"], &["completions", "bash"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = place.command(arguments);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""), "{arguments:?}");
    }
}

// spec: CLI-1, CLI-2
#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let place = Place::with_demo();
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = place.command(["info", "demo"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(8));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "agentfs: standard output: no space left on device\n"
    );
}

// spec: CLI-11
#[test]
fn the_log_level_comes_from_the_environment_and_the_option_wins() {
    let place = Place::with_demo();
    let log = |variable: &str, arguments: &[&str]| {
        Outcome::of(place.command(arguments).env("AGENTFS_LOG", variable)).code
    };
    assert_eq!(log("debug", &["info", "demo"]), 0);
    assert_eq!(log("agentfs=no-such-level", &["info", "demo"]), 2);
    assert_eq!(log("agentfs=no-such-level", &["info", "demo", "--log-level", "warn"]), 0);
}

// spec: CLI-10
#[test]
fn on_a_terminal_no_name_can_control_it() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let place = Place::with_demo();
    place.run(["fs", "write", "demo", "/red\u{1b}[31m", "text"]).answer();
    assert_eq!(place.run(["fs", "ls", "demo"]).answer(), "red\u{1b}[31m\n", "not a terminal");

    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let terminal = fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let status = place.command(["fs", "ls", "demo"]).stdout(terminal).status().unwrap();
    assert!(status.success());
    let mut seen = [0; 100];
    let length = rustix::io::read(&master, &mut seen).unwrap();
    assert_eq!(String::from_utf8_lossy(&seen[..length]), "red\\u{1b}[31m\r\n");
}
