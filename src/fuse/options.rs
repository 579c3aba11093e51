//! How a file system is mounted: one typed value, read at the edge.

use std::ffi::OsString;

use nix::mount::MsFlags;

use crate::error::{Error, Result};

/// Options of [`Mount::start`](super::Mount::start).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MountOptions {
    /// Refuse every change, by the kernel already.
    pub read_only: bool,
    /// Let other users in; permissions are checked either way. For ordinary users `/etc/fuse.conf` must allow it.
    pub allow_other: bool,
    /// Show all files as owned by this user, and create what is new as theirs.
    pub uid: Option<u32>,
    /// As `uid`, for the group.
    pub gid: Option<u32>,
    /// What the list of mounts shows as source: the absolute path of the database.
    pub fs_name: OsString,
    /// Threads that serve requests. Default: one a CPU, at least 2.
    pub workers: Option<usize>,
    /// Keep each worker on its CPU. Default: yes.
    pub pin: bool,
    /// Mount over a directory that has entries.
    pub nonempty: bool,
    /// Options that the kernel itself knows.
    pub kernel: Vec<KernelOption>,
}

impl MountOptions {
    /// The defaults, with the source shown as `fs_name`.
    #[must_use]
    pub fn new(fs_name: impl Into<OsString>) -> Self {
        Self {
            read_only: false,
            allow_other: false,
            uid: None,
            gid: None,
            fs_name: fs_name.into(),
            workers: None,
            pin: true,
            nonempty: false,
            kernel: Vec::new(),
        }
    }
}

/// A mount option of the kernel. Without any, `nosuid` and `nodev` hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelOption {
    /// Honour set-user-id and set-group-id bits (root only).
    Suid,
    /// Ignore them.
    NoSuid,
    /// Device files work (root only).
    Dev,
    /// They do not.
    NoDev,
    /// Programs can be run.
    Exec,
    /// They cannot.
    NoExec,
    /// All writes wait for the disk.
    Sync,
    /// All changes of directories wait for the disk.
    DirSync,
    /// Reads do not move access times.
    NoAtime,
}

const WORDS: [(KernelOption, &str); 9] = [
    (KernelOption::Suid, "suid"),
    (KernelOption::NoSuid, "nosuid"),
    (KernelOption::Dev, "dev"),
    (KernelOption::NoDev, "nodev"),
    (KernelOption::Exec, "exec"),
    (KernelOption::NoExec, "noexec"),
    (KernelOption::Sync, "sync"),
    (KernelOption::DirSync, "dirsync"),
    (KernelOption::NoAtime, "noatime"),
];

impl KernelOption {
    /// The word as in `mount -o`.
    #[must_use]
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(option, _)| *option == self).map_or("", |(_, word)| word)
    }

    pub(super) fn apply(self, flags: &mut MsFlags) {
        match self {
            Self::Suid => flags.remove(MsFlags::MS_NOSUID),
            Self::NoSuid => flags.insert(MsFlags::MS_NOSUID),
            Self::Dev => flags.remove(MsFlags::MS_NODEV),
            Self::NoDev => flags.insert(MsFlags::MS_NODEV),
            Self::Exec => flags.remove(MsFlags::MS_NOEXEC),
            Self::NoExec => flags.insert(MsFlags::MS_NOEXEC),
            Self::Sync => flags.insert(MsFlags::MS_SYNCHRONOUS),
            Self::DirSync => flags.insert(MsFlags::MS_DIRSYNC),
            Self::NoAtime => flags.insert(MsFlags::MS_NOATIME),
        }
    }
}

impl std::str::FromStr for KernelOption {
    type Err = Error;

    /// Reads a word as in `mount -o`.
    ///
    /// # Errors
    /// [`Error::Invalid`], with the words that are known.
    fn from_str(word: &str) -> Result<Self> {
        let found = WORDS.iter().find(|(_, known)| *known == word);
        found.map(|(option, _)| *option).ok_or_else(|| {
            let known: Vec<_> = WORDS.iter().map(|(_, known)| *known).collect();
            Error::Invalid(format!("unknown mount option {word:?}; known are {}", known.join(", ")))
        })
    }
}
