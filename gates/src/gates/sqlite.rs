//! SQLite databases inside the mount: both kinds of journal, memory maps, two processes that write.

use super::Gate;
use crate::place::{Arena, Place};
use crate::program::{Program, Running};
use crate::report::Report;
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "sqlite",
    about: "sqlite3 inside the mount: WAL and DELETE journals, mmap, two processes writing",
    tools: &["sqlite3"],
    quick: true,
    limit: Duration::from_secs(10 * 60),
    run,
};

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    arena.on_each(report, |place, report| {
        for journal in ["WAL", "DELETE"] {
            for mmap in [0_u64, 256 << 20] {
                let transactions = arena.settings.count(60, 600);
                let what = format!(
                    "two writers of {transactions} transactions: journal {journal}, mmap_size {mmap}"
                );
                report.attempt(what, || two_writers(place, journal, mmap, transactions));
            }
        }
        report.attempt("a transaction rolled back after its cache spilled", || spilled_rollback(place));
        Ok(())
    })
}

fn sqlite(database: &Path, mmap: u64, script: &str) -> Result<Running> {
    let settings = format!(".bail on\n.timeout 60000\nPRAGMA mmap_size={mmap};\n");
    let program = Program::new("sqlite3").arg("-batch").arg(database).input(settings + script);
    program.timeout(Duration::from_secs(3 * 60)).start()
}

// spec: MNT-21 MNT-24
fn two_writers(place: &Place, journal: &str, mmap: u64, transactions: u64) -> Result<()> {
    let database = place.directory.join(format!("{journal}-{mmap}.db"));
    let made = format!(
        "PRAGMA journal_mode={journal};\nCREATE TABLE t(writer INTEGER, n INTEGER, body TEXT, PRIMARY KEY(writer, n));\n"
    );
    let answer = sqlite(&database, mmap, &made)?.wait()?.require_success()?.stdout;
    ensure!(answer.lines().any(|line| line.eq_ignore_ascii_case(journal)), "journal_mode refused: {answer}");
    let writer = |writer: u32| {
        let mut script = String::new();
        for n in 0..transactions {
            let length = 20 + n * 37 % 3000;
            write!(
                script,
                "BEGIN IMMEDIATE; INSERT INTO t VALUES({writer}, {n}, hex(randomblob({length})));"
            )?;
            writeln!(script, "UPDATE t SET body = body || 'x' WHERE n = {} ; COMMIT;", n / 2)?;
        }
        sqlite(&database, mmap, &script)
    };
    let writers = [writer(1)?, writer(2)?];
    for writer in writers {
        writer.wait()?.require_success()?;
    }
    let script = "SELECT count(*) FROM t; PRAGMA integrity_check;";
    let answer = sqlite(&database, mmap, script)?.wait()?.require_success()?.stdout;
    let mut lines = answer.lines().skip(1);
    let rows: u64 = lines.next().context("no count")?.parse()?;
    ensure!(rows == 2 * transactions, "{rows} rows, not {}", 2 * transactions);
    ensure!(lines.next() == Some("ok"), "integrity_check: {answer}");
    Ok(())
}

fn spilled_rollback(place: &Place) -> Result<()> {
    let database = place.directory.join("spill.db");
    let script = "CREATE TABLE t(v BLOB);\n\
        INSERT INTO t SELECT randomblob(1000) FROM generate_series(1, 2000);\n\
        CREATE TABLE before AS SELECT sum(length(v)) AS total, count(*) AS rows FROM t;\n\
        PRAGMA cache_size=20;\nBEGIN;\nUPDATE t SET v = zeroblob(3000);\nDELETE FROM t WHERE rowid % 3 = 0;\nROLLBACK;\n\
        SELECT (SELECT total = sum(length(v)) AND rows = count(*) FROM t) FROM before;\nPRAGMA integrity_check;\n";
    let answer = sqlite(&database, 0, script)?.wait()?.require_success()?.stdout;
    let mut last = answer.lines().rev();
    ensure!(last.next() == Some("ok") && last.next() == Some("1"), "after the rollback: {answer}");
    Ok(())
}
