//! Random traces on a mount, by several processes with their own credentials.

use agentfs::oracle::host::HostDirectory;
use agentfs::oracle::play::Look;
use agentfs_model::generate::{Alphabet, Kind};
use agentfs_model::profile::AtimePolicy;
use agentfs_model::trace::RootSetting;

use crate::mounted::MountedDatabase;
use crate::searching::{PROGRAM, assert_no_divergence};

/// The values for a mount, as far as whoever runs the tests can play the part.
fn alphabet() -> Alphabet {
    let mut alphabet = Alphabet::mount();
    let own = HostDirectory::own_credentials();
    alphabet.profile.atime = AtimePolicy::Never;
    alphabet.profile.protections = crate::place::protections();
    if own.is_superuser() {
        alphabet.absolute_targets = true;
    } else {
        alphabet.roots = vec![RootSetting { uid: own.uid, gid: own.gid, permissions: 0o777 }];
        alphabet.ids = vec![own.uid];
        alphabet.processes = vec![own];
    }
    alphabet
}

/// A mount that everyone may use, if that can be had. Reading moves no access times on it, so that the tree can be
/// looked at after every step.
fn mounted() -> HostDirectory {
    let all: &[_] = &["--atime", "noatime", "--allow-other"];
    let options = if HostDirectory::own_credentials().is_superuser() { all } else { &all[..2] };
    HostDirectory::new(PROGRAM, MountedDatabase::new(options), HostDirectory::LIMIT)
}

// spec: MNT-14, MNT-15, MNT-38, MNT-39
#[test]
fn the_mount_does_what_the_model_says() {
    let mut host = mounted();
    assert_no_divergence(&alphabet(), &mut host, Look::EveryStep, 1000);
}

// spec: MNT-8, MNT-10, MNT-40
#[test]
fn a_mount_that_is_opened_again_or_killed_goes_on_where_the_model_does() {
    let mut alphabet = alphabet();
    alphabet.without.retain(|kind| !matches!(kind, Kind::Reopen | Kind::Crash));
    // The kernel does not pass syncfs on, and bytes that it still has die with the mount, whatever came after them.
    alphabet.without.extend([Kind::Sync, Kind::Write, Kind::Pwrite]);
    alphabet.read_only = true;
    let mut host = mounted();
    assert_no_divergence(&alphabet, &mut host, Look::AtEnd, 60);
}
