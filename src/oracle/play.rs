//! Plays a trace on an implementation: one that is given, or one that is drawn while it is played.
//!
//! A drawn trace is a script whose drafts are pointed at what is there in the model at that moment; what is called becomes
//! the trace, so that a failure can be run again without the script (ORA-26).

use std::collections::VecDeque;

use agentfs_model::call::{Call, Operation};
use agentfs_model::fs::Inadmissible;
use agentfs_model::generate::{Alphabet, Draft};
use agentfs_model::trace::{Setting, Step};
use agentfs_model::values::Timestamp;

use super::check::{Checker, Divergence, Moment, Rejection, Verdict};
use super::implementation::{Failure, Implementation, Problem};

/// When a trace begins that has the clock.
pub const START: Timestamp = Timestamp { seconds: 1_700_000_000, nanoseconds: 123_456_789 };

/// How closely a play looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// At the whole tree after every step.
    EveryStep,
    /// At the whole tree at the end.
    AtEnd,
    /// At answers only.
    Never,
}

/// A trace as it is kept in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What it begins with.
    pub setting: Setting,
    /// What was called, and answered where that is known.
    pub steps: Vec<Step>,
}

/// How a play ended that met nothing wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every step was played.
    Complete,
    /// The implementation cannot provide the setting, and says why.
    Refused(String),
    /// A step is not supported that the rest of the trace builds on.
    Unsupported {
        /// Its number.
        step: u32,
    },
}

/// What a play met that must not be.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Fault {
    /// An answer, or the tree, is not allowed.
    #[error("{0}")]
    Divergence(Box<Divergence>),
    /// There is no answer.
    #[error("{0}")]
    Failure(Failure),
    /// The trace is none.
    #[error("step {step}: {why}")]
    Inadmissible {
        /// Which step.
        step: u32,
        /// Why it is no call.
        why: Inadmissible,
    },
}

impl Fault {
    /// What faults of the same kind have in common.
    #[must_use]
    pub fn kind(&self) -> String {
        match self {
            Self::Divergence(divergence) => divergence.kind(),
            Self::Failure(failure) => {
                // Without the words that a number or a line makes different each time.
                let problem = failure.problem.to_string();
                let words = problem.split(|letter: char| letter.is_ascii_digit()).next().unwrap_or_default();
                format!("failure {words}")
            }
            Self::Inadmissible { .. } => "inadmissible".into(),
        }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// A play that is over: what was called, what the checker knows, and how it ended.
#[derive(Debug)]
pub struct Played {
    /// What was called and answered, the last step included.
    pub trace: Trace,
    /// The model and the coverage.
    pub checker: Checker,
    /// How it ended.
    pub ended: Result<Ended, Fault>,
}

/// Where the calls of a play come from.
enum Source<'a> {
    Given { steps: VecDeque<&'a Step> },
    Drawn { drafts: VecDeque<&'a Draft>, alphabet: &'a Alphabet },
}

impl Source<'_> {
    /// The next call, and its time where that is given.
    fn next(&mut self, checker: &Checker) -> Option<(Call, Option<Timestamp>)> {
        match self {
            Self::Given { steps } => steps.pop_front().map(|step| (step.call.clone(), step.now)),
            Self::Drawn { drafts, alphabet } => {
                drafts.pop_front().map(|draft| (draft.resolve(checker.model(), alphabet), None))
            }
        }
    }

    /// Whether later calls know where the model is, also when a step was not supported.
    const fn follows_model(&self) -> bool {
        matches!(self, Self::Drawn { .. })
    }
}

/// Runs the calls of `trace` again.
pub fn replay(trace: &Trace, implementation: &mut dyn Implementation, look: Look) -> Played {
    let source = Source::Given { steps: trace.steps.iter().collect() };
    play(&trace.setting, source, implementation, look)
}

/// Plays drafts from `alphabet`.
pub fn draw(
    setting: &Setting,
    drafts: &[Draft],
    alphabet: &Alphabet,
    implementation: &mut dyn Implementation,
    look: Look,
) -> Played {
    let source = Source::Drawn { drafts: drafts.iter().collect(), alphabet };
    play(setting, source, implementation, look)
}

fn play(
    setting: &Setting,
    source: Source<'_>,
    implementation: &mut dyn Implementation,
    look: Look,
) -> Played {
    let begun = implementation.begin(setting);
    let (moment, own_clock) = match begun {
        Ok(Some((before, after))) => (Moment::Between(before, after), true),
        Ok(None) | Err(_) => (Moment::At(START), false),
    };
    let trace = Trace { setting: setting.clone(), steps: Vec::new() };
    let mut game = Game { trace, checker: Checker::new(setting, moment), implementation, own_clock, look };
    let ended = match begun {
        Ok(_) => game.run(source),
        Err(Failure { problem: Problem::Refused(why), .. }) => Ok(Ended::Refused(why)),
        Err(failure) => Err(failure.into()),
    };
    Played { trace: game.trace, checker: game.checker, ended }
}

/// A play under way.
struct Game<'a> {
    trace: Trace,
    checker: Checker,
    implementation: &'a mut dyn Implementation,
    /// Whether the times are the implementation's.
    own_clock: bool,
    look: Look,
}

