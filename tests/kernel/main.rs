//! The model against what nobody here wrote, and the mount against the model: random traces by real system calls.
//!
//! Where a directory of the kernel's own file systems and the model differ, one of them is wrong, or the difference is
//! one that the profile permits with its reason (`agentfs_model::profile`). As user 0 the directories are mounted with
//! `strictatime`, so that access times are exact, and several users take part; as another user neither is possible, and
//! the rest is checked.

mod directories;
mod mount;
mod mounted;
mod place;
#[path = "../common/searching.rs"]
mod searching;
