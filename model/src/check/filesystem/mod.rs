//! Explores the abstract file system: every sequence of a few calls on a few names, in several spaces of different emphasis.
//!
//! A space is a start, an alphabet of calls and bounds within which it is complete. After every call the state before, the
//! answer and the state after are judged by statements that know nothing of how the model came to them
//! ([`Promise`]): each is written down a second time, as simply as it can be said. States that differ in numbers alone are
//! one ([`FileSystem::canonical`]).
//!
//! Not here: what a call must answer in each case. That is what the comparisons with real file systems are for.

mod alphabet;
mod bug;
mod judge;
mod listing;
mod place;
mod promise;
mod sighting;
mod spaces;
mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stateright::{Model, Property};

use crate::call::{Call, Operation};
use crate::fs::{Branch, FileSystem};
use crate::outcome::{Entry, EntryPattern, Expected, Outcome, RuleId};
use crate::trace::Setting;
use crate::values::{Time, Timestamp};

pub use bug::Bug;
pub use promise::Promise;
pub use sighting::Sighting;
pub use spaces::{larger, small};
pub use state::State;

use judge::Step;

/// When every space begins.
const START: Time = Time::At(Timestamp { seconds: 0, nanoseconds: 0 });
/// The time of every call in spaces that look at times: it is seen that one was touched, not by which call.
const LATER: Time = Time::At(Timestamp { seconds: 1, nanoseconds: 0 });
/// The most entries that one may choose from for a listing that has no order.
const MOST_CHOICES: u8 = 5;

/// A space of states, and how it is looked at.
#[derive(Clone, Debug)]
pub struct Space {
    /// What it is about.
    pub name: &'static str,
    /// How many states it has at least.
    pub floor: usize,
    setting: Setting,
    /// Calls that have been made when the space begins.
    prelude: Vec<Call>,
    calls: Vec<Call>,
    bounds: Bounds,
    /// Whether times are looked at. Where they are not, all are the same.
    times: bool,
    /// What must be possible in it.
    sightings: &'static [Sighting],
    bug: Option<Bug>,
    /// Which sightings have been made: stateright asks again in every state, and the answer is dear.
    seen: Arc<[AtomicBool; Sighting::ALL.len()]>,
}

/// What is left out of a space because it is too large.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Inodes, the root included.
    inodes: usize,
    /// Bytes of a file.
    size: u64,
    /// Entries that one handle has listed.
    listed: usize,
}

/// A call of the space's alphabet, and which of the answers that leave a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    call: u16,
    choice: u8,
}

impl Space {
    /// The same with a wrong file system.
    #[must_use]
    pub fn with(mut self, bug: Bug) -> Self {
        self.bug = Some(bug);
        self
    }

    const fn now(&self) -> Time {
        if self.times { LATER } else { START }
    }

    fn start(&self) -> FileSystem {
        let mut fs = FileSystem::start(&self.setting, START);
        for call in &self.prelude {
            let mut branches = fs.step(START, call).expect("a prelude is made of calls that can be made");
            let branch = branches.swap_remove(0);
            let refused = matches!(branch.allowed.expected, Expected::Exactly(Outcome::Error(_)));
            assert!(!refused, "a prelude is made of calls that are not refused, not {call:?}");
            fs = branch.into_next();
        }
        fs.canonical()
    }

    fn judged<'s>(&self, state: &'s State, call: &'s Call, done: &'s Done) -> Step<'s> {
        let Done { answer, rule, after } = done;
        let (before, answer, now) = (&state.fs, answer.as_ref(), self.now());
        Step { before, call, answer, rule, after, now, changed: before != after }
    }

    /// Whether one of the calls for which `filter` holds does what is wanted in `state`.
    fn any_step(
        &self,
        state: &State,
        filter: impl Fn(&Operation) -> bool,
        wanted: impl Fn(&Step<'_>) -> bool,
    ) -> bool {
        self.calls.iter().filter(|call| filter(&call.operation)).any(|call| {
            let Ok(mut branches) = state.fs.step(self.now(), call) else { return false };
            Done::of(branches.swap_remove(0), 0).is_some_and(|done| wanted(&self.judged(state, call, &done)))
        })
    }

    fn within(&self, state: &State) -> bool {
        let Bounds { inodes, size, listed } = self.bounds;
        let content = |inode: &crate::fs::Inode| match &inode.node {
            crate::fs::Node::Regular(content) => content.size(),
            _ => 0,
        };
        state.fs.inodes().len() <= inodes
            && state.fs.inodes().values().all(|inode| content(inode) <= size)
            && state.fs.descriptions().values().all(|description| description.listing.length() <= listed)
    }
}

/// What a call has answered, and what it made of the state.
#[derive(Clone, Debug)]
struct Done {
    /// None where it tells nothing that is looked at.
    answer: Option<Outcome>,
    /// The first rule that is named for it.
    rule: RuleId,
    after: FileSystem,
}

