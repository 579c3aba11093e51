//! The kernel's caches ([`crate::mechanism::cache`]) for stateright: their properties, and bounds to explore them in.

use stateright::{Model, Property};

use crate::mechanism::cache::{
    Bounds, Caches, Change, DIRECTORY, EMPTY, NOTHING, Operation, Page, State, Step, Trouble, Trust, Whose,
};

impl Model for Caches {
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
            always(FRESH, |_, state| state.trouble != Some(Trouble::Stale)),
            always(READ_BACK, |_, state| state.trouble != Some(Trouble::NotReadBack)),
            always(NOT_UNDONE, |_, state| state.trouble != Some(Trouble::Undone)),
            always(SYNCED, |_, state| state.trouble != Some(Trouble::Unsynced)),
            always(DATA_FOUND, |_, state| state.trouble != Some(Trouble::TakenForHole)),
            always(KEPT_AT_THE_END, |_, state| state.trouble != Some(Trouble::LostAtTheEnd)),
            always(NOT_NEEDLESS, |_, state| state.trouble != Some(Trouble::Needless)),
            always(TIME_GOES_ON, |caches, state| caches.goes_on(state)),
        ]
        .into_iter()
        .chain(self.sights())
        .collect()
    }
}

/// Nothing stale is served past the bound.
pub const FRESH: &str = "no user is served what another process replaced longer ago than the bound";
/// Own writes are read back.
pub const READ_BACK: &str = "users are served what was last written through the mount";
/// A late write undoes nothing.
pub const NOT_UNDONE: &str = "when all is written back the database has what users did last";
/// fsync is a barrier for what the kernel had cached.
pub const SYNCED: &str = "fsync returns when the database has what was written before";
/// SEEK_DATA sees dirty pages.
pub const DATA_FOUND: &str = "a search for data sees what was written";
/// The end of the mount loses nothing.
pub const KEPT_AT_THE_END: &str = "the mount ends when the database has what was written";
/// Caches are not dropped for nothing.
pub const NOT_NEEDLESS: &str = "nothing is dropped from the caches before another process has committed";
/// Nothing hangs.
pub const TIME_GOES_ON: &str = "whatever has begun can go on";

type Seen = fn(&Caches, &State) -> bool;

