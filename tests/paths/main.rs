//! The path-level interface: how paths are resolved, what each operation does with one, and that
//! every reference is given back.

#[path = "../common/mod.rs"]
mod common;

mod host;
mod operations;
mod resolution;
mod trees;

use agentfs::types::Caller;
use agentfs::vfs::Paths;
use common::Fixture;

/// The superuser's paths.
fn root(fixture: &Fixture) -> Paths<'_> {
    Paths::new(&fixture.fs, Caller::root())
}

/// An ordinary user's paths.
fn user(fixture: &Fixture) -> Paths<'_> {
    Paths::new(&fixture.fs, Caller::user(1000, 1000))
}
