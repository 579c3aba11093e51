//! fio with verification: every block that is read back has the checksum that was written.

use super::Gate;
use crate::place::{Arena, Place};
use crate::program::Program;
use crate::report::Report;
use anyhow::{Context, Result, ensure};
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "fio",
    about: "fio --verify=crc32c: random writes, buffered, direct and mapped, several block sizes",
    tools: &["fio"],
    quick: false,
    limit: Duration::from_secs(20 * 60),
    run,
};

struct Job {
    engine: &'static str,
    pattern: &'static str,
    block: &'static str,
    direct: bool,
    /// Further options.
    more: &'static [&'static str],
}

const fn job(engine: &'static str, pattern: &'static str, block: &'static str, direct: bool) -> Job {
    Job { engine, pattern, block, direct, more: &[] }
}

const JOBS: &[Job] = &[
    job("psync", "randwrite", "4k", false),
    job("psync", "randwrite", "4k", true),
    job("psync", "randrw", "4k", false),
    job("psync", "randrw", "16k", true),
    job("psync", "write", "1m", false),
    job("psync", "write", "1m", true),
    // Not aligned to pages or chunks.
    job("psync", "randwrite", "3000", false),
    Job { engine: "psync", pattern: "randwrite", block: "64k", direct: false, more: &["--fsync=16"] },
    Job {
        engine: "psync",
        pattern: "randwrite",
        block: "8k",
        direct: false,
        more: &["--overwrite=1", "--numjobs=4"],
    },
    job("mmap", "randwrite", "4k", false),
    job("mmap", "randrw", "64k", false),
    Job { engine: "libaio", pattern: "randwrite", block: "4k", direct: true, more: &["--iodepth=16"] },
    Job { engine: "libaio", pattern: "randrw", block: "128k", direct: true, more: &["--iodepth=8"] },
];

// spec: FS-DATA-1 FS-DATA-3 MNT-21
fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    arena.on_each(report, |place, report| {
        let mib = arena.settings.count(8, 64);
        for job in JOBS {
            let direct = if job.direct { "direct" } else { "buffered" };
            let what = format!(
                "{} {} {} {direct} {} {mib} MiB",
                job.engine,
                job.pattern,
                job.block,
                job.more.join(" ")
            );
            report.attempt(what, || verify(place, job, mib));
        }
        Ok(())
    })
}

fn verify(place: &Place, job: &Job, mib: u64) -> Result<()> {
    let holder = tempfile::tempdir_in(&place.directory)?;
    let directory = holder.path();
    let words = [
        "--name=job".to_owned(),
        format!("--directory={}", directory.display()),
        format!("--ioengine={}", job.engine),
        format!("--rw={}", job.pattern),
        format!("--bs={}", job.block),
        format!("--direct={}", u8::from(job.direct)),
        format!("--size={mib}m"),
        "--randseed=7".to_owned(),
        "--verify=crc32c".to_owned(),
        "--do_verify=1".to_owned(),
        "--verify_fatal=1".to_owned(),
        "--verify_dump=0".to_owned(),
        "--verify_state_save=0".to_owned(),
        "--fallocate=none".to_owned(),
        "--end_fsync=1".to_owned(),
        "--output-format=json".to_owned(),
    ];
    let finished =
        Program::new("fio").args(words).args(job.more).timeout(Duration::from_secs(3 * 60)).succeed()?;
    let json =
        finished.stdout.find('{').map(|start| &finished.stdout[start..]).context("fio printed no JSON")?;
    let answer: serde_json::Value = serde_json::from_str(json)?;
    for job in answer["jobs"].as_array().context("no jobs in the answer")? {
        ensure!(job["error"].as_u64() == Some(0), "fio reports error {}", job["error"]);
        let read = job["read"]["io_bytes"].as_u64().unwrap_or(0);
        ensure!(read >= mib << 19, "fio read only {read} bytes back: nothing was verified");
    }
    holder.close()?;
    Ok(())
}
