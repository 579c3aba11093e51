//! External programs, each bounded in time and ended with everything that it started.
//!
//! Output goes to unnamed files rather than pipes: a daemon that a program leaves behind inherits
//! them, and a reader that waits for the end of a pipe would then wait for the daemon.

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take unless it says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// A program to run.
pub struct Program {
    command: Command,
    timeout: Duration,
    input: Option<Vec<u8>>,
}

/// A program that runs beside this one; ended when dropped.
pub struct Running {
    child: Child,
    line: String,
    timeout: Duration,
    started: Instant,
    stdout: File,
    stderr: File,
    finished: bool,
}

/// What a program left.
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    /// The command line, as a person would type it.
    pub line: String,
}

impl Program {
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.env("LC_ALL", "C.UTF-8");
        Self { command, timeout: DEFAULT_TIMEOUT, input: None }
    }

    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.command.arg(word);
        self
    }

    pub fn args<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.command.args(words);
        self
    }

    pub fn dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    fn line(&self) -> String {
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        words.map(|word| quote(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
    }

    /// Starts it.
    pub fn start(mut self) -> Result<Running> {
        let line = self.line();
        let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let stdin = match self.input.take() {
            None => Stdio::null(),
            Some(bytes) => {
                let mut file = tempfile::tempfile()?;
                file.write_all(&bytes)?;
                file.seek(SeekFrom::Start(0))?;
                file.into()
            }
        };
        self.command.process_group(0).stdin(stdin).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        let child = self.command.spawn().with_context(|| format!("cannot start `{line}`"))?;
        let started = Instant::now();
        Ok(Running { child, line, timeout: self.timeout, started, stdout, stderr, finished: false })
    }

    /// Runs it to its end, whatever its exit status.
    pub fn run(self) -> Result<Finished> {
        self.start()?.wait()
    }

    /// Runs it; an exit status other than 0 is an error that shows its last words.
    pub fn succeed(self) -> Result<Finished> {
        self.run()?.require_success()
    }

    /// Runs it as [`Program::succeed`] and answers its standard output without the end of line.
    pub fn answer(self) -> Result<String> {
        Ok(self.succeed()?.stdout.trim_end().to_owned())
    }
}

impl Running {
    /// The process id, also that of its process group.
    pub fn id(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// What it has written to standard output so far.
    pub fn output_so_far(&self) -> Result<String> {
        // The offset is shared with the program, which writes where it stands: only positioned reads.
        let mut text = vec![0; usize::try_from(self.stdout.metadata()?.len())?];
        self.stdout.read_exact_at(&mut text, 0)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Waits for its end, and ends it with all that it started when its time is up.
    pub fn wait(mut self) -> Result<Finished> {
        let mut pause = Duration::from_millis(1);
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if self.started.elapsed() > self.timeout {
                self.kill();
                let tail = self.collect().map(|(out, err)| last_words(&out, &err)).unwrap_or_default();
                bail!("`{}` did not end within {} s{tail}", self.line, self.timeout.as_secs());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        self.finished = true;
        let (stdout, stderr) = self.collect()?;
        Ok(Finished { status, stdout, stderr, line: self.line.clone() })
    }

    fn collect(&mut self) -> Result<(String, String)> {
        let read = |file: &mut File| -> Result<String> {
            file.seek(SeekFrom::Start(0))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok((read(&mut self.stdout)?, read(&mut self.stderr)?))
    }

    /// Kills the process group; a process that sleeps in a dead file system is left behind after a while.
    fn kill(&mut self) {
        self.finished = true;
        let _ = killpg(Pid::from_raw(self.id()), Signal::SIGKILL);
        for _ in 0..200 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.finished {
            self.kill();
        }
    }
}

impl Finished {
    /// An error that shows the command line and its last words, unless it succeeded.
    pub fn require_success(self) -> Result<Self> {
        if !self.status.success() {
            bail!("`{}` {}{}", self.line, self.describe_status(), last_words(&self.stdout, &self.stderr));
        }
        Ok(self)
    }

    /// "exited with 1", "was ended by SIGKILL".
    pub fn describe_status(&self) -> String {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exited with {code}"),
            (None, Some(signal)) => {
                let name =
                    Signal::try_from(signal).map_or_else(|_| signal.to_string(), |signal| signal.to_string());
                format!("was ended by {name}")
            }
            (None, None) => "ended".to_owned(),
        }
    }

    /// Both outputs' last lines, indented, for a message.
    pub fn last_words(&self) -> String {
        last_words(&self.stdout, &self.stderr)
    }
}

/// The first and the last lines of each output: programs say what went wrong in one or the other place.
fn last_words(stdout: &str, stderr: &str) -> String {
    const FIRST: usize = 4;
    const LAST: usize = 10;
    let mut text = String::new();
    for output in [stdout, stderr] {
        let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
        let left_out = lines.len().saturating_sub(FIRST + LAST);
        for (number, line) in lines.iter().enumerate() {
            if number < FIRST || number >= FIRST + left_out {
                text.push_str("\n      | ");
                text.push_str(line);
            } else if number == FIRST {
                text.push_str("\n      | ...");
            }
        }
    }
    text
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Whether a program of this name is on the PATH.
pub fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([OsString::from("/usr/sbin").into()])
        .any(|directory| directory.join(name).is_file())
}
