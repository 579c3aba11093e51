//! The log of an agent's tool calls, in the spec's table `tool_calls`.
//!
//! Keeps TOOL-1 to TOOL-12. A call is recorded once, when it is complete; nothing here changes or
//! removes one. Core readers find the spec's columns to the letter (whole seconds, exactly one of
//! result and error); finer times, the session and the calling call stand beside them in
//! `ext_tool_call`, written in the same mutation. Databases of other writers are read in all their
//! shapes: with a `status` column, with calls that are still pending, with empty texts for absent
//! ones, with milliseconds, with JSON that is none.

mod call;
mod filter;
mod statements;

pub use call::{Call, Outcome, Payload, RecordedCall, RecordedOutcome, Status};
pub use filter::{Filter, Order};

use statements::{Shape, Statements};

use crate::error::{Error, Result};
use crate::store::Store;
use crate::types::Timestamp;

/// Times of this size and above are milliseconds; as seconds they would be 30,000 years away.
const MILLISECONDS_FROM: i64 = 1_000_000_000_000;

/// How the calls of one tool went.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolStatistics {
    /// The tool.
    pub name: String,
    /// Calls, the pending ones included.
    pub total: u64,
    /// Calls that succeeded.
    pub successful: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Mean duration of the completed calls in milliseconds, as finely as it is known; None when
    /// none is complete.
    pub average_duration_ms: Option<f64>,
}

/// The tool-call log of a database.
///
/// ```
/// use agentfs::tools::{Call, Outcome, Tools};
/// use agentfs::{store::Store, types::Timestamp, Options};
/// use serde_json::json;
///
/// # fn main() -> agentfs::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// let store = Store::create(&directory.path().join("agent.db"), &Options::default())?;
/// let tools = Tools::new(&store);
/// let id = tools.record(&Call {
///     name: "read_file".into(),
///     parameters: Some(json!({"path": "/notes.txt"})),
///     outcome: Outcome::Success(json!("remember the milk")),
///     started_at: Timestamp::new(1_700_000_000, 250_000_000),
///     completed_at: Timestamp::new(1_700_000_002, 0),
///     session: Some("morning".into()),
///     parent: None,
/// })?;
/// let call = tools.get(id)?.expect("it has just been recorded");
/// assert_eq!(call.duration_ms, Some(1750.0));
/// # Ok(())
/// # }
/// ```
pub struct Tools<'a> {
    store: &'a Store,
}

impl<'a> Tools<'a> {
    /// The tool-call log in `store`.
    #[must_use]
    pub fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Records a completed call and returns its id. Ids grow, and none is used twice.
    ///
    /// # Errors
    /// [`Error::Invalid`] (a NUL in a text, completed before it started, a time too far from 1970 to
    /// be told from milliseconds), EROFS, ENOSPC; then nothing is recorded.
    pub fn record(&self, call: &Call) -> Result<i64> {
        call.check()?;
        let parameters = call.parameters.as_ref().map(ToString::to_string);
        let (status, result, error) = match &call.outcome {
            Outcome::Success(value) => (Status::Success, Some(value.to_string()), None),
            Outcome::Failure(message) => (Status::Failed, None, Some(message.as_str())),
        };
        let (started, completed) = (call.started_at, call.completed_at);
        let duration_ms = (completed.seconds - started.seconds) * 1000;
        let length = |text: Option<&str>| text.map_or(0, str::len);
        let size =
            call.name.len() + length(parameters.as_deref()) + length(result.as_deref()) + length(error);
        self.store.reserve_space(size as u64)?;
        self.store.mutate(|session| {
            session.ensure_extension("ext_tool_call")?;
            let core =
                (&call.name, &parameters, &result, error, started.seconds, completed.seconds, duration_ms);
            if Shape::of(session)?.status {
                let (name, parameters, result, error, started, completed, duration) = core;
                let core = (name, parameters, result, error, started, completed, duration, status.text());
                session.execute(statements::INSERT_WITH_STATUS, core)?;
            } else {
                session.execute(statements::INSERT, core)?;
            }
            let id = session.last_insert_rowid();
            session.execute(
                statements::INSERT_EXTENSION,
                (id, &call.session, call.parent, status.text(), started.nanoseconds, completed.nanoseconds),
            )?;
            session.charge(size as u64);
            Ok(id)
        })
    }

