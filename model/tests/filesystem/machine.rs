//! A file system and its clock, and short forms of the calls that many statements make.

use agentfs_model::Errno;
use agentfs_model::bytes::Bytes;
use agentfs_model::call::{Call, Object, OpenFlags, Operation, RenameFlags};
use agentfs_model::fs::FileSystem;
use agentfs_model::outcome::{Expected, Outcome, StatusPattern};
use agentfs_model::profile::Profile;
use agentfs_model::trace::{RootSetting, Setting};
use agentfs_model::values::{Credentials, Handle, ProcessId, Time, Timestamp};

pub const DONE: Expected = Expected::Exactly(Outcome::Done);

pub const fn refused(errno: Errno) -> Expected {
    Expected::Exactly(Outcome::Error(errno))
}

pub fn data(bytes: &str) -> Expected {
    Expected::Exactly(Outcome::Data(Bytes::from(bytes)))
}

pub const fn count(count: u64) -> Expected {
    Expected::Exactly(Outcome::Count(count))
}

pub const fn at(seconds: i64) -> Time {
    Time::At(Timestamp { seconds, nanoseconds: 0 })
}

/// The object at the end of a path, symlinks followed.
pub fn path(path: &str) -> Object {
    Object::Path { path: path.into(), follow: true }
}

pub const fn by_handle(number: u32) -> Object {
    Object::Handle { handle: Handle(number) }
}

/// A file system and its clock, one second a call. Process 0 is user 0, process 1 an ordinary user, 2 another.
pub struct Machine {
    pub fs: FileSystem,
    pub seconds: i64,
}

impl Machine {
    pub fn new() -> Self {
        Self::with(Profile::agentfs())
    }

    pub fn with(profile: Profile) -> Self {
        let user = |id| Credentials { uid: id, gid: id, groups: Vec::new() };
        let setting = Setting {
            about: String::new(),
            processes: vec![Credentials::root(), user(1000), user(2000)],
            root: RootSetting { uid: 0, gid: 0, permissions: 0o777 },
            profile,
        };
        Self { fs: FileSystem::start(&setting, at(0)), seconds: 0 }
    }

    /// What the call may answer.
    pub fn allowed(&mut self, process: u8, operation: Operation) -> Vec<Expected> {
        self.seconds += 1;
        let branches = self.fs.step(at(self.seconds), &Call { by: ProcessId(process), operation }).unwrap();
        let allowed = branches.iter().map(|branch| branch.allowed.expected.clone()).collect();
        self.fs = branches.into_iter().next().unwrap().into_next();
        assert_eq!(self.fs.violation(), None);
        allowed
    }

    /// The one outcome that the call may have.
    pub fn by(&mut self, process: u8, operation: Operation) -> Expected {
        let allowed = self.allowed(process, operation);
        let [expected] = &allowed[..] else { panic!("several outcomes: {allowed:?}") };
        expected.clone()
    }

    pub fn root(&mut self, operation: Operation) -> Expected {
        self.by(0, operation)
    }

    pub fn open_by(&mut self, process: u8, path: &str, flags: OpenFlags, handle: u32) -> Expected {
        self.by(process, Operation::Open { path: path.into(), flags, mode: 0o644, handle: Handle(handle) })
    }

    pub fn open(&mut self, path: &str, flags: OpenFlags, handle: u32) -> Expected {
        self.open_by(0, path, flags, handle)
    }

    pub fn close(&mut self, handle: u32) {
        assert_eq!(self.root(Operation::Close { handle: Handle(handle) }), DONE);
    }

    pub fn read(&mut self, handle: u32, length: u64) -> Expected {
        self.root(Operation::Read { handle: Handle(handle), length })
    }

    pub fn write(&mut self, handle: u32, bytes: &str) -> Expected {
        self.root(Operation::Write { handle: Handle(handle), data: bytes.into() })
    }

    pub fn file(&mut self, path: &str, content: &str) {
        assert_eq!(self.open(path, OpenFlags::WRITE | OpenFlags::CREATE, 99), DONE);
        assert_eq!(self.write(99, content), count(content.len() as u64));
        self.close(99);
    }

    pub fn mkdir(&mut self, path: &str) -> Expected {
        self.root(Operation::Mkdir { path: path.into(), mode: 0o755 })
    }

    pub fn symlink(&mut self, target: &str, path: &str) {
        let operation = Operation::Symlink { target: target.into(), path: path.into() };
        assert_eq!(self.root(operation), DONE);
    }

    pub fn chmod(&mut self, object: &str, mode: u32) {
        assert_eq!(self.root(Operation::Chmod { object: path(object), mode }), DONE);
    }

    /// Gives it to that user and the group of the same number.
    pub fn chown(&mut self, object: &str, id: u32) {
        let object = Object::Path { path: object.into(), follow: false };
        assert_eq!(self.root(Operation::Chown { object, uid: Some(id), gid: Some(id) }), DONE);
    }

    pub fn rename(&mut self, from: &str, to: &str, flags: RenameFlags) -> Expected {
        self.root(Operation::Rename { from: from.into(), to: to.into(), flags })
    }

    pub fn status(&mut self, object: Object) -> StatusPattern {
        let Expected::Status(status) = self.root(Operation::Stat { object }) else { panic!("no status") };
        status
    }

    /// What lstat shows.
    pub fn lstat(&mut self, path: &str) -> StatusPattern {
        self.status(Object::Path { path: path.into(), follow: false })
    }
}
