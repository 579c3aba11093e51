//! fsx, the file system exerciser: random operations on one file, every read compared with a copy
//! in memory.

use super::{Gate, cargo_tool};
use crate::place::{Arena, Place};
use crate::program::Program;
use crate::report::Report;
use anyhow::Result;
use std::path::Path;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "fsx",
    about: "fsx: random reads, writes, maps, truncates, holes and copies of one file",
    tools: &[],
    quick: true,
    limit: Duration::from_secs(20 * 60),
    run,
};

/// What one run may do.
struct Mix {
    name: &'static str,
    /// fsx's configuration.
    configuration: &'static str,
    /// Operations in the short and in the full form.
    operations: (u64, u64),
}

/// `posix_fallocate` stands only where operations have at least one byte and no alignment: fsx lets it allocate
/// nothing otherwise, which Linux refuses everywhere.
const MIXES: &[Mix] = &[
    Mix {
        name: "read, write, truncate and maps",
        configuration: "[weights]\nclose_open = 1\ninvalidate = 1\n",
        operations: (3_000, 30_000),
    },
    Mix {
        name: "every operation",
        configuration: "[opsize]\nmin = 1\n[weights]\nclose_open = 2\ninvalidate = 2\nfsync = 1\nfdatasync = 1\nposix_fallocate = 5\n\
                        punch_hole = 10\nsendfile = 5\nposix_fadvise = 5\ncopy_file_range = 10\n",
        operations: (3_000, 30_000),
    },
    Mix {
        name: "without maps, many copies and holes",
        configuration: "[opsize]\nmin = 1\n[weights]\nclose_open = 1\nmapread = 0\nmapwrite = 0\npunch_hole = 10\ncopy_file_range = 20\n\
                        posix_fallocate = 5\n",
        operations: (3_000, 30_000),
    },
    // Crosses the inline threshold (4 KiB) in both directions.
    Mix {
        name: "a file of at most 9,000 bytes",
        configuration: "flen = 9000\n[opsize]\nmin = 1\nmax = 3000\n[weights]\nclose_open = 2\ninvalidate = 2\nfsync = 2\n\
                        punch_hole = 5\ncopy_file_range = 5\nposix_fallocate = 2\n",
        operations: (3_000, 60_000),
    },
    Mix {
        name: "page-aligned operations up to 1 MiB on 8 MiB",
        configuration: "flen = 8388608\n[opsize]\nmax = 1048576\nalign = 4096\n[weights]\nclose_open = 1\ninvalidate = 1\n\
                        fsync = 1\npunch_hole = 10\ncopy_file_range = 10\n",
        operations: (300, 3_000),
    },
];

const SEEDS: [u64; 3] = [1, 20_260, 4_711];

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    arena.on_each(report, |place, report| {
        for mix in MIXES {
            let operations = arena.settings.count(mix.operations.0, mix.operations.1);
            let seeds = if arena.settings.short { &SEEDS[..1] } else { &SEEDS[..] };
            for &seed in seeds {
                let what = format!("{}: seed {seed}, {operations} operations", mix.name);
                report.attempt(what, || exercise(place, arena.scratch(), mix, seed, operations));
            }
        }
        Ok(())
    })
}

// spec: FS-DATA-1 FS-DATA-3 FS-DATA-9 FS-TRUNC-1 FS-TRUNC-2 FS-ALLOC-1 FS-ALLOC-2 FS-COPY-1 MNT-21
fn exercise(place: &Place, scratch: &Path, mix: &Mix, seed: u64, operations: u64) -> Result<()> {
    let configuration = scratch.join("fsx.toml");
    std::fs::write(&configuration, mix.configuration)?;
    let file = place.directory.join("fsx");
    let exerciser = Program::new(cargo_tool("fsx")?).arg("-f").arg(&configuration).arg("-P").arg(scratch);
    let numbers = ["-S".to_owned(), seed.to_string(), "-N".to_owned(), operations.to_string()];
    exerciser.args(numbers).arg(&file).timeout(Duration::from_secs(5 * 60)).succeed()?;
    std::fs::remove_file(file)?;
    Ok(())
}
