//! What a file system must do, and how AgentFS's mechanisms do it, as a program that does nothing else.
//!
//! Plain data: no I/O, no clock, no randomness, no SQLite. Two levels:
//!
//! * the **abstract** file system, in [`fs`]: what a caller may see of every system call;
//! * the **mechanisms** below it, in [`mechanism`]: how the implementation keeps that promise while messages are in
//!   flight, processes share a database, and machines crash.
//!
//! `check` (feature) explores both with stateright, `generate` (feature) makes random traces with proptest.

pub mod bytes;
pub mod call;
#[cfg(feature = "check")]
pub mod check;
pub mod coverage;
mod errno;
pub mod fs;
#[cfg(feature = "generate")]
pub mod generate;
pub mod mechanism;
pub mod outcome;
pub mod profile;
pub mod trace;
pub mod values;

pub use errno::Errno;
