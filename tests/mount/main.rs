//! The mount, through the kernel. Needs `/dev/fuse` and the right to mount.

#[path = "../common/mount.rs"]
mod common;

mod process;
mod tree;
