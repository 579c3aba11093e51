//! Programs that do not keep the protocol: each is named with what it did, within the time limit, and leaves nothing behind.

use std::path::Path;
use std::time::{Duration, Instant};

use agentfs::oracle::host::{HostDirectory, PlainDirectory};
use agentfs::oracle::protocol::{Invocation, Process};
use agentfs::oracle::{Answer, During, Failure, Implementation, Problem};
use agentfs_model::bytes::Bytes;
use agentfs_model::call::{Call, Operation};
use agentfs_model::outcome::Outcome;
use agentfs_model::values::{Handle, ProcessId};

use serde_json::json;

use crate::trace::{Trace, in_memory, own_setting};

const HELLO: &str = r#"echo '{"hello":{"protocol":1,"name":"a shell","operations":["sync","read"]}}'; "#;
const DONE: &str = r#"read -r line; echo '{"outcome":"done"}'; "#;
/// How long an answer may take where none comes, and how much later a failure may be told on a busy machine.
const LIMIT: Duration = Duration::from_secs(1);
const LATE: Duration = Duration::from_secs(8);

/// Starts what the shell makes of the script after the hello.
fn start(script: &str) -> Process {
    start_within(Process::LIMIT, script)
}

fn start_within(limit: Duration, script: &str) -> Process {
    Process::start(Invocation::Shell(format!("{HELLO}{script}").into()), limit).unwrap()
}

fn sync() -> Call {
    Call { by: ProcessId(0), operation: Operation::Sync }
}

/// How the program fails at step 7, after a good beginning.
#[track_caller]
fn failure(script: &str) -> Problem {
    failure_within(Process::LIMIT, script)
}

