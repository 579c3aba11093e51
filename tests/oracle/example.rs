//! The example adapter in Python, which others begin with: it works, and knows what it does not have.

use std::path::Path;

use agentfs::oracle::protocol::{Invocation, OPERATIONS, Process};
use agentfs::oracle::{Implementation, Problem};
use agentfs_model::call::Call;
use agentfs_model::outcome::Outcome;
use serde_json::{Value, json};

use crate::trace::{setting, user};

fn start() -> Process {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec/adapters/minimal.py");
    Process::start(Invocation::Program("python3".into(), vec![script.into()]), Process::LIMIT).unwrap()
}

fn answer(process: &mut Process, call: &Value) -> Outcome {
    let call: Call = serde_json::from_value(call.clone()).unwrap();
    process.call(1, None, &call).unwrap().outcome
}

// spec: ORA-1, ORA-2
#[test]
fn the_example_in_python_is_a_small_file_system() {
    let mut process = start();
    assert_eq!(process.name(), "minimal.py");
    let has: Vec<_> = OPERATIONS.iter().filter(|name| process.supports(name)).collect();
    assert_eq!(has, [&"open", &"close", &"read", &"write", &"stat", &"mkdir", &"unlink"]);
    // Twice, since every trace begins afresh.
    for _ in 0..2 {
        let begun = process.begin(&setting(vec![user(0, 0, &[])])).unwrap().unwrap();
        for (call, expected) in [
            (json!({"op": "mkdir", "path": "d", "mode": 0o777}), json!("done")),
            (json!({"op": "mkdir", "path": "/d", "mode": 0o777}), json!({"error": "EEXIST"})),
            (json!({"op": "open", "path": "d/f", "flags": "WRITE", "handle": 1}), json!({"error": "ENOENT"})),
            (
                json!({"op": "open", "path": "d/f", "flags": "WRITE | CREATE | EXCLUSIVE", "mode": 0o666, "handle": 1}),
                json!("done"),
            ),
            (
                json!({"op": "open", "path": "d/f", "flags": "WRITE | CREATE | EXCLUSIVE", "handle": 2}),
                json!({"error": "EEXIST"}),
            ),
            (
                json!({"op": "open", "path": "d/f/", "flags": "READ", "handle": 2}),
                json!({"error": "ENOTDIR"}),
            ),
            (json!({"op": "open", "path": "d", "flags": "WRITE", "handle": 2}), json!({"error": "EISDIR"})),
            (json!({"op": "open", "path": "./d//f", "flags": "READ", "handle": 2}), json!("done")),
            (json!({"op": "write", "handle": 1, "data": "text"}), json!({"count": 4})),
            (json!({"op": "write", "handle": 1, "data": {"hex": "ff00"}}), json!({"count": 2})),
            (json!({"op": "write", "handle": 1, "data": {"runs": [[97, 70]]}}), json!({"count": 70})),
            (json!({"op": "read", "handle": 1, "length": 1}), json!({"error": "EBADF"})),
            (json!({"op": "read", "handle": 2, "length": 7}), json!({"data": {"hex": "74657874ff0061"}})),
            (json!({"op": "unlink", "path": "d"}), json!({"error": "EISDIR"})),
            (json!({"op": "unlink", "path": "d/f"}), json!("done")),
            (json!({"op": "unlink", "path": "d/f"}), json!({"error": "ENOENT"})),
            (json!({"op": "read", "handle": 2, "length": 100}), json!({"data": "a".repeat(69)})),
            (json!({"op": "close", "handle": 1}), json!("done")),
            (json!({"op": "close", "handle": 1}), json!({"error": "EBADF"})),
            (json!({"op": "write", "handle": 1, "data": ""}), json!({"error": "EBADF"})),
        ] {
            let outcome = serde_json::to_value(answer(&mut process, &call)).unwrap();
            // A byte string of one kind of byte is written in another form here.
            let expected: Outcome = serde_json::from_value(expected).unwrap();
            assert_eq!(outcome, serde_json::to_value(expected).unwrap(), "{call}");
        }
        let Outcome::Status(file) = answer(&mut process, &json!({"op": "stat", "handle": 2})) else {
            panic!()
        };
        assert_eq!((file.size, file.links, file.permissions), (76, 0, 0o644));
        let Outcome::Status(directory) = answer(&mut process, &json!({"op": "stat", "path": "d"})) else {
            panic!()
        };
        assert_eq!((directory.links, directory.permissions), (2, 0o755));
        assert!(begun.1 <= directory.ctime);
        process.end().unwrap();
    }
}

// spec: ORA-4
#[test]
fn what_the_example_does_not_have_is_unsupported() {
    let mut process = start();
    let failure = process.begin(&setting(vec![user(0, 0, &[]), user(1, 1, &[])])).unwrap_err();
    assert!(matches!(failure.problem, Problem::Refused(_)), "{failure}");
    process.begin(&setting(vec![user(0, 0, &[])])).unwrap();
    for call in [
        json!({"op": "symlink", "target": "a", "path": "b"}),
        json!({"op": "statfs"}),
        json!({"op": "crash"}),
        json!({"op": "mkdir", "path": {"at": 1, "path": "a"}, "mode": 0}),
        json!({"op": "mkdir", "path": {"hex": "ff"}, "mode": 0}),
        json!({"op": "open", "path": "f", "flags": "READ | TRUNCATE", "handle": 1}),
    ] {
        let outcome = answer(&mut process, &call);
        assert!(matches!(outcome, Outcome::Unsupported(_)), "{call}: {outcome:?}");
    }
}
