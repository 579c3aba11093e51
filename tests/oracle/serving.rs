//! The answering side of the protocol, in front of an implementation in this process.

use std::fs::File;
use std::io::{BufReader, Cursor};

use agentfs::Errno;
use agentfs::oracle::host::PlainDirectory;
use agentfs::oracle::protocol::{Invocation, Process, ServeError, serve};
use agentfs::oracle::{Answer, Between, During, Failure, Implementation, Problem};
use agentfs_model::call::{Call, Operation};
use agentfs_model::outcome::Outcome;
use agentfs_model::trace::Setting;
use agentfs_model::values::{ProcessId, Timestamp};
use rustix::fs::{CWD, Mode};
use serde_json::{Value, json};

use crate::trace::{in_memory, on, own_setting, setting, user};

/// Writes down what it is asked; has only sync, and only one process.
#[derive(Default)]
struct Toy {
    log: Vec<String>,
}

impl Implementation for Toy {
    fn name(&self) -> &str {
        "a toy"
    }

    fn supports(&self, operation: &str) -> bool {
        operation == "sync"
    }

    fn begin(&mut self, setting: &Setting) -> Result<Option<Between>, Failure> {
        self.log.push("begin".into());
        match setting.processes.len() {
            1 => Ok(Some(((1, 0).into(), (2, 0).into()))),
            _ => Err(Problem::Refused("one process only".into()).during(During::Begin)),
        }
    }

    fn call(&mut self, step: u32, now: Option<Timestamp>, call: &Call) -> Result<Answer, Failure> {
        self.log.push(format!("{step} {now:?} {}", call.operation.name()));
        let outcome = match call.operation {
            Operation::Sync => Outcome::Error(Errno::EIO),
            Operation::Crash => return Err(Problem::GaveUp("a crash".into()).during(During::Begin)),
            _ => Outcome::Unsupported("a toy".into()),
        };
        Ok(Answer { outcome, between: None })
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.log.push("end".into());
        Ok(())
    }
}

/// What the toy says to these lines, how serving ended, and what was asked of the toy.
fn dialogue(lines: &[String]) -> (Vec<Value>, Result<(), ServeError>, Vec<String>) {
    let mut toy = Toy::default();
    let mut output = Vec::new();
    let ended = serve(&mut toy, Cursor::new(lines.join("\n")), &mut output);
    let said = String::from_utf8(output).unwrap();
    assert!(said.ends_with('\n'));
    (said.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), ended, toy.log)
}

fn begin(setting: &Setting) -> String {
    json!({ "begin": setting }).to_string()
}

// spec: ORA-1, ORA-2, ORA-4
#[test]
fn every_line_is_answered_in_order_after_the_hello() {
    let hello = json!({"hello": {"protocol": 1, "name": "a toy", "operations": ["sync"]}});
    let (said, ended, log) = dialogue(&[
        begin(&own_setting()),
        json!({"op": "sync", "now": [5, 6]}).to_string(),
        json!({"op": "statfs"}).to_string(),
        json!({"op": "teleport", "where": "there"}).to_string(),
        json!({"op": "sync"}).to_string(),
        json!({"end": {}}).to_string(),
        begin(&setting(vec![user(0, 0, &[]), user(1, 1, &[])])),
        begin(&own_setting()),
        json!({"op": "sync"}).to_string(),
    ]);
    ended.unwrap();
    let done = json!({"outcome": "done", "between": [[1, 0], [2, 0]]});
    let error = json!({"outcome": {"error": "EIO"}});
    let unsupported = |why: &str| json!({"outcome": {"unsupported": why}});
    assert_eq!(
        said,
        [
            hello,
            done.clone(),
            error.clone(),
            unsupported("a toy"),
            unsupported("there is no operation \"teleport\""),
            error.clone(),
            json!({"outcome": "done"}),
            unsupported("one process only"),
            done,
            error,
        ]
    );
    let time = "Some(Timestamp { seconds: 5, nanoseconds: 6 })";
    let first = format!("1 {time} sync");
    assert_eq!(
        log,
        ["begin", &first, "2 None statfs", "4 None sync", "end", "begin", "begin", "1 None sync"]
    );
}

