//! Mounts that live in a process of their own: how they end.

use agentfs::fuse::{Mount, MountState, list_mounts, unmount};
use agentfs::{Errno, Error};
use rustix::process::Signal;

use crate::common::{Place, as_root, eventually};

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
    let refused = Mount::start(fs, elsewhere.path(), &place.options()).err().unwrap();
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

// spec: MNT-5, MNT-10
#[test]
fn a_dead_mount_gives_way_although_the_kernel_still_knows_its_root() {
    let place = Place::new();
    let mut daemon = place.daemon();
    std::fs::read_dir(place.mountpoint()).unwrap();
    std::fs::metadata(place.mountpoint()).unwrap();
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    assert!(std::fs::metadata(place.mountpoint()).is_ok(), "answered from the kernel's cache");
    let mounted = place.mount();
    std::fs::write(mounted.path("works"), b"").unwrap();
}

// spec: MNT-37
#[test]
fn unmounting_one_of_two_places_does_not_wait_for_the_other() {
    if !as_root() {
        return;
    }
    let place = Place::new();
    let mut daemon = place.daemon();
    let second = tempfile::tempdir().unwrap();
    rustix::mount::mount_bind(place.mountpoint(), second.path()).unwrap();
    let before = std::time::Instant::now();
    unmount(second.path(), false).unwrap();
    assert!(before.elapsed().as_secs() < 10);
    std::fs::write(place.mountpoint().join("works"), b"").unwrap();
    unmount(&place.mountpoint(), false).unwrap();
    assert_eq!(place.files(), ["agent.db"]);
    eventually("the daemon ends", || daemon.has_ended());
}

// spec: MNT-12, MNT-8
#[test]
fn a_daemon_that_ends_leaves_what_was_mounted_over_it_alone() {
    if !as_root() {
        return;
    }
    let place = Place::new();
    let mut daemon = place.daemon();
    let mountpoint = place.mountpoint();
    rustix::mount::mount("above", &mountpoint, "tmpfs", rustix::mount::MountFlags::empty(), None).unwrap();
    std::fs::write(mountpoint.join("above"), b"").unwrap();
    let refused = unmount(&mountpoint, false).unwrap_err();
    daemon.signal(Signal::TERM);
    eventually("the daemon ends", || daemon.has_ended());
    let kept = mountpoint.join("above").exists();
    rustix::mount::unmount(&mountpoint, rustix::mount::UnmountFlags::DETACH).unwrap();
    assert!(kept, "the upper mount was ended");
    assert_eq!(refused.errno(), Errno::EBUSY);
    assert_eq!(place.files(), ["agent.db"]);
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

// spec: MNT-12
#[test]
fn the_end_of_a_mount_leaves_a_newer_one_at_its_place_alone() {
    let first = Place::new();
    let mountpoint = first.mountpoint();
    let mount = Mount::start(first.open().into(), &mountpoint, &first.options()).unwrap();
    unmount_by_another(&mountpoint);
    let second = Place::new();
    let newer = Mount::start(second.open().into(), &mountpoint, &second.options()).unwrap();
    mount.unmounter().unmount().unwrap();
    mount.unmounter().end();
    mount.wait().unwrap();
    std::fs::write(mountpoint.join("works"), b"").unwrap();
    newer.unmounter().unmount().unwrap();
    newer.wait().unwrap();
    assert_eq!((first.files().len(), second.files().len()), (1, 1));
}

fn unmount_by_another(mountpoint: &std::path::Path) {
    assert!(std::process::Command::new("fusermount3").arg("-u").arg(mountpoint).status().unwrap().success());
}

// spec: MNT-8, MNT-12
#[test]
fn mounting_and_unmounting_in_quick_succession_always_works() {
    let mut mounted = Place::new().mount();
    for round in 0..10 {
        std::fs::write(mounted.path(&format!("file{round}")), b"x").unwrap();
        let place = mounted.unmount();
        assert_eq!(place.files(), ["agent.db"]);
        mounted = place.mount();
        assert_eq!(std::fs::read_dir(mounted.root()).unwrap().count(), round + 1);
    }
}
