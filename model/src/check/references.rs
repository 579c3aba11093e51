//! Explores the lookup references: every way in which the messages of a kernel and a daemon can meet.

use stateright::{Model, Property};

use crate::mechanism::references::promises::{
    ALWAYS, SOMETIMES, SOMETIMES_BESIDE, SOMETIMES_LOST, SOMETIMES_LOST_BESIDE, SOMETIMES_MISLISTED,
    Statement,
};
use crate::mechanism::references::state::State;
use crate::mechanism::references::{Bounds, References, Step};

/// One worker with a reply in hand, lost groups and other processes: small enough for every run of the tests.
#[must_use]
pub const fn small() -> References {
    References::new(Bounds { workers: 1, ..TWO_FILES })
}

/// Two workers, and another program that lists what has a name.
#[must_use]
pub const fn wrong_list() -> References {
    References::new(Bounds { losses: false, mislisting: true, ..TWO_FILES })
}

/// Three files.
#[must_use]
pub const fn larger() -> References {
    References::new(Bounds { files: 3, ..TWO_FILES })
}

const TWO_FILES: Bounds =
    Bounds { files: 2, workers: 2, references: 2, losses: true, others: true, mislisting: false };

impl Model for References {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        self.initial()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        self.steps(state, actions);
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        Some(self.after(state, step))
    }

    fn within_boundary(&self, state: &State) -> bool {
        self.is_within(state)
    }

    /// All of them; of a mechanism with a bug the one that the bug breaks.
    fn properties(&self) -> Vec<Property<Self>> {
        let always = |said: &Statement| Property::always(said.name, said.holds);
        if let Some(bug) = self.bug() {
            return ALWAYS.iter().filter(|said| said.name == bug.breaks()).map(always).collect();
        }
        let Bounds { losses, others, mislisting, .. } = self.bounds();
        let possible = [
            (true, &SOMETIMES[..]),
            (losses, &SOMETIMES_LOST),
            (others, &SOMETIMES_BESIDE),
            (losses && others, &SOMETIMES_LOST_BESIDE),
            (mislisting, &SOMETIMES_MISLISTED),
        ];
        let possible = possible.into_iter().filter(|(wanted, _)| *wanted).flat_map(|(_, said)| said);
        let sometimes = possible.map(|said| Property::sometimes(said.name, said.holds));
        ALWAYS.iter().map(always).chain(sometimes).collect()
    }
}
