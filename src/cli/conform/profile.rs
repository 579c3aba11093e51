//! Which differences are permitted, as `--profile` says.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use agentfs_model::profile::Profile;

use crate::cli::exit::{Exit, Failure};

/// A profile by its name, or in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Posix,
    Linux,
    Mount,
    Agentfs,
    File(PathBuf),
}

impl FromStr for Choice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "posix" => Self::Posix,
            "linux" => Self::Linux,
            "mount" => Self::Mount,
            "agentfs" => Self::Agentfs,
            path => Self::File(path.into()),
        })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Posix => f.write_str("posix"),
            Self::Linux => f.write_str("linux"),
            Self::Mount => f.write_str("mount"),
            Self::Agentfs => f.write_str("agentfs"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl Choice {
    pub(super) fn profile(&self) -> Result<Profile, Failure> {
        match self {
            Self::Posix => Ok(Profile::posix()),
            Self::Linux => Ok(Profile::linux()),
            Self::Mount => Ok(Profile::mount()),
            Self::Agentfs => Ok(Profile::agentfs()),
            Self::File(path) => {
                let text = std::fs::read(path).map_err(|error| {
                    let failure = Failure::host("read", path, error);
                    Failure { exit: Exit::Usage, ..failure }
                        .about("--profile takes posix, linux, mount, agentfs or a file")
                })?;
                let profile = serde_json::from_slice(&text);
                profile.map_err(|error| Failure::usage(format!("{}: no profile: {error}", path.display())))
            }
        }
    }
}
