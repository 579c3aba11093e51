//! Files and directories through the kernel.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, RenameFlags, Timespec, Timestamps, renameat_with};

use crate::common::{Mounted, as_root, eventually};

// spec: MNT-14
#[test]
fn a_tree_is_made_read_and_removed() {
    let mounted = Mounted::new();
    fs::create_dir_all(mounted.path("a/b/c")).unwrap();
    fs::write(mounted.path("a/b/file"), b"content").unwrap();
    std::os::unix::fs::symlink("b/file", mounted.path("a/link")).unwrap();
    fs::hard_link(mounted.path("a/b/file"), mounted.path("a/hard")).unwrap();
    assert_eq!(fs::read(mounted.path("a/link")).unwrap(), b"content");
    assert_eq!(fs::metadata(mounted.path("a/hard")).unwrap().nlink(), 2);
    assert_eq!(fs::metadata(mounted.path("a/b")).unwrap().nlink(), 3);
    fs::rename(mounted.path("a/b"), mounted.path("moved")).unwrap();
    assert_eq!(fs::read(mounted.path("moved/file")).unwrap(), b"content");
    assert!(fs::read(mounted.path("a/link")).is_err());
    fs::remove_dir_all(mounted.path("a")).unwrap();
    fs::remove_dir_all(mounted.path("moved")).unwrap();
    assert_eq!(fs::read_dir(mounted.root()).unwrap().count(), 0);
}

// spec: MNT-14
#[test]
fn content_survives_an_unmount() {
    let mounted = Mounted::new();
    let content: Vec<u8> = (0..3_000_000_u32).map(|at| (at / 7) as u8).collect();
    fs::write(mounted.path("big"), &content).unwrap();
    let place = mounted.unmount();
    assert_eq!(place.files(), ["agent.db"]);
    let mounted = place.mount();
    assert!(fs::read(mounted.path("big")).unwrap() == content);
}

// spec: FS-REAP-1, MNT-18
#[test]
fn an_unlinked_open_file_keeps_its_bytes_and_goes_with_its_last_descriptor() {
    let mounted = Mounted::new();
    let path = mounted.path("gone");
    let mut file = File::options().create(true).truncate(true).read(true).write(true).open(&path).unwrap();
    file.write_all(b"still here").unwrap();
    file.sync_all().unwrap();
    fs::remove_file(&path).unwrap();
    file.write_all(b", and more").unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut content = String::new();
    file.read_to_string(&mut content).unwrap();
    assert_eq!(content, "still here, and more");
    assert_eq!(file.metadata().unwrap().nlink(), 0);
    drop(file);
    eventually("the kernel forgets it", || mounted.mount().known_inodes().0 == 0);
}

// spec: MNT-19
#[test]
fn every_reference_comes_back() {
    let mounted = Mounted::new();
    for name in 0..200 {
        fs::write(mounted.path(&format!("file{name}")), b"x").unwrap();
    }
    fs::hard_link(mounted.path("file0"), mounted.path("hard")).unwrap();
    fs::create_dir(mounted.path("folder")).unwrap();
    for entry in fs::read_dir(mounted.root()).unwrap() {
        entry.unwrap().metadata().unwrap();
    }
    assert!(mounted.mount().known_inodes().0 >= 201);
    fs::remove_dir_all(mounted.path("folder")).unwrap();
    for entry in fs::read_dir(mounted.root()).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    eventually("all references are given back", || mounted.mount().known_inodes() == (0, 0));
}

// spec: FS-RENAME-4, FS-RENAME-5, MNT-17
#[test]
fn rename_flags_are_kept_and_never_ignored() {
    let mounted = Mounted::new();
    let (a, b) = (mounted.path("a"), mounted.path("b"));
    fs::write(&a, b"A").unwrap();
    fs::write(&b, b"B").unwrap();
    let refused = renameat_with(CWD, &a, CWD, &b, RenameFlags::NOREPLACE);
    assert_eq!(refused, Err(rustix::io::Errno::EXIST));
    renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap();
    assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"B".to_vec(), b"A".to_vec()));
    let refused = renameat_with(CWD, &a, CWD, mounted.path("c"), RenameFlags::WHITEOUT);
    assert_eq!(refused, Err(rustix::io::Errno::INVAL));
    assert_eq!(fs::read(&a).unwrap(), b"B");
}

