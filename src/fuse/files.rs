//! Requests about one inode: attributes, content, statistics.
//!
//! Keeps MNT-22 (a cached write that arrives late never moves a time that was set after it), MNT-35 (a
//! mount that shows one owner does not change owners) and MNT-38 (set-id bits fall with the content).

use fuser::{
    FileHandle, FopenFlags, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyLseek, ReplyOpen, ReplyStatfs,
    ReplyWrite, Request,
};

use nix::libc;

use super::adapter::{Adapter, TRUSTED};
use super::convert;
use super::known::Asked;
use crate::error::{Errno, Result};
use crate::types::{Attributes, Ino, MAX_NAME_BYTES, Mode, SetAttributes};
use crate::vfs::{FallocateMode, SeekTo, WriteFlags};

/// The largest count that the reply of a copy can carry, in whole pages.
const MAX_COPY: u64 = (u32::MAX - 4095) as u64;

impl Adapter {
    pub(super) fn show_attributes(&self, ino: Ino, reply: ReplyAttr) {
        let asked = self.known.ask();
        self.reply_attributes("getattr", ino, asked, self.vfs.getattr(ino), reply);
    }

    pub(super) fn change_attributes(
        &self,
        request: &Request,
        ino: Ino,
        mut changes: SetAttributes,
        reply: ReplyAttr,
    ) {
        let asked = self.known.ask();
        self.known.touch(ino);
        let outcome = self
            .keep_owner(&mut changes)
            .and_then(|()| self.vfs.setattr(&Self::caller(request), ino, &changes));
        if let (Ok(_), Some(size)) = (&outcome, changes.size) {
            self.known.resize(ino, size);
        }
        self.reply_attributes("setattr", ino, asked, outcome, reply);
    }

    /// Where one owner is shown for all files, the stored one is out of reach.
    fn keep_owner(&self, changes: &mut SetAttributes) -> Result<()> {
        let shown = (self.owner.uid, self.owner.gid);
        let foreign =
            |wanted: Option<u32>, shown: Option<u32>| shown.is_some() && wanted.is_some() && wanted != shown;
        let wanted = (changes.uid.map(|uid| uid.0), changes.gid.map(|gid| gid.0));
        if foreign(wanted.0, shown.0) || foreign(wanted.1, shown.1) {
            return Err(Errno::EPERM.into());
        }
        changes.uid = changes.uid.filter(|_| shown.0.is_none());
        changes.gid = changes.gid.filter(|_| shown.1.is_none());
        Ok(())
    }

    fn reply_attributes(
        &self,
        operation: &'static str,
        ino: Ino,
        asked: Asked,
        outcome: Result<Attributes>,
        reply: ReplyAttr,
    ) {
        match outcome {
            Ok(attributes) => {
                self.known.show(&attributes);
                reply.attr(&TRUSTED, &convert::attributes(&attributes, self.owner));
                self.known.answered(asked, [ino]);
            }
            Err(error) => reply.error(convert::errno(operation, ino.0, &error)),
        }
    }

