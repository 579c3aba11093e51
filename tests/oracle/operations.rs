//! Every operation of a trace is the system call that it says, on a tmpfs and on the build directory's file system.
//!
//! What is checked is that each argument arrives and each answer returns; what the kernel decides is the model's affair.

use agentfs::oracle::protocol::OPERATIONS;
use agentfs_model::outcome::Outcome;
use agentfs_model::values::{FileKind, Timestamp};
use serde_json::json;

use crate::trace::{Trace, in_build, in_memory, own_setting};

fn open_and_close(trace: &mut Trace) {
    trace.runs(&[
        (json!({"op": "open", "path": "f", "flags": "READ", "handle": 1}), json!({"error": "ENOENT"})),
        (
            json!({"op": "open", "path": "/f", "flags": "READ | WRITE | CREATE", "mode": 0o664, "handle": 1}),
            json!("done"),
        ),
        (
            json!({"op": "open", "path": "f", "flags": "WRITE | CREATE | EXCLUSIVE", "handle": 2}),
            json!({"error": "EEXIST"}),
        ),
        (
            json!({"op": "open", "path": "f", "flags": "READ | DIRECTORY", "handle": 2}),
            json!({"error": "ENOTDIR"}),
        ),
        (json!({"op": "write", "handle": 1, "data": "one"}), json!({"count": 3})),
        (json!({"op": "open", "path": "f", "flags": "WRITE | APPEND", "handle": 2}), json!("done")),
        (json!({"op": "write", "handle": 2, "data": "two"}), json!({"count": 3})),
        (json!({"op": "read", "handle": 2, "length": 9}), json!({"error": "EBADF"})),
        (json!({"op": "read", "handle": 1, "length": 9}), json!({"data": "two"})),
        (json!({"op": "open", "path": "f", "flags": "WRITE | TRUNCATE", "handle": 3}), json!("done")),
        (json!({"op": "pread", "handle": 1, "offset": 0, "length": 9}), json!({"data": ""})),
        (json!({"op": "close", "handle": 3}), json!("done")),
        (json!({"op": "close", "handle": 3}), json!({"error": "EBADF"})),
        (json!({"op": "close", "handle": 2}), json!("done")),
        (json!({"op": "symlink", "target": "f", "path": "s"}), json!("done")),
        (
            json!({"op": "open", "path": "s", "flags": "READ | NOFOLLOW", "handle": 2}),
            json!({"error": "ELOOP"}),
        ),
        (json!({"op": "unlink", "path": "s"}), json!("done")),
    ]);
    // The umask is 022.
    assert_eq!(trace.stat(&json!({"handle": 1})).permissions, 0o644);
    trace.does(&[
        json!({"op": "umask", "mask": 0o077}),
        json!({"op": "open", "path": "private", "flags": "READ | CREATE", "mode": 0o666, "handle": 2}),
        json!({"op": "umask", "mask": 0o022}),
        json!({"op": "close", "handle": 2}),
        json!({"op": "close", "handle": 1}),
    ]);
    assert_eq!(trace.stat(&json!({"path": "private"})).permissions, 0o600);
}

