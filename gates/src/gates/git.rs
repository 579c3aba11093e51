//! git on a repository of 3,000 files: clone, edit, commit, rebase, gc, fsck; two at a time on one mount.

use super::Gate;
use crate::place::Arena;
use crate::program::Program;
use crate::report::Report;
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "git",
    about: "git: clone, status, commit, rebase, gc and fsck of 3,000 files, two at a time",
    tools: &["git"],
    quick: true,
    limit: Duration::from_secs(10 * 60),
    run,
};

const COMMITS: usize = 20;
const NEW_FILES: usize = 160;
const FILES: usize = COMMITS * NEW_FILES;

// spec: MNT-14 MNT-21
fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    let origin = arena.scratch().join("origin.git");
    make_repository(&origin)?;
    report.note(format_args!("repository of {FILES} files in {COMMITS} commits"));
    arena.on_each(report, |place, report| {
        let outcomes: Vec<Result<Vec<String>>> = std::thread::scope(|scope| {
            let work = |name| {
                let (origin, directory) = (&origin, place.directory.join(name));
                scope.spawn(move || day(origin, &directory))
            };
            let threads = [work("one"), work("two")];
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the check panicked")))
            };
            threads.map(join).into()
        });
        for (name, outcome) in ["one", "two"].into_iter().zip(outcomes) {
            match outcome {
                Ok(steps) => {
                    report.pass_many(steps.len(), format_args!("clone {name}: {}", steps.join(", ")))
                }
                Err(error) => report.fail(format_args!("clone {name}"), format_args!("{error:#}")),
            }
        }
        Ok(())
    })
}

fn git(directory: &Path) -> Program {
    let mut program = Program::new("git").dir(directory).timeout(Duration::from_secs(3 * 60));
    for role in ["AUTHOR", "COMMITTER"] {
        program = program
            .env(&format!("GIT_{role}_NAME"), "Gate")
            .env(&format!("GIT_{role}_EMAIL"), "gate@example.org");
    }
    program
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
}

/// The same repository every time: text files in folders, some of them changed in each commit.
fn make_repository(origin: &Path) -> Result<()> {
    std::fs::create_dir(origin)?;
    git(origin).args(["init", "-q", "--bare", "-b", "main"]).succeed()?;
    let mut stream = String::new();
    for commit in 0..COMMITS {
        let when = 1_700_000_000 + commit * 3600;
        write!(
            stream,
            "commit refs/heads/main\ncommitter Gate <gate@example.org> {when} +0000\ndata 2\n{commit:02}\n"
        )?;
        let new = commit * NEW_FILES..(commit + 1) * NEW_FILES;
        let changed = (0..commit * NEW_FILES).filter(|file| file % 97 == commit);
        for file in new.chain(changed) {
            let body: String = (0..10 + file % 120).fold(String::new(), |text, line| {
                format!("{text}{:08x} line {line} of file {file}\n", file * 7919 + line * (commit + 1))
            });
            write!(stream, "M 100644 inline {}\ndata {}\n{body}\n", path(file), body.len())?;
        }
    }
    git(origin).args(["fast-import", "--quiet"]).input(stream).succeed()?;
    Ok(())
}

fn path(file: usize) -> String {
    format!("src/part{:02}/sub{}/file{file:04}.txt", file % 40, file % 7)
}

/// What a developer does in a clone; answers the steps.
fn day(origin: &Path, clone: &Path) -> Result<Vec<String>> {
    let mut steps = Vec::new();
    let mut step = |what: &str| steps.push(what.to_owned());
    let parent = clone.parent().context("a clone has a parent")?;
    git(parent).args(["clone", "-q"]).arg(origin).arg(clone).succeed()?;
    let files = git(clone).args(["ls-files"]).answer()?.lines().count();
    ensure!(files == FILES, "{files} files after the clone, not {FILES}");
    step("clone");
    require_clean(clone)?;
    step("status");
    git(clone).args(["checkout", "-q", "-b", "topic", "HEAD~5"]).succeed()?;
    for file in (0..FILES / 2).step_by(11) {
        let mut name = clone.join(path(file));
        let mut text = std::fs::read_to_string(&name)?;
        text.insert_str(0, "first line of the topic\n");
        std::fs::write(&name, text)?;
        name.set_extension("new");
        std::fs::write(name, "a new file\n")?;
    }
    git(clone).args(["add", "-A"]).succeed()?;
    git(clone).args(["commit", "-qm", "topic"]).succeed()?;
    require_clean(clone)?;
    step("branch and commit");
    git(clone).args(["rebase", "-q", "main"]).succeed()?;
    let ahead = git(clone).args(["rev-list", "--count", "main..topic"]).answer()?;
    ensure!(ahead == "1", "{ahead} commits on the topic after the rebase");
    require_clean(clone)?;
    step("rebase");
    git(clone).args(["mv", "src/part01", "src/moved"]).succeed()?;
    git(clone).args(["commit", "-qm", "move a folder"]).succeed()?;
    git(clone).args(["checkout", "-q", "main"]).succeed()?;
    git(clone).args(["merge", "-q", "--no-ff", "-m", "merge", "topic"]).succeed()?;
    require_clean(clone)?;
    step("move and merge");
    git(clone).args(["gc", "-q", "--aggressive", "--prune=now"]).succeed()?;
    step("gc");
    git(clone).args(["fsck", "--strict", "--full", "--no-dangling"]).succeed()?;
    step("fsck --strict");
    require_clean(clone)?;
    Ok(steps)
}

fn require_clean(clone: &Path) -> Result<()> {
    let status = git(clone).args(["status", "--porcelain"]).answer()?;
    let lines = status.lines().count();
    ensure!(
        status.is_empty(),
        "status shows {lines} changes that nobody made, the first: {:?}",
        status.lines().next()
    );
    Ok(())
}
