//! The strategies of proptest: scripts, which shrink to fewer, simpler and earlier choices.

use std::ops::RangeInclusive;

use proptest::prelude::*;

use super::draft::PICKS;
use super::draft::Subject;
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

/// How much more often operations are drawn that a script is mainly about.
const EMPHASIS: usize = 5;

/// Scripts of `length` steps from an alphabet. Half of them are about everything, the others mainly about one subject:
/// what takes several steps on one file comes about seldom otherwise.
pub fn scripts(alphabet: &Alphabet, length: RangeInclusive<usize>) -> impl Strategy<Value = Script> + use<> {
    let kinds = |about: Option<Subject>| -> Vec<(usize, Kind)> {
        let emphasis = |kind: Kind| if Some(kind.subject()) == about { EMPHASIS } else { 1 };
        alphabet.kinds().map(|(weight, kind)| (weight * emphasis(kind), kind)).collect()
    };
    let drafts = |about| proptest::collection::vec(draft(kinds(about)), length.clone());
    let drafts = prop_oneof![
        4 => drafts(None),
        2 => drafts(Some(Subject::Names)),
        2 => drafts(Some(Subject::Content)),
        1 => drafts(Some(Subject::Attributes)),
        1 => drafts(Some(Subject::Listings)),
    ];
    (0..alphabet.roots.len(), drafts).prop_map(|(root, drafts)| Script { root, drafts })
}
