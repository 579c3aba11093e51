//! How a mount begins and ends: quickly many times, by every signal and command, by kill; for an ordinary user,
//! from fstab; and what fsync has promised when it ends badly.

use super::{Gate, format};
use crate::mount::{Mount, SETTLE, daemon_of, detach, is_mounted, require_one_file};
use crate::place::Arena;
use crate::program::{Finished, Program};
use crate::report::Report;
use crate::wait::wait_until;
use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub const GATE: Gate = Gate {
    name: "lifecycle",
    about: "mount and unmount: rapidly, by signals, by kill, a second mount, an ordinary user, fstab",
    tools: &["fusermount3", "umount", "mount", "setpriv", "sqlite3"],
    quick: true,
    limit: Duration::from_secs(10 * 60),
    run,
};

/// The ordinary user, made by .ci/install.
const USER: &str = "agentfs-gate";

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    ensure!(arena.settings.target.is_none(), "the gate `lifecycle` needs mounts: it has no use for --target");
    let rounds = arena.settings.count(10, 50);
    report.section("life of a mount");
    report.attempt(format_args!("mount and unmount {rounds} times in a row"), || rapidly(arena, rounds));
    report.attempt("an fsync flushes the device", || fsync_flushes(arena));
    for ending in ["agentfs unmount", "SIGTERM", "SIGINT", "SIGHUP", "fusermount3 -u", "umount"] {
        report.attempt(format_args!("{ending} leaves one clean file"), || ends_cleanly(arena, ending));
    }
    report.attempt("SIGKILL: listed as dead, unmounted, and everything fsynced is there", || killed(arena));
    report.attempt("SIGKILL with an unlinked open file: the next mount sweeps it", || {
        killed_with_orphan(arena)
    });
    report.attempt("unmount while a file is open is refused and harms nothing", || busy(arena));
    report.attempt("a mount in the foreground ends with 0", || foreground(arena));
    report.attempt("a mount over the database itself is refused", || over_itself(arena));
    report.attempt("what another process changes is seen within a second", || foreign_changes(arena));
    report.attempt("a second mount is refused and names the first", || second_mount(arena));
    report.attempt("relative paths leave nothing elsewhere", || relative_paths(arena));
    report.attempt("an ordinary user mounts through fusermount3", || ordinary_user(arena));
    report.attempt("mount -t fuse.agentfs, as from fstab", || from_fstab(arena));
    Ok(())
}

fn require_sound(database: &Path) -> Result<()> {
    require_one_file(database)?;
    format::require_sound(database)
}

// spec: MNT-8 MNT-12
fn rapidly(arena: &Arena, rounds: u64) -> Result<()> {
    let mut mount = arena.mount("rapid")?;
    let at = |round: u64| mount.point.join(format!("round{round}"));
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        if round > 0 {
            let before = fs::read_to_string(at(round - 1)).with_context(|| format!("round {round}"))?;
            ensure!(
                before == format!("{}", round - 1),
                "round {round}: the file of the last one holds {before:?}"
            );
        }
        fs::write(at(round), round.to_string())?;
        let started = Instant::now();
        mount.unmount_command()?.require_success().with_context(|| format!("round {round}"))?;
        // The next mount must not need a pause: nothing is waited for here.
        require_one_file(&mount.database).with_context(|| format!("round {round}"))?;
        Program::new(arena.agentfs()?)
            .arg("mount")
            .args(arena.mount_options().split_whitespace())
            .arg(&mount.database)
            .arg(&mount.point)
            .timeout(SETTLE)
            .succeed()
            .with_context(|| format!("round {round}"))?;
        slowest = slowest.max(started.elapsed());
    }
    println!("    the slowest unmount and mount took {} ms", slowest.as_millis());
    mount.unmount_command()?.require_success()?;
    mount.require_ended()?;
    require_sound(&mount.database)
}

