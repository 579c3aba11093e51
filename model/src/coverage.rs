//! Which pairs of a call and its answer were seen, and which of those that SPEC.md lists were not (CALL-11).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::Errno;
use crate::call::Operation;
use crate::outcome::Outcome;

/// No error of Linux has a larger number.
const LARGEST_ERRNO: i32 = 133;

/// A call, and the error that it answered; None is success.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// The call's name in a trace.
    pub call: String,
    /// The error.
    pub errno: Option<Errno>,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.call, self.errno.map_or("success", Errno::symbol))
    }
}

/// How often each pair was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<Pair, u64>);

impl Coverage {
    /// One call more.
    pub fn count(&mut self, operation: &Operation, seen: &Outcome) {
        let errno = match seen {
            Outcome::Error(errno) => Some(*errno),
            Outcome::Unsupported(_) => return,
            _ => None,
        };
        *self.0.entry(Pair { call: operation.name().into(), errno }).or_default() += 1;
    }

    /// What another run saw.
    pub fn add(&mut self, other: &Self) {
        for (pair, count) in &other.0 {
            *self.0.entry(pair.clone()).or_default() += count;
        }
    }

    /// Every pair that was seen, and how often.
    #[must_use]
    pub const fn pairs(&self) -> &BTreeMap<Pair, u64> {
        &self.0
    }

    /// Those of `listed` that were not seen.
    #[must_use]
    pub fn missing(&self, listed: &BTreeSet<Pair>) -> Vec<Pair> {
        listed.iter().filter(|pair| !self.0.contains_key(pair)).cloned().collect()
    }
}

/// The pairs that the table of CALL-11 lists in the text of SPEC.md, the success of each call included.
///
/// # Errors
/// What cannot be read of the table, in words.
pub fn listed(specification: &str) -> Result<BTreeSet<Pair>, String> {
    let rule = specification.split("**CALL-11.**").nth(1).ok_or("SPEC.md has no rule CALL-11")?;
    let table =
        rule.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let mut pairs = BTreeSet::new();
    for line in table.skip(2) {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let (Some(calls), Some(errors)) = (cells.next(), cells.next()) else {
            return Err(format!("CALL-11: a line without two cells: {line}"));
        };
        for call in calls.split(',').map(|call| call.trim().to_owned()) {
            for symbol in errors.split_whitespace() {
                let errno =
                    (1..=LARGEST_ERRNO).filter_map(Errno::from_number).find(|errno| errno.symbol() == symbol);
                let errno = errno.ok_or_else(|| format!("CALL-11: {symbol} of {call} is no error"))?;
                pairs.insert(Pair { call: call.clone(), errno: Some(errno) });
            }
            pairs.insert(Pair { call, errno: None });
        }
    }
    if pairs.is_empty() { Err("CALL-11 has no table".into()) } else { Ok(pairs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: CALL-11
    #[test]
    fn the_table_of_the_specification_is_read() {
        let text = "**CALL-11.** These:\n\n| call | errors |\n|---|---|\n| read, pread | EBADF EISDIR |\n\n| no | |\n";
        let pairs: Vec<String> = listed(text).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            pairs,
            ["pread success", "pread EBADF", "pread EISDIR", "read success", "read EBADF", "read EISDIR"]
        );
        assert!(listed("**CALL-11.** Nothing.").is_err());
        assert!(listed(&text.replace("EISDIR", "EDIR")).is_err());
    }
}
