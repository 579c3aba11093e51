//! Which calls a query lets through, and in which order.
//!
//! The log may hold seconds and, from other writers, milliseconds in the same column. Each unit is a
//! range of the stored numbers, so that a query runs once for each range that has calls, every time
//! by the index, and the answers are merged.

use std::ops::RangeInclusive;

use super::MILLISECONDS_FROM;
use super::call::{self, RecordedCall, Status};
use super::statements::{ANY_STARTED_BETWEEN, Shape, Statements};
use crate::error::Result;
use crate::store::Session;
use crate::types::Timestamp;

/// In which order a query lists calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The call that started last comes first.
    #[default]
    NewestFirst,
    /// The call that started first comes first.
    OldestFirst,
    /// By id, which is the order in which the calls were completed and recorded. The one to follow
    /// the log with: no call ever appears before one that has been seen.
    Recorded,
}

/// Which calls to list; the default lets everything through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only calls of this tool.
    pub name: Option<String>,
    /// Only calls that started later than this.
    pub since: Option<Timestamp>,
    /// Only calls that started at this time or earlier.
    pub until: Option<Timestamp>,
    /// Only calls of this session.
    pub session: Option<String>,
    /// Only calls that came to this.
    pub status: Option<Status>,
    /// Only calls with a larger id.
    pub after_id: Option<i64>,
    /// The first so many in the order; None for all.
    pub limit: Option<usize>,
    /// In which order.
    pub order: Order,
}

#[derive(Clone, Copy)]
enum Unit {
    Seconds,
    Milliseconds,
}

/// The stored numbers of each unit.
const RANGES: [(Unit, RangeInclusive<i64>); 3] = [
    (Unit::Milliseconds, i64::MIN..=-MILLISECONDS_FROM),
    (Unit::Seconds, 1 - MILLISECONDS_FROM..=MILLISECONDS_FROM - 1),
    (Unit::Milliseconds, MILLISECONDS_FROM..=i64::MAX),
];

/// A stored start and its nanoseconds.
type Bound = (i64, i64);

pub(super) fn run(session: &Session<'_>, filter: &Filter) -> Result<Vec<RecordedCall>> {
    let statements = Statements::of(Shape::of(session)?);
    let statement = statements.query(filter.name.is_some(), filter.order);
    let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let mut calls = Vec::new();
    for (low, high) in bounds(session, filter)? {
        calls.extend(session.rows(
            statement,
            (
                &filter.name,
                low.0,
                low.1,
                high.0,
                high.1,
                filter.after_id.unwrap_or(i64::MIN),
                &filter.session,
                filter.status.map(Status::text),
                limit,
            ),
            call::read,
        )?);
    }
    match filter.order {
        Order::NewestFirst => calls.sort_by_key(|call| std::cmp::Reverse((call.started_at, call.id))),
        Order::OldestFirst => calls.sort_by_key(|call| (call.started_at, call.id)),
        Order::Recorded => calls.sort_by_key(|call| call.id),
    }
    calls.truncate(filter.limit.unwrap_or(usize::MAX));
    Ok(calls)
}

/// The ranges of starts to look through: outside the first bound, up to and with the second.
fn bounds(session: &Session<'_>, filter: &Filter) -> Result<Vec<(Bound, Bound)>> {
    if filter.order == Order::Recorded && filter.since.is_none() && filter.until.is_none() {
        return Ok(vec![((i64::MIN, -1), (i64::MAX, i64::MAX))]);
    }
    let mut found = Vec::new();
    for (unit, range) in RANGES {
        let low = filter.since.map_or((i64::MIN, -1), |since| stored(unit, since));
        let high = filter.until.map_or((i64::MAX, i64::MAX), |until| stored(unit, until));
        let low = low.max((*range.start(), -1));
        let high = high.min((*range.end(), i64::MAX));
        if low < high && session.row(ANY_STARTED_BETWEEN, (low.0, high.0), |_| Ok(()))?.is_some() {
            found.push((low, high));
        }
    }
    Ok(found)
}

/// How a start at `time` is stored in `unit`, with what the unit leaves of it. A stored number of
/// milliseconds stands for itself and 0 nanoseconds.
fn stored(unit: Unit, time: Timestamp) -> Bound {
    let nanoseconds = i64::from(time.nanoseconds);
    match unit {
        Unit::Seconds => (time.seconds, nanoseconds),
        Unit::Milliseconds => {
            let milliseconds = time.seconds.saturating_mul(1000).saturating_add(nanoseconds / 1_000_000);
            (milliseconds, nanoseconds % 1_000_000)
        }
    }
}
