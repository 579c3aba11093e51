//! The drivers notice what they are there for: a barrier that does nothing, tables that are damaged, an inode that stays.

use std::time::Duration;

use agentfs::Options;
use agentfs::oracle::play::{Fault, Look, Trace, replay};
use agentfs::oracle::{Answer, Between, Failure, Implementation, Tree};
use agentfs_model::call::{Call, Object, OpenFlags, Operation};
use agentfs_model::generate::Alphabet;
use agentfs_model::outcome::Outcome;
use agentfs_model::trace::{Setting, Step};
use agentfs_model::values::{Handle, ProcessId, Timestamp};

use crate::bench::Bench;

/// What the library is made to do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// A sync returns, and nothing has been done.
    BarrierDoesNothing,
    /// Other programs write to the tables.
    Foreign(&'static str),
}

struct Wrong {
    bench: Bench,
    bug: Bug,
}

impl Implementation for Wrong {
    fn name(&self) -> &str {
        "a wrong one"
    }

    fn supports(&self, _: &str) -> bool {
        true
    }

    fn begin(&mut self, setting: &Setting) -> Result<Option<Between>, Failure> {
        self.bench.begin(setting)
    }

    fn call(&mut self, step: u32, now: Option<Timestamp>, call: &Call) -> Result<Answer, Failure> {
        if matches!(call.operation, Operation::Sync) && self.bug == Bug::BarrierDoesNothing {
            return Ok(Answer { outcome: Outcome::Done, between: None });
        }
        let answer = self.bench.call(step, now, call);
        if let (Operation::Sync, Bug::Foreign(sql)) = (&call.operation, self.bug) {
            let path = self.bench.database().unwrap().to_owned();
            rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
        }
        answer
    }

    fn observe(&mut self) -> Result<Option<Tree>, Failure> {
        self.bench.observe()
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.bench.end()
    }
}

/// How the trace ends: a file is made, synced, opened and unlinked, and the process is killed.
fn fault_with(bug: Bug) -> Option<Fault> {
    let handle = Handle(0);
    let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
    let operations = [
        Operation::Open { path: "file".into(), flags, mode: 0o644, handle },
        Operation::Write { handle, data: "content".into() },
        Operation::Sync,
        Operation::Stat { object: Object::Handle { handle } },
        Operation::Unlink { path: "file".into() },
        Operation::Close { handle },
        Operation::Crash,
    ];
    let step = |operation| Step {
        call: Call { by: ProcessId(0), operation },
        now: None,
        outcome: None,
        between: None,
        allowed: None,
    };
    let trace = Trace {
        setting: Alphabet::library().setting(0, ""),
        steps: operations.into_iter().map(step).collect(),
    };
    let mut options = Options::default();
    // Nothing is committed but by a barrier.
    (options.group.idle, options.group.age) = (Duration::from_secs(3600), Duration::from_secs(3600));
    let mut wrong = Wrong { bench: Bench::new(options), bug };
    replay(&trace, &mut wrong, Look::EveryStep).ended.err()
}

#[test]
fn without_a_bug_there_is_no_fault() {
    assert!(fault_with(Bug::None).is_none());
}

// spec: DUR-4
#[test]
fn a_barrier_that_does_nothing_is_noticed_after_the_crash() {
    let fault = fault_with(Bug::BarrierDoesNothing).expect("the file is not there");
    let Fault::Divergence(divergence) = fault else { panic!("{fault}") };
    assert_eq!(divergence.step, 7, "{divergence}");
}

// spec: INT-1
#[test]
fn what_breaks_a_rule_of_the_tables_is_noticed_with_the_next_look() {
    let bugs = [
        ("UPDATE fs_inode SET nlink = 2 WHERE ino = 2", "INT-"),
        ("INSERT INTO fs_data (ino, chunk_index, data) VALUES (77, 0, x'00')", "INT-"),
        ("INSERT INTO fs_inode (mode, nlink, uid, gid, size, rdev, atime, mtime, ctime, atime_nsec, mtime_nsec,
          ctime_nsec) VALUES (33188, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0)", "FS-REAP-4"),
    ];
    for (sql, rule) in bugs {
        let fault = fault_with(Bug::Foreign(sql)).unwrap_or_else(|| panic!("{sql}"));
        assert!(fault.to_string().contains(rule), "{sql}: {fault}");
    }
}
