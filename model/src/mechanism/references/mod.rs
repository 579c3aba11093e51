//! Lookup references: how long an inode's rows live, when two processes that only exchange messages decide it.
//!
//! The kernel counts how often each inode was handed to it and gives the count back with FORGET when it evicts the
//! inode, at a time of its own choosing. The daemon counts as well, and removes the rows of an inode without a name
//! with the last reference (FS-REAP-4). Between the two are messages that overtake each other, several workers, a
//! group that may be lost, other processes on the same database, and the end of either process.
//!
//! A [`State`] is everything at one moment, a [`Step`] the smallest thing that happens, [`References`] says which
//! steps are possible and where they lead; [`promises`] must hold in every state. What stands for what:
//!
//! | here | there |
//! |---|---|
//! | [`Kernel`](state::Kernel) | `nlookup` of Linux's `fuse_inode`; [`Step::Evict`] is `fuse_evict_inode` |
//! | [`Step::TakeIn`], [`Step::Refuse`] | `fuse_iget`; `fuse_dentry_revalidate` and `fuse_direntplus_link` give back what they cannot use |
//! | [`Step::Serve`] | a handler of `src/fuse/names.rs` or `directories.rs` up to its call of the file system, one step under the lock of `src/fs/state.rs`: `hand_out`, `retain`, `is_lost` |
//! | [`Step::Reply`], [`Step::ReplyPart`] | the rest of that handler: `KnownInodes::hand_out` and the reply; `list_with_attributes` gives back what did not fit |
//! | [`Step::Forget`] | `Adapter::give_back`, `AgentFs::release` |
//! | [`Step::Free`] | `AgentFs::free` |
//! | [`Step::Sweep`] | `AgentFs::sweep_orphans`, called by `Watch::pass` |
//! | [`Step::ServeInVain`] | `AgentFs::mutate` whose commit fails: `State::take_back` |
//! | [`Step::Lose`] | a commit that fails, DUR-6: `State::settle` |
//! | [`Step::Start`], [`Step::Mount`] | `Mount::start`: the sweep, then `serve` |
//! | [`Step::Unmount`], [`Step::End`] | `Adapter::destroy`, `Mount::finish`, `AgentFs::close` |
//! | [`Step::UnlinkBeside`], [`Step::UnlinkAlone`] | `drop_name` in another process, with a mount (FS-REAP-5) and without |
//!
//! The kernel here is freer than Linux: it sends any request at any time, whatever it has cached, and evicts whatever
//! is not open. So a request that waits, or is overtaken, is one that is sent later, and has no place. `KnownInodes` has no place of its own: it counts what `State::references` counts, only later, and
//! nothing is decided by it. A reply without an inode changes no count, so it is sent with the step that serves its
//! request. A reply cannot be delivered only when the connection is cut: Linux waits for the answer to a request that
//! was read, also when its caller is killed. OPEN and RELEASE change nothing (MNT-18) and are no messages.
//!
//! States FS-REAP-1 to FS-REAP-8, FS-REAP-11, FS-REAP-12, MNT-18, MNT-19, and what they take from DUR-6, FMT-9 and
//! FS-NLINK-4. Directories, contents, times and link counts are not here, nor what a busy database refuses: it stays
//! listed until something changes or the mount ends.

mod bug;
mod daemon;
mod database;
mod inode;
mod kernel;
mod life;
pub mod promises;
pub mod state;

pub use bug::Bug;
pub use database::Database;
pub use inode::{Counts, FILES, Ino, Inodes, Name};
use state::{FORGOTTEN, Phase, Request, Stage, State, WORKERS, Worker};

/// How large a state space is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Files whose numbers are given out, at most [`FILES`].
    pub files: u8,
    /// Workers that have a reply in hand at once, at most [`WORKERS`].
    pub workers: usize,
    /// References on one inode, at most [`FORGOTTEN`].
    pub references: u8,
    /// Whether groups can be lost.
    pub losses: bool,
    /// Whether other processes use the database beside the mount.
    pub others: bool,
    /// Whether another program lists inodes that have a name, as one that trusts a wrong link count does. Together
    /// with `losses` this is not promised: nothing then tells an orphan whose name is back from one without.
    pub mislisting: bool,
}

