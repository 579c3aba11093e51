//! Requests about names: lookup, what creates, removes or moves one, and giving references back.
//!
//! Keeps MNT-19: every successful entry reply stands for exactly one reference, recorded before the
//! reply is sent.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fuser::{FileHandle, FopenFlags, Generation, OpenFlags, ReplyCreate, ReplyEmpty, ReplyEntry, Request};

use nix::libc;

use super::adapter::{ABSENT, Adapter, TRUSTED};
use super::convert;
use super::known::Asked;
use crate::error::{Errno, Result};
use crate::types::{Attributes, Caller, DeviceNumber, Ino, Mode, Name, Target};
use crate::vfs::NodeSpec;

const NO_GENERATION: Generation = Generation(0);

impl Adapter {
    pub(super) fn lookup_name(&self, request: &Request, parent: Ino, name: &OsStr, reply: ReplyEntry) {
        let asked = self.known.ask();
        let outcome =
            Name::new(name.as_bytes()).and_then(|name| self.vfs.lookup(&Self::caller(request), parent, name));
        match outcome {
            // Inode 0 lets the kernel remember that there is nothing.
            Err(error) if error.errno() == Errno::ENOENT && !name.is_empty() => {
                reply.entry(&ABSENT, &convert::bare_attributes(Ino(0)), NO_GENERATION);
            }
            outcome => self.reply_entry("lookup", (parent, name), asked, outcome, reply),
        }
    }

    pub(super) fn give_back(&self, ino: Ino, count: u64) {
        self.known.forget(ino, count);
        if ino != Ino::ROOT {
            self.vfs.forget(ino, count);
        }
    }

    pub(super) fn make_node(
        &self,
        request: &Request,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let asked = self.known.ask();
        let outcome = Mode::from_bits(mode).ok_or_else(|| Errno::EINVAL.into()).and_then(|mode| {
            let node = NodeSpec { mode, rdev: DeviceNumber(rdev) };
            self.vfs.mknod(&self.creator(request), parent, Name::new(name.as_bytes())?, node)
        });
        self.reply_made("mknod", (parent, name), asked, outcome, reply);
    }

    pub(super) fn make_directory(
        &self,
        request: &Request,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        reply: ReplyEntry,
    ) {
        let asked = self.known.ask();
        let permissions = mode & Mode::PERMISSION_MASK;
        let outcome = Name::new(name.as_bytes())
            .and_then(|name| self.vfs.mkdir(&self.creator(request), parent, name, permissions));
        self.reply_made("mkdir", (parent, name), asked, outcome, reply);
    }

    pub(super) fn make_symlink(
        &self,
        request: &Request,
        parent: Ino,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let asked = self.known.ask();
        let outcome = Name::new(name.as_bytes()).and_then(|name| {
            let target = Target::new(target.as_os_str().as_bytes())?;
            self.vfs.symlink(&self.creator(request), parent, name, target)
        });
        self.reply_made("symlink", (parent, name), asked, outcome, reply);
    }

    pub(super) fn make_link(
        &self,
        request: &Request,
        ino: Ino,
        parent: Ino,
        name: &OsStr,
        reply: ReplyEntry,
    ) {
        let asked = self.known.ask();
        let outcome = Name::new(name.as_bytes())
            .and_then(|name| self.vfs.link(&Self::caller(request), ino, parent, name));
        self.reply_made("link", (parent, name), asked, outcome, reply);
    }

