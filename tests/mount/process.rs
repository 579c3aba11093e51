//! Mounts that live in a process of their own: how they end.

use std::os::unix::fs::MetadataExt;

use agentfs::fuse::{MountState, list_mounts, unmount};
use agentfs::{Errno, Error};
use rustix::process::Signal;

use crate::common::{Place, eventually};

/// Not a check: what the processes run that the other tests start.
#[test]
fn serve_when_told() {
    crate::common::serve_when_told();
}

// spec: MNT-8
#[test]
fn a_terminated_daemon_leaves_one_file_and_no_mount() {
    let place = Place::new();
    let mut daemon = place.daemon();
    std::fs::write(place.mountpoint().join("kept"), b"yes").unwrap();
    daemon.signal(Signal::TERM);
    eventually("the daemon ends", || daemon.has_ended());
    assert_eq!(place.files(), ["agent.db"]);
    assert!(std::fs::read_dir(place.mountpoint()).unwrap().next().is_none(), "still mounted");
    let mounted = place.mount();
    assert_eq!(std::fs::read(mounted.path("kept")).unwrap(), b"yes");
}

// spec: MNT-8
#[test]
fn a_terminated_daemon_ends_although_a_file_is_held_open() {
    let place = Place::new();
    let mut daemon = place.daemon();
    let path = place.mountpoint().join("held");
    let held = std::fs::File::create(&path).unwrap();
    std::io::Write::write_all(&mut &held, b"not flushed by close").unwrap();
    daemon.signal(Signal::TERM);
    eventually("the daemon ends", || daemon.has_ended());
    assert_eq!(place.files(), ["agent.db"]);
    drop(held);
    let mounted = place.mount();
    assert_eq!(std::fs::read(mounted.path("held")).unwrap(), b"not flushed by close");
}

// spec: MNT-1
#[test]
fn a_second_mount_is_refused_and_names_the_first() {
    let place = Place::new();
    let daemon = place.daemon();
    let pid = daemon.child.id();
    let elsewhere = tempfile::tempdir().unwrap();
    let fs = std::sync::Arc::new(place.open());
    let refused = agentfs::fuse::Mount::start(fs, elsewhere.path(), &place.options()).err().unwrap();
    assert_eq!(refused.errno(), Errno::EBUSY);
    let words = refused.to_string();
    let mountpoint = place.mountpoint().canonicalize().unwrap();
    assert!(words.contains(&pid.to_string()) && words.contains(mountpoint.to_str().unwrap()), "{words}");
}

// spec: MNT-10, MNT-36, MNT-37
#[test]
fn a_killed_daemon_is_listed_as_dead_and_unmount_cleans_up() {
    let place = Place::new();
    let daemon = place.daemon();
    std::fs::write(place.mountpoint().join("kept"), b"yes").unwrap();
    std::fs::File::open(place.mountpoint()).unwrap().sync_all().unwrap();
    let listed = || {
        let mountpoint = place.folder.path().canonicalize().unwrap().join("mnt");
        list_mounts().unwrap().into_iter().find(|mount| mount.mountpoint == mountpoint)
    };
    let alive = listed().unwrap();
    assert_eq!(alive.state, MountState::Alive);
    assert_eq!(alive.pid, Some(i64::from(daemon.child.id())));
    assert_eq!(alive.source, place.database());

    daemon.signal(Signal::KILL);
    eventually("it is listed as dead", || listed().unwrap().state == MountState::Dead);
    unmount(&place.mountpoint(), false).unwrap();
    assert_eq!(listed(), None);
    let mounted = place.mount();
    assert_eq!(std::fs::read(mounted.path("kept")).unwrap(), b"yes");
}

// spec: MNT-5, MNT-10
#[test]
fn a_mount_that_lost_its_process_gives_way_to_the_next() {
    let place = Place::new();
    let mut daemon = place.daemon();
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    let mounted = place.mount();
    std::fs::write(mounted.path("works"), b"").unwrap();
}

