//! Attaching `/dev/fuse` to a directory: by `mount(2)`, or through fusermount3 for ordinary users.
//!
//! Done here and not by fuser because of two things that fuser 0.18 ties to its own mounting. Without
//! `allow_other` it answers EACCES to every request whose user is not the one that mounted; but the kernel's
//! own write-back runs as root and would lose the times of files, and a descriptor that was handed to
//! another user would stop working: who may come in is the kernel's decision. And as root it drops the
//! subtype, so that the mount could not be told from any other.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::mount::MsFlags;
use rustix::io::IoSliceMut;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};

use super::mountinfo::TYPE;
use super::options::{KernelOption, MountOptions};
use crate::error::{Error, MountProblem, Result};

const DEVICE: &str = "/dev/fuse";

/// Whether FUSE can be used at all.
pub(super) fn check(mountpoint: &Path) -> Result<()> {
    open(mountpoint).map(|_| ())
}

fn open(mountpoint: &Path) -> Result<File> {
    let device = File::options().read(true).write(true).open(DEVICE);
    device.map_err(|error| Error::mount(mountpoint, MountProblem::Device(error.to_string())))
}

/// Mounts at `mountpoint` and returns the connection, over which the kernel already waits.
pub(super) fn attach(mountpoint: &Path, options: &MountOptions) -> Result<OwnedFd> {
    let device = open(mountpoint)?;
    match mount(&device, mountpoint, options) {
        Ok(()) => Ok(device.into()),
        Err(Errno::EPERM) => by_fusermount(mountpoint, options),
        Err(errno) => Err(Error::mount(mountpoint, MountProblem::Refused(errno.desc().into()))),
    }
}

fn mount(device: &File, mountpoint: &Path, options: &MountOptions) -> nix::Result<()> {
    let mut data = format!(
        "fd={},rootmode=40000,user_id={},group_id={},default_permissions",
        device.as_raw_fd(),
        nix::unistd::getuid(),
        nix::unistd::getgid(),
    );
    if options.allow_other {
        data.push_str(",allow_other");
    }
    // What an agent wrote gives nobody rights that they did not have, unless that is asked for.
    let mut flags = MsFlags::MS_NODEV | MsFlags::MS_NOSUID;
    flags.set(MsFlags::MS_RDONLY, options.read_only);
    for option in &options.kernel {
        option.apply(&mut flags);
    }
    // The names are arguments of their own, so that nothing in them can pass for an option.
    nix::mount::mount(Some(options.fs_name.as_os_str()), mountpoint, Some(TYPE), flags, Some(data.as_str()))
}

fn by_fusermount(mountpoint: &Path, options: &MountOptions) -> Result<OwnedFd> {
    let refused = |reason: String| Error::mount(mountpoint, MountProblem::Refused(reason));
    let failed = |error: io::Error| refused(format!("fusermount3: {error}"));
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    let mut child = Command::new("fusermount3")
        .arg("-o")
        .arg(fusermount_options(options))
        .arg("--")
        .arg(mountpoint)
        // It sends the connection over the descriptor that this names: its standard input.
        .env("_FUSE_COMMFD", "0")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let received = receive_descriptor(&ours);
    let mut words = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        // Only for the message; the exit status decides.
        let _ = stderr.read_to_string(&mut words);
    }
    let status = child.wait().map_err(failed)?;
    match received {
        Ok(Some(device)) if status.success() => {
            rustix::io::fcntl_setfd(&device, rustix::io::FdFlags::CLOEXEC)
                .map_err(|errno| failed(errno.into()))?;
            Ok(device)
        }
        Ok(_) => Err(refused(words.trim().to_owned())),
        Err(error) => Err(failed(error)),
    }
}

fn fusermount_options(options: &MountOptions) -> OsString {
    let mut list = b"fsname=".to_vec();
    for &byte in options.fs_name.as_bytes() {
        if matches!(byte, b'\\' | b',') {
            list.push(b'\\');
        }
        list.push(byte);
    }
    let mut words = vec!["", "subtype=agentfs", "default_permissions"];
    let mut add = |wanted: bool, word| words.extend(wanted.then_some(word));
    add(options.allow_other, "allow_other");
    add(options.read_only, "ro");
    // fusermount3 itself insists on nosuid and nodev.
    for option in &options.kernel {
        add(!matches!(option, KernelOption::Suid | KernelOption::Dev), option.word());
    }
    list.extend_from_slice(words.join(",").as_bytes());
    OsString::from_vec(list)
}

fn receive_descriptor(from: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    rustix::net::recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let descriptors = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    Ok(descriptors)
}
