//! A gate in a process of its own: bounded in time, and nothing of it left behind when it ends, is late, or
//! somebody presses Ctrl-C: neither mounts, nor processes, nor files.
//!
//! This process adopts whatever the gate's processes leave (it is their "subreaper"), so that it can end
//! exactly those and no others.

use crate::mount::detach_below;
use anyhow::{Context, Result, bail};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs processes one after the other and cleans up after each.
pub struct Apart {
    interruptions: SignalFd,
}

/// How a process ended.
enum Ending {
    Exited(i32),
    Signalled(Signal),
    TooLate,
    Interrupted,
}

impl Apart {
    /// From now on SIGINT and SIGTERM wait until a process runs or has run.
    pub fn new() -> Result<Self> {
        nix::sys::prctl::set_child_subreaper(true)?;
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        signals.thread_block()?;
        Ok(Self {
            interruptions: SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?,
        })
    }

    /// Runs `command`, which may leave mounts below `scratch` only; answers whether it succeeded.
    ///
    /// # Errors
    /// When interrupted, after cleaning up.
    pub fn run(&self, command: &mut Command, limit: Duration, scratch: &Path) -> Result<bool> {
        let child = command.process_group(0).spawn().context("cannot start the gate")?;
        let id = Pid::from_raw(child.id().cast_signed());
        let ending = self.wait(id, limit)?;
        if matches!(ending, Ending::TooLate | Ending::Interrupted) {
            kill(id, Signal::SIGKILL)?;
        }
        // Then the mounts, so that nothing sleeps in them any more, and then what it had started.
        detach_below(scratch);
        end_children()?;
        match ending {
            Ending::Exited(code) => Ok(code == 0),
            Ending::Signalled(signal) => {
                println!("  the gate's process was ended by {signal}");
                Ok(false)
            }
            Ending::TooLate => {
                println!("  the gate FAILS: it did not end within {} s", limit.as_secs());
                Ok(false)
            }
            Ending::Interrupted => bail!("interrupted"),
        }
    }

    fn wait(&self, id: Pid, limit: Duration) -> Result<Ending> {
        let started = Instant::now();
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG))? {
                WaitStatus::Exited(other, code) if other == id => return Ok(Ending::Exited(code)),
                WaitStatus::Signaled(other, signal, _) if other == id => {
                    return Ok(Ending::Signalled(signal));
                }
                WaitStatus::StillAlive => {}
                // Something that the gate had left to itself.
                _ => continue,
            }
            if self.interruptions.read_signal()?.is_some() {
                return Ok(Ending::Interrupted);
            }
            if started.elapsed() > limit {
                return Ok(Ending::TooLate);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Takes back, in the process of a gate, what [`Apart::new`] did to the signals that it inherits.
pub fn accept_signals() -> Result<()> {
    SigSet::empty().thread_set_mask()?;
    Ok(())
}

/// Ends every process that is left to this one, and those that are left by them.
fn end_children() -> Result<()> {
    let started = Instant::now();
    // What has lost its parent or its mount mostly ends by itself.
    let patience = Duration::from_secs(2);
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Err(nix::Error::ECHILD) => return Ok(()),
            Ok(WaitStatus::StillAlive) => {}
            _ => continue,
        }
        if started.elapsed() > patience {
            for id in children()? {
                let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
                println!("    ending process {id}: {}", String::from_utf8_lossy(&words).replace('\0', " "));
                // It may have ended in this moment.
                let _ = kill(id, Signal::SIGKILL);
            }
        }
        if started.elapsed() > patience * 5 {
            bail!("processes {:?} cannot be ended", children()?);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn children() -> Result<Vec<Pid>> {
    let list = std::fs::read_to_string("/proc/thread-self/children")?;
    Ok(list.split_whitespace().filter_map(|word| word.parse().ok()).map(Pid::from_raw).collect())
}