/// The mechanism, within bounds, right or with one seeded bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct References {
    pub(super) bounds: Bounds,
    bug: Option<Bug>,
}

/// The smallest thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The kernel takes in an entry of a reply.
    TakeIn(Ino),
    /// The kernel has no use for an entry of a reply, and gives it back.
    Refuse(Ino),
    /// A process opens a file that the kernel has.
    Open(Ino),
    /// The last descriptor of a file is closed.
    Close(Ino),
    /// The kernel drops an inode and sends FORGET.
    Evict(Ino),
    /// A worker reads a request, and the file system serves it.
    Serve(Request),
    /// The same, and the group that the outcome was in is lost: the reply is an error.
    ServeInVain(Request),
    /// A worker sends its reply.
    Reply(Worker),
    /// A worker sends a listing that has no room for the last entry.
    ReplyPart(Worker),
    /// A worker cannot send its reply.
    Fail(Worker),
    /// A worker counts what it has sent; only with [`Bug::CountedAfterReply`].
    Count(Worker),
    /// A worker reads a FORGET.
    Forget {
        /// Which inode.
        ino: Ino,
        /// How many references.
        count: u8,
    },
    /// A thread removes an inode's rows, unless it finds a reason not to.
    Free(Ino),
    /// The watcher sees a change and looks for inodes that are to be removed.
    Sweep,
    /// The group is committed.
    Commit,
    /// The group cannot be committed.
    Lose,
    /// Another process creates a file beside the mount.
    CreateBeside(Name),
    /// Another process unlinks beside the mount.
    UnlinkBeside(Name),
    /// Another process lists what a name names.
    Mislist(Name),
    /// A process that has the database for itself unlinks.
    UnlinkAlone(Name),
    /// A daemon starts, and sweeps what is left of those before.
    Start,
    /// It begins to serve.
    Mount,
    /// Nobody uses the mount; it is unmounted and the daemon ends.
    Unmount,
    /// The kernel cuts the connection, with all that is in it.
    Cut,
    /// The workers are done with a connection that was cut, and the daemon ends.
    End,
    /// The daemon is killed.
    Kill,
}

impl References {
    /// The mechanism as it should be.
    ///
    /// # Panics
    /// When a state has no room for the bounds.
    #[must_use]
    pub const fn new(bounds: Bounds) -> Self {
        let fits = bounds.files as usize <= FILES && bounds.workers <= WORKERS;
        assert!(fits && bounds.references as usize <= FORGOTTEN, "a state has no room for these bounds");
        Self { bounds, bug: None }
    }

    /// The mechanism with a bug.
    #[must_use]
    pub const fn with(self, bug: Bug) -> Self {
        Self { bug: Some(bug), ..self }
    }

    /// The bug that it has.
    #[must_use]
    pub const fn bug(&self) -> Option<Bug> {
        self.bug
    }

    /// The bounds that it is in.
    #[must_use]
    pub const fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Where it begins: a new database, and one that a program without a list has left.
    #[must_use]
    pub fn initial(&self) -> Vec<State> {
        let mut states = vec![State::at_rest(Database::new(), Phase::Ended)];
        if self.bounds.files >= 2 {
            states.push(State::at_rest(Database::foreign(), Phase::Killed));
        }
        states
    }

    /// Whether a state is within the bounds.
    #[must_use]
    pub fn is_within(&self, state: &State) -> bool {
        let most = self.bounds.references;
        Ino::files().all(|ino| state.owed(ino) <= most && state.daemon.references[ino] <= most)
    }

