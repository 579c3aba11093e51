//! The file at rest: one SQLite file in the published format, with every consistency rule of it, checked
//! by the sqlite3 command line, which shares no code with the implementation.
//!
//! [`check_database`] runs after every unmount of every gate; the gate itself makes a database that has
//! seen some of everything.

use super::{Gate, own_file};
use crate::place::Arena;
use crate::program::Program;
use crate::report::Report;
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::Path;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "format",
    about: "the database after a day's work: one file, the published DDL, every consistency rule, its size",
    tools: &["sqlite3", "cp", "setfattr"],
    quick: true,
    limit: Duration::from_secs(5 * 60),
    run,
};

/// The file may be this much larger than the bytes of large files in it.
const LARGEST_OVERHEAD: f64 = 1.10;

/// A rule and the query that finds what breaks it; the query answers one column.
struct Rule {
    name: &'static str,
    offenders: &'static str,
}

const fn rule(name: &'static str, offenders: &'static str) -> Rule {
    Rule { name, offenders }
}

// spec: FMT-2 FMT-7 FMT-11 FMT-13 FS-NAME-1 FS-DATA-7 FS-DATA-11 FS-NLINK-1 FS-REAP-4 FS-REAP-9 FS-XATTR-10
const RULES: &[Rule] = &[
    rule("inode 1 is a directory", "SELECT 'no root' WHERE NOT EXISTS (SELECT 1 FROM fs_inode WHERE ino = 1 AND (mode & 61440) = 16384)"),
    rule("the root has nlink 1", "SELECT nlink FROM fs_inode WHERE ino = 1 AND nlink <> 1"),
    rule("the root has no dentry", "SELECT name FROM fs_dentry WHERE ino = 1"),
    rule("a dentry names an inode", "SELECT name FROM fs_dentry WHERE ino NOT IN (SELECT ino FROM fs_inode)"),
    rule(
        "a dentry stands in a directory",
        "SELECT name FROM fs_dentry WHERE parent_ino NOT IN (SELECT ino FROM fs_inode WHERE (mode & 61440) = 16384)",
    ),
    rule("no two entries of a directory have the same name", "SELECT name FROM fs_dentry GROUP BY parent_ino, name HAVING count(*) > 1"),
    rule(
        "a name is text of 1 to 255 bytes without a slash, not . or ..",
        "SELECT name FROM fs_dentry WHERE typeof(name) <> 'text' OR length(CAST(name AS BLOB)) NOT BETWEEN 1 AND 255
         OR instr(CAST(name AS BLOB), x'2f') > 0 OR instr(CAST(name AS BLOB), x'00') > 0 OR name IN ('.', '..')",
    ),
    rule("a directory has one dentry", "SELECT ino FROM fs_dentry WHERE ino IN (SELECT ino FROM fs_inode WHERE (mode & 61440) = 16384) GROUP BY ino HAVING count(*) > 1"),
    rule(
        "every inode can be reached from the root",
        "WITH RECURSIVE reached(ino) AS (SELECT 1 UNION SELECT d.ino FROM fs_dentry d JOIN reached r ON d.parent_ino = r.ino)
         SELECT ino FROM fs_inode WHERE ino NOT IN reached",
    ),
    rule(
        "nlink is the number of dentries",
        "SELECT i.ino || ' has nlink ' || i.nlink FROM fs_inode i
         LEFT JOIN (SELECT ino, count(*) AS names FROM fs_dentry GROUP BY ino) d ON d.ino = i.ino
         WHERE i.ino <> 1 AND i.nlink <> ifnull(d.names, 0)",
    ),
    rule("a mode has a file type", "SELECT ino || ' mode ' || mode FROM fs_inode WHERE (mode & 61440) NOT IN (32768, 16384, 40960, 4096, 8192, 24576, 49152)"),
    rule("sizes are not negative", "SELECT ino FROM fs_inode WHERE size < 0"),
    rule(
        "nanoseconds are below a second",
        "SELECT ino FROM fs_inode WHERE atime_nsec NOT BETWEEN 0 AND 999999999 OR mtime_nsec NOT BETWEEN 0 AND 999999999
         OR ctime_nsec NOT BETWEEN 0 AND 999999999",
    ),
    rule("a directory has size 0", "SELECT ino || ' size ' || size FROM fs_inode WHERE (mode & 61440) = 16384 AND size <> 0"),
    rule("storage_kind is 0 or 1", "SELECT ino FROM fs_inode WHERE storage_kind NOT IN (0, 1)"),
    rule(
        "an inline file has all its bytes in its row and is small",
        "SELECT ino FROM fs_inode WHERE storage_kind = 1 AND ((mode & 61440) <> 32768 OR typeof(data_inline) <> 'blob'
         OR length(data_inline) <> size OR size > (SELECT CAST(value AS INTEGER) FROM fs_config WHERE key = 'inline_threshold'))",
    ),
    rule("an inline file has no chunks", "SELECT DISTINCT ino FROM fs_data WHERE ino IN (SELECT ino FROM fs_inode WHERE storage_kind = 1)"),
    rule("what is not inline has no inline data", "SELECT ino FROM fs_inode WHERE storage_kind = 0 AND data_inline IS NOT NULL"),
    rule("a chunk belongs to a regular file", "SELECT DISTINCT ino FROM fs_data WHERE ino NOT IN (SELECT ino FROM fs_inode WHERE (mode & 61440) = 32768)"),
    rule(
        "a chunk is a blob of at most chunk_size bytes, within its file",
        "SELECT d.ino || ' chunk ' || chunk_index FROM fs_data d JOIN fs_inode i ON i.ino = d.ino,
         (SELECT CAST(value AS INTEGER) AS chunk FROM fs_config WHERE key = 'chunk_size')
         WHERE typeof(data) <> 'blob' OR length(data) NOT BETWEEN 1 AND chunk OR chunk_index < 0 OR chunk_index * chunk >= size",
    ),
    rule("a symbolic link has a target", "SELECT ino FROM fs_inode WHERE (mode & 61440) = 40960 AND ino NOT IN (SELECT ino FROM fs_symlink)"),
    rule(
        "a target belongs to a symbolic link, whose size is its length",
        "SELECT s.ino FROM fs_symlink s LEFT JOIN fs_inode i ON i.ino = s.ino
         WHERE i.ino IS NULL OR (mode & 61440) <> 40960 OR size <> length(CAST(target AS BLOB)) OR typeof(target) <> 'text'",
    ),
    rule(
        "the configuration is complete",
        "SELECT 'not 0.5, or keys are missing' WHERE (SELECT count(*) FROM fs_config WHERE (key = 'schema_version' AND value = '0.5')
         OR (key IN ('chunk_size', 'inline_threshold') AND CAST(value AS INTEGER) > 0)) <> 3",
    ),
];

