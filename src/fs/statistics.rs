//! statfs: what is stored and what could still be (FS-STATFS).

use super::{AgentFs, Operation, Result};
use crate::vfs::FilesystemStatistics;

const BLOCK_BYTES: u64 = 4096;
/// What an empty file costs at the least; tells how many more could be made.
const INODE_BYTES: u64 = 256;

const PAGES_IN_USE: &str = "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count";

impl Operation<'_> {
    /// `free` is how many bytes could still be stored.
    pub(super) fn statistics(&mut self, free: u64) -> Result<FilesystemStatistics> {
        let page_size = u64::from(self.fs.store.configuration().page_size);
        let pages: u64 = self.session.row(PAGES_IN_USE, [], |row| row.get(0))?.unwrap_or(0);
        let used = pages * page_size;
        let free = if self.fs.store.is_read_only() { 0 } else { free };
        // The root has no entry.
        let files = AgentFs::count_entries(self)? + 1;
        let files_free = free / INODE_BYTES;
        Ok(FilesystemStatistics {
            block_size: BLOCK_BYTES as u32,
            blocks: (used + free) / BLOCK_BYTES,
            blocks_free: free / BLOCK_BYTES,
            blocks_available: free / BLOCK_BYTES,
            files: files + files_free,
            files_free,
        })
    }
}
