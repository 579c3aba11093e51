//! Opening a database in a process of its own: with another working directory, and as a user who may
//! not write. Each test runs its own binary again, with a variable that says so.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use agentfs::types::{Caller, Ino};
use agentfs::vfs::{Vfs, WriteFlags};
use agentfs::{AgentFs, Errno, Options};

use crate::common::{Fixture, errno, n};

const VARIABLE: &str = "AGENTFS_TEST_FOLDER";
/// Nobody in particular.
const UNPRIVILEGED: u32 = 65534;

/// The folder that the parent prepared, in the child.
fn prepared() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).map(PathBuf::from)
}

/// Runs `test` in a process of its own, there, and without privileges if we have any.
fn run_again(test: &str, folder: &Path, unprivileged: bool) {
    // A copy, because others may not reach the folder where we were built.
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = place.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", test]).env(VARIABLE, folder).current_dir(folder);
    if unprivileged && rustix::process::geteuid().is_root() {
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

// spec: OPEN-7, OPEN-9
#[test]
fn a_change_of_the_working_directory_concerns_no_file_of_an_open_database() {
    if let Some(folder) = prepared() {
        let (path, elsewhere) = (Path::new("agent.db"), folder.join("elsewhere"));
        for change in [AgentFs::create, AgentFs::open] {
            std::env::set_current_dir(&folder).unwrap();
            let fs = change(path, &Options::default()).unwrap();
            std::env::set_current_dir(&elsewhere).unwrap();
            assert_eq!(fs.store().path(), folder.canonicalize().unwrap().join("agent.db"));
            let file = fs.create(&Caller::root(), Ino::ROOT, n("f"), 0o644).unwrap().ino;
            fs.write(file, 0, &[1; 100_000], WriteFlags::empty()).unwrap();
            fs.sync().unwrap();
            fs.rename(
                &Caller::root(),
                Ino::ROOT,
                n("f"),
                Ino::ROOT,
                n("g"),
                agentfs::vfs::RenameFlags::empty(),
            )
            .unwrap();
            fs.close().unwrap();
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("elsewhere")).unwrap();
    let test = "processes::a_change_of_the_working_directory_concerns_no_file_of_an_open_database";
    run_again(test, folder.path(), false);
    assert_eq!(names(&folder.path().join("elsewhere")), Vec::<std::ffi::OsString>::new());
    assert_eq!(names(folder.path()), ["agent.db", "elsewhere"]);
}

// spec: OPEN-8, OPEN-2
#[test]
fn who_may_not_write_reads_and_is_told_why_the_rest_is_refused() {
    if let Some(folder) = prepared() {
        let open = |name: &str, read_only| {
            let mut options = Options::default();
            options.read_only = read_only;
            AgentFs::open(&folder.join(name), &options)
        };
        let refused = |name, read_only| errno(open(name, read_only).map(|_| ()));
        assert_eq!(refused("protected.db", false), Errno::EROFS);
        assert_eq!(refused("writable.db", false), Errno::EROFS, "its directory cannot be written");
        assert_eq!(refused("secret.db", false), Errno::EACCES);
        assert_eq!(refused("secret.db", true), Errno::EACCES);
        let created = AgentFs::create(&folder.join("new.db"), &Options::default());
        assert_eq!(errno(created.map(|_| ())), Errno::EROFS);
        for name in ["protected.db", "writable.db"] {
            let fs = open(name, true).unwrap();
            let file = fs.lookup(&Caller::root(), Ino::ROOT, n("f")).unwrap().ino;
            assert_eq!(fs.read(file, 0, 10).unwrap(), b"content");
            assert_eq!(errno(fs.unlink(&Caller::root(), Ino::ROOT, n("f"))), Errno::EROFS);
            assert_eq!(errno(fs.write(file, 0, b"x", WriteFlags::empty())), Errno::EROFS);
            fs.sync().unwrap();
            fs.close().unwrap();
        }
        return;
    }
    let fixture = Fixture::new();
    fixture.file(Ino::ROOT, "f", b"content");
    let path = fixture.path();
    let Fixture { fs, folder, .. } = fixture;
    fs.close().unwrap();
    let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for (name, mode) in [("protected.db", 0o444), ("writable.db", 0o666), ("secret.db", 0o000)] {
        fs::copy(&path, folder.path().join(name)).unwrap();
        allow(&folder.path().join(name), mode);
    }
    let before = names(folder.path());
    allow(folder.path(), 0o555);
    run_again("processes::who_may_not_write_reads_and_is_told_why_the_rest_is_refused", folder.path(), true);
    allow(folder.path(), 0o755);
    assert_eq!(names(folder.path()), before, "no log, no journal");
}
