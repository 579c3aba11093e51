//! The rules of SPEC.md's chapter FS, on the library in process.

#[path = "../common/mod.rs"]
mod common;

mod attributes;
mod directories;
mod files;
mod names;
mod references;
mod rename;
mod xattrs;