/// Rules of the extension tables, each for the table that it begins with.
const EXTENSION_RULES: &[(&str, Rule)] = &[
    ("ext_xattr", rule("an extended attribute belongs to an inode", "SELECT name FROM ext_xattr WHERE ino NOT IN (SELECT ino FROM fs_inode)")),
    ("ext_orphan", rule("no inode waits to be reaped", "SELECT ino FROM ext_orphan")),
    ("ext_mount", rule("nobody is named as having it mounted", "SELECT mountpoint FROM ext_mount")),
    (
        "ext_registry",
        rule(
            "every other table is registered as an extension",
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'ext\\_%' ESCAPE '\\' AND name <> 'ext_registry'
             AND name NOT IN (SELECT name FROM ext_registry)",
        ),
    ),
];

/// Runs a script over a database that nobody has open, without leaving anything beside it.
pub fn query(database: &Path, script: &str) -> Result<String> {
    let uri = format!("file:{}?immutable=1", database.display());
    Program::new("sqlite3")
        .args(["-batch", "-noheader", "-list"])
        .arg(uri)
        .input(script)
        .timeout(Duration::from_secs(5 * 60))
        .answer()
}

/// Checks everything that holds for every database at rest.
pub fn check_database(database: &Path, report: &mut Report) {
    match broken_rules(database) {
        Ok((count, broken)) => {
            for rule in &broken {
                report.fail("the database at rest", rule);
            }
            if broken.is_empty() {
                report.pass_many(count, "rules of the format hold for the database");
            }
        }
        Err(error) => report.fail("the database at rest", format_args!("{error:#}")),
    }
}

/// As [`check_database`], for a check that ends with its first failure.
pub fn require_sound(database: &Path) -> Result<()> {
    let (_, broken) = broken_rules(database)?;
    ensure!(broken.is_empty(), "the database at rest breaks rules: {}", broken.join("; "));
    Ok(())
}

