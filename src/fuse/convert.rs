//! Between the kernel's values and ours: times, attributes, kinds, errors, flags.
//!
//! Keeps FS-ATTR-9 (times before 1970 survive the trip). Pure functions, no state.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo};

use crate::error::{Errno, Error};
use crate::types::{Attributes, FileKind, Ino, SetTime, Timestamp};
use crate::vfs::{FallocateMode, OpenFlags, RenameFlags};

/// Who all files belong to, as this mount shows them; None shows the stored owner.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ownership {
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
}

/// What the kernel is told of an inode.
pub(super) fn attributes(of: &Attributes, owner: Ownership) -> FileAttr {
    FileAttr {
        ino: INodeNo(of.ino.0),
        size: of.size,
        blocks: of.blocks,
        atime: to_system_time(of.atime),
        mtime: to_system_time(of.mtime),
        ctime: to_system_time(of.ctime),
        crtime: UNIX_EPOCH,
        kind: file_type(of.mode.kind()),
        perm: of.mode.permissions() as u16,
        nlink: of.nlink,
        uid: owner.uid.unwrap_or(of.uid.0),
        gid: owner.gid.unwrap_or(of.gid.0),
        rdev: of.rdev.0,
        blksize: 4096,
        flags: 0,
    }
}

/// The attributes that stand for "there is no such name" (inode 0) or for a directory of which only
/// the number matters (the entries "." and "..").
pub(super) fn bare_attributes(ino: Ino) -> FileAttr {
    FileAttr {
        ino: INodeNo(ino.0),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: FileType::Directory,
        perm: 0o755,
        nlink: 2,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

pub(super) const fn file_type(kind: FileKind) -> FileType {
    match kind {
        FileKind::Regular => FileType::RegularFile,
        FileKind::Directory => FileType::Directory,
        FileKind::Symlink => FileType::Symlink,
        FileKind::Fifo => FileType::NamedPipe,
        FileKind::CharacterDevice => FileType::CharDevice,
        FileKind::BlockDevice => FileType::BlockDevice,
        FileKind::Socket => FileType::Socket,
    }
}

/// Times outside what the standard library can express are shown as 1970.
fn to_system_time(time: Timestamp) -> SystemTime {
    let whole = Duration::from_secs(time.seconds.unsigned_abs());
    let start = match time.seconds {
        0.. => UNIX_EPOCH.checked_add(whole),
        _ => UNIX_EPOCH.checked_sub(whole),
    };
    start
        .and_then(|start| start.checked_add(Duration::from_nanos(time.nanoseconds.into())))
        .unwrap_or(UNIX_EPOCH)
}

/// The time that a request carries.
///
/// The kernel sends whole seconds towards the past and the nanoseconds after them. Before 1970 fuser
/// 0.18 subtracts *both* from the epoch, so its distance to 1970 is exactly the pair that the kernel
/// sent, and not the time that the pair means.
pub(super) fn from_system_time(time: SystemTime) -> Timestamp {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => Timestamp::new(after.as_secs().try_into().unwrap_or(i64::MAX), after.subsec_nanos()),
        Err(before) => {
            let sent = before.duration();
            let seconds = i64::try_from(sent.as_secs()).map_or(i64::MIN, |seconds| -seconds);
            Timestamp::new(seconds, sent.subsec_nanos())
        }
    }
}

pub(super) fn set_time(time: fuser::TimeOrNow) -> SetTime {
    match time {
        fuser::TimeOrNow::Now => SetTime::Now,
        fuser::TimeOrNow::SpecificTime(time) => SetTime::At(from_system_time(time)),
    }
}

/// The number that the kernel gets; failures of what lies below are logged, refusals are not.
pub(super) fn errno(operation: &'static str, ino: u64, error: &Error) -> fuser::Errno {
    if !matches!(error, Error::Posix(_) | Error::Path { .. }) {
        tracing::error!(operation, ino, %error, "a request failed below the file system");
    }
    fuser::Errno::from_i32(error.errno().number())
}

/// `open(2)` flags as the kernel passes them on. Truncation never arrives with an open
/// (ATOMIC_O_TRUNC is not asked for): it comes as a change of size.
pub(super) fn open_flags(flags: fuser::OpenFlags) -> OpenFlags {
    match flags.acc_mode() {
        fuser::OpenAccMode::O_RDONLY => OpenFlags::READ,
        fuser::OpenAccMode::O_WRONLY => OpenFlags::WRITE,
        fuser::OpenAccMode::O_RDWR => OpenFlags::READ | OpenFlags::WRITE,
    }
}

/// `renameat2(2)` flags; what is not provided is refused, never ignored.
pub(super) fn rename_flags(flags: fuser::RenameFlags) -> Result<RenameFlags, Error> {
    RenameFlags::from_bits(flags.bits()).ok_or_else(|| Errno::EINVAL.into())
}

/// `fallocate(2)` modes.
pub(super) fn fallocate_mode(mode: i32) -> Result<FallocateMode, Error> {
    FallocateMode::from_bits(mode.cast_unsigned()).ok_or_else(|| Errno::EOPNOTSUPP.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fuser makes of a pair that the kernel sends (its `system_time_from_time`).
    fn decoded_by_fuser(seconds: i64, nanoseconds: u32) -> SystemTime {
        match seconds {
            0.. => UNIX_EPOCH + Duration::new(seconds.unsigned_abs(), nanoseconds),
            _ => UNIX_EPOCH - Duration::new(seconds.unsigned_abs(), nanoseconds),
        }
    }

    // spec: FS-ATTR-9
    #[test]
    fn a_time_before_1970_is_read_as_the_kernel_sent_it() {
        for (seconds, nanoseconds) in
            [(-1, 0), (-1, 999_999_999), (-2, 200_000_000), (0, 0), (0, 1), (1 << 33, 5)]
        {
            let time = from_system_time(decoded_by_fuser(seconds, nanoseconds));
            assert_eq!(time, Timestamp::new(seconds, nanoseconds));
        }
    }

    // spec: FS-ATTR-9
    #[test]
    fn a_time_before_1970_is_shown_as_the_point_it_means() {
        let shown = to_system_time(Timestamp::new(-2, 250_000_000));
        assert_eq!(UNIX_EPOCH.duration_since(shown).unwrap(), Duration::from_millis(1750));
    }

    // spec: MNT-17
    #[test]
    fn a_rename_flag_that_is_not_provided_is_refused() {
        let whiteout = fuser::RenameFlags::RENAME_WHITEOUT;
        assert_eq!(rename_flags(whiteout).unwrap_err().errno(), Errno::EINVAL);
    }
}