impl Game<'_> {
    fn run(&mut self, mut source: Source<'_>) -> Result<Ended, Fault> {
        while let Some((call, time)) = source.next(&self.checker) {
            let crashed = matches!(call.operation, Operation::Crash);
            let time = (!self.own_clock).then(|| time.unwrap_or_else(|| time_of(self.checker.step() + 1)));
            match self.admit(&call) {
                // What was drawn leads where the model does not go, such as through a symlink to a device.
                Err(_) if source.follows_model() => continue,
                admitted => admitted?,
            }
            let verdict = self.step(call, time)?;
            if let (Verdict::Unsupported { comparable: false }, false) = (verdict, source.follows_model()) {
                let step = self.checker.step();
                self.implementation.end()?;
                return Ok(Ended::Unsupported { step });
            }
            // After a crash only the tree tells what was lost; drafts must know.
            if self.look == Look::EveryStep || crashed {
                self.look()?;
            }
        }
        if self.look == Look::AtEnd {
            self.look()?;
        }
        self.implementation.end()?;
        Ok(Ended::Complete)
    }

    /// A call that is none must not reach an implementation.
    fn admit(&self, call: &Call) -> Result<(), Fault> {
        let admitted = self.checker.allowed(call, Moment::Unknown);
        admitted.map(drop).map_err(|why| Fault::Inadmissible { step: self.checker.step() + 1, why })
    }

    fn step(&mut self, call: Call, now: Option<Timestamp>) -> Result<Verdict, Fault> {
        let number = self.checker.step() + 1;
        self.trace.steps.push(Step { call, now, outcome: None, between: None, allowed: None });
        let Some(step) = self.trace.steps.last_mut() else { unreachable!("it has just been added") };
        let answer = self.implementation.call(number, now, &step.call)?;
        step.outcome = Some(answer.outcome.clone());
        step.between = answer.between;
        let moment = match (now, answer.between) {
            (Some(now), _) => Moment::At(now),
            (None, Some((before, after))) => Moment::Between(before, after),
            (None, None) => Moment::Unknown,
        };
        self.checker.check(&step.call, moment, &answer.outcome).map_err(|rejection| match rejection {
            Rejection::Divergence(divergence) => Fault::Divergence(divergence),
            Rejection::Inadmissible(why) => Fault::Inadmissible { step: number, why },
        })
    }

    fn look(&mut self) -> Result<(), Fault> {
        match self.implementation.observe()? {
            Some(tree) => self.checker.compare_tree(&tree).map_err(Fault::Divergence),
            None => Ok(()),
        }
    }
}

/// The trace's clock at a step: seconds pass, and now and then a day, so that every rule about times is met.
#[must_use]
pub fn time_of(step: u32) -> Timestamp {
    const DAY: i64 = 24 * 60 * 60;
    let seconds = START.seconds + i64::from(step) * 7 + i64::from(step / 9) * (DAY + 1000);
    Timestamp { seconds, nanoseconds: step.wrapping_mul(1_000_003) % 1_000_000_000 }
}
