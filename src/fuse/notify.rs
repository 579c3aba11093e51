//! Messages to the kernel: drop what you have cached of an inode, of a name; a file has grown.
//!
//! Written by hand because fuser 0.18 cannot ask for a name to *expire*: a name that is dropped takes
//! its directory out of the tree, and a process whose working directory it is loses its path. An
//! expired one is only looked up again. With one exception never called by a worker, and never under a lock: the
//! kernel may first have to write dirty pages back to us, or wait for a FORGET to be read.

use std::fs::File;
use std::io::{self, IoSlice, Write};

use crate::types::Ino;

/// `FUSE_NOTIFY_*` codes and flags of `linux/fuse.h`.
const INVALIDATE_INODE: i32 = 2;
const INVALIDATE_ENTRY: i32 = 3;
const STORE: i32 = 4;
const EXPIRE_ONLY: u32 = 1;

/// The connection to the kernel, for messages that answer no request.
pub(super) struct Kernel {
    device: File,
}

impl Kernel {
    pub(super) const fn new(device: File) -> Self {
        Self { device }
    }

    /// Drops the cached attributes and pages of `ino`; dirty pages are written back first.
    pub(super) fn invalidate_inode(&self, ino: Ino) -> io::Result<()> {
        let mut body = [0; 24];
        body[..8].copy_from_slice(&ino.0.to_ne_bytes());
        // Offset 0 and length 0: everything.
        self.send(INVALIDATE_INODE, &[&body])
    }

    /// Has the kernel ask for the attributes of `ino` anew; its pages stay. This waits for nothing, so that a worker may
    /// call it for an inode that the caller of its request has open.
    pub(super) fn expire_attributes(&self, ino: Ino) -> io::Result<()> {
        let mut body = [0; 24];
        body[..8].copy_from_slice(&ino.0.to_ne_bytes());
        // A negative offset: no pages.
        body[8..16].copy_from_slice(&(-1_i64).to_ne_bytes());
        self.send(INVALIDATE_INODE, &[&body])
    }

    /// Has the kernel look `name` up again when it next meets it.
    pub(super) fn expire_name(&self, parent: Ino, name: &[u8]) -> io::Result<()> {
        self.entry(parent, name, EXPIRE_ONLY)
    }

    /// Drops `name`, and with its last name and descriptor the inode and all that is cached of it.
    pub(super) fn drop_name(&self, parent: Ino, name: &[u8]) -> io::Result<()> {
        self.entry(parent, name, 0)
    }

    /// Puts `byte`, which must be what the file system has there, into the cached pages of `ino` at `offset`. A
    /// file that the kernel takes for shorter grows to hold it. False when it does not know the file.
    pub(super) fn store(&self, ino: Ino, offset: u64, byte: u8) -> io::Result<bool> {
        let mut body = [0; 24];
        body[..8].copy_from_slice(&ino.0.to_ne_bytes());
        body[8..16].copy_from_slice(&offset.to_ne_bytes());
        body[16..20].copy_from_slice(&1_u32.to_ne_bytes());
        self.deliver(STORE, &[&body, &[byte]])
    }

    fn entry(&self, parent: Ino, name: &[u8], flags: u32) -> io::Result<()> {
        let mut body = [0; 16];
        body[..8].copy_from_slice(&parent.0.to_ne_bytes());
        body[8..12].copy_from_slice(&(name.len() as u32).to_ne_bytes());
        body[12..].copy_from_slice(&flags.to_ne_bytes());
        self.send(INVALIDATE_ENTRY, &[&body, name, &[0]])
    }

    fn send(&self, code: i32, parts: &[&[u8]]) -> io::Result<()> {
        self.deliver(code, parts).map(|_| ())
    }

    /// False when the kernel does not have what it is about, or no longer.
    fn deliver(&self, code: i32, parts: &[&[u8]]) -> io::Result<bool> {
        let mut header = [0; 16];
        let length = header.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        header[..4].copy_from_slice(&(length as u32).to_ne_bytes());
        header[4..8].copy_from_slice(&code.to_ne_bytes());
        // The last eight bytes, the request that is answered, stay 0: none.
        let mut message = vec![IoSlice::new(&header)];
        message.extend(parts.iter().map(|part| IoSlice::new(part)));
        match (&self.device).write_vectored(&message) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}