/// The disk counts the flushes that it was asked for.
// spec: DUR-4 MNT-23
fn fsync_flushes(arena: &Arena) -> Result<()> {
    const FSYNCS: u64 = 50;
    let device = fs::metadata(arena.scratch())?.dev();
    let counter =
        format!("/sys/dev/block/{}:{}/stat", nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let flushes = || -> Result<u64> {
        let text =
            fs::read_to_string(&counter).with_context(|| format!("{counter} is needed to count flushes"))?;
        Ok(text.split_whitespace().nth(15).context("the disk does not count flushes")?.parse()?)
    };
    let mount = arena.mount("flush")?;
    let mut file = File::create(mount.point.join("file"))?;
    let before = flushes()?;
    for n in 0..FSYNCS {
        file.write_all(&[n as u8; 4096])?;
        file.sync_data()?;
    }
    let seen = flushes()? - before;
    drop(file);
    mount.unmount()?;
    ensure!(seen >= FSYNCS, "{FSYNCS} fsyncs flushed the disk {seen} times");
    println!("    {FSYNCS} fsyncs flushed the disk {seen} times");
    Ok(())
}

// spec: MNT-8
fn ends_cleanly(arena: &Arena, ending: &str) -> Result<()> {
    let mut mount = arena.mount(&format!("end-{}", ending.replace(' ', "")))?;
    let written = mount.point.join("written");
    fs::write(&written, "never synced")?;
    fs::create_dir(mount.point.join("folder"))?;
    let daemon = mount.daemon()?;
    match ending {
        "agentfs unmount" => drop(mount.unmount_command()?.require_success()?),
        "SIGTERM" => kill(Pid::from_raw(daemon), Signal::SIGTERM)?,
        "SIGINT" => kill(Pid::from_raw(daemon), Signal::SIGINT)?,
        "SIGHUP" => kill(Pid::from_raw(daemon), Signal::SIGHUP)?,
        "fusermount3 -u" => drop(Program::new("fusermount3").arg("-u").arg(&mount.point).succeed()?),
        "umount" => drop(Program::new("umount").arg(&mount.point).succeed()?),
        other => bail!("no way to end a mount is called {other}"),
    }
    mount.require_ended()?;
    require_sound(&mount.database)?;
    mount.again(&arena.mount_options())?;
    ensure!(fs::read_to_string(&written)? == "never synced", "what was written is not there");
    mount.unmount()?;
    Ok(())
}

fn killed_mount(arena: &Arena, mount: &Mount) -> Result<()> {
    kill(Pid::from_raw(mount.daemon()?), Signal::SIGKILL)?;
    wait_until("the daemon is gone", SETTLE, || Ok(daemon_of(arena.agentfs()?, &mount.point)?.is_none()))?;
    ensure!(is_mounted(&mount.point)?, "a killed daemon left no dead mount");
    match fs::read_dir(&mount.point) {
        // Aborted: the first answer of a connection whose other end has just gone.
        Err(error) if error.raw_os_error() == Some(nix::libc::ENOTCONN) => Ok(()),
        Err(error) if error.kind() == ErrorKind::ConnectionAborted => Ok(()),
        Err(error) => bail!("a dead mount answers {error}"),
        Ok(_) => bail!("a dead mount is listed"),
    }
}

// spec: DUR-1 DUR-4 MNT-10
fn killed(arena: &Arena) -> Result<()> {
    let mut mount = arena.mount("killed")?;
    let at = |name: &str| mount.point.join(name);
    fs::create_dir(at("folder"))?;
    let mut synced = File::create(at("folder/synced"))?;
    let body: Vec<u8> = (0..300_000_u32).map(|n| (n % 253) as u8).collect();
    synced.write_all(&body)?;
    fs::write(at("earlier"), "written before the fsync")?;
    synced.sync_all()?;
    File::open(at("folder"))?.sync_all()?;
    fs::write(at("later"), "perhaps")?;
    drop(synced);
    killed_mount(arena, &mount)?;
    let list = Program::new(arena.agentfs()?).arg("mount").answer()?;
    let point = mount.point.display().to_string();
    let line = list
        .lines()
        .find(|line| line.contains(&point))
        .with_context(|| format!("`agentfs mount` does not list it: {list}"))?;
    let says_dead = line.contains("dead");
    let line = line.to_owned();
    mount.unmount_command()?.require_success().context("unmounting a dead mount")?;
    ensure!(!is_mounted(&mount.point)?, "the dead mount is still there");
    mount.is_gone();
    mount.again(&arena.mount_options())?;
    let mut seen = Vec::new();
    File::open(mount.point.join("folder/synced"))?.read_to_end(&mut seen)?;
    ensure!(seen == body, "the fsynced file came back with {} bytes, or others", seen.len());
    // Everything acknowledged before a barrier is kept, not only the file that was synced.
    let earlier = fs::metadata(mount.point.join("earlier"))
        .context("a file made before the fsync of another is gone")?;
    println!("    a file written before the fsync of another came back with {} bytes", earlier.len());
    let database = mount.unmount()?;
    require_sound(&database)?;
    ensure!(says_dead, "`agentfs mount` lists it, and not as dead: {line}");
    Ok(())
}

// spec: FS-REAP-3 FS-REAP-6 MNT-5 MNT-10
fn killed_with_orphan(arena: &Arena) -> Result<()> {
    let mut mount = arena.mount("orphan")?;
    let path = mount.point.join("unlinked");
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    file.write_all(&vec![1; 500_000])?;
    fs::remove_file(&path)?;
    file.sync_all()?;
    killed_mount(arena, &mount)?;
    drop(file);
    // Over the dead mount, which the new one takes away first.
    mount.again(&arena.mount_options())?;
    let entries = fs::read_dir(&mount.point)?.count();
    ensure!(entries == 0, "{entries} entries after the kill");
    let database = mount.unmount()?;
    require_sound(&database)
}

// spec: MNT-8
fn busy(arena: &Arena) -> Result<()> {
    let mount = arena.mount("busy")?;
    let path = mount.point.join("open");
    let mut file = File::create(&path)?;
    let refused = mount.unmount_command()?;
    ensure!(!refused.status.success(), "`{}` succeeded with a file open", refused.line);
    ensure!(!refused.stderr.trim().is_empty(), "the refusal says nothing");
    println!("    {}", refused.stderr.trim());
    file.write_all(b"after the refusal")?;
    drop(file);
    ensure!(fs::read_to_string(&path)? == "after the refusal", "the mount lost a write");
    mount.unmount()?;
    Ok(())
}

// spec: MNT-1
fn second_mount(arena: &Arena) -> Result<()> {
    let mount = arena.mount("first")?;
    fs::write(mount.point.join("file"), "first")?;
    let second = arena.scratch().join("second");
    fs::create_dir(&second)?;
    let refused = Program::new(arena.agentfs()?)
        .arg("mount")
        .arg(&mount.database)
        .arg(&second)
        .timeout(SETTLE)
        .run()?;
    if is_mounted(&second)? {
        detach(&second);
        bail!("both are mounted");
    }
    ensure!(
        refused.status.code() == Some(6),
        "the second mount {}, not with 6{}",
        refused.describe_status(),
        refused.last_words()
    );
    println!("    {}", refused.stderr.trim());
    let first = mount.point.display().to_string();
    ensure!(refused.stderr.contains(&first), "the message does not name {first}: {}", refused.stderr);
    ensure!(fs::read_to_string(mount.point.join("file"))? == "first", "the first mount was disturbed");
    mount.unmount()?;
    Ok(())
}

// spec: MNT-7 MNT-8
fn foreground(arena: &Arena) -> Result<()> {
    let (database, point) = (arena.scratch().join("foreground.db"), arena.scratch().join("foreground"));
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let command = Program::new(arena.agentfs()?).args(["mount", "--foreground", "--create"]);
        let running = command.arg(&database).arg(&point).start()?;
        let usable = wait_until("it is mounted", SETTLE, || is_mounted(&point));
        let written = usable.and_then(|()| Ok(fs::write(point.join("file"), "text")?));
        kill(Pid::from_raw(running.id()), signal)?;
        let ended = running.wait().and_then(Finished::require_success);
        detach(&point);
        written?;
        ended.with_context(|| format!("after {signal}"))?;
        require_one_file(&database)?;
    }
    Ok(())
}

