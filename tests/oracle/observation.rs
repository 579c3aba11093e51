//! The tree that an observation shows, and that looking leaves no trace.

use agentfs_model::bytes::Bytes;
use agentfs_model::values::FileKind;
use serde_json::json;

use crate::trace::{Trace, in_build, in_memory, own_setting};

fn make_tree(trace: &mut Trace) {
    let mib = 1 << 20;
    trace.does(&[
        json!({"op": "mkdir", "path": "d", "mode": 0o750}),
        json!({"op": "mkdir", "path": "d/e", "mode": 0o700}),
        json!({"op": "symlink", "target": "../f", "path": "d/s"}),
        json!({"op": "mknod", "path": "d/p", "kind": "fifo", "mode": 0o600}),
        json!({"op": "open", "path": "f", "flags": "READ | WRITE | CREATE", "mode": 0o600, "handle": 1}),
    ]);
    trace.runs(&[
        (json!({"op": "write", "handle": 1, "data": "begin"}), json!({"count": 5})),
        (json!({"op": "pwrite", "handle": 1, "offset": mib, "data": {"hex": "00ff"}}), json!({"count": 2})),
        (json!({"op": "truncate", "handle": 1, "size": 2 * mib}), json!("done")),
        (json!({"op": "setxattr", "path": "d", "name": "user.b", "value": "2"}), json!("done")),
        (json!({"op": "setxattr", "path": "d", "name": "user.a", "value": "1"}), json!("done")),
        (json!({"op": "link", "from": "f", "to": "d/g"}), json!("done")),
    ]);
}

// spec: ORA-17
#[test]
fn an_observation_shows_everything_that_is_there() {
    for folder in [in_memory(), in_build()] {
        let mut trace = Trace::begin(folder, &own_setting());
        make_tree(&mut trace);
        let tree = trace.tree();
        let mut paths: Vec<_> = tree.objects.iter().map(|object| object.path.clone()).collect();
        assert_eq!(paths[0], Bytes::from("/"));
        paths.sort();
        let all = ["/", "/d", "/d/e", "/d/g", "/d/p", "/d/s", "/f"].map(Bytes::from);
        assert_eq!(paths, all);
        for object in &tree.objects {
            let path = std::str::from_utf8(&object.path).unwrap();
            assert_eq!(object.status, trace.stat(&json!({"path": path, "follow": false})), "{path}");
            assert_eq!(object.content.is_some(), object.status.kind == FileKind::Regular, "{path}");
            assert_eq!(object.entries.is_some(), object.status.kind == FileKind::Directory, "{path}");
        }
        let mut entries = tree.at("/d").unwrap().entries.clone().unwrap();
        entries.sort();
        let names: Vec<_> = entries.iter().map(|entry| entry.name.clone()).collect();
        assert_eq!(names, ["e", "g", "p", "s"].map(Bytes::from));
        assert_eq!(entries[1].inode, tree.at("/f").unwrap().status.inode);
        let xattrs =
            [("user.a", "1"), ("user.b", "2")].map(|(name, value)| (Bytes::from(name), Bytes::from(value)));
        assert_eq!(tree.at("/d").unwrap().xattrs, xattrs);
        for path in ["/f", "/d/g"] {
            // The pieces hold all that was written, and zeroes around it as the file system rounds.
            let pieces = tree.at(path).unwrap().content.as_ref().unwrap();
            assert_eq!(pieces.len(), 2, "{pieces:?}");
            assert_eq!((pieces[0].0, pieces[1].0), (0, 1 << 20));
            assert!(pieces[0].1.starts_with(b"begin") && pieces[1].1.starts_with(&[0, 0xff]), "{pieces:?}");
        }
    }
}

// spec: ORA-17
#[test]
fn looking_moves_no_time() {
    for folder in [in_memory(), in_build()] {
        let mut trace = Trace::begin(folder, &own_setting());
        make_tree(&mut trace);
        // So old that every read would move them.
        let old = json!({"at": [1, 0]});
        for path in ["/", "d", "d/e", "d/s", "d/p", "f"] {
            trace
                .does(&[json!({"op": "utimens", "path": path, "follow": false, "atime": old, "mtime": old})]);
        }
        let first = trace.tree();
        assert_eq!(trace.tree(), first);
        assert_eq!(first.at("/f").unwrap().status.atime.seconds, 1);
        // A trace's own reads move them, so what is above could have failed.
        trace.does(&[json!({"op": "open", "path": "d", "flags": "READ", "handle": 2})]);
        trace.outcome(&json!({"op": "readdir", "handle": 2, "count": 9}));
        trace.outcome(&json!({"op": "pread", "handle": 1, "offset": 0, "length": 1}));
        let later = trace.tree();
        for path in ["/d", "/f"] {
            assert!(later.at(path).unwrap().status.atime.seconds > 1, "{path}");
        }
    }
}

// spec: ORA-17
#[test]
fn what_no_process_may_read_is_seen_too() {
    let mut trace = Trace::begin(in_memory(), &own_setting());
    make_tree(&mut trace);
    trace.does(&[
        json!({"op": "chmod", "path": "f", "mode": 0}),
        json!({"op": "chmod", "path": "d", "mode": 0}),
        json!({"op": "chmod", "path": "/", "mode": 0}),
    ]);
    assert_eq!(trace.tree().objects.len(), 7);
    trace.again(&own_setting());
    assert_eq!(trace.tree().objects.len(), 1);
}

// spec: ORA-17
#[test]
fn what_a_trace_left_at_the_root_is_gone_in_the_next() {
    for folder in [in_memory(), in_build()] {
        let mut trace = Trace::begin(folder, &own_setting());
        // Only user 0 may name what belongs to the machine's protection.
        let name = if own_setting().processes[0].uid == 0 { "security.a" } else { "user.a" };
        trace.does(&[json!({"op": "setxattr", "path": "/", "name": name, "value": "1"})]);
        assert_eq!(trace.tree().at("/").unwrap().xattrs.len(), 1);
        trace.again(&own_setting());
        assert_eq!(trace.tree().at("/").unwrap().xattrs, []);
    }
}
