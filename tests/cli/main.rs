//! The command line as others see it: the real program, its output in both forms, its exit codes, and what
//! it leaves behind when it refuses.

mod arguments;
mod conform;
mod copying;
mod files;
mod mounts;
mod oracle;
mod program;
mod refusals;
mod stores;
mod verify;
