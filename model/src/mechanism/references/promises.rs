//! What must hold in every state, and what must be possible in some.
//!
//! A promise is checked in each state by itself: a state carries what the past has to answer for, in its counts and in
//! [`State::mixed`], and a step that leads where a promise does not hold is the wrong one.

use super::daemon::LARGE;
use super::inode::{Ino, Inodes};
use super::state::{Daemon, Phase, State};
use super::{Database, References};

/// FS-REAP-1.
pub const KEPT: &str = "an inode keeps its rows while the kernel has it, has it open, or a reply brings it";
/// MNT-19.
pub const COUNTED: &str = "the daemon counts no fewer references than the kernel has and messages carry";
/// MNT-19, FS-REAP-2.
pub const EXACT: &str = "when all is quiet the daemon counts the references that the kernel has";
/// FS-REAP-8, FS-UNLINK-3.
pub const NAMED: &str = "an inode with a name has its rows";
/// FS-REAP-4, FS-REAP-6.
pub const REAPED: &str =
    "when all is quiet and the watcher has looked, no rows are left without name and reference";
/// FS-REAP-3.
pub const LISTED: &str = "a crash leaves no inode without a name that is not in the list";
/// FS-REAP-6.
pub const CLEAN_END: &str = "after the end of a mount every inode has a name";
/// FS-REAP-6, FS-REAP-7.
pub const CLEAN_START: &str = "when a mount begins to serve every inode has a name";
/// FS-NLINK-4.
pub const ROOT: &str = "the root is there";
/// FMT-9.
pub const NUMBERS: &str = "a number that was lost means no other inode to whom it was handed out";

/// A promise or a possibility by its name.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    /// What is said, as a sentence.
    pub name: &'static str,
    /// Whether it is so in a state.
    pub holds: fn(&References, &State) -> bool,
}

/// What holds in every state.
pub const ALWAYS: [Statement; 10] = [
    Statement { name: KEPT, holds: kept },
    Statement { name: COUNTED, holds: counted },
    Statement { name: EXACT, holds: exact },
    Statement { name: NAMED, holds: named },
    Statement { name: REAPED, holds: reaped },
    Statement { name: LISTED, holds: listed },
    Statement { name: CLEAN_END, holds: |_, state| clean_in(state, Phase::Ended) },
    Statement { name: CLEAN_START, holds: |_, state| clean_in(state, Phase::Swept) },
    Statement {
        name: ROOT,
        holds: |_, state| state.now.rows.has(Ino::ROOT) && state.committed.rows.has(Ino::ROOT),
    },
    Statement { name: NUMBERS, holds: |_, state| state.mixed.is_empty() },
];

/// What is so in some state, whatever the bounds: without it a promise would say nothing.
pub const SOMETIMES: [Statement; 8] = [
    Statement {
        name: "rows were reaped",
        holds: |_, state| {
            let gone = state.committed.rows.without(state.now.rows);
            state.phase == Phase::Mounted && !gone.is_empty()
        },
    },
    Statement {
        name: "a file without a name is open",
        holds: |_, state| !state.kernel.open.and(state.now.nameless()).is_empty(),
    },
    Statement {
        name: "a FORGET and a reply that hands out the same inode are under way",
        holds: |_, state| any(|ino| state.channel.forgotten(ino) > 0 && state.channel.entries[ino] > 0),
    },
    Statement {
        name: "a FORGET gives back less than all",
        holds: |_, state| any(|ino| state.channel.forgotten(ino) > 0 && state.kernel.lookups[ino] > 0),
    },
    Statement {
        name: "a FORGET gives back several references",
        holds: |_, state| !state.channel.forgets[1].some().is_empty(),
    },
    Statement {
        name: "one listing hands out the same inode twice",
        holds: |_, state| {
            let workers = &state.daemon.workers;
            workers.iter().any(|worker| matches!(worker.entries, [Some(one), Some(two)] if one == two))
        },
    },
    Statement {
        name: "a reply cannot be delivered",
        holds: |_, state| {
            state.phase == Phase::Cut && state.daemon.workers.iter().any(|worker| worker.entries != [None; 2])
        },
    },
    Statement {
        name: "a crash leaves an inode without a name",
        holds: |_, state| {
            state.phase == Phase::Killed && !state.now.nameless().is_empty() && state.now.has_list
        },
    },
];

/// What is so in some state when groups can be lost.
pub const SOMETIMES_LOST: [Statement; 2] = [
    Statement {
        name: "what the daemon takes for an orphan has its name again",
        holds: |_, state| !state.daemon.orphans.and(state.now.with_names()).is_empty(),
    },
    Statement {
        name: "the kernel has an inode that was lost with its group",
        holds: |_, state| !state.kernel.lookups.some().and(state.daemon.lost).is_empty(),
    },
];

/// What is so in some state when other processes use the database beside the mount.
pub const SOMETIMES_BESIDE: [Statement; 2] = [
    Statement {
        name: "another process took the last name of an inode that the kernel has",
        holds: |_, state| {
            let unnoted = state.now.nameless().without(state.daemon.orphans);
            !unnoted.and(state.kernel.lookups.some()).is_empty()
        },
    },
    Statement {
        name: "a sweep has found something to remove",
        holds: |_, state| {
            // An unlink leaves no other file than a large one to be removed later, a FORGET only what was noted.
            let Daemon { freeing, orphans, .. } = state.daemon;
            !freeing.without(orphans).without(Inodes::only(LARGE)).is_empty()
        },
    },
];

/// What is so in some state when groups can be lost while other processes use the database.
pub const SOMETIMES_LOST_BESIDE: [Statement; 1] = [Statement {
    name: "another process has given out a number that the kernel has from a lost group",
    holds: |_, state| {
        let reused = state.daemon.lost.and(state.now.rows);
        !reused.and(state.kernel.lookups.some()).is_empty()
    },
}];

/// What is so in some state when the list may be wrong.
pub const SOMETIMES_MISLISTED: [Statement; 1] = [Statement {
    name: "an inode that the kernel has is listed though it has a name",
    holds: |_, state| {
        let mislisted = state.now.listed.and(state.now.with_names());
        !mislisted.and(state.kernel.lookups.some()).is_empty()
    },
}];

fn any(is: impl Fn(Ino) -> bool) -> bool {
    Ino::files().any(is)
}

fn kept(_: &References, state: &State) -> bool {
    let used: Inodes = Ino::files().filter(|&ino| state.in_use(ino)).collect();
    used.without(state.now.rows).without(state.daemon.lost).is_empty()
}

fn counted(_: &References, state: &State) -> bool {
    Ino::files().all(|ino| state.daemon.references[ino] >= state.owed(ino))
}

fn exact(_: &References, state: &State) -> bool {
    !state.is_quiet() || state.daemon.references == state.kernel.lookups
}

fn named(_: &References, state: &State) -> bool {
    let missing = |database: &Database| database.with_names().without(database.rows);
    missing(&state.now).or(missing(&state.committed)).is_empty()
}

fn reaped(_: &References, state: &State) -> bool {
    let quiet = state.is_quiet() && !state.daemon.unseen;
    !quiet || state.now.nameless().without(state.kernel.lookups.some()).is_empty()
}

fn listed(_: &References, state: &State) -> bool {
    let unlisted =
        |database: &Database| database.has_list && !database.nameless().without(database.listed).is_empty();
    !unlisted(&state.now) && !unlisted(&state.committed)
}

fn clean_in(state: &State, phase: Phase) -> bool {
    state.phase != phase || state.now.nameless().is_empty()
}
