//! A trace as it is kept in a file: one setting, then one step a line (JSON Lines).
//!
//! Reading and writing JSON is left to whoever has a JSON library; what the lines are is here.

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::outcome::{Allowed, Outcome};
use crate::profile::Profile;
use crate::values::{Credentials, Timestamp};

/// The first line: what the trace begins with.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// What the trace shows, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Who its processes are. All begin with umask 022.
    pub processes: Vec<Credentials>,
    /// Owner, group and permissions of the root directory, which is empty.
    pub root: RootSetting,
    /// What may differ from the model's first choice.
    pub profile: Profile,
}

/// The root directory when the trace begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootSetting {
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Twelve bits.
    pub permissions: u32,
}

/// Every further line: a call, with what was seen or what is allowed where that is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Step {
    /// What is called.
    #[serde(flatten)]
    pub call: Call,
    /// The time of the call, where the trace has the clock; without it the machine has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<Timestamp>,
    /// What the implementation answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The machine's clock before and after the call, for an implementation that has its own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<(Timestamp, Timestamp)>,
    /// What the model allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<Allowed>>,
}