// spec: MNT-6
fn over_itself(arena: &Arena) -> Result<()> {
    let point = arena.scratch().join("itself");
    let database = point.join("inside.db");
    fs::create_dir(&point)?;
    Program::new(arena.agentfs()?).arg("init").arg(&database).succeed()?;
    let refused =
        Program::new(arena.agentfs()?).arg("mount").arg(&database).arg(&point).timeout(SETTLE).run()?;
    detach(&point);
    ensure!(!refused.status.success(), "it is mounted over its own database");
    println!("    {}", refused.stderr.trim());
    require_sound(&database)
}

// spec: MNT-4 MNT-9
fn foreign_changes(arena: &Arena) -> Result<()> {
    const BOUND: Duration = Duration::from_secs(1);
    let mount = arena.mount("foreign")?;
    let at = |name: &str| mount.point.join(name);
    let agentfs = |words: [&str; 2], path: &str, input: &str| -> Result<()> {
        let command = Program::new(arena.agentfs()?).args(words).arg(&mount.database).arg(path);
        command.input(input).succeed().map(drop)
    };
    fs::write(at("changed"), "before")?;
    fs::write(at("removed"), "before")?;
    File::open(at("changed"))?.sync_all()?;
    // Now the kernel has cached the content, the attributes, a name, and the absence of one.
    let seen =
        fs::read_to_string(at("changed"))? == "before" && at("removed").exists() && !at("made").exists();
    ensure!(seen, "the mount does not show its own changes");
    agentfs(["fs", "write"], "/changed", "after, and longer")?;
    agentfs(["fs", "write"], "/made", "new")?;
    agentfs(["fs", "rm"], "/removed", "")?;
    wait_until("the new content is seen", BOUND, || {
        Ok(fs::read_to_string(at("changed"))? == "after, and longer")
    })?;
    wait_until("the new name is seen", BOUND, || {
        Ok(fs::read_to_string(at("made")).is_ok_and(|text| text == "new"))
    })?;
    wait_until("the old name is gone", BOUND, || Ok(!at("removed").exists()))?;
    let size = fs::metadata(at("changed"))?.len();
    ensure!(size == 17, "the size is still {size}");
    let database = mount.unmount()?;
    require_sound(&database)
}