    /// Creates and opens in one message.
    pub(super) fn create_file(
        &self,
        request: &Request,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        flags: OpenFlags,
        reply: ReplyCreate,
    ) {
        let asked = self.known.ask();
        let outcome = Name::new(name.as_bytes()).and_then(|name| {
            let permissions = mode & Mode::PERMISSION_MASK;
            match self.vfs.create(&self.creator(request), parent, name, permissions) {
                Err(error) if error.errno() == Errno::EEXIST && flags.0 & libc::O_EXCL == 0 => {
                    self.open_existing(request, parent, name, flags)
                }
                outcome => outcome,
            }
        });
        self.known.touch(parent);
        match outcome {
            Ok(attributes) => {
                self.known.hand_out(parent, name.as_bytes(), &attributes);
                let shown = convert::attributes(&attributes, self.owner);
                reply.created(&TRUSTED, &shown, NO_GENERATION, FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
                self.known.answered(asked, [attributes.ino]);
            }
            Err(error) => reply.error(convert::errno("create", parent.0, &error)),
        }
    }

    /// The name came into being behind the kernel's back. The kernel checked that it may be *created*, so
    /// here we check, with the little that a request tells of its caller.
    fn open_existing(
        &self,
        request: &Request,
        parent: Ino,
        name: Name<'_>,
        flags: OpenFlags,
    ) -> Result<Attributes> {
        let caller = Caller { authorized: false, ..Self::caller(request) };
        let found = self.vfs.lookup(&Self::caller(request), parent, name)?;
        let mut wanted = convert::open_flags(flags);
        if flags.0 & libc::O_TRUNC != 0 {
            wanted |= crate::vfs::OpenFlags::TRUNCATE;
        }
        let opened = self.vfs.open(&caller, found.ino, wanted).and_then(|()| self.vfs.getattr(found.ino));
        if opened.is_err() {
            self.vfs.forget(found.ino, 1);
        }
        opened
    }

    pub(super) fn remove_name(&self, request: &Request, parent: Ino, name: &OsStr, reply: ReplyEmpty) {
        let outcome =
            Name::new(name.as_bytes()).and_then(|name| self.vfs.unlink(&Self::caller(request), parent, name));
        self.reply_removed("unlink", parent, name, outcome, reply);
    }

    pub(super) fn remove_directory(&self, request: &Request, parent: Ino, name: &OsStr, reply: ReplyEmpty) {
        let outcome =
            Name::new(name.as_bytes()).and_then(|name| self.vfs.rmdir(&Self::caller(request), parent, name));
        self.reply_removed("rmdir", parent, name, outcome, reply);
    }

    pub(super) fn rename_name(
        &self,
        request: &Request,
        (parent, name): (Ino, &OsStr),
        (new_parent, new_name): (Ino, &OsStr),
        flags: fuser::RenameFlags,
        reply: ReplyEmpty,
    ) {
        let outcome = convert::rename_flags(flags).and_then(|flags| {
            let (from, to) = (Name::new(name.as_bytes())?, Name::new(new_name.as_bytes())?);
            self.vfs.rename(&Self::caller(request), parent, from, new_parent, to, flags)
        });
        match outcome {
            Ok(()) => {
                let exchange = flags.contains(fuser::RenameFlags::RENAME_EXCHANGE);
                self.known.move_name((parent, name.as_bytes()), (new_parent, new_name.as_bytes()), exchange);
                self.known.touch(parent);
                self.known.touch(new_parent);
                reply.ok();
            }
            Err(error) => reply.error(convert::errno("rename", parent.0, &error)),
        }
    }

    fn reply_made(
        &self,
        operation: &'static str,
        (parent, name): (Ino, &OsStr),
        asked: Asked,
        outcome: Result<Attributes>,
        reply: ReplyEntry,
    ) {
        self.known.touch(parent);
        self.reply_entry(operation, (parent, name), asked, outcome, reply);
    }

    fn reply_entry(
        &self,
        operation: &'static str,
        (parent, name): (Ino, &OsStr),
        asked: Asked,
        outcome: Result<Attributes>,
        reply: ReplyEntry,
    ) {
        match outcome {
            Ok(attributes) => {
                self.known.hand_out(parent, name.as_bytes(), &attributes);
                reply.entry(&TRUSTED, &convert::attributes(&attributes, self.owner), NO_GENERATION);
                self.known.answered(asked, [attributes.ino]);
            }
            Err(error) => reply.error(convert::errno(operation, parent.0, &error)),
        }
    }

    fn reply_removed(
        &self,
        operation: &'static str,
        parent: Ino,
        name: &OsStr,
        outcome: Result<()>,
        reply: ReplyEmpty,
    ) {
        match outcome {
            Ok(()) => {
                self.known.drop_name(parent, name.as_bytes());
                self.known.touch(parent);
                reply.ok();
            }
            Err(error) => reply.error(convert::errno(operation, parent.0, &error)),
        }
    }
}
