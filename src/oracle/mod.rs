//! Implementations of a file system, driven through traces.

pub mod library;
