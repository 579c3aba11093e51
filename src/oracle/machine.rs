//! What the machine and the file system of a directory permit, where that differs from one to another: what a profile
//! for the directory must say.

use std::fs::File;
use std::io;
use std::path::Path;

use agentfs_model::profile::{AtimePolicy, Profile, Protections};
use rustix::fs::StatVfsMountFlags;

/// Where the kernel says what it forbids beside the file systems.
const PROTECTIONS: &str = "/proc/sys/fs";

/// The profile with what is known of this machine, and of the file system that `directory` is on: a file is made there,
/// and removed.
///
/// # Errors
/// When no file can be made.
pub fn adapted(profile: Profile, directory: &Path) -> io::Result<Profile> {
    let largest_file = largest_file(directory)?.min(profile.largest_file);
    let atime = if is_strict(directory)? { profile.atime } else { AtimePolicy::Unchecked };
    Ok(Profile { atime, protections: protections(), largest_file, ..profile })
}

/// Whether every read moves access times there. Otherwise what moves them depends on which of two times is later, and on
/// the machine's clock two steps can have one time.
fn is_strict(directory: &Path) -> io::Result<bool> {
    let flags = rustix::fs::statvfs(directory)?.f_flag;
    Ok(!flags.intersects(StatVfsMountFlags::RELATIME | StatVfsMountFlags::NOATIME))
}

/// What `/proc/sys/fs/protected_*` says.
#[must_use]
pub fn protections() -> Protections {
    let level = |name: &str| -> u8 {
        let text = std::fs::read_to_string(Path::new(PROTECTIONS).join(name));
        // A kernel without the file has no such protection.
        text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default()
    };
    Protections {
        symlinks: level("protected_symlinks") > 0,
        hardlinks: level("protected_hardlinks") > 0,
        fifos: level("protected_fifos"),
        regular: level("protected_regular"),
    }
}

/// The largest size that a file can have there.
fn largest_file(directory: &Path) -> io::Result<u64> {
    let file: File = tempfile::tempfile_in(directory)?;
    // From the highest bit down: what is set so far is possible.
    let possible = |size: u64| file.set_len(size).is_ok();
    Ok((0..63)
        .rev()
        .map(|bit| 1_u64 << bit)
        .fold(0, |size, bit| if possible(size | bit) { size | bit } else { size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_this_machine_has_a_largest_size_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let largest = largest_file(folder.path()).unwrap();
        assert!(largest > 1 << 32, "{largest}");
        let file = File::create(folder.path().join("f")).unwrap();
        assert!(file.set_len(largest).is_ok());
        assert!(largest == i64::MAX as u64 || file.set_len(largest + 1).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
