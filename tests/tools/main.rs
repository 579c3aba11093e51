//! The tool-call log: what is recorded, what other writers' rows mean, what queries give.

use agentfs::store::Store;
use agentfs::tools::{Call, Filter, Order, Outcome, Payload, RecordedCall, RecordedOutcome, Status, Tools};
use agentfs::types::Timestamp;
use agentfs::{Errno, Options};
use serde_json::json;

/// The table that other SDKs make, in place of the specification's.
const STATUS_SHAPE: &str = "DROP TABLE tool_calls;
    CREATE TABLE tool_calls (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, parameters TEXT, result TEXT, error TEXT,
      status TEXT NOT NULL DEFAULT 'pending', started_at INTEGER NOT NULL, completed_at INTEGER,
      duration_ms INTEGER);
    CREATE INDEX idx_tool_calls_name ON tool_calls(name);
    CREATE INDEX idx_tool_calls_started_at ON tool_calls(started_at);";

struct Fixture {
    directory: tempfile::TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(&directory.path().join("agent.db"), &Options::default()).unwrap();
        Self { directory, store }
    }

    fn with_status_column() -> Self {
        let fixture = Self::new();
        fixture.foreign(STATUS_SHAPE);
        fixture
    }

    fn tools(&self) -> Tools<'_> {
        Tools::new(&self.store)
    }

    fn connection(&self) -> rusqlite::Connection {
        self.store.barrier().unwrap();
        rusqlite::Connection::open(self.directory.path().join("agent.db")).unwrap()
    }

    /// Runs statements as another program would.
    fn foreign(&self, sql: &str) {
        self.connection().execute_batch(sql).unwrap();
    }

    fn ids(&self, filter: &Filter) -> Vec<i64> {
        ids(&self.tools().query(filter).unwrap())
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::new(seconds, 0)
}

fn call(name: &str, start: i64, end: i64) -> Call {
    Call::succeeded(name, json!("done"), at(start), at(end))
}

fn ids(calls: &[RecordedCall]) -> Vec<i64> {
    calls.iter().map(|call| call.id).collect()
}