impl Done {
    /// `branch` with the answer that `choice` stands for, where there is one.
    fn of(branch: Branch, choice: u8) -> Option<Self> {
        let answer = Self::answer(&branch.allowed.expected, choice)?;
        let rule = branch.allowed.rules.first().cloned().unwrap_or_default();
        let after = match &answer {
            Some(outcome) => branch.settle(outcome),
            None => branch.into_next(),
        };
        Some(Self { answer, rule, after })
    }

    fn answer(expected: &Expected, choice: u8) -> Option<Option<Outcome>> {
        let only = |outcome| (choice == 0).then_some(outcome);
        match expected {
            Expected::Exactly(outcome) => only(Some(outcome.clone())),
            Expected::Status(_) | Expected::Statistics { .. } => only(None),
            Expected::OffsetBetween { least, most } => match choice {
                0 => Some(Some(Outcome::Offset(*least))),
                1 if most > least => Some(Some(Outcome::Offset(*most))),
                _ => None,
            },
            Expected::Entries(pattern) if pattern.ordered => {
                only(Some(Outcome::Entries(pattern.due.iter().map(entry).collect())))
            }
            Expected::Entries(pattern) => {
                // One at a time; the end only when nothing is due.
                let count = pattern.due.len() + pattern.possible.len();
                assert!(count <= usize::from(MOST_CHOICES), "more entries than are chosen from");
                match pattern.due.iter().chain(&pattern.possible).nth(usize::from(choice)) {
                    Some(chosen) => Some(Some(Outcome::Entries(vec![entry(chosen)]))),
                    None if usize::from(choice) == count && pattern.due.is_empty() => {
                        Some(Some(Outcome::Entries(Vec::new())))
                    }
                    None => None,
                }
            }
        }
    }
}

fn entry(pattern: &EntryPattern) -> Entry {
    Entry { name: pattern.name.clone(), inode: 0, kind: None }
}

impl Model for Space {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self.start())]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        // What follows from a damaged state says nothing more.
        if state.broken.is_some() || (self.bug.is_some() && state.fs.violation().is_some()) {
            return;
        }
        let profile = &self.setting.profile;
        for (number, call) in (0_u16..).zip(&self.calls) {
            let choices = match call.operation {
                Operation::Readdir { .. } if !profile.directory_order => MOST_CHOICES,
                Operation::Seek { .. } if !profile.layout => 1,
                _ => 0,
            };
            actions.extend((0..=choices).map(|choice| Action { call: number, choice }));
        }
    }

    /// None where nothing happens, so that a call that changes nothing costs no look at what it led to.
    fn next_state(&self, state: &State, Action { call, choice }: Action) -> Option<State> {
        let call = &self.calls[usize::from(call)];
        let mut branches = state.fs.step(self.now(), call).ok()?.into_iter();
        let mut done = Done::of(branches.next()?, choice)?;
        if let Some(wrong) = self.bug.and_then(|bug| bug.instead(&self.judged(state, call, &done))) {
            done = wrong;
        }
        let step = self.judged(state, call, &done);
        let mut watches = state.watches.clone();
        let mut broken = step.broken_promise().or(watches.follow(&step));
        for other in branches {
            let other = Done::of(other, 0)?;
            broken = broken.or_else(|| self.judged(state, call, &other).broken_promise());
        }
        if broken.is_none() && !step.changed && watches == state.watches {
            return None;
        }
        Some(State { fs: done.after.canonical(), watches, broken })
    }

    /// All of them; of a wrong file system the one that its bug breaks.
    fn properties(&self) -> Vec<Property<Self>> {
        let wanted = |promise: &&Promise| self.bug.is_none_or(|bug| bug.breaks() == **promise);
        let always = |promise: &Promise| Property::always(promise.statement(), promise.condition());
        let mut properties: Vec<_> = Promise::ALL.iter().filter(wanted).map(always).collect();
        if self.bug.is_none() {
            let sometimes =
                |sighting: &Sighting| Property::sometimes(sighting.statement(), sighting.condition());
            properties.extend(self.sightings.iter().map(sometimes));
        }
        properties
    }

    fn within_boundary(&self, state: &State) -> bool {
        self.within(state)
    }

    fn format_action(&self, action: &Action) -> String {
        let Call { by, operation } = &self.calls[usize::from(action.call)];
        let choice = if action.choice == 0 { String::new() } else { format!(", choice {}", action.choice) };
        format!("process {}: {}{choice}", by.0, alphabet::words(operation))
    }
}

impl Space {
    /// Whether `sighting` is made in `state`, unless it was made before.
    fn sighted(&self, sighting: Sighting, state: &State) -> bool {
        let seen = &self.seen[sighting as usize];
        if seen.load(Ordering::Relaxed) {
            return false;
        }
        let is_made = sighting.is_made(self, state);
        seen.fetch_or(is_made, Ordering::Relaxed);
        is_made
    }
}
