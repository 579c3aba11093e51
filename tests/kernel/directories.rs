//! Random traces on ext4 and tmpfs.

use std::path::Path;

use agentfs::oracle::host::{HostDirectory, PlainDirectory};
use agentfs::oracle::play::Look;
use agentfs_model::profile::Profile;

use crate::place::Place;
use crate::searching::{PROGRAM, assert_no_divergence};

/// Traces that `cargo test` draws for each.
const CASES: u64 = 1000;

fn check(above: &str, profile: Profile) {
    let place = Place::below(Path::new(above), profile);
    let plain = PlainDirectory::new(place.path()).unwrap();
    let mut host = HostDirectory::new(PROGRAM, plain, HostDirectory::LIMIT);
    assert_no_divergence(&place.alphabet, &mut host, Look::EveryStep, CASES);
}

fn is_on(path: &str, magic: i64) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| found.f_type == magic)
}

#[test]
fn ext4_does_what_the_model_says() {
    let above = env!("CARGO_TARGET_TMPDIR");
    if !is_on(above, 0xEF53) {
        eprintln!("not run: {above} is not on ext4");
        return;
    }
    check(above, Profile::ext4());
}

#[test]
fn tmpfs_does_what_the_model_says() {
    let above = "/dev/shm";
    assert!(is_on(above, 0x0102_1994), "{above} must be a tmpfs");
    check(above, Profile::tmpfs());
}