// spec: TOOL-1 TOOL-2 TOOL-3 TOOL-4
#[test]
fn a_core_reader_finds_the_columns_of_the_specification() {
    let fixture = Fixture::new();
    let success = Call {
        name: "search".into(),
        parameters: Some(json!({"q": "ü"})),
        outcome: Outcome::Success(json!(null)),
        started_at: Timestamp::new(100, 900_000_000),
        completed_at: Timestamp::new(103, 100_000_000),
        session: None,
        parent: None,
    };
    fixture.tools().record(&success).unwrap();
    fixture.tools().record(&Call::failed("search", "no network", at(-5), at(-5))).unwrap();
    let connection = fixture.connection();
    let mut statement = connection
        .prepare(
            "SELECT name, parameters, result, error, started_at, completed_at, duration_ms FROM tool_calls ORDER BY id",
        )
        .unwrap();
    let text = |row: &rusqlite::Row<'_>, column| row.get::<_, Option<String>>(column).unwrap();
    let rows: Vec<_> = statement
        .query_map([], |row| {
            let times: (i64, i64, i64) = (row.get(4)?, row.get(5)?, row.get(6)?);
            Ok((text(row, 0), text(row, 1), text(row, 2), text(row, 3), times))
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(rows[0], (some("search"), some("{\"q\":\"ü\"}"), some("null"), None, (100, 103, 3000)));
    assert_eq!(rows[1], (some("search"), None, None, some("no network"), (-5, -5, 0)));
}

// spec: TOOL-4 TOOL-6
#[test]
fn finer_times_session_and_parent_come_back() {
    let fixture = Fixture::new();
    let recorded = Call {
        session: Some("morning".into()),
        parent: Some(7),
        started_at: Timestamp::new(10, 1),
        completed_at: Timestamp::new(10, 1_500_001),
        ..call("search", 0, 0)
    };
    let id = fixture.tools().record(&recorded).unwrap();
    let found = fixture.tools().get(id).unwrap().unwrap();
    assert_eq!(found.started_at, recorded.started_at);
    assert_eq!(found.completed_at, Some(recorded.completed_at));
    assert_eq!(found.duration_ms, Some(1.5));
    assert_eq!((found.session.as_deref(), found.parent), (Some("morning"), Some(7)));
    assert_eq!(found.outcome, RecordedOutcome::Success(Some(Payload::Json(json!("done")))));
    let status: String =
        fixture.connection().query_row("SELECT status FROM ext_tool_call", [], |row| row.get(0)).unwrap();
    assert_eq!(status, "success");
    assert_eq!(fixture.tools().get(id + 1).unwrap(), None);
}

// spec: TOOL-6 TOOL-10
#[test]
fn the_two_rows_of_a_call_are_written_together_or_not_at_all() {
    let fixture = Fixture::new();
    fixture.foreign(
        "CREATE TRIGGER refuse BEFORE INSERT ON ext_tool_call BEGIN SELECT RAISE(ABORT, 'refused'); END",
    );
    fixture.tools().record(&call("search", 1, 2)).unwrap_err();
    assert!(fixture.ids(&Filter::default()).is_empty());
    fixture.foreign("DROP TRIGGER refuse");
    fixture.tools().record(&call("search", 1, 2)).unwrap();
    assert_eq!(fixture.ids(&Filter::default()).len(), 1);
}

// spec: TOOL-6 TOOL-9
#[test]
fn a_database_without_the_extension_is_read_and_gets_it_with_the_first_record() {
    let fixture = Fixture::new();
    fixture.foreign(
        "DROP TABLE ext_tool_call; DELETE FROM ext_registry WHERE name = 'ext_tool_call';
         INSERT INTO tool_calls VALUES (1, 'old', NULL, '1', NULL, 5, 7, 2000)",
    );
    let old = fixture.tools().get(1).unwrap().unwrap();
    assert_eq!((old.duration_ms, old.session), (Some(2000.0), None));
    assert_eq!(fixture.tools().statistics().unwrap()[0].successful, 1);
    let id = fixture.tools().record(&Call { session: Some("s".into()), ..call("new", 8, 8) }).unwrap();
    assert_eq!(fixture.tools().get(id).unwrap().unwrap().session.as_deref(), Some("s"));
    assert_eq!(fixture.tools().get(1).unwrap().unwrap().session, None);
}

// spec: TOOL-5
#[test]
fn what_cannot_be_recorded_truly_is_refused() {
    let fixture = Fixture::new();
    let refused = [
        call("search", 2, 1),
        call("sea\0rch", 1, 2),
        Call::failed("search", "a\0b", at(1), at(2)),
        Call { session: Some("\0".into()), ..call("search", 1, 2) },
        call("search", 1_700_000_000_000, 1_700_000_000_001),
    ];
    for call in refused {
        assert_eq!(fixture.tools().record(&call).unwrap_err().errno(), Errno::EINVAL, "{call:?}");
    }
    assert!(fixture.ids(&Filter::default()).is_empty());
}

// spec: TOOL-3
#[test]
fn parameters_and_results_given_as_text_must_be_json() {
    let call = call("search", 1, 2);
    assert!(call.clone().with_parameters_text("[1, 2]").is_ok());
    let error = call.with_parameters_text("[1, 2").unwrap_err();
    assert!(error.to_string().contains("line 1 column 5"), "{error}");
    assert_eq!(Outcome::success_text("\"a\"").unwrap(), Outcome::Success(json!("a")));
    assert_eq!(Outcome::success_text("a").unwrap_err().errno(), Errno::EINVAL);
}

// spec: TOOL-12
#[test]
fn a_status_column_is_set_where_there_is_one() {
    let fixture = Fixture::with_status_column();
    fixture.tools().record(&call("search", 1, 2)).unwrap();
    fixture.tools().record(&Call::failed("search", "", at(1), at(2))).unwrap();
    let connection = fixture.connection();
    let mut statement = connection.prepare("SELECT status FROM tool_calls ORDER BY id").unwrap();
    let found: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(found, ["success", "error"]);
}

// spec: TOOL-2
#[test]
fn a_failure_without_a_message_is_still_a_failure() {
    let fixture = Fixture::new();
    fixture.tools().record(&Call::failed("search", "", at(1), at(2))).unwrap();
    let found = &fixture.tools().by_name("search", 1).unwrap()[0];
    assert_eq!(found.outcome, RecordedOutcome::Failure(String::new()));
    assert_eq!(fixture.tools().statistics().unwrap()[0].failed, 1);
}

/// The rows that are found in the wild, with the outcome that each has.
const WILD: &str = "INSERT INTO tool_calls
    (id, name, parameters, result, error, status, started_at, completed_at, duration_ms) VALUES
    (1, 'wild', '', '1', '', 'success', 1700000000, 1700000001, 1000),
    (2, 'wild', NULL, NULL, 'broken', 'error', 1700000000123, 1700000000623, 500),
    (3, 'wild', '{\"a\":1}', '', '', 'pending', 1700000002, NULL, NULL),
    (4, 'wild', NULL, '\"x\"', NULL, 'pending', 1700000003, 1700000003, 0),
    (5, 'wild', 'not json', 'nor this', NULL, 'success', 1700000004, 1700000004, 0),
    (6, 'wild', NULL, '', 'broken', 'pending', 1700000005, 1700000005, 0),
    (7, 'wild', NULL, NULL, NULL, 'odd', 1700000006, NULL, NULL),
    (8, 'wild', NULL, NULL, '', 'success', 1700000007, 1700000007, 0)";

// spec: TOOL-9
#[test]
fn every_shape_of_row_found_in_the_wild_is_understood() {
    use Status::{Failed, Pending, Success};
    let fixture = Fixture::with_status_column();
    fixture.foreign(WILD);
    let calls = fixture.tools().query(&Filter { order: Order::Recorded, ..Filter::default() }).unwrap();
    let found: Vec<Status> = calls.iter().map(RecordedCall::status).collect();
    assert_eq!(found, [Success, Failed, Pending, Success, Success, Failed, Pending, Success]);
    assert_eq!(calls[0].parameters, None, "an empty text is an absent one");
    assert_eq!(calls[1].started_at, Timestamp::new(1_700_000_000, 123_000_000), "milliseconds");
    assert_eq!(calls[1].completed_at, Some(Timestamp::new(1_700_000_000, 623_000_000)));
    assert_eq!(calls[1].duration_ms, Some(500.0));
    assert_eq!((calls[2].completed_at, calls[2].duration_ms), (None, None));
    assert_eq!(calls[4].parameters, Some(Payload::Raw("not json".into())));
    assert_eq!(calls[4].outcome, RecordedOutcome::Success(Some(Payload::Raw("nor this".into()))));
    assert_eq!(calls[7].outcome, RecordedOutcome::Success(None));
    let of =
        |status| fixture.ids(&Filter { status: Some(status), order: Order::Recorded, ..Filter::default() });
    assert_eq!((of(Failed), of(Pending)), (vec![2, 6], vec![3, 7]));
}

// spec: TOOL-8 TOOL-9
#[test]
fn statistics_count_both_shapes_right() {
    let fixture = Fixture::with_status_column();
    fixture.foreign(WILD);
    fixture.tools().record(&call("mine", 10, 11)).unwrap();
    fixture
        .tools()
        .record(&Call { completed_at: Timestamp::new(10, 500_000_000), ..call("mine", 10, 10) })
        .unwrap();
    let statistics = fixture.tools().statistics().unwrap();
    let counts: Vec<_> = statistics
        .iter()
        .map(|tool| (tool.name.as_str(), tool.total, tool.successful, tool.failed, tool.average_duration_ms))
        .collect();
    assert_eq!(counts, [("wild", 8, 4, 2, Some(250.0)), ("mine", 2, 2, 0, Some(750.0))]);

    let fixture = Fixture::new();
    fixture.foreign(
        "INSERT INTO tool_calls (name, result, error, started_at, completed_at, duration_ms) VALUES
         ('b', '1', '', 1, 2, 1000), ('b', '', 'x', 1, 4, 3000), ('a', '1', NULL, 1, 1, 0)",
    );
    let counts: Vec<_> = fixture.tools().statistics().unwrap();
    assert_eq!((counts[0].name.as_str(), counts[0].successful, counts[0].failed), ("b", 1, 1));
    assert_eq!(counts[0].average_duration_ms, Some(2000.0));
    assert_eq!(counts[1].name, "a");
}

// spec: TOOL-8
#[test]
fn a_tool_whose_calls_are_all_pending_has_no_average() {
    let fixture = Fixture::with_status_column();
    fixture.foreign("INSERT INTO tool_calls (name, started_at) VALUES ('slow', 1)");
    let slow = &fixture.tools().statistics().unwrap()[0];
    assert_eq!((slow.total, slow.successful, slow.failed, slow.average_duration_ms), (1, 0, 0, None));
}

// spec: TOOL-7 TOOL-9
#[test]
fn the_call_that_started_last_comes_first_however_it_was_stored() {
    let fixture = Fixture::with_status_column();
    fixture.foreign(
        "INSERT INTO tool_calls (id, name, started_at) VALUES
         (1, 'a', 1700000005), (2, 'a', 1700000001500), (3, 'b', 1700000003), (4, 'a', 1700000009000),
         (5, 'a', 1700000001), (6, 'a', -1700000000), (7, 'b', -1700000001000)",
    );
    let filter = |order, limit| Filter { order, limit, ..Filter::default() };
    assert_eq!(fixture.ids(&filter(Order::NewestFirst, None)), [4, 1, 3, 2, 5, 6, 7]);
    assert_eq!(fixture.ids(&filter(Order::OldestFirst, None)), [7, 6, 5, 2, 3, 1, 4]);
    assert_eq!(fixture.ids(&filter(Order::Recorded, Some(3))), [1, 2, 3]);
    assert_eq!(fixture.ids(&filter(Order::NewestFirst, Some(2))), [4, 1]);
    assert_eq!(ids(&fixture.tools().by_name("a", 3).unwrap()), [4, 1, 2]);
    assert_eq!(ids(&fixture.tools().recent(at(1_700_000_003), 10).unwrap()), [4, 1]);
    let until = Filter { until: Some(at(1_700_000_003)), since: Some(at(0)), ..Filter::default() };
    assert_eq!(fixture.ids(&until), [3, 2, 5]);
    let recorded = Filter { order: Order::Recorded, ..until };
    assert_eq!(fixture.ids(&recorded), [2, 3, 5]);
}

// spec: TOOL-7
#[test]
fn since_leaves_its_own_instant_out_and_until_keeps_it_to_the_nanosecond() {
    let fixture = Fixture::new();
    for nanoseconds in [7, 5, 6] {
        let time = Timestamp::new(1, nanoseconds);
        fixture.tools().record(&Call::succeeded("a", json!(1), time, time)).unwrap();
    }
    let filter =
        Filter { since: Some(Timestamp::new(1, 5)), until: Some(Timestamp::new(1, 7)), ..Filter::default() };
    assert_eq!(fixture.ids(&filter), [1, 3], "the nanosecond decides before the id");
    assert_eq!(fixture.ids(&Filter { until: Some(Timestamp::new(1, 6)), ..filter }), [3]);
}

// spec: TOOL-11
#[test]
fn following_by_id_sees_every_call_once() {
    let fixture = Fixture::new();
    let mut follow =
        Filter { order: Order::Recorded, after_id: Some(0), limit: Some(2), ..Filter::default() };
    // A call that took long is recorded after those that started later.
    for start in [50, 60, 10, 70, 20] {
        fixture.tools().record(&call("a", start, 100)).unwrap();
    }
    let mut seen = Vec::new();
    loop {
        let page = fixture.ids(&follow);
        let Some(last) = page.last() else { break };
        follow.after_id = Some(*last);
        seen.extend(page);
    }
    assert_eq!(seen, [1, 2, 3, 4, 5]);
}

// spec: TOOL-7
#[test]
fn filters_hold_together() {
    let fixture = Fixture::new();
    for (name, session, start) in [("a", "s", 1), ("b", "s", 2), ("a", "t", 3), ("a", "s", 4), ("a", "s", 5)]
    {
        let session = Some(session.to_owned());
        fixture.tools().record(&Call { session, ..call(name, start, 9) }).unwrap();
    }
    let filter = Filter {
        name: Some("a".into()),
        session: Some("s".into()),
        since: Some(at(1)),
        status: Some(Status::Success),
        after_id: Some(1),
        limit: Some(1),
        ..Filter::default()
    };
    assert_eq!(fixture.ids(&filter), [5]);
    assert_eq!(fixture.ids(&Filter { limit: None, ..filter.clone() }), [5, 4]);
    assert_eq!(fixture.ids(&Filter { limit: Some(0), ..filter.clone() }), [0; 0]);
    assert_eq!(fixture.ids(&Filter { name: Some("A".into()), ..filter }), [0; 0]);
}

// spec: TOOL-1 TOOL-10
#[test]
fn recording_never_changes_an_earlier_call() {
    let fixture = Fixture::new();
    let first = fixture.tools().record(&call("a", 1, 2)).unwrap();
    let before = fixture.tools().get(first).unwrap();
    let second = fixture.tools().record(&call("a", 1, 2)).unwrap();
    assert!(second > first);
    assert_eq!(fixture.tools().get(first).unwrap(), before);
}

// spec: TOOL-10
#[test]
fn a_read_only_store_is_read_and_records_nothing() {
    let Fixture { directory, store } = Fixture::new();
    Tools::new(&store).record(&call("a", 1, 2)).unwrap();
    store.close().unwrap();
    let mut options = Options::default();
    options.read_only = true;
    let store = Store::open(&directory.path().join("agent.db"), &options).unwrap();
    assert_eq!(Tools::new(&store).by_name("a", 9).unwrap().len(), 1);
    assert_eq!(Tools::new(&store).record(&call("a", 1, 2)).unwrap_err().errno(), Errno::EROFS);
}
