//! A right implementation is never accused, whatever clock it has.

use std::time::Duration;

use agentfs::oracle::check::{Checker, Moment};
use agentfs::oracle::play::{Look, START};
use agentfs::oracle::search::{Findings, Search, search};
use agentfs_model::call::{Call, Object, Operation};
use agentfs_model::generate::Alphabet;
use agentfs_model::outcome::{Outcome, Status};
use agentfs_model::profile::{AtimePolicy, Profile};
use agentfs_model::values::{FileKind, ProcessId};

use crate::simulated::Simulated;

/// Shrinking ends by itself, and not by the clock, so that the result is the same on a busy machine.
pub fn how(cases: u32) -> Search {
    Search {
        seed: 1,
        cases,
        until: None,
        length: 60,
        look: Look::EveryStep,
        shrink: Duration::from_secs(3600),
    }
}

fn assert_nothing(findings: &Findings) {
    for found in &findings.found {
        println!("{} times: {}", found.times, found.fault);
    }
    assert!(findings.found.is_empty(), "{} kinds of findings", findings.found.len());
    assert_eq!(findings.passed, findings.cases);
}

#[test]
fn the_model_passes_as_an_implementation() {
    let findings = search(&Alphabet::library(), &mut Simulated::new(None), &how(300), |_| {});
    assert_nothing(&findings);
    // So that a search that became empty is noticed.
    assert!(findings.steps > 5000, "{} steps", findings.steps);
}

#[test]
fn times_of_a_clock_of_its_own_need_only_lie_in_their_step() {
    for profile in
        [Profile::agentfs(), Profile { atime: AtimePolicy::Strict, ..Profile::linux() }, Profile::posix()]
    {
        let alphabet = Alphabet { profile, ..Alphabet::library() };
        let findings = search(&alphabet, &mut Simulated::with_own_clock(), &how(100), |_| {});
        assert_nothing(&findings);
    }
}

// spec: ORA-18
#[test]
fn a_crash_sets_no_umask_back() {
    let alphabet = Alphabet::library();
    let mut checker = Checker::new(&alphabet.setting(0, ""), Moment::At(START));
    let mut check = |operation: Operation, outcome: Outcome| {
        let call = Call { by: ProcessId(0), operation };
        checker.check(&call, Moment::At(START), &outcome).map_err(|rejection| rejection.to_string())
    };
    check(Operation::Umask { mask: 0o077 }, Outcome::Done).unwrap();
    check(Operation::Crash, Outcome::Done).unwrap();
    check(Operation::Mkdir { path: "d".into(), mode: 0o777 }, Outcome::Done).unwrap();
    let object = || Object::Path { path: "d".into(), follow: true };
    let status = |permissions| {
        Outcome::Status(Status {
            inode: 2,
            kind: FileKind::Directory,
            permissions,
            links: 2,
            uid: 0,
            gid: 0,
            size: 4096,
            blocks: 8,
            rdev: 0,
            atime: START,
            mtime: START,
            ctime: START,
        })
    };
    check(Operation::Stat { object: object() }, status(0o755)).unwrap_err();
    check(Operation::Stat { object: object() }, status(0o700)).unwrap();
}
