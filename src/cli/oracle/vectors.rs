//! `agentfs oracle vectors`: writes the conformance vectors.

use std::path::PathBuf;

use agentfs_model::profile::Profile;
use clap::Args;
use serde_json::json;

use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::oracle::{file, vectors};

/// Write the conformance vectors into a directory
///
/// One small trace a file (FS-RENAME-6-ancestor.jsonl and so on), each named by the rule that it shows, with what every
/// call may answer. spec/vectors/ is what this writes.
#[derive(Args)]
#[command(after_help = "JSON: the list of files")]
pub(super) struct Vectors {
    /// Where to, made when missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Vectors {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        std::fs::create_dir_all(&self.directory)
            .map_err(|error| Failure::host("make", &self.directory, error))?;
        let mut written = Vec::new();
        for scenario in vectors::all() {
            let trace = scenario.vector(&Profile::agentfs()).map_err(|why| {
                Failure::new(Exit::Refused, format!("{}: {why}: this is a bug of agentfs", scenario.name))
            })?;
            let path = self.directory.join(format!("{}.jsonl", scenario.name));
            let mut text = Vec::new();
            let composed = file::write(&trace, &mut text);
            composed
                .and_then(|()| std::fs::write(&path, text))
                .map_err(|error| Failure::host("write", &path, error))?;
            written.push(path);
        }
        if output.is_json() {
            let paths: Vec<_> = written.iter().map(|path| path.to_string_lossy()).collect();
            return output.json(&json!(paths));
        }
        written.iter().try_for_each(|path| output.line(path.display().to_string()))
    }
}
