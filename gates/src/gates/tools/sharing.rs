//! What two processes share: locks of both kinds, memory maps; and I/O past the page cache.

use crate::program::{Program, Running};
use crate::report::Report;
use crate::wait::wait_until;
use anyhow::{Context, Result, bail, ensure};
use memmap2::MmapMut;
use nix::fcntl::{FcntlArg, fcntl};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10);
const MAP_BYTES: usize = 1 << 20;

pub fn check(directory: &Path, report: &mut Report) {
    report.attempt("flock excludes another process, and ends with its holder", || flock(directory));
    report.attempt("a fcntl lock excludes another process from its range only", || record_lock(directory));
    report.attempt("a shared map shows what another process stores", || shared_map(directory));
    report.attempt("a stored page is read back through a descriptor, and the other way", || {
        map_and_file(directory)
    });
    report.attempt("O_DIRECT writes and reads, mixed with buffered ones", || direct(directory));
}

/// The second process of a check; answers true when it could do its part.
pub fn act(words: &[&str]) -> Result<bool> {
    let [role, path] = words else { bail!("an actor is given a role and a file") };
    match *role {
        "lock-first" => Ok(lock_range(&File::options().write(true).open(path)?, 0).is_ok()),
        "lock-second" => Ok(lock_range(&File::options().write(true).open(path)?, 100).is_ok()),
        "map" => {
            let file = File::options().read(true).write(true).open(path)?;
            let mut map = map(&file)?;
            wait_until("the first process stores", LIMIT, || Ok(map[0] == 1))?;
            map[MAP_BYTES - 1] = 2;
            wait_until("the first process answers", LIMIT, || Ok(map[0] == 3))?;
            Ok(true)
        }
        role => bail!("no role `{role}`"),
    }
}

fn actor(role: &str, path: &Path) -> Result<Running> {
    Program::new(std::env::current_exe()?).arg("--actor").arg(role).arg(path).timeout(LIMIT * 2).start()
}

// spec: MNT-24
fn flock(directory: &Path) -> Result<()> {
    let path = directory.join("flock");
    std::fs::write(&path, "")?;
    let holder = Program::new("flock").arg(&path).args(["sh", "-c", "echo held; exec sleep 60"]).start()?;
    wait_until("the lock is held", LIMIT, || Ok(holder.output_so_far()?.contains("held")))?;
    let attempt = || Program::new("flock").args(["--nonblock", "--exclusive"]).arg(&path).arg("true").run();
    ensure!(!attempt()?.status.success(), "two processes hold the exclusive lock");
    // The group, as the lock is shared with flock's child.
    drop(holder);
    wait_until("the lock is free after its holder was killed", LIMIT, || Ok(attempt()?.status.success()))
}

fn lock_range(file: &File, start: i64) -> nix::Result<()> {
    // The lint's flock is the libc structure with fields that differ between platforms.
    let lock = nix::libc::flock {
        l_type: nix::libc::F_WRLCK as i16,
        l_whence: nix::libc::SEEK_SET as i16,
        l_start: start,
        l_len: 100,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_SETLK(&lock)).map(drop)
}

// spec: MNT-24
fn record_lock(directory: &Path) -> Result<()> {
    let path = directory.join("records");
    std::fs::write(&path, [0; 200])?;
    let file = OpenOptions::new().write(true).open(&path)?;
    lock_range(&file, 0).context("the first lock")?;
    ensure!(!actor("lock-first", &path)?.wait()?.status.success(), "two processes hold the same range");
    ensure!(actor("lock-second", &path)?.wait()?.status.success(), "another range is refused");
    drop(file);
    ensure!(actor("lock-first", &path)?.wait()?.status.success(), "the range is still locked after close");
    Ok(())
}

fn map(file: &File) -> Result<MmapMut> {
    // SAFETY: the file belongs to this check alone and is not truncated while the map lives. The other
    // process stores single bytes, which cannot tear.
    Ok(unsafe { MmapMut::map_mut(file)? })
}

// spec: MNT-21
fn shared_map(directory: &Path) -> Result<()> {
    let path = directory.join("map");
    std::fs::write(&path, vec![0; MAP_BYTES])?;
    let file = File::options().read(true).write(true).open(&path)?;
    let mut map = map(&file)?;
    let other = actor("map", &path)?;
    map[0] = 1;
    wait_until("the other process stores", LIMIT, || Ok(map[MAP_BYTES - 1] == 2))?;
    map[0] = 3;
    other.wait()?.require_success()?;
    map.flush()?;
    drop(map);
    let bytes = std::fs::read(&path)?;
    ensure!(
        bytes[0] == 3 && bytes[MAP_BYTES - 1] == 2,
        "the file shows {} and {}",
        bytes[0],
        bytes[MAP_BYTES - 1]
    );
    Ok(())
}

// spec: MNT-21
fn map_and_file(directory: &Path) -> Result<()> {
    let path = directory.join("map and file");
    std::fs::write(&path, vec![7; MAP_BYTES])?;
    let file = File::options().read(true).write(true).open(&path)?;
    let mut map = map(&file)?;
    for page in 0..MAP_BYTES / 4096 {
        let at = page * 4096 + page;
        map[at] = 9;
        let mut byte = [0];
        file.read_exact_at(&mut byte, at as u64)?;
        ensure!(byte == [9], "byte {at} was stored and read as {}", byte[0]);
        file.write_all_at(&[8], at as u64 + 1)?;
        ensure!(map[at + 1] == 8, "byte {} was written and the map shows {}", at + 1, map[at + 1]);
    }
    Ok(())
}

// spec: FS-DATA-1 MNT-21
fn direct(directory: &Path) -> Result<()> {
    const BLOCK: usize = 4096;
    const LENGTH: usize = 64 * BLOCK;
    let path = directory.join("direct");
    let mut store = vec![0; LENGTH + BLOCK];
    let aligned = store.as_ptr().align_offset(BLOCK);
    let buffer = &mut store[aligned..aligned + LENGTH];
    for (n, byte) in buffer.iter_mut().enumerate() {
        *byte = (n % 241) as u8;
    }
    let expected = buffer.to_vec();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).custom_flags(nix::libc::O_DIRECT);
    let file = options.open(&path).context("open with O_DIRECT")?;
    file.write_all_at(buffer, 0).context("write with O_DIRECT")?;
    ensure!(std::fs::read(&path)? == expected, "a buffered read does not show what O_DIRECT wrote");
    let buffered = File::options().write(true).open(&path)?;
    buffered.write_all_at(&[1; 100], 10_000)?;
    buffer.fill(0);
    file.read_exact_at(buffer, 0).context("read with O_DIRECT")?;
    let mut expected = expected;
    expected[10_000..10_100].fill(1);
    ensure!(buffer == expected, "O_DIRECT does not read what was written through the cache");
    Ok(())
}
