//! Where an implementation left what is allowed: as data, and in words (ORA-22).

use std::collections::BTreeSet;
use std::fmt;

use agentfs_model::call::Call;
use agentfs_model::outcome::{Allowed, Outcome, RuleId};
use serde::Serialize;

use super::words;

/// One thing that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it is about: a field, an entry; or "answer" for the answer as a whole.
    pub subject: String,
    /// What was seen.
    pub seen: String,
    /// What is allowed.
    pub allowed: String,
    /// The rules that say so.
    pub rules: Vec<RuleId>,
}

/// A step whose outcome is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// Which step, the first one being 1.
    pub step: u32,
    /// What was called; None where the whole tree was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
    /// What it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// In what it differs.
    pub differences: Vec<Difference>,
    /// What it could have answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Allowed>,
}

impl Divergence {
    /// What findings of the same kind have in common: the call, and what differs by which rules. One mistake shows in
    /// many traces; it is reported once for each kind.
    #[must_use]
    pub fn kind(&self) -> String {
        let name = self.call.as_ref().map_or("tree", |call| call.operation.name());
        let answer = match &self.outcome {
            Some(Outcome::Error(errno)) => errno.symbol(),
            _ => "",
        };
        let subjects: BTreeSet<&str> =
            self.differences.iter().filter_map(|difference| difference.subject.split(' ').next()).collect();
        let subjects: Vec<&str> = subjects.into_iter().collect();
        format!("{name} {answer} {} {}", subjects.join(","), self.rules().join(","))
    }

    /// Every rule that is concerned, each once.
    #[must_use]
    pub fn rules(&self) -> Vec<RuleId> {
        let mut rules = Vec::new();
        for rule in self.differences.iter().flat_map(|difference| &difference.rules) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        rules
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, seen, allowed, rules } = self;
        if subject != "answer" {
            write!(f, "{subject}: ")?;
        }
        write!(f, "{seen}; allowed: {allowed}")?;
        if rules.is_empty() { Ok(()) } else { write!(f, " ({})", rules.join(", ")) }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.call {
            Some(call) => write!(f, "step {}: {}: ", self.step, words::call(call))?,
            None => write!(f, "after step {}: ", self.step)?,
        }
        for (index, difference) in self.differences.iter().enumerate() {
            let before = if index == 0 { "" } else { "; " };
            write!(f, "{before}{difference}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Divergence {}
