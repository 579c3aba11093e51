//! The gates: checks that need a mount, other people's suites, or more time than a test may take.
//!
//! `cargo run -p gates -- list` names them. Each gate is one file under `gates/`; it runs a thing on
//! a fresh mount, and where a comparison says more, on a native directory beside it. A gate runs in
//! a process of its own, so that one that hangs can be ended and its mounts taken away.

mod gates;
mod mount;
mod place;
mod program;
mod report;
mod runner;
mod settings;
mod wait;

use clap::Parser;
use settings::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Arguments { what, settings, inner, actor } = arguments;
    let words: Vec<&str> = what.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        words if actor => gates::tools::sharing::act(words),
        [gate] if inner => runner::run_here(gate, &settings),
        ["list"] => {
            runner::list();
            Ok(true)
        }
        ["quick"] => runner::run_all(&runner::quick(), &settings.quick()),
        ["all"] => runner::run_all(&runner::all(), &settings),
        names => runner::named(names).and_then(|gates| runner::run_all(&gates, &settings)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("gates: {error:#}");
            ExitCode::from(2)
        }
    }
}
