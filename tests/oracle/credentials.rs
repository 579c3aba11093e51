//! Processes of a trace are processes of the machine: with their own users, groups, umasks and handles.

use std::process::Command;

use agentfs::oracle::host::{HostDirectory, PlainDirectory};
use agentfs::oracle::{Implementation, Problem};
use agentfs_model::outcome::Outcome;
use serde_json::json;

use crate::trace::{PROGRAM, Trace, in_build, in_memory, on, own_setting, setting, user};

/// Whether the test may go on.
fn as_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("not run: this test needs user 0");
    }
    root
}

// spec: ORA-15
#[test]
fn permissions_bind_each_process_by_its_own_user_and_groups() {
    if !as_root() {
        return;
    }
    for folder in [in_memory(), in_build()] {
        let processes = vec![user(1001, 1001, &[]), user(1002, 1002, &[1500]), user(0, 0, &[])];
        let mut trace = Trace::begin(folder, &setting(processes));
        trace.runs(&[
            (json!({"op": "mkdir", "path": "d", "mode": 0o755}), json!("done")),
            (json!({"op": "mknod", "path": "d/f", "kind": "regular", "mode": 0o600}), json!("done")),
            (
                json!({"by": 1, "op": "open", "path": "d/f", "flags": "READ", "handle": 1}),
                json!({"error": "EACCES"}),
            ),
            (json!({"by": 1, "op": "mkdir", "path": "d/x", "mode": 0o755}), json!({"error": "EACCES"})),
            (json!({"by": 1, "op": "access", "path": "d/f", "mode": "READ"}), json!({"error": "EACCES"})),
            (json!({"by": 1, "op": "chmod", "path": "d/f", "mode": 0o777}), json!({"error": "EPERM"})),
            (json!({"op": "chown", "path": "d/f", "gid": 1500}), json!({"error": "EPERM"})),
            (json!({"by": 2, "op": "chown", "path": "d/f", "gid": 1500}), json!("done")),
            (json!({"op": "chmod", "path": "d/f", "mode": 0o640}), json!("done")),
            // A supplementary group.
            (json!({"by": 1, "op": "open", "path": "d/f", "flags": "READ", "handle": 1}), json!("done")),
            (
                json!({"by": 1, "op": "open", "path": "d/f", "flags": "WRITE", "handle": 2}),
                json!({"error": "EACCES"}),
            ),
            (
                json!({"by": 2, "op": "open", "path": "d/f", "flags": "READ | WRITE", "handle": 1}),
                json!("done"),
            ),
            (json!({"by": 2, "op": "mknod", "path": "d/r", "kind": "regular", "mode": 0o600}), json!("done")),
            (
                json!({"by": 1, "op": "setxattr", "handle": 1, "name": "trusted.a", "value": ""}),
                json!({"error": "EPERM"}),
            ),
        ]);
        assert_eq!(trace.stat(&json!({"path": "d"})).uid, 1001);
        assert_eq!(trace.stat(&json!({"path": "d/r"})).uid, 0);
    }
}

// spec: ORA-10
#[test]
fn handles_and_umasks_belong_to_their_process() {
    if !as_root() {
        return;
    }
    let mut trace = Trace::begin(in_memory(), &setting(vec![user(0, 0, &[]), user(0, 0, &[])]));
    trace.runs(&[
        (json!({"op": "open", "path": "f", "flags": "READ | WRITE | CREATE", "mode": 0o666, "handle": 1}), json!("done")),
        (json!({"by": 1, "op": "read", "handle": 1, "length": 1}), json!({"error": "EBADF"})),
        (json!({"by": 1, "op": "open", "path": "g", "flags": "READ | WRITE | CREATE", "mode": 0o666, "handle": 1}), json!("done")),
        (json!({"by": 1, "op": "write", "handle": 1, "data": "of g"}), json!({"count": 4})),
        (json!({"op": "pread", "handle": 1, "offset": 0, "length": 9}), json!({"data": ""})),
        (json!({"by": 1, "op": "umask", "mask": 0}), json!("done")),
        (json!({"by": 1, "op": "mkdir", "path": "all", "mode": 0o777}), json!("done")),
        (json!({"op": "mkdir", "path": "mine", "mode": 0o777}), json!("done")),
    ]);
    assert_eq!(trace.stat(&json!({"path": "all"})).permissions, 0o777);
    assert_eq!(trace.stat(&json!({"path": "mine"})).permissions, 0o755);
}

