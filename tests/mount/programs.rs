//! What programs expect of any file system: locks, appends, mappings, barriers.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::Command;

use rustix::fs::{CWD, FlockOperation, Mode, OFlags};
use rustix::process::Signal;

use crate::common::{Mounted, Place};

// spec: MNT-21
#[test]
fn appends_of_several_processes_all_arrive() {
    let mounted = Mounted::new();
    let script = "for i in $(seq 100); do echo 0123456789 >> log; done";
    let start = || Command::new("sh").args(["-c", script]).current_dir(mounted.root()).spawn().unwrap();
    for mut child in [start(), start(), start()] {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(fs::read(mounted.path("log")).unwrap(), b"0123456789\n".repeat(300));
}

// spec: MNT-21
#[test]
fn exclusive_creation_and_truncation_behave() {
    let mounted = Mounted::new();
    File::create_new(mounted.path("file")).unwrap().write_all(b"long content").unwrap();
    assert_eq!(File::create_new(mounted.path("file")).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    fs::write(mounted.path("file"), b"short").unwrap();
    assert_eq!(fs::read(mounted.path("file")).unwrap(), b"short");
    let mounted = mounted.unmount().mount();
    assert_eq!(fs::read(mounted.path("file")).unwrap(), b"short");
}

// spec: MNT-21
#[test]
fn bytes_written_through_a_shared_mapping_are_kept() {
    use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};
    let mounted = Mounted::new();
    let file = File::options().create_new(true).read(true).write(true).open(mounted.path("mapped")).unwrap();
    file.set_len(8192).unwrap();
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: the mapping is new, of the file's whole length, used only here and only while it exists.
    unsafe {
        let mapping = mmap(std::ptr::null_mut(), 8192, protection, flags, &file, 0).unwrap();
        mapping.cast::<u8>().add(5000).copy_from_nonoverlapping(b"mapped".as_ptr(), 6);
        msync(mapping, 8192, MsyncFlags::SYNC).unwrap();
        munmap(mapping, 8192).unwrap();
    }
    let mut seen = [0; 8];
    file.read_exact_at(&mut seen, 4999).unwrap();
    assert_eq!(seen, *b"\0mapped\0");
    drop(file);
    let mounted = mounted.unmount().mount();
    assert_eq!(fs::read(mounted.path("mapped")).unwrap()[5000..5006], *b"mapped");
}

// spec: MNT-24
#[test]
fn a_lock_on_a_file_excludes_others() {
    let mounted = Mounted::new();
    let first = File::create(mounted.path("lock")).unwrap();
    rustix::fs::flock(&first, FlockOperation::LockExclusive).unwrap();
    let try_lock = || {
        let flock = ["-n", "lock", "true"];
        Command::new("flock").args(flock).current_dir(mounted.root()).status().unwrap().success()
    };
    assert!(!try_lock());
    drop(first);
    assert!(try_lock());
}

// spec: MNT-31
#[test]
fn a_file_without_any_name_is_refused() {
    let mounted = Mounted::new();
    let flags = OFlags::TMPFILE | OFlags::RDWR;
    let refused = rustix::fs::openat(CWD, mounted.root(), flags, Mode::RUSR);
    assert_eq!(refused.unwrap_err(), rustix::io::Errno::OPNOTSUPP);
}

// spec: MNT-23, MNT-10
#[test]
fn what_was_synced_survives_a_killed_daemon() {
    let place = Place::new();
    let mut daemon = place.daemon();
    let mut synced = File::create(place.mountpoint().join("synced")).unwrap();
    synced.write_all(b"on the disk").unwrap();
    synced.sync_data().unwrap();
    let dsync = OFlags::CREATE | OFlags::WRONLY | OFlags::DSYNC;
    let dsync = rustix::fs::openat(CWD, place.mountpoint().join("dsync"), dsync, Mode::RUSR).unwrap();
    rustix::io::write(&dsync, b"this too").unwrap();
    daemon.signal(Signal::KILL);
    daemon.child.wait().unwrap();
    drop((synced, dsync));
    let mounted = place.mount();
    assert_eq!(fs::read(mounted.path("synced")).unwrap(), b"on the disk");
    assert_eq!(fs::read(mounted.path("dsync")).unwrap(), b"this too");
}

// spec: MNT-23
#[test]
fn many_may_wait_for_the_disk_at_once_and_others_go_on() {
    let mounted = Mounted::new();
    fs::write(mounted.path("other"), b"served meanwhile").unwrap();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let path = mounted.path(&format!("file{worker}"));
            scope.spawn(move || {
                let mut file = File::create(path).unwrap();
                for _ in 0..20 {
                    file.write_all(&[1; 4096]).unwrap();
                    file.sync_all().unwrap();
                }
            });
        }
        for round in 0..200 {
            let name = mounted.path(&format!("new{round}"));
            fs::write(&name, b"x").unwrap();
            fs::remove_file(&name).unwrap();
        }
    });
    for worker in 0..8 {
        assert_eq!(fs::metadata(mounted.path(&format!("file{worker}"))).unwrap().len(), 20 * 4096);
    }
}

// spec: MNT-20
#[test]
fn a_listing_goes_on_from_any_position_that_it_gave() {
    let mounted = Mounted::new();
    for number in 0..300 {
        File::create(mounted.path(&format!("{number:03}"))).unwrap();
    }
    let mut listing = rustix::fs::Dir::new(File::open(mounted.root()).unwrap()).unwrap();
    let entries: Vec<_> = listing.by_ref().map(|entry| entry.unwrap()).collect();
    assert_eq!(entries[0].file_name().to_bytes(), b".");
    assert_eq!(entries[1].file_name().to_bytes(), b"..");
    assert_eq!(entries.len(), 302);
    for at in [0, 1, 2, 150, 300] {
        listing.seek(entries[at].offset()).unwrap();
        let next = listing.next().unwrap().unwrap();
        assert_eq!(next.file_name(), entries[at + 1].file_name());
    }
}

// spec: MNT-17
#[test]
fn a_file_is_no_terminal_and_always_ready() {
    let mounted = Mounted::new();
    let file = File::options().create_new(true).read(true).write(true).open(mounted.path("file")).unwrap();
    assert!(!std::io::IsTerminal::is_terminal(&file));
    let mut wanted =
        [rustix::event::PollFd::new(&file, rustix::event::PollFlags::IN | rustix::event::PollFlags::OUT)];
    assert_eq!(rustix::event::poll(&mut wanted, None).unwrap(), 1);
}
