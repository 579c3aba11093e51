//! stress-ng's file system stressors: what runs and verifies on ext4 does so on the mount.

use super::Gate;
use crate::place::{Arena, Kind, Place};
use crate::program::{Finished, Program};
use crate::report::Report;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "stress-ng",
    about: "stress-ng: every file system stressor that ext4 passes, with --verify",
    tools: &["stress-ng", "chattr"],
    quick: true,
    limit: Duration::from_secs(20 * 60),
    run,
};

/// Stressors that never touch the file system under test, with what they exercise instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("bind-mount", "mounts in a new namespace"),
    ("binderfs", "binderfs"),
    ("eventfd", "event descriptors"),
    ("procfs", "/proc"),
];

/// Stressors of the short form: the ones that found most in file systems of this kind.
const SHORT: &[&str] = &[
    "dentry",
    "dir",
    "fallocate",
    "fpunch",
    "hdd",
    "link",
    "lockf",
    "rename",
    "symlink",
    "sync-file",
    "utime",
    "xattr",
];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// Not runnable there.
    Skipped(String),
    Failed(String),
}

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    let stressors = stressors(arena)?;
    report.note(format_args!("stressors: {}", stressors.join(" ")));
    let mut outcomes: BTreeMap<String, Vec<(Kind, Outcome)>> = BTreeMap::new();
    arena.on_both(report, |place, report| {
        for stressor in &stressors {
            let outcome = stress(arena, place, stressor);
            report.note(format_args!("{stressor:12} {outcome:?}"));
            outcomes.entry(stressor.clone()).or_default().push((place.kind, outcome));
        }
        Ok(())
    })?;
    report.section("comparison");
    let mut same = Vec::new();
    for (stressor, outcomes) in &outcomes {
        let of = |native| {
            outcomes.iter().find(|(kind, _)| (*kind == Kind::Native) == native).map(|(_, outcome)| outcome)
        };
        match (of(true), of(false)) {
            (Some(Outcome::Passed), Some(Outcome::Passed)) => same.push(stressor.as_str()),
            (Some(Outcome::Passed), Some(Outcome::Skipped(why))) => {
                report.skip(stressor, format_args!("runs on ext4 only: {why}"))
            }
            (Some(Outcome::Passed), Some(Outcome::Failed(why))) => report.fail(stressor, why),
            (Some(native), _) => report.skip(stressor, format_args!("does not pass on ext4: {native:?}")),
            (None, _) => report.fail(stressor, "did not run on ext4"),
        }
    }
    report.pass_many(same.len(), format_args!("pass on ext4 and on the mount ({})", same.join(" ")));
    Ok(())
}

fn stressors(arena: &Arena) -> Result<Vec<String>> {
    let answer = Program::new("stress-ng").args(["--class", "filesystem?"]).run()?;
    let text = answer.stdout + &answer.stderr;
    let list = text.split_once("stressors:").context("stress-ng names no stressors of class filesystem")?.1;
    let wanted = |name: &&str| {
        ELSEWHERE.iter().all(|(elsewhere, _)| elsewhere != name)
            && (!arena.settings.short || SHORT.contains(name))
    };
    let names: Vec<String> = list.split_whitespace().filter(wanted).map(str::to_owned).collect();
    ensure!(names.len() >= SHORT.len(), "stress-ng names too few stressors: {list}");
    Ok(names)
}

fn stress(arena: &Arena, place: &Place, stressor: &str) -> Outcome {
    let directory = place.directory.join(stressor);
    let seconds = arena.settings.count(1, 4);
    let attempt = || -> Result<Finished> {
        std::fs::create_dir(&directory)?;
        let words = [
            format!("--{stressor}"),
            "2".into(),
            "--timeout".into(),
            format!("{seconds}s"),
            "--verify".into(),
        ];
        let command = Program::new("stress-ng").args(words).arg("--temp-path").arg(&directory);
        // Some stressors end late: they clean up file by file.
        let finished = command.timeout(Duration::from_secs(seconds + 60)).run()?;
        // `chattr` may leave a file that cannot be changed; where there are no such flags this fails and is no matter.
        Program::new("chattr").args(["-R", "-f", "-i", "-a"]).arg(&directory).run()?;
        std::fs::remove_dir_all(&directory).context("what it left cannot be removed")?;
        Ok(finished)
    };
    match attempt() {
        Err(error) => Outcome::Failed(format!("{error:#}")),
        Ok(finished) => judge(&finished),
    }
}

fn judge(finished: &Finished) -> Outcome {
    let output = format!("{}\n{}", finished.stdout, finished.stderr);
    let line =
        |word: &str| output.lines().find(|line| line.contains(word)).map(|line| line.trim().to_owned());
    match (line("skipping stress test"), finished.status.code()) {
        (Some(why), _) => Outcome::Skipped(why),
        (None, Some(0)) => Outcome::Passed,
        (None, Some(3 | 4)) => Outcome::Skipped(line("warn:").unwrap_or_else(|| finished.describe_status())),
        _ => Outcome::Failed(format!(
            "`{}` {}{}",
            finished.line,
            finished.describe_status(),
            finished.last_words()
        )),
    }
}
