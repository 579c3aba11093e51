//! The rules of SPEC.md's chapter FS, on the library in process.

#[path = "../common/mod.rs"]
mod common;

mod names;
mod references;
mod rename;
