//! How a mount is asked for: the options of `agentfs mount`, of `-o`, and of fstab, as one value.
//!
//! The value has a text form (`-o` options), in which it goes on to the process that serves the mount.

use std::ffi::OsString;
use std::fmt;

use super::exit::Failure;
use crate::fuse::{KernelOption, MountOptions};
use crate::types::{AtimePolicy, Options};

/// What was asked for; `None` leaves the library's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MountSettings {
    pub(crate) read_only: bool,
    pub(crate) allow_other: bool,
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    pub(crate) workers: Option<usize>,
    pub(crate) no_pin: bool,
    pub(crate) atime: Option<AtimePolicy>,
    pub(crate) nonempty: bool,
    /// In the order in which they were given; a later one wins.
    pub(crate) kernel: Vec<KernelOption>,
}

/// Options for mount(8), udev, systemd and init scripts, which mean nothing to a file system.
const FOR_OTHERS: [&str; 20] = [
    "defaults",
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "owner",
    "group",
    "_netdev",
    "nofail",
    "async",
    "default_permissions",
    "diratime",
    "nodiratime",
    "silent",
    "loud",
    "iversion",
    "noiversion",
    "lazytime",
    "nolazytime",
];

impl MountSettings {
    /// Adds a comma-separated list of options; a later one wins. With `sloppy`, unknown ones are skipped.
    pub(crate) fn add(&mut self, options: &str, sloppy: bool) -> Result<(), Failure> {
        for option in options.split(',').filter(|option| !option.is_empty()) {
            if !self.add_one(option)? && !sloppy {
                return Err(Failure::usage(format!(
                    "unknown mount option {option:?}; see `agentfs mount --help`"
                )));
            }
        }
        Ok(())
    }

    fn add_one(&mut self, option: &str) -> Result<bool, Failure> {
        let (name, value) =
            option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let is_for_others = name.starts_with("x-") || name.starts_with("X-") || name == "comment";
        match (name, value) {
            ("ro", None) => self.read_only = true,
            ("rw", None) => self.read_only = false,
            ("allow_other", None) => self.allow_other = true,
            ("uid", Some(value)) => self.uid = Some(number(option, value)?),
            ("gid", Some(value)) => self.gid = Some(number(option, value)?),
            ("workers", Some(value)) => self.workers = Some(number(option, value)?),
            ("nopin", None) => self.no_pin = true,
            ("noatime", None) => self.atime = Some(AtimePolicy::Never),
            ("relatime" | "norelatime" | "atime", None) => self.atime = Some(AtimePolicy::Relative),
            ("strictatime", None) => self.atime = Some(AtimePolicy::Strict),
            ("nostrictatime", None) => self.atime = Some(AtimePolicy::Relative),
            ("nonempty", None) => self.nonempty = true,
            ("suid" | "nosuid" | "dev" | "nodev" | "exec" | "noexec" | "sync" | "dirsync", None) => {
                self.kernel.push(name.parse()?);
            }
            _ => return Ok(is_for_others || value.is_none() && FOR_OTHERS.contains(&name)),
        }
        Ok(true)
    }
}

impl MountSettings {
    /// How the database is opened for such a mount.
    pub(crate) fn database_options(&self) -> Options {
        Options { read_only: self.read_only, atime: self.atime.unwrap_or_default(), ..Options::default() }
    }

    /// How the library mounts it; `source` is what the list of mounts shows.
    pub(crate) fn mount_options(&self, source: OsString) -> MountOptions {
        let mut options = MountOptions::new(source);
        options.read_only = self.read_only;
        options.allow_other = self.allow_other;
        options.uid = self.uid;
        options.gid = self.gid;
        options.workers = self.workers;
        options.pin = !self.no_pin;
        options.nonempty = self.nonempty;
        options.kernel.clone_from(&self.kernel);
        if self.atime == Some(AtimePolicy::Never) {
            options.kernel.push(KernelOption::NoAtime);
        }
        options
    }
}

fn number<T: std::str::FromStr>(option: &str, value: &str) -> Result<T, Failure> {
    value.parse().map_err(|_| Failure::usage(format!("mount option {option:?}: not a number in range")))
}

impl fmt::Display for MountSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.read_only { "ro" } else { "rw" })?;
        let flags = [
            (self.allow_other, "allow_other"),
            (self.no_pin, "nopin"),
            (self.nonempty, "nonempty"),
            (self.atime == Some(AtimePolicy::Never), "noatime"),
            (self.atime == Some(AtimePolicy::Relative), "relatime"),
            (self.atime == Some(AtimePolicy::Strict), "strictatime"),
        ];
        for (_, name) in flags.iter().filter(|(set, _)| *set) {
            write!(f, ",{name}")?;
        }
        for option in &self.kernel {
            write!(f, ",{}", option.word())?;
        }
        if let Some(uid) = self.uid {
            write!(f, ",uid={uid}")?;
        }
        if let Some(gid) = self.gid {
            write!(f, ",gid={gid}")?;
        }
        if let Some(workers) = self.workers {
            write!(f, ",workers={workers}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(options: &str) -> MountSettings {
        let mut settings = MountSettings::default();
        settings.add(options, false).unwrap();
        settings
    }

    // spec: CLI-14
    #[test]
    fn options_survive_their_text_form() {
        for options in [
            "",
            "ro",
            "rw,allow_other,uid=1000,gid=7,noatime",
            "workers=3,nopin,strictatime,nosuid,noexec,dev",
        ] {
            let settings = parsed(options);
            assert_eq!(parsed(&settings.to_string()), settings);
        }
    }

    // spec: CLI-14
    #[test]
    fn what_is_meant_for_mount_8_is_ignored_and_the_unknown_is_refused() {
        let others =
            "defaults,user,noauto,_netdev,nofail,x-systemd.automount,x-gvfs-name=a,comment=b,rw,async";
        assert_eq!(parsed(others), MountSettings::default());
        let mut settings = MountSettings::default();
        for unknown in ["frobnicate", "uid", "uid=me", "ro=1", "uid=-1"] {
            assert!(settings.add(unknown, false).is_err(), "{unknown}");
        }
        assert!(settings.add("frobnicate", true).is_ok());
    }

    // spec: CLI-14
    #[test]
    fn the_last_of_two_options_that_exclude_each_other_wins() {
        assert!(!parsed("ro,rw").read_only);
        assert!(parsed("rw,ro").read_only);
        assert_eq!(parsed("noatime,relatime").atime, Some(AtimePolicy::Relative));
    }
}
