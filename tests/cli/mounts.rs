//! `agentfs mount` and `agentfs unmount`, with the real kernel: these tests need /dev/fuse.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{Outcome, Place};
use crate::shows;

/// A place whose mounts end with it.
struct Mounted {
    place: Place,
    mountpoint: PathBuf,
}

impl Mounted {
    fn prepare() -> Self {
        let device = fs::File::options().read(true).write(true).open("/dev/fuse");
        assert!(device.is_ok(), "/dev/fuse: {device:?}; these tests mount file systems");
        let place = Place::with_demo();
        let mountpoint = place.at("mnt");
        fs::create_dir(&mountpoint).unwrap();
        Self { place, mountpoint }
    }

    fn files_left(&self) -> Vec<std::ffi::OsString> {
        let mut names: Vec<_> = fs::read_dir(self.place.at(".agentfs"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.place.run(["unmount", "--lazy", "mnt"]);
    }
}

fn mount_line(mountpoint: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.lines().find(|line| line.contains(&*mountpoint.to_string_lossy())).map(str::to_owned)
}

// spec: MNT-7, MNT-8, CLI-3
#[test]
fn the_first_command_makes_mounts_and_says_what_to_try() {
    let mut mounted = Mounted::prepare();
    mounted.mountpoint = mounted.place.at("new/agent-fs");
    let place = &mounted.place;
    let seen = place.session(&["mount --create new ./new/agent-fs", "info new"]);
    fs::write(mounted.mountpoint.join("hello.txt"), "hello\n").unwrap();
    let more = place.session(&[
        "fs cat new /hello.txt",
        "unmount ./new/agent-fs",
        "unmount ./new/agent-fs",
        "fs cat new /hello.txt",
    ]);
    shows!("mount", seen + &more);
    assert_eq!(mounted.files_left(), ["demo.db", "new.db"], "one file is left");
    let again = place.run(["mount", "--create", "new", "./new/agent-fs", "--json"]).json();
    assert_eq!((&again["created"], &again["read_only"]), (&false.into(), &false.into()));
    place.run(["unmount", "./new/agent-fs", "--json"]).answer();
}

// spec: CLI-9, MNT-4, MNT-9
#[test]
fn commands_and_the_mount_see_each_other() {
    let mounted = Mounted::prepare();
    let place = &mounted.place;
    place.run(["mount", "demo", "mnt"]).answer();
    for round in 0..5 {
        let text = format!("round {round}");
        fs::write(mounted.mountpoint.join("from-mount"), &text).unwrap();
        assert_eq!(place.run(["fs", "cat", "demo", "/from-mount"]).answer(), text, "without an fsync");
        place.run(["fs", "write", "demo", "/from-command", &text]).answer();
        let deadline = Instant::now() + Duration::from_secs(1);
        while fs::read_to_string(mounted.mountpoint.join("from-command")).ok().as_ref() != Some(&text) {
            assert!(Instant::now() < deadline, "seen through the mount within a second");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let shown = place.run(["info", "demo", "--json"]).json();
    assert_eq!(shown["mounted"]["mountpoint"], mounted.mountpoint.to_string_lossy().as_ref());
    place.run(["unmount", "mnt"]).answer();
    assert_eq!(mounted.files_left(), ["demo.db"], "one file is left");
}

// spec: MNT-7
#[test]
fn the_process_in_the_background_holds_on_to_nothing() {
    let mounted = Mounted::prepare();
    // A descriptor that a script has left open is not kept for as long as the mount lives.
    let script = format!("exec {} mount demo mnt --json 7>held --log log", env!("CARGO_BIN_EXE_agentfs"));
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(mounted.place.at(""));
    let answer = Outcome::of(&mut command).json();
    let process = PathBuf::from(format!("/proc/{}", answer["pid"]));
    assert_eq!(fs::read_link(process.join("cwd")).unwrap(), Path::new("/"));
    for (descriptor, leads_to) in
        [("0", "/dev/null".into()), ("1", "/dev/null".into()), ("2", mounted.place.at("log"))]
    {
        assert_eq!(fs::read_link(process.join("fd").join(descriptor)).unwrap(), leads_to);
    }
    for descriptor in fs::read_dir(process.join("fd")).unwrap() {
        let leads_to = fs::read_link(descriptor.unwrap().path()).unwrap_or_default();
        assert_ne!(leads_to, mounted.place.at("held"));
    }
    let status = fs::read_to_string(process.join("stat")).unwrap();
    let session = status.rsplit(") ").next().unwrap().split(' ').nth(3).unwrap().to_owned();
    assert_eq!(session, answer["pid"].to_string(), "a session of its own");
    let listed = mounted.place.run(["mount", "--json"]).json();
    let ours = listed.as_array().unwrap().iter().find(|mount| mount["pid"] == answer["pid"]).unwrap();
    assert_eq!((&ours["mountpoint"], &ours["state"]), (&answer["mountpoint"], &"alive".into()));
    mounted.place.run(["unmount", "mnt"]).answer();
}

// spec: MNT-7, MNT-8
#[test]
fn in_the_foreground_a_signal_is_the_end() {
    let mounted = Mounted::prepare();
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM, rustix::process::Signal::HUP]
    {
        let mut child = mounted
            .place
            .command(["mount", "--foreground", "demo", "mnt"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("demo mounted at "), "{line}");
        fs::write(mounted.mountpoint.join("file"), "text").unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(mount_line(&mounted.mountpoint), None);
        assert_eq!(mounted.files_left(), ["demo.db"], "one file is left");
        assert_eq!(mounted.place.run(["fs", "cat", "demo", "/file"]).answer(), "text");
    }
}

// spec: MNT-2, MNT-5, MNT-10
#[test]
fn after_a_kill_the_same_command_mounts_again() {
    let mounted = Mounted::prepare();
    let place = &mounted.place;
    let first = place.run(["mount", "demo", "mnt", "--json"]).json();
    let file = fs::File::create(mounted.mountpoint.join("file")).unwrap();
    file.sync_all().unwrap();
    let pid = rustix::process::Pid::from_raw(first["pid"].as_i64().unwrap().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    drop(file);
    while fs::metadata(&mounted.mountpoint).is_ok() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(place.run(["fs", "ls", "demo"]).answer(), "file\n", "what was synced is there");
    let listed = place.run(["mount", "--json"]).json();
    let dead = listed.as_array().unwrap().iter().find(|mount| mount["mountpoint"] == first["mountpoint"]);
    assert_eq!(dead.unwrap()["state"], "dead");
    place.run(["mount", "--create", "demo", "mnt"]).answer();
    assert!(mounted.mountpoint.join("file").exists());
    place.run(["unmount", "mnt"]).answer();
    assert_eq!(mounted.files_left(), ["demo.db"], "one file is left");
}

// spec: CLI-1, CLI-2, MNT-1, MNT-5
#[test]
fn a_mount_that_cannot_be_is_refused_by_the_command_itself() {
    let mounted = Mounted::prepare();
    let place = &mounted.place;
    fs::create_dir_all(place.at("full/of")).unwrap();
    fs::create_dir(place.at("other")).unwrap();
    fs::write(place.at("file"), "").unwrap();
    place.run(["mount", "demo", "mnt"]).answer();
    shows!(
        "refused-mounts",
        place.session(&[
            "mount demo missing",
            "mount demo full",
            "mount demo file",
            "mount demo mnt",
            "mount demo other",
            "mount other-agent other",
            "mount --create file.db full",
            "unmount other",
            "unmount missing",
        ])
    );
    assert!(!place.at("file.db").exists(), "a mount that fails leaves no database behind");
    fs::write(place.at("no.db"), "not a database").unwrap();
    assert_eq!(place.run(["mount", "--create", "no.db", "deep/er/mnt"]).code, 4);
    assert!(!place.at("deep").exists(), "nor directories");
    // A mount for reading is no conflict.
    place.run(["mount", "demo", "other", "--read-only"]).answer();
    let refused = fs::write(place.at("other/file"), "").unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::ROFS.raw_os_error()));
    place.run(["unmount", "other"]).answer();
    place.run(["unmount", "mnt"]).answer();
}

// spec: CLI-13, PATH-12
#[test]
fn a_copy_through_the_mount_of_the_same_database_neither_loops_nor_destroys() {
    let mounted = Mounted::prepare();
    let place = &mounted.place;
    place.run(["mount", "demo", "mnt"]).answer();
    fs::create_dir_all(mounted.mountpoint.join("d/below")).unwrap();
    fs::write(mounted.mountpoint.join("d/file"), "text").unwrap();
    fs::write(place.at("host-file"), "text").unwrap();
    // The folder has the mount in it.
    let copied = place.run(["fs", "cp", "demo", ".", ":/all"]);
    assert_eq!(copied.code, 0, "{}", copied.stderr);
    assert!(copied.stderr.contains("mnt: left out"), "{}", copied.stderr);
    assert_eq!(place.run(["fs", "find", "demo", "/all", "--type", "f"]).answer(), "/all/host-file\n");
    for arguments in [
        ["fs", "cp", "demo", "mnt/d", ":/d/below"],
        ["fs", "cp", "demo", ":/d", "mnt/d/below/new"],
        ["fs", "cp", "demo", "mnt/d/file", ":/d/file"],
        ["fs", "cp", "demo", ":/d/file", "mnt/d/file"],
        ["fs", "cp", "demo", "mnt/d", ":/"],
    ] {
        let refused = place.run(arguments);
        assert_eq!(
            (refused.code, refused.stderr.lines().count()),
            (1, 1),
            "{arguments:?}: {}",
            refused.stderr
        );
        assert_eq!(place.run(["fs", "cat", "demo", "/d/file"]).answer(), "text", "{arguments:?}");
    }
    place.run(["fs", "cp", "demo", "mnt/d", ":/twin"]).answer();
    place.run(["fs", "cp", "demo", ":/d", "mnt/other"]).answer();
    assert_eq!(place.run(["fs", "cat", "demo", "/twin/file", "/other/file"]).answer(), "texttext");
    place.run(["unmount", "mnt"]).answer();
}

// spec: CLI-14, MNT-5
#[test]
fn an_automounter_that_waits_at_the_mount_point_is_answered() {
    let mounted = Mounted::prepare();
    let place = &mounted.place;
    let (reader, writer) = std::io::pipe().unwrap();
    let group = rustix::process::getpgrp().as_raw_nonzero();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&writer);
    let options = format!("fd={descriptor},pgrp={group},minproto=5,maxproto=5,direct");
    let options = std::ffi::CString::new(options).unwrap();
    let flags = rustix::mount::MountFlags::empty();
    match rustix::mount::mount("waiting", &mounted.mountpoint, "autofs", flags, options.as_c_str()) {
        // Not as user 0, or a kernel without it.
        Err(rustix::io::Errno::PERM | rustix::io::Errno::NODEV) => return,
        other => other.unwrap(),
    }
    // Whoever would have to wait for the automounter is refused.
    drop(reader);
    let outcome = place.run(["mount", "demo", "mnt"]);
    let unmounted = place.run(["unmount", "mnt"]);
    rustix::mount::unmount(&mounted.mountpoint, rustix::mount::UnmountFlags::DETACH).unwrap();
    assert_eq!((outcome.code, unmounted.code), (0, 0), "{} {}", outcome.stderr, unmounted.stderr);
}

// spec: MNT-7, MNT-8
#[test]
fn an_interruption_while_mounting_leaves_no_mount_without_its_process() {
    let mounted = Mounted::prepare();
    let place = &mounted.place;
    for round in 0..20 {
        let mut command = place.command(["mount", "demo", "mnt"]);
        let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Anywhere from before the mount is made to after.
        std::thread::sleep(Duration::from_millis(round * 2));
        let group = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
        child.wait().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let path = place.at("").canonicalize().unwrap().join("mnt");
        let is_dead = || {
            let listed = place.run(["mount", "--json"]).json();
            let of_ours = |mount: &&serde_json::Value| mount["mountpoint"] == path.to_str().unwrap();
            listed.as_array().unwrap().iter().find(of_ours).is_some_and(|mount| mount["state"] == "dead")
        };
        // One that is just ending may look so.
        let deadline = Instant::now() + Duration::from_secs(5);
        while is_dead() {
            assert!(Instant::now() < deadline, "round {round} left a dead mount");
            std::thread::sleep(Duration::from_millis(20));
        }
        // Gone, or made before it came.
        place.run(["unmount", "mnt"]);
    }
}

// spec: CLI-8, MNT-37
#[test]
fn a_database_whose_name_is_not_text_is_at_rest_after_its_unmount() {
    let mounted = Mounted::prepare();
    let place = &mounted.place;
    let folder = place.at("names");
    fs::create_dir(&folder).unwrap();
    let database = folder.join(OsStr::from_bytes(b"caf\xe9, \\1.db"));
    assert_eq!(place.run([OsStr::new("init"), database.as_os_str()]).code, 0);
    for round in 0..5 {
        let outcome = place.run([OsStr::new("mount"), database.as_os_str(), OsStr::new("mnt")]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        fs::write(mounted.mountpoint.join("file"), vec![round; 4 << 20]).unwrap();
        place.run(["unmount", "mnt"]).answer();
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, std::slice::from_ref(&database));
    }
}

// spec: CLI-1, MNT-13
#[test]
fn without_fuse_a_mount_says_so() {
    let mounted = Mounted::prepare();
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // In a mount name space of its own, /dev/fuse is a device that no driver serves.
    let script = format!(
        "mknod no-fuse c 10 250 && mount --bind no-fuse /dev/fuse && exec {} mount demo mnt",
        env!("CARGO_BIN_EXE_agentfs")
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).current_dir(mounted.place.at("")).stdin(Stdio::null());
    let outcome = Outcome::of(&mut command);
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (9, 1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("/dev/fuse"), "{}", outcome.stderr);
}

// spec: CLI-14
#[test]
fn mount_8_and_fstab_mount_as_they_mount_anything() {
    let mounted = Mounted::prepare();
    let place = &mounted.place;
    let helper = place.at("mount.agentfs");
    symlink(env!("CARGO_BIN_EXE_agentfs"), &helper).unwrap();
    let call = |program: &Path, arguments: &[&str]| {
        Outcome::of(Command::new(program).args(arguments).current_dir(place.at("")).stdin(Stdio::null()))
    };
    let (database, directory) = (place.at(".agentfs/demo.db"), mounted.mountpoint.clone());
    let (database, directory) = (database.to_str().unwrap(), directory.to_str().unwrap());

    assert_eq!(call(&helper, &[database, directory, "-f"]).answer(), "");
    assert_eq!(mount_line(&mounted.mountpoint), None, "-f only pretends");

    let options = "rw,noatime,nosuid,nodev,nofail,_netdev,x-systemd.automount,default_permissions";
    assert_eq!(call(&helper, &[database, directory, "-n", "-o", options]).answer(), "");
    let line = mount_line(&mounted.mountpoint).unwrap();
    assert!(line.contains("fuse.agentfs rw,nosuid,nodev,noatime"), "{line}");
    place.run(["unmount", "mnt"]).answer();

    let program = Path::new(env!("CARGO_BIN_EXE_agentfs"));
    assert_eq!(call(program, &[database, directory, "-o", "ro"]).answer(), "");
    assert!(mount_line(&mounted.mountpoint).unwrap().contains(" ro,"));
    place.run(["unmount", "mnt"]).answer();

    let unknown = call(program, &[database, directory, "-o", "frobnicate"]);
    assert_eq!((unknown.code, unknown.stderr.lines().count()), (2, 1), "{}", unknown.stderr);
    assert_eq!(mount_line(&mounted.mountpoint), None);
    assert_eq!(call(&helper, &[database, directory, "-s", "-o", "frobnicate"]).answer(), "");
    place.run(["unmount", "mnt"]).answer();
}
