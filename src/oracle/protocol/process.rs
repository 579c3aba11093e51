//! Another program as an [`Implementation`]: started, spoken to in the protocol, and killed when it does not keep it.
//!
//! Keeps ORA-1 to ORA-8 from the side that asks. What it answers is taken as it is: whether it is allowed is for the
//! model to say.

use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

use agentfs_model::call::{Call, Operation};
use agentfs_model::outcome::Outcome;
use agentfs_model::trace::{Setting, Step};
use agentfs_model::values::Timestamp;

use super::{Frame, Hello, OPERATIONS, Reply, VERSION};
use crate::oracle::clock;
use crate::oracle::conversation::{Conversation, shown};
use crate::oracle::implementation::{Answer, Between, During, Failure, Implementation, Problem};

/// The longest line that an answer may be, without the bytes that a read has asked for.
const LONGEST_LINE: usize = 16 << 20;
/// What a byte can take in a line, as in "\u0001".
const ESCAPED: u64 = 6;

/// How a program is started.
#[derive(Clone, Debug)]
pub enum Invocation {
    /// By the shell.
    Shell(OsString),
    /// By its name or path, with its arguments.
    Program(OsString, Vec<OsString>),
}

impl Invocation {
    fn command(&self) -> Command {
        match self {
            Self::Shell(text) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(text);
                command
            }
            Self::Program(program, arguments) => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
        }
    }
}

/// Another program that speaks the protocol. It runs many traces, and is started anew after a failure.
#[derive(Debug)]
pub struct Process {
    invocation: Invocation,
    limit: Duration,
    running: Option<Conversation>,
    hello: Hello,
}

impl Process {
    /// How long an answer may take unless something else is said.
    pub const LIMIT: Duration = Duration::from_secs(10);

    /// Starts the program, which must say hello. Each of its answers may take as long as `limit`.
    ///
    /// # Errors
    /// When it cannot be started, or does not say hello.
    pub fn start(invocation: Invocation, limit: Duration) -> Result<Self, Failure> {
        let hello = Hello { protocol: VERSION, name: String::new(), operations: Vec::new() };
        let mut process = Self { invocation, limit, running: None, hello };
        process.run().map_err(|problem| problem.during(During::Start))?;
        Ok(process)
    }

    fn run(&mut self) -> Result<(), Problem> {
        let started = Conversation::start(&mut self.invocation.command());
        let mut conversation = started.map_err(|error| Problem::Start(error.to_string()))?;
        let line = conversation.hear(self.limit, LONGEST_LINE)?;
        let nonsense = |why: String| Problem::Nonsense { line: 1, said: shown(&line), why };
        let hello = match serde_json::from_slice(&line) {
            Ok(Reply { hello: Some(hello), outcome: None, between: None, failure: None }) => hello,
            Ok(Reply { failure: Some(failure), .. }) => return Err(Problem::GaveUp(failure)),
            Ok(_) => return Err(nonsense("the first line must be the hello".into())),
            Err(error) => return Err(nonsense(error.to_string())),
        };
        if hello.protocol != VERSION {
            return Err(nonsense(format!("version {VERSION} of the protocol is spoken here")));
        }
        if let Some(unknown) = hello.operations.iter().find(|name| !OPERATIONS.contains(&name.as_str())) {
            return Err(nonsense(format!("there is no operation {unknown:?}")));
        }
        self.hello = hello;
        self.running = Some(conversation);
        Ok(())
    }

    /// Asks, and takes the answer apart. After a problem the program is gone.
    fn ask(&mut self, request: &[u8], longest: usize) -> Result<(Outcome, Between), Problem> {
        let mut conversation = self.running.take().ok_or(Problem::NotBegun)?;
        let before = clock::before();
        let line = conversation.ask(request, self.limit, longest)?;
        let after = clock::after();
        let nonsense =
            |why: String| Problem::Nonsense { line: conversation.lines(), said: shown(&line), why };
        let (outcome, between) = match serde_json::from_slice(&line) {
            Ok(Reply { outcome: Some(outcome), between, failure: None, hello: None }) => (outcome, between),
            Ok(Reply { failure: Some(failure), .. }) => return Err(Problem::GaveUp(failure)),
            Ok(_) => return Err(nonsense("it must have an \"outcome\"".into())),
            Err(error) => return Err(nonsense(error.to_string())),
        };
        if between.is_some_and(|(before, after)| before > after) {
            return Err(nonsense("\"between\" must be in order".into()));
        }
        self.running = Some(conversation);
        // Whoever gives no readings was called between ours.
        Ok((outcome, between.unwrap_or((before, after))))
    }

    fn frame(&mut self, frame: &Frame) -> Result<Between, Problem> {
        let (outcome, between) = self.ask(&json(frame), LONGEST_LINE)?;
        match outcome {
            Outcome::Done => Ok(between),
            Outcome::Unsupported(why) => Err(Problem::Refused(why)),
            outcome => {
                let line = self.running.take().map_or(0, |conversation| conversation.lines());
                let why = "the beginning or end of a trace is \"done\" or \"unsupported\"".to_owned();
                Err(Problem::Nonsense { line, said: shown(&json(&outcome)), why })
            }
        }
    }
}

impl Implementation for Process {
    fn name(&self) -> &str {
        &self.hello.name
    }

    fn supports(&self, operation: &str) -> bool {
        self.hello.operations.iter().any(|name| name == operation)
    }

    fn begin(&mut self, setting: &Setting) -> Result<Option<Between>, Failure> {
        let begun = match self.running {
            Some(_) => Ok(()),
            None => self.run(),
        };
        let begun = begun.and_then(|()| self.frame(&Frame::Begin(Box::new(setting.clone()))));
        begun.map(Some).map_err(|problem| problem.during(During::Begin))
    }

    fn call(&mut self, step: u32, now: Option<Timestamp>, call: &Call) -> Result<Answer, Failure> {
        let request = json(&Step { call: call.clone(), now, outcome: None, between: None, allowed: None });
        match self.ask(&request, longest_answer(&call.operation)) {
            Ok((outcome, between)) => Ok(Answer { outcome, between: Some(between) }),
            Err(problem) => Err(problem.during(During::Step { number: step, call: shown(&request) })),
        }
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.frame(&Frame::End {}).map(|_| ()).map_err(|problem| problem.during(During::End))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(conversation) = self.running.take() {
            conversation.end();
        }
    }
}

fn longest_answer(operation: &Operation) -> usize {
    let asked = match operation {
        Operation::Read { length, .. } | Operation::Pread { length, .. } => *length,
        _ => 0,
    };
    let asked = asked.min(agentfs_model::bytes::MAX_BYTES) * ESCAPED;
    LONGEST_LINE + usize::try_from(asked).unwrap_or(0)
}

fn json<T: serde::Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("requests are maps with text as keys, written to memory")
}