impl Caches {
    /// What must be possible somewhere within the bounds, so that the space is not empty by mistake.
    fn sights(&self) -> Vec<Property<Self>> {
        let Bounds { foreign, own, absent, empty, ref changes, .. } = self.bounds;
        let calls = |operation| self.bounds.calls.contains(&operation);
        let files = changes.iter().any(|change| !matches!(change, Change::Name(_)));
        let late =
            calls(Operation::Lookup) || calls(Operation::Chmod) || calls(Operation::Stat) && foreign > 1;
        let writes = calls(Operation::Write);
        let grows = changes.contains(&Change::Content) && (empty || calls(Operation::Truncate));
        let sights: [(bool, &'static str, Seen); 10] = [
            (foreign > 0 && late, "an answer is found before the news and sent after", |_, state| {
                state.known.late
            }),
            (foreign > 0 && late && files, "an answer under way is no longer so", |_, state| {
                state.requests.iter().any(|request| request.outdated)
            }),
            (foreign > 0, "the kernel believes what is no longer so", |_, state| {
                state.entry.there && state.entry.trust == Trust::Always && state.entry.to != state.stored.name
                    || state.inode.mode_valid && state.inode.mode != state.stored.mode
                    || state.inode.there && state.inode.size == 0 && state.stored.content != EMPTY
                    || matches!(state.inode.page, Page::Clean(byte) if byte != state.stored.content)
            }),
            (foreign > 0 && files, "an invalidation overtakes an answer", |_, state| {
                state.requests.iter().any(|request| request.overtaken)
            }),
            (absent, "the kernel believes that a name does not exist", |_, state| {
                state.entry.there && state.entry.to == NOTHING && state.stored.name != NOTHING
            }),
            (changes.contains(&Change::Name(DIRECTORY)), "a name expires", |_, state| {
                state.entry.there && state.entry.to == DIRECTORY && state.entry.trust == Trust::Expired
            }),
            (writes && own > 1, "a page is written again while it is written back", |_, state| {
                matches!(state.inode.page, Page::Dirty(_))
                    && state.requests[Whose::Data as usize].operation == Operation::Write
            }),
            (writes && foreign > 0, "what another process changed is overwritten", |_, state| {
                state.spent.foreign > 0 && state.mine.content == state.stored.content
            }),
            (grows, "the end of a file that has grown is shown", |_, state| state.watcher.byte != 0),
            (calls(Operation::Close) && files, "a file that is let go is known as it was", |_, state| {
                state.inode.there
                    && !state.inode.open
                    && state.inode.size != u8::from(state.stored.content != EMPTY)
            }),
        ];
        let wanted = sights.into_iter().filter(|(wanted, ..)| *wanted);
        wanted.map(|(_, name, seen)| Property::sometimes(name, seen)).collect()
    }
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
    use Operation::{
        Chmod, Close, Fsync, Lookup, Read, Seek, Stat, Truncate, Unlink, Unmount, Utimens, Write,
    };
    spaces([
        ("absent", Bounds { absent: true, ..free(&[Lookup], &NAMES, 3) }),
        ("replaced", free(&[Lookup, Close], &NAMES, 1)),
        ("unlinked", held(&[Lookup, Unlink], 1, &NAMES, 1)),
        ("mode", held(&[Stat, Chmod], 1, &[Change::Mode], 1)),
        ("modes", held(&[Stat], 0, &[Change::Mode], 2)),
        ("content", free(&[Lookup, Read], &CONTENT, 2)),
        ("let go", free(&[Lookup, Read, Close], &[Change::Cut], 1)),
        ("growth", Bounds { empty: true, ..held(&[Read, Write], 1, &[Change::Content], 1) }),
        ("writes", held(&[Read, Write], 1, &CONTENT, 1)),
        ("times", held(&[Write, Utimens, Truncate, Fsync, Seek, Unmount], 3, &[], 0)),
    ])
}

/// The same with more of everything: minutes, and together more than 6 * 10^7 states.
#[must_use]
pub fn larger() -> Vec<Space> {
    use Operation::{
        Chmod, Close, Fsync, Lookup, Read, Seek, Stat, Truncate, Unlink, Unmount, Utimens, Write,
    };
    spaces([
        ("absent", Bounds { absent: true, ..free(&[Lookup], &NAMES, 6) }),
        ("replaced", free(&[Lookup, Close], &NAMES, 3)),
        ("unlinked", held(&[Lookup, Unlink, Write], 2, &NAMES, 1)),
        ("mode", held(&[Lookup, Stat, Chmod], 2, &[Change::Mode], 2)),
        ("sizes", Bounds { empty: true, ..held(&[Stat, Read, Write], 1, &[Change::Mode], 1) }),
        ("content", free(&[Lookup, Read, Stat], &CONTENT, 3)),
        ("let go", free(&[Lookup, Read, Close], &CONTENT, 2)),
        ("growth", Bounds { empty: true, ..held(&[Read, Write, Truncate], 2, &[Change::Content], 2) }),
        ("writes", held(&[Read, Write, Truncate, Fsync, Seek], 2, &CONTENT, 1)),
        ("times", held(&[Write, Utimens, Truncate, Chmod, Fsync, Seek, Unmount], 4, &[Change::Content], 1)),
    ])
}

const NAMES: [Change; 2] = [Change::Name(NOTHING), Change::Name(DIRECTORY)];
const CONTENT: [Change; 2] = [Change::Content, Change::Cut];

/// A file that is opened and closed.
fn free(calls: &[Operation], changes: &[Change], foreign: u8) -> Bounds {
    Bounds { calls: calls.to_vec(), changes: changes.to_vec(), foreign, ..Bounds::default() }
}

/// A file that a user has open and changes.
fn held(calls: &[Operation], own: u8, changes: &[Change], foreign: u8) -> Bounds {
    Bounds { own, held_open: true, ..free(calls, changes, foreign) }
}

fn spaces<const N: usize>(of: [(&'static str, Bounds); N]) -> Vec<Space> {
    of.into_iter().map(|(name, bounds)| Space { name, bounds }).collect()
}