// spec: MNT-36
#[test]
fn a_stopped_daemon_is_listed_as_silent_without_waiting_for_it() {
    let place = Place::new();
    let daemon = place.daemon();
    daemon.signal(Signal::STOP);
    let before = std::time::Instant::now();
    let mountpoint = place.folder.path().canonicalize().unwrap().join("mnt");
    let state =
        list_mounts().unwrap().into_iter().find(|mount| mount.mountpoint == mountpoint).unwrap().state;
    assert!(before.elapsed().as_secs() < 10);
    daemon.signal(Signal::CONT);
    assert_eq!(state, MountState::Silent);
}

// spec: MNT-37
#[test]
fn unmount_returns_when_the_database_is_a_single_file() {
    let place = Place::new();
    let _daemon = place.daemon();
    std::fs::write(place.mountpoint().join("big"), vec![7; 4 << 20]).unwrap();
    unmount(&place.mountpoint(), false).unwrap();
    assert_eq!(place.files(), ["agent.db"]);
}

// spec: MNT-37
#[test]
fn unmount_refuses_a_mount_in_use_and_what_is_no_mount() {
    let place = Place::new();
    let _daemon = place.daemon();
    let held = std::fs::File::create(place.mountpoint().join("held")).unwrap();
    let refused = unmount(&place.mountpoint(), false).unwrap_err();
    assert!(matches!(refused, Error::Mount { .. }));
    assert_eq!(refused.errno(), Errno::EBUSY);
    drop(held);
    let refused = unmount(place.folder.path(), false).unwrap_err();
    assert_eq!(refused.errno(), Errno::EINVAL);
}

// spec: MNT-9
#[test]
fn what_another_process_does_is_seen_within_a_second() {
    use agentfs::types::{Caller, Ino, Name, SetAttributes};
    use agentfs::vfs::{Vfs, WriteFlags};
    let name = |text: &'static str| Name::new(text.as_bytes()).unwrap();

    let place = Place::new();
    let _daemon = place.daemon();
    let root = place.mountpoint();
    std::fs::write(root.join("changed"), b"before").unwrap();
    std::fs::write(root.join("removed"), b"before").unwrap();
    std::fs::create_dir(root.join("folder")).unwrap();
    assert!(!root.join("new").exists());
    assert_eq!(std::fs::read(root.join("changed")).unwrap(), b"before");
    let entries = || std::fs::read_dir(&root).unwrap().count();
    assert_eq!(entries(), 3);
    let inode = std::fs::metadata(root.join("folder")).unwrap().ino();
    std::fs::File::open(&root).unwrap().sync_all().unwrap();

    let other = place.open();
    let caller = Caller::root();
    let changed = other.lookup(&caller, Ino::ROOT, name("changed")).unwrap().ino;
    let cut = SetAttributes { size: Some(0), ..SetAttributes::default() };
    other.setattr(&caller, changed, &cut).unwrap();
    other.write(changed, 0, b"and after it", WriteFlags::empty()).unwrap();
    other.unlink(&caller, Ino::ROOT, name("removed")).unwrap();
    let new = other.create(&caller, Ino::ROOT, name("new"), 0o600).unwrap().ino;
    other.write(new, 0, b"fresh", WriteFlags::empty()).unwrap();
    other.sync().unwrap();

    let since = std::time::Instant::now();
    eventually("the changed content", || std::fs::read(root.join("changed")).unwrap() == b"and after it");
    eventually("the removed name", || !root.join("removed").exists());
    eventually("the new name", || std::fs::read(root.join("new")).is_ok_and(|content| content == b"fresh"));
    eventually("the new listing", || entries() == 3);
    assert!(since.elapsed().as_millis() < 1500, "{:?}", since.elapsed());
    assert_eq!(std::fs::metadata(root.join("folder")).unwrap().ino(), inode);
    other.close().unwrap();
}
