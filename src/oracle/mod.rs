//! Implementations of a file system, driven through traces and held against the model.

pub mod check;
