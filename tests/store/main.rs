//! The rules of SPEC.md's chapters FMT, OPEN and DUR, on the library in process.

#[path = "../common/mod.rs"]
mod common;

mod crashes;
mod format;
mod groups;
mod losses;
mod opening;
mod processes;
mod sharing;
