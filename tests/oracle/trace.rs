//! A trace that a test runs step by step on a directory of its own, in JSON as in a file.

use std::collections::BTreeSet;
use std::path::PathBuf;

use agentfs::oracle::host::{HostDirectory, Lifecycle, PlainDirectory};
use agentfs::oracle::{Answer, Between, Failure, Implementation, Tree};
use agentfs_model::call::Call;
use agentfs_model::outcome::{Outcome, Status};
use agentfs_model::profile::Profile;
use agentfs_model::trace::{RootSetting, Setting};
use agentfs_model::values::Credentials;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder on a tmpfs.
pub fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").expect("Linux has a tmpfs at /dev/shm")
}

/// A folder on the file system that the build is on.
pub fn in_build() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// One process, who is whoever runs the test, and a root that belongs to them.
pub fn own_setting() -> Setting {
    setting(vec![HostDirectory::own_credentials()])
}

/// These processes, and a root that belongs to the first.
pub fn setting(processes: Vec<Credentials>) -> Setting {
    let root = RootSetting { uid: processes[0].uid, gid: processes[0].gid, permissions: 0o755 };
    Setting { about: String::new(), processes, root, profile: Profile::linux() }
}

pub fn user(uid: u32, gid: u32, groups: &[u32]) -> Credentials {
    Credentials { uid, gid, groups: groups.to_vec() }
}

/// Names a copy of `agentfs` to a process of the tests that may not enter the folder of the build.
pub const PROGRAM: &str = "AGENTFS_TEST_PROGRAM";

pub fn on(lifecycle: impl Lifecycle + 'static) -> HostDirectory {
    let program = std::env::var_os(PROGRAM).unwrap_or_else(|| env!("CARGO_BIN_EXE_agentfs").into());
    HostDirectory::new(program, lifecycle, HostDirectory::LIMIT)
}

/// A trace that runs.
pub struct Trace {
    pub host: HostDirectory,
    pub begun: Between,
    /// The operations that it used.
    pub used: BTreeSet<String>,
    folder: Option<TempDir>,
    step: u32,
}

impl Trace {
    pub fn begin(folder: TempDir, setting: &Setting) -> Self {
        let host = on(PlainDirectory::new(folder.path()).unwrap());
        Self { folder: Some(folder), ..Self::begin_on(host, setting) }
    }

    pub fn begin_on(mut host: HostDirectory, setting: &Setting) -> Self {
        let begun = host.begin(setting).unwrap().unwrap();
        Self { host, begun, used: BTreeSet::new(), folder: None, step: 0 }
    }

    /// The same directory, with another trace.
    pub fn again(&mut self, setting: &Setting) {
        self.host.end().unwrap();
        self.begun = self.host.begin(setting).unwrap().unwrap();
    }

    pub fn path(&self) -> PathBuf {
        self.folder.as_ref().unwrap().path().to_owned()
    }

    pub fn answer(&mut self, call: &Value) -> Result<Answer, Failure> {
        let call: Call = serde_json::from_value(call.clone()).unwrap();
        self.step += 1;
        self.used.insert(call.operation.name().to_owned());
        self.host.call(self.step, None, &call)
    }

    pub fn outcome(&mut self, call: &Value) -> Outcome {
        self.answer(call).unwrap().outcome
    }

    /// Makes the calls one after another, each of which must be answered by what stands beside it.
    #[track_caller]
    pub fn runs(&mut self, steps: &[(Value, Value)]) {
        for (call, expected) in steps {
            let outcome = serde_json::to_value(self.outcome(call)).unwrap();
            assert_eq!(outcome, *expected, "{call}");
        }
    }

    /// Makes the calls, each of which must be done.
    #[track_caller]
    pub fn does(&mut self, calls: &[Value]) {
        for call in calls {
            assert_eq!(self.outcome(call), Outcome::Done, "{call}");
        }
    }

    #[track_caller]
    pub fn stat(&mut self, object: &Value) -> Status {
        let mut call = object.clone();
        call["op"] = json!("stat");
        match self.outcome(&call) {
            Outcome::Status(status) => status,
            outcome => panic!("{call}: {outcome:?}"),
        }
    }

    pub fn tree(&mut self) -> Tree {
        self.host.observe().unwrap().unwrap()
    }
}
