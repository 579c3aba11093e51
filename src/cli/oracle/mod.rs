//! `agentfs oracle`: what system calls may answer, and whether what was answered is allowed.
//!
//! Keeps ORA-20 to ORA-30 at the command line. What is allowed is decided by the model and by [`check`](crate::oracle::check).

mod answer;
mod check;
mod replay;
pub(crate) mod subject;
mod vectors;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use clap::{Args, Subcommand};

use super::exit::Failure;
use super::output::Output;

/// Say what system calls may answer, and check what was answered
///
/// Alone, it reads a trace on standard input (JSON Lines: the setting, then one call a line) and writes each line again
/// with what the model allows under "allowed", at once. A call that has an "outcome" is followed as it was answered, another
/// by the first of those allowed. What a trace looks like is in spec/PROTOCOL.md, and spec/vectors/ is full of them.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Ends with 10 when an answer is not allowed, with 2 when the trace is none, naming the line.

Example: agentfs oracle < trace.jsonl")]
pub(crate) struct Oracle {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Check),
    Replay(replay::Replay),
    Vectors(vectors::Vectors),
}

impl Oracle {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self.command {
            None => answer::run(output),
            Some(Command::Check(command)) => command.run(output),
            Some(Command::Replay(command)) => command.run(output),
            Some(Command::Vectors(command)) => command.run(output),
        }
    }
}

/// A trace that was asked for: what it is called in messages, and its text.
struct Source {
    name: String,
    input: Box<dyn BufRead>,
}

impl Source {
    fn stdin() -> Self {
        Self { name: "standard input".into(), input: Box::new(io::stdin().lock()) }
    }

    /// The file, or standard input for "-".
    fn open(path: &OsStr) -> Result<Self, Failure> {
        if path == "-" {
            return Ok(Self::stdin());
        }
        let path = Path::new(path);
        let file = File::open(path).map_err(|error| Failure::host("open", path, error))?;
        Ok(Self { name: path.display().to_string(), input: Box::new(BufReader::new(file)) })
    }
}

/// A trace that is none.
fn malformed(name: &str, why: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("{name}: {why}"))
}
