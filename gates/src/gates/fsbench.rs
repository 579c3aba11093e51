//! The benchmark script against limits: how many times slower than ext4 each workload may be.
//!
//! The script is given by `--fsbench`; the limits stand in `expected/fsbench.txt`. The figures mean something
//! on an idle machine only. Memory is checked with it, since nothing makes a daemon larger.

use super::{Gate, own_file};
use crate::place::{Arena, require_ext4};
use crate::program::Program;
use crate::report::Report;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "fsbench",
    about: "the benchmark script (--fsbench PATH) against limits, and the daemon's memory",
    tools: &["python3", "gcc", "git", "tar", "cargo"],
    quick: false,
    limit: Duration::from_secs(60 * 60),
    run,
};

/// The most that the daemon may ever have resident.
const MOST_MEMORY_KIB: u64 = 100 << 10;

// spec: DUR-4 MNT-29
fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    let script = arena.settings.fsbench.as_ref().context("name the benchmark script with --fsbench PATH")?;
    ensure!(
        arena.settings.target.is_none(),
        "the gate `fsbench` compares a mount: it has no use for --target"
    );
    let native = arena.scratch().join("native");
    std::fs::create_dir(&native)?;
    report.section(&format!("native ({}) and mount", require_ext4(&native)?));
    let mount = arena.mount("mount")?;
    let answer = arena.scratch().join("fsbench.json");
    let runs = arena.settings.count(1, 3);
    let bench = Program::new("python3").arg(script).arg("--data").arg(arena.scratch().join("data"));
    let bench = bench.arg("--target").arg(format!("native={}", native.display()));
    let bench =
        bench.arg("--target").arg(format!("mount={}", mount.point.display())).arg("--json").arg(&answer);
    let scale = (0.5 * arena.settings.scale).to_string();
    let finished = bench
        .args(["--runs", &runs.to_string(), "--scale", &scale])
        .timeout(Duration::from_secs(55 * 60))
        .succeed()?;
    for line in finished.stdout.lines() {
        report.note(line);
    }
    let complaints: Vec<&str> =
        finished.stderr.lines().filter(|line| line.contains("NOTE") || line.starts_with("ERR")).collect();
    report.check("every workload ran, and each fsync flushed the device", complaints.is_empty(), || {
        complaints.join("\n      | ")
    });
    let peak = mount.peak_memory()?;
    report.check(format_args!("{peak} KiB resident at the peak"), peak <= MOST_MEMORY_KIB, || {
        format!("more than {MOST_MEMORY_KIB}")
    });
    compare(&answer, report)?;
    let database = mount.unmount()?;
    super::format::check_database(&database, report);
    Ok(())
}

fn compare(answer: &Path, report: &mut Report) -> Result<()> {
    let answer: Value = serde_json::from_str(&std::fs::read_to_string(answer)?)?;
    let results = answer["results"].as_object().context("no results")?;
    let limits = limits()?;
    for (metric, limit) in &limits {
        let Some(ratio) = results.get(metric).and_then(ratio) else {
            report.fail(metric, "was not measured");
            continue;
        };
        report.check(
            format_args!("{metric}: {ratio:.2} times ext4, at most {limit}"),
            ratio <= *limit,
            || "slower than that".into(),
        );
    }
    for metric in results.keys().filter(|metric| !limits.contains_key(*metric)) {
        report.note(format_args!("no limit for {metric}"));
    }
    Ok(())
}

/// The median over the rounds of mount / native in the same round.
fn ratio(samples: &Value) -> Option<f64> {
    let seconds = |target: &str| -> Option<HashMap<u64, f64>> {
        let samples = samples[target].as_array()?.iter();
        Some(samples.filter_map(|sample| Some((sample["run"].as_u64()?, sample["s"].as_f64()?))).collect())
    };
    let (native, mount) = (seconds("native")?, seconds("mount")?);
    let mut ratios: Vec<f64> = native
        .iter()
        .filter_map(|(run, native)| Some(mount.get(run)? / native))
        .filter(|ratio| ratio.is_finite())
        .collect();
    ratios.sort_by(f64::total_cmp);
    let middle = ratios.len() / 2;
    if ratios.len().is_multiple_of(2) {
        Some((ratios.get(middle.checked_sub(1)?)? + ratios[middle]) / 2.0)
    } else {
        ratios.get(middle).copied()
    }
}

/// The limit of each metric.
fn limits() -> Result<BTreeMap<String, f64>> {
    let text = std::fs::read_to_string(own_file("expected/fsbench.txt"))?;
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines
        .map(|line| {
            let (metric, limit) = line.split_once(' ').with_context(|| format!("`{line}` is no limit"))?;
            Ok((metric.to_owned(), limit.trim().parse().with_context(|| line.to_owned())?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_a_round() {
        let samples = serde_json::json!({
            "native": [{"run": 0, "s": 1.0}, {"run": 1, "s": 10.0}, {"run": 2, "s": 1.0}],
            "mount": [{"run": 0, "s": 2.0}, {"run": 1, "s": 40.0}],
        });
        assert_eq!(ratio(&samples), Some(3.0));
        assert_eq!(ratio(&serde_json::json!({"native": []})), None);
    }

    #[test]
    fn the_limits_are_readable() {
        assert!(limits().unwrap().len() > 20);
    }
}
