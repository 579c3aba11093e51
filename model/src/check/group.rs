//! The group transaction ([`crate::mechanism::group`]) for stateright: its properties, and bounds to explore it in.

use stateright::{Model, Property};

use crate::mechanism::group::{
    Bounds, Checkpoint, Groups, Life, Outcome, Phase, Process, Reading, State, Step, Target, Trouble,
};

const FILE: u8 = Target::File.bit();
const EVERYTHING: u8 = Target::Everything.bit();

impl Model for Groups {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![self.initial()]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        self.steps(state, steps);
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        Some(self.take(state, step))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let always = Property::<Self>::always;
        [
            always(NO_TRACE, |groups, state| !groups.is_torn(state)),
            always(SEES_ALL, |_, state| state.trouble != Some(Trouble::StaleView)),
            always(IN_ORDER, |groups, state| groups.is_a_prefix(state)),
            always(PREFIX, |_, state| state.trouble != Some(Trouble::NoPrefix)),
            always(PROMISES, |_, state| state.trouble != Some(Trouble::Forgotten)),
            always(NOTHING_VANISHES, |_, state| state.trouble != Some(Trouble::Vanished)),
            always(LOSS_TOLD, |_, state| state.trouble != Some(Trouble::LossUntold)),
            always(LOSS_TOLD_ONCE, |_, state| state.trouble != Some(Trouble::LossToldTwice)),
            always(NO_HOLLOW_BARRIER, |_, state| state.trouble != Some(Trouble::Hollow)),
            always(ONE_STATE, |_, state| state.trouble != Some(Trouble::TwoStates)),
            always(ONE_FILE, |_, state| state.trouble != Some(Trouble::LogLeft)),
            always(TURNS, |_, state| state.processes.iter().all(|process| process.overtaken <= 1)),
            always(PROGRESS, |groups, state| groups.goes_on(state)),
        ]
        .into_iter()
        .chain(self.sights())
        .collect()
    }
}

/// A failed operation leaves no trace.
pub const NO_TRACE: &str = "a failed operation leaves no trace";
/// Every operation sees all before it.
pub const SEES_ALL: &str =
    "every operation sees what was acknowledged before it here, and committed elsewhere";
/// Commits are in the order of acknowledgement.
pub const IN_ORDER: &str = "what is committed is a prefix of what was acknowledged";
/// A crash leaves a prefix.
pub const PREFIX: &str = "after a crash there is a prefix of what was acknowledged";
/// A crash leaves what a barrier promised.
pub const PROMISES: &str = "nothing is missing that a barrier has promised";
/// Nothing goes without a word.
pub const NOTHING_VANISHES: &str = "nothing that was acknowledged vanishes without a crash or a report";
/// A loss is reported.
pub const LOSS_TOLD: &str = "no barrier succeeds over a loss that nobody was told of";
/// And only once.
pub const LOSS_TOLD_ONCE: &str = "no barrier reports a loss that did not happen, or that was reported before";
/// After a failed flush no barrier succeeds.
pub const NO_HOLLOW_BARRIER: &str = "no barrier succeeds after a flush has failed";
/// A reading operation sees one state.
pub const ONE_STATE: &str = "a reading operation sees one state";
/// The last to close leaves one file.
pub const ONE_FILE: &str = "the last process to close leaves no log";
/// Nobody is passed over again and again.
pub const TURNS: &str = "a process that waits to write is overtaken once at most";
/// Somebody can always go on.
pub const PROGRESS: &str = "whatever has begun can go on";

type Seen = fn(&Groups, &State) -> bool;

