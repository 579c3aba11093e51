//! A trace reaches nothing outside of its directory, and takes nothing away that was not its own.

use agentfs::oracle::host::{NotTaken, PlainDirectory};
use agentfs_model::outcome::Outcome;
use serde_json::json;

use crate::trace::{Trace, in_memory, own_setting};

// spec: ORA-12
#[test]
fn absolute_symlinks_and_parents_of_the_root_stay_inside() {
    let mut trace = Trace::begin(in_memory(), &own_setting());
    let etc = std::env::temp_dir();
    trace.does(&[
        json!({"op": "symlink", "target": etc.to_str().unwrap(), "path": "absolute"}),
        json!({"op": "symlink", "target": "../../../..", "path": "up"}),
        json!({"op": "open", "path": "/", "flags": "READ", "handle": 1}),
    ]);
    trace.runs(&[
        (json!({"op": "stat", "path": "absolute"}), json!({"error": "ENOENT"})),
        (json!({"op": "mkdir", "path": "../../escaped", "mode": 0o755}), json!("done")),
        (json!({"op": "mkdir", "path": {"at": 1, "path": "up/../too"}, "mode": 0o755}), json!("done")),
    ]);
    let root = trace.stat(&json!({"path": "/"})).inode;
    assert_eq!(trace.stat(&json!({"path": "up"})).inode, root);
    let path = trace.path();
    assert!(path.join("escaped").is_dir() && path.join("too").is_dir());
}

// spec: ORA-14
#[test]
fn no_device_of_the_machine_is_opened() {
    let mut trace = Trace::begin(in_memory(), &own_setting());
    // As in st_rdev: major 1, minor 3.
    let first = (1 << 8) | 3;
    let made = trace.outcome(
        &json!({"op": "mknod", "path": "null", "kind": "char_device", "mode": 0o666, "rdev": first}),
    );
    if made != Outcome::Done {
        // Only user 0 makes devices.
        assert_eq!(serde_json::to_value(made).unwrap(), json!({"error": "EPERM"}));
        return;
    }
    let big = (300 << 8) | 5 | (0x12 << 20);
    trace.does(&[
        json!({"op": "symlink", "target": "null", "path": "link"}),
        json!({"op": "mknod", "path": "big", "kind": "block_device", "mode": 0o666, "rdev": big}),
    ]);
    assert_eq!(trace.stat(&json!({"path": "null"})).rdev, first);
    assert_eq!(trace.stat(&json!({"path": "big"})).rdev, big);
    for path in ["null", "link", "big"] {
        let outcome =
            trace.outcome(&json!({"op": "open", "path": path, "flags": "READ | WRITE", "handle": 1}));
        assert!(matches!(outcome, Outcome::Unsupported(_)), "{path}: {outcome:?}");
    }
    trace.runs(&[
        (json!({"op": "open", "path": "link", "flags": "READ | NOFOLLOW", "handle": 1}), json!({"error": "ELOOP"})),
        (json!({"op": "open", "path": "file", "flags": "READ | WRITE | CREATE", "mode": 0o600, "handle": 1}), json!("done")),
    ]);
}

// spec: ORA-12
#[test]
fn a_directory_with_something_in_it_is_not_taken() {
    let folder = in_memory();
    std::fs::write(folder.path().join("precious"), b"").unwrap();
    assert!(matches!(PlainDirectory::new(folder.path()), Err(NotTaken::NotEmpty { .. })));
    assert!(folder.path().join("precious").exists());
    assert!(matches!(PlainDirectory::new(folder.path().join("no")), Err(NotTaken::Unreadable { .. })));
}
