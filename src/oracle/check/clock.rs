//! What is known of the clock: the time of a step, or the window in which it lies (ORA-21).

use agentfs_model::trace::Step;
use agentfs_model::values::{Time, Timestamp};

/// When something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The trace has the clock.
    At(Timestamp),
    /// The machine has it, and showed these times before and after.
    Between(Timestamp, Timestamp),
    /// Nobody wrote it down.
    Unknown,
}

impl Moment {
    /// When a step happened, as far as its trace says.
    #[must_use]
    pub fn of(step: &Step) -> Self {
        // Who says when it was has a clock of its own.
        match (step.between, step.now) {
            (Some((before, after)), _) => Self::Between(before, after),
            (None, Some(now)) => Self::At(now),
            (None, None) => Self::Unknown,
        }
    }
}

/// The moments of the steps so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// By step; the start is step 0.
    moments: Vec<Moment>,
}

impl Clock {
    /// The next step happens at `moment`; the time that it gives to files.
    pub(super) fn next(&mut self, moment: Moment) -> Time {
        let step = u32::try_from(self.moments.len()).unwrap_or(u32::MAX);
        self.moments.push(moment);
        match moment {
            Moment::At(time) => Time::At(time),
            Moment::Between(..) | Moment::Unknown => Time::During(step),
        }
    }

    /// When the step happened.
    pub(super) fn moment(&self, step: u32) -> Moment {
        self.moments.get(step as usize).copied().unwrap_or(Moment::Unknown)
    }

    /// Whether a file may show `seen` where the model has `time`.
    pub(super) fn allows(&self, time: Time, seen: Timestamp) -> bool {
        match time {
            Time::At(exactly) => seen == exactly,
            Time::Unknown => true,
            Time::During(step) => match self.moment(step) {
                Moment::At(exactly) => seen == exactly,
                Moment::Between(before, after) => before <= seen && seen <= after,
                Moment::Unknown => true,
            },
        }
    }

    /// The times allowed, in words.
    pub(super) fn words(&self, time: Time) -> String {
        match time {
            Time::At(exactly) => show(exactly),
            Time::Unknown => "any".into(),
            Time::During(step) => match self.moment(step) {
                Moment::At(exactly) => show(exactly),
                Moment::Between(before, after) => {
                    format!("from {} to {}, the time of {}", show(before), show(after), step_words(step))
                }
                Moment::Unknown => format!("the time of {}", step_words(step)),
            },
        }
    }
}

fn step_words(step: u32) -> String {
    if step == 0 { "the start".into() } else { format!("step {step}") }
}

/// Seconds and nanoseconds as a decimal number.
pub(super) fn show(time: Timestamp) -> String {
    format!("{}+{:09}ns", time.seconds, time.nanoseconds)
}