fn content(trace: &mut Trace) {
    let mib = 1 << 20;
    trace.runs(&[
        (
            json!({"op": "open", "path": "c", "flags": "READ | WRITE | CREATE", "mode": 0o644, "handle": 1}),
            json!("done"),
        ),
        (json!({"op": "pwrite", "handle": 1, "offset": mib, "data": "end"}), json!({"count": 3})),
        (json!({"op": "seek", "handle": 1, "offset": 0, "whence": "data"}), json!({"offset": mib})),
        (json!({"op": "seek", "handle": 1, "offset": 0, "whence": "hole"}), json!({"offset": 0})),
        (json!({"op": "seek", "handle": 1, "offset": mib, "whence": "hole"}), json!({"offset": mib + 3})),
        (json!({"op": "seek", "handle": 1, "offset": -3, "whence": "end"}), json!({"offset": mib})),
        (json!({"op": "seek", "handle": 1, "offset": 1, "whence": "current"}), json!({"offset": mib + 1})),
        (json!({"op": "read", "handle": 1, "length": 1}), json!({"data": "n"})),
        (json!({"op": "seek", "handle": 1, "offset": -1, "whence": "set"}), json!({"error": "EINVAL"})),
        // What is no off_t reaches the kernel as C would pass it.
        (json!({"op": "pread", "handle": 1, "offset": u64::MAX, "length": 1}), json!({"error": "EINVAL"})),
        (json!({"op": "truncate", "handle": 1, "size": u64::MAX}), json!({"error": "EINVAL"})),
        (json!({"op": "truncate", "path": "c", "size": 2}), json!("done")),
        (json!({"op": "truncate", "handle": 1, "size": 4}), json!("done")),
        (json!({"op": "pwrite", "handle": 1, "offset": 0, "data": {"hex": "ff00"}}), json!({"count": 2})),
        (json!({"op": "pread", "handle": 1, "offset": 0, "length": 9}), json!({"data": {"hex": "ff000000"}})),
        (json!({"op": "fallocate", "handle": 1, "offset": 0, "length": 8192}), json!("done")),
        (json!({"op": "fallocate", "handle": 1, "mode": "KEEP_SIZE | PUNCH_HOLE", "offset": 0, "length": 1}), json!("done")),
        (json!({"op": "fallocate", "handle": 1, "offset": 0, "length": 0}), json!({"error": "EINVAL"})),
        (json!({"op": "pread", "handle": 1, "offset": 0, "length": 2}), json!({"data": "\0\0"})),
        (
            json!({"op": "open", "path": "copy", "flags": "READ | WRITE | CREATE", "mode": 0o644, "handle": 2}),
            json!("done"),
        ),
        (json!({"op": "pwrite", "handle": 1, "offset": 0, "data": "abcdef"}), json!({"count": 6})),
        (
            json!({"op": "copy_file_range", "from": 1, "from_offset": 1, "to": 2, "to_offset": 2, "length": 3}),
            json!({"count": 3}),
        ),
        (json!({"op": "read", "handle": 2, "length": 9}), json!({"data": "\0\0bcd"})),
        (json!({"op": "fsync", "handle": 2}), json!("done")),
        (json!({"op": "fdatasync", "handle": 2}), json!("done")),
        (json!({"op": "fsync", "handle": 9}), json!({"error": "EBADF"})),
        (json!({"op": "sync"}), json!("done")),
        (json!({"op": "close", "handle": 1}), json!("done")),
        (json!({"op": "close", "handle": 2}), json!("done")),
    ]);
    let size = trace.stat(&json!({"path": "c"})).size;
    assert_eq!(size, 8192);
}

