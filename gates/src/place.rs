//! Where a gate runs: a scratch directory on the native disk, and in it a fresh mount, a native
//! directory, or the one directory that the command line names.

use crate::gates::format;
use crate::mount::{Mount, detach_below};
use crate::report::Report;
use crate::settings::Settings;
use anyhow::{Context, Result, ensure};
use nix::sys::statfs::{EXT4_SUPER_MAGIC, statfs};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The kind of a [`Place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A fresh database, mounted.
    Mount,
    /// A directory on ext4.
    Native,
    /// The directory of `--target`.
    Target,
}

/// A directory to run on.
pub struct Place {
    pub kind: Kind,
    pub directory: PathBuf,
    /// The process that serves a mount.
    pub daemon: Option<i32>,
}

/// The most memory that a daemon may ever have resident, whatever was done on its mount.
const MOST_MEMORY_KIB: u64 = 150 << 10;

/// What a gate is given.
pub struct Arena {
    pub settings: Settings,
    scratch: PathBuf,
}

impl Arena {
    /// Works in `scratch`, a directory on the native disk that somebody else removes.
    pub fn new(settings: &Settings, scratch: &Path) -> Self {
        Self { settings: settings.clone(), scratch: scratch.into() }
    }

    /// A directory on the native disk for inputs and logs.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// The agentfs binary.
    pub fn agentfs(&self) -> Result<&Path> {
        self.settings.agentfs.as_deref().context("no agentfs binary: give --agentfs PATH")
    }

    /// Mounts a fresh database called `name`.db.
    pub fn mount(&self, name: &str) -> Result<Mount> {
        let (database, point) = (self.scratch().join(format!("{name}.db")), self.scratch().join(name));
        Mount::create(self.agentfs()?, &database, &point, &self.mount_options())
    }

    /// What each `agentfs mount` of a gate is given besides the database and the place.
    pub fn mount_options(&self) -> String {
        format!("--allow-other {}", self.settings.mount_options)
    }

    /// Runs `check` on a native directory and then on a fresh mount, or on the `--target` alone.
    pub fn on_each(
        &self,
        report: &mut Report,
        mut check: impl FnMut(&Place, &mut Report) -> Result<()>,
    ) -> Result<()> {
        if self.settings.target.is_none() && !self.settings.mount_only {
            self.on_native(report, &mut check)?;
        }
        self.on_mount(report, check)
    }

    /// As [`Arena::on_each`], and native also when the settings leave it out: for gates that
    /// judge the mount by the native result.
    pub fn on_both(
        &self,
        report: &mut Report,
        mut check: impl FnMut(&Place, &mut Report) -> Result<()>,
    ) -> Result<()> {
        self.on_native(report, &mut check)?;
        self.on_mount(report, check)
    }

    /// Runs `check` on a native directory.
    pub fn on_native(
        &self,
        report: &mut Report,
        check: impl FnOnce(&Place, &mut Report) -> Result<()>,
    ) -> Result<()> {
        let directory = self.scratch().join("native");
        std::fs::create_dir(&directory)?;
        std::fs::set_permissions(&directory, Permissions::from_mode(0o755))?;
        report.section(&format!("native ({}, {})", require_ext4(&directory)?, directory.display()));
        let outcome =
            check(&Place { kind: Kind::Native, directory: directory.clone(), daemon: None }, report);
        if let Err(error) = outcome {
            report.fail("on the native directory", format_args!("{error:#}"));
        }
        remove(&directory)
    }

    // spec: MNT-29
    /// Runs `check` on a fresh mount (or on the `--target`), unmounts, and checks the database.
    pub fn on_mount(
        &self,
        report: &mut Report,
        check: impl FnOnce(&Place, &mut Report) -> Result<()>,
    ) -> Result<()> {
        if let Some(target) = &self.settings.target {
            let inside = tempfile::Builder::new().prefix("gate-").tempdir_in(target)?;
            std::fs::set_permissions(inside.path(), Permissions::from_mode(0o755))?;
            report.section(&format!("target ({})", inside.path().display()));
            return check(
                &Place { kind: Kind::Target, directory: inside.path().into(), daemon: None },
                report,
            );
        }
        let mount = self.mount("mount")?;
        report.section(&format!("mount ({})", mount.point.display()));
        let daemon = Some(mount.daemon()?);
        let place = Place { kind: Kind::Mount, directory: mount.point.clone(), daemon };
        if let Err(error) = check(&place, report) {
            report.fail("on the mount", format_args!("{error:#}"));
        }
        match mount.peak_memory() {
            Ok(kib) => report.check(
                format_args!("the daemon had at most {kib} KiB resident"),
                kib <= MOST_MEMORY_KIB,
                || format!("more than {MOST_MEMORY_KIB}"),
            ),
            Err(error) => report.fail("the daemon's memory", format_args!("{error:#}")),
        }
        match mount.unmount() {
            Ok(database) => {
                report.pass("unmounted, the daemon gone, one file left");
                format::check_database(&database, report);
            }
            Err(error) => report.fail("unmount", format_args!("{error:#}")),
        }
        Ok(())
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        detach_below(&self.scratch);
    }
}

/// The file system's name, which must be ext4 for a comparison to mean anything.
pub fn require_ext4(directory: &Path) -> Result<&'static str> {
    let kind = statfs(directory)?.filesystem_type();
    ensure!(
        kind == EXT4_SUPER_MAGIC,
        "{} is not on ext4 (file system type {:#x}): name a directory on ext4 with --native",
        directory.display(),
        kind.0
    );
    Ok("ext4")
}

/// Removes a tree, also where a check left directories that nobody may write to.
fn remove(directory: &Path) -> Result<()> {
    std::fs::remove_dir_all(directory).with_context(|| format!("cannot remove {}", directory.display()))
}