    pub(super) fn read_target(&self, ino: Ino, reply: ReplyData) {
        match self.vfs.readlink(ino) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(convert::errno("readlink", ino.0, &error)),
        }
    }

    pub(super) fn open_file(&self, request: &Request, ino: Ino, flags: OpenFlags, reply: ReplyOpen) {
        match self.vfs.open(&Self::caller(request), ino, convert::open_flags(flags)) {
            // Cached pages stay good: what another process changes is taken back.
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            Err(error) => reply.error(convert::errno("open", ino.0, &error)),
        }
    }

    pub(super) fn read_bytes(&self, ino: Ino, offset: u64, size: u32, reply: ReplyData) {
        match self.vfs.read(ino, offset, size as usize) {
            Ok(data) => reply.data(&data),
            Err(error) => reply.error(convert::errno("read", ino.0, &error)),
        }
    }

    pub(super) fn write_bytes(
        &self,
        ino: Ino,
        offset: u64,
        data: &[u8],
        how: fuser::WriteFlags,
        open: OpenFlags,
        reply: ReplyWrite,
    ) {
        let mut flags = WriteFlags::empty();
        if how.contains(fuser::WriteFlags::FUSE_WRITE_CACHE) {
            // The write(2) was long ago, at an offset that the kernel chose; it keeps the times itself
            // and sends them by SETATTR.
            flags |= WriteFlags::KEEP_TIMES;
        } else if open.0 & libc::O_APPEND != 0 {
            flags |= WriteFlags::APPEND;
        }
        if how.contains(fuser::WriteFlags::FUSE_WRITE_KILL_SUIDGID) {
            flags |= WriteFlags::CLEAR_SET_ID;
        }
        self.known.touch(ino);
        self.known.lengthen(ino, offset.saturating_add(data.len() as u64));
        let set_id = flags.contains(WriteFlags::CLEAR_SET_ID) && self.has_set_id(ino);
        match self.vfs.write(ino, offset, data, flags) {
            Ok(_) => {
                if set_id {
                    self.show_mode_anew(ino);
                }
                reply.written(data.len() as u32);
            }
            Err(error) => reply.error(convert::errno("write", ino.0, &error)),
        }
    }

    fn has_set_id(&self, ino: Ino) -> bool {
        let attributes = self.vfs.getattr(ino);
        attributes.is_ok_and(|of| of.mode.permissions() & (Mode::SET_UID | Mode::SET_GID) != 0)
    }

    /// After set-id bits have fallen: a kernel that leaves that to us does not take it for a change of the mode that it
    /// has cached.
    fn show_mode_anew(&self, ino: Ino) {
        if let Err(error) = self.kernel.expire_attributes(ino) {
            tracing::debug!(%ino, %error, "the kernel did not take an invalidation");
        }
    }

    /// How a change of the content is made where the kernel has no flag to say for whom, and whether bits fall by it.
    fn change_by(&self, request: &Request, ino: Ino) -> (WriteFlags, bool) {
        let unprivileged = request.uid() != 0;
        let flags = if unprivileged { WriteFlags::CLEAR_SET_ID } else { WriteFlags::empty() };
        (flags, unprivileged && self.has_set_id(ino))
    }

    pub(super) fn allocate(
        &self,
        request: &Request,
        ino: Ino,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        self.known.touch(ino);
        let (flags, set_id) = self.change_by(request, ino);
        let outcome = convert::fallocate_mode(mode)
            .and_then(|mode| self.vfs.fallocate(ino, offset, length, mode, flags));
        match outcome {
            Ok(()) => {
                if mode & FallocateMode::KEEP_SIZE.bits().cast_signed() == 0 {
                    self.known.lengthen(ino, offset.saturating_add(length));
                }
                if set_id {
                    self.show_mode_anew(ino);
                }
                reply.ok();
            }
            Err(error) => reply.error(convert::errno("fallocate", ino.0, &error)),
        }
    }

    pub(super) fn seek(&self, ino: Ino, offset: i64, whence: i32, reply: ReplyLseek) {
        let to = match whence {
            libc::SEEK_DATA => SeekTo::Data,
            libc::SEEK_HOLE => SeekTo::Hole,
            _ => return reply.error(fuser::Errno::EINVAL),
        };
        match u64::try_from(offset) {
            Ok(offset) => self.barriers.seek(ino, offset, to, reply),
            Err(_) => reply.error(fuser::Errno::ENXIO),
        }
    }

    /// The kernel has written both files' dirty pages back before.
    pub(super) fn copy_range(
        &self,
        request: &Request,
        from: (Ino, u64),
        to: (Ino, u64),
        length: u64,
        reply: ReplyWrite,
    ) {
        self.known.touch(to.0);
        let (flags, set_id) = self.change_by(request, to.0);
        match self.vfs.copy_file_range(from.0, from.1, to.0, to.1, length.min(MAX_COPY), flags) {
            Ok(copied) => {
                self.known.lengthen(to.0, to.1.saturating_add(copied));
                if set_id {
                    self.show_mode_anew(to.0);
                }
                reply.written(copied as u32);
            }
            Err(error) => reply.error(convert::errno("copy_file_range", to.0.0, &error)),
        }
    }

    pub(super) fn statistics(&self, reply: ReplyStatfs) {
        match self.vfs.statfs() {
            Ok(of) => reply.statfs(
                of.blocks,
                of.blocks_free,
                of.blocks_available,
                of.files,
                of.files_free,
                of.block_size,
                MAX_NAME_BYTES as u32,
                of.block_size,
            ),
            Err(error) => reply.error(convert::errno("statfs", Ino::ROOT.0, &error)),
        }
    }
}
