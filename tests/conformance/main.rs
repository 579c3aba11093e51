//! The library in process held against the model: random traces of system calls, and the traces that found something.

mod bench;
mod drivers;
mod regressions;
#[path = "../common/searching.rs"]
mod searching;
mod seeded;
