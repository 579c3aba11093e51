//! What is left of operations when the process ends between any two writes of the log.

use std::fs;
use std::path::Path;
use std::time::Duration;

use agentfs::types::{Caller, Ino};
use agentfs::vfs::{DirectoryPosition, RenameFlags, Vfs, WriteFlags, XattrMode};
use agentfs::{AgentFs, Options};

use crate::common::{Fixture, n};

/// Every name with its content, and how many inodes there are.
fn picture(fs: &AgentFs) -> Vec<(Vec<u8>, Vec<u8>, u32)> {
    let entries = fs.readdir(Ino::ROOT, DirectoryPosition::START, 100, false).unwrap();
    let mut found: Vec<_> = entries
        .into_iter()
        .map(|entry| {
            let nlink = fs.getattr(entry.ino).unwrap().nlink;
            let content = fs.read(entry.ino, 0, 1 << 20).unwrap_or_default();
            let names = fs.listxattr(&Caller::root(), entry.ino).unwrap().concat();
            (entry.name, [content, names].concat(), nlink)
        })
        .collect();
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for name in ["agent.db", "agent.db-wal"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

// spec: DUR-1, DUR-11, OPEN-3
#[test]
fn a_log_that_ends_anywhere_holds_whole_operations() {
    let fixture = Fixture::with(|options| {
        // Each operation is a group of its own, so that a cut can fall between any two.
        options.group.bytes = 1;
        options.page_size = 4096;
        options.chunk_size = 4096;
    });
    let file = fixture.file(Ino::ROOT, "file", b"old").ino;
    fixture.file(Ino::ROOT, "other", b"other");
    fixture.fs.sync().unwrap();
    let folder = fixture.folder.path();
    let mut pictures = vec![picture(&fixture.fs)];
    let start = fs::metadata(folder.join("agent.db-wal")).unwrap().len();
    let caller = Caller::root();
    let step = |pictures: &mut Vec<_>| pictures.push(picture(&fixture.fs));
    fixture.fs.write(file, 0, &[b'x'; 20_000], WriteFlags::empty()).unwrap();
    step(&mut pictures);
    fixture.rename((Ino::ROOT, "file"), (Ino::ROOT, "other"), RenameFlags::EXCHANGE).unwrap();
    step(&mut pictures);
    fixture.fs.setxattr(&caller, file, b"user.a", b"1", XattrMode::Set).unwrap();
    step(&mut pictures);
    fixture.fs.link(&caller, file, Ino::ROOT, n("third")).unwrap();
    step(&mut pictures);
    fixture.rename((Ino::ROOT, "file"), (Ino::ROOT, "third"), RenameFlags::empty()).unwrap();
    step(&mut pictures);
    fixture.unlink(Ino::ROOT, "other").unwrap();
    step(&mut pictures);
    fixture.fs.mkdir(&caller, Ino::ROOT, n("directory"), 0o755).unwrap();
    step(&mut pictures);
    let log = fs::read(folder.join("agent.db-wal")).unwrap();
    let frame = 4096 + 24;
    let mut reached = 0;
    let cut = tempfile::tempdir().unwrap();
    for length in (start as usize..=log.len()).step_by(frame) {
        copy(folder, cut.path());
        fs::write(cut.path().join("agent.db-wal"), &log[..length]).unwrap();
        let fs = AgentFs::open(&cut.path().join("agent.db"), &Options::default()).unwrap();
        let found = picture(&fs);
        let at = pictures.iter().position(|known| *known == found);
        let at = at.unwrap_or_else(|| panic!("after {length} bytes of the log: {found:?}"));
        assert!(at >= reached, "operations are in order");
        reached = at;
        fs.close().unwrap();
    }
    assert_eq!(reached, pictures.len() - 1, "all of the log is all of the operations");
}

// spec: DUR-12
#[test]
fn only_an_access_time_that_waits_may_be_lost() {
    let fixture = Fixture::with(|options| options.group.idle = Duration::from_secs(3600));
    let file = fixture.file(Ino::ROOT, "f", b"content").ino;
    fixture.fs.sync().unwrap();
    let before = fixture.stat(file);
    fixture.clock.advance(5);
    fixture.fs.read(file, 0, 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    copy(fixture.folder.path(), folder.path());
    let fs = AgentFs::open(&folder.path().join("agent.db"), &fixture.options).unwrap();
    let after = fs.getattr(file).unwrap();
    assert_eq!(agentfs::types::Attributes { atime: before.atime, ..after }, before);
    assert_eq!(fs.read(file, 0, 10).unwrap(), b"content");
}

// spec: OPEN-3, OPEN-9
#[test]
fn the_log_of_a_crash_is_seen_and_folded_in() {
    let fixture = Fixture::new();
    fixture.file(Ino::ROOT, "in-the-log", &[3; 50_000]);
    let fixture = fixture.kill();
    let folder = fixture.folder.path().to_owned();
    assert!(folder.join("agent.db-wal").exists());
    let found = fixture.lookup(Ino::ROOT, "in-the-log").unwrap().ino;
    assert_eq!(fixture.content(found), [3; 50_000]);
    let Fixture { fs, folder: _kept, .. } = fixture;
    fs.close().unwrap();
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["agent.db"]);
    let alone = AgentFs::open(&folder.join("agent.db"), &Options::default()).unwrap();
    assert_eq!(alone.read(found, 0, 100_000).unwrap(), [3; 50_000]);
}
