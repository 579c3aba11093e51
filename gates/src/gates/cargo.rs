//! cargo: a crate with dependencies, vendored, built and tested with everything on the mount.

use super::Gate;
use crate::place::Arena;
use crate::program::Program;
use crate::report::Report;
use anyhow::{Result, ensure};
use std::path::Path;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "cargo",
    about: "cargo: vendor, build and test a crate with dependencies, the target directory on the mount",
    tools: &["cargo"],
    quick: false,
    limit: Duration::from_secs(15 * 60),
    run,
};

const MANIFEST: &str = r#"[package]
name = "subject"
version = "0.1.0"
edition = "2021"

[dependencies]
serde = { version = "1", features = ["derive"] }
serde_json = "1"
itoa = "1"

[workspace]
"#;

const SOURCE: &str = r#"
#[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
pub struct Point { pub x: i32, pub y: i32 }

pub fn text(number: u64) -> String { itoa::Buffer::new().format(number).to_owned() }

#[test]
fn a_point_survives_json() {
    let point = Point { x: 1, y: -2 };
    let json = serde_json::to_string(&point).unwrap();
    assert_eq!(serde_json::from_str::<Point>(&json).unwrap(), point);
    assert_eq!(text(17), "17");
}
"#;

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    arena.on_each(report, |place, report| {
        let work = place.directory.join("subject");
        std::fs::create_dir_all(work.join("src"))?;
        std::fs::write(work.join("Cargo.toml"), MANIFEST)?;
        std::fs::write(work.join("src/lib.rs"), SOURCE)?;
        report.attempt("cargo vendor", || vendor(&work));
        report.attempt("cargo build, offline", || {
            cargo(&work).args(["build", "--offline"]).succeed()?;
            Ok(())
        });
        report.attempt("cargo test passes its test", || test(&work));
        report.attempt("nothing is built again without a change", || {
            let words = cargo(&work).args(["build", "--offline", "--verbose"]).succeed()?.stderr;
            ensure!(!words.contains("Compiling") && !words.contains("Dirty"), "built again: {words}");
            Ok(())
        });
        report.attempt("a changed source is built again", || {
            std::fs::write(work.join("src/lib.rs"), format!("{SOURCE}\npub fn more() {{}}\n"))?;
            let words = cargo(&work).args(["build", "--offline"]).succeed()?.stderr;
            ensure!(words.contains("Compiling subject"), "not built again: {words}");
            Ok(())
        });
        Ok(())
    })
}

fn cargo(work: &Path) -> Program {
    let cargo = Program::new("cargo").dir(work).timeout(Duration::from_secs(5 * 60));
    cargo.env("CARGO_TARGET_DIR", work.join("target")).env("CARGO_TERM_COLOR", "never")
}

fn vendor(work: &Path) -> Result<()> {
    let configuration = cargo(work).arg("vendor").answer()?;
    std::fs::create_dir(work.join(".cargo"))?;
    std::fs::write(work.join(".cargo/config.toml"), configuration)?;
    Ok(())
}

fn test(work: &Path) -> Result<()> {
    let output = cargo(work).args(["test", "--offline"]).succeed()?.stdout;
    ensure!(output.contains("1 passed; 0 failed"), "unexpected: {output}");
    Ok(())
}
