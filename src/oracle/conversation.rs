//! A child process that is told one line and answers one line, within a time and a length.
//!
//! Whatever the child does, the caller gets an answer or a [`Problem`] when the time is over: writing, reading and the
//! child's standard error share one `poll`, so neither side waits for the other for ever. After a problem the child's
//! whole process group is killed. Keeps ORA-5 (the time limit), ORA-6 (lengths, and what was not asked for) and
//! ORA-8 (nothing is left running).

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::implementation::Problem;

/// How many lines of its standard error a failure shows, and how long they may be.
const STDERR_LINES: usize = 10;
const STDERR_LINE: usize = 300;
/// How much of a line that is wrong a failure shows.
const SHOWN: usize = 200;
/// How long a child that has closed its output may take to end, and one that was asked to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// A child that is spoken to. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Conversation {
    child: Child,
    group: Pid,
    /// None when it reads no more.
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    /// None when it writes no more.
    stderr: Option<ChildStderr>,
    /// What it said and nobody has taken yet.
    heard: Vec<u8>,
    /// How far `heard` has been searched for the end of a line.
    searched: usize,
    /// How many lines were taken.
    lines: u64,
    complaints: Complaints,
    ended: bool,
}

/// The last lines of a standard error.
#[derive(Debug, Default)]
struct Complaints {
    lines: VecDeque<String>,
    unfinished: Vec<u8>,
}

impl Complaints {
    fn hear(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => self.finish(),
                // The rest of a long line is dropped.
                _ if self.unfinished.len() < STDERR_LINE => self.unfinished.push(*byte),
                _ => {}
            }
        }
    }

    fn finish(&mut self) {
        if self.lines.len() == STDERR_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(shown(&self.unfinished));
        self.unfinished.clear();
    }

    fn take(&mut self) -> Vec<String> {
        if !self.unfinished.is_empty() {
            self.finish();
        }
        self.lines.drain(..).collect()
    }
}

/// The beginning of a line as a message shows it: control characters escaped, a long one cut.
pub(crate) fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN * 4)]).into_owned();
    let mut shown: String = text.chars().take(SHOWN).flat_map(escaped).collect();
    if text.chars().count() > SHOWN || line.len() > SHOWN * 4 {
        shown.push_str("...");
    }
    shown
}

fn escaped(character: char) -> impl Iterator<Item = char> {
    let escape = character.is_control();
    let plain = (!escape).then_some(character);
    plain.into_iter().chain(escape.then(|| character.escape_default()).into_iter().flatten())
}

