//! `agentfs init`: makes a database.

use std::ffi::OsString;
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::exit::Failure;
use super::output::Output;
use super::target::{self, Target};
use crate::AgentFs;
use crate::types::{Gid, Options, Uid};

/// Make a new, empty agent file system
#[derive(Args)]
#[command(
    after_help = "Examples:\n  agentfs init my-agent      makes .agentfs/my-agent.db\n  agentfs init ./work.db     makes that file\n  agentfs init               makes one with a new id, and prints it\n\nJSON: {\"id\": its id or null, \"path\"}"
)]
pub(crate) struct Init {
    /// Id or path; without it, a new id
    #[arg(value_name = "ID|PATH")]
    target: Option<OsString>,
    /// Bytes in a chunk of file content: a power of two from 512 to 16777216
    #[arg(long, value_name = "BYTES", default_value_t = Options::default().chunk_size)]
    chunk_size: u32,
    /// Largest file kept in its inode's row, in bytes, at most the chunk size
    #[arg(long, value_name = "BYTES", default_value_t = Options::default().inline_threshold)]
    inline_threshold: u32,
    /// SQLite's page size: a power of two from 512 to 65536
    #[arg(long, value_name = "BYTES", default_value_t = Options::default().page_size)]
    page_size: u32,
}

impl Init {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let argument = match self.target {
            Some(argument) => argument,
            None => target::generate()?,
        };
        let target = Target::new(&argument)?;
        let options = Options {
            chunk_size: self.chunk_size,
            inline_threshold: self.inline_threshold,
            page_size: self.page_size,
            ..creation_options()
        };
        create(&target, &options)?.close()?;
        if output.is_json() {
            return output.json(&json!({ "id": target.is_id.then_some(&target.shown), "path": target.path.to_string_lossy() }));
        }
        output.line(&target.shown)
    }
}

/// The defaults, with a root directory that belongs to the person who makes the database.
pub(crate) fn creation_options() -> Options {
    let root_owner = (Uid(rustix::process::geteuid().as_raw()), Gid(rustix::process::getegid().as_raw()));
    Options { root_owner, ..Options::default() }
}

/// Makes the database, and the directory of ids when it is the first; leaves nothing behind when it fails.
pub(crate) fn create(target: &Target, options: &Options) -> Result<AgentFs, Failure> {
    // What no file can be called is not a question of permissions.
    if let Err(error) = std::fs::symlink_metadata(&target.path)
        && error.raw_os_error() == Some(nix::libc::ENAMETOOLONG)
    {
        return Err(Failure::host("create", &target.path, error));
    }
    let directory = target.path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let made = match directory {
        Some(directory) if target.is_id => make_directory(directory)?,
        Some(directory) => {
            std::fs::metadata(directory)
                .map_err(|error| Failure::host("create a database in", directory, error))?;
            false
        }
        None => false,
    };
    AgentFs::create(&target.path, options).map_err(|error| {
        if let (true, Some(directory)) = (made, directory) {
            // It is empty unless another process used it meanwhile; then it stays.
            let _ = std::fs::remove_dir(directory);
        }
        error.into()
    })
}

fn make_directory(directory: &Path) -> Result<bool, Failure> {
    match std::fs::create_dir(directory) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(Failure::host("create", directory, error)),
    }
}