// spec: OPEN-7 MNT-7
fn relative_paths(arena: &Arena) -> Result<()> {
    let work = arena.scratch().join("relative");
    fs::create_dir_all(work.join("point"))?;
    let agentfs = arena.agentfs()?;
    Program::new(agentfs)
        .args(["mount", "--create", "./here.db", "point"])
        .dir(&work)
        .timeout(SETTLE)
        .succeed()?;
    fs::write(work.join("point/file"), "text")?;
    Program::new(agentfs).args(["unmount", "point"]).dir(&work).timeout(SETTLE).succeed()?;
    ensure!(!is_mounted(&work.join("point"))?, "still mounted");
    require_one_file(&work.join("here.db"))?;
    let mut names: Vec<_> =
        fs::read_dir(&work)?.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
    names.sort();
    ensure!(names == ["here.db", "point"], "the folder holds {names:?}");
    Ok(())
}

/// A copy of the binary where an ordinary user can run it.
fn public_binary(arena: &Arena) -> Result<PathBuf> {
    let copy = arena.scratch().join("agentfs");
    if !copy.exists() {
        fs::copy(arena.agentfs()?, &copy)?;
    }
    Ok(copy)
}

fn as_user(user: &User) -> Program {
    let (uid, gid) = (user.uid.to_string(), user.gid.to_string());
    Program::new("setpriv")
        .args(["--reuid", &uid, "--regid", &gid, "--clear-groups", "--reset-env"])
        .timeout(SETTLE)
}