fn names(trace: &mut Trace) {
    trace.runs(&[
        (json!({"op": "mkdir", "path": "d", "mode": 0o777}), json!("done")),
        (json!({"op": "open", "path": "d", "flags": "READ | DIRECTORY", "handle": 1}), json!("done")),
        (json!({"op": "mkdir", "path": {"at": 1, "path": "inner"}, "mode": 0o1777}), json!("done")),
        (json!({"op": "rmdir", "path": "d"}), json!({"error": "ENOTEMPTY"})),
        (json!({"op": "rmdir", "path": {"at": 1, "path": "inner/"}}), json!("done")),
        (json!({"op": "mknod", "path": "d/fifo", "kind": "fifo", "mode": 0o600}), json!("done")),
        (json!({"op": "mknod", "path": "d/sock", "kind": "socket", "mode": 0o600}), json!("done")),
        (json!({"op": "mknod", "path": "d/file", "kind": "regular", "mode": 0o600}), json!("done")),
        (json!({"op": "symlink", "target": "file", "path": {"at": 1, "path": "link"}}), json!("done")),
        (json!({"op": "symlink", "target": "a\0b", "path": "nul"}), json!({"error": "EINVAL"})),
        (json!({"op": "symlink", "target": "", "path": "empty"}), json!({"error": "ENOENT"})),
        (json!({"op": "readlink", "path": {"at": 1, "path": "link"}}), json!({"target": "file"})),
        (json!({"op": "readlink", "path": "d/file"}), json!({"error": "EINVAL"})),
        (json!({"op": "link", "from": "d/link", "to": {"at": 1, "path": "link 2"}}), json!("done")),
        (json!({"op": "link", "from": "d/link", "to": "d/file 2", "follow": true}), json!("done")),
        (json!({"op": "open", "path": "d/file", "flags": "READ", "handle": 2}), json!("done")),
        (json!({"op": "link_handle", "handle": 2, "to": {"at": 1, "path": "file 3"}}), json!("done")),
        (json!({"op": "link_handle", "handle": 7, "to": "file 4"}), json!({"error": "EBADF"})),
        (
            json!({"op": "rename", "from": "d/file 3", "to": "d/file 2", "flags": "NOREPLACE"}),
            json!({"error": "EEXIST"}),
        ),
        (json!({"op": "rename", "from": "d/fifo", "to": "d/sock", "flags": "EXCHANGE"}), json!("done")),
        (json!({"op": "rename", "from": "d/sock", "to": {"at": 1, "path": "pipe"}}), json!("done")),
        (json!({"op": "unlink", "path": "d/fifo"}), json!("done")),
        (json!({"op": "unlink", "path": {"at": 1, "path": "gone"}}), json!({"error": "ENOENT"})),
        // Not open, of which a relative path speaks and an absolute one does not.
        (json!({"op": "unlink", "path": {"at": 8, "path": "gone"}}), json!({"error": "EBADF"})),
        (json!({"op": "unlink", "path": {"at": 8, "path": "/gone"}}), json!({"error": "ENOENT"})),
        (json!({"op": "unlink", "path": {"at": 2, "path": "gone"}}), json!({"error": "ENOTDIR"})),
        (json!({"op": "unlink", "path": "a\0b"}), json!({"error": "EINVAL"})),
        (json!({"op": "unlink", "path": ""}), json!({"error": "ENOENT"})),
        (json!({"op": "unlink", "path": "n".repeat(256)}), json!({"error": "ENAMETOOLONG"})),
        (json!({"op": "unlink", "path": "n/".repeat(2048)}), json!({"error": "ENAMETOOLONG"})),
    ]);
    let kind = |trace: &mut Trace, path| trace.stat(&json!({"path": path, "follow": false})).kind;
    assert_eq!(kind(trace, "d/pipe"), FileKind::Fifo);
    assert_eq!(kind(trace, "d/link 2"), FileKind::Symlink);
    assert_eq!(trace.stat(&json!({"path": "d/link 2"})).links, 3);
    trace.does(&[json!({"op": "close", "handle": 1}), json!({"op": "close", "handle": 2})]);
}

fn attributes(trace: &mut Trace) {
    let own = agentfs::oracle::host::HostDirectory::own_credentials();
    trace.does(&[
        json!({"op": "mkdir", "path": "a", "mode": 0o755}),
        json!({"op": "mknod", "path": "a/f", "kind": "regular", "mode": 0o644}),
        json!({"op": "symlink", "target": "a/f", "path": "to f"}),
        json!({"op": "open", "path": "a", "flags": "READ", "handle": 1}),
        json!({"op": "open", "path": "a/f", "flags": "READ | WRITE", "handle": 2}),
        json!({"op": "chmod", "path": "to f", "mode": 0o604}),
    ]);
    assert_eq!(trace.stat(&json!({"handle": 2})).permissions, 0o604);
    trace.does(&[json!({"op": "chmod", "handle": 2, "mode": 0o4755})]);
    assert_eq!(trace.stat(&json!({"path": {"at": 1, "path": "f"}})).permissions, 0o4755);
    trace.does(&[json!({"op": "chmod", "path": {"at": 1, "path": "f"}, "follow": false, "mode": 0o600})]);
    assert_eq!(trace.stat(&json!({"path": "to f"})).permissions, 0o600);
    assert_eq!(trace.stat(&json!({"path": "to f", "follow": false})).size, 3);
    trace.runs(&[
        (json!({"op": "chmod", "path": "to f", "follow": false, "mode": 0}), json!({"error": "EOPNOTSUPP"})),
        (json!({"op": "access", "path": "to f", "mode": "WRITE | READ"}), json!("done")),
        (json!({"op": "access", "path": {"at": 1, "path": "f"}, "mode": "EXECUTE"}), json!({"error": "EACCES"})),
        (json!({"op": "access", "path": "no", "mode": ""}), json!({"error": "ENOENT"})),
        (json!({"op": "chown", "path": "to f", "uid": own.uid}), json!("done")),
        (json!({"op": "chown", "path": "to f", "follow": false, "gid": own.gid}), json!("done")),
        (json!({"op": "chown", "handle": 2}), json!("done")),
        (json!({"op": "chown", "handle": 7}), json!({"error": "EBADF"})),
        (
            json!({"op": "utimens", "path": "to f", "atime": {"at": [-5, 999_999_999]}, "mtime": {"at": [7, 1]}}),
            json!("done"),
        ),
        (
            json!({"op": "utimens", "path": "to f", "follow": false, "atime": {"at": [1, 2]}, "mtime": "now"}),
            json!("done"),
        ),
        (json!({"op": "utimens", "handle": 2, "atime": "omit", "mtime": {"at": [8, 0]}}), json!("done")),
        (
            json!({"op": "utimens", "handle": 2, "atime": "omit", "mtime": {"at": [8, 1_000_000_000]}}),
            json!({"error": "EINVAL"}),
        ),
    ]);
    let time = |seconds, nanoseconds| Timestamp { seconds, nanoseconds };
    let file = trace.stat(&json!({"path": "a/f"}));
    assert_eq!((file.atime, file.mtime), (time(-5, 999_999_999), time(8, 0)));
    assert_eq!((file.uid, file.gid, file.kind), (own.uid, own.gid, FileKind::Regular));
    assert_eq!(trace.stat(&json!({"path": "to f", "follow": false})).atime, time(1, 2));
    trace.does(&[json!({"op": "close", "handle": 1}), json!({"op": "close", "handle": 2})]);
}

