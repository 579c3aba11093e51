//! Exploration of the model's state spaces with stateright, and what every exploration reports.
//!
//! A check is a stateright [`Model`] whose properties are all of the kind *always* or *sometimes*. It holds when the
//! whole space (or as much as a bound allows) has no counterexample, when everything that must be possible somewhere
//! was seen (so that the space is not empty by mistake), and when each of its seeded bugs is found.

pub mod cache;
pub mod filesystem;
pub mod group;
mod larger;
pub mod references;

use std::fmt::Debug;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use stateright::{Checker, Expectation, HasDiscoveries, Model};

pub use larger::{Check, larger};

/// How far an exploration went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// Different states.
    pub states: usize,
    /// Steps, those that led to a known state included.
    pub steps: usize,
    /// The longest of the shortest ways to a state.
    pub depth: usize,
    /// Whether the bound ended it before the space did.
    pub bounded: bool,
    /// How long it took.
    pub time: Duration,
}

impl std::fmt::Display for Explored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { states, steps, depth, bounded, time } = self;
        let extent = if *bounded { "bounded" } else { "complete" };
        write!(f, "{states} states, {steps} steps, depth {depth}, {extent}, {:.1} s", time.as_secs_f64())
    }
}

/// A property that does not hold, and the shortest way found to where it does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// Which property.
    pub property: &'static str,
    /// The actions from the initial state, one a line.
    pub trace: Vec<String>,
    /// Where they lead.
    pub end: String,
}

impl std::fmt::Display for Counterexample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "not so: {}", self.property)?;
        for (number, action) in self.trace.iter().enumerate() {
            writeln!(f, "{:4}. {action}", number + 1)?;
        }
        write!(f, "   => {}", self.end)
    }
}

/// Explores `model` breadth first until its space ends, `most` states are known, or a property fails.
///
/// # Errors
/// The counterexample of a property, or a property of the kind *sometimes* that was never seen in a complete space.
pub fn explore<M>(model: M, most: Option<usize>) -> Result<Explored, Counterexample>
where
    M: Model + Clone + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let begin = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut builder = model.clone().checker().threads(threads).finish_when(HasDiscoveries::AnyFailures);
    if let Some(most) = most {
        builder = builder.target_state_count(most);
    }
    let checker = builder.spawn_bfs().join();
    let explored = Explored {
        states: checker.unique_state_count(),
        steps: checker.state_count(),
        depth: checker.max_depth(),
        bounded: most.is_some_and(|most| checker.state_count() >= most),
        time: begin.elapsed(),
    };
    for property in model.properties() {
        let discovery = checker.discovery(property.name);
        match (&property.expectation, discovery) {
            (Expectation::Always, Some(path)) => {
                let end = format!("{:?}", path.last_state());
                let trace = path.into_actions().iter().map(|action| model.format_action(action)).collect();
                return Err(Counterexample { property: property.name, trace, end });
            }
            (Expectation::Sometimes, None) if !explored.bounded => {
                let end = format!("never seen in {explored}");
                return Err(Counterexample { property: property.name, trace: Vec::new(), end });
            }
            (Expectation::Eventually, _) => {
                unreachable!(
                    "liveness is stated as a property of final states, which breadth first search can check"
                )
            }
            _ => {}
        }
    }
    Ok(explored)
}
