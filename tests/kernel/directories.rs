//! Random traces on ext4 and tmpfs.

use std::path::Path;

use agentfs::oracle::host::{HostDirectory, PlainDirectory};
use agentfs::oracle::play::Look;
use agentfs::oracle::search::{Search, search};
use agentfs_model::profile::Profile;

use crate::place::Place;

const PROGRAM: &str = env!("CARGO_BIN_EXE_agentfs");

fn run(place: &Place, cases: u32) {
    let plain = PlainDirectory::new(place.path()).unwrap();
    let mut host = HostDirectory::new(PROGRAM, plain, HostDirectory::LIMIT);
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let search_for = Search {
        seed,
        cases,
        until: None,
        length: 40,
        look: Look::EveryStep,
        shrink: std::time::Duration::from_secs(10),
    };
    let findings = search(&place.alphabet, &mut host, &search_for, |_| ());
    println!("{} cases, {} passed, {} steps", findings.cases, findings.passed, findings.steps);
    println!("refused {:?}", findings.refused);
    for found in &findings.found {
        println!("---- {} times: {}", found.times, found.fault);
        for step in &found.trace.steps {
            println!("   {}", serde_json::to_string(step).unwrap());
        }
    }
    assert!(findings.found.is_empty());
}

#[test]
fn ext4() {
    run(&Place::below(Path::new(env!("CARGO_TARGET_TMPDIR")), Profile::linux()), 500);
}

#[test]
fn tmpfs() {
    run(&Place::below(Path::new("/dev/shm"), Profile::tmpfs()), 500);
}
