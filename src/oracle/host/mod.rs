//! A real directory as an [`Implementation`]: traces run on it by real system calls.
//!
//! Each process of a trace is a process of the machine, with its credentials and its umask, in the directory as its root.
//! One more, user 0, empties the directory before each trace and looks at the tree. They are started once and serve
//! many traces. What lies below the directory is not this folder's business: a [`Lifecycle`] says what happens to it
//! when a trace opens it again or kills it. Keeps ORA-3 (a fresh tree), ORA-5 to ORA-8 (failures, through the same
//! conversation as the protocol's) and ORA-12 to ORA-15.

mod caller;
mod client;
mod kernel;
mod lifecycle;
mod listing;
mod message;
mod observe;
mod status;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agentfs_model::bytes::Bytes;
use agentfs_model::call::{Call, OpenFlags, Operation, Place};
use agentfs_model::outcome::Outcome;
use agentfs_model::trace::Setting;
use agentfs_model::values::{Credentials, FileKind, Handle, Timestamp};

use super::clock;
use super::conversation::{Conversation, shown};
use super::implementation::{Answer, Between, During, Failure, Implementation, Problem};
use super::protocol::OPERATIONS;
use super::tree::Tree;
use message::{Reply, Request};

pub use client::run as run_client;
pub use lifecycle::{Lifecycle, NotTaken, PlainDirectory};

/// What the command line calls a client process.
pub const CLIENT_COMMAND: &str = "oracle-client";
/// The longest answer of a client: a tree whose files are as large as a trace can hold.
const LONGEST_ANSWER: usize = 1 << 30;
/// The umask that every process begins with.
const FIRST_UMASK: u32 = 0o022;

/// A directory that traces are run on.
pub struct HostDirectory {
    name: String,
    /// The program that the clients are.
    program: PathBuf,
    lifecycle: Box<dyn Lifecycle>,
    limit: Duration,
    /// User 0, who empties and looks. None after a failure, and before the first trace.
    keeper: Option<Client>,
    /// The processes of the trace come first; an earlier trace may have had more.
    clients: Vec<Client>,
    /// The processes of the trace that runs.
    processes: Vec<Credentials>,
    /// Whether the trace has made devices.
    devices: bool,
    running: bool,
}

/// A client process.
struct Client {
    conversation: Conversation,
    inside: bool,
}

impl Client {
    fn start(program: &Path, limit: Duration) -> Result<Self, Problem> {
        let started = Conversation::start(Command::new(program).arg(CLIENT_COMMAND));
        let mut conversation =
            started.map_err(|error| Problem::Start(format!("{}: {error}", program.display())))?;
        let ready = conversation.hear(limit, LONGEST_ANSWER).map_err(|problem| match problem {
            Problem::Died { stderr, .. } => {
                Problem::Start(format!("it needs user 0, or a user namespace: {}", stderr.join(" ")))
            }
            problem => problem,
        })?;
        match serde_json::from_slice(&ready) {
            Ok(Reply::Done(None)) => {}
            _ => return Err(Problem::Start(format!("{} is not agentfs", program.display()))),
        }
        Ok(Self { conversation, inside: false })
    }

    fn ask(&mut self, request: &Request, limit: Duration) -> Result<Reply, Problem> {
        let request = serde_json::to_vec(request).expect("requests are maps with text as keys");
        let line = self.conversation.ask(&request, limit, LONGEST_ANSWER)?;
        let nonsense = |why: serde_json::Error| Problem::Nonsense {
            line: self.conversation.lines(),
            said: shown(&line),
            why: why.to_string(),
        };
        match serde_json::from_slice(&line).map_err(nonsense)? {
            Reply::Errno { doing, number } => Err(Problem::Errno { doing, number }),
            reply => Ok(reply),
        }
    }

    /// Asks for something that is only done.
    fn have(&mut self, request: &Request, limit: Duration) -> Result<Option<Between>, Problem> {
        match self.ask(request, limit)? {
            Reply::Done(between) => Ok(between),
            reply => Err(self.confused(&reply)),
        }
    }

    fn confused(&self, reply: &Reply) -> Problem {
        Problem::Nonsense {
            line: self.conversation.lines(),
            said: shown(format!("{reply:?}").as_bytes()),
            why: "it answers another request".into(),
        }
    }

