//! How editors save, and how a reader follows a file that grows.

use crate::program::Program;
use crate::report::Report;
use crate::wait::wait_until;
use anyhow::{Result, ensure};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

pub fn check(directory: &Path, report: &mut Report) {
    report.attempt("save by rename, 200 times: the name always shows a whole version", || {
        save_by_rename(directory)
    });
    report.attempt("save with a backup, as vim does", || save_with_backup(directory));
    report.attempt("tail -f shows what is appended", || follow(directory));
    report.attempt("an unlinked open file keeps its bytes and takes more", || unlinked(directory));
    report.attempt("appends of four processes do not overwrite each other", || appends(directory));
}

// spec: FS-RENAME-1 FS-RENAME-8 FS-REAP-1
fn save_by_rename(directory: &Path) -> Result<()> {
    let (document, draft) = (directory.join("document"), directory.join(".document.tmp"));
    fs::write(&document, version(0))?;
    for round in 1..=200 {
        let mut before = File::open(&document)?;
        let mut file = File::create(&draft)?;
        file.write_all(version(round).as_bytes())?;
        file.sync_all()?;
        drop(file);
        fs::rename(&draft, &document)?;
        let seen = fs::read_to_string(&document)?;
        ensure!(
            seen == version(round),
            "round {round}: the name shows {} bytes of something else",
            seen.len()
        );
        let mut old = String::new();
        before.read_to_string(&mut old)?;
        ensure!(old == version(round - 1), "round {round}: the version that was open has changed");
    }
    ensure!(!draft.exists(), "the draft's name is still there");
    Ok(())
}

fn version(round: usize) -> String {
    format!("version {round}\n").repeat(1 + round * 13 % 700)
}

fn save_with_backup(directory: &Path) -> Result<()> {
    let (name, backup) = (directory.join("source.rs"), directory.join("source.rs~"));
    fs::write(&name, "old\n")?;
    let old = fs::metadata(&name)?.ino();
    fs::rename(&name, &backup)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(&name)?;
    file.write_all(b"new\n")?;
    file.sync_all()?;
    ensure!(fs::metadata(&backup)?.ino() == old, "the renamed file has another inode");
    ensure!(fs::metadata(&name)?.ino() != old, "the new file has the old one's inode");
    fs::remove_file(&backup)?;
    ensure!(fs::read_to_string(&name)? == "new\n", "the new text is not there");
    Ok(())
}

// spec: MNT-21
fn follow(directory: &Path) -> Result<()> {
    let log = directory.join("log");
    fs::write(&log, "")?;
    let tail = Program::new("tail").args(["-n", "+1", "-s", "0.05", "-f"]).arg(&log).start()?;
    let mut expected = String::new();
    let mut file = OpenOptions::new().append(true).open(&log)?;
    for line in 0..20 {
        let line = format!("line {line}\n");
        file.write_all(line.as_bytes())?;
        expected += &line;
        wait_until(&format!("tail shows {line:?}"), Duration::from_secs(5), || {
            Ok(tail.output_so_far()? == expected)
        })?;
    }
    Ok(())
}

// spec: FS-REAP-1 FS-REAP-3
fn unlinked(directory: &Path) -> Result<()> {
    let path = directory.join("unlinked");
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    let body: Vec<u8> = (0..300_000_u32).map(|n| (n % 249) as u8).collect();
    file.write_all(&body)?;
    fs::remove_file(&path)?;
    file.write_all(b"more")?;
    file.sync_all()?;
    let meta = file.metadata()?;
    ensure!(meta.nlink() == 0, "nlink {}", meta.nlink());
    ensure!(meta.size() == body.len() as u64 + 4, "size {}", meta.size());
    let mut seen = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut seen)?;
    ensure!(seen[..body.len()] == body && &seen[body.len()..] == b"more", "the bytes have changed");
    Ok(())
}

// spec: FS-DATA-4 MNT-21
fn appends(directory: &Path) -> Result<()> {
    let path = directory.join("appended");
    fs::write(&path, "")?;
    let script = "for i in $(seq 1 250); do echo \"$0 $i ------------------------------\" >> \"$1\"; done";
    let start = |name: &str| Program::new("bash").args(["-c", script, name]).arg(&path).start();
    let writers = [start("a")?, start("b")?, start("c")?, start("d")?];
    for writer in writers {
        writer.wait()?.require_success()?;
    }
    let text = fs::read_to_string(&path)?;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    ensure!(lines.len() == 1000, "{} different lines of 1000", lines.len());
    Ok(())
}
