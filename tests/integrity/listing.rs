//! The listing of a database: the whole tree as the tables have it.

use agentfs::integrity::{Entry, Inode, Listing, Piece, listing_of_file};
use agentfs::types::{Caller, Ino, SetAttributes};
use agentfs::vfs::{Vfs, XattrMode};
use serde_json::json;

use crate::common::{Fixture, START, n};
use crate::sound::{CHUNK, Sound};

fn paths(listing: &Listing) -> Vec<String> {
    listing.entries.iter().map(|entry| String::from_utf8_lossy(&entry.path).into_owned()).collect()
}

fn at<'a>(listing: &'a Listing, path: &str) -> &'a Inode {
    let entry: &Entry = listing.entries.iter().find(|entry| entry.path == path.as_bytes()).unwrap();
    let inode = entry.inode.as_ref().unwrap();
    assert_eq!(inode.ino, entry.ino);
    inode
}

// spec: INT-6
#[test]
fn every_path_is_listed_in_the_order_of_bytes() {
    let sound = Sound::new();
    let listing = sound.fixture.fs.listing().unwrap();
    assert_eq!(
        paths(&listing),
        [
            "/",
            "/directory",
            "/directory/block",
            "/directory/device",
            "/directory/fifo",
            "/directory/inline",
            "/directory/inner",
            "/directory/inner/caf\u{e9}",
            "/directory/inner/chunked",
            "/directory/inner/second name",
            "/directory/socket",
            "/empty",
        ]
    );
    assert_eq!(listing.unnamed, []);
    sound.fixture.fs.sync().unwrap();
    assert_eq!(listing_of_file(&sound.fixture.path()).unwrap(), listing);
}

// spec: INT-6
#[test]
fn an_inode_is_shown_as_its_rows_have_it() {
    let sound = Sound::new();
    let fs = &sound.fixture.fs;
    let changes = SetAttributes {
        permissions: Some(0o4751),
        uid: Some(agentfs::types::Uid(7)),
        gid: Some(agentfs::types::Gid(8)),
        ..SetAttributes::default()
    };
    fs.setattr(&Caller::root(), sound.inline, &changes).unwrap();
    fs.setxattr(&Caller::root(), sound.inline, b"user.b", b"", XattrMode::Set).unwrap();
    fs.setxattr(&Caller::root(), sound.inline, b"user.a", b"1", XattrMode::Set).unwrap();
    let listing = fs.listing().unwrap();
    let start = (START.seconds, i64::from(START.nanoseconds));
    let expected = Inode {
        ino: sound.inline.0,
        mode: 0o104_751,
        nlink: 2,
        uid: 7,
        gid: 8,
        rdev: 0,
        size: 11,
        atime: start,
        mtime: start,
        ctime: start,
        storage_kind: 1,
        target: None,
        xattrs: [(b"user.a".to_vec(), b"1".to_vec()), (b"user.b".to_vec(), Vec::new())].into(),
        content: vec![Piece { offset: 0, bytes: b"a few bytes".to_vec() }],
    };
    assert_eq!(*at(&listing, "/directory/inline"), expected);
    assert_eq!(*at(&listing, "/directory/inner/second name"), expected);
    let symlink = at(&listing, "/directory/inner/caf\u{e9}");
    assert_eq!((symlink.target.as_deref(), symlink.size), (Some("../inl\u{ef}ne".as_bytes()), 10));
    let device = at(&listing, "/directory/device");
    assert_eq!((device.mode, device.rdev, device.nlink), (0o20600, 0x103, 1));
    assert_eq!((at(&listing, "/").nlink, at(&listing, "/directory").nlink), (1, 1), "the count at rest");
}

// spec: INT-6, FS-DATA-11
#[test]
fn the_content_of_a_sparse_file_is_what_is_stored_of_it_before_its_end() {
    let sound = Sound::new();
    let chunked = sound.chunked;
    let pieces = || at(&sound.fixture.fs.listing().unwrap(), "/directory/inner/chunked").content.clone();
    let offsets = || pieces().iter().map(|piece| (piece.offset, piece.bytes.len())).collect::<Vec<_>>();
    assert_eq!(at(&sound.fixture.fs.listing().unwrap(), "/directory/inner/chunked").size, 1 << 40);
    let far = pieces().pop().unwrap();
    assert_eq!(far.offset, 5 * CHUNK);
    assert!(far.bytes.starts_with(&[&[0; 10][..], b"after a hole"].concat()));
    // What another program left past a chunk or the end is not shown.
    sound.fixture.foreign(&format!(
        "UPDATE fs_inode SET size = {} WHERE ino = {chunked};
         UPDATE fs_data SET data = zeroblob(9999) WHERE ino = {chunked} AND chunk_index = 0;
         INSERT INTO fs_data (ino, chunk_index, data) VALUES ({chunked}, -1, x'00'),
           ({chunked}, 9000000000000000000, x'00')",
        5 * CHUNK + 12,
    ));
    assert_eq!(offsets(), [(0, 512), (CHUNK, 512), (5 * CHUNK, 12)]);
}

