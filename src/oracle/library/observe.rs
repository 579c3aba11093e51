//! The whole tree as it is, without a trace of the looking: no read that moves a time, no group that ends.
//!
//! Attributes are those that stat shows, everything else comes from the tables (INT-6).

use agentfs_model::bytes::Bytes;

use super::convert;
use super::kernel::Kernel;
use crate::error::{Errno, Result};
use crate::integrity::{Entry, Inode};
use crate::oracle::tree::{Observed, Tree};
use crate::types::Ino;
use crate::vfs::Vfs;

impl Kernel {
    /// The tree at this moment, with what is not committed yet.
    ///
    /// # Errors
    /// As [`AgentFs::listing`](crate::AgentFs::listing); EIO when an entry leads to no inode.
    pub(super) fn tree(&self) -> Result<Tree> {
        let entries = self.fs().listing()?.entries;
        Ok(Tree { objects: entries.into_iter().map(|entry| self.observed(entry)).collect::<Result<_>>()? })
    }

    fn observed(&self, entry: Entry) -> Result<Observed> {
        let attributes = self.fs().getattr(Ino(entry.ino))?;
        let Inode { target, xattrs, content, .. } = entry.inode.ok_or(Errno::EIO)?;
        let pieces = content.into_iter().map(|piece| (piece.offset, Bytes(piece.bytes)));
        Ok(Observed {
            path: Bytes(entry.path),
            status: convert::status(&attributes),
            content: attributes.mode.is_regular().then(|| pieces.collect()),
            target: target.map(Bytes),
            xattrs: xattrs.into_iter().map(|(name, value)| (Bytes(name), Bytes(value))).collect(),
            entries: None,
        })
    }
}
