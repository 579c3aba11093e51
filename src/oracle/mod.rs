//! Implementations of a file system, driven through traces and held against the model.
//!
//! [`Implementation`] is anything that a trace can be run on. [`library`] runs it on the library in process, [`host`] on a
//! real directory by real system calls, [`protocol`] on another program that speaks JSON Lines. [`file`](mod@file) reads and
//! writes traces, [`play`] runs one, [`search`] looks for one that fails, and [`check`] says what may be answered.
//! [`vectors`] are small traces, by rule, and [`conform`] runs them all. What an operation must do is not here but in the
//! crate `agentfs-model`.

pub mod check;
mod clock;
pub mod conform;
mod conversation;
pub mod file;
pub mod host;
mod implementation;
pub mod library;
pub mod machine;
pub mod play;
pub mod protocol;
pub mod search;
mod shrink;
mod tree;
pub mod vectors;

pub use implementation::{Answer, Between, During, Failure, Implementation, Problem};
pub use tree::{Observed, Piece, Tree};
