//! `agentfs conform`: whether a file system, or a program, does what SPEC.md says.
//!
//! Keeps ORA-30 to ORA-32 at the command line. Which traces are run, and what is allowed, is decided in the module
//! [`oracle`](crate::oracle).

mod profile;
mod report;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentfs_model::generate::{Alphabet, Kind};
use agentfs_model::profile::Profile;
use agentfs_model::trace::RootSetting;
use agentfs_model::values::Credentials;
use clap::{ArgGroup, Args};
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::exit::{Exit, Failure};
use super::oracle::subject::{Limit, Subject};
use super::output::Output;
use crate::oracle::conform::{Caller, run_vectors};
use crate::oracle::host::HostDirectory;
use crate::oracle::machine;
use crate::oracle::play::Look;
use crate::oracle::search::{Findings, Search, search_while};
use profile::Choice;
use report::Report;

/// Most steps of a random trace.
const LENGTH: usize = 60;
/// How long one kind of finding may be made smaller.
const SHRINK: Duration = Duration::from_secs(30);
/// Kinds of findings among random traces after which no more are drawn.
const MOST_KINDS: usize = 20;

/// Try another file system, or another implementation, against the rules of SPEC.md
///
/// Runs the conformance vectors of spec/vectors/ and random traces, and shows what passed, by family of rules, and each
/// divergence in words. A directory is tried by system calls, by processes with several users when user 0 asks. A program
/// is asked one call after another by the protocol of spec/PROTOCOL.md.
#[derive(Args)]
#[command(group(ArgGroup::new("subject").required(true).args(["dir", "exec"])))]
#[command(after_help = "\
Profiles say what may differ: agentfs (default of --exec), nothing: exactly what SPEC.md says; mount, AgentFS through the
kernel; ext4, tmpfs; linux, what file systems of the kernel have in common; posix, what POSIX leaves open besides; or a file
with a profile as in the setting of a trace. Of a directory the file system says which, posix if it is none of these.

Ends with 10 when something diverged, or the implementation hung, died or answered nonsense.

Examples: agentfs conform --dir ./mnt/empty --profile mount --random 1000
          agentfs conform --exec 'python3 spec/adapters/minimal.py'

JSON: {name, profile, seed, families: {family: {passed, diverged, unsupported}}, random: {passed, diverged, unsupported,
  steps}, not_run, divergences: [{vector or null, times, words, rules, trace: null or path, step, ...}], skipped: [{vector,
  why}], pairs}")]
pub(crate) struct Conform {
    /// A directory on the file system to try; it must be empty, and is left so
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// A program that speaks the protocol, run by the shell
    #[arg(long, value_name = "CMD")]
    exec: Option<OsString>,
    /// How many random traces
    #[arg(long, value_name = "N", default_value_t = 100)]
    random: u32,
    /// Where the random numbers begin; printed, so that a run can be repeated [default: the time]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// What may differ: posix, linux, ext4, tmpfs, mount, agentfs, or a FILE.json
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Choice>,
    /// Write the trace of each divergence into this directory, made when missing
    #[arg(long, value_name = "DIR")]
    trace_dir: Option<PathBuf>,
    #[command(flatten)]
    limit: Limit,
}

