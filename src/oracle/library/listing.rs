//! Directory streams over the positions that the library gives (FS-DIR-3, FS-DIR-4).

use agentfs_model::outcome::Entry;
use agentfs_model::values::{Handle, ProcessId};

use super::convert;
use super::kernel::Kernel;
use crate::error::{Errno, Result};
use crate::vfs::{DirectoryPosition, Vfs};

impl Kernel {
    pub(super) fn readdir(&mut self, who: ProcessId, handle: Handle, count: u32) -> Result<Vec<Entry>> {
        let description = self.processes.description(who, handle)?;
        let position = description.returned.last().copied().unwrap_or(DirectoryPosition::START);
        let entries = self.fs().readdir(description.ino, position, count as usize, false)?;
        let positions = entries.iter().map(|entry| entry.position).collect::<Vec<_>>();
        self.processes.description_mut(who, handle)?.returned.extend(positions);
        Ok(entries.into_iter().map(convert::entry).collect())
    }

    /// Back to after the `after`-th entry; what came after it may be returned again.
    pub(super) fn seekdir(&mut self, who: ProcessId, handle: Handle, after: u32) -> Result<()> {
        let description = self.processes.description(who, handle)?;
        if !self.fs().getattr(description.ino)?.mode.is_directory() {
            return Err(Errno::ENOTDIR.into());
        }
        let returned = &mut self.processes.description_mut(who, handle)?.returned;
        if after as usize > returned.len() {
            return Err(Errno::EINVAL.into());
        }
        returned.truncate(after as usize);
        Ok(())
    }
}
