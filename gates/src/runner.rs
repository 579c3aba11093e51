//! Which gates there are, and running them one after the other, each in its own process.

use crate::apart::{Apart, accept_signals};
use crate::gates::{GATES, Gate};
use crate::place::Arena;
use crate::program::{Program, is_installed};
use crate::report::Report;
use crate::settings::Settings;
use anyhow::{Context, Result, bail, ensure};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Prints the gates.
pub fn list() {
    for gate in GATES {
        let quick = if gate.quick { "quick" } else { "" };
        println!("{:10} {quick:5} {}", gate.name, gate.about);
    }
}

/// Every gate that can run with these settings.
pub fn all(settings: &Settings) -> Vec<&'static Gate> {
    let needs_script = |gate: &&Gate| gate.name == "fsbench" && settings.fsbench.is_none();
    if GATES.iter().any(|gate| needs_script(&gate)) {
        println!("fsbench is left out: name its script with --fsbench PATH");
    }
    GATES.iter().filter(|gate| !needs_script(gate)).collect()
}

/// The gates of `gates quick`.
pub fn quick() -> Vec<&'static Gate> {
    GATES.iter().filter(|gate| gate.quick).collect()
}

/// The gates of these names.
pub fn named(names: &[&str]) -> Result<Vec<&'static Gate>> {
    names.iter().map(|name| find(name)).collect()
}

fn find(name: &str) -> Result<&'static Gate> {
    let known = || GATES.iter().map(|gate| gate.name).collect::<Vec<_>>().join(", ");
    GATES
        .iter()
        .find(|gate| gate.name == name)
        .with_context(|| format!("no gate `{name}`; there are: {}", known()))
}

/// Runs the gates one after the other; answers whether all hold.
pub fn run_all(gates: &[&'static Gate], settings: &Settings) -> Result<bool> {
    let mut settings = settings.clone();
    for path in [&mut settings.agentfs, &mut settings.native, &mut settings.target, &mut settings.fsbench]
        .into_iter()
        .flatten()
    {
        *path = path.canonicalize().with_context(|| path.display().to_string())?;
    }
    if settings.target.is_none() && settings.agentfs.is_none() {
        let measures = gates.iter().any(|gate| gate.name == "fsbench");
        ensure!(
            !measures || settings.profile != "dev",
            "fsbench measures: add --profile release, or --agentfs PATH"
        );
        settings.agentfs = Some(build(&settings.profile)?);
    }
    let apart = Apart::new()?;
    let started = Instant::now();
    let mut failed = Vec::new();
    for gate in gates {
        println!("gate {}: {}", gate.name, gate.about);
        if !run_apart(&apart, gate, &settings)? {
            failed.push(gate.name);
        }
    }
    if !failed.is_empty() {
        println!("gates that fail: {}", failed.join(" "));
    }
    println!("all of them took {:.0} s", started.elapsed().as_secs_f64());
    println!("gates: {} passed, {} failed", gates.len() - failed.len(), failed.len());
    Ok(failed.is_empty())
}

/// Runs a gate in a process of its own, in a scratch directory that goes with it.
fn run_apart(apart: &Apart, gate: &Gate, settings: &Settings) -> Result<bool> {
    let parent = settings.native.clone().unwrap_or_else(std::env::temp_dir);
    // A short name: the address of a socket has room for a path of 107 bytes.
    let scratch = tempfile::Builder::new().prefix("gate-").tempdir_in(parent)?;
    // Several checks act as another user.
    std::fs::set_permissions(scratch.path(), Permissions::from_mode(0o755))?;
    let inner = Settings { native: Some(scratch.path().into()), ..settings.clone() };
    let limit = gate.limit.mul_f64(settings.scale.max(1.0));
    let mut command = Command::new(std::env::current_exe()?);
    command.args([gate.name, "--inner"]).args(inner.to_arguments());
    let holds = apart.run(&mut command, limit, scratch.path())?;
    if settings.keep && !holds {
        println!("    kept {}", scratch.keep().display());
    }
    Ok(holds)
}

/// Runs one gate in this process; answers whether it holds.
pub fn run_here(name: &str, settings: &Settings) -> Result<bool> {
    accept_signals()?;
    let gate = find(name)?;
    let mut report = Report::new(gate.name);
    let missing: Vec<&str> = gate.tools.iter().copied().filter(|tool| !is_installed(tool)).collect();
    if !missing.is_empty() {
        bail!("{name} needs {}: run .ci/install as root", missing.join(", "));
    }
    let scratch = settings.native.as_deref().context("a gate is given its scratch directory")?;
    // Some of the programs leave files where they stand.
    std::env::set_current_dir(scratch)?;
    let arena = Arena::new(settings, scratch);
    if let Err(error) = (gate.run)(&arena, &mut report) {
        report.fail("the gate", format_args!("{error:#}"));
    }
    drop(arena);
    Ok(report.close())
}

/// Builds the agentfs binary and answers where it is.
fn build(profile: &str) -> Result<PathBuf> {
    println!("building the agentfs binary (profile {profile})");
    let words =
        ["build", "--package", "agentfs", "--bin", "agentfs", "--message-format", "json-render-diagnostics"];
    let cargo =
        Program::new(env!("CARGO")).args(words).args(["--profile", profile]).dir(env!("CARGO_MANIFEST_DIR"));
    let messages = cargo.timeout(Duration::from_secs(30 * 60)).succeed()?.stdout;
    let mut executables = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    let executable = executables.next_back().context("cargo built no executable")?;
    ensure!(executable.is_file(), "{} is not there", executable.display());
    Ok(executable)
}
