//! Conformance vectors: small traces, each named by the rule that it shows, with the outcomes that the model allows.
//!
//! They are written here as lists of calls, by subject, and become `spec/vectors/NAME.jsonl` by `agentfs oracle vectors`;
//! a test holds that what is committed is what is generated (ORA-29). Nothing here says what a call answers.

mod attributes;
mod calls;
mod content;
mod create;
mod directories;
mod names;
mod permissions;
mod ranges;
mod references;
mod rename;
mod scenario;
mod times;
mod xattrs;

use agentfs_model::fs::Inadmissible;
use agentfs_model::outcome::Allowed;
use agentfs_model::profile::Profile;
use agentfs_model::trace::{Setting, Step};

use super::check::{Checker, Moment};
use super::play::Trace;

pub use scenario::Scenario;

/// Every vector, in the order of its subjects.
#[must_use]
pub fn all() -> Vec<Scenario> {
    [
        names::scenarios(),
        attributes::scenarios(),
        times::scenarios(),
        permissions::scenarios(),
        create::scenarios(),
        rename::scenarios(),
        content::scenarios(),
        ranges::scenarios(),
        directories::scenarios(),
        xattrs::scenarios(),
        references::scenarios(),
        calls::scenarios(),
    ]
    .concat()
}

impl Scenario {
    /// The trace of its calls, without outcomes.
    #[must_use]
    pub fn trace(&self, profile: &Profile) -> Trace {
        let setting = Setting {
            about: self.about.to_owned(),
            processes: self.processes(),
            root: self.root,
            profile: profile.clone(),
        };
        let steps = self.calls.iter().map(|(call, now)| Step {
            call: call.clone(),
            now: Some(*now),
            outcome: None,
            between: None,
            allowed: None,
        });
        Trace { setting, steps: steps.collect() }
    }

    /// The same with what each call may answer. Where it may answer several things, the trace goes on with the first.
    ///
    /// # Errors
    /// When a call is none: a mistake in the scenario.
    pub fn vector(&self, profile: &Profile) -> Result<Trace, Inadmissible> {
        let mut trace = self.trace(profile);
        let mut checker = Checker::new(&trace.setting, Moment::Unknown);
        for step in &mut trace.steps {
            let moment = step.now.map_or(Moment::Unknown, Moment::At);
            let allowed: Vec<Allowed> = checker.assume(&step.call, moment)?;
            step.allowed = Some(allowed);
        }
        Ok(trace)
    }

    /// Whether a file system of this profile can be asked for it: it may have other limits than AgentFS.
    #[must_use]
    pub const fn is_for(&self, profile: &Profile) -> bool {
        // What a directory shows as its size tells AgentFS from the others.
        !self.of_agentfs || profile.directory_size
    }

    /// The rule that it is named by, as in "FS-RENAME-6" of "FS-RENAME-6-ancestor".
    #[must_use]
    pub fn rule(&self) -> &'static str {
        let number = self.name.find(|letter: char| letter.is_ascii_digit()).unwrap_or_default();
        let digits = self.name[number..].find(|letter: char| !letter.is_ascii_digit());
        digits.map_or(self.name, |digits| &self.name[..number + digits])
    }

    /// The family of its rule, as in "FS-RENAME".
    #[must_use]
    pub fn family(&self) -> &'static str {
        self.rule().rsplit_once('-').map_or("", |(family, _)| family)
    }
}
