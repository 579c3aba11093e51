//! A process that makes the system calls of one process of a trace, with its credentials, below the directory.
//!
//! It is this program again, with one thread, and is told what to do on its standard input. As user 0 it makes the
//! directory its root, so that absolute symlinks and ".." stay inside, and then becomes whoever it is to be; its saved user
//! id stays 0, which no file system looks at, so that it can leave. Any other user does the same in a user namespace, where
//! only their own ids have numbers; the capabilities there are put down before the first call. Keeps ORA-12 (nothing outside
//! the directory is reached).

use std::io::{self, BufRead, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use agentfs_model::Errno;
use agentfs_model::outcome::Outcome;
use agentfs_model::values::Credentials;
use nix::sched::CloneFlags;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use super::caller::{Caller, Stop};
use super::kernel::{self, Refused};
use super::message::{Reply, Request};
use super::observe;
use crate::oracle::clock;

/// Serves standard input until it ends.
///
/// # Errors
/// When the pipes to the driver fail, or this user may not have a user namespace.
pub fn run() -> io::Result<()> {
    // What the driver left open by mistake would keep a mount busy. A kernel without this call leaves it open.
    let _ = kernel::close_from(3);
    let mut client = Client::new()?;
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    say(&mut output, &Reply::Done(None))?;
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let reply = client.answer(serde_json::from_slice(&line)?);
        say(&mut output, &reply)?;
    }
}

fn say(output: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// The ids that have numbers for a user who is not user 0: their own.
#[derive(Clone, Copy)]
struct Own {
    uid: u32,
    gid: u32,
}

struct Client {
    /// The root of the machine, where it returns to.
    outside: OwnedFd,
    own: Option<Own>,
    inside: Option<Inside>,
}

/// While it is in the directory.
struct Inside {
    caller: Caller,
    /// Kept open for syncfs.
    _root: OwnedFd,
}

impl Client {
    fn new() -> io::Result<Self> {
        let own = if rustix::process::geteuid().is_root() { None } else { Some(enter_user_namespace()?) };
        let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let outside = rustix::fs::openat(CWD, "/", how, Mode::empty())?;
        Ok(Self { outside, own, inside: None })
    }

    fn answer(&mut self, request: Request) -> Reply {
        match request {
            Request::Enter { directory, credentials } => {
                let directory = Path::new(std::ffi::OsStr::from_bytes(&directory));
                done("entering the directory", self.enter(directory, credentials.as_ref()))
            }
            Request::Leave => done("leaving the directory", self.leave()),
            // Outside, this would be the machine's own root.
            Request::Empty(_) | Request::Observe if self.inside.is_none() => {
                Reply::Errno { doing: "finding the directory".into(), number: 0 }
            }
            Request::Empty(root) => {
                let before = clock::before();
                match observe::empty(root) {
                    Ok(()) => Reply::Done(Some((before, clock::after()))),
                    Err(trouble) => Reply::Errno { doing: trouble.doing, number: trouble.number },
                }
            }
            Request::Observe => match observe::observe() {
                Ok(tree) => Reply::Observed(tree),
                Err(trouble) => Reply::Errno { doing: trouble.doing, number: trouble.number },
            },
            Request::Call { operation, devices } => {
                let Some(Inside { caller, .. }) = &mut self.inside else {
                    let outcome = Outcome::Unsupported("the process is not in the directory".into());
                    return Reply::Answered(outcome, (clock::before(), clock::after()));
                };
                let before = clock::before();
                let answer = caller.run(&operation, devices);
                let between = (before, clock::after());
                match answer {
                    Ok(outcome) => Reply::Answered(outcome, between),
                    Err(Stop::Refused(errno)) => Reply::Answered(Outcome::Error(errno), between),
                    Err(Stop::Unsupported(why)) => Reply::Answered(Outcome::Unsupported(why), between),
                    Err(Stop::Kernel(Refused(number))) => match Errno::from_number(number) {
                        Some(errno) => Reply::Answered(Outcome::Error(errno), between),
                        None => Reply::Errno { doing: operation.name().to_owned(), number },
                    },
                }
            }
        }
    }

    fn enter(&mut self, directory: &Path, credentials: Option<&Credentials>) -> io::Result<()> {
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, directory, how, Mode::empty())?;
        rustix::process::fchdir(&root)?;
        rustix::process::chroot(".")?;
        let [entered, expected] = [rustix::fs::stat("/")?, rustix::fs::fstat(&root)?];
        if (entered.st_dev, entered.st_ino) != (expected.st_dev, expected.st_ino) {
            return Err(io::Error::other("the directory did not become the root"));
        }
        match (credentials, self.own) {
            (Some(credentials), None) => become_user(credentials)?,
            (Some(_), Some(_)) => hold_capabilities(false)?,
            (None, _) => {}
        }
        let only = self.own.map(|own| (own.uid, own.gid));
        let caller = Caller::new(root.as_fd().as_raw_fd(), only);
        self.inside = Some(Inside { caller, _root: root });
        Ok(())
    }

    fn leave(&mut self) -> io::Result<()> {
        if let Some(mut inside) = self.inside.take() {
            inside.caller.close_all();
        }
        match self.own {
            None => {
                let [uid, gid] = [Uid::ROOT, Uid::ROOT];
                rustix::thread::set_thread_res_uid(uid, gid, Uid::ROOT)?;
                rustix::thread::set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT)?;
            }
            Some(_) => hold_capabilities(true)?,
        }
        rustix::process::fchdir(&self.outside)?;
        Ok(rustix::process::chroot(".")?)
    }
}

fn done(doing: &str, result: io::Result<()>) -> Reply {
    match result {
        Ok(()) => Reply::Done(None),
        Err(error) => {
            Reply::Errno { doing: format!("{doing} ({error})"), number: error.raw_os_error().unwrap_or(0) }
        }
    }
}

/// Becomes this user, and stays able to return.
fn become_user(credentials: &Credentials) -> io::Result<()> {
    let groups: Vec<Gid> = credentials.groups.iter().copied().map(Gid::from_raw).collect();
    rustix::thread::set_thread_groups(&groups)?;
    let gid = Gid::from_raw(credentials.gid);
    rustix::thread::set_thread_res_gid(gid, gid, Gid::ROOT)?;
    let uid = Uid::from_raw(credentials.uid);
    Ok(rustix::thread::set_thread_res_uid(uid, uid, Uid::ROOT)?)
}

/// Where this user may make a directory its root.
fn enter_user_namespace() -> io::Result<Own> {
    let own = Own { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", own.uid))?;
    std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", own.gid))?;
    Ok(own)
}

/// Takes up the capabilities that were put down, or puts them down.
fn hold_capabilities(hold: bool) -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.effective = if hold { sets.permitted } else { CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}
