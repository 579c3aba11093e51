//! The gates, one file each.

mod cargo;
mod conformance;
mod fio;
mod foreign;
pub mod format;
mod fsbench;
mod fsx;
mod full;
mod git;
mod lifecycle;
mod model;
mod mutants;
mod npm;
mod pjdfstest;
mod python;
mod sqlite;
mod stress_ng;
pub mod tools;

use crate::place::Arena;
use crate::report::Report;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::time::Duration;

/// A check of the whole.
pub struct Gate {
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// The programs it cannot do without.
    pub tools: &'static [&'static str],
    /// Whether `quick` runs it.
    pub quick: bool,
    /// How long it may take at scale 1.
    pub limit: Duration,
    pub run: fn(&Arena, &mut Report) -> Result<()>,
}

/// Every gate, in the order in which they run.
pub const GATES: &[Gate] = &[
    lifecycle::GATE,
    pjdfstest::GATE,
    fsx::GATE,
    tools::GATE,
    sqlite::GATE,
    git::GATE,
    format::GATE,
    model::GATE,
    full::GATE,
    stress_ng::GATE,
    fio::GATE,
    cargo::GATE,
    python::GATE,
    npm::GATE,
    conformance::GATE,
    foreign::GATE,
    mutants::GATE,
    fsbench::GATE,
];

/// A tool that `.ci/install` builds into target/tools.
fn cargo_tool(name: &str) -> Result<PathBuf> {
    let tools = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools/bin");
    let path = PathBuf::from(tools).join(name);
    path.canonicalize().with_context(|| format!("{name} is not installed: run `.ci/install all`"))
}

/// A file of this crate.
fn own_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}
