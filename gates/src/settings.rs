//! What the command line says, read once.

use clap::{Args, Parser};
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs checks of AgentFS that need a mount or a foreign test suite.
///
/// WHAT is `list`, `quick` (what fits into every change's check, in its short form), `all`, or
/// the names of gates.
#[derive(Parser)]
pub struct Arguments {
    /// list, quick, all, or names of gates
    #[arg(required = true, value_name = "WHAT")]
    pub what: Vec<String>,
    #[command(flatten)]
    pub settings: Settings,
    /// Run the one named gate in this process
    #[arg(long, hide = true)]
    pub inner: bool,
    /// Be the second process of a check: WHAT is the role and its file
    #[arg(long, hide = true)]
    pub actor: bool,
}

/// Where and how much.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// The agentfs binary [default: built with cargo]
    #[arg(long, value_name = "PATH")]
    pub agentfs: Option<PathBuf>,
    /// The cargo profile of the binary that is built when none is given; `release` to measure
    #[arg(long, value_name = "NAME", default_value = "dev")]
    pub profile: String,
    /// A directory on ext4 to compare with [default: the temporary directory]
    #[arg(long, value_name = "DIR")]
    pub native: Option<PathBuf>,
    /// Run on this directory only, instead of a mount and a native directory
    #[arg(long, value_name = "DIR")]
    pub target: Option<PathBuf>,
    /// Run on the mount only, where no comparison is needed to judge it
    #[arg(long)]
    pub mount_only: bool,
    /// Multiply the number of operations
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// How long random traces are drawn in all, in minutes (gate conformance)
    #[arg(long, value_name = "MINUTES", default_value_t = 20.0)]
    pub minutes: f64,
    /// Where random numbers begin (gate conformance) [default: the time]
    #[arg(long, value_name = "SEED")]
    pub seed: Option<u64>,
    /// The short form of each gate
    #[arg(long)]
    pub short: bool,
    /// The benchmark script (gate fsbench)
    #[arg(long, value_name = "PATH")]
    pub fsbench: Option<PathBuf>,
    /// Keep the scratch directory of a gate that failed
    #[arg(long)]
    pub keep: bool,
    /// More options for `agentfs mount`, separated by spaces
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    pub mount_options: String,
}

impl Settings {
    /// These settings for `gates quick`: short forms, and no native run that decides nothing.
    pub fn quick(mut self) -> Self {
        self.short = true;
        self.mount_only = true;
        self
    }

    /// `full` or `short` operations by the form, multiplied by the scale; at least one.
    pub fn count(&self, short: u64, full: u64) -> u64 {
        let base = if self.short { short } else { full };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let scaled = (base as f64 * self.scale) as u64;
        scaled.max(1)
    }

    /// The arguments that make another process have these settings.
    pub fn to_arguments(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let paths = [
            ("--agentfs", &self.agentfs),
            ("--native", &self.native),
            ("--target", &self.target),
            ("--fsbench", &self.fsbench),
        ];
        for (flag, path) in paths {
            if let Some(path) = path {
                words.extend([flag.into(), path.into()]);
            }
        }
        for (flag, set) in [("--mount-only", self.mount_only), ("--short", self.short), ("--keep", self.keep)]
        {
            if set {
                words.push(flag.into());
            }
        }
        words.extend(["--profile".into(), self.profile.clone().into()]);
        words.extend(["--scale".into(), self.scale.to_string().into()]);
        words.extend(["--minutes".into(), self.minutes.to_string().into()]);
        if let Some(seed) = self.seed {
            words.extend(["--seed".into(), seed.to_string().into()]);
        }
        words.push(format!("--mount-options={}", self.mount_options).into());
        words
    }
}
