//! A tree goes through tar, rsync and cp, and is the same on the other side: names, bytes, modes,
//! owners, times to the nanosecond, hard links, holes and extended attributes.

use crate::program::Program;
use crate::report::Report;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A tree with some of everything that an archive must carry.
pub fn make_tree(tree: &Path) -> Result<()> {
    for folder in 0..20 {
        let folder = tree.join(format!("folder {folder:02}/inner"));
        fs::create_dir_all(&folder)?;
        for file in 0..15_u32 {
            let body: Vec<u8> = (0..file * file * 400).map(|n| (n * 31 % 251) as u8).collect();
            let path = folder.join(format!("file{file:02}"));
            fs::write(&path, body)?;
            fs::set_permissions(&path, Permissions::from_mode(0o400 | (file * 8)))?;
            let when = SystemTime::UNIX_EPOCH
                + Duration::new(1_600_000_000 + u64::from(file) * 1000, 123_456_789 + file);
            File::open(&path)?.set_times(FileTimes::new().set_modified(when).set_accessed(when))?;
        }
    }
    let at = |name: &str| tree.join(name);
    fs::write(at("first name"), "linked\n")?;
    fs::hard_link(at("first name"), at("folder 00/second name"))?;
    fs::hard_link(at("first name"), at("folder 01/third name"))?;
    let sparse = File::create(at("sparse"))?;
    sparse.write_all_at(b"begin", 0)?;
    sparse.write_all_at(b"middle", 5 << 20)?;
    sparse.set_len(64 << 20)?;
    fs::write(at("empty"), "")?;
    symlink("first name", at("link"))?;
    symlink("/nowhere/at all", at("dangling"))?;
    lchown(at("dangling"), Some(1234), Some(4321))?;
    chown(at("empty"), Some(65534), Some(65534))?;
    fs::set_permissions(at("empty"), Permissions::from_mode(0o6755))?;
    // Not UTF-8, with a newline, and of the greatest length.
    fs::write(tree.join(std::ffi::OsString::from_vec(b"latin1 \xe9\nline".to_vec())), "name\n")?;
    fs::write(at(&"n".repeat(255)), "long\n")?;
    Program::new("mkfifo").arg(at("pipe")).succeed()?;
    for (name, value) in [("user.text", "value"), ("user.empty", ""), ("user.long", &"v".repeat(900))] {
        Program::new("setfattr").args(["-n", name, "-v", value]).arg(at("first name")).succeed()?;
        Program::new("setfattr").args(["-n", name, "-v", value]).arg(at("folder 02")).succeed()?;
    }
    Ok(())
}

// spec: FS-NAME-1 FS-NAME-4 FS-ATTR-3 FS-ATTR-9 FS-LINK-1 FS-SEEK-1 FS-XATTR-1 FS-XATTR-10 FS-CREATE-8
pub fn check(directory: &Path, tree: &Path, report: &mut Report) {
    let work = directory.join("archive");
    report.attempt("cp -a in, then diff -r, stat and xattrs agree", || {
        fs::create_dir(&work)?;
        Program::new("cp").arg("-a").arg(tree).arg(work.join("cp")).succeed()?;
        compare(tree, &work.join("cp"))
    });
    report.attempt("cp -a within", || {
        Program::new("cp").args(["-a", "cp", "cp2"]).dir(&work).succeed()?;
        compare(tree, &work.join("cp2"))
    });
    report.attempt("a sparse file stays sparse", || {
        let blocks = fs::metadata(work.join("cp/sparse"))?.blocks();
        ensure!(blocks * 512 < 2 << 20, "64 MiB with two written ranges occupy {} KiB", blocks / 2);
        Ok(())
    });
    report.attempt("tar with sparse files, hard links and xattrs, out and in", || {
        let tar = |words: &[&str]| {
            Program::new("tar").args(words).args(["--sparse", "--xattrs", "--acls"]).dir(&work).succeed()
        };
        tar(&["--create", "--format=posix", "--file=tree.tar", "-C", "cp", "."])?;
        fs::create_dir(work.join("tar"))?;
        tar(&["--extract", "--preserve-permissions", "--same-owner", "--file=tree.tar", "-C", "tar"])?;
        compare(tree, &work.join("tar"))?;
        tar(&["--compare", "--file=tree.tar", "-C", "tar"])?;
        Ok(())
    });
    report.attempt("rsync -a, and a second one finds nothing to do", || {
        let rsync = || {
            let words = ["-aHAX", "--sparse", "--itemize-changes"];
            Program::new("rsync")
                .args(words)
                .arg(format!("{}/", tree.display()))
                .arg(work.join("rsync"))
                .answer()
        };
        let first = rsync()?.lines().count();
        ensure!(first > 300, "the first transferred {first} items");
        compare(tree, &work.join("rsync"))?;
        let second = rsync()?;
        ensure!(second.is_empty(), "the second transferred: {second}");
        Ok(())
    });
    report.attempt("rsync between two folders of it", || {
        Program::new("rsync").args(["-aHAX", "--sparse", "rsync/", "again/"]).dir(&work).succeed()?;
        compare(tree, &work.join("again"))
    });
    report.attempt("rm -rf leaves nothing", || {
        Program::new("rm").arg("-rf").arg(&work).succeed()?;
        ensure!(!work.exists(), "it is still there");
        Ok(())
    });
}

fn compare(left: &Path, right: &Path) -> Result<()> {
    // A FIFO would make diff wait for a writer.
    Program::new("diff").args(["-r", "--no-dereference", "--exclude=pipe"]).arg(left).arg(right).succeed()?;
    let (left_facts, right_facts) = (facts(left)?, facts(right)?);
    for (path, facts) in &left_facts {
        let other = right_facts.get(path).with_context(|| format!("{} is missing", path.display()))?;
        ensure!(facts == other, "{}: {facts} became {other}", path.display());
    }
    ensure!(
        left_facts.len() == right_facts.len(),
        "{} entries became {}",
        left_facts.len(),
        right_facts.len()
    );
    let attributes =
        |root: &Path| Program::new("getfattr").args(["-R", "-h", "-d", "-m", "user", "."]).dir(root).answer();
    let sorted = |text: String| {
        let mut parts: Vec<String> = text.split("\n\n").map(str::to_owned).collect();
        parts.sort();
        parts
    };
    let (before, after) = (sorted(attributes(left)?), sorted(attributes(right)?));
    ensure!(before == after, "extended attributes {before:?} became {after:?}");
    Ok(())
}

/// What stat says about every path below `root`, as far as a copy keeps it.
fn facts(root: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut facts = BTreeMap::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(path) = waiting.pop() {
        let full = root.join(&path);
        let meta = fs::symlink_metadata(&full)?;
        // A directory's link count and size are the file system's own affair.
        let (links, size) = if meta.is_dir() { (0, 0) } else { (meta.nlink(), meta.size()) };
        let mut fact =
            format!("mode {:o} owner {}:{} links {links} size {size}", meta.mode(), meta.uid(), meta.gid());
        if !meta.is_symlink() {
            fact += &format!(" mtime {}.{:09}", meta.mtime(), meta.mtime_nsec());
        } else {
            fact += &format!(" to {}", fs::read_link(&full)?.display());
        }
        if meta.is_dir() {
            for entry in fs::read_dir(&full)? {
                waiting.push(path.join(entry?.file_name()));
            }
        }
        facts.insert(path, fact);
    }
    Ok(facts)
}