    fn enter(
        &mut self,
        directory: &Path,
        as_user: Option<&Credentials>,
        limit: Duration,
    ) -> Result<(), Problem> {
        let directory = Bytes::from(directory.as_os_str().as_bytes());
        self.have(&Request::Enter { directory, credentials: as_user.cloned() }, limit)?;
        self.inside = true;
        Ok(())
    }

    fn leave(&mut self, limit: Duration) -> Result<(), Problem> {
        if self.inside {
            self.have(&Request::Leave, limit)?;
            self.inside = false;
        }
        Ok(())
    }
}

impl HostDirectory {
    /// How long a call may take unless something else is said.
    pub const LIMIT: Duration = Duration::from_secs(10);

    /// Runs traces on what `lifecycle` provides, by processes of `program`, which is `agentfs` itself. Each call may
    /// take as long as `limit`.
    pub fn new(program: impl Into<OsString>, lifecycle: impl Lifecycle + 'static, limit: Duration) -> Self {
        Self {
            name: lifecycle.name(),
            program: PathBuf::from(program.into()),
            lifecycle: Box::new(lifecycle),
            limit,
            keeper: None,
            clients: Vec::new(),
            processes: Vec::new(),
            devices: false,
            running: false,
        }
    }

    /// The user that this process is, who alone can be a process of a trace unless it is user 0.
    #[must_use]
    pub fn own_credentials() -> Credentials {
        let [uid, gid] = [rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()];
        Credentials { uid, gid, groups: Vec::new() }
    }

    /// Every client that there is, the keeper first.
    fn everyone(&mut self) -> impl Iterator<Item = &mut Client> {
        self.keeper.iter_mut().chain(&mut self.clients)
    }

    fn all_leave(&mut self) -> Result<(), Problem> {
        let limit = self.limit;
        self.everyone().try_for_each(|client| client.leave(limit))
    }

    fn all_enter(&mut self) -> Result<(), Problem> {
        let directory = self.lifecycle.directory().to_owned();
        let limit = self.limit;
        if let Some(keeper) = &mut self.keeper {
            keeper.enter(&directory, None, limit)?;
        }
        for (client, credentials) in self.clients.iter_mut().zip(&self.processes) {
            client.enter(&directory, Some(credentials), limit)?;
        }
        Ok(())
    }

    /// ORA-15: whether this user can be all of these.
    fn can_provide(setting: &Setting) -> Result<(), Problem> {
        let own = Self::own_credentials();
        let root = setting.root;
        let is_own = setting.processes.iter().all(|process| *process == own);
        if own.is_superuser() || (is_own && (root.uid, root.gid) == (own.uid, own.gid)) {
            return Ok(());
        }
        let Credentials { uid, gid, .. } = own;
        Err(Problem::Refused(format!("only user 0 can be others than user {uid} of group {gid}")))
    }

    fn prepare(&mut self, setting: &Setting) -> Result<Option<Between>, Problem> {
        Self::can_provide(setting)?;
        self.all_leave()?;
        self.lifecycle.renew().map_err(|error| Problem::Start(error.to_string()))?;
        self.processes.clone_from(&setting.processes);
        self.devices = false;
        if self.keeper.is_none() {
            self.keeper = Some(Client::start(&self.program, self.limit)?);
        }
        while self.clients.len() < self.processes.len() {
            self.clients.push(Client::start(&self.program, self.limit)?);
        }
        self.all_enter()?;
        let limit = self.limit;
        let keeper = self.keeper.as_mut().ok_or(Problem::NotBegun)?;
        let between = keeper.have(&Request::Empty(setting.root), limit)?;
        if self.lifecycle.is_served() {
            // What it begins with must outlive a crash.
            let (handle, path) = (Handle(0), Place::from("/"));
            let open =
                Operation::Open { path, flags: OpenFlags::READ | OpenFlags::DIRECTORY, mode: 0, handle };
            for operation in [open, Operation::Fsync { handle }, Operation::Close { handle }] {
                keeper.ask(&Request::Call { operation, devices: false }, limit)?;
            }
        }
        for client in self.clients.iter_mut().take(self.processes.len()) {
            let operation = Operation::Umask { mask: FIRST_UMASK };
            client.ask(&Request::Call { operation, devices: false }, limit)?;
        }
        Ok(between)
    }

