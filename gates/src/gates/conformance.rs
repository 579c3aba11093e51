//! Random traces by time: the library, a mount, and directories of ext4 and tmpfs, all held against the model.
//!
//! What `cargo test` does with a few thousand traces, for as long as `--minutes` says and from a seed that is printed. Every
//! pair of a call and an error that SPEC.md lists (CALL-11) must have been answered by the library, which has every call;
//! a pair that never was fails the gate, since a rule that nothing reaches is not checked.

use super::Gate;
use crate::place::Arena;
use crate::report::Report;
use agentfs::oracle::Implementation;
use agentfs::oracle::file;
use agentfs::oracle::host::{HostDirectory, PlainDirectory};
use agentfs::oracle::library::Library;
use agentfs::oracle::machine;
use agentfs::oracle::play::{Look, replay};
use agentfs::oracle::search::{Findings, Search, search};
use agentfs::oracle::vectors;
use agentfs_model::coverage::listed;
use agentfs_model::generate::Alphabet;
use agentfs_model::profile::{AtimePolicy, Profile};
use anyhow::{Context, Result, anyhow};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub const GATE: Gate = Gate {
    name: "conformance",
    about: "random traces by time on the library, a mount, ext4 and tmpfs, held against the model; every listed error met",
    tools: &[],
    quick: false,
    limit: Duration::from_secs(24 * 60 * 60),
    run,
};

/// Most steps of a trace.
const LENGTH: usize = 60;
/// How long one kind of divergence may be made smaller.
const SHRINK: Duration = Duration::from_secs(60);
/// The library's share of the time, in tenths: it has the most to show. The three directories have the rest.
const LIBRARY_TENTHS: u32 = 4;

// spec: CALL-11 MNT-14
fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    let seed = arena.settings.seed.map_or_else(time_as_seed, Ok)?;
    let all = Duration::from_secs_f64(arena.settings.minutes * 60.0);
    report.note(format_args!("seed {seed}, {:.1} minutes in all", arena.settings.minutes));
    let campaign = Campaign { arena, seed, share: all / 10 };
    campaign.library(report)?;
    campaign.mount(report)?;
    campaign.directory(report, "ext4", arena.scratch(), Profile::ext4())?;
    campaign.directory(report, "tmpfs", Path::new("/dev/shm"), Profile::tmpfs())
}

fn time_as_seed() -> Result<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())
}

struct Campaign<'a> {
    arena: &'a Arena,
    seed: u64,
    /// A tenth of the time.
    share: Duration,
}

impl Campaign<'_> {
    fn library(&self, report: &mut Report) -> Result<()> {
        report.section("library");
        let folder = tempfile::tempdir_in("/dev/shm")?;
        let mut library = Library::new(folder.path(), agentfs::Options::default());
        let mut findings =
            self.search(report, "library", &Alphabet::library(), &mut library, self.share * LIBRARY_TENTHS)?;
        // What chance meets seldom has a vector of its own.
        for vector in vectors::all() {
            let played = replay(&vector.trace(&Profile::agentfs()), &mut library, Look::AtEnd);
            findings.coverage.add(played.checker.coverage());
            if let Err(fault) = played.ended {
                report.fail(format_args!("vector {}", vector.name), fault);
            }
        }
        let specification = std::fs::read_to_string(super::own_file("../SPEC.md"))?;
        let listed = listed(&specification).map_err(|why| anyhow!(why))?;
        let missing = findings.coverage.missing(&listed);
        let covered = listed.len() - missing.len();
        report.check(
            format_args!("{covered} of the {} pairs of call and answer that CALL-11 lists", listed.len()),
            missing.is_empty(),
            || missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        );
        Ok(())
    }

    fn mount(&self, report: &mut Report) -> Result<()> {
        // Reading moves no access times there, so that the tree can be looked at after every step.
        let options = format!("{} --atime noatime", self.arena.mount_options());
        let (database, point) =
            (self.arena.scratch().join("conform.db"), self.arena.scratch().join("conform"));
        let mounted = crate::mount::Mount::create(self.arena.agentfs()?, &database, &point, &options)?;
        report.section("mount");
        let mut alphabet = Alphabet::mount();
        alphabet.profile.atime = AtimePolicy::Never;
        self.on(report, "mount", mounted.point.clone(), alphabet)?;
        mounted.unmount()?;
        Ok(())
    }

    /// A directory below `above`, mounted on itself with `strictatime`.
    fn directory(&self, report: &mut Report, name: &str, above: &Path, profile: Profile) -> Result<()> {
        let folder = tempfile::tempdir_in(above)?;
        let bound = Bound::new(folder.path())?;
        report.section(name);
        let alphabet = Alphabet { profile, ..Alphabet::linux() };
        let done = self.on(report, name, folder.path().to_owned(), alphabet);
        drop(bound);
        done
    }

    fn on(
        &self,
        report: &mut Report,
        subject: &str,
        directory: PathBuf,
        mut alphabet: Alphabet,
    ) -> Result<()> {
        alphabet.profile.protections = machine::protections();
        // Each client has the directory as its root.
        alphabet.absolute_targets = true;
        let plain = PlainDirectory::new(&directory)?;
        let mut host = HostDirectory::new(self.arena.agentfs()?, plain, HostDirectory::LIMIT);
        self.search(report, subject, &alphabet, &mut host, self.share * (10 - LIBRARY_TENTHS) / 3)?;
        Ok(())
    }

    fn search(
        &self,
        report: &mut Report,
        subject: &str,
        alphabet: &Alphabet,
        implementation: &mut dyn Implementation,
        time: Duration,
    ) -> Result<Findings> {
        let until = Some(Instant::now() + time);
        let (seed, look) = (self.seed, Look::EveryStep);
        let plan = Search { seed, cases: u32::MAX, until, length: LENGTH, look, shrink: SHRINK };
        let findings = search(alphabet, implementation, &plan, |_| ());
        for why in &findings.refused {
            report.fail("a setting was refused", why);
        }
        let folder = super::own_file("../target/conformance");
        std::fs::create_dir_all(&folder)?;
        for (number, found) in findings.found.iter().enumerate() {
            let kept = folder.join(format!("{subject}-{seed}-{number}.jsonl"));
            let mut text = Vec::new();
            file::write(&found.trace, &mut text)?;
            std::fs::write(&kept, text).with_context(|| format!("writing {}", kept.display()))?;
            report.fail(format_args!("{} traces; see {}", found.times, kept.display()), &found.fault);
        }
        let pairs = findings.coverage.pairs().len();
        report.pass_many(
            findings.passed as usize,
            format_args!("{} steps, {pairs} different pairs of call and answer", findings.steps),
        );
        Ok(findings)
    }
}

/// A directory that is mounted on itself, so that reading moves every access time.
struct Bound(PathBuf);

impl Bound {
    fn new(directory: &Path) -> Result<Self> {
        let none: Option<&str> = None;
        mount(Some(directory), directory, none, MsFlags::MS_BIND, none)?;
        let bound = Self(directory.to_owned());
        let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_STRICTATIME;
        mount(none, directory, none, flags, none)?;
        Ok(bound)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // What is left of a gate that failed is taken away by whoever started it.
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}