    /// One call, if there is one with this id.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn get(&self, id: i64) -> Result<Option<RecordedCall>> {
        self.store.read(|session| session.row(&Statements::of(Shape::of(session)?).get, [id], call::read))
    }

    /// The last `limit` calls of the tool `name`, the one that started last first.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn by_name(&self, name: &str, limit: usize) -> Result<Vec<RecordedCall>> {
        self.query(&Filter { name: Some(name.into()), limit: Some(limit), ..Filter::default() })
    }

    /// The last `limit` calls that started later than `since`, the one that started last first.
    ///
    /// # Errors
    /// [`Error::Storage`].
    ///
    /// ```
    /// # use agentfs::tools::{Call, Outcome, Tools};
    /// # use agentfs::{store::Store, types::Timestamp, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let store = Store::create(&directory.path().join("agent.db"), &Options::default())?;
    /// let tools = Tools::new(&store);
    /// let at = |seconds| Timestamp::new(seconds, 0);
    /// for (name, second) in [("search", 10), ("read_file", 20), ("write_file", 30)] {
    ///     tools.record(&Call::failed(name, "no network", at(second), at(second)))?;
    /// }
    /// let names: Vec<_> = tools.recent(at(10), 100)?.into_iter().map(|call| call.name).collect();
    /// assert_eq!(names, ["write_file", "read_file"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn recent(&self, since: Timestamp, limit: usize) -> Result<Vec<RecordedCall>> {
        self.query(&Filter { since: Some(since), limit: Some(limit), ..Filter::default() })
    }

    /// The calls that `filter` lets through, in its order.
    ///
    /// By start, the index on `started_at` is read from its near end, and only as far as the limit
    /// asks; with a name, the calls of that tool are sorted; by id, the calls after
    /// [`Filter::after_id`] are read.
    ///
    /// # Errors
    /// [`Error::Storage`].
    ///
    /// Following the log, as a timeline does:
    ///
    /// ```
    /// # use agentfs::tools::{Call, Filter, Order, Outcome, Tools};
    /// # use agentfs::{store::Store, types::Timestamp, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let store = Store::create(&directory.path().join("agent.db"), &Options::default())?;
    /// let tools = Tools::new(&store);
    /// let mut next = Filter { order: Order::Recorded, after_id: Some(0), ..Filter::default() };
    /// tools.record(&Call::succeeded("search", "found".into(), Timestamp::EPOCH, Timestamp::EPOCH))?;
    /// for call in tools.query(&next)? {
    ///     next.after_id = Some(call.id);
    /// }
    /// assert!(tools.query(&next)?.is_empty(), "everything so far has been seen");
    /// # Ok(())
    /// # }
    /// ```
    pub fn query(&self, filter: &Filter) -> Result<Vec<RecordedCall>> {
        self.store.read(|session| filter::run(session, filter))
    }

    /// Totals for each tool, the most used first.
    ///
    /// # Errors
    /// [`Error::Storage`].
    ///
    /// ```
    /// # use agentfs::tools::{Call, Tools};
    /// # use agentfs::{store::Store, types::Timestamp, Options};
    /// # fn main() -> agentfs::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let store = Store::create(&directory.path().join("agent.db"), &Options::default())?;
    /// let tools = Tools::new(&store);
    /// let (start, end) = (Timestamp::new(5, 0), Timestamp::new(5, 500_000_000));
    /// tools.record(&Call::succeeded("search", "found".into(), start, end))?;
    /// tools.record(&Call::failed("search", "no network", start, start))?;
    /// let of_search = &tools.statistics()?[0];
    /// assert_eq!((of_search.total, of_search.successful, of_search.failed), (2, 1, 1));
    /// assert_eq!(of_search.average_duration_ms, Some(250.0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn statistics(&self) -> Result<Vec<ToolStatistics>> {
        self.store.read(|session| {
            session.rows(&Statements::of(Shape::of(session)?).statistics, [], |row| {
                let count = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
                Ok(ToolStatistics {
                    name: call::lossy(row, 0)?,
                    total: count(1)?,
                    successful: count(2)?,
                    failed: count(3)?,
                    average_duration_ms: row.get(4)?,
                })
            })
        })
    }
}

/// The JSON value that `text` is; `what` names it in the refusal.
fn parse(what: &str, text: &str) -> Result<serde_json::Value> {
    serde_json::from_str(text).map_err(|error| Error::Invalid(format!("the {what} is not JSON: {error}")))
}
