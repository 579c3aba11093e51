//! Who may do what, through the kernel. As user 0, which can become others.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::common::{Mounted, Place, as_root};

/// None where the tests do not run as user 0.
fn shared() -> Option<Mounted> {
    if !as_root() {
        return None;
    }
    let mounted = Place::new().try_mount(|options| options.allow_other = true).unwrap();
    // The way to the mount point, for users who are not the owner of the folder.
    fs::set_permissions(mounted.place.folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    fs::set_permissions(mounted.root(), PermissionsExt::from_mode(0o777)).unwrap();
    Some(mounted)
}

/// Whether `script` succeeds, run by user and group 4711 that is also in group 4800.
fn as_user(directory: &Path, script: &str) -> bool {
    let user = ["--reuid=4711", "--regid=4711", "--groups=4800", "sh", "-c", script];
    Command::new("setpriv")
        .args(user)
        .current_dir(directory)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap()
        .success()
}

// spec: MNT-15
#[test]
fn supplementary_groups_count() {
    let Some(mounted) = shared() else { return };
    let path = mounted.path("group");
    fs::write(&path, b"for the group").unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    assert!(!as_user(&mounted.root(), "cat group"));
    chown(&path, None, Some(4800)).unwrap();
    assert!(as_user(&mounted.root(), "cat group >/dev/null"));
    assert!(!as_user(&mounted.root(), "echo x >> group"));
}

// spec: MNT-15
#[test]
fn what_a_user_creates_is_theirs_and_in_the_directory_s_group_where_it_says_so() {
    let Some(mounted) = shared() else { return };
    fs::create_dir(mounted.path("plain")).unwrap();
    fs::create_dir(mounted.path("inherits")).unwrap();
    chown(mounted.path("inherits"), None, Some(4900)).unwrap();
    for (folder, mode) in [("plain", 0o777), ("inherits", 0o2777)] {
        fs::set_permissions(mounted.path(folder), PermissionsExt::from_mode(mode)).unwrap();
    }
    assert!(as_user(
        &mounted.root(),
        "umask 027; mkdir plain/d inherits/d; echo x > plain/f; echo x > inherits/f"
    ));
    let owner = |name: &str| {
        fs::metadata(mounted.path(name)).map(|of| (of.uid(), of.gid(), of.mode() & 0o7777)).unwrap()
    };
    assert_eq!(owner("plain/f"), (4711, 4711, 0o640));
    assert_eq!(owner("plain/d"), (4711, 4711, 0o750));
    assert_eq!(owner("inherits/f"), (4711, 4900, 0o640));
    assert_eq!(owner("inherits/d"), (4711, 4900, 0o2750));
}

// spec: MNT-15
#[test]
fn a_sticky_directory_protects_what_belongs_to_others() {
    let Some(mounted) = shared() else { return };
    fs::create_dir(mounted.path("sticky")).unwrap();
    fs::set_permissions(mounted.path("sticky"), PermissionsExt::from_mode(0o1777)).unwrap();
    fs::write(mounted.path("sticky/root"), b"").unwrap();
    assert!(as_user(&mounted.root(), "touch sticky/own && rm sticky/own"));
    assert!(!as_user(&mounted.root(), "rm -f sticky/root"));
    assert!(!as_user(&mounted.root(), "mv sticky/root sticky/other"));
}

// spec: MNT-14, FS-PERM-1
#[test]
fn a_write_or_truncation_by_a_user_takes_set_id_bits_away() {
    let Some(mounted) = shared() else { return };
    for (name, script) in [("written", "echo x >> written"), ("cut", ": > cut")] {
        let path = mounted.path(name);
        fs::write(&path, b"program").unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o6777)).unwrap();
        assert!(as_user(&mounted.root(), script));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o777, "{name}");
    }
    let mounted = mounted.unmount().mount();
    assert_eq!(fs::metadata(mounted.path("written")).unwrap().mode() & 0o7777, 0o777);
}

// spec: MNT-27
#[test]
fn a_private_mount_lets_nobody_else_in() {
    if !as_root() {
        return;
    }
    let mounted = Mounted::new();
    fs::set_permissions(mounted.place.folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    assert!(as_user(mounted.place.folder.path(), "true"));
    assert!(!as_user(mounted.place.folder.path(), "ls mnt"));
}

// spec: MNT-16
#[test]
fn an_open_file_can_be_truncated_whatever_its_mode_has_become() {
    let Some(mounted) = shared() else { return };
    let script = r#"open(my $f, ">", "file") or exit 1; print $f "content"; chmod 0, "file"; truncate($f, 3) or exit 2;"#;
    assert!(as_user(&mounted.root(), &format!("perl -e '{script}'")));
    assert!(!as_user(&mounted.root(), ": > file"));
}

// spec: MNT-38, FS-PERM-13
#[test]
fn a_change_by_an_ordinary_user_takes_set_id_bits_away_at_once() {
    let Some(mounted) = shared() else { return };
    fs::write(mounted.path("source"), [7; 9000]).unwrap();
    fs::set_permissions(mounted.path("source"), PermissionsExt::from_mode(0o644)).unwrap();
    for (name, change) in [
        ("append", "echo more >> append"),
        ("direct", "dd if=source of=direct bs=4096 count=1 oflag=direct conv=notrunc"),
        ("truncate", "truncate -s 3 truncate"),
        ("allocate", "fallocate -l 70000 allocate"),
        ("punch", "fallocate -p -l 10 punch"),
        ("copy", "cp --no-preserve=all --sparse=never source copy"),
    ] {
        let path = mounted.path(name);
        fs::write(&path, [1; 9000]).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o6777)).unwrap();
        assert!(as_user(&mounted.root(), change), "{name}");
        // Asked for nothing but the mode, the kernel may answer from its cache.
        let shown = Command::new("stat").args(["-c", "%a"]).arg(&path).output().unwrap();
        assert_eq!(String::from_utf8(shown.stdout).unwrap().trim(), "777", "{name}");
    }
}

// spec: FS-PERM-13
#[test]
fn a_copied_range_takes_set_id_bits_away_from_an_ordinary_user_s_target() {
    let Some(mounted) = shared() else { return };
    let path = mounted.path("target");
    fs::write(&path, [1; 9000]).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o6777)).unwrap();
    let target = fs::File::options().read(true).write(true).open(&path).unwrap();
    // Only this thread becomes an ordinary user.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let user = rustix::fs::Uid::from_raw(4711);
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            rustix::fs::copy_file_range(&target, Some(&mut 0), &target, Some(&mut 8192), 100).unwrap();
        });
    });
    let shown = Command::new("stat").args(["-c", "%a"]).arg(&path).output().unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap().trim(), "777");
}
