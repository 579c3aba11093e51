//! The rules of SPEC.md's chapters FMT, OPEN and DUR, on the library in process.

#[path = "../common/mod.rs"]
mod common;

mod groups;
mod opening;
mod sharing;
