//! Implementations of a file system, driven through traces: what they are to the driver, and how each is reached.
//!
//! [`Implementation`] is anything that a trace can be run on. [`host`] runs it on a real directory by real system calls,
//! [`protocol`] on another program that speaks JSON Lines. Keeps the ORA rules about the protocol, handles and failures;
//! what a trace may answer is the model's affair, not this folder's.

mod clock;
mod conversation;
pub mod host;
mod implementation;
pub mod protocol;
mod tree;

pub use implementation::{Answer, Between, During, Failure, Implementation, Problem};
pub use tree::{Observed, Piece, Tree};