fn xattrs(trace: &mut Trace) {
    let name = json!("user.a");
    trace.runs(&[
        (json!({"op": "mkdir", "path": "x", "mode": 0o755}), json!("done")),
        (json!({"op": "mknod", "path": "x/f", "kind": "regular", "mode": 0o644}), json!("done")),
        (json!({"op": "symlink", "target": "f", "path": "x/s"}), json!("done")),
        (json!({"op": "open", "path": "x", "flags": "READ", "handle": 1}), json!("done")),
        (json!({"op": "open", "path": "x/f", "flags": "READ", "handle": 2}), json!("done")),
        (json!({"op": "setxattr", "path": "x/s", "name": name, "value": {"hex": "ff"}}), json!("done")),
        (
            json!({"op": "setxattr", "handle": 2, "name": name, "value": "", "mode": "create"}),
            json!({"error": "EEXIST"}),
        ),
        (
            json!({"op": "setxattr", "handle": 2, "name": "user.b", "value": "", "mode": "replace"}),
            json!({"error": "ENODATA"}),
        ),
        (json!({"op": "getxattr", "handle": 2, "name": name}), json!({"value": {"hex": "ff"}})),
        (json!({"op": "getxattr", "path": "x/f", "name": name}), json!({"value": {"hex": "ff"}})),
        (
            json!({"op": "getxattr", "path": "x/s", "follow": false, "name": name}),
            json!({"error": "ENODATA"}),
        ),
        (
            json!({"op": "getxattr", "handle": 2, "name": "a\0b"}),
            unsupported("the name of an attribute cannot have a NUL"),
        ),
    ]);
    let value = "v".repeat(3);
    for at in [json!({"at": 1, "path": "f"}), json!({"at": 9, "path": "/x/f"})] {
        trace.runs(&[
            (json!({"op": "setxattr", "path": at, "name": "user.c", "value": value}), json!("done")),
            (json!({"op": "getxattr", "path": at, "name": "user.c"}), json!({"value": value})),
            (
                json!({"op": "getxattr", "path": {"at": 1, "path": "s"}, "follow": false, "name": "user.c"}),
                json!({"error": "ENODATA"}),
            ),
            (json!({"op": "removexattr", "path": at, "name": "user.c"}), json!("done")),
            (json!({"op": "listxattr", "path": at}), json!({"names": ["user.a"]})),
        ]);
    }
    trace.runs(&[
        (json!({"op": "listxattr", "handle": 2}), json!({"names": ["user.a"]})),
        (json!({"op": "listxattr", "path": "x/s", "follow": false}), json!({"names": []})),
        (json!({"op": "removexattr", "handle": 2, "name": name}), json!("done")),
        (json!({"op": "removexattr", "path": "x/f", "name": name}), json!({"error": "ENODATA"})),
        (json!({"op": "listxattr", "path": "x/f"}), json!({"names": []})),
        (json!({"op": "close", "handle": 1}), json!("done")),
        (json!({"op": "close", "handle": 2}), json!("done")),
    ]);
}

