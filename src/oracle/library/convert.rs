//! The words of a trace in those of the library, and back.

use agentfs_model::bytes::Bytes;
use agentfs_model::outcome::{Entry, Statistics, Status};
use agentfs_model::values::{FileKind as ModelKind, Timestamp as ModelTime};
use agentfs_model::{call, profile};

use crate::types::{Access, AtimePolicy, Attributes, FileKind, MAX_NAME_BYTES, SetTime, Timestamp};
use crate::vfs::{DirectoryEntry, FallocateMode, FilesystemStatistics, RenameFlags, XattrMode};

pub(super) const fn time(time: ModelTime) -> Timestamp {
    Timestamp::new(time.seconds, time.nanoseconds)
}

const fn to_model_time(time: Timestamp) -> ModelTime {
    ModelTime { seconds: time.seconds, nanoseconds: time.nanoseconds }
}

pub(super) const fn kind(kind: ModelKind) -> FileKind {
    match kind {
        ModelKind::Regular => FileKind::Regular,
        ModelKind::Directory => FileKind::Directory,
        ModelKind::Symlink => FileKind::Symlink,
        ModelKind::Fifo => FileKind::Fifo,
        ModelKind::Socket => FileKind::Socket,
        ModelKind::CharDevice => FileKind::CharacterDevice,
        ModelKind::BlockDevice => FileKind::BlockDevice,
    }
}

const fn to_model_kind(kind: FileKind) -> ModelKind {
    match kind {
        FileKind::Regular => ModelKind::Regular,
        FileKind::Directory => ModelKind::Directory,
        FileKind::Symlink => ModelKind::Symlink,
        FileKind::Fifo => ModelKind::Fifo,
        FileKind::Socket => ModelKind::Socket,
        FileKind::CharacterDevice => ModelKind::CharDevice,
        FileKind::BlockDevice => ModelKind::BlockDevice,
    }
}

/// What stat answers.
pub(super) fn status(of: &Attributes) -> Status {
    Status {
        inode: of.ino.0,
        kind: to_model_kind(of.mode.kind()),
        permissions: of.mode.permissions(),
        links: u64::from(of.nlink),
        uid: of.uid.0,
        gid: of.gid.0,
        size: of.size,
        blocks: of.blocks,
        rdev: of.rdev.0,
        atime: to_model_time(of.atime),
        mtime: to_model_time(of.mtime),
        ctime: to_model_time(of.ctime),
    }
}

pub(super) fn entry(entry: DirectoryEntry) -> Entry {
    Entry { name: Bytes(entry.name), inode: entry.ino.0, kind: Some(to_model_kind(entry.kind)) }
}

pub(super) const fn statistics(of: &FilesystemStatistics) -> Statistics {
    Statistics {
        blocks: of.blocks,
        blocks_free: of.blocks_free,
        blocks_available: of.blocks_available,
        files: of.files,
        files_free: of.files_free,
        longest_name: MAX_NAME_BYTES as u64,
    }
}

pub(super) fn access(mode: call::AccessMode) -> Access {
    let mut access = Access::empty();
    access.set(Access::READ, mode.contains(call::AccessMode::READ));
    access.set(Access::WRITE, mode.contains(call::AccessMode::WRITE));
    access.set(Access::EXECUTE, mode.contains(call::AccessMode::EXECUTE));
    access
}

/// The bits are the kernel's in both; unknown ones are for the library to refuse.
pub(super) const fn fallocate_mode(mode: call::FallocateMode) -> FallocateMode {
    FallocateMode::from_bits_retain(mode.bits())
}

/// As for [`fallocate_mode`].
pub(super) const fn rename_flags(flags: call::RenameFlags) -> RenameFlags {
    RenameFlags::from_bits_retain(flags.bits())
}

pub(super) const fn xattr_mode(mode: call::XattrMode) -> XattrMode {
    match mode {
        call::XattrMode::Set => XattrMode::Set,
        call::XattrMode::Create => XattrMode::Create,
        call::XattrMode::Replace => XattrMode::Replace,
    }
}

pub(super) const fn time_change(change: call::TimeChange) -> Option<SetTime> {
    match change {
        call::TimeChange::Omit => None,
        call::TimeChange::Now => Some(SetTime::Now),
        call::TimeChange::At(at) => Some(SetTime::At(time(at))),
    }
}

/// The policy of that name; what is not checked may be any.
pub(super) const fn atime_policy(policy: profile::AtimePolicy) -> AtimePolicy {
    match policy {
        profile::AtimePolicy::Strict => AtimePolicy::Strict,
        profile::AtimePolicy::Never => AtimePolicy::Never,
        profile::AtimePolicy::Relative | profile::AtimePolicy::Unchecked => AtimePolicy::Relative,
    }
}
