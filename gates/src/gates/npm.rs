//! npm: a package with some hundred dependencies installed on the mount; its `.bin` links work.

use super::Gate;
use crate::place::Arena;
use crate::program::Program;
use crate::report::Report;
use anyhow::{Result, ensure};
use std::path::Path;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "npm",
    about: "npm: install of a package with hundreds of dependencies, and its .bin links",
    tools: &["npm", "node"],
    quick: false,
    limit: Duration::from_secs(15 * 60),
    run,
};

const PACKAGE: &str = "jest@29.7.0";
const LEAST_DEPENDENCIES: usize = 200;

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    arena.on_each(report, |place, report| {
        let work = place.directory.join("subject");
        std::fs::create_dir(&work)?;
        std::fs::write(work.join("package.json"), r#"{"name":"subject","version":"1.0.0","private":true}"#)?;
        std::fs::write(work.join("sum.test.js"), "test('sum', () => { expect(1 + 2).toBe(3); });\n")?;
        report.attempt(format_args!("npm install {PACKAGE}"), || {
            npm(&work).args(["install", "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE]).succeed()?;
            Ok(())
        });
        report.attempt("npm ls finds every dependency", || {
            let packages = npm(&work).args(["ls", "--all", "--parseable"]).succeed()?.stdout.lines().count();
            ensure!(packages > LEAST_DEPENDENCIES, "only {packages} packages");
            Ok(())
        });
        report.attempt("a .bin link runs", || run_linked(&work));
        report.attempt("npm ci from the lock file, after removing everything", || {
            npm(&work)
                .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"])
                .succeed()?;
            run_linked(&work)
        });
        Ok(())
    })
}

fn npm(work: &Path) -> Program {
    Program::new("npm").dir(work).env("NO_UPDATE_NOTIFIER", "1").timeout(Duration::from_secs(4 * 60))
}

// spec: FS-LOOKUP-4
fn run_linked(work: &Path) -> Result<()> {
    let link = work.join("node_modules/.bin/jest");
    ensure!(std::fs::symlink_metadata(&link)?.is_symlink(), "{} is no symbolic link", link.display());
    let output = Program::new(&link).args(["--ci", "--rootDir", "."]).dir(work).succeed()?;
    ensure!(output.stderr.contains("1 passed"), "unexpected: {}", output.stderr);
    Ok(())
}
