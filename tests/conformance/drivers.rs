//! Random traces: every answer, and after every step the whole tree with its exact times and the raw tables.
//!
//! `cargo test` draws always the same traces; `AGENTFS_TEST_SEED` draws others, `PROPTEST_CASES` more.

use std::time::Duration;

use agentfs::Options;
use agentfs::oracle::play::Look;
use agentfs::types::GroupLimits;
use agentfs_model::generate::{Alphabet, Kind};
use agentfs_model::profile::AtimePolicy;

use crate::bench::{Bench, Crashes};
use crate::searching::{cases, search_without_divergence, seed};

/// Chunk size, largest inline file, and access times: so that small files cross every border.
const SETTINGS: [(u32, u32, AtimePolicy); 6] = [
    (65536, 4096, AtimePolicy::Relative),
    (512, 16, AtimePolicy::Strict),
    (4096, 0, AtimePolicy::Relative),
    (4096, 4096, AtimePolicy::Never),
    (512, 0, AtimePolicy::Relative),
    (65536, 16, AtimePolicy::Strict),
];

/// What the calls of the library know, and a capability, which falls with every change of content.
fn alphabet(setting: usize) -> Alphabet {
    let mut alphabet = Alphabet::library();
    let (chunk_size, inline_threshold, atime) = SETTINGS[setting];
    alphabet.profile.chunk_size = chunk_size;
    alphabet.profile.inline_threshold = inline_threshold;
    alphabet.profile.atime = atime;
    alphabet.attributes.push("security.capability".into());
    alphabet
}

/// Draws `usual` traces in all, as many for each setting, and returns what crashes left.
fn draw(usual: u64, adjust: impl Fn(usize, &mut Alphabet, &mut Options)) -> Crashes {
    let mut crashes = Crashes::default();
    for setting in 0..SETTINGS.len() {
        let (mut alphabet, mut options) = (alphabet(setting), Options::default());
        adjust(setting, &mut alphabet, &mut options);
        let mut bench = Bench::new(options);
        let cases = cases(usual).div_ceil(SETTINGS.len() as u64);
        let seed = seed().wrapping_mul(SETTINGS.len() as u64).wrapping_add(setting as u64);
        search_without_divergence(&alphabet, &mut bench, Look::EveryStep, cases, seed);
        crashes.lost_nothing += bench.crashes.lost_nothing;
        crashes.lost_something += bench.crashes.lost_something;
    }
    crashes
}

// spec: CALL-1, CALL-2, CALL-3, CALL-4, CALL-5, CALL-6, CALL-7, CALL-8, CALL-12, FS-TIME-3, DUR-8, INT-6
#[test]
fn every_answer_and_the_whole_tree_are_those_of_the_model() {
    draw(2000, |_, alphabet, _| alphabet.without.extend([Kind::Reopen, Kind::Crash]));
}

/// When groups end: of themselves after a moment, with their size, or at barriers alone.
const GROUPS: [(Duration, u64); 3] = [
    (Duration::from_millis(1), 8 << 20),
    (Duration::from_secs(3600), 200_000),
    (Duration::from_secs(3600), 8 << 20),
];

// spec: DUR-1, DUR-2, DUR-4, DUR-11, DUR-12, OPEN-3, OPEN-8, OPEN-9, FS-REAP-6, ORA-18
#[test]
fn after_a_crash_the_tree_is_one_of_those_since_the_last_barrier_and_after_reopening_the_last() {
    let crashes = draw(1600, |setting, alphabet, options| {
        alphabet.often.push(Kind::Crash);
        let (idle, bytes) = GROUPS[setting % GROUPS.len()];
        options.group = GroupLimits { idle, age: Duration::from_secs(3600), bytes };
    });
    println!("{crashes:?}");
    assert!(crashes.lost_nothing > 0, "no crash came when everything was committed");
    assert!(crashes.lost_something > 0, "no crash came when a group was open");
}