// spec: MNT-27
fn ordinary_user(arena: &Arena) -> Result<()> {
    let user = User::from_name(USER)?.with_context(|| format!("there is no user {USER}: run .ci/install"))?;
    let home = arena.scratch().join("home");
    let point = home.join("point");
    fs::create_dir_all(&point)?;
    for path in [&home, &point] {
        std::os::unix::fs::chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw()))?;
    }
    let (agentfs, database) = (public_binary(arena)?, home.join("user.db"));
    as_user(&user).arg(&agentfs).args(["mount", "--create"]).arg(&database).arg(&point).succeed()?;
    let outcome = (|| {
        ensure!(is_mounted(&point)?, "it is not mounted");
        let script = "set -e; cd \"$1\"; mkdir d; echo text > d/file; test \"$(cat d/file)\" = text; stat -c %u:%g d/file";
        let owner = as_user(&user).args(["sh", "-c", script, "sh"]).arg(&point).answer()?;
        ensure!(owner == format!("{}:{}", user.uid, user.gid), "the user's file belongs to {owner}");
        let other = fs::read_dir(&point).err().map(|error| error.kind());
        ensure!(
            other == Some(ErrorKind::PermissionDenied),
            "another user, root, is let in without allow_other: {other:?}"
        );
        Ok(())
    })();
    let unmounted = as_user(&user).arg(&agentfs).arg("unmount").arg(&point).run()?.require_success();
    if unmounted.is_err() {
        detach(&point);
    }
    outcome?;
    unmounted?;
    ensure!(!is_mounted(&point)?, "it is still mounted");
    ensure!(fs::metadata(&database)?.uid() == user.uid.as_raw(), "the database does not belong to the user");
    require_sound(&database)
}

/// A link that mount(8) finds, removed at the end.
struct Helper(&'static str);

impl Helper {
    fn install(agentfs: &Path) -> Result<Self> {
        let path = "/sbin/mount.fuse.agentfs";
        symlink(agentfs, path).with_context(|| format!("cannot make {path}: is one installed?"))?;
        Ok(Self(path))
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(self.0) {
            eprintln!("cannot remove {}: {error}", self.0);
        }
    }
}

// spec: MNT-7 MNT-8
fn from_fstab(arena: &Arena) -> Result<()> {
    let helper = Helper::install(arena.agentfs()?)?;
    let (database, point) = (arena.scratch().join("fstab.db"), arena.scratch().join("fstab"));
    fs::create_dir(&point)?;
    Program::new(arena.agentfs()?).arg("init").arg(&database).succeed()?;
    let mount = || {
        Program::new("mount")
            .args(["-t", "fuse.agentfs", "-o", "rw,noatime,nosuid,nodev,allow_other"])
            .arg(&database)
            .arg(&point)
            .timeout(SETTLE)
    };
    mount().succeed()?;
    ensure!(is_mounted(&point)?, "mount(8) succeeded and it is not mounted");
    let kind = Program::new("findmnt").args(["-n", "-o", "FSTYPE,SOURCE"]).arg(&point).answer()?;
    println!("    findmnt: {kind}");
    fs::write(point.join("file"), "text")?;
    Program::new("umount").arg(&point).timeout(SETTLE).succeed()?;
    wait_until("the daemon has closed the database", SETTLE, || Ok(require_one_file(&database).is_ok()))?;
    require_sound(&database)?;
    // Again from a line of an fstab of our own.
    let table = arena.scratch().join("fstab.txt");
    fs::write(
        &table,
        format!("{} {} fuse.agentfs rw,noatime,nofail 0 0\n", database.display(), point.display()),
    )?;
    Program::new("mount").arg("--fstab").arg(&table).arg(&point).timeout(SETTLE).succeed()?;
    ensure!(fs::read_to_string(point.join("file"))? == "text", "the file is not there");
    Program::new("umount").arg(&point).timeout(SETTLE).succeed()?;
    wait_until("the daemon has closed the database", SETTLE, || Ok(require_one_file(&database).is_ok()))?;
    drop(helper);
    Ok(())
}
