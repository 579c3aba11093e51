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
    checks.push(Check::new("lookup references", 1, |most| explore(references::larger(), most)));
    for group::Space { name, bounds } in group::larger() {
        checks.push(Check::new(format!("groups: {name}"), 1, |most| explore(Groups::new(bounds), most)));
    }
    for cache::Space { name, bounds } in cache::larger() {
        checks.push(Check::new(format!("caches: {name}"), 1, |most| explore(Caches::new(bounds), most)));
    }
    checks
}
