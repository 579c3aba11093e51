//! `agentfs fs write`: the content of a file, from the command line or from standard input.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::Args;

use super::{Database, Purpose};
use crate::cli::exit::Failure;
use crate::cli::output::Output;

/// Write a file, and make it and the directories above it when they are missing
#[derive(Args)]
#[command(
    after_help = "Examples:\n  agentfs fs write my-agent /notes.txt 'remember this'\n  date | agentfs fs write my-agent /log --append"
)]
pub(super) struct Write {
    #[command(flatten)]
    database: Database,
    /// The file
    path: OsString,
    /// Its content, to the byte, without a line feed at the end; without it, standard input
    content: Option<OsString>,
    /// Add to what is there
    #[arg(short, long)]
    append: bool,
}

impl Write {
    pub(super) fn run(self, _output: &mut Output) -> Result<(), Failure> {
        let path = self.path.as_bytes();
        // All of it before the file is touched: input that ends early leaves the file as it was.
        let content = match self.content {
            Some(content) => content.into_vec(),
            None => standard_input()?,
        };
        self.database.with(Purpose::Change, |tree| {
            let written =
                if self.append { tree.paths.append(path, content) } else { tree.paths.write(path, content) };
            Ok(written?)
        })
    }
}

fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut content = Vec::new();
    std::io::stdin()
        .read_to_end(&mut content)
        .map_err(|error| Failure::host("read", "standard input", error))?;
    Ok(content)
}
