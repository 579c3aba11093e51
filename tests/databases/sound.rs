//! Databases in which nothing is wrong.

use agentfs::tools::Call;
use agentfs::types::{
    Caller, DeviceNumber, FileKind, Gid, Ino, Mode, Name, SetAttributes, SetTime, Target, Timestamp, Uid,
};
use agentfs::vfs::{NodeSpec, Vfs, WriteFlags, XattrMode};
use serde_json::json;

use crate::common::{Fixture, START, n};
use crate::{CHUNK, Golden};

pub fn databases() -> Vec<Golden> {
    vec![
        Golden::new("empty", "A new database", |_| {}),
        Golden::new(
            "objects",
            "Every kind of object, with owners, permissions, times, attributes, hard links, odd names",
            objects,
        ),
        Golden::new("content", "Files that are empty, inline, in chunks, sparse, and cut short", content),
        Golden::killed(
            "pending",
            "A file and a directory that lost their last name while they were open",
            pending,
        ),
        Golden::new("stores", "Keys and tool calls", stores),
        Golden::new(
            "core-only",
            "What a program leaves that knows only the core tables and counts links as stat does",
            |fixture| {
                fixture.directory(Ino::ROOT, "d");
                fixture.file(Ino::ROOT, "f", b"text");
                fixture.foreign(
                "DROP TABLE ext_registry; DROP TABLE ext_xattr; DROP TABLE ext_orphan; DROP TABLE ext_mount;
                 DROP TABLE ext_tool_call;
                 UPDATE fs_inode SET nlink = 2 WHERE ino = 2;",
            );
            },
        ),
    ]
}

fn set(fixture: &Fixture, ino: Ino, change: impl FnOnce(&mut SetAttributes)) {
    let mut changes = SetAttributes::default();
    change(&mut changes);
    fixture.fs.setattr(&Caller::root(), ino, &changes).unwrap();
}

fn objects(fixture: &Fixture) {
    let root = Caller::root();
    let directory = fixture.directory(Ino::ROOT, "directory");
    let file = fixture.file(directory, "file", b"text").ino;
    fixture.fs.link(&root, file, Ino::ROOT, n("second name")).unwrap();
    fixture.symlink(directory, "relative", "../directory/file");
    fixture.symlink(Ino::ROOT, "dangling", "/not/there");
    let target = Target::new(b"\xff\xfe").unwrap();
    fixture.fs.symlink(&root, Ino::ROOT, n("to bytes"), target).unwrap();
    let odd: [&[u8]; 4] = [b"\xff\xfe", "caf\u{e9}".as_bytes(), "cafe\u{301}".as_bytes(), b"line\nbreak\t\\"];
    for name in odd {
        fixture.fs.create(&root, Ino::ROOT, Name::new(name).unwrap(), 0o644).unwrap();
    }
    for (name, kind, number) in [
        ("fifo", FileKind::Fifo, 0),
        ("socket", FileKind::Socket, 0),
        ("null", FileKind::CharacterDevice, 0x103),
        ("disk", FileKind::BlockDevice, 0x1111_0370),
    ] {
        let node = NodeSpec { mode: Mode::new(kind, 0o600), rdev: DeviceNumber(number) };
        fixture.fs.mknod(&root, directory, n(name), node).unwrap();
    }
    set(fixture, file, |changes| (changes.uid, changes.gid) = (Some(Uid(1000)), Some(Gid(1001))));
    set(fixture, file, |changes| changes.permissions = Some(0o6751));
    set(fixture, directory, |changes| changes.permissions = Some(0o1777));
    set(fixture, file, |changes| {
        changes.atime = Some(SetTime::At(Timestamp::new(-1, 999_999_999)));
        changes.mtime = Some(SetTime::At(Timestamp::new(10_000_000_000, 1)));
    });
    for (ino, name, value) in
        [(file, &b"user.a"[..], &b"1"[..]), (file, b"security.b", b""), (directory, b"trusted.c", b"\0\xff")]
    {
        fixture.fs.setxattr(&root, ino, name, value, XattrMode::Set).unwrap();
    }
}

fn content(fixture: &Fixture) {
    let write = |ino, offset: usize, bytes: &[u8]| {
        fixture.fs.write(ino, offset as u64, bytes, WriteFlags::empty()).unwrap();
    };
    let size = |ino, size| set(fixture, ino, |changes| changes.size = Some(size));
    fixture.file(Ino::ROOT, "empty", b"");
    fixture.file(Ino::ROOT, "inline", b"sixteen bytes \0\xff");
    fixture.file(Ino::ROOT, "largest inline", &[b'i'; 64]);
    fixture.file(Ino::ROOT, "smallest chunked", &[b'c'; 65]);
    fixture.file(Ino::ROOT, "one chunk", &[b'c'; CHUNK]);
    let chunks = fixture.file(Ino::ROOT, "chunks", &[b'c'; 2 * CHUNK + 1]).ino;
    write(chunks, CHUNK - 1, b"ab");
    let sparse = fixture.file(Ino::ROOT, "sparse", b"").ino;
    write(sparse, 3 * CHUNK + 10, b"after a hole");
    write(sparse, 100 * CHUNK, b"far away");
    size(sparse, 1 << 40);
    let all_hole = fixture.file(Ino::ROOT, "all hole", b"").ino;
    size(all_hole, 1_000_000);
    fixture.file(Ino::ROOT, "zeros", &[0; 3 * CHUNK]);
    let cut = fixture.file(Ino::ROOT, "cut short", &[b'x'; 3 * CHUNK]).ino;
    size(cut, CHUNK as u64 + 7);
    let regrown = fixture.file(Ino::ROOT, "cut and grown", &[b'x'; 3 * CHUNK]).ino;
    size(regrown, 5);
    size(regrown, 2 * CHUNK as u64);
    let small_again = fixture.file(Ino::ROOT, "small again", &[b'x'; 2 * CHUNK]).ino;
    size(small_again, 3);
}

fn pending(fixture: &Fixture) {
    let file = fixture.file(Ino::ROOT, "file", b"still read by somebody").ino;
    let directory = fixture.directory(Ino::ROOT, "directory");
    fixture.file(Ino::ROOT, "stays", b"");
    fixture.unlink(Ino::ROOT, "file").unwrap();
    fixture.rmdir(Ino::ROOT, "directory").unwrap();
    assert_eq!((file, directory), (Ino(2), Ino(3)));
}

fn stores(fixture: &Fixture) {
    let kv = fixture.fs.kv();
    kv.set_text("number", "123456789012345678901234567890.5").unwrap();
    kv.set("nested", &json!({ "list": [1, null, true], "caf\u{e9}": "\u{1f980}" })).unwrap();
    kv.set("", &json!("the empty key")).unwrap();
    kv.set("null", &json!(null)).unwrap();
    kv.set("gone", &json!(1)).unwrap();
    kv.delete("gone").unwrap();
    let at = |seconds| Timestamp::new(START.seconds + seconds, 250_000_000);
    let tools = fixture.fs.tools();
    let search = Call::succeeded("search", json!(["a", "b"]), at(0), at(2));
    let search = search.with_parameters_text("{\"query\": \"rust\"}").unwrap();
    tools.record(&Call { session: Some("morning".into()), ..search }).unwrap();
    tools.record(&Call::failed("fetch", "no network", at(3), at(3))).unwrap();
    tools.record(&Call { parent: Some(1), ..Call::succeeded("nothing", json!(null), at(4), at(5)) }).unwrap();
}
