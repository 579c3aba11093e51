//! Another process changes the database beside the mount.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use agentfs::AgentFs;
use agentfs::types::{Caller, Ino, Name, SetAttributes};
use agentfs::vfs::{RenameFlags, Vfs, WriteFlags};

use crate::common::{Place, eventually};

const ROOT: Caller = Caller::root();

fn name(text: &str) -> Name<'_> {
    Name::new(text.as_bytes()).unwrap()
}

/// The other process: a second, independent opening of the database.
struct Other(AgentFs);

impl Other {
    fn ino(&self, of: &str) -> Ino {
        self.0.lookup(&ROOT, Ino::ROOT, name(of)).unwrap().ino
    }

    fn replace(&self, file: &str, content: &[u8]) {
        let ino = self.ino(file);
        let cut = SetAttributes { size: Some(0), ..SetAttributes::default() };
        self.0.setattr(&ROOT, ino, &cut).unwrap();
        self.0.write(ino, 0, content, WriteFlags::empty()).unwrap();
    }

    fn append(&self, file: &str, content: &[u8]) {
        self.0.write(self.ino(file), 0, content, WriteFlags::APPEND).unwrap();
    }

    fn create(&self, file: &str, content: &[u8]) {
        let ino = self.0.create(&ROOT, Ino::ROOT, name(file), 0o644).unwrap().ino;
        self.0.write(ino, 0, content, WriteFlags::empty()).unwrap();
    }

    fn unlink(&self, file: &str) {
        self.0.unlink(&ROOT, Ino::ROOT, name(file)).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        let flags = RenameFlags::empty();
        self.0.rename(&ROOT, Ino::ROOT, name(from), Ino::ROOT, name(to), flags).unwrap();
    }
}

/// What is committed, so that the other process sees it.
fn sync(root: &Path) {
    File::open(root).unwrap().sync_all().unwrap();
}

#[track_caller]
fn within_the_bound(since: Instant) {
    // The bound, and what a busy machine may add to it.
    assert!(since.elapsed() < Duration::from_millis(1500), "{:?}", since.elapsed());
}

// spec: MNT-9
#[test]
fn what_another_process_does_is_seen_within_a_second() {
    let place = Place::new();
    let _daemon = place.daemon();
    let root = place.mountpoint();
    for file in ["changed", "removed", "renamed"] {
        fs::write(root.join(file), b"before").unwrap();
    }
    fs::create_dir(root.join("folder")).unwrap();
    assert!(!root.join("new").exists());
    assert_eq!(fs::read(root.join("changed")).unwrap(), b"before");
    let entries = || fs::read_dir(&root).unwrap().count();
    assert_eq!(entries(), 4);
    sync(&root);

    let other = Other(place.open());
    other.replace("changed", b"and after it");
    other.unlink("removed");
    other.rename("renamed", "moved");
    other.create("new", b"fresh");
    other.0.sync().unwrap();
    let since = Instant::now();
    eventually("the changed content", || fs::read(root.join("changed")).unwrap() == b"and after it");
    eventually("the removed name", || !root.join("removed").exists());
    eventually("the renamed file", || root.join("moved").exists() && !root.join("renamed").exists());
    eventually("the new name", || fs::read(root.join("new")).is_ok_and(|content| content == b"fresh"));
    eventually("the new listing", || entries() == 4);
    within_the_bound(since);
    other.0.close().unwrap();
}

// spec: MNT-9
#[test]
fn a_file_that_is_held_open_is_seen_to_grow() {
    let place = Place::new();
    let _daemon = place.daemon();
    let root = place.mountpoint();
    fs::write(root.join("log"), b"one\n").unwrap();
    let mut reader = File::open(root.join("log")).unwrap();
    let mut content = String::new();
    reader.read_to_string(&mut content).unwrap();
    sync(&root);

    let other = Other(place.open());
    other.append("log", b"two\n");
    other.0.sync().unwrap();
    let since = Instant::now();
    eventually("the added line", || {
        reader.read_to_string(&mut content).unwrap();
        content == "one\ntwo\n"
    });
    within_the_bound(since);
    let mut writer = File::options().append(true).open(root.join("log")).unwrap();
    writer.write_all(b"three\n").unwrap();
    assert_eq!(fs::read(root.join("log")).unwrap(), b"one\ntwo\nthree\n");
    other.0.close().unwrap();
}

// spec: MNT-9
#[test]
fn a_file_that_was_cut_short_while_held_open_is_right_once_it_is_let_go() {
    let place = Place::new();
    let _daemon = place.daemon();
    let root = place.mountpoint();
    fs::write(root.join("file"), vec![b'x'; 10_000]).unwrap();
    let mut held = File::open(root.join("file")).unwrap();
    sync(&root);

    let other = Other(place.open());
    other.replace("file", b"short");
    other.0.sync().unwrap();
    eventually("the new content", || {
        let mut start = [0; 6];
        held.seek(SeekFrom::Start(0)).unwrap();
        held.read_exact(&mut start).is_ok_and(|()| start == *b"short\0")
    });
    drop(held);
    let since = Instant::now();
    eventually("the new size", || fs::metadata(root.join("file")).unwrap().len() == 5);
    within_the_bound(since);
    assert_eq!(fs::read(root.join("file")).unwrap(), b"short");
    other.0.close().unwrap();
}

