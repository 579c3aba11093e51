//! The rules of SPEC.md's chapter FS, on the library in process.

#[path = "../common/mod.rs"]
mod common;

mod allocation;
mod attributes;
mod directories;
mod errors;
mod files;
mod foreign;
mod names;
mod permissions;
mod references;
mod rename;
mod times;
mod xattrs;
