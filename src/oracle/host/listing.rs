//! readdir and seekdir on a descriptor: entries are taken one by one, and nothing stays in a buffer.
//!
//! getdents64 returns as many entries as it has room for. When those are more than were asked for, the descriptor is put
//! back to the position after the last one that was; so what the next call returns is read then. Keeps ORA-11.

use agentfs_model::Errno;
use agentfs_model::bytes::Bytes;
use agentfs_model::outcome::{Entry, Outcome};
use agentfs_model::values::{FileKind, Handle};
use nix::libc;

use super::caller::{Caller, Done, Stop};
use super::kernel::{self, Descriptor};
use super::status;

/// Room for the entries of one call of the kernel.
const ROOM: usize = 1 << 15;

/// An entry, and the position after it.
pub(super) struct Listed {
    pub(super) entry: Entry,
    pub(super) after: u64,
}

/// The entries in a buffer of getdents64, without "." and "..", and the position after all of them.
pub(super) fn decode(buffer: &[u8]) -> (Vec<Listed>, Option<u64>) {
    /// Before the name: inode, position, length of the record, kind.
    const NAME: usize = 8 + 8 + 2 + 1;
    let mut entries = Vec::new();
    let mut last = None;
    let mut rest = buffer;
    while let Some((head, _)) = rest.split_at_checked(NAME) {
        let long =
            |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().expect("eight bytes are eight"));
        let [inode, after] = [long(0), long(8)];
        let length = usize::from(u16::from_ne_bytes([head[16], head[17]]));
        let (record, next) = rest.split_at(length.clamp(NAME, rest.len()));
        rest = next;
        last = Some(after);
        let name = record[NAME..].split(|byte| *byte == 0).next().unwrap_or_default();
        if ![&b"."[..], b".."].contains(&name) {
            let entry = Entry { name: Bytes::from(name), inode, kind: status::entry_kind(head[18]) };
            entries.push(Listed { entry, after });
        }
    }
    (entries, last)
}

fn go(directory: Descriptor, position: u64) -> kernel::Result<u64> {
    kernel::lseek(directory, position.cast_signed(), libc::SEEK_SET)
}

impl Caller {
    pub(super) fn readdir(&mut self, handle: Handle, count: u32) -> Done {
        let directory = self.descriptor(handle);
        let count = count as usize;
        // What has no position is refused below.
        let mut position = kernel::lseek(directory, 0, libc::SEEK_CUR).unwrap_or_default();
        let mut found: Vec<Listed> = Vec::new();
        let mut buffer = vec![0; ROOM];
        loop {
            let length = match kernel::getdents64(directory, &mut buffer) {
                Ok(length) => length,
                // What was found before is an answer; the next call meets the refusal again.
                Err(_) if !found.is_empty() => break,
                Err(refused) => return Err(refused.into()),
            };
            let (entries, last) = decode(&buffer[..length]);
            let Some(last) = last else { break };
            let wanted = count - found.len();
            let enough = entries.len() >= wanted;
            found.extend(entries.into_iter().take(wanted));
            if enough {
                position = found.last().map_or(position, |listed| listed.after);
                if position != last {
                    go(directory, position)?;
                }
                break;
            }
        }
        if let Some(open) = self.open_handle(handle) {
            open.returned.extend(found.iter().map(|listed| listed.after));
        }
        Ok(Outcome::Entries(found.into_iter().map(|listed| listed.entry).collect()))
    }

    pub(super) fn seekdir(&mut self, handle: Handle, after: u32) -> Done {
        let directory = self.descriptor(handle);
        let shown = kernel::fstat(directory)?;
        let Some(open) = self.open_handle(handle) else { return Err(Stop::Refused(Errno::EBADF)) };
        if status::kind(shown.st_mode) != Some(FileKind::Directory) {
            return Err(Stop::Refused(Errno::ENOTDIR));
        }
        let after = after as usize;
        let position = match after.checked_sub(1) {
            None => 0,
            Some(index) => *open.returned.get(index).ok_or(Stop::Refused(Errno::EINVAL))?,
        };
        go(directory, position)?;
        if let Some(open) = self.open_handle(handle) {
            open.returned.truncate(after);
        }
        Ok(Outcome::Done)
    }
}