#[track_caller]
fn failure_within(limit: Duration, script: &str) -> Problem {
    let mut process = start_within(limit, &format!("{DONE}{script}"));
    process.begin(&own_setting()).unwrap();
    let started = Instant::now();
    let failure = process.call(7, None, &sync()).unwrap_err();
    assert!(started.elapsed() < limit + LATE, "{:?}", started.elapsed());
    assert_eq!(failure.during, During::Step { number: 7, call: r#"{"op":"sync"}"#.into() });
    assert!(matches!(process.call(8, None, &sync()), Err(Failure { problem: Problem::NotBegun, .. })));
    failure.problem
}

// spec: ORA-1
#[test]
fn a_line_is_answered_by_a_line() {
    let mut process = start(&format!(
        "{DONE}{DONE}{}{DONE}{DONE}",
        r#"read -r line; echo '{"outcome":{"error":"EIO"},"between":[[1,2],[3,4]]}';"#
    ));
    assert_eq!(
        (process.name(), process.supports("sync"), process.supports("open")),
        ("a shell", true, false)
    );
    process.begin(&own_setting()).unwrap();
    assert_eq!(process.call(1, None, &sync()).unwrap().outcome, Outcome::Done);
    let between = Some(((1, 2).into(), (3, 4).into()));
    let answer = Answer { outcome: Outcome::Error(agentfs::Errno::EIO), between };
    assert_eq!(process.call(2, None, &sync()).unwrap(), answer);
    process.end().unwrap();
    // A program runs many traces.
    process.begin(&own_setting()).unwrap();
}

// spec: ORA-16
#[test]
fn who_gives_no_clock_readings_was_called_between_the_driver_s() {
    let mut process = start(&format!("{DONE}{DONE}"));
    let begun = process.begin(&own_setting()).unwrap().unwrap();
    let (before, after) = process.call(1, None, &sync()).unwrap().between.unwrap();
    assert!(begun.0 <= before && before <= after, "{begun:?} {before:?} {after:?}");
}

// spec: ORA-5
#[test]
fn a_program_that_hangs_is_killed_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("pid");
    let note = note.to_str().unwrap();
    let script = format!("sleep 1000 & echo $! >{note}; echo this is wrong >&2; read -r line; wait");
    let Problem::Hung { limit, stderr } = failure_within(LIMIT, &script) else { panic!("it hung") };
    assert_eq!((limit, stderr), (LIMIT, vec!["this is wrong".to_owned()]));
    let sleeper: u32 = std::fs::read_to_string(note).unwrap().trim().parse().unwrap();
    // Whoever adopted it may not have noticed yet.
    let running = || {
        let state = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
        Path::new(&format!("/proc/{sleeper}")).exists() && !state.contains(") Z ")
    };
    let deadline = Instant::now() + LATE;
    while running() {
        assert!(Instant::now() < deadline, "{sleeper} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

// spec: ORA-5
#[test]
fn a_program_that_does_not_say_hello_is_not_waited_for() {
    let begin = Instant::now();
    let failure = Process::start(Invocation::Shell("sleep 1000".into()), LIMIT).unwrap_err();
    assert!(begin.elapsed() < LIMIT + LATE);
    assert_eq!(failure.during, During::Start);
    assert!(matches!(failure.problem, Problem::Hung { .. }), "{failure}");
}

// spec: ORA-5
#[test]
fn a_program_that_reads_nothing_is_not_waited_for() {
    let mut process = start_within(LIMIT, &format!("{DONE}sleep 1000"));
    process.begin(&own_setting()).unwrap();
    // More than a pipe holds.
    let data = Bytes((0..1_000_000_u32).map(|number| number as u8).collect());
    let call = Call { by: ProcessId(0), operation: Operation::Write { handle: Handle(1), data } };
    let failure = process.call(1, None, &call).unwrap_err();
    assert!(matches!(failure.problem, Problem::Hung { .. }), "{failure}");
    assert!(failure.to_string().len() < 500, "{failure}");
}

// spec: ORA-7
#[test]
fn a_program_that_dies_is_named_with_its_status_and_last_words() {
    let last = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i >&2; done; exit 3";
    let Problem::Died { status: Some(status), stderr } = failure(&format!("read -r line; {last}")) else {
        panic!("it died")
    };
    assert_eq!(status.code(), Some(3));
    let lines: Vec<String> = (3..=12).map(|number| format!("line {number}")).collect();
    assert_eq!(stderr, lines);
    // By a signal, and before it was asked.
    let Problem::Died { status: Some(status), .. } = failure("kill -9 $$") else { panic!("it died") };
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    // Only its output ends.
    let Problem::Died { status: None, .. } = failure("exec >&-; sleep 1000") else { panic!("it closed") };
    let failure = Process::start(Invocation::Shell("exit 0".into()), LIMIT).unwrap_err();
    assert_eq!(failure.to_string(), "at the start: died (exit status: 0)");
}

// spec: ORA-6, ORA-7
#[test]
fn nonsense_is_named_with_its_line() {
    for (said, why) in [
        ("hello?", "expected"),
        (r#"{"outcome":{"error":"EFOO"}}"#, "EFOO"),
        (r#"{"outcome":{"error":"EIO","count":1}}"#, ""),
        (r#"{"outcome":"done","extra":1}"#, "extra"),
        (r#"{"outcome":{"count":-1}}"#, "-1"),
        (r#"{"between":[[1,2],[3,4]]}"#, "outcome"),
        (r#"{"outcome":"done","between":[[3,4],[1,2]]}"#, "in order"),
        ("", "EOF"),
    ] {
        let problem = failure(&format!("read -r line; echo '{said}'"));
        let Problem::Nonsense { line: 3, said: named, why: reason } = &problem else {
            panic!("{said}: {problem}")
        };
        assert_eq!(named, said);
        assert!(reason.contains(why), "{said}: {reason}");
    }
}

// spec: ORA-2
#[test]
fn another_version_and_unknown_operations_are_refused_at_the_hello() {
    for (hello, why) in [
        (r#"{"hello":{"protocol":2,"name":"x","operations":[]}}"#, "version 1"),
        (r#"{"hello":{"protocol":1,"name":"x","operations":["opne"]}}"#, "opne"),
        (r#"{"hello":{"protocol":1,"name":"x"}}"#, "operations"),
        (r#"{"outcome":"done"}"#, "hello"),
    ] {
        let invocation = Invocation::Program("echo".into(), vec![hello.into()]);
        let failure = Process::start(invocation, LIMIT).unwrap_err();
        let Problem::Nonsense { line: 1, why: reason, .. } = &failure.problem else { panic!("{failure}") };
        assert!(reason.contains(why), "{hello}: {reason}");
    }
    let missing = Invocation::Program("/no/such/program".into(), Vec::new());
    assert!(matches!(Process::start(missing, LIMIT).unwrap_err().problem, Problem::Start(_)));
}

// spec: ORA-6
#[test]
fn a_line_without_an_end_and_lines_that_nobody_asked_for_are_refused() {
    let problem = failure("read -r line; yes | tr -d '\\n'");
    let Problem::TooLong { line: 3, longest, said } = &problem else { panic!("{problem}") };
    assert!(*longest == 16 << 20 && said.starts_with("yyyy") && said.len() < 300, "{problem}");
    // An answer, and in the same breath another line: noticed with the next step.
    let mut process = start(r#"read -r line; printf '{"outcome":"done"}\nwell\n'; sleep 1000"#);
    process.begin(&own_setting()).unwrap();
    let failure = process.call(1, None, &sync()).unwrap_err();
    assert_eq!(failure.problem, Problem::Unasked { line: 3, said: "well".into() });
}

// spec: ORA-9
#[test]
fn a_program_can_say_that_it_cannot_go_on_or_cannot_provide_a_setting() {
    let problem = failure(r#"read -r line; echo '{"failure":"the disk is gone"}'"#);
    assert_eq!(problem, Problem::GaveUp("the disk is gone".into()));
    let refuses = r#"read -r line; echo '{"outcome":{"unsupported":"one user only"}}'; "#;
    let mut process = start(&format!("{refuses}{DONE}"));
    let failure = process.begin(&own_setting()).unwrap_err();
    assert_eq!(failure.problem, Problem::Refused("one user only".into()));
    process.begin(&own_setting()).unwrap();
}

// spec: ORA-8
#[test]
fn after_a_failure_the_next_trace_starts_the_program_anew() {
    let mut process = start(&format!("{DONE}read -r line; exit 1"));
    for _ in 0..3 {
        process.begin(&own_setting()).unwrap();
        assert!(process.call(1, None, &sync()).is_err());
    }
}

// spec: ORA-5
#[test]
fn what_is_written_to_standard_error_holds_nobody_up() {
    let mut process =
        start(&format!("{DONE}read -r line; yes | head -c 1000000 >&2; echo '{{\"outcome\":\"done\"}}'"));
    process.begin(&own_setting()).unwrap();
    assert_eq!(process.call(1, None, &sync()).unwrap().outcome, Outcome::Done);
}

/// Kills every process whose root is the folder.
fn kill_inside(folder: &Path) -> usize {
    let processes = Path::new("/proc").read_dir().unwrap().flatten();
    let inside = processes
        .filter(|process| std::fs::read_link(process.path().join("root")).is_ok_and(|root| root == folder));
    let numbers = inside.filter_map(|process| process.file_name().to_str()?.parse().ok());
    numbers
        .map(|number: i32| {
            let process = rustix::process::Pid::from_raw(number).unwrap();
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        })
        .count()
}

// spec: ORA-7, ORA-8
#[test]
fn processes_of_a_host_directory_that_die_are_named_and_replaced() {
    let mut trace = Trace::begin(in_memory(), &own_setting());
    let call = json!({"op": "mkdir", "path": "d", "mode": 0o755});
    trace.does(std::slice::from_ref(&call));
    assert_eq!(kill_inside(&trace.path()), 2);
    let failure = trace.answer(&call).unwrap_err();
    assert_eq!(
        failure.during,
        During::Step { number: 2, call: r#"{"op":"mkdir","path":"d","mode":493}"#.into() }
    );
    assert!(matches!(failure.problem, Problem::Died { status: Some(_), .. }), "{failure}");
    assert!(matches!(trace.answer(&call).unwrap_err().problem, Problem::NotBegun));
    trace.again(&own_setting());
    trace.does(&[call]);
    // Nothing is left running.
    let folder = trace.path();
    drop(trace);
    assert_eq!(kill_inside(&folder), 0);
}

// spec: ORA-7
#[test]
fn a_program_that_is_not_agentfs_is_no_client() {
    for program in ["cat", "echo", "/no/such/program"] {
        let folder = in_memory();
        let directory = PlainDirectory::new(folder.path()).unwrap();
        let mut host = HostDirectory::new(program, directory, Process::LIMIT);
        let failure = host.begin(&own_setting()).unwrap_err();
        assert_eq!(failure.during, During::Begin);
        assert!(matches!(failure.problem, Problem::Start(_)), "{failure}");
    }
}
