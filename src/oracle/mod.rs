//! Implementations of a file system, driven through traces and held against the model.

pub mod check;
pub mod file;
mod implementation;
pub mod play;
pub mod search;
mod tree;

pub use implementation::{Answer, Between, During, Failure, Implementation, Problem};
pub use tree::{Observed, Piece, Tree};
