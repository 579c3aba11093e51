//! Listing directories, with and without attributes.
//!
//! Keeps MNT-20 (an offset stays valid whatever changes) and MNT-19: an entry that was sent with its
//! attributes stands for a reference, one that did not fit does not, and "." and ".." never do.
//!
//! Offsets: 0 is the start, 1 is after ".", 2 after "..", and an entry's is its position plus 2.

use fuser::{FileType, Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus};

use super::adapter::{Adapter, TRUSTED};
use super::convert;
use crate::error::Result;
use crate::types::Ino;
use crate::vfs::{DirectoryEntry, DirectoryPosition};

const AFTER_SELF: u64 = 1;
const AFTER_PARENT: u64 = 2;

/// Entries that are asked for at first. fuser does not tell the size that the kernel gave; it is at least a
/// page. Each further batch is twice as large, for kernels that give more.
const BATCH: usize = 4096 / 32;
/// With attributes an entry needs 152 bytes and its name.
const BATCH_WITH_ATTRIBUTES: usize = 4096 / 160;

/// Adds an entry (inode, offset after it, name) to a reply; false when it is full.
type Add<'a> = dyn FnMut(Ino, u64, &[u8]) -> bool + 'a;

impl Adapter {
    pub(super) fn list(&self, directory: Ino, offset: u64, mut reply: ReplyDirectory) {
        let dots = self.dots(directory, offset, &mut |ino, after, name| {
            !reply.add(INodeNo(ino.0), after, FileType::Directory, os(name))
        });
        let filled = dots.and_then(|room| {
            self.each_entry((directory, offset), BATCH, false, room, |entry, room| {
                let kind = convert::file_type(entry.kind);
                room && !reply.add(INodeNo(entry.ino.0), offset_after(entry), kind, os(&entry.name))
            })
        });
        match filled {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(convert::errno("readdir", directory.0, &error)),
        }
    }

    pub(super) fn list_with_attributes(&self, directory: Ino, offset: u64, mut reply: ReplyDirectoryPlus) {
        let (asked, mut told) = (self.known.ask(), Vec::new());
        let dots = self.dots(directory, offset, &mut |ino, after, name| {
            let shown = convert::bare_attributes(ino);
            !reply.add(INodeNo(ino.0), after, os(name), &TRUSTED, &shown, Generation(0))
        });
        let filled = dots.and_then(|room| {
            self.each_entry((directory, offset), BATCH_WITH_ATTRIBUTES, true, room, |entry, room| {
                let added = room && self.add_entry(directory, entry, &mut reply);
                match added {
                    true => told.push(entry.ino),
                    false => self.vfs.forget(entry.ino, 1),
                }
                added
            })
        });
        match filled {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(convert::errno("readdirplus", directory.0, &error)),
        }
        self.known.answered(asked, told);
    }

    /// Calls `add` with every entry of batch after batch, and whether there is room for it, until there is not.
    fn each_entry(
        &self,
        (directory, offset): (Ino, u64),
        mut batch: usize,
        with_attributes: bool,
        mut room: bool,
        mut add: impl FnMut(&DirectoryEntry, bool) -> bool,
    ) -> Result<()> {
        let start = DirectoryPosition(offset.saturating_sub(AFTER_PARENT));
        let mut position = start;
        while room {
            let entries = match self.vfs.readdir(directory, position, batch, with_attributes) {
                Ok(entries) => entries,
                // What was added so far is sent, and the next request meets the error.
                Err(_) if position != start => break,
                Err(error) => return Err(error),
            };
            let Some(last) = entries.last() else { break };
            position = last.position;
            for entry in &entries {
                room = add(entry, room);
            }
            batch *= 2;
        }
        Ok(())
    }

    fn add_entry(&self, directory: Ino, entry: &DirectoryEntry, reply: &mut ReplyDirectoryPlus) -> bool {
        // An entry without attributes cannot be sent in this form; there is none by the interface.
        let Some(attributes) = &entry.attributes else { return false };
        let shown = convert::attributes(attributes, self.owner);
        let ino = INodeNo(entry.ino.0);
        let full = reply.add(ino, offset_after(entry), os(&entry.name), &TRUSTED, &shown, Generation(0));
        if !full {
            self.known.hand_out(directory, &entry.name, attributes);
        }
        !full
    }

    /// Adds "." and ".." where `offset` is before them; whether there is room for more.
    fn dots(&self, directory: Ino, offset: u64, add: &mut Add<'_>) -> Result<bool> {
        if offset < AFTER_SELF && !add(directory, AFTER_SELF, b".") {
            return Ok(false);
        }
        if offset < AFTER_PARENT {
            return Ok(add(self.vfs.parent(directory)?, AFTER_PARENT, b".."));
        }
        Ok(true)
    }
}

fn offset_after(entry: &DirectoryEntry) -> u64 {
    entry.position.0 + AFTER_PARENT
}

fn os(name: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(name)
}
