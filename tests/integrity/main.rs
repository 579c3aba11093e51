//! The INT rules: what `verify` finds in databases that were damaged on purpose, and that it finds nothing else.

#[path = "../common/mod.rs"]
mod common;

mod content;
mod files;
mod inodes;
mod listing;
mod report;
mod sound;
mod stores;
mod tree;
