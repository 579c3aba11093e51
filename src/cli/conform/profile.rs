//! Which differences are permitted, as `--profile` says, or as the file system of a directory is known for.

use std::convert::Infallible;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use agentfs_model::profile::Profile;

use crate::cli::exit::Failure;
use crate::fuse;

/// `EXT4_SUPER_MAGIC`.
const EXT4: i64 = 0xef53;
/// `TMPFS_MAGIC`.
const TMPFS: i64 = 0x0102_1994;

/// A profile by its name, or in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Posix,
    Linux,
    Ext4,
    Tmpfs,
    Mount,
    Agentfs,
    File(PathBuf),
}

impl FromStr for Choice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let named = [Self::Posix, Self::Linux, Self::Ext4, Self::Tmpfs, Self::Mount, Self::Agentfs];
        let found = named.into_iter().find(|choice| choice.to_string() == text);
        Ok(found.unwrap_or_else(|| Self::File(text.into())))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Posix => f.write_str("posix"),
            Self::Linux => f.write_str("linux"),
            Self::Ext4 => f.write_str("ext4"),
            Self::Tmpfs => f.write_str("tmpfs"),
            Self::Mount => f.write_str("mount"),
            Self::Agentfs => f.write_str("agentfs"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl Choice {
    /// What is known of the file system that the directory is on; whatever POSIX leaves open when nothing is.
    pub(super) fn of_directory(directory: &Path) -> Self {
        if is_ours(directory) {
            return Self::Mount;
        }
        match rustix::fs::statfs(directory).map(|statistics| statistics.f_type) {
            Ok(EXT4) => Self::Ext4,
            Ok(TMPFS) => Self::Tmpfs,
            _ => Self::Posix,
        }
    }

    pub(super) fn profile(&self) -> Result<Profile, Failure> {
        match self {
            Self::Posix => Ok(Profile::posix()),
            Self::Linux => Ok(Profile::linux()),
            Self::Ext4 => Ok(Profile::ext4()),
            Self::Tmpfs => Ok(Profile::tmpfs()),
            Self::Mount => Ok(Profile::mount()),
            Self::Agentfs => Ok(Profile::agentfs()),
            Self::File(path) => {
                let text = std::fs::read(path).map_err(|error| {
                    let text = "--profile takes posix, linux, ext4, tmpfs, mount, agentfs or a file";
                    Failure::usage(format!("{text}: {}: {error}", path.display()))
                })?;
                let profile = serde_json::from_slice(&text);
                profile.map_err(|error| Failure::usage(format!("{}: no profile: {error}", path.display())))
            }
        }
    }
}

/// Whether the directory lies on a mount of an agent file system.
fn is_ours(directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    // A list that cannot be had leaves the question to the kind of file system.
    let mounts = fuse::list_mounts().unwrap_or_default();
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    mounts.iter().any(|mount| {
        directory.starts_with(&mount.mountpoint) && device(&directory) == device(&mount.mountpoint)
    })
}
