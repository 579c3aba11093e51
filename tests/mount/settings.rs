//! What the options of a mount change, and what none may change.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use agentfs::fuse::{KernelOption, MountOptions};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::common::{Mounted, Place, as_root};

fn flags_of(mounted: &Mounted) -> Vec<String> {
    let root = mounted.root().canonicalize().unwrap();
    let text = fs::read_to_string("/proc/self/mounts").unwrap();
    let line = text.lines().find(|line| line.contains(root.to_str().unwrap())).unwrap();
    line.split(' ').nth(3).unwrap().split(',').map(str::to_owned).collect()
}

// spec: MNT-26
#[test]
fn set_id_bits_and_devices_are_kept_but_do_nothing_unless_asked_for() {
    if !as_root() {
        return;
    }
    let mounted = Mounted::new();
    let has = |mounted: &Mounted, flag: &str| flags_of(mounted).iter().any(|word| word == flag);
    assert!(has(&mounted, "nosuid") && has(&mounted, "nodev"));
    let null = mounted.path("null");
    mknodat(CWD, &null, FileType::CharacterDevice, Mode::from_raw_mode(0o666), makedev(1, 3)).unwrap();
    let shown = fs::metadata(&null).unwrap();
    assert!(shown.file_type().is_char_device());
    assert_eq!(shown.rdev(), makedev(1, 3));
    assert_eq!(File::open(&null).unwrap_err().raw_os_error(), Some(13));
    let allowed = vec![KernelOption::Suid, KernelOption::Dev];
    let mounted = mounted.unmount().try_mount(|options| options.kernel = allowed).unwrap();
    assert!(!has(&mounted, "nosuid") && !has(&mounted, "nodev"));
    File::open(mounted.path("null")).unwrap();
}

// spec: MNT-28
#[test]
fn any_number_of_threads_serves_the_same() {
    let adjustments: [fn(&mut MountOptions); 4] = [
        |options| options.workers = Some(1),
        |options| options.workers = Some(2),
        |options| options.workers = Some(5),
        |options| options.pin = false,
    ];
    for adjust in adjustments {
        let mounted = Place::new().try_mount(adjust).unwrap();
        exercise(&mounted.root());
        let mounted = mounted.unmount().mount();
        assert_eq!(fs::read(mounted.path("kept")).unwrap(), vec![5; 100_000]);
        assert_eq!(fs::read_dir(mounted.root()).unwrap().count(), 1);
    }
}

/// Requests that wait for the disk, for the kernel and for each other.
fn exercise(root: &Path) {
    std::thread::scope(|scope| {
        for worker in 0..3 {
            scope.spawn(move || {
                let folder = root.join(format!("folder{worker}"));
                fs::create_dir(&folder).unwrap();
                for round in 0..10 {
                    let path = folder.join(format!("file{round}"));
                    let file = File::options().create_new(true).read(true).write(true).open(&path).unwrap();
                    file.write_all_at(&[5; 10_000], 100_000).unwrap();
                    assert_eq!(rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)).unwrap(), 0);
                    file.sync_all().unwrap();
                }
                assert_eq!(fs::read_dir(&folder).unwrap().count(), 10);
                fs::remove_dir_all(&folder).unwrap();
            });
        }
    });
    fs::write(root.join("kept"), vec![5; 100_000]).unwrap();
}

// spec: MNT-25
#[test]
fn what_the_kernel_reads_from_its_cache_does_not_move_access_times() {
    let mounted = Mounted::new();
    let path = mounted.path("file");
    fs::write(&path, b"content").unwrap();
    fs::read(&path).unwrap();
    let old = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::open(&path).unwrap().set_times(fs::FileTimes::new().set_accessed(old)).unwrap();
    fs::read(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().accessed().unwrap(), old);
}

// spec: MNT-30
#[test]
fn a_damaged_inode_fails_alone() {
    let mounted = Mounted::new();
    fs::write(mounted.path("damaged"), b"x").unwrap();
    fs::write(mounted.path("whole"), b"whole").unwrap();
    let ino = fs::metadata(mounted.path("damaged")).unwrap().ino();
    let place = mounted.unmount();
    let connection = rusqlite::Connection::open(place.database()).unwrap();
    // Type bits of no known kind.
    connection.execute("UPDATE fs_inode SET mode = 420 WHERE ino = ?", [ino.cast_signed()]).unwrap();
    connection.close().unwrap();
    let mounted = place.mount();
    assert_eq!(fs::metadata(mounted.path("damaged")).unwrap_err().raw_os_error(), Some(5));
    assert_eq!(fs::read(mounted.path("whole")).unwrap(), b"whole");
    fs::write(mounted.path("new"), b"").unwrap();
    fs::set_permissions(mounted.path("new"), PermissionsExt::from_mode(0o600)).unwrap();
}

/// The kernel's handle of a file: inode number and generation.
fn handle(path: &Path) -> Vec<u8> {
    #[repr(C)]
    struct Handle {
        bytes: u32,
        kind: i32,
        content: [u8; 128],
    }
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    let mut handle = Handle { bytes: 128, kind: 0, content: [0; 128] };
    let mut mount_id = 0;
    // SAFETY: the path ends with a NUL; `handle` begins as `struct file_handle` does and says truly how
    // many bytes follow; both outlive the call.
    let outcome = unsafe {
        nix::libc::name_to_handle_at(
            nix::libc::AT_FDCWD,
            path.as_ptr(),
            (&raw mut handle).cast(),
            &raw mut mount_id,
            0,
        )
    };
    assert_eq!(outcome, 0, "{}", std::io::Error::last_os_error());
    handle.content[..handle.bytes as usize].to_vec()
}

// spec: MNT-33
#[test]
fn the_handle_of_a_file_is_the_same_after_another_mount() {
    let mounted = Mounted::new();
    fs::write(mounted.path("file"), b"").unwrap();
    let first = handle(&mounted.path("file"));
    assert_eq!(first.last_chunk(), Some(&[0; 4]), "generation 0");
    let mounted = mounted.unmount().mount();
    assert_eq!(handle(&mounted.path("file")), first);
}