    /// Closes and opens the file system, or kills what serves it and starts that again.
    fn administer(&mut self, operation: &Operation) -> Result<Answer, Problem> {
        if !self.lifecycle.is_served() {
            let why = "nothing that could be stopped serves a plain directory".to_owned();
            return Ok(Answer { outcome: Outcome::Unsupported(why), between: None });
        }
        let broken = |error: std::io::Error| Problem::GaveUp(error.to_string());
        let before = clock::before();
        let outcome = if let Operation::Reopen { read_only } = operation {
            self.all_leave()?;
            self.lifecycle.reopen(*read_only).map_err(broken)?
        } else {
            // While the handles are open: closing them could save what a crash loses.
            self.lifecycle.kill().map_err(broken)?;
            self.all_leave()?;
            self.lifecycle.restart().map_err(broken)?
        };
        let between = Some((before, clock::after()));
        self.all_enter()?;
        Ok(Answer { outcome, between })
    }

    fn step(&mut self, call: &Call) -> Result<Answer, Problem> {
        if matches!(call.operation, Operation::Reopen { .. } | Operation::Crash) {
            return self.administer(&call.operation);
        }
        let index = usize::from(call.by.0);
        if index >= self.processes.len() {
            let why = format!("the setting has no process {index}");
            return Ok(Answer { outcome: Outcome::Unsupported(why), between: None });
        }
        let request = Request::Call { operation: call.operation.clone(), devices: self.devices };
        let client = &mut self.clients[index];
        match client.ask(&request, self.limit)? {
            Reply::Answered(outcome, between) => {
                self.devices |= is_new_device(&call.operation);
                Ok(Answer { outcome, between: Some(between) })
            }
            reply => Err(client.confused(&reply)),
        }
    }

    /// After a failure nothing of what the clients are can be relied on.
    fn give_up(&mut self) {
        self.running = false;
        self.keeper = None;
        self.clients.clear();
    }

    fn settle<T>(
        &mut self,
        result: Result<T, Problem>,
        during: impl FnOnce() -> During,
    ) -> Result<T, Failure> {
        result.map_err(|problem| {
            self.give_up();
            problem.during(during())
        })
    }
}

impl Implementation for HostDirectory {
    fn name(&self) -> &str {
        &self.name
    }

    fn supports(&self, operation: &str) -> bool {
        let administrative = ["reopen", "crash"].contains(&operation);
        OPERATIONS.contains(&operation) && (!administrative || self.lifecycle.is_served())
    }

    fn begin(&mut self, setting: &Setting) -> Result<Option<Between>, Failure> {
        let begun = self.prepare(setting);
        self.running = begun.is_ok();
        match begun {
            Err(problem @ Problem::Refused(_)) => Err(problem.during(During::Begin)),
            begun => self.settle(begun, || During::Begin),
        }
    }

    fn call(&mut self, step: u32, _: Option<Timestamp>, call: &Call) -> Result<Answer, Failure> {
        let answer = if self.running { self.step(call) } else { Err(Problem::NotBegun) };
        self.settle(answer, || {
            let call = serde_json::to_vec(call).expect("calls are maps with text as keys");
            During::Step { number: step, call: shown(&call) }
        })
    }

    fn observe(&mut self) -> Result<Option<Tree>, Failure> {
        let limit = self.limit;
        let seen = match &mut self.keeper {
            Some(keeper) if self.running => match keeper.ask(&Request::Observe, limit) {
                Ok(Reply::Observed(tree)) => Ok(Some(tree)),
                Ok(reply) => Err(keeper.confused(&reply)),
                Err(problem) => Err(problem),
            },
            _ => Err(Problem::NotBegun),
        };
        self.settle(seen, || During::Observation)
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.running = false;
        let left = self.all_leave();
        self.settle(left, || During::End)
    }
}

const fn is_new_device(operation: &Operation) -> bool {
    matches!(operation, Operation::Mknod { kind: FileKind::CharDevice | FileKind::BlockDevice, .. })
}
