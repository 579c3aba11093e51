//! The strategies of proptest: scripts, which shrink to fewer, simpler and earlier choices.

use std::ops::RangeInclusive;

use proptest::prelude::*;

use super::draft::PICKS;
use super::{Alphabet, Draft, Kind};

/// A trace before it is played: the kind of root directory it begins with, and its drafts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Which of the alphabet's roots.
    pub root: usize,
    /// One for each step.
    pub drafts: Vec<Draft>,
}

fn draft(kinds: Vec<(usize, Kind)>) -> impl Strategy<Value = Draft> {
    let sum: usize = kinds.iter().map(|(weight, _)| weight).sum();
    // The place in the list of weights shrinks, so the kind does, towards the first one.
    let kind = (0..sum).prop_map(move |mut place| {
        for (weight, kind) in &kinds {
            match place.checked_sub(*weight) {
                Some(rest) => place = rest,
                None => return *kind,
            }
        }
        Kind::Stat
    });
    (kind, any::<u16>(), any::<[u16; PICKS]>()).prop_map(|(kind, by, picks)| Draft { kind, by, picks })
}

/// Scripts of `length` steps from an alphabet.
pub fn scripts(alphabet: &Alphabet, length: RangeInclusive<usize>) -> impl Strategy<Value = Script> + use<> {
    let kinds = Kind::WEIGHTS.iter().copied().filter(|(_, kind)| alphabet.has(*kind)).collect();
    let drafts = proptest::collection::vec(draft(kinds), length);
    (0..alphabet.roots.len(), drafts).prop_map(|(root, drafts)| Script { root, drafts })
}
