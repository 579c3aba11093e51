//! What a driver of traces needs of an implementation, and all the ways in which one can fail to answer.
//!
//! An answer that the model does not allow is no failure here: it is an answer. A failure is that there is none: the
//! implementation hung, died, or said what cannot be understood. Keeps ORA-7 (a failure names the step, the line, and
//! what the implementation left on standard error).

use std::fmt::Write as _;
use std::process::ExitStatus;
use std::time::Duration;

use agentfs_model::call::Call;
use agentfs_model::outcome::Outcome;
use agentfs_model::trace::Setting;
use agentfs_model::values::Timestamp;

use super::tree::Tree;

/// The machine's clock before and after something.
pub type Between = (Timestamp, Timestamp);

/// What an implementation answered to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it answered.
    pub outcome: Outcome,
    /// When it was called and when it had answered; None when it takes its times from the trace.
    pub between: Option<Between>,
}

/// Something that traces can be run on, one after another.
pub trait Implementation {
    /// What it is called in reports.
    fn name(&self) -> &str;

    /// Whether it has the operation of this name. A trace may use the others too: the answer is
    /// [`Outcome::Unsupported`].
    fn supports(&self, operation: &str) -> bool;

    /// A new trace begins, on an empty file system with this root and these processes, whose umask is 022. The times of
    /// the root lie between the clock readings that are returned.
    ///
    /// # Errors
    /// When it does not answer, or cannot provide the setting ([`Problem::Refused`]). After a failure the next trace
    /// begins as if none had been before.
    fn begin(&mut self, setting: &Setting) -> Result<Option<Between>, Failure>;

    /// The next step of the trace: its number, counted from 1, its time where the trace has the clock, and the call.
    ///
    /// # Errors
    /// When it does not answer. The trace is over then.
    fn call(&mut self, step: u32, now: Option<Timestamp>, call: &Call) -> Result<Answer, Failure>;

    /// The whole tree as it is now, without a trace of the looking in it; None when that cannot be had.
    ///
    /// # Errors
    /// When it does not answer. The trace is over then.
    fn observe(&mut self) -> Result<Option<Tree>, Failure> {
        Ok(None)
    }

    /// The trace is over: every handle is closed.
    ///
    /// # Errors
    /// When it does not answer.
    fn end(&mut self) -> Result<(), Failure>;
}

/// What an implementation was to do when it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum During {
    /// To start.
    Start,
    /// To begin a trace.
    Begin,
    /// A step of the trace.
    Step {
        /// Its number, counted from 1.
        number: u32,
        /// The call, as JSON; a long one is cut.
        call: String,
    },
    /// To show the tree.
    Observation,
    /// To end a trace.
    End,
}

/// An implementation that did not answer as one does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{during}: {problem}")]
pub struct Failure {
    /// What it was to do.
    pub during: During,
    /// What it did.
    pub problem: Problem,
}

/// How an implementation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It could not be started at all.
    #[error("cannot be started: {0}")]
    Start(String),

    /// It gave no answer in time, and was killed.
    #[error("no answer within {} s{}", .limit.as_secs_f64(), said(.stderr))]
    Hung {
        /// How long it had.
        limit: Duration,
        /// The last lines of its standard error.
        stderr: Vec<String>,
    },

    /// Its standard output ended.
    #[error("died{}{}", ended(.status.as_ref()), said(.stderr))]
    Died {
        /// How it ended; None when it was still running, with its output closed, and had to be killed.
        status: Option<ExitStatus>,
        /// The last lines of its standard error.
        stderr: Vec<String>,
    },

    /// It answered a line that is no answer.
    #[error("its line {line} is no answer ({why}): {said}")]
    Nonsense {
        /// The number of the line among all that it has said, counted from 1.
        line: u64,
        /// The line; a long one is cut.
        said: String,
        /// What is wrong with it.
        why: String,
    },

    /// It answered a line without an end.
    #[error("its line {line} is longer than the {longest} bytes that this answer can take: {said}")]
    TooLong {
        /// The number of the line among all that it has said, counted from 1.
        line: u64,
        /// The most that the answer could take.
        longest: usize,
        /// How the line begins.
        said: String,
    },

    /// It said something that nobody had asked for.
    #[error("its line {line} was not asked for: {said}")]
    Unasked {
        /// The number of the line among all that it has said, counted from 1.
        line: u64,
        /// What it said; a long one is cut.
        said: String,
    },

    /// It said itself that it cannot go on.
    #[error("gave up: {0}")]
    GaveUp(String),

    /// It cannot provide the setting of the trace, and said why. Nothing is wrong with it.
    #[error("cannot provide this setting: {0}")]
    Refused(String),

    /// The kernel answered an error that no trace can hold.
    #[error("{doing} failed with errno {number}")]
    Errno {
        /// What was being done.
        doing: String,
        /// The number.
        number: i32,
    },

    /// It failed earlier, and no trace has begun since.
    #[error("no trace has begun")]
    NotBegun,
}

impl std::fmt::Display for During {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start => f.write_str("at the start"),
            Self::Begin => f.write_str("at the beginning of the trace"),
            Self::Step { number, call } => write!(f, "step {number}, {call}"),
            Self::Observation => f.write_str("while the tree was looked at"),
            Self::End => f.write_str("at the end of the trace"),
        }
    }
}

fn ended(status: Option<&ExitStatus>) -> String {
    match status {
        Some(status) => format!(" ({status})"),
        None => " (closed its standard output, and was killed)".to_owned(),
    }
}

fn said(stderr: &[String]) -> String {
    let mut text = String::new();
    for line in stderr {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n  stderr: {line}");
    }
    text
}

impl Problem {
    /// The failure that this problem makes of what was to be done.
    #[must_use]
    pub const fn during(self, during: During) -> Failure {
        Failure { during, problem: self }
    }
}