// spec: ORA-9
#[test]
fn a_request_that_is_none_ends_the_service_and_is_named_with_its_line() {
    for (request, why) in [
        ("nonsense".to_owned(), "expected"),
        (json!({"op": "open"}).to_string(), "missing field"),
        (json!({"what": "sync"}).to_string(), "neither"),
        (json!({"begin": {}}).to_string(), "missing field"),
        (json!({"op": "open", "path": "a", "flags": "READ | FLY", "handle": 1}).to_string(), "flag"),
    ] {
        let (said, ended, log) = dialogue(&[begin(&own_setting()), request.clone(), begin(&own_setting())]);
        let Err(ServeError::Malformed { line: 2, said: named, why: reason }) = &ended else {
            panic!("{ended:?}")
        };
        assert_eq!(*named, request);
        assert!(reason.contains(why), "{request}: {reason}");
        assert_eq!(said.len(), 3);
        assert_eq!(said[2], json!({"failure": ended.unwrap_err().to_string()}));
        assert_eq!(log, ["begin"]);
    }
}

// spec: ORA-9
#[test]
fn an_implementation_that_fails_says_so_and_serves_no_more() {
    let (said, ended, _) = dialogue(&[
        begin(&own_setting()),
        json!({"op": "crash"}).to_string(),
        json!({"op": "sync"}).to_string(),
    ]);
    assert!(matches!(ended, Err(ServeError::Failed(_))));
    assert_eq!(said.last().unwrap(), &json!({"failure": "at the beginning of the trace: gave up: a crash"}));
    assert_eq!(said.len(), 3);
}

// spec: ORA-1
#[test]
fn the_two_sides_understand_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let [requests, answers] = ["requests", "answers"].map(|name| folder.path().join(name));
    for path in [&requests, &answers] {
        rustix::fs::mkfifoat(CWD, path, Mode::from_raw_mode(0o600)).unwrap();
    }
    let script = format!("cat {} & exec cat >{}", answers.display(), requests.display());
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let directory = in_memory();
            let mut host = on(PlainDirectory::new(directory.path()).unwrap());
            let output = File::options().write(true).open(&answers).unwrap();
            let input = BufReader::new(File::open(&requests).unwrap());
            serve(&mut host, input, output).unwrap();
        });
        let mut process = Process::start(Invocation::Shell(script.into()), Process::LIMIT).unwrap();
        assert!(
            process.name().starts_with("/dev/shm/") && process.supports("read") && !process.supports("crash")
        );
        process.begin(&own_setting()).unwrap();
        // Every byte, so that each form of a byte string and each escape comes through.
        let mut contents: Vec<Vec<u8>> =
            vec![(0..=255).collect(), vec![7; 100_000], b"plain\n\"text\"\0".to_vec()];
        contents.push("z\u{df}\u{1f600}".into());
        for (number, data) in contents.into_iter().enumerate() {
            let path = format!("f{number}");
            for call in [
                json!({"op": "open", "path": path, "flags": "READ | WRITE | CREATE", "mode": 0o644, "handle": number}),
                json!({"op": "write", "handle": number, "data": agentfs_model::bytes::Bytes(data.clone())}),
                json!({"op": "pread", "handle": number, "offset": 0, "length": 1 << 20}),
            ] {
                let call: Call = serde_json::from_value(call).unwrap();
                let answer = process.call(1, None, &call).unwrap();
                assert!(answer.between.is_some());
                match answer.outcome {
                    Outcome::Data(read) => assert_eq!(read.0, data),
                    Outcome::Count(count) => assert_eq!(count, data.len() as u64),
                    outcome => assert_eq!(outcome, Outcome::Done),
                }
            }
        }
        let stat =
            |path: &str| Operation::Stat { object: serde_json::from_value(json!({"path": path})).unwrap() };
        let call = |operation| Call { by: ProcessId(0), operation };
        let shown = process.call(2, None, &call(stat("f1"))).unwrap().outcome;
        assert!(matches!(shown, Outcome::Status(status) if status.size == 100_000));
        process.end().unwrap();
    });
}
