//! The SQL of the tool-call log, in the four shapes in which its tables are found.
//!
//! `tool_calls` may have a `status` column or not, `ext_tool_call` may be there or not; a statement
//! cannot name what is absent, so that each shape has its own texts, put together once.

use std::sync::LazyLock;

use super::Order;
use crate::error::Result;
use crate::store::Session;

pub(super) const INSERT: &str = "INSERT INTO tool_calls
     (name, parameters, result, error, started_at, completed_at, duration_ms)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
pub(super) const INSERT_WITH_STATUS: &str = "INSERT INTO tool_calls
     (name, parameters, result, error, started_at, completed_at, duration_ms, status)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
// A row left by a call that another program removed must not keep a new one from being recorded.
pub(super) const INSERT_EXTENSION: &str = "INSERT OR REPLACE INTO ext_tool_call
     (id, session, parent, status, started_at_nsec, completed_at_nsec) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
// Served by idx_tool_calls_started_at.
pub(super) const ANY_STARTED_BETWEEN: &str =
    "SELECT 1 FROM tool_calls WHERE started_at BETWEEN ?1 AND ?2 LIMIT 1";

/// What the tables of a database have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// `tool_calls.status`, which the specification does not have.
    pub(super) status: bool,
    /// `ext_tool_call`.
    pub(super) extension: bool,
}

impl Shape {
    pub(super) fn of(session: &Session<'_>) -> Result<Self> {
        Ok(Self {
            status: session.has_column("tool_calls", "status")?,
            extension: session.has_table("ext_tool_call")?,
        })
    }
}

/// The queries for one shape.
///
/// The columns of a call are, in this order: id, name, parameters, result, error, started_at,
/// completed_at, duration, outcome, session, parent, started_nsec, completed_nsec.
pub(super) struct Statements {
    /// One call; ?1 is its id.
    pub(super) get: String,
    /// For each tool: name, total, successful, failed, average duration in milliseconds.
    pub(super) statistics: String,
    any_tool: [String; 3],
    one_tool: [String; 3],
}

impl Statements {
    pub(super) fn of(shape: Shape) -> &'static Self {
        static ALL: LazyLock<[[Statements; 2]; 2]> = LazyLock::new(|| {
            [false, true]
                .map(|status| [false, true].map(|extension| Statements::compose(Shape { status, extension })))
        });
        &ALL[usize::from(shape.status)][usize::from(shape.extension)]
    }

    /// Calls in `order`: ?1 is the name, (?2, ?3) and (?4, ?5) are the bounds of the start (the first
    /// outside, the second inside), ?6 the id before the first, ?7 the session, ?8 the outcome, ?9
    /// the limit.
    pub(super) fn query(&'static self, with_name: bool, order: Order) -> &'static str {
        let statements = if with_name { &self.one_tool } else { &self.any_tool };
        &statements[match order {
            Order::NewestFirst => 0,
            Order::OldestFirst => 1,
            Order::Recorded => 2,
        }]
    }

    fn compose(shape: Shape) -> Self {
        let status = match (shape.status, shape.extension) {
            (true, _) => "c.status",
            (false, true) => "x.status",
            (false, false) => "NULL",
        };
        // What a call came to. A status that says so decides (also of a failure without a message);
        // "pending" does not, since writers that do not know the column leave it at that default.
        let outcome = format!(
            "CASE WHEN {status} IN ('success', 'error') THEN {status}
              WHEN c.error <> '' THEN 'error'
              WHEN c.completed_at IS NULL THEN 'pending'
              WHEN {status} = 'pending' AND coalesce(c.result, '') = '' THEN 'pending'
              ELSE 'success' END"
        );
        let (tables, extension, fraction) = if shape.extension {
            (
                "tool_calls AS c LEFT JOIN ext_tool_call AS x ON x.id = c.id",
                "x.session AS session, x.parent AS parent,
                 coalesce(x.started_at_nsec, 0) AS started_nsec,
                 coalesce(x.completed_at_nsec, 0) AS completed_nsec",
                "coalesce((x.completed_at_nsec - x.started_at_nsec) / 1e6, 0)",
            )
        } else {
            (
                "tool_calls AS c",
                "NULL AS session, NULL AS parent, 0 AS started_nsec, 0 AS completed_nsec",
                "0",
            )
        };
        let calls = format!(
            "SELECT c.id, c.name, c.parameters, c.result, c.error,
               CAST(c.started_at AS INTEGER), CAST(c.completed_at AS INTEGER),
               c.duration_ms + {fraction} AS duration, {outcome} AS outcome, {extension} FROM {tables}"
        );
        // The first two conditions say which index serves; a plus keeps the other one out of it.
        let query = |name: &str, by_start: bool, order: &str| {
            let (id, start) = if by_start { ("+c.id", "c.started_at") } else { ("c.id", "+c.started_at") };
            format!(
                "{calls} WHERE {name} AND {id} > ?6 AND {start} BETWEEN ?2 AND ?4
                   AND (+c.started_at, started_nsec) > (?2, ?3)
                   AND (+c.started_at, started_nsec) <= (?4, ?5)
                   AND (?7 IS NULL OR session = ?7) AND (?8 IS NULL OR outcome = ?8)
                 ORDER BY {order} LIMIT ?9"
            )
        };
        let newest = "c.started_at DESC, started_nsec DESC, c.id DESC";
        let oldest = "c.started_at, started_nsec, c.id";
        let (any, one) = ("?1 IS NULL", "c.name = ?1");
        Self {
            get: format!("{calls} WHERE c.id = ?1"),
            statistics: format!(
                "SELECT c.name, count(*), sum({outcome} = 'success'), sum({outcome} = 'error'),
                   avg(c.duration_ms + {fraction})
                 FROM {tables} GROUP BY c.name ORDER BY count(*) DESC, c.name"
            ),
            any_tool: [query(any, true, newest), query(any, true, oldest), query(any, false, "c.id")],
            one_tool: [query(one, false, newest), query(one, false, oldest), query(one, false, "c.id")],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    /// The steps that read `tool_calls` or sort.
    fn plan(connection: &rusqlite::Connection, sql: &str) -> Vec<String> {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = statement.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            let step: String = row.get("detail").unwrap();
            if !step.contains(" x ") {
                steps.push(step);
            }
        }
        steps
    }

    // spec: TOOL-7 TOOL-11
    #[test]
    fn a_query_reads_an_index_from_its_near_end() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch(schema::CORE_DDL).unwrap();
        connection.execute_batch(schema::EXTENSION_DDL).unwrap();
        let statements = Statements::of(Shape { status: false, extension: true });
        let by_start = "SEARCH c USING INDEX idx_tool_calls_started_at (started_at>? AND started_at<?)";
        let steps = |name, order| plan(&connection, statements.query(name, order));
        for order in [Order::NewestFirst, Order::OldestFirst] {
            // Only calls that started in the same second are sorted.
            assert_eq!(steps(false, order), [by_start, "USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY"]);
        }
        assert_eq!(steps(false, Order::Recorded), ["SEARCH c USING INTEGER PRIMARY KEY (rowid>?)"]);
        let by_name = "SEARCH c USING INDEX idx_tool_calls_name (name=? AND rowid>?)";
        assert_eq!(steps(true, Order::Recorded), [by_name]);
    }
}
