//! A tool call: what is recorded, and what is read back, also of calls that others have recorded.

use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::{MILLISECONDS_FROM, parse};
use crate::error::{Error, Result};
use crate::types::Timestamp;

/// A completed call, to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// What it was called with.
    pub parameters: Option<Value>,
    /// What it came to.
    pub outcome: Outcome,
    /// When it began.
    pub started_at: Timestamp,
    /// When it was complete; not before it began.
    pub completed_at: Timestamp,
    /// The session or conversation that it belongs to.
    pub session: Option<String>,
    /// The id of the call that made this one. It need not be recorded yet, nor ever.
    pub parent: Option<i64>,
}

impl Call {
    /// A call that succeeded, without parameters, session and parent.
    #[must_use]
    pub fn succeeded(
        name: impl Into<String>,
        result: Value,
        started_at: Timestamp,
        completed_at: Timestamp,
    ) -> Self {
        Self::new(name.into(), Outcome::Success(result), started_at, completed_at)
    }

    /// A call that failed with a message, without parameters, session and parent.
    #[must_use]
    pub fn failed(
        name: impl Into<String>,
        message: impl Into<String>,
        started_at: Timestamp,
        completed_at: Timestamp,
    ) -> Self {
        Self::new(name.into(), Outcome::Failure(message.into()), started_at, completed_at)
    }

    fn new(name: String, outcome: Outcome, started_at: Timestamp, completed_at: Timestamp) -> Self {
        Self { name, parameters: None, outcome, started_at, completed_at, session: None, parent: None }
    }

    /// The same call with parameters from a JSON text.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is not JSON, with line and column.
    ///
    /// ```
    /// use agentfs::{tools::Call, types::Timestamp, Errno};
    ///
    /// # fn main() -> agentfs::Result<()> {
    /// let call = Call::failed("search", "no network", Timestamp::EPOCH, Timestamp::EPOCH);
    /// let call = call.with_parameters_text(r#"{"query": "rust"}"#)?;
    /// assert_eq!(call.parameters.as_ref().unwrap()["query"], "rust");
    /// assert_eq!(call.with_parameters_text("query=rust").unwrap_err().errno(), Errno::EINVAL);
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_parameters_text(self, json_text: &str) -> Result<Self> {
        Ok(Self { parameters: Some(parse("parameters text", json_text)?), ..self })
    }

    pub(super) fn check(&self) -> Result<()> {
        let message = match &self.outcome {
            Outcome::Failure(message) => Some(message),
            Outcome::Success(_) => None,
        };
        let texts = [("name", Some(&self.name)), ("session", self.session.as_ref()), ("error", message)];
        for (what, text) in texts {
            if text.is_some_and(|text| text.contains('\0')) {
                return Err(Error::Invalid(format!("the {what} of a tool call contains a NUL")));
            }
        }
        for time in [self.started_at, self.completed_at] {
            if time.seconds.unsigned_abs() >= MILLISECONDS_FROM.unsigned_abs() {
                let seconds = time.seconds;
                return Err(Error::Invalid(format!("{seconds} is too far from 1970 for a tool call")));
            }
        }
        if self.completed_at < self.started_at {
            return Err(Error::Invalid("a tool call cannot be complete before it started".into()));
        }
        Ok(())
    }
}

/// What a completed call came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It returned this.
    Success(Value),
    /// It failed, with this message.
    Failure(String),
}

impl Outcome {
    /// Success, with a result from a JSON text.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is not JSON, with line and column.
    pub fn success_text(json_text: &str) -> Result<Self> {
        parse("result text", json_text).map(Self::Success)
    }
}

/// The three things that a call in the log can have come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not complete yet: only other writers record such calls.
    Pending,
    /// It returned a result.
    Success,
    /// It failed.
    Failed,
}

impl Status {
    /// The word for it in the database: "pending", "success" or "error".
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Success => "success",
            Self::Failed => "error",
        }
    }
}

/// Parameters or a result as found in the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// JSON, as it should be.
    Json(Value),
    /// What another writer stored and is not JSON; bytes that are not UTF-8 show as U+FFFD.
    Raw(String),
}

impl Payload {
    /// The JSON value; a raw text is the JSON string of that text.
    #[must_use]
    pub fn into_value(self) -> Value {
        match self {
            Self::Json(value) => value,
            Self::Raw(text) => Value::String(text),
        }
    }
}

/// What a call in the log came to.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedOutcome {
    /// Not complete yet.
    Pending,
    /// It succeeded; other writers may have left the result out.
    Success(Option<Payload>),
    /// It failed, with this message.
    Failure(String),
}

/// A call in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    /// Its id; larger than those of the calls recorded before.
    pub id: i64,
    /// The tool.
    pub name: String,
    /// What it was called with.
    pub parameters: Option<Payload>,
    /// What it came to.
    pub outcome: RecordedOutcome,
    /// When it began, as finely as it is known.
    pub started_at: Timestamp,
    /// When it was complete, as finely as it is known; None while it is pending.
    pub completed_at: Option<Timestamp>,
    /// How long it took in milliseconds, as finely as it is known; None while it is pending.
    pub duration_ms: Option<f64>,
    /// The session or conversation that it belongs to.
    pub session: Option<String>,
    /// The id of the call that made this one.
    pub parent: Option<i64>,
}

impl RecordedCall {
    /// What it came to, in one word.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self.outcome {
            RecordedOutcome::Pending => Status::Pending,
            RecordedOutcome::Success(_) => Status::Success,
            RecordedOutcome::Failure(_) => Status::Failed,
        }
    }
}

/// Reads a row with the columns that [`Statements`](super::statements::Statements) names.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<RecordedCall> {
    let text = |column| lossy(row, column).map(|text| (!text.is_empty()).then_some(text));
    let outcome = match text(8)?.as_deref() {
        Some("pending") => RecordedOutcome::Pending,
        Some("error") => RecordedOutcome::Failure(text(4)?.unwrap_or_default()),
        _ => RecordedOutcome::Success(text(3)?.map(payload)),
    };
    let completed_at = row.get::<_, Option<i64>>(6)?;
    Ok(RecordedCall {
        id: row.get(0)?,
        name: lossy(row, 1)?,
        parameters: text(2)?.map(payload),
        outcome,
        started_at: time(row.get(5)?, row.get(11)?),
        completed_at: match completed_at {
            Some(stored) => Some(time(stored, row.get(12)?)),
            None => None,
        },
        duration_ms: row.get(7)?,
        session: text(9)?,
        parent: row.get(10)?,
    })
}

/// A column as text, whatever another writer has stored in it; nothing for NULL.
pub(super) fn lossy(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    })
}

fn payload(text: String) -> Payload {
    match serde_json::from_str(&text) {
        Ok(value) => Payload::Json(value),
        Err(_) => Payload::Raw(text),
    }
}

fn time(stored: i64, nanoseconds: i64) -> Timestamp {
    if stored.unsigned_abs() >= MILLISECONDS_FROM.unsigned_abs() {
        let milliseconds = stored.rem_euclid(1000) as u32;
        return Timestamp::new(stored.div_euclid(1000), milliseconds * 1_000_000);
    }
    let nanoseconds = u32::try_from(nanoseconds).ok().filter(|nanoseconds| *nanoseconds < 1_000_000_000);
    Timestamp::new(stored, nanoseconds.unwrap_or(0))
}