impl Conform {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let seed = self.seed.unwrap_or_else(time_as_seed);
        let choice = self.choice();
        let (mut subject, profile, mut alphabet) = self.prepare(&choice)?;
        let implementation = &mut *subject.implementation;
        let name = match &self.dir {
            Some(directory) => directory.display().to_string(),
            None => implementation.name().to_owned(),
        };
        let stop = Interruption::watch()?;
        let progress = Progress::new(self.random);
        let caller = Caller(alphabet.processes.first().cloned().unwrap_or_default());
        let vectors =
            run_vectors(implementation, &profile, &caller, |vector| progress.step(vector) && stop.goes_on());
        let mut random = Findings::default();
        // Whoever did not answer the vectors to their end would not answer these.
        if vectors.not_run == 0 && self.random > 0 {
            alphabet.without.extend(
                Kind::WEIGHTS
                    .iter()
                    .map(|(_, kind)| *kind)
                    .filter(|kind| !implementation.supports(kind.operation())),
            );
            let how = Search {
                seed,
                cases: self.random,
                until: None,
                length: LENGTH,
                look: Look::EveryStep,
                shrink: SHRINK,
            };
            let goes_on = |case: u32, found: &Findings| {
                let kinds = found.found.len();
                progress.step(&format!("random trace {}", case + 1)) && stop.goes_on() && kinds < MOST_KINDS
            };
            random = search_while(&alphabet, implementation, &how, goes_on);
            if random.passed == 0 && random.found.is_empty() && alphabet.processes.len() > 1 {
                // Refused for its processes: then with one alone.
                alphabet.processes.truncate(1);
                random = search_while(&alphabet, implementation, &how, |_, _| stop.goes_on());
            }
        }
        progress.end();
        drop(subject);
        let interrupted = !stop.goes_on();
        let report = Report { name, profile: choice.to_string(), seed, vectors, random };
        let traces = match &self.trace_dir {
            Some(directory) => report.save(directory)?,
            None => Vec::new(),
        };
        report.show(&traces, output)?;
        output.flush()?;
        if interrupted {
            return Err(Failure::new(Exit::Refused, format!("{}: interrupted before the end", report.name)));
        }
        match report.divergences() {
            0 => Ok(()),
            1 => Err(Failure::new(Exit::Unsound, format!("{}: 1 divergence", report.name))),
            several => Err(Failure::new(Exit::Unsound, format!("{}: {several} divergences", report.name))),
        }
    }

    /// The implementation, what may differ, and what random traces are made of.
    fn prepare(&self, choice: &Choice) -> Result<(Subject, Profile, Alphabet), Failure> {
        match (&self.dir, &self.exec) {
            (Some(directory), _) => {
                let chosen = choice.profile()?;
                let at = |error| Failure::host("make a file in", directory, error);
                let subject = Subject::directory(directory, self.limit)?;
                let profile = if matches!(choice, Choice::File(_)) {
                    chosen
                } else {
                    machine::adapted(chosen, directory).map_err(at)?
                };
                let alphabet = of_directory(&profile);
                Ok((subject, profile, alphabet))
            }
            (None, Some(command)) => {
                let profile = choice.profile()?;
                let subject = Subject::program(command.clone(), self.limit)?;
                let alphabet = Alphabet { profile: profile.clone(), ..Alphabet::library() };
                Ok((subject, profile, alphabet))
            }
            (None, None) => Err(Failure::usage("name a directory or a program: --dir or --exec")),
        }
    }

    fn choice(&self) -> Choice {
        match (&self.profile, &self.dir) {
            (Some(choice), _) => choice.clone(),
            (None, Some(directory)) => Choice::of_directory(directory),
            (None, None) => Choice::Agentfs,
        }
    }
}

/// What random traces on a directory of this machine are made of.
fn of_directory(profile: &Profile) -> Alphabet {
    let largest = profile.largest_file;
    let mut alphabet = Alphabet { profile: profile.clone(), ..Alphabet::linux() };
    alphabet.limits =
        [1 << 40, largest - 1, largest, largest.saturating_add(1), i64::MAX as u64, 1 << 63].to_vec();
    let own: Credentials = HostDirectory::own_credentials();
    if !own.is_superuser() {
        // One process, which is ours, and owns everything.
        alphabet.roots = vec![RootSetting { uid: own.uid, gid: own.gid, permissions: 0o777 }];
        alphabet.ids = vec![own.uid];
        alphabet.processes = vec![own];
    }
    alphabet
}

fn time_as_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Whether somebody wants the command to end: it does between two traces, and cleans up.
struct Interruption(Arc<AtomicBool>);

impl Interruption {
    fn watch() -> Result<Self, Failure> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let registered = signal_hook::flag::register(signal, Arc::clone(&flag));
            registered
                .map_err(|error| Failure::new(Exit::Refused, format!("cannot wait for signals: {error}")))?;
        }
        Ok(Self(flag))
    }

    fn goes_on(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// How far it has come, on a terminal.
struct Progress(ProgressBar);

impl Progress {
    fn new(random: u32) -> Self {
        let steps = crate::oracle::vectors::all().len() as u64 + u64::from(random);
        let bar = ProgressBar::new(steps);
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Always true, so that it can stand in a condition.
    fn step(&self, what: &str) -> bool {
        self.0.set_message(what.to_owned());
        self.0.inc(1);
        true
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }
}
