//! A full disk refuses what needs room and nothing else: removing still works, and so does what follows.

use super::{Gate, format};
use crate::mount::{Mount, detach};
use crate::place::Arena;
use crate::program::Program;
use crate::report::Report;
use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "full",
    about: "a full disk: ENOSPC, then removing makes room, and the database stays sound",
    tools: &["mount", "umount", "sqlite3"],
    quick: true,
    limit: Duration::from_secs(5 * 60),
    run,
};

const DISK_MIB: u64 = 48;

/// A small disk of memory, taken away at the end.
struct Disk<'a>(&'a Path);

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        detach(self.0);
    }
}

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    ensure!(arena.settings.target.is_none(), "the gate `full` needs a mount: it has no use for --target");
    let directory = arena.scratch().join("disk");
    fs::create_dir(&directory)?;
    let size = format!("size={DISK_MIB}m");
    Program::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&directory).succeed()?;
    let disk = Disk(&directory);
    report.section(&format!("a disk of {DISK_MIB} MiB"));
    let database = directory.join("full.db");
    let mut mount =
        Mount::create(arena.agentfs()?, &database, &arena.scratch().join("full"), &arena.mount_options())?;
    let root = mount.point.clone();
    let kept = "kept before the disk was full";
    fs::write(root.join("kept"), kept)?;
    File::open(root.join("kept"))?.sync_all()?;
    let mut files = 0;
    report.attempt("writing ends with ENOSPC", || {
        files = fill(&root)?;
        println!("    {files} files of 1 MiB");
        ensure!(files > DISK_MIB / 4, "the disk holds {DISK_MIB} MiB and took {files}");
        Ok(())
    });
    report.attempt("statfs shows next to nothing free", || {
        let free = nix::sys::statvfs::statvfs(&root)?;
        let mib = (free.blocks_available() * free.fragment_size()) >> 20;
        ensure!(mib <= 4, "{mib} MiB free");
        Ok(())
    });
    report.attempt("what was there can be read", || {
        ensure!(fs::read_to_string(root.join("kept"))? == kept, "it has changed");
        Ok(())
    });
    report.attempt("unlink works on the full disk, and makes room", || {
        for file in 0..files {
            fs::remove_file(root.join(format!("file{file}")))
                .with_context(|| format!("unlink of file{file}"))?;
        }
        write_synced(&root.join("after"), &vec![5; 4 << 20]).context("writing after room was made")
    });
    report.attempt("unmount, one file, and the next mount", || {
        mount.unmount_command()?.require_success()?;
        mount.require_ended()?;
        mount.again(&arena.mount_options())?;
        ensure!(fs::read_to_string(root.join("kept"))? == kept, "what was synced has changed");
        ensure!(fs::metadata(root.join("after"))?.len() == 4 << 20, "what was written later is cut");
        Ok(())
    });
    match mount.unmount() {
        Ok(database) => format::check_database(&database, report),
        Err(error) => report.fail("unmount", format_args!("{error:#}")),
    }
    drop(disk);
    Ok(())
}

/// Writes files of 1 MiB until one is refused; answers how many were taken whole.
// spec: DUR-5 DUR-6 FS-ERR-2
fn fill(root: &Path) -> Result<u64> {
    for number in 0..DISK_MIB * 2 {
        match write_synced(&root.join(format!("file{number}")), &vec![1; 1 << 20]) {
            Ok(()) => {}
            Err(error) => match error.downcast_ref::<std::io::Error>() {
                Some(refused) if refused.kind() == ErrorKind::StorageFull => return Ok(number),
                _ => {
                    return Err(
                        error.context(format!("file {number} is refused with another error than ENOSPC"))
                    );
                }
            },
        }
    }
    bail!("a disk of {DISK_MIB} MiB took {} files of 1 MiB", DISK_MIB * 2)
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(())
}
