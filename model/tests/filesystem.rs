//! Small statements about the abstract file system, each a rule that a reader can check against a man page.

use agentfs_model::Errno;
use agentfs_model::bytes::Bytes;
use agentfs_model::call::{Call, Object, OpenFlags, Operation, RenameFlags};
use agentfs_model::fs::FileSystem;
use agentfs_model::outcome::{Expected, Outcome};
use agentfs_model::profile::Profile;
use agentfs_model::trace::{RootSetting, Setting};
use agentfs_model::values::{Credentials, Handle, ProcessId, Time, Timestamp};

/// A file system and its clock, one second a call.
struct Machine {
    fs: FileSystem,
    seconds: i64,
}

impl Machine {
    fn new() -> Self {
        let user = Credentials { uid: 1000, gid: 1000, groups: Vec::new() };
        let setting = Setting {
            about: String::new(),
            processes: vec![Credentials::root(), user],
            root: RootSetting { uid: 0, gid: 0, permissions: 0o777 },
            profile: Profile::agentfs(),
        };
        let start = Time::At(Timestamp { seconds: 0, nanoseconds: 0 });
        Self { fs: FileSystem::start(&setting, start), seconds: 0 }
    }

    /// The one outcome that the call may have.
    fn by(&mut self, process: u8, operation: Operation) -> Expected {
        self.seconds += 1;
        let now = Time::At(Timestamp { seconds: self.seconds, nanoseconds: 0 });
        let branches = self.fs.step(now, &Call { by: ProcessId(process), operation }).unwrap();
        let [branch] = &branches[..] else { panic!("several branches") };
        self.fs = branch.clone().into_next();
        assert_eq!(self.fs.violation(), None);
        branch.allowed.expected.clone()
    }

    fn root(&mut self, operation: Operation) -> Expected {
        self.by(0, operation)
    }

    fn file(&mut self, path: &str, content: &str) {
        let flags = OpenFlags::WRITE | OpenFlags::CREATE;
        let handle = Handle(99);
        assert_eq!(self.root(Operation::Open { path: path.into(), flags, mode: 0o644, handle }), DONE);
        let written = Outcome::Count(content.len() as u64);
        assert_eq!(self.root(Operation::Write { handle, data: content.into() }), Expected::Exactly(written));
        assert_eq!(self.root(Operation::Close { handle }), DONE);
    }

    fn mkdir(&mut self, path: &str) -> Expected {
        self.root(Operation::Mkdir { path: path.into(), mode: 0o755 })
    }

    fn rename(&mut self, from: &str, to: &str, flags: RenameFlags) -> Expected {
        self.root(Operation::Rename { from: from.into(), to: to.into(), flags })
    }

    fn links(&mut self, path: &str) -> u64 {
        let object = Object::Path { path: path.into(), follow: false };
        let Expected::Status(status) = self.root(Operation::Stat { object }) else { panic!("no status") };
        status.links.unwrap()
    }
}

const DONE: Expected = Expected::Exactly(Outcome::Done);

const fn refused(errno: Errno) -> Expected {
    Expected::Exactly(Outcome::Error(errno))
}

#[test]
fn a_directory_is_not_moved_below_itself() {
    let mut machine = Machine::new();
    machine.mkdir("a");
    machine.mkdir("a/b");
    assert_eq!(machine.rename("a", "a/b/c", RenameFlags::empty()), refused(Errno::EINVAL));
    assert_eq!(machine.rename("a/b", "a", RenameFlags::empty()), refused(Errno::ENOTEMPTY));
}

#[test]
fn link_counts_of_directories_follow_an_exchange() {
    let mut machine = Machine::new();
    machine.mkdir("a");
    machine.mkdir("a/b");
    machine.file("f", "");
    assert_eq!((machine.links("/"), machine.links("a")), (3, 3));
    assert_eq!(machine.rename("a/b", "f", RenameFlags::EXCHANGE), DONE);
    assert_eq!((machine.links("/"), machine.links("a")), (4, 2));
}

#[test]
fn an_unlinked_file_lives_until_its_last_close() {
    let mut machine = Machine::new();
    machine.file("f", "bytes");
    let handle = Handle(1);
    machine.root(Operation::Open { path: "f".into(), flags: OpenFlags::READ, mode: 0, handle });
    assert_eq!(machine.root(Operation::Unlink { path: "f".into() }), DONE);
    assert_eq!(machine.fs.inodes().len(), 2);
    let bytes = Expected::Exactly(Outcome::Data(Bytes::from("bytes")));
    assert_eq!(machine.root(Operation::Read { handle, length: 9 }), bytes);
    machine.root(Operation::Close { handle });
    assert_eq!(machine.fs.inodes().len(), 1);
}

#[test]
fn the_forty_first_symlink_is_eloop() {
    let mut machine = Machine::new();
    machine.file("l0", "");
    for number in 1..=41 {
        let target = format!("l{}", number - 1);
        let path = &*format!("l{number}");
        machine.root(Operation::Symlink { target: (&*target).into(), path: path.into() });
    }
    let mut stat = |path: &str| {
        machine.root(Operation::Stat { object: Object::Path { path: path.into(), follow: true } })
    };
    assert!(matches!(stat("l40"), Expected::Status(_)));
    assert_eq!(stat("l41"), refused(Errno::ELOOP));
}

#[test]
fn what_was_cut_off_does_not_come_back() {
    let mut machine = Machine::new();
    machine.file("f", "0123456789");
    for size in [2, 5] {
        let object = Object::Path { path: "f".into(), follow: true };
        assert_eq!(machine.root(Operation::Truncate { object, size }), DONE);
    }
    let handle = Handle(1);
    machine.root(Operation::Open { path: "f".into(), flags: OpenFlags::READ, mode: 0, handle });
    let bytes = Expected::Exactly(Outcome::Data(Bytes(b"01\0\0\0".to_vec())));
    assert_eq!(machine.root(Operation::Read { handle, length: 9 }), bytes);
}

#[test]
fn permission_is_checked_for_the_process_that_calls() {
    let mut machine = Machine::new();
    machine.file("f", "");
    let open = |path: &str, flags, handle| Operation::Open { path: path.into(), flags, mode: 0, handle };
    assert_eq!(machine.by(1, open("f", OpenFlags::READ, Handle(1))), DONE);
    assert_eq!(machine.by(1, open("f", OpenFlags::WRITE, Handle(2))), refused(Errno::EACCES));
}
