//! Everyday programs: tar, rsync, cp, editors, tail, locks, memory maps, direct I/O, large directories.

pub mod sharing;

mod archive;
mod directory;
mod editing;

use super::Gate;
use crate::place::Arena;
use crate::report::Report;
use anyhow::Result;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "tools",
    about: "tar, rsync, cp -a, save by rename, tail -f, locks, shared maps, O_DIRECT, a million entries",
    tools: &["tar", "rsync", "cp", "diff", "flock", "setfattr", "getfattr", "tail"],
    quick: true,
    limit: Duration::from_secs(60 * 60),
    run,
};

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    let tree = arena.scratch().join("tree");
    archive::make_tree(&tree)?;
    arena.on_each(report, |place, report| {
        archive::check(&place.directory, &tree, report);
        editing::check(&place.directory, report);
        sharing::check(&place.directory, report);
        directory::check(place, &arena.settings, report);
        Ok(())
    })
}
