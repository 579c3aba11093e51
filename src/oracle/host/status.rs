//! What the kernel shows of files, in the words of traces.

use agentfs_model::bytes::Bytes;
use agentfs_model::outcome::{Statistics, Status};
use agentfs_model::values::{FileKind, Timestamp};
use nix::libc;

/// The largest value of an extended attribute, and the longest list of names.
pub(super) const LARGEST_XATTR: usize = 1 << 16;

/// Kinds, the bits that `st_mode` has for them, and the numbers that entries have.
const KINDS: [(FileKind, u32, u8); 7] = [
    (FileKind::Regular, libc::S_IFREG, libc::DT_REG),
    (FileKind::Directory, libc::S_IFDIR, libc::DT_DIR),
    (FileKind::Symlink, libc::S_IFLNK, libc::DT_LNK),
    (FileKind::Fifo, libc::S_IFIFO, libc::DT_FIFO),
    (FileKind::Socket, libc::S_IFSOCK, libc::DT_SOCK),
    (FileKind::CharDevice, libc::S_IFCHR, libc::DT_CHR),
    (FileKind::BlockDevice, libc::S_IFBLK, libc::DT_BLK),
];

pub(super) fn type_bits(kind: FileKind) -> u32 {
    let found = KINDS.iter().find(|(known, _, _)| *known == kind);
    found.expect("every kind is in the table").1
}

/// None for kinds that Linux does not have.
pub(super) fn kind(mode: u32) -> Option<FileKind> {
    KINDS.iter().find(|(_, bits, _)| mode & libc::S_IFMT == *bits).map(|(kind, _, _)| *kind)
}

/// None when the entry does not say.
pub(super) fn entry_kind(number: u8) -> Option<FileKind> {
    KINDS.iter().find(|(_, _, known)| *known == number).map(|(kind, _, _)| *kind)
}

/// None when the file is of no kind.
pub(super) fn status(shown: &libc::stat) -> Option<Status> {
    let time = |seconds, nanoseconds: i64| Timestamp { seconds, nanoseconds: nanoseconds as u32 };
    Some(Status {
        inode: shown.st_ino,
        kind: kind(shown.st_mode)?,
        permissions: shown.st_mode & 0o7777,
        links: shown.st_nlink,
        uid: shown.st_uid,
        gid: shown.st_gid,
        size: shown.st_size.cast_unsigned(),
        blocks: shown.st_blocks.cast_unsigned(),
        // The kernel shows the 32 bits of FMT-12.
        rdev: shown.st_rdev as u32,
        atime: time(shown.st_atime, shown.st_atime_nsec),
        mtime: time(shown.st_mtime, shown.st_mtime_nsec),
        ctime: time(shown.st_ctime, shown.st_ctime_nsec),
    })
}

pub(super) fn statistics(shown: &libc::statfs) -> Statistics {
    Statistics {
        blocks: shown.f_blocks,
        blocks_free: shown.f_bfree,
        blocks_available: shown.f_bavail,
        files: shown.f_files,
        files_free: shown.f_ffree,
        longest_name: shown.f_namelen.cast_unsigned(),
    }
}

/// The names of a list, each of which ends with a NUL.
pub(super) fn xattr_names(list: &[u8]) -> Vec<Bytes> {
    list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(Bytes::from).collect()
}
