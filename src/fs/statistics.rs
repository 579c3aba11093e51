//! statfs: what is stored and what could still be (FS-STATFS).

use super::{AgentFs, Operation, Result};
use crate::vfs::FilesystemStatistics;

const BLOCK_BYTES: u64 = 4096;
/// What an empty file costs at the least; tells how many more could be made.
const INODE_BYTES: u64 = 256;

const PAGES: &str = "SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count";

impl Operation<'_> {
    /// `free` is what the file system below could still take.
    pub(super) fn statistics(&mut self, free: u64) -> Result<FilesystemStatistics> {
        let page_size = u64::from(self.fs.store.configuration().page_size);
        let (pages, unused): (i64, i64) =
            self.session.row(PAGES, [], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0));
        let (pages, unused) = (pages.max(0) as u64, unused.max(0) as u64);
        let used = pages.saturating_sub(unused) * page_size;
        let free = if self.fs.store.is_read_only() { 0 } else { free + unused * page_size };
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
