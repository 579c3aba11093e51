//! The FUSE adapter: any [`Vfs`](crate::vfs::Vfs) as a mounted file system, and the life of a mount as a
//! library: [`Mount::start`], [`list_mounts`], [`unmount`].
//!
//! Keeps the MNT rules. The only user of the crate fuser. Requests run on a few worker threads; one more
//! thread watches for what other processes change, one takes the barriers that would block the last
//! worker.
//!
//! What it does not do: it prints nothing, reads no environment, does not go into the background.
//!
//! Locks: the table of [`known`] inodes, taken alone; never across a call of the file system, and none at
//! all while something is sent to the kernel.

mod adapter;
mod barrier;
mod connection;
mod convert;
mod device;
mod directories;
mod files;
mod known;
mod mount;
mod mountinfo;
mod mounts;
mod names;
mod notify;
mod options;
mod placement;
mod watch;
mod xattrs;

pub use mount::{Mount, Unmounter};
pub(crate) use mounts::devices;
pub use mounts::{MountInfo, MountState, list_mounts, unmount};
pub use options::{KernelOption, MountOptions};
