//! A directory of a given kind, and what is known of it.

use std::path::{Path, PathBuf};

use agentfs::oracle::host::HostDirectory;
use agentfs_model::generate::Alphabet;
use agentfs_model::profile::{AtimePolicy, Profile, Protections};
use agentfs_model::trace::RootSetting;
use rustix::mount::{MountFlags, MountPropagationFlags, mount_bind, mount_change, mount_remount};
use tempfile::TempDir;

/// An empty directory of some file system, with the differences that it may show.
pub struct Place {
    folder: TempDir,
    pub alphabet: Alphabet,
}

impl Place {
    /// A directory below `above`, which lies on a file system of this profile.
    pub fn below(above: &Path, profile: Profile) -> Self {
        let folder = tempfile::tempdir_in(above).unwrap();
        let mut alphabet = Alphabet::linux();
        alphabet.profile = Profile { protections: protections(), ..profile };
        let own = HostDirectory::own_credentials();
        if own.is_superuser() {
            mount_strictly(folder.path());
            // Nothing leads out of the root that the clients are given.
            alphabet.absolute_targets = true;
        } else {
            alphabet.profile.atime = AtimePolicy::Unchecked;
            alphabet.roots = vec![RootSetting { uid: own.uid, gid: own.gid, permissions: 0o777 }];
            alphabet.ids = vec![own.uid];
            alphabet.processes = vec![own];
        }
        Self { folder, alphabet }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Mounts the directory on itself, in a namespace that this thread and what it starts have for themselves: the mount
/// ends with them.
fn mount_strictly(directory: &Path) {
    // SAFETY: the thread shares no file descriptors or memory less than before; only its view of mounts is its own.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }.unwrap();
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
    mount_bind(directory, directory).unwrap();
    mount_remount(directory, MountFlags::BIND | MountFlags::STRICTATIME, c"").unwrap();
}

/// What `/proc/sys/fs/protected_*` says on this machine.
pub fn protections() -> Protections {
    let level = |name: &str| -> u8 {
        let text = std::fs::read_to_string(PathBuf::from("/proc/sys/fs").join(name)).unwrap_or_default();
        text.trim().parse().unwrap_or_default()
    };
    Protections {
        symlinks: level("protected_symlinks") > 0,
        hardlinks: level("protected_hardlinks") > 0,
        fifos: level("protected_fifos"),
        regular: level("protected_regular"),
    }
}
