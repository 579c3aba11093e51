//! `agentfs timeline`: the tool calls in the order in which they happened, and as they happen.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::database::{self, Purpose};
use super::exit::Failure;
use super::output::{Output, printable};
use super::target::Target;
use super::time;
use super::tools::{self, Selection};
use crate::AgentFs;
use crate::tools::{Filter, Order, RecordedCall};

/// How often --follow looks for new calls.
const INTERVAL: Duration = Duration::from_millis(200);

/// Show tool calls in the order in which they happened
#[derive(Args)]
#[command(after_help = "JSON: as of `agentfs tools list`; with --follow, one object a line")]
pub(crate) struct Timeline {
    /// Id or path of the database
    #[arg(value_name = "ID|PATH")]
    target: OsString,
    #[command(flatten)]
    selection: Selection,
    /// Wait for more calls, and show them as they are recorded, until interrupted
    #[arg(short, long)]
    follow: bool,
}

impl Timeline {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let target = Target::existing(&self.target)?;
        // Before any thread starts, so that no thread is interrupted instead of us.
        let interruption = if self.follow { Some(Interruption::expect()?) } else { None };
        database::with(&target, Purpose::Read, |fs| {
            let seen = self.show_past(fs, output)?;
            match interruption {
                Some(interruption) => self.show_future(fs, seen, &interruption, output),
                None => Ok(()),
            }
        })
    }

    /// Shows what is there, and returns the largest id in the log at that time.
    fn show_past(&self, fs: &AgentFs, output: &mut Output) -> Result<i64, Failure> {
        let log = fs.tools();
        let latest = Filter { order: Order::Recorded, ..Filter::default() };
        let seen = if self.follow { log.query(&latest)?.last().map_or(0, |call| call.id) } else { i64::MAX };
        let mut calls = log.query(&self.selection.filter(Order::NewestFirst))?;
        calls.retain(|call| call.id <= seen);
        calls.reverse();
        if output.is_json() && !self.follow {
            output.json(&calls.into_iter().map(tools::to_json).collect::<Vec<_>>())?;
        } else {
            calls.into_iter().try_for_each(|call| show(call, output))?;
        }
        Ok(seen)
    }

    fn show_future(
        &self,
        fs: &AgentFs,
        mut seen: i64,
        interruption: &Interruption,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let log = fs.tools();
        loop {
            output.flush()?;
            if interruption.has_come() {
                return Ok(());
            }
            std::thread::sleep(INTERVAL);
            let filter =
                Filter { after_id: Some(seen), limit: None, ..self.selection.filter(Order::Recorded) };
            for call in log.query(&filter)? {
                seen = call.id;
                show(call, output)?;
            }
        }
    }
}

fn show(call: RecordedCall, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.json(&tools::to_json(call));
    }
    output.line(
        format!(
            "{:<24}  {:<7}  {:>8}  {}  {}",
            time::exact(call.started_at),
            call.status().text(),
            tools::duration(call.duration_ms),
            printable(call.name.as_bytes()),
            printable(tools::detail(&call).as_bytes()),
        )
        .trim_end(),
    )
}

/// Ctrl-C as something to look at, so that the database is closed and leaves one file.
struct Interruption(SignalFd);

impl Interruption {
    fn expect() -> Result<Self, Failure> {
        let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
        signals
            .thread_block()
            .and_then(|()| SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC))
            .map(Self)
            .map_err(|errno| Failure::host("wait for", "signals", errno))
    }

    fn has_come(&self) -> bool {
        matches!(self.0.read_signal(), Ok(Some(_)))
    }
}
