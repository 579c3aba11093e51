//! The executable model, explored with larger bounds than a test has time for: every state of every check, or the first
//! of them in the short form. What is explored stands in `agentfs_model::check::larger`.

use super::Gate;
use crate::place::Arena;
use crate::report::Report;
use agentfs_model::check::{Check, larger};
use anyhow::Result;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "model",
    about: "the executable model: every state within larger bounds, without a counterexample",
    tools: &[],
    quick: false,
    limit: Duration::from_secs(4 * 60 * 60),
    run,
};

/// Steps of each check in the short form.
const FEW_STEPS: usize = 1_000_000;

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    let most = arena.settings.short.then_some(FEW_STEPS);
    let (mut states, mut steps) = (0, 0);
    for check in larger() {
        let Check { name, floor, .. } = &check;
        let (name, floor) = (name.clone(), *floor);
        report.section(&name);
        match check.explore(most) {
            Ok(explored) => {
                report.pass(format_args!("no counterexample: {explored}"));
                if !explored.bounded {
                    let enough = explored.states >= floor;
                    report.check(format_args!("at least {floor} states"), enough, || "fewer".to_owned());
                }
                states += explored.states;
                steps += explored.steps;
            }
            Err(counterexample) => report.fail("a counterexample", counterexample),
        }
    }
    report.note(format_args!("{states} states and {steps} steps in all"));
    Ok(())
}