impl Groups {
    /// What must be possible somewhere within the bounds, so that the space is not empty by mistake.
    fn sights(&self) -> Vec<Property<Self>> {
        let Bounds {
            barriers, lost_groups, failed_flushes, kills, power_losses, openings, closes, key, ..
        } = self.bounds;
        let writers = self.bounds.cells.iter().filter(|cells| **cells != 0).count();
        let lost = lost_groups > 0 && barriers[0] > 0;
        let sights: [(bool, &'static str, Seen); 13] = [
            (barriers[0] > 0, "a barrier promises something", |_, state| state.told.promised > 0),
            (barriers[0] > 1, "a barrier is served by the flush of another", |_, state| {
                barrier(state, |barrier| barrier.phase == Phase::Committed && barrier.wanted == 0)
            }),
            (writers > 1, "a process waits for the other", |_, state| any(state, |process| process.waits)),
            (writers > 1 && barriers[0] > 0, "a barrier flushes what the other has committed", |_, state| {
                let flushes = |barrier: &_| matches!(barrier, Phase::Flushing);
                state.processes[0].barriers.iter().any(|barrier| flushes(&barrier.phase))
                    && state.writer.is_none()
                    && state.told.operations[0] != 0
            }),
            (lost, "a lost group is reported", |_, state| {
                state.spent.lost_groups > 0 && barrier(state, |barrier| barrier.told_meanwhile)
                    || any(state, |process| process.unreported != process.unheard)
            }),
            (lost && !key, "a lost group is not reported to others", |_, state| {
                any(state, |process| {
                    process.unheard & Target::Other.bit() != 0 && process.unheard & Target::File.bit() == 0
                })
            }),
            (failed_flushes > 0, "a barrier fails after a flush has failed", |_, state| {
                barrier(state, |barrier| barrier.after_failure && barrier.outcome == Outcome::Unflushed)
            }),
            (kills > 0, "a kill takes acknowledged operations", |_, state| {
                state.spent.kills > 0 && state.spent.operations > state.told.length
            }),
            (
                power_losses > 0,
                "a loss of power takes acknowledged operations and keeps others",
                |_, state| {
                    state.spent.power_losses > 0
                        && state.told.length > 0
                        && state.spent.operations > state.told.length
                },
            ),
            (power_losses > 0 && openings > 0, "the log is recovered", |_, state| {
                state.spent.power_losses > 0 && any(state, |process| process.unflushed > 0)
            }),
            (checkpoints(&self.bounds), "the log starts anew", |_, state| {
                state.disk.main.iter().any(|&cell| cell != 0)
                    && state.disk.copied == 0
                    && state.disk.length > 0
            }),
            (
                checkpoints(&self.bounds),
                "the log grows while it is copied",
                |_, state| matches!(state.disk.checkpoint, Checkpoint::Copied { target, .. } if target < state.disk.length),
            ),
            (closes[0], "an operation runs while the database closes", |_, state| {
                any(state, |process| process.life == Life::Closing && process.group.open)
            }),
        ];
        let reads = self.bounds.reads.contains(&true).then(|| {
            Property::sometimes("a reading operation sees what is no longer so", |_: &Self, state: &State| {
                any(state, |process| match process.reading {
                    Reading::To { view, .. } => view != state.disk.content(),
                    Reading::None => false,
                })
            })
        });
        let wanted = sights.into_iter().filter(|(wanted, ..)| *wanted);
        wanted.map(|(_, name, seen)| Property::sometimes(name, seen)).chain(reads).collect()
    }
}

fn checkpoints(bounds: &Bounds) -> bool {
    bounds.checkpoints.contains(&true) && bounds.operations > 1
}

fn any(state: &State, is: impl FnMut(&Process) -> bool) -> bool {
    state.processes.iter().any(is)
}

fn barrier(state: &State, is: fn(&crate::mechanism::group::Barrier) -> bool) -> bool {
    any(state, |process| process.barriers.iter().any(is))
}

/// Bounds to explore in, by what they are about.
#[derive(Clone, Debug)]
pub struct Space {
    /// What about.
    pub name: &'static str,
    /// How much.
    pub bounds: Bounds,
}

/// Complete spaces that take seconds.
#[must_use]
pub fn small() -> Vec<Space> {
    spaces(&[
        ("crashes", Bounds { kills: 1, openings: 1, failures: 1, ..two_writers(3, 1) }),
        ("threads", Bounds { barriers: [2, 0], ..two_writers(3, 3) }),
        (
            "checkpoints",
            Bounds { barriers: [1, 0], checkpoints: [true, true], reads: [false, true], ..two_writers(3, 1) },
        ),
        (
            "flushes",
            Bounds { barriers: [2, 1], checkpoints: [true, true], failed_flushes: 1, ..two_writers(2, 2) },
        ),
        ("losses", losses(2, 3)),
        ("keys", Bounds { key: true, full_groups: true, barriers: [1, 0], lost_groups: 1, ..losses(3, 2) }),
        ("closing", Bounds { closes: [true, true], openings: 2, ..two_writers(3, 1) }),
    ])
}

/// The same with more of everything: minutes, and together more than 5 * 10^7 states.
#[must_use]
pub fn larger() -> Vec<Space> {
    spaces(&[
        ("crashes", Bounds { kills: 1, openings: 1, failures: 1, ..two_writers(4, 2) }),
        ("threads", Bounds { barriers: [2, 1], ..two_writers(4, 3) }),
        ("checkpoints", Bounds { checkpoints: [true, true], reads: [false, true], ..two_writers(4, 2) }),
        (
            "flushes",
            Bounds { barriers: [2, 1], checkpoints: [true, true], failed_flushes: 1, ..two_writers(3, 3) },
        ),
        ("losses", losses(3, 4)),
        ("keys", Bounds { key: true, full_groups: true, failures: 1, ..losses(3, 3) }),
        ("closing", Bounds { closes: [true, true], openings: 2, ..two_writers(4, 2) }),
    ])
}

/// Two processes that write a file each, and a loss of power.
fn two_writers(operations: u8, barriers_begun: u8) -> Bounds {
    Bounds {
        operations,
        cells: [0b01, 0b10],
        targets: FILE,
        barriers: [1, 1],
        barriers_begun,
        power_losses: 1,
        ..Bounds::default()
    }
}

/// One process with two files, groups that cannot be committed, and several threads that hear of it.
fn losses(operations: u8, barriers_begun: u8) -> Bounds {
    Bounds {
        operations,
        cells: [0b11, 0],
        targets: FILE | EVERYTHING,
        barriers: [2, 0],
        barriers_begun,
        lost_groups: 2,
        ..Bounds::default()
    }
}

fn spaces(of: &[(&'static str, Bounds)]) -> Vec<Space> {
    of.iter().map(|(name, bounds)| Space { name, bounds: bounds.clone() }).collect()
}
