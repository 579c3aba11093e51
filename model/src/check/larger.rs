//! The checks with larger bounds than a test has time for: what the gate `model` explores.

use super::{Counterexample, Explored, cache, explore, filesystem, group, references};
use crate::mechanism::cache::Caches;
use crate::mechanism::group::Groups;

type Run = Box<dyn FnOnce(Option<usize>) -> Result<Explored, Counterexample>>;

/// A check, ready to be explored.
pub struct Check {
    /// What it is of.
    pub name: String,
    /// How many states it has at least.
    pub floor: usize,
    run: Run,
}

impl Check {
    fn new(
        name: impl Into<String>,
        floor: usize,
        run: impl FnOnce(Option<usize>) -> Result<Explored, Counterexample> + 'static,
    ) -> Self {
        Self { name: name.into(), floor, run: Box::new(run) }
    }

    /// As [`explore`].
    ///
    /// # Errors
    /// A counterexample.
    pub fn explore(self, most: Option<usize>) -> Result<Explored, Counterexample> {
        (self.run)(most)
    }
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Check").field("name", &self.name).field("floor", &self.floor).finish_non_exhaustive()
    }
}

/// Every check, one line each; one with several spaces is a check for each of them.
#[must_use]
pub fn larger() -> Vec<Check> {
    let mut checks = Vec::new();
    for space in filesystem::larger() {
        let name = format!("file system: {}", space.name);
        checks.push(Check::new(name, space.floor, |most| explore(space, most)));
    }
    checks.push(Check::new("lookup references", 275_000_000, |most| explore(references::larger(), most)));
    for group::Space { name, bounds } in group::larger() {
        let run = |most| explore(Groups::new(bounds), most);
        checks.push(Check::new(format!("groups: {name}"), floor(&GROUPS, name), run));
    }
    for cache::Space { name, bounds } in cache::larger() {
        let run = |most| explore(Caches::new(bounds), most);
        checks.push(Check::new(format!("caches: {name}"), floor(&CACHES, name), run));
    }
    checks
}

/// States of each space of groups at least, by name.
const GROUPS: [(&str, usize); 7] = [
    ("crashes", 15_000_000),
    ("threads", 8_500_000),
    ("checkpoints", 102_000_000),
    ("flushes", 57_000_000),
    ("losses", 2_000_000),
    ("keys", 7_300_000),
    ("closing", 5_200_000),
];

/// The same of the caches.
const CACHES: [(&str, usize); 10] = [
    ("absent", 79_000),
    ("replaced", 3_600_000),
    ("unlinked", 6_470_000),
    ("mode", 7_100_000),
    ("sizes", 553_000),
    ("content", 3_350_000),
    ("let go", 12_000_000),
    ("growth", 1_880_000),
    ("writes", 2_320_000),
    ("times", 25_900_000),
];

fn floor(floors: &[(&str, usize)], name: &str) -> usize {
    let known = floors.iter().find(|(known, _)| *known == name);
    known.map(|(_, floor)| *floor).expect("every space has its floor")
}