fn unsupported(why: &str) -> serde_json::Value {
    json!({ "unsupported": why })
}

/// The names that a call of readdir returns, which must be at most `count`.
fn list(trace: &mut Trace, handle: u32, count: u32) -> Vec<String> {
    match trace.outcome(&json!({"op": "readdir", "handle": handle, "count": count})) {
        Outcome::Entries(entries) => {
            assert!(entries.len() <= count as usize);
            entries.into_iter().map(|entry| String::from_utf8(entry.name.0).unwrap()).collect()
        }
        outcome => panic!("{outcome:?}"),
    }
}

// spec: ORA-10, ORA-11
fn listings(trace: &mut Trace) {
    trace.does(&[
        json!({"op": "mkdir", "path": "l", "mode": 0o755}),
        json!({"op": "open", "path": "l", "flags": "READ", "handle": 1}),
    ]);
    assert_eq!(list(trace, 1, 5), Vec::<String>::new());
    for number in 0..9 {
        trace.does(&[json!({"op": "mkdir", "path": format!("l/{number}"), "mode": 0o755})]);
    }
    trace.does(&[json!({"op": "seekdir", "handle": 1, "after": 0})]);
    assert_eq!(list(trace, 1, 0), Vec::<String>::new());
    let one = list(trace, 1, 1);
    let three = list(trace, 1, 3);
    // Nothing is read ahead: what goes now is not returned any more.
    let rest: Vec<String> = (0..9)
        .map(|number| number.to_string())
        .filter(|name| ![&one[..], &three].concat().contains(name))
        .collect();
    trace.does(&[json!({"op": "rmdir", "path": format!("l/{}", rest[0])})]);
    let more = list(trace, 1, 100);
    let mut all = [one.clone(), three.clone(), more.clone()].concat();
    all.sort();
    let mut due: Vec<String> =
        (0..9).map(|number| number.to_string()).filter(|name| *name != rest[0]).collect();
    due.sort();
    assert_eq!(all, due);
    assert_eq!(list(trace, 1, 100), Vec::<String>::new());
    // Back to after the third, and from there to after the first.
    trace.does(&[json!({"op": "seekdir", "handle": 1, "after": 3})]);
    assert_eq!(list(trace, 1, 1), three[2..]);
    trace.does(&[json!({"op": "seekdir", "handle": 1, "after": 1})]);
    assert_eq!(list(trace, 1, 2), three[..2]);
    trace.runs(&[
        (json!({"op": "seekdir", "handle": 1, "after": 4}), json!({"error": "EINVAL"})),
        (json!({"op": "seekdir", "handle": 2, "after": 0}), json!({"error": "EBADF"})),
        (json!({"op": "readdir", "handle": 2, "count": 1}), json!({"error": "EBADF"})),
        (json!({"op": "mknod", "path": "l/file", "kind": "regular", "mode": 0o644}), json!("done")),
        (json!({"op": "open", "path": "l/file", "flags": "READ", "handle": 2}), json!("done")),
        (json!({"op": "readdir", "handle": 2, "count": 1}), json!({"error": "ENOTDIR"})),
        (json!({"op": "seekdir", "handle": 2, "after": 0}), json!({"error": "ENOTDIR"})),
        (json!({"op": "close", "handle": 2}), json!("done")),
        (json!({"op": "close", "handle": 1}), json!("done")),
    ]);
}

fn the_whole(trace: &mut Trace) {
    let Outcome::Statistics(shown) = trace.outcome(&json!({"op": "statfs"})) else { panic!("no statistics") };
    assert!(shown.blocks_available <= shown.blocks_free && shown.blocks_free <= shown.blocks, "{shown:?}");
    assert_eq!(shown.longest_name, 255);
    for call in [json!({"op": "reopen"}), json!({"op": "crash"})] {
        assert!(matches!(trace.outcome(&call), Outcome::Unsupported(_)), "{call}");
    }
}

