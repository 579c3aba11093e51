//! `agentfs oracle replay`: the calls of a trace once more.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::check::with_words;
use super::subject::{Limit, Subject, broken};
use super::{Source, malformed};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::oracle::file;
use crate::oracle::play::{Ended, Fault, Look, replay};

/// Run the calls of a trace again, and check the answers
///
/// On the library in a temporary database, on a directory, or on a program that speaks the protocol of spec/PROTOCOL.md.
/// What the trace says was answered is not looked at. Prints the trace with the new answers.
#[derive(Args)]
#[command(after_help = "\
Ends with 10 when an answer is not allowed, with 2 when the trace is none.

JSON: {trace, steps, unsupported_from: null or step, refused: null or text,
  divergence: null or {step, words, call, outcome, differences, allowed}}")]
pub(super) struct Replay {
    /// The trace; - for standard input
    #[arg(value_name = "FILE|-")]
    trace: OsString,
    /// What to run it on: library, or an empty directory
    #[arg(long, value_name = "library|DIR", default_value = "library")]
    on: OsString,
    /// A program to run it on, by the shell
    #[arg(long, value_name = "CMD", conflicts_with = "on")]
    exec: Option<OsString>,
    #[command(flatten)]
    limit: Limit,
}

impl Replay {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let Source { name, input } = Source::open(&self.trace)?;
        let (trace, lines) = file::read(input).map_err(|error| malformed(&name, error))?;
        let mut subject = match &self.exec {
            Some(command) => Subject::program(command.clone(), self.limit)?,
            None if self.on == "library" => Subject::library()?,
            None => Subject::directory(&PathBuf::from(&self.on), self.limit)?,
        };
        let played = replay(&trace, &mut *subject.implementation, Look::EveryStep);
        let played_on = subject.implementation.name().to_owned();
        drop(subject);
        let line_of = |step: u32| lines.get((step as usize).saturating_sub(1)).copied().unwrap_or_default();
        if let Err(Fault::Inadmissible { step, why }) = &played.ended {
            return Err(malformed(&name, format!("line {}: {why}", line_of(*step))));
        }
        if output.is_json() {
            output.json(&json!({
                "trace": name,
                "steps": played.checker.step(),
                "unsupported_from": match &played.ended { Ok(Ended::Unsupported { step }) => Some(*step), _ => None },
                "refused": match &played.ended { Ok(Ended::Refused(why)) => Some(why), _ => None },
                "divergence": match &played.ended {
                    Err(Fault::Divergence(divergence)) => Some(with_words(divergence, None)),
                    _ => None,
                },
            }))?;
        } else {
            let mut text = Vec::new();
            file::write(&played.trace, &mut text).map_err(|error| Failure::output(&error))?;
            output.bytes(&text)?;
        }
        output.flush()?;
        match played.ended {
            Ok(Ended::Complete) => Ok(()),
            Ok(Ended::Refused(why)) => Err(Failure::new(Exit::Refused, format!("{played_on}: {why}"))),
            Ok(Ended::Unsupported { step }) => {
                let text = format!("{name}: line {}: {played_on} has no such operation", line_of(step));
                Err(Failure::new(Exit::Refused, text))
            }
            Err(Fault::Failure(failure)) => Err(broken(&failure)),
            Err(fault) => Err(Failure::new(Exit::Unsound, format!("{name}: {fault}"))),
        }
    }
}