    /// What may happen next.
    pub fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        match state.phase {
            Phase::Killed | Phase::Ended => {
                let named = Name::ALL.into_iter().filter(|&name| state.now.named(name).is_some());
                steps.extend(named.map(Step::UnlinkAlone));
                steps.push(Step::Start);
            }
            Phase::Swept => steps.extend([Step::Mount, Step::Kill]),
            Phase::Mounted => {
                self.kernel_steps(state, steps);
                self.worker_steps(state, steps);
                self.group_steps(state, steps);
                self.others_steps(state, steps);
                steps.push(Step::Kill);
            }
            // What becomes of groups, and what others do, they do as well a moment before or after.
            Phase::Cut => {
                self.worker_steps(state, steps);
                if state.daemon.busy() == 0 {
                    steps.push(Step::End);
                }
            }
        }
    }

    fn worker_steps(&self, state: &State, steps: &mut Vec<Step>) {
        if state.daemon.busy() < self.bounds.workers {
            steps.extend(Request::possible(state).map(Step::Serve));
        }
        for &worker in &state.daemon.workers {
            match worker.stage {
                Stage::Idle => {}
                Stage::Counting => steps.push(Step::Count(worker)),
                Stage::Replying if state.phase == Phase::Cut => steps.push(Step::Fail(worker)),
                Stage::Replying => {
                    steps.push(Step::Reply(worker));
                    if worker.each().count() > 1 {
                        steps.push(Step::ReplyPart(worker));
                    }
                }
            }
        }
        for (count, messages) in (1..).zip(&state.channel.forgets) {
            steps.extend(messages.some().each().map(|ino| Step::Forget { ino, count }));
        }
        steps.extend(state.daemon.freeing.each().map(Step::Free));
    }

    fn group_steps(&self, state: &State, steps: &mut Vec<Step>) {
        if state.daemon.unseen {
            steps.push(Step::Sweep);
        }
        if self.bounds.losses && state.daemon.busy() < self.bounds.workers {
            let made = Request::possible(state).filter(|&request| self.makes_entry(state, request));
            steps.extend(made.map(Step::ServeInVain));
        }
        if state.now != state.committed {
            steps.push(Step::Commit);
            steps.extend(self.bounds.losses.then_some(Step::Lose));
        }
    }

    /// Where a possible step leads.
    #[must_use]
    pub fn after(&self, state: &State, step: Step) -> State {
        let mut next = state.clone();
        match step {
            Step::TakeIn(ino) => next.take_in(ino),
            Step::Refuse(ino) => next.refuse(ino),
            Step::Open(ino) => next.kernel.open.put(ino),
            Step::Close(ino) => self.close(&mut next, ino),
            Step::Evict(ino) => next.evict(ino),
            Step::Serve(request) => self.serve(&mut next, request),
            Step::ServeInVain(request) => self.serve_in_vain(&mut next, request),
            Step::Reply(worker) => self.reply(&mut next, worker),
            Step::ReplyPart(worker) => self.reply_part(&mut next, worker),
            Step::Fail(worker) => next.daemon.take_worker(worker),
            Step::Count(worker) => Self::count(&mut next, worker),
            Step::Forget { ino, count } => self.forget(&mut next, ino, count),
            Step::Free(ino) => self.free(&mut next, ino),
            Step::Sweep => self.sweep(&mut next),
            Step::Commit => next.committed = next.now.clone(),
            Step::Lose => self.lose(&mut next),
            Step::CreateBeside(name) => Self::create_beside(&mut next, name),
            Step::UnlinkBeside(name) => self.unlink_beside(&mut next, name),
            Step::Mislist(name) => Self::mislist(&mut next, name),
            Step::UnlinkAlone(name) => self.unlink_alone(&mut next, name),
            Step::Start => self.start(&mut next),
            Step::Mount => next.phase = Phase::Mounted,
            Step::Unmount | Step::End => self.end(&mut next),
            Step::Cut => next.cut(),
            Step::Kill => next = State::at_rest(next.committed, Phase::Killed),
        }
        next
    }
}
