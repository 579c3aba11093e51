//! statfs: what is stored and what could still be. Keeps FS-STATFS-1 and FS-STATFS-2.

use super::{AgentFs, Operation, Result};
use crate::vfs::FilesystemStatistics;

const BLOCK_BYTES: u64 = 4096;

const PAGES: &str = "SELECT page_count FROM pragma_page_count";

impl Operation<'_> {
    /// `free` is what the file system below could still take.
    pub(super) fn statistics(&mut self, free: u64) -> Result<FilesystemStatistics> {
        let page_size = u64::from(self.fs.store.configuration().page_size);
        let pages: i64 = self.session.row(PAGES, [], |row| row.get(0))?.unwrap_or(0);
        let taken = pages.max(0) as u64 * page_size / BLOCK_BYTES;
        let free = free / BLOCK_BYTES;
        // The root has no entry.
        let files = AgentFs::count_entries(self)? + 1;
        Ok(FilesystemStatistics {
            block_size: BLOCK_BYTES as u32,
            blocks: taken + free,
            blocks_free: free,
            blocks_available: free,
            files: files + free,
            files_free: free,
        })
    }
}
