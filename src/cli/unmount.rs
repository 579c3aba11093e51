//! `agentfs unmount`: ends a mount. Keeps MNT-8: it returns when everything is on the disk.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::exit::Failure;
use super::output::Output;
use crate::fuse;

/// Unmount, and return when everything is on the disk
#[derive(Args)]
#[command(after_help = "JSON: {unmounted: the mount point}")]
pub(crate) struct Unmount {
    /// The mount point
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Take the mount out of the tree now, also when it is in use, and let it end when it no longer is
    #[arg(short, long)]
    lazy: bool,
}

impl Unmount {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        fuse::unmount(&self.directory, self.lazy)?;
        if output.is_json() {
            output.json(&json!({ "unmounted": self.directory.to_string_lossy() }))?;
        }
        Ok(())
    }
}
