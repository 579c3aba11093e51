//! Directories: a great many entries at a flat price, and listings while the directory changes.

use crate::place::Place;
use crate::report::Report;
use crate::settings::Settings;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// The last tenths may cost this many times the first ones.
const FLAT: f64 = 2.0;
/// Below this many microseconds a ratio says more about the clock than about the directory.
const NOISE: f64 = 15.0;

pub fn check(place: &Place, settings: &Settings, report: &mut Report) {
    many_entries(place, settings.count(100_000, 1_000_000), report);
    let directory = &place.directory;
    report.attempt("every entry is listed once while others come and go", || listing_under_change(directory));
    report.attempt("deleting while listing deletes everything", || delete_while_listing(directory));
    report.attempt("a listing that is rewound shows the present", || rewound(directory));
}

fn name(number: u64) -> String {
    format!("entry-{number:07}")
}

// spec: FS-DIR-1 FS-DIR-8
fn many_entries(place: &Place, count: u64, report: &mut Report) {
    let directory = &place.directory.join("many");
    // A multiplier without a common factor visits every entry in no order that an index would like.
    let scattered = |n: u64| n * 7_368_787 % count;
    let outcome = (|| -> Result<()> {
        fs::create_dir(directory)?;
        let mut flat =
            |what, operation: &dyn Fn(u64) -> io::Result<()>| flat(place, report, what, count, operation);
        flat("create", &|n| File::create_new(directory.join(name(n))).map(drop))?;
        flat("stat", &|n| fs::metadata(directory.join(name(scattered(n)))).map(|_| ()))?;
        let mut seen = BTreeSet::new();
        let started = Instant::now();
        for entry in fs::read_dir(directory)? {
            ensure!(seen.insert(entry?.file_name()), "an entry is listed twice");
        }
        println!("    readdir      {:.1} us an entry", microseconds_each(started.elapsed(), count));
        ensure!(seen.len() as u64 == count, "{} entries listed, not {count}", seen.len());
        flat("unlink", &|n| fs::remove_file(directory.join(name(scattered(n)))))?;
        fs::remove_dir(directory)?;
        Ok(())
    })();
    match outcome {
        Ok(()) => report.pass(format_args!("{count} entries made, listed once each, removed")),
        Err(error) => report.fail(format_args!("a directory of {count} entries"), format_args!("{error:#}")),
    }
}

#[allow(clippy::cast_precision_loss)]
fn microseconds_each(time: Duration, count: u64) -> f64 {
    time.as_secs_f64() * 1e6 / count as f64
}

/// The processor time that this process and the daemon have used: on a busy machine, a better measure of
/// work than the clock on the wall.
fn processor_time(place: &Place) -> Result<Duration> {
    const TICKS_A_SECOND: u64 = 100;
    let mut ticks = 0;
    for process in [Some("self".to_owned()), place.daemon.map(|id| id.to_string())].into_iter().flatten() {
        let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
        // The second field is the program's name in parentheses; user and system time are the 14th and 15th.
        let fields = text.rsplit_once(')').context("no name in stat")?.1;
        let times = fields.split_whitespace().skip(11).take(2);
        ticks += times.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    }
    Ok(Duration::from_millis(ticks * 1000 / TICKS_A_SECOND))
}

/// Runs `operation` for each number, and compares the price of the last tenths with that of the first.
fn flat(
    place: &Place,
    report: &mut Report,
    what: &str,
    count: u64,
    operation: &dyn Fn(u64) -> io::Result<()>,
) -> Result<()> {
    let tenth = (count / 10).max(1);
    let (mut wall, mut work) = (Vec::new(), Vec::new());
    for part in 0..count / tenth {
        let (started, used) = (Instant::now(), processor_time(place)?);
        for n in part * tenth..(part + 1) * tenth {
            operation(n).with_context(|| format!("{what} {n}"))?;
        }
        wall.push(microseconds_each(started.elapsed(), tenth));
        work.push(microseconds_each(processor_time(place)?.saturating_sub(used), tenth));
    }
    let row = |times: &[f64]| times.iter().map(|time| format!("{time:.0}")).collect::<Vec<_>>().join(" ");
    report.note(format_args!(
        "{what:7} us each by tenths: {} (of the processors: {})",
        row(&wall),
        row(&work)
    ));
    // The median of three at each end, so that one pause of the machine does not decide.
    let median = |times: &[f64]| {
        let mut times = times.to_vec();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let ends = work.len().min(3);
    let (first, last) = (median(&work[..ends]), median(&work[work.len() - ends..]));
    let flat = last <= first * FLAT || last <= NOISE;
    report.check(format_args!("{what}: {first:.0} us of work at first, {last:.0} us at last"), flat, || {
        format!("it grew {:.1} times, more than {FLAT}", last / first)
    });
    Ok(())
}

/// POSIX: what is there from beginning to end of a listing is listed exactly once.
// spec: FS-DIR-3
fn listing_under_change(parent: &Path) -> Result<()> {
    let directory = parent.join("changing");
    fs::create_dir(&directory)?;
    let stable = |n| format!("stable-{n:04}");
    let passing = |n| format!("passing-{n:04}");
    for n in 0..2000 {
        File::create_new(directory.join(stable(n)))?;
        File::create_new(directory.join(passing(n)))?;
    }
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for (step, entry) in fs::read_dir(&directory)?.enumerate() {
        *seen.entry(entry?.file_name().to_string_lossy().into_owned()).or_default() += 1;
        if step < 2000 {
            fs::remove_file(directory.join(passing(step)))?;
            File::create_new(directory.join(format!("new-{step:04}")))?;
        }
        ensure!(step < 20_000, "the listing does not end");
    }
    for n in 0..2000 {
        let times = seen.get(&stable(n)).copied().unwrap_or(0);
        ensure!(times == 1, "{} was listed {times} times", stable(n));
    }
    let twice = seen.iter().find(|(_, times)| **times > 1);
    ensure!(twice.is_none(), "listed twice: {twice:?}");
    fs::remove_dir_all(&directory)?;
    Ok(())
}

// spec: FS-DIR-3 FS-DIR-4
fn delete_while_listing(parent: &Path) -> Result<()> {
    let directory = parent.join("deleted");
    fs::create_dir(&directory)?;
    for n in 0..5000 {
        File::create_new(directory.join(name(n)))?;
    }
    let mut removed = 0;
    for entry in fs::read_dir(&directory)? {
        fs::remove_file(entry?.path())?;
        removed += 1;
    }
    ensure!(removed == 5000, "the listing showed {removed} of 5000 entries");
    fs::remove_dir(&directory)?;
    Ok(())
}

// spec: FS-DIR-5 MNT-20
fn rewound(parent: &Path) -> Result<()> {
    let directory = parent.join("rewound");
    fs::create_dir(&directory)?;
    for n in 0..10 {
        File::create_new(directory.join(name(n)))?;
    }
    let mut listing =
        nix::dir::Dir::open(&directory, nix::fcntl::OFlag::O_RDONLY, nix::sys::stat::Mode::empty())?;
    ensure!(listing.iter().count() == 12, "not ten entries besides . and ..");
    File::create_new(directory.join("eleventh"))?;
    fs::remove_file(directory.join(name(0)))?;
    fs::remove_file(directory.join(name(1)))?;
    // Dir's iterator rewinds when it is dropped.
    let count = listing.iter().filter(Result::is_ok).count();
    ensure!(count == 11, "{count} entries after rewinding, not 11");
    fs::remove_dir_all(&directory)?;
    Ok(())
}