// spec: MNT-9
#[test]
fn a_working_directory_keeps_its_path_when_another_process_changes_it() {
    let place = Place::new();
    let _daemon = place.daemon();
    let root = place.mountpoint();
    fs::create_dir(root.join("folder")).unwrap();
    let inode = fs::metadata(root.join("folder")).unwrap().ino();
    sync(&root);
    let mut shell = std::process::Command::new("sh");
    let mut child = shell.arg("-c").arg("read line; pwd -P; ls").current_dir(root.join("folder"));
    child = child.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();

    let other = Other(place.open());
    let folder = other.ino("folder");
    other.0.create(&ROOT, folder, name("inside"), 0o600).unwrap();
    let permissions = SetAttributes { permissions: Some(0o700), ..SetAttributes::default() };
    other.0.setattr(&ROOT, folder, &permissions).unwrap();
    other.0.sync().unwrap();
    eventually("the changed mode", || fs::metadata(root.join("folder")).unwrap().mode() & 0o777 == 0o700);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let expected = format!("{}\ninside\n", root.join("folder").canonicalize().unwrap().display());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert_eq!(fs::metadata(root.join("folder")).unwrap().ino(), inode);
    other.0.close().unwrap();
}

// spec: FS-REAP-6
#[test]
fn an_inode_that_another_process_left_nameless_goes_when_the_mount_notices() {
    let place = Place::new();
    let _daemon = place.daemon();
    let root = place.mountpoint();
    fs::write(root.join("file"), b"content").unwrap();
    sync(&root);
    let other = Other(place.open());
    let ino = other.ino("file");
    other.0.forget(ino, 1);
    other.unlink("file");
    other.0.sync().unwrap();
    eventually("its rows are gone", || {
        sync(&root);
        other.0.getattr(ino).is_err()
    });
    other.0.close().unwrap();
}

// spec: MNT-11
#[test]
fn invalidation_never_waits_for_what_waits_for_it() {
    let place = Place::new();
    let _daemon = place.daemon();
    let root = place.mountpoint();
    for file in 0..20 {
        fs::write(root.join(format!("shared{file}")), b"start").unwrap();
    }
    sync(&root);
    let other = Other(place.open());
    let end = Instant::now() + Duration::from_millis(1500);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in (0..).take_while(|_| Instant::now() < end) {
                other.replace(&format!("shared{}", round % 20), format!("round {round}").as_bytes());
                other.0.sync().unwrap();
            }
        });
        for worker in 0..3 {
            let root = &root;
            scope.spawn(move || {
                for round in (0..).take_while(|_| Instant::now() < end) {
                    let own = root.join(format!("own{worker}"));
                    fs::create_dir(&own).unwrap();
                    fs::write(own.join("file"), vec![1; 50_000]).unwrap();
                    // What is read is some state of the file, never an error.
                    fs::read(root.join(format!("shared{}", round % 20))).unwrap();
                    assert_eq!(fs::read(own.join("file")).unwrap().len(), 50_000);
                    assert!(fs::read_dir(root).unwrap().count() >= 20);
                    fs::remove_dir_all(&own).unwrap();
                }
            });
        }
    });
    other.0.close().unwrap();
}

// spec: MNT-42, MNT-9
#[test]
fn what_is_written_through_the_mount_is_read_back_whatever_another_process_does_to_the_file() {
    let place = Place::new();
    let _daemon = place.daemon();
    let root = place.mountpoint();
    fs::write(root.join("shared"), b"ab").unwrap();
    sync(&root);
    let other = Other(place.open());
    let ino = other.ino("shared");
    let file = File::options().read(true).write(true).open(root.join("shared")).unwrap();
    let end = Instant::now() + Duration::from_millis(1500);
    let lost = std::thread::scope(|scope| {
        scope.spawn(|| {
            while Instant::now() < end {
                other.0.write(ino, 0, b"x", WriteFlags::empty()).unwrap();
                other.0.sync().unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let (mut lost, mut byte) = (0, [0]);
        for round in (1..=250_u8).cycle().take_while(|_| Instant::now() < end) {
            file.write_all_at(&[round], 1).unwrap();
            file.read_exact_at(&mut byte, 1).unwrap();
            lost += u32::from(byte != [round]);
        }
        lost
    });
    assert_eq!(lost, 0, "writes to the last byte that were taken back");
    other.0.close().unwrap();
}