/// The number of rules and what breaks them.
fn broken_rules(database: &Path) -> Result<(usize, Vec<String>)> {
    let tables = query(database, "SELECT name FROM sqlite_schema WHERE type = 'table';")?;
    let extensions = EXTENSION_RULES.iter().filter(|(table, _)| tables.lines().any(|name| name == *table));
    let rules: Vec<&Rule> = RULES.iter().chain(extensions.map(|(_, rule)| rule)).collect();
    let mut script = String::from(".bail on\n");
    for (number, rule) in rules.iter().enumerate() {
        // One line for a broken rule: its number, how often, the first offender.
        writeln!(
            script,
            "WITH found(offender) AS ({}) SELECT '{number}|' || count(*) || '|' || ifnull(min(offender), '') FROM found HAVING count(*) > 0;",
            rule.offenders
        )?;
    }
    let answer = query(database, &script)?;
    let mut broken = Vec::new();
    for line in answer.lines() {
        let (number, found) = line.split_once('|').with_context(|| format!("unexpected answer {line:?}"))?;
        let rule = rules.get(number.parse::<usize>()?).context("no such rule")?;
        let (count, first) = found.split_once('|').unwrap_or((found, ""));
        broken.push(format!("{}: broken {count} times, for example {first}", rule.name));
    }
    let integrity = query(database, "PRAGMA integrity_check;")?;
    if integrity != "ok" {
        broken.push(format!("PRAGMA integrity_check: {integrity}"));
    }
    let version = query(database, "PRAGMA user_version;")?;
    if version != "5" {
        broken.push(format!("user_version is {version}"));
    }
    broken.extend(other_ddl(database)?);
    Ok((rules.len() + 3, broken))
}

/// Where the DDL of the core tables differs from the published one.
// spec: FMT-1
fn other_ddl(database: &Path) -> Result<Vec<String>> {
    const DDL: &str = "SELECT type || ' ' || name || ': ' || replace(sql, char(10), ' ') FROM sqlite_schema
        WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND tbl_name NOT LIKE 'ext\\_%' ESCAPE '\\' ORDER BY 1;";
    let published = own_file("../spec/schema/v0.5.sql");
    let expected = Program::new("sqlite3")
        .args(["-batch", ":memory:"])
        .input(fs::read_to_string(published)? + DDL)
        .answer()?;
    let seen = query(database, DDL)?;
    let missing = expected
        .lines()
        .filter(|line| seen.lines().all(|other| other != *line))
        .map(|line| format!("missing: {line}"));
    let extra = seen
        .lines()
        .filter(|line| expected.lines().all(|other| other != *line))
        .map(|line| format!("not published: {line}"));
    Ok(missing.chain(extra).collect())
}

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    ensure!(arena.settings.target.is_none(), "the gate `format` needs a mount: it has no use for --target");
    rules_can_fail(arena, report)?;
    day_of_work(arena, report)?;
    report.section("size");
    let mount = arena.mount("large")?;
    let bytes = large_files(&mount.point, arena.settings.count(48, 512) << 20)?;
    let database = mount.unmount()?;
    check_database(&database, report);
    let size = fs::metadata(&database)?.size();
    #[allow(clippy::cast_precision_loss)]
    let overhead = size as f64 / bytes as f64;
    let what = format!("{size} bytes of database for {bytes} bytes in files of 64 KiB and more");
    report.check(what, overhead <= LARGEST_OVERHEAD, || {
        format!("{overhead:.3} times, more than {LARGEST_OVERHEAD}")
    });
    Ok(())
}

/// Fills `directory` with files of 64 KiB to 4 MiB; answers their bytes together.
fn large_files(directory: &Path, at_least: u64) -> Result<u64> {
    let mut noise = vec![0; 4 << 20];
    File::open("/dev/urandom")?.read_exact_at(&mut noise, 0)?;
    let sizes = [64 << 10, (64 << 10) + 1, 100_000, 300_000, 1 << 20, 4 << 20];
    let mut bytes = 0;
    for (n, size) in sizes.iter().cycle().enumerate() {
        if bytes >= at_least {
            break;
        }
        fs::write(directory.join(format!("large{n}")), &noise[..*size])?;
        bytes += *size as u64;
    }
    Ok(bytes)
}