impl Conversation {
    /// Starts the command, in a process group of its own.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let group = Pid::from_child(&child);
        let piped = "all three were asked to be pipes";
        let stdin = child.stdin.take().expect(piped);
        let stdout = child.stdout.take().expect(piped);
        let stderr = child.stderr.take().expect(piped);
        let conversation = Self {
            child,
            group,
            stdin: Some(stdin),
            stdout,
            stderr: Some(stderr),
            heard: Vec::new(),
            searched: 0,
            lines: 0,
            complaints: Complaints::default(),
            ended: false,
        };
        for end in conversation.ends() {
            rustix::fs::fcntl_setfl(end, rustix::fs::fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        Ok(conversation)
    }

    /// Our ends of the pipes; the child's are other descriptions, so that it may block on its own.
    fn ends(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let stdin = self.stdin.as_ref().map(AsFd::as_fd);
        let stderr = self.stderr.as_ref().map(AsFd::as_fd);
        [stdin, Some(self.stdout.as_fd()), stderr].into_iter().flatten()
    }

    /// How many lines it has said that were taken.
    pub(crate) const fn lines(&self) -> u64 {
        self.lines
    }

    /// Says `request`, whose end of line is added here, and waits for the line that answers it, without its end.
    pub(crate) fn ask(
        &mut self,
        request: &[u8],
        limit: Duration,
        longest: usize,
    ) -> Result<Vec<u8>, Problem> {
        // What is there before we ask was said unasked. Its end is noticed below.
        let _ = self.hear_output();
        if !self.heard.is_empty() {
            let problem = Problem::Unasked { line: self.lines + 1, said: shown(first_line(&self.heard)) };
            self.kill();
            return Err(problem);
        }
        let mut line = Vec::with_capacity(request.len() + 1);
        line.extend_from_slice(request);
        line.push(b'\n');
        self.exchange(&line, limit, longest)
    }

    /// Waits for a line that is said unasked: the first one.
    pub(crate) fn hear(&mut self, limit: Duration, longest: usize) -> Result<Vec<u8>, Problem> {
        self.exchange(&[], limit, longest)
    }

    fn exchange(&mut self, mut request: &[u8], limit: Duration, longest: usize) -> Result<Vec<u8>, Problem> {
        let deadline = Instant::now() + limit;
        loop {
            self.speak(&mut request);
            // Whoever has read only a part of the request may answer nevertheless; the rest is waited for.
            if let (true, Some(line)) = (request.is_empty(), self.take_line()) {
                return Ok(line);
            }
            if self.heard.len() > longest {
                let said = shown(&self.heard);
                self.kill();
                return Err(Problem::TooLong { line: self.lines + 1, longest, said });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.kill();
                return Err(Problem::Hung { limit, stderr: self.complaints.take() });
            }
            self.wait(!request.is_empty(), left);
            if self.hear_output().is_err() && !self.heard[self.searched..].contains(&b'\n') {
                return Err(self.died(left));
            }
            self.hear_complaints();
        }
    }

    /// Waits until one of the pipes has something to be done, or the time is over.
    fn wait(&self, speaking: bool, left: Duration) {
        let mut waited = vec![PollFd::new(&self.stdout, PollFlags::IN)];
        if let (true, Some(stdin)) = (speaking, &self.stdin) {
            waited.push(PollFd::new(stdin, PollFlags::OUT));
        }
        if let Some(stderr) = &self.stderr {
            waited.push(PollFd::new(stderr, PollFlags::IN));
        }
        let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
        let left = Timespec { tv_sec: seconds, tv_nsec: i64::from(left.subsec_nanos()) };
        // An interrupted wait is a short one.
        let _ = poll(&mut waited, Some(&left));
    }

    fn speak(&mut self, request: &mut &[u8]) {
        while let (Some(stdin), false) = (&mut self.stdin, request.is_empty()) {
            match stdin.write(request) {
                Ok(count) => *request = &request[count..],
                Err(error) if is_transient(&error) => return,
                // It reads no more. What it answers, or that it is gone, is to be seen on its output.
                Err(_) => {
                    self.stdin = None;
                    *request = &[];
                }
            }
        }
        if self.stdin.is_none() {
            *request = &[];
        }
    }

    /// Reads what its standard output has now; fails at its end.
    fn hear_output(&mut self) -> io::Result<()> {
        self.heard.reserve(1 << 16);
        match rustix::io::read(&self.stdout, spare_capacity(&mut self.heard)).map_err(io::Error::from) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(()),
            Err(error) if is_transient(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn hear_complaints(&mut self) {
        let mut buffer = [0; 1 << 12];
        while let Some(stderr) = &mut self.stderr {
            match stderr.read(&mut buffer) {
                Ok(count) if count > 0 => self.complaints.hear(&buffer[..count]),
                Err(error) if is_transient(&error) => return,
                _ => self.stderr = None,
            }
        }
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let Some(end) = self.heard[self.searched..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.heard.len();
            return None;
        };
        let rest = self.heard.split_off(self.searched + end + 1);
        let mut line = std::mem::replace(&mut self.heard, rest);
        line.pop();
        self.searched = 0;
        self.lines += 1;
        Some(line)
    }

    /// Its output has ended: finds out how it ended itself.
    fn died(&mut self, left: Duration) -> Problem {
        let ended = self.wait_for_exit(left.min(PATIENCE));
        self.hear_complaints();
        let status = self.kill().filter(|_| ended);
        Problem::Died { status, stderr: self.complaints.take() }
    }

    /// Whether it ends within this time. It stays a zombie, so that its group's number is nobody else's.
    fn wait_for_exit(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let mut pause = Duration::from_micros(50);
        loop {
            if !matches!(waitid(WaitId::Pid(self.group), options), Ok(None)) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Kills it and all that it started in its group, and says how it ended.
    fn kill(&mut self) -> Option<ExitStatus> {
        self.stdin = None;
        if self.ended {
            return None;
        }
        self.ended = true;
        // Its own number is the group's until it has been waited for.
        let _ = kill_process_group(self.group, Signal::KILL);
        // A process whose file system does not answer cannot always be killed: then it is left to the system.
        if self.wait_for_exit(PATIENCE) { self.child.wait().ok() } else { None }
    }

    /// Lets it end by itself: its input is closed. What has not ended then is killed.
    pub(crate) fn end(mut self) {
        self.stdin = None;
        self.wait_for_exit(PATIENCE);
        self.kill();
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.kill();
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == b'\n').next().unwrap_or(bytes)
}
