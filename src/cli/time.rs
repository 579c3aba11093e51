//! Times for people and machines: ISO 8601 in UTC, and what `--since` and `--until` accept.

use std::str::FromStr;

use crate::types::Timestamp;

/// A time with as many digits as it needs, up to nanoseconds, as in `2026-01-31T09:30:00.25Z`.
///
/// Times outside of the years -9999 to 9999 have no ISO form; they appear as `@SECONDS`.
pub(crate) fn exact(time: Timestamp) -> String {
    // Jiff counts nanoseconds towards zero before 1970.
    let instant = jiff::Timestamp::from_second(time.seconds)
        .and_then(|instant| instant.checked_add(jiff::SignedDuration::from_nanos(time.nanoseconds.into())));
    instant.map_or_else(|_| format!("@{}", time.seconds), |instant| instant.to_string())
}

/// A point in time on the command line: `2026-01-31`, `2026-01-31T09:30:00Z`, `@1769851800`
/// (seconds since 1970), or a span before now, as in `90s`, `2h 30m` or `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment(pub(crate) Timestamp);

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || {
            "not a time; write 2026-01-31, 2026-01-31T09:30:00Z, @SECONDS, or a span before now as in 2h"
                .to_owned()
        };
        if let Some(seconds) = text.strip_prefix('@') {
            return Ok(Self(Timestamp::new(seconds.parse().map_err(|_| invalid())?, 0)));
        }
        if let Ok(instant) = text.parse::<jiff::Timestamp>() {
            return Ok(Self::at(instant));
        }
        if let Ok(date) = text.parse::<jiff::civil::DateTime>() {
            let instant = jiff::tz::TimeZone::UTC.to_timestamp(date).map_err(|_| invalid())?;
            return Ok(Self::at(instant));
        }
        let span: jiff::Span = text.parse().map_err(|_| invalid())?;
        let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
        Ok(Self::at(now.checked_sub(span).map_err(|_| invalid())?.timestamp()))
    }
}

impl Moment {
    fn at(instant: jiff::Timestamp) -> Self {
        let nanoseconds = instant.as_nanosecond();
        Self(Timestamp::new(
            // Both fit: jiff's years are four digits.
            nanoseconds.div_euclid(1_000_000_000) as i64,
            nanoseconds.rem_euclid(1_000_000_000) as u32,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: CLI-5
    #[test]
    fn times_are_utc_and_exact_also_before_1970() {
        assert_eq!(exact(Timestamp::new(0, 1)), "1970-01-01T00:00:00.000000001Z");
        assert_eq!(exact(Timestamp::new(-1, 500_000_000)), "1969-12-31T23:59:59.5Z");
        assert_eq!(exact(Timestamp::new(1_769_851_800, 0)), "2026-01-31T09:30:00Z");
        assert_eq!(exact(Timestamp::new(i64::MAX, 0)), format!("@{}", i64::MAX));
    }

    // spec: CLI-5
    #[test]
    fn a_moment_is_a_date_a_time_a_number_or_a_span() {
        let at = |text: &str| text.parse::<Moment>().map(|moment| moment.0);
        assert_eq!(at("2026-01-31T09:30:00Z"), Ok(Timestamp::new(1_769_851_800, 0)));
        assert_eq!(at("2026-01-31T09:30:00"), Ok(Timestamp::new(1_769_851_800, 0)));
        assert_eq!(at("2026-01-31"), Ok(Timestamp::new(1_769_817_600, 0)));
        assert_eq!(at("@-5"), Ok(Timestamp::new(-5, 0)));
        assert!(at("2h") < at("1m"));
        assert!(at("yesterday-ish").is_err());
    }
}