// spec: MNT-20, FS-DIR-3
#[test]
fn a_listing_that_deletes_as_it_goes_misses_nothing() {
    let mounted = Mounted::new();
    let wanted: BTreeSet<String> =
        (0..1500).map(|number| format!("a rather long name {number:05}")).collect();
    for name in &wanted {
        File::create(mounted.path(name)).unwrap();
    }
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(mounted.root()).unwrap() {
        let entry = entry.unwrap();
        fs::remove_file(entry.path()).unwrap();
        assert!(seen.insert(entry.file_name().into_string().unwrap()), "listed twice");
    }
    assert_eq!(seen, wanted);
    assert_eq!(fs::read_dir(mounted.root()).unwrap().count(), 0);
}

// spec: FS-ATTR-9
#[test]
fn times_before_1970_and_at_the_ends_survive_with_their_nanoseconds() {
    let mounted = Mounted::new();
    let path = mounted.path("old");
    fs::write(&path, b"x").unwrap();
    let ends = [(i64::MIN, 0), (i64::MIN + 1, 999_999_999), (i64::MAX - 1, 999_999_999), (i64::MAX, 0)];
    let usual = [(-1, 999_999_999), (-2, 200_000_000), (-86_400, 0), (0, 0), (5_000_000_000, 7)];
    let times = [&usual[..], &ends].concat();
    let set = |(seconds, nanoseconds)| {
        let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        let times = Timestamps { last_access: time, last_modification: time };
        rustix::fs::utimensat(CWD, &path, &times, AtFlags::empty()).unwrap();
    };
    for time in times.iter().copied() {
        set(time);
        let shown = fs::metadata(&path).unwrap();
        assert_eq!((shown.mtime(), shown.mtime_nsec()), time);
        assert_eq!((shown.atime(), shown.atime_nsec()), time);
    }
    set(times[1]);
    let mounted = mounted.unmount().mount();
    let shown = fs::metadata(mounted.path("old")).unwrap();
    assert_eq!((shown.mtime(), shown.mtime_nsec()), times[1]);
}

// spec: MNT-22, FS-TIME-7
#[test]
fn a_cached_write_does_not_move_a_time_that_was_set_after_it() {
    let mounted = Mounted::new();
    let path = mounted.path("dated");
    let file = File::create(&path).unwrap();
    (&file).write_all(b"late bytes").unwrap();
    let date = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    file.set_modified(date).unwrap();
    drop(file);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), date);
    let mounted = mounted.unmount().mount();
    assert_eq!(fs::metadata(mounted.path("dated")).unwrap().modified().unwrap(), date);
}

// spec: MNT-22, FS-TIME-7
#[test]
fn a_write_moves_the_modification_time_for_good() {
    let mounted = Mounted::new();
    let path = mounted.path("dated");
    fs::write(&path, b"first").unwrap();
    let old = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    File::options().append(true).open(&path).unwrap().write_all(b", second").unwrap();
    let shown = fs::metadata(&path).unwrap().modified().unwrap();
    assert!(shown > old);
    let mounted = mounted.unmount().mount();
    assert_eq!(fs::metadata(mounted.path("dated")).unwrap().modified().unwrap(), shown);
    assert_eq!(fs::read(mounted.path("dated")).unwrap(), b"first, second");
}

// spec: MNT-34, MNT-14
#[test]
fn holes_allocation_and_copies_reach_the_file_system() {
    let mounted = Mounted::new();
    let file = File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(mounted.path("sparse"))
        .unwrap();
    file.write_all_at(b"end", 1 << 20).unwrap();
    assert_eq!(rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(0)).unwrap(), 1 << 20);
    assert_eq!(rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)).unwrap(), 0);
    let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, punch, 1 << 20, 2).unwrap();
    let mut tail = [1; 3];
    file.read_exact_at(&mut tail, 1 << 20).unwrap();
    assert_eq!(tail, *b"\0\0d");
    let copy = File::create_new(mounted.path("copy")).unwrap();
    let mut from = (1 << 20) + 2;
    assert_eq!(rustix::fs::copy_file_range(&file, Some(&mut from), &copy, None, 1).unwrap(), 1);
    assert_eq!(fs::read(mounted.path("copy")).unwrap(), b"d");
}