// spec: MNT-8 FS-ATTR-1
/// Some of everything that changes rows, then another mount that finds it all.
fn day_of_work(arena: &Arena, report: &mut Report) -> Result<()> {
    report.section("a day's work");
    let mut mount = arena.mount("day")?;
    let root = mount.point.clone();
    let at = |name: &str| root.join(name);
    for folder in 0..30 {
        fs::create_dir_all(at(&format!("d{folder}/e/f")))?;
        for size in [0, 1, 4095, 4096, 4097, 65_535, 65_536, 65_537, 200_000] {
            fs::write(at(&format!("d{folder}/e/file{size}")), vec![b'x'; size])?;
        }
    }
    // Sizes that cross the layouts' borders in both directions.
    for (n, (from, to)) in
        [(100, 5000), (5000, 100), (4096, 70_000), (200_000, 65_536), (70_000, 0)].into_iter().enumerate()
    {
        let file = File::create(at(&format!("resized{n}")))?;
        file.write_all_at(&vec![b'y'; from], 0)?;
        file.set_len(to)?;
        file.sync_all()?;
    }
    let sparse = File::create(at("sparse"))?;
    sparse.write_all_at(b"far away", 1 << 40)?;
    drop(sparse);
    fs::hard_link(at("d0/e/file4096"), at("link1"))?;
    fs::hard_link(at("link1"), at("link2"))?;
    fs::remove_file(at("d0/e/file4096"))?;
    fs::rename(at("d1"), at("d2/moved"))?;
    fs::rename(at("d3/e/file1"), at("d4/e/file200000"))?;
    fs::create_dir(at("empty"))?;
    fs::rename(at("empty"), at("d5/e/f"))?;
    fs::remove_dir_all(at("d6"))?;
    symlink("link1", at("symlink"))?;
    Program::new("mkfifo").arg(at("pipe")).succeed()?;
    Program::new("setfattr").args(["-n", "user.kept", "-v", "value"]).arg(at("link1")).succeed()?;
    Program::new("setfattr").args(["-n", "user.lost", "-v", "value"]).arg(at("d7/e/file1")).succeed()?;
    fs::remove_dir_all(at("d7"))?;
    let unlinked = File::options().read(true).write(true).open(at("d8/e/file200000"))?;
    fs::remove_file(at("d8/e/file200000"))?;
    unlinked.write_all_at(b"still there", 0)?;
    drop(unlinked);
    Program::new("cp").args(["-a", "d9", "copied"]).dir(&root).succeed()?;
    let before =
        Program::new("find").args([".", "-printf", "%p %i %m %n %s %T@ %l\n"]).dir(&root).answer()?;
    mount.unmount_command()?.require_success()?;
    mount.require_ended()?;
    report.pass("unmounted, the daemon gone, one file left");
    check_database(&mount.database, report);
    mount.again(&arena.mount_options())?;
    let after = Program::new("find").args([".", "-printf", "%p %i %m %n %s %T@ %l\n"]).dir(&root).answer()?;
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let (before, after) = (lines(&before), lines(&after));
    let lost = before.iter().zip(&after).find(|(before, after)| before != after);
    report.check(
        format_args!("another mount shows the same {} entries", before.len()),
        before == after,
        || format!("{lost:?}"),
    );
    let database = mount.unmount()?;
    check_database(&database, report);
    report.note(format_args!("{} bytes of database", fs::metadata(&database)?.size()));
    Ok(())
}

/// The rules find what is put there to be found: a check that never failed proves nothing.
fn rules_can_fail(arena: &Arena, report: &mut Report) -> Result<()> {
    report.section("the rules find broken databases");
    let good = "PRAGMA user_version = 5;
        INSERT INTO fs_config VALUES ('schema_version', '0.5'), ('chunk_size', '65536'), ('inline_threshold', '4096');
        INSERT INTO fs_inode (ino, mode, nlink, size, atime, mtime, ctime) VALUES (1, 16877, 1, 0, 0, 0, 0), (2, 33188, 1, 5, 0, 0, 0);
        INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('a', 1, 2);
        INSERT INTO fs_data VALUES (2, 0, x'0102030405');\n";
    let breakages = [
        ("no root", "DELETE FROM fs_inode WHERE ino = 1;"),
        ("a dentry without inode", "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('b', 1, 9);"),
        ("a wrong nlink", "UPDATE fs_inode SET nlink = 2 WHERE ino = 2;"),
        ("an orphan", "INSERT INTO fs_inode (mode, nlink, atime, mtime, ctime) VALUES (33188, 0, 0, 0, 0);"),
        ("a chunk past the end", "INSERT INTO fs_data VALUES (2, 1, x'01');"),
        (
            "inline data and chunks",
            "UPDATE fs_inode SET storage_kind = 1, data_inline = x'0102030405' WHERE ino = 2;",
        ),
        (
            "an inline file of another size",
            "DELETE FROM fs_data; UPDATE fs_inode SET storage_kind = 1, data_inline = x'01' WHERE ino = 2;",
        ),
        ("a name with a slash", "UPDATE fs_dentry SET name = 'a/b';"),
        (
            "a symbolic link without target",
            "UPDATE fs_inode SET mode = 41471 WHERE ino = 2; DELETE FROM fs_data;",
        ),
        ("a table of unknown origin", "CREATE TABLE other (x);"),
        ("another version", "PRAGMA user_version = 4;"),
    ];
    let ddl = fs::read_to_string(own_file("../spec/schema/v0.5.sql"))?;
    for (n, (what, breakage)) in [("nothing", "")].into_iter().chain(breakages).enumerate() {
        let database = arena.scratch().join(format!("broken{n}.db"));
        Program::new("sqlite3")
            .arg("-batch")
            .arg(&database)
            .input(format!("{ddl}{good}{breakage}\n"))
            .succeed()?;
        let (_, broken) = broken_rules(&database)?;
        let found = broken.is_empty() == (what == "nothing");
        report.check(format_args!("{what}: {} broken", broken.len()), found, || format!("{broken:?}"));
    }
    Ok(())
}