// spec: INT-6
#[test]
fn listing_moves_no_time() {
    let sound = Sound::new();
    sound.fixture.clock.advance(100_000);
    let before = sound.fixture.fs.listing().unwrap();
    sound.fixture.fs.sync().unwrap();
    let reopened = sound.fixture.reopen();
    assert_eq!(reopened.fs.listing().unwrap(), before);
    assert_eq!(reopened.stat(Ino::ROOT).atime, START);
}

// spec: INT-6
#[test]
fn inodes_that_no_path_leads_to_come_last() {
    let sound = Sound::new();
    let Sound { inner, empty, chunked, inline, symlink, ref fixture, .. } = sound;
    fixture.unlink(Ino::ROOT, "empty").unwrap();
    let listing = fixture.fs.listing().unwrap();
    assert_eq!(
        listing.unnamed.iter().map(|inode| (inode.ino, inode.nlink)).collect::<Vec<_>>(),
        [(empty.0, 0)]
    );
    // A directory below itself cannot be reached, nor what lies in it.
    fixture.foreign(&format!("UPDATE fs_dentry SET parent_ino = {inner} WHERE ino = {inner}"));
    let listing = fixture.fs.listing().unwrap();
    let unnamed: Vec<_> = listing.unnamed.iter().map(|inode| inode.ino).collect();
    let mut expected = [inner.0, empty.0, chunked.0, symlink.0];
    expected.sort_unstable();
    assert_eq!(unnamed, expected, "and the file with a second name, {inline}, is still there");
}

// spec: INT-6, PATH-12
#[test]
fn damage_does_not_make_a_listing_endless_or_hide_an_entry() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    fixture.foreign(&format!(
        "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('again', {directory}, {directory}),
           ('top', {directory}, 1), ('ghost', 1, 4711)"
    ));
    let listing = fixture.fs.listing().unwrap();
    assert_eq!(paths(&listing), ["/", "/d", "/d/again", "/d/top", "/ghost"]);
    assert_eq!((listing.entries[4].ino, &listing.entries[4].inode), (4711, &None));
}

// spec: INT-6, CLI-4
#[test]
fn a_listing_is_json_that_loses_no_byte() {
    let sound = Sound::new();
    let fs = &sound.fixture.fs;
    let file = sound.raw_name(Ino::ROOT, b"caf\xe9");
    fs.write(file, 0, b"\0\xff", agentfs::vfs::WriteFlags::empty()).unwrap();
    fs.setxattr(&Caller::root(), file, b"user.x", b"\xff", XattrMode::Set).unwrap();
    let link = agentfs::types::Target::new(b"\xe9").unwrap();
    fs.symlink(&Caller::root(), sound.inner, n("link"), link).unwrap();
    let listing = serde_json::to_value(fs.listing().unwrap()).unwrap();
    let entries = listing["entries"].as_array().unwrap();
    let entry = |path: &str| entries.iter().find(|entry| entry["path"] == path).unwrap();
    let time = json!([START.seconds, START.nanoseconds]);
    assert_eq!(
        *entry("/caf\u{fffd}"),
        json!({
            "path": "/caf\u{fffd}", "path_bytes": "2f636166e9", "ino": file.0, "mode": 0o100_644, "nlink": 1, "uid": 0,
            "gid": 0, "rdev": 0, "size": 2, "atime": time, "mtime": time, "ctime": time, "storage_kind": 1,
            "xattrs": [{ "name": "user.x", "value": "\u{fffd}", "value_bytes": "ff" }],
            "content": [{ "offset": 0, "data": "\0\u{fffd}", "data_bytes": "00ff" }],
        })
    );
    let link = entry("/directory/inner/link");
    assert_eq!((&link["target"], &link["target_bytes"]), (&json!("\u{fffd}"), &json!("e9")));
    assert_eq!(listing["unnamed"], json!([]));
    // The paths come in the order of their bytes, and so does the text.
    assert_eq!(entries[0]["path"], "/");
}

// spec: INT-6, INT-20
#[test]
fn a_number_that_is_none_cannot_be_listed() {
    let sound = Sound::new();
    sound.fixture.foreign("UPDATE fs_inode SET size = 'large' WHERE ino = 2");
    let refused = sound.fixture.fs.listing().unwrap_err();
    assert_eq!(refused.errno(), agentfs::Errno::EIO);
}
