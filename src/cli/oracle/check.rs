//! `agentfs oracle check`: whether every answer of a trace is allowed.

use std::ffi::OsString;

use clap::Args;
use serde_json::{Value, json};

use super::{Source, malformed};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::oracle::check::{Checker, Divergence, Moment, Rejection, Verdict};
use crate::oracle::file;
use crate::oracle::play::Trace;

/// Check the answers of a trace
///
/// Every call must have its "outcome"; with the times before and after it under "between", the times of files are checked
/// too. Says at which line an answer is not allowed, in words and by the rules of SPEC.md.
#[derive(Args)]
#[command(after_help = "\
Ends with 10 when an answer is not allowed, with 2 when the trace is none. Where a call was not
supported that the rest builds on, the check ends there, and that is no error.

JSON: {trace, steps, allowed, unsupported: {call: count}, not_comparable_from: null or line,
  divergence: null or {line, step, call, outcome, differences: [{subject, seen, allowed, rules}],
  allowed, words}}")]
pub(super) struct Check {
    /// The trace; - for standard input
    #[arg(value_name = "FILE|-")]
    trace: OsString,
}

/// What a check came to.
struct Report {
    name: String,
    steps: usize,
    allowed: u32,
    checker: Checker,
    not_comparable_from: Option<usize>,
    divergence: Option<(usize, Box<Divergence>)>,
}

impl Check {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let Source { name, input } = Source::open(&self.trace)?;
        let (trace, lines) = file::read(input).map_err(|error| malformed(&name, error))?;
        let report = check(name, &trace, &lines)?;
        report.show(output)?;
        output.flush()?;
        match report.divergence {
            None => Ok(()),
            Some((line, _)) => Err(Failure::new(
                Exit::Unsound,
                format!("{}: line {line}: the answer is not allowed", report.name),
            )),
        }
    }
}

fn check(name: String, trace: &Trace, lines: &[usize]) -> Result<Report, Failure> {
    let checker = Checker::new(&trace.setting, Moment::Unknown);
    let steps = trace.steps.len();
    let mut report = Report { name, steps, allowed: 0, checker, not_comparable_from: None, divergence: None };
    for (step, line) in trace.steps.iter().zip(lines) {
        let wrong = |why: &dyn std::fmt::Display| malformed(&report.name, format!("line {line}: {why}"));
        let Some(outcome) = &step.outcome else { return Err(wrong(&"the call has no \"outcome\"")) };
        match report.checker.check(&step.call, Moment::of(step), outcome) {
            Ok(Verdict::Allowed) => report.allowed += 1,
            Ok(Verdict::Unsupported { comparable: true }) => {}
            Ok(Verdict::Unsupported { comparable: false }) => {
                report.not_comparable_from = Some(*line);
                break;
            }
            Err(Rejection::Inadmissible(why)) => return Err(wrong(&why)),
            Err(Rejection::Divergence(divergence)) => {
                report.divergence = Some((*line, divergence));
                break;
            }
        }
    }
    Ok(report)
}

impl Report {
    fn show(&self, output: &mut Output) -> Result<(), Failure> {
        if output.is_json() {
            return output.json(&self.to_json());
        }
        if let Some((line, divergence)) = &self.divergence {
            return output.line(output.name(format!("line {line}: {divergence}").as_bytes()));
        }
        let unsupported: u64 = self.checker.unsupported().values().sum();
        let mut text = format!("{}: {} of {} answers are allowed", self.name, self.allowed, self.steps);
        if unsupported > 0 {
            text += &format!(", {unsupported} not supported");
        }
        if let Some(line) = self.not_comparable_from {
            text += &format!("; from line {line} on there is nothing to compare");
        }
        output.line(output.name(text.as_bytes()))
    }

    fn to_json(&self) -> Value {
        json!({
            "trace": self.name,
            "steps": self.steps,
            "allowed": self.allowed,
            "unsupported": self.checker.unsupported(),
            "not_comparable_from": self.not_comparable_from,
            "divergence": self.divergence.as_ref().map(|(line, divergence)| with_words(divergence, Some(*line))),
        })
    }
}

/// A divergence as JSON, with its words.
pub(super) fn with_words(divergence: &Divergence, line: Option<usize>) -> Value {
    let mut value = json!(divergence);
    if let Value::Object(fields) = &mut value {
        fields.insert("words".into(), divergence.to_string().into());
        if let Some(line) = line {
            fields.insert("line".into(), line.into());
        }
    }
    value
}