// spec: MNT-32
#[test]
fn extended_attributes_follow_the_size_protocol() {
    let mounted = Mounted::new();
    let path = mounted.path("file");
    fs::write(&path, b"").unwrap();
    rustix::fs::setxattr(&path, "user.note", b"hello", rustix::fs::XattrFlags::CREATE).unwrap();
    let again = rustix::fs::setxattr(&path, "user.note", b"x", rustix::fs::XattrFlags::CREATE);
    assert_eq!(again, Err(rustix::io::Errno::EXIST));
    assert_eq!(size_of_xattr(&path, c"user.note"), 5);
    assert_eq!(rustix::fs::getxattr(&path, "user.note", &mut [0_u8; 2]), Err(rustix::io::Errno::RANGE));
    let mut names = [0_u8; 64];
    let length = rustix::fs::listxattr(&path, &mut names).unwrap();
    assert_eq!(&names[..length], b"user.note\0");
    rustix::fs::removexattr(&path, "user.note").unwrap();
    assert_eq!(rustix::fs::getxattr(&path, "user.note", &mut [0_u8; 9]), Err(rustix::io::Errno::NODATA));
}

/// The safe interfaces never ask with a buffer of no bytes.
fn size_of_xattr(path: &std::path::Path, name: &std::ffi::CStr) -> isize {
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: both strings end with a NUL and outlive the call, which writes nothing to a buffer of no bytes.
    unsafe { nix::libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) }
}

// spec: MNT-35
#[test]
fn a_mount_for_one_owner_shows_and_keeps_that_owner() {
    if !as_root() {
        return;
    }
    let options =
        |options: &mut agentfs::fuse::MountOptions| (options.uid, options.gid) = (Some(4711), Some(4712));
    let mounted = crate::common::Place::new().try_mount(options).unwrap();
    let path = mounted.path("file");
    fs::write(&path, b"").unwrap();
    let shown = fs::metadata(&path).unwrap();
    assert_eq!((shown.uid(), shown.gid()), (4711, 4712));
    assert_eq!(fs::metadata(mounted.root()).unwrap().uid(), 4711);
    assert!(std::os::unix::fs::chown(&path, Some(0), None).is_err());
    std::os::unix::fs::chown(&path, Some(4711), Some(4712)).unwrap();
    let mounted = mounted.unmount().mount();
    assert_eq!(fs::metadata(mounted.path("file")).unwrap().uid(), 4711, "created as owned by them");
    assert_eq!(fs::metadata(mounted.root()).unwrap().uid(), 0, "only shown so");
}

// spec: MNT-3
#[test]
fn a_read_only_mount_refuses_changes_and_does_not_claim_the_database() {
    let place = crate::common::Place::new();
    let mounted = place.try_mount(|options| options.read_only = true).unwrap();
    let refused = fs::write(mounted.path("file"), b"").unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(30));
    assert_eq!(mounted.place.open().store().mount_holder().unwrap(), None);
}

// spec: MNT-5, MNT-6
#[test]
fn a_mount_point_that_would_hide_something_is_refused() {
    let place = crate::common::Place::new();
    let refused = |place: &crate::common::Place, at: &str| {
        let at = place.folder.path().join(at);
        let mount = agentfs::fuse::Mount::start(place.open().into(), &at, &place.options());
        mount.err().unwrap().to_string()
    };
    assert!(refused(&place, "none").contains("no such directory"));
    assert!(refused(&place, "agent.db").contains("not a directory"));
    assert!(refused(&place, ".").contains("database lies in this directory"));
    fs::write(place.mountpoint().join("hidden"), b"").unwrap();
    assert!(refused(&place, "mnt").contains("not empty"));
    fs::remove_file(place.mountpoint().join("hidden")).unwrap();
    let mounted = place.mount();
    assert!(refused(&mounted.place, "mnt").contains("already mounted here"));
}

// spec: MNT-15
#[test]
fn the_mount_shows_as_ours_and_checks_permissions() {
    let mounted = Mounted::new();
    let text = fs::read_to_string("/proc/self/mounts").unwrap();
    let root = mounted.root().canonicalize().unwrap();
    let line = text.lines().find(|line| line.contains(root.to_str().unwrap())).unwrap();
    let mut fields = line.split(' ');
    assert_eq!(fields.next(), mounted.place.database().to_str());
    assert_eq!(fields.nth(1), Some("fuse.agentfs"));
    assert!(line.contains("default_permissions"), "{line}");
    fs::write(mounted.path("program"), b"").unwrap();
    fs::set_permissions(mounted.path("program"), PermissionsExt::from_mode(0o4755)).unwrap();
    assert_eq!(fs::metadata(mounted.path("program")).unwrap().mode() & 0o7777, 0o4755);
    let other = if as_root() { 1 } else { rustix::process::geteuid().as_raw() };
    std::os::unix::fs::chown(mounted.path("program"), Some(other), None).unwrap();
    assert_eq!(
        fs::metadata(mounted.path("program")).unwrap().mode() & 0o7777,
        0o755,
        "chown clears set-id bits"
    );
}
