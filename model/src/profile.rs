//! What may differ from one correct file system to another, as settings of the model.
//!
//! Everything else is the same for all. Each setting says why it is there; whoever compares a file system with the model
//! chooses a profile, and a difference that no profile allows is a finding.

use serde::{Deserialize, Serialize};

/// When a read moves atime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtimePolicy {
    /// As FS-TIME-4 says: when it is not later than mtime or ctime, or a day old.
    Relative,
    /// At every read.
    Strict,
    /// Never.
    Never,
    /// Perhaps: a cache may answer, and on a machine's clock two steps can have one time.
    Unchecked,
}

/// Linux's protections of directories that anyone may write to (`/proc/sys/fs/protected_*`), which the kernel applies above
/// every file system; all off where no kernel stands before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protections {
    /// Symlinks in sticky directories that anyone may write to are followed only by their owner.
    pub symlinks: bool,
    /// Only who could write a file, or owns it, may link to it.
    pub hardlinks: bool,
    /// `O_CREAT` opens no FIFO of another in a sticky directory that anyone (1), or its group (2), may write to.
    pub fifos: u8,
    /// The same of regular files.
    pub regular: u8,
}

/// The differences that are permitted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// When reads move atime.
    pub atime: AtimePolicy,
    /// Chunk size in bytes: what `blocks`, holes and the alignment of collapse and insert are counted in.
    pub chunk_size: u32,
    /// Largest file that is stored inline.
    pub inline_threshold: u32,
    /// Whether `blocks` and the place of holes must be those of AgentFS's layout. Elsewhere the size of a block, and
    /// what is allocated ahead, is the file system's own affair: any answer that hides no data is right.
    pub layout: bool,
    /// Whether a directory shows size 4096 (FS-ATTR-2). Elsewhere its size is whatever its entries take.
    pub directory_size: bool,
    /// Whether a directory shows 2 + its subdirectories; some file systems show 1.
    pub directory_links: bool,
    /// Whether readdir returns entries in the order in which they were made (FS-DIR-2). POSIX has no order.
    pub directory_order: bool,
    /// Whether a name that rename puts in place of another keeps its position (FS-RENAME-7). POSIX does not say whether
    /// a listing that is under way returns such a name.
    pub replaced_entry_stays: bool,
    /// Whether a position stays valid when entries are removed (FS-DIR-4). On tmpfs it is that of the next entry: with that
    /// gone, the entry before may be returned again.
    pub stable_positions: bool,
    /// Whether a listing that is under way leaves out what was removed, and shows what was renamed by its new name
    /// (FS-DIR-5). POSIX leaves that open; of a FUSE file system the kernel keeps what it has listed once, and looks for
    /// changes only where a listing begins (MNT-43).
    pub listing_follows_changes: bool,
    /// Whether a number of an inode that is gone may come again; FMT-9 forbids it.
    pub inode_numbers_reused: bool,
    /// Whether collapse and insert range are provided; they are refused with EOPNOTSUPP elsewhere, and by the kernel for
    /// every FUSE file system.
    pub collapse_range: bool,
    /// Whether a refused collapse or insert has already set times and taken set-id bits away (CALL-12 says no); on ext4 it
    /// has.
    pub refused_shift_modifies: bool,
    /// Whether zero range is provided; tmpfs refuses it with EOPNOTSUPP.
    pub zero_range: bool,
    /// Whether a read of no bytes counts as a read (FS-TIME-4 says no); on tmpfs it does.
    pub empty_read_accesses: bool,
    /// Whether truncation by path to the size that the file has already sets times (FS-TRUNC-4). POSIX leaves that open;
    /// tmpfs does when it has pages of the file, and not otherwise; of a FUSE file system with the writeback cache the
    /// kernel keeps the times itself, and moves them only when the size changes.
    pub same_size_modifies: bool,
    /// Whether setting an extended attribute to the value that it has moves ctime (FS-TIME-3); ext4 then does nothing.
    pub same_xattr_changes: bool,
    /// Whether a change of content or owner by a stranger to the group takes set-group-id away also where the group may not
    /// execute (FS-PERM-11, FS-PERM-12). FUSE asks for that only where it may (MNT-38), and who comes through the kernel
    /// counts as a member of every group (FS-ERR-3).
    pub plain_set_group_id_falls: bool,
    /// Whether chown to nothing takes set-id bits away (CALL-6). For a FUSE file system that takes them away itself the kernel
    /// leaves this to it, and asks for no more than a new ctime.
    pub empty_chown_drops_set_id: bool,
    /// Whether ".." of a removed directory that is still open leads to where it was: Linux remembers, inodes do not
    /// (FS-LOOKUP-3).
    pub parent_of_removed: bool,
    /// Whether the calls come through Linux, which answers some by itself: the listing of a removed directory (CALL-8), and
    /// open with CREATE of what is no file in directories that anyone may write to (CALL-9).
    pub kernel: bool,
    /// Whether SEEK_DATA and SEEK_HOLE look into the last 4096 bytes before 2^63 (FS-SEEK-3). In tmpfs their arithmetic
    /// overflows there: the bytes are read as they were written, but no data is found, or a hole at 2^63.
    pub last_page_sought: bool,
    /// Largest size of a file, above which is EFBIG.
    pub largest_file: u64,
    /// What the kernel forbids beside the file system.
    pub protections: Protections,
    /// Whether refusals may be those that POSIX allows beside Linux's (EEXIST for ENOTEMPTY, EPERM for EISDIR of unlink).
    pub posix_errors: bool,
}

