//! `agentfs tools`: the log of tool calls.

use std::ffi::OsString;

use clap::{ArgGroup, Args, Subcommand};
use serde_json::{Value, json};

use super::database::{self, Purpose};
use super::exit::Failure;
use super::output::Output;
use super::target::Target;
use super::time::{self, Moment};
use crate::tools::{Call, Filter, Order, Outcome, Payload, RecordedCall, RecordedOutcome, Status};
use crate::types::{Clock, SystemClock};

/// Record tool calls and look at them
#[derive(Args)]
#[command(after_help = "\
JSON of list: [{id, name, status: success, error or pending, parameters, result or error, started_at, completed_at,
  duration_ms, session, parent}]; of record, {id}; of stats, [{name, total, successful, failed, average_duration_ms}]")]
pub(crate) struct Tools {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Record(Record),
    /// List calls, the one that started last first
    List {
        /// Id or path of the database
        #[arg(value_name = "ID|PATH")]
        target: OsString,
        #[command(flatten)]
        selection: Selection,
    },
    /// Show how often each tool was called, and how that went
    Stats {
        /// Id or path of the database
        #[arg(value_name = "ID|PATH")]
        target: OsString,
    },
}

/// Record a completed call, and print its id
#[derive(Args)]
#[command(group(ArgGroup::new("outcome").required(true).args(["result", "error"])))]
#[command(
    after_help = "Example: agentfs tools record my-agent search --parameters '{\"q\":\"rust\"}' --result '[\"a\"]'"
)]
struct Record {
    /// Id or path of the database
    #[arg(value_name = "ID|PATH")]
    target: OsString,
    /// The tool
    name: String,
    /// What it was called with
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    parameters: Option<String>,
    /// What it returned
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    result: Option<String>,
    /// Why it failed
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    error: Option<String>,
    /// When it began [default: when it was complete]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    started: Option<Moment>,
    /// When it was complete [default: now]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    completed: Option<Moment>,
    /// The session that it belongs to
    #[arg(long)]
    session: Option<String>,
    /// The id of the call that made this one
    #[arg(long, value_name = "CALL")]
    parent: Option<i64>,
}

/// Which calls to show.
#[derive(Args)]
pub(crate) struct Selection {
    /// Only calls of this tool
    #[arg(long)]
    name: Option<String>,
    /// Only calls that started later than this (2026-01-31, 2026-01-31T09:30:00Z, or 2h for two hours ago)
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Only calls that started at this time or earlier
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// Only calls of this session
    #[arg(long)]
    session: Option<String>,
    /// Only calls that failed
    #[arg(long)]
    failed: bool,
    /// Only the last so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Selection {
    /// The library's filter for this selection.
    pub(crate) fn filter(&self, order: Order) -> Filter {
        Filter {
            name: self.name.clone(),
            since: self.since.map(|moment| moment.0),
            until: self.until.map(|moment| moment.0),
            session: self.session.clone(),
            status: self.failed.then_some(Status::Failed),
            after_id: None,
            limit: self.limit,
            order,
        }
    }
}

impl Tools {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self.command {
            Command::Record(record) => record.run(output),
            Command::List { target, selection } => list(&target, &selection, output),
            Command::Stats { target } => statistics(&target, output),
        }
    }
}

impl Record {
    fn run(self, output: &mut Output) -> Result<(), Failure> {
        let target = Target::existing(&self.target)?;
        let completed_at = self.completed.map_or_else(|| SystemClock.now(), |moment| moment.0);
        let started_at = self.started.map_or(completed_at, |moment| moment.0);
        let outcome = match (self.result, self.error) {
            (Some(result), _) => Outcome::success_text(&result)?,
            (None, error) => Outcome::Failure(error.unwrap_or_default()),
        };
        let call = Call {
            name: self.name,
            parameters: None,
            outcome,
            started_at,
            completed_at,
            session: self.session,
            parent: self.parent,
        };
        let call = match &self.parameters {
            Some(parameters) => call.with_parameters_text(parameters)?,
            None => call,
        };
        let id = database::with(&target, Purpose::Change, |fs| Ok(fs.tools().record(&call)?))?;
        if output.is_json() { output.json(&json!({ "id": id })) } else { output.line(id.to_string()) }
    }
}

fn list(target: &OsString, selection: &Selection, output: &mut Output) -> Result<(), Failure> {
    let target = Target::existing(target)?;
    let filter = selection.filter(Order::NewestFirst);
    let calls = database::with(&target, Purpose::Read, |fs| Ok(fs.tools().query(&filter)?))?;
    if output.is_json() {
        return output.json(&calls.into_iter().map(to_json).collect::<Vec<_>>());
    }
    let mut rows = Vec::new();
    for call in &calls {
        rows.push(vec![
            call.id.to_string(),
            time::exact(call.started_at),
            call.name.clone(),
            call.status().text().into(),
            duration(call.duration_ms),
            detail(call),
        ]);
    }
    output.table(&rows)
}

fn statistics(target: &OsString, output: &mut Output) -> Result<(), Failure> {
    let target = Target::existing(target)?;
    let statistics = database::with(&target, Purpose::Read, |fs| Ok(fs.tools().statistics()?))?;
    if output.is_json() {
        let tools: Vec<Value> = statistics
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "total": tool.total,
                    "successful": tool.successful,
                    "failed": tool.failed,
                    "average_duration_ms": tool.average_duration_ms,
                })
            })
            .collect();
        return output.json(&tools);
    }
    let mut rows = vec![["TOOL", "CALLS", "OK", "FAILED", "AVERAGE"].map(String::from).to_vec()];
    rows.extend(statistics.iter().map(|tool| {
        vec![
            tool.name.clone(),
            tool.total.to_string(),
            tool.successful.to_string(),
            tool.failed.to_string(),
            duration(tool.average_duration_ms),
        ]
    }));
    output.table(&rows)
}

/// A duration for people.
pub(crate) fn duration(milliseconds: Option<f64>) -> String {
    match milliseconds {
        None => "-".into(),
        Some(milliseconds) if milliseconds < 10_000.0 => format!("{milliseconds:.0} ms"),
        Some(milliseconds) => {
            let whole = jiff::SignedDuration::from_secs((milliseconds / 1000.0) as i64);
            format!("{whole:#}")
        }
    }
}

/// What a call was about, in a few words: why it failed, or with what it was called.
pub(crate) fn detail(call: &RecordedCall) -> String {
    const MAX_CHARACTERS: usize = 80;
    let text = match (&call.outcome, &call.parameters) {
        (RecordedOutcome::Failure(message), _) => message.clone(),
        (_, Some(Payload::Json(value))) => value.to_string(),
        (_, Some(Payload::Raw(text))) => text.clone(),
        (_, None) => String::new(),
    };
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The JSON object of a call: `result` when it succeeded, `error` when it failed, neither while it is pending.
pub(crate) fn to_json(call: RecordedCall) -> Value {
    let mut object = json!({
        "id": call.id,
        "name": call.name,
        "status": call.status().text(),
        "parameters": call.parameters.map(Payload::into_value),
        "started_at": time::exact(call.started_at),
        "completed_at": call.completed_at.map(time::exact),
        "duration_ms": call.duration_ms,
        "session": call.session,
        "parent": call.parent,
    });
    match call.outcome {
        RecordedOutcome::Pending => {}
        RecordedOutcome::Success(result) => {
            object["result"] = result.map_or(Value::Null, Payload::into_value)
        }
        RecordedOutcome::Failure(message) => object["error"] = message.into(),
    }
    object
}