#[test]
fn who_a_process_was_in_one_trace_is_forgotten_in_the_next() {
    if !as_root() {
        return;
    }
    let mut trace = Trace::begin(in_memory(), &setting(vec![user(1001, 1001, &[1500])]));
    let mut root_of_others = setting(vec![user(1002, 1500, &[])]);
    root_of_others.root.permissions = 0;
    trace.again(&root_of_others);
    let mkdir = json!({"op": "mkdir", "path": "d", "mode": 0o755});
    trace.runs(&[
        (mkdir.clone(), json!({"error": "EACCES"})),
        (json!({"op": "chmod", "path": "/", "mode": 0o700}), json!("done")),
        (mkdir.clone(), json!("done")),
    ]);
    let made = trace.stat(&json!({"path": "d"}));
    assert_eq!((made.uid, made.gid), (1002, 1500));
    // More processes than before, and fewer again.
    trace.again(&setting(vec![user(0, 0, &[]), user(7, 7, &[]), user(8, 8, &[])]));
    trace.runs(&[(json!({"by": 2, "op": "mkdir", "path": "x", "mode": 0o755}), json!({"error": "EACCES"}))]);
    trace.again(&own_setting());
    assert!(matches!(trace.outcome(&json!({"by": 1, "op": "sync"})), Outcome::Unsupported(_)));
    trace.does(&[mkdir]);
}

// spec: ORA-12, ORA-15
#[test]
fn who_is_not_user_0_can_be_nobody_else() {
    let own = HostDirectory::own_credentials();
    if own.is_superuser() {
        return as_nobody("credentials::who_is_not_user_0_can_be_nobody_else");
    }
    let folder = in_memory();
    let mut host = on(PlainDirectory::new(folder.path()).unwrap());
    for other in [user(own.uid + 1, own.gid, &[]), user(own.uid, own.gid, &[4711])] {
        let failure = host.begin(&setting(vec![own.clone(), other])).unwrap_err();
        assert!(matches!(failure.problem, Problem::Refused(_)), "{failure}");
    }
    // The refusal costs nothing.
    let mut trace = Trace::begin_on(host, &own_setting());
    let chown = json!({"op": "chown", "path": "/", "uid": own.uid + 1});
    assert!(matches!(trace.outcome(&chown), Outcome::Unsupported(_)));
    // Permissions bind, nothing is above the root, and it all can be taken away again.
    let mkdir = json!({"op": "mkdir", "path": "../d", "mode": 0});
    for _ in 0..2 {
        trace.runs(&[
            (mkdir.clone(), json!("done")),
            (json!({"op": "mkdir", "path": "d/e", "mode": 0}), json!({"error": "EACCES"})),
            (json!({"op": "symlink", "target": "/d", "path": "s"}), json!("done")),
            (json!({"op": "mkdir", "path": "s/e", "mode": 0}), json!({"error": "EACCES"})),
            (json!({"op": "chmod", "path": "s", "mode": 0o700}), json!("done")),
            (json!({"op": "mkdir", "path": "s/e", "mode": 0}), json!("done")),
            (json!({"op": "chmod", "path": "/", "mode": 0}), json!("done")),
            (mkdir.clone(), json!({"error": "EACCES"})),
        ]);
        assert_eq!(trace.tree().objects.len(), 4);
        trace.again(&own_setting());
    }
}

/// Runs a test of this program again, as an ordinary user.
fn as_nobody(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    // Copied by a program of its own: what this process has open for writing, another thread's child could keep open.
    let own = std::env::current_exe().unwrap();
    let copied = Command::new("cp").arg(&own).arg(env!("CARGO_BIN_EXE_agentfs")).arg(folder.path()).status();
    assert!(copied.unwrap().success());
    let ran = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(folder.path().join(own.file_name().unwrap()))
        .args(["--exact", test])
        .env(PROGRAM, folder.path().join("agentfs"))
        .current_dir("/")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}