/// What a trace does not say is as in AgentFS, so that traces stay readable when the profile gains a line.
impl Default for Profile {
    fn default() -> Self {
        Self::agentfs()
    }
}

impl Profile {
    /// The library in process: everything that SPEC.md says, exactly.
    #[must_use]
    pub const fn agentfs() -> Self {
        Self {
            atime: AtimePolicy::Relative,
            chunk_size: 65536,
            inline_threshold: 4096,
            layout: true,
            directory_size: true,
            directory_links: true,
            directory_order: true,
            replaced_entry_stays: true,
            stable_positions: true,
            listing_follows_changes: true,
            inode_numbers_reused: false,
            collapse_range: true,
            refused_shift_modifies: false,
            zero_range: true,
            empty_read_accesses: false,
            same_size_modifies: true,
            same_xattr_changes: true,
            plain_set_group_id_falls: true,
            empty_chown_drops_set_id: true,
            parent_of_removed: false,
            kernel: false,
            last_page_sought: true,
            largest_file: i64::MAX as u64,
            protections: Protections { symlinks: false, hardlinks: false, fifos: 0, regular: 0 },
            posix_errors: false,
        }
    }

    /// AgentFS through the kernel, whose caches answer some reads and whose buffers order some entries.
    #[must_use]
    pub const fn mount() -> Self {
        Self {
            atime: AtimePolicy::Unchecked,
            layout: false,
            directory_order: false,
            listing_follows_changes: false,
            collapse_range: false,
            same_size_modifies: false,
            plain_set_group_id_falls: false,
            empty_chown_drops_set_id: false,
            parent_of_removed: true,
            kernel: true,
            ..Self::agentfs()
        }
    }

    /// A file system of Linux itself, mounted with `strictatime`.
    #[must_use]
    pub const fn linux() -> Self {
        Self {
            atime: AtimePolicy::Strict,
            layout: false,
            directory_size: false,
            directory_order: false,
            replaced_entry_stays: false,
            inode_numbers_reused: true,
            collapse_range: false,
            parent_of_removed: true,
            kernel: true,
            ..Self::agentfs()
        }
    }

    /// ext4 with blocks of 4096 bytes, mounted with `strictatime`: it has collapse and insert range, by its own blocks, and
    /// files of up to 2^32 - 1 of them.
    #[must_use]
    pub const fn ext4() -> Self {
        Self {
            chunk_size: 4096,
            collapse_range: true,
            refused_shift_modifies: true,
            same_xattr_changes: false,
            largest_file: ((1 << 32) - 1) * 4096,
            ..Self::linux()
        }
    }

    /// tmpfs, mounted with `strictatime`.
    #[must_use]
    pub const fn tmpfs() -> Self {
        Self {
            zero_range: false,
            empty_read_accesses: true,
            same_size_modifies: false,
            stable_positions: false,
            last_page_sought: false,
            ..Self::linux()
        }
    }

    /// Any file system that POSIX would call one.
    #[must_use]
    pub const fn posix() -> Self {
        Self {
            atime: AtimePolicy::Unchecked,
            directory_links: false,
            listing_follows_changes: false,
            posix_errors: true,
            ..Self::linux()
        }
    }
}