fn every_operation(trace: &mut Trace) {
    open_and_close(trace);
    content(trace);
    names(trace);
    attributes(trace);
    xattrs(trace);
    listings(trace);
    the_whole(trace);
    let mut all = OPERATIONS.map(String::from);
    all.sort();
    assert_eq!(trace.used.iter().cloned().collect::<Vec<_>>(), all);
}

#[test]
fn every_operation_is_a_system_call_on_a_tmpfs() {
    every_operation(&mut Trace::begin(in_memory(), &own_setting()));
}

#[test]
fn every_operation_is_a_system_call_where_the_build_is() {
    every_operation(&mut Trace::begin(in_build(), &own_setting()));
}

// spec: ORA-13
#[test]
fn what_is_no_system_call_is_unsupported() {
    let mut trace = Trace::begin(in_memory(), &own_setting());
    trace.does(&[
        json!({"op": "mkdir", "path": "d", "mode": 0o755}),
        json!({"op": "open", "path": "d", "flags": "READ", "handle": 1}),
    ]);
    for call in [
        json!({"op": "truncate", "path": {"at": 1, "path": "f"}, "size": 0}),
        json!({"op": "open", "path": "d", "flags": "", "handle": 2}),
        json!({"op": "open", "path": "d", "flags": "READ", "handle": 1}),
        json!({"op": "read", "handle": 1, "length": (64_u64 << 20) + 1}),
        json!({"by": 1, "op": "sync"}),
    ] {
        assert!(matches!(trace.outcome(&call), Outcome::Unsupported(_)), "{call}");
    }
}

// spec: ORA-16
#[test]
fn the_times_that_a_call_gives_lie_between_its_clock_readings() {
    for folder in [in_memory(), in_build()] {
        let mut trace = Trace::begin(folder, &own_setting());
        let (before, after) = trace.begun;
        let root = trace.stat(&json!({"path": "/"}));
        for time in [root.atime, root.mtime, root.ctime] {
            assert!(before <= time && time <= after, "{before:?} {time:?} {after:?}");
        }
        for number in 0..200 {
            let path = format!("f{number}");
            let call = json!({"op": "mknod", "path": path, "kind": "regular", "mode": 0o644});
            let (before, after) = trace.answer(&call).unwrap().between.unwrap();
            // Looking makes the kernel take the fine clock for the next change.
            let shown = trace.stat(&json!({"path": path}));
            assert!(before <= shown.mtime && shown.mtime <= after, "{before:?} {shown:?} {after:?}");
            let call = json!({"op": "chmod", "path": path, "mode": 0o600});
            let (before, after) = trace.answer(&call).unwrap().between.unwrap();
            let shown = trace.stat(&json!({"path": path}));
            assert!(before <= shown.ctime && shown.ctime <= after, "{before:?} {shown:?} {after:?}");
        }
    }
}

// spec: ORA-3
#[test]
fn every_trace_begins_with_an_empty_tree() {
    let mut trace = Trace::begin(in_memory(), &own_setting());
    trace.does(&[
        json!({"op": "mkdir", "path": "a", "mode": 0o755}),
        json!({"op": "mkdir", "path": "a/b", "mode": 0}),
        json!({"op": "mknod", "path": "a/f", "kind": "fifo", "mode": 0}),
        json!({"op": "symlink", "target": "/nowhere", "path": "s"}),
        json!({"op": "setxattr", "path": "/", "name": "user.a", "value": "1"}),
        json!({"op": "chmod", "path": "/", "mode": 0o1700}),
        json!({"op": "open", "path": "a", "flags": "READ", "handle": 1}),
        json!({"op": "umask", "mask": 0o777}),
    ]);
    trace.again(&own_setting());
    let tree = trace.tree();
    assert_eq!(tree.objects.len(), 1, "{tree:?}");
    assert_eq!((tree.objects[0].status.permissions, &tree.objects[0].xattrs), (0o755, &Vec::new()));
    trace.runs(&[
        (json!({"op": "close", "handle": 1}), json!({"error": "EBADF"})),
        (json!({"op": "mkdir", "path": "a", "mode": 0o777}), json!("done")),
    ]);
    assert_eq!(trace.stat(&json!({"path": "a"})).permissions, 0o755);
}
