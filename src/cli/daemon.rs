//! The process that serves a mount in the background, and how it tells the one that started it.
//!
//! The parent runs this program again and reads the child's standard output
//! until it is closed: one JSON line, `{"exit":0,...}` or `{"exit":6,"message":"..."}`. Then the child has
//! nothing left that ties it to a terminal or a directory. Keeps MNT-7 (a command that mounts returns when the mount is
//! usable, or says why it is not).

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::exit::{Exit, Failure};

/// The child's one line.
#[derive(Debug, Serialize, Deserialize)]
struct Report {
    exit: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Starts `arguments` of this program in the background and waits for its report; returns its process id.
///
/// Its standard error goes to `log`, or nowhere.
pub(crate) fn start<'a>(
    arguments: impl IntoIterator<Item = &'a OsStr>,
    log: Option<File>,
) -> Result<u32, Failure> {
    let mut child = Command::new("/proc/self/exe")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log.map_or_else(Stdio::null, Stdio::from))
        .spawn()
        .map_err(|error| Failure::host("start", "/proc/self/exe", error))?;
    let mut said = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        // What cannot be read is treated like a child that says nothing.
        let _ = stdout.read_to_string(&mut said);
    }
    let report = serde_json::from_str::<Report>(&said);
    match report {
        Ok(Report { exit: 0, .. }) => Ok(child.id()),
        Ok(Report { exit, message }) => {
            let _ = child.wait();
            Err(Failure { exit: Exit::from_code(exit), message })
        }
        Err(_) => {
            let ended = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            let message =
                format!("the process of the mount ended early ({ended}); try again with --foreground");
            Err(Failure::new(Exit::Refused, message))
        }
    }
}

/// In the child, first of all: lets go of the files that were open and of the directory that it was started in. The flag
/// tells of a signal that has come since; a Ctrl-C meant for the parent must not leave a mount without a process.
pub(crate) fn detach() -> Arc<AtomicBool> {
    close_inherited();
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // Of signals that may be handled none is refused.
        let _ = signal_hook::flag::register(signal, Arc::clone(&interrupted));
    }
    // A daemon that stays in a directory keeps the file system below it busy; paths are absolute by now.
    let _ = std::env::set_current_dir("/");
    interrupted
}

/// Closes what whoever started us left open by mistake (a script's `3>file`, a test's pipe): the mount would keep it open
/// for as long as it lives. Nothing in this process has opened anything yet.
fn close_inherited() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let descriptors: Vec<i32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2)
        .collect();
    for descriptor in descriptors {
        // The one that listed them is closed already.
        let _ = nix::unistd::close(descriptor);
    }
}

/// In the child: the mount is usable. Fails when the parent is gone, who then never heard of it.
///
/// Only now it leaves the terminal's session: an automounter lets nobody to the mount point before there is a mount
/// but its own process group, in which mount(8) and we were started.
pub(crate) fn report_ready() -> io::Result<()> {
    // A child that was started by a parent that waits leads no process group, so this cannot fail.
    let _ = rustix::process::setsid();
    report(&Report { exit: 0, message: None })
}

/// In the child: why there is no mount.
pub(crate) fn report_failure(failure: &Failure) -> io::Result<()> {
    report(&Report { exit: failure.exit.code(), message: failure.message.clone() })
}

fn report(report: &Report) -> io::Result<()> {
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", serde_json::to_string(report)?)?;
    stdout.flush()?;
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    Ok(())
}
