//! What Linux forbids above every file system, in directories that anyone may write to.

use agentfs_model::Errno;
use agentfs_model::call::{OpenFlags, Operation};
use agentfs_model::outcome::Expected;
use agentfs_model::profile::{Profile, Protections};

use crate::machine::{DONE, Machine, path, refused};

/// A sticky directory that anyone may write to, where user 2000 has a file, a symlink, a socket; protections all on.
fn with_sticky_directory(profile: Profile) -> Machine {
    let mut profile = profile;
    profile.protections.symlinks = true;
    profile.protections.hardlinks = true;
    profile.protections.regular = 1;
    let mut machine = Machine::with(profile);
    machine.mkdir("t");
    machine.chmod("t", 0o1777);
    machine.mkdir("d");
    machine.chmod("d", 0o777);
    machine.file("t/f", "");
    machine.chmod("t/f", 0o644);
    machine.symlink("/d", "t/l");
    for name in ["t/f", "t/l"] {
        machine.chown(name, 2000);
    }
    machine
}

// spec: CALL-9
#[test]
fn the_host_protects_directories_that_anyone_may_write_to() {
    let mut machine = with_sticky_directory(Profile::linux());
    let stat = |of: &str| Operation::Stat { object: path(of) };
    for process in [0, 1] {
        assert_eq!(machine.by(process, stat("t/l")), refused(Errno::EACCES));
        assert_eq!(
            machine.open_by(process, "t/f", OpenFlags::CREATE | OpenFlags::READ, 1),
            refused(Errno::EACCES)
        );
    }
    assert!(matches!(machine.by(2, stat("t/l")), Expected::Status(_)));
    assert_eq!(machine.open_by(1, "t/f", OpenFlags::READ, 1), DONE);
    let link = |to: &str| Operation::Link { from: "t/f".into(), to: to.into(), follow: false };
    assert_eq!(machine.by(1, link("d/g")), refused(Errno::EPERM));
    assert_eq!(machine.by(2, link("d/g")), DONE);
}

/// Linux asks only of the symlink that ends the path whether it may be followed.
// spec: CALL-9
#[test]
fn a_symlink_in_the_middle_of_a_path_is_followed_in_a_sticky_directory_too() {
    let mut machine = with_sticky_directory(Profile::linux());
    machine.mkdir("d/e");
    for (of, is_last) in [("t/l/e", false), ("t/l/.", false), ("t/l/", true), ("t/l", true)] {
        let answer = machine.by(1, Operation::Stat { object: path(of) });
        assert_eq!(answer == refused(Errno::EACCES), is_last, "{of}");
    }
    // What ends the target of the last one is last as well, what lies before that is not.
    machine.symlink("t/l/e", "through");
    machine.symlink("t/l", "to");
    let mut stat = |of: &str| machine.by(1, Operation::Stat { object: path(of) });
    assert!(matches!(stat("through"), Expected::Status(_)));
    assert_eq!(stat("to"), refused(Errno::EACCES));
}

/// What is neither a file nor a FIFO has no switch: opening it there with CREATE is always refused.
// spec: CALL-9
#[test]
fn open_with_create_of_what_is_no_file_is_refused_in_a_sticky_directory_without_any_switch() {
    let flags = OpenFlags::CREATE | OpenFlags::READ | OpenFlags::NOFOLLOW;
    for (mut profile, errno) in [(Profile::linux(), Errno::EACCES), (Profile::agentfs(), Errno::ELOOP)] {
        profile.protections = Protections::default();
        let mut machine = Machine::with(profile);
        machine.chmod("/", 0o1777);
        machine.symlink("/d", "l");
        machine.chown("l", 2000);
        for process in [0, 1] {
            assert_eq!(machine.open_by(process, "l", flags, 1), refused(errno));
        }
        assert_eq!(machine.open_by(2, "l", flags, 1), refused(Errno::ELOOP));
        assert_eq!(machine.open_by(1, "l", OpenFlags::READ | OpenFlags::NOFOLLOW, 1), refused(Errno::ELOOP));
    }
}
