//! The mount, through the kernel. Needs `/dev/fuse` and the right to mount; some tests need user 0.

#[path = "../common/mount.rs"]
mod common;

mod foreign;
mod permission;
mod process;
mod programs;
mod settings;
mod tree;
