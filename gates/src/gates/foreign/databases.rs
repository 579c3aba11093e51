//! What agentfs-sdk makes of databases: of those that it writes, by `agentfs verify`, and of ours, by what it sees of them.

use super::{adapter, python};
use crate::place::Arena;
use crate::program::{Finished, Program};
use crate::report::Report;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

/// Calls that the SDK makes on a fresh database of ours, and what `agentfs verify` says of it then: rule, severity, table.
struct Trace {
    name: &'static str,
    calls: &'static [&'static str],
    findings: &'static [&'static str],
}

/// The SDK stamps every database that it opens, this one too.
const STAMP: &str = "INT-9 note fs_config";

const TRACES: &[Trace] = &[
    Trace { name: "nothing but opening it", calls: &[], findings: &[STAMP] },
    Trace {
        name: "ordinary work",
        calls: &[
            r#"{"op": "mkdir", "path": "d", "mode": 493}"#,
            r#"{"op": "mkdir", "path": "d/e", "mode": 493}"#,
            r#"{"op": "open", "path": "d/f", "flags": "READ | WRITE | CREATE", "mode": 420, "handle": 1}"#,
            r#"{"op": "write", "handle": 1, "data": {"runs": [[120, 200000]]}}"#,
            r#"{"op": "truncate", "handle": 1, "size": 70000}"#,
            r#"{"op": "open", "path": "g", "flags": "READ | WRITE | CREATE", "mode": 420, "handle": 2}"#,
            r#"{"op": "copy_file_range", "from": 1, "from_offset": 0, "to": 2, "to_offset": 0, "length": 70000}"#,
            r#"{"op": "rename", "from": "d/f", "to": "g"}"#,
            r#"{"op": "rename", "from": "d/e", "to": "e"}"#,
            r#"{"op": "rmdir", "path": "d"}"#,
            r#"{"op": "open", "path": "h", "flags": "WRITE | CREATE", "mode": 420, "handle": 3}"#,
            r#"{"op": "unlink", "path": "h"}"#,
        ],
        findings: &[STAMP],
    },
    Trace {
        name: "a file below a file, which is then removed",
        calls: &[
            r#"{"op": "open", "path": "f", "flags": "WRITE | CREATE", "mode": 420, "handle": 1}"#,
            r#"{"op": "open", "path": "f/d/g", "flags": "WRITE | CREATE", "mode": 420, "handle": 2}"#,
            r#"{"op": "unlink", "path": "f"}"#,
        ],
        findings: &["INT-12 error fs_dentry", STAMP],
    },
    Trace {
        name: "a file below a file",
        calls: &[
            r#"{"op": "open", "path": "f", "flags": "WRITE | CREATE", "mode": 420, "handle": 1}"#,
            r#"{"op": "open", "path": "f/d/g", "flags": "WRITE | CREATE", "mode": 420, "handle": 2}"#,
        ],
        findings: &["INT-12 error fs_dentry", STAMP],
    },
    Trace {
        name: "names that are none",
        calls: &[
            r#"{"op": "mkdir", "path": "..", "mode": 493}"#,
            r#"{"op": "mkdir", "path": ".", "mode": 493}"#,
            r#"{"op": "mkdir", "path": {"runs": [[110, 256]]}, "mode": 493}"#,
        ],
        findings: &["INT-18 error fs_dentry", STAMP],
    },
];

/// What no vector shows: calls, and what the last one of them is answered.
const ANSWERS: &[(&str, &[&str], &str)] = &[
    (
        "a path through a file leads nowhere",
        &[
            r#"{"op": "open", "path": "f", "flags": "WRITE | CREATE", "mode": 420, "handle": 1}"#,
            r#"{"op": "access", "path": "f/x", "mode": ""}"#,
        ],
        r#"{"error":"ENOENT"}"#,
    ),
    (
        "write_file makes directories",
        &[r#"{"op": "open", "path": "d/f", "flags": "WRITE | CREATE", "mode": 420, "handle": 1}"#],
        r#""done""#,
    ),
    ("rename of nothing to itself", &[r#"{"op": "rename", "from": "f", "to": "f"}"#], r#""done""#),
    ("rename from nowhere", &[r#"{"op": "rename", "from": "d/f", "to": "g"}"#], r#"{"error":"EPERM"}"#),
];

pub(super) fn check(arena: &Arena, report: &mut Report) -> Result<()> {
    report.section("what no vector shows");
    for (name, calls, answer) in ANSWERS {
        report.attempt(name, || {
            let outcome = drive(&arena.scratch().join("answers.db"), false, calls)?.pop();
            let outcome = outcome.context("no answer")?.to_string();
            ensure!(outcome == *answer, "the answer is {outcome}, documented is {answer}");
            Ok(())
        });
    }
    report.attempt("a new directory does not take set-group-id", || set_group_id(arena));
    report.section("databases that the SDK writes");
    report.attempt("its own are of format 0.4, which is older", || its_own(arena));
    for trace in TRACES {
        report.attempt(trace.name, || {
            let found = after(arena, trace)?;
            let documented: BTreeSet<String> =
                trace.findings.iter().map(|finding| (*finding).to_owned()).collect();
            ensure!(found == documented, "verify finds {found:?}, documented is {documented:?}");
            Ok(())
        });
    }
    report.section("databases of ours that the SDK reads");
    let ours = ours(arena)?;
    for (name, seen) in SEEN {
        report.attempt(format_args!("{name}: {seen}"), || {
            let found = look(&ours, name)?;
            ensure!(found == *seen, "it sees {found}");
            Ok(())
        });
    }
    report.attempt("a directory with a name that is not UTF-8: its process ends", || not_text(arena));
    report
        .attempt("a small file that it writes: our program shows the old bytes", || small_file(arena, &ours));
    report.attempt("a small file in a database without inline files: as written, both ways", || {
        not_inline(arena)
    });
    report.attempt("a sparse file that it writes: what lay behind the hole is lost", || {
        sparse_file(arena, &ours)
    });
    Ok(())
}

/// Runs steps on a database; answers the outcomes, without those of the beginning and the end.
fn drive(database: &Path, existing: bool, calls: &[&str]) -> Result<Vec<Value>> {
    let finished = start(database, existing, calls)?.require_success()?;
    let mut lines: Vec<Value> =
        finished.stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    // The hello and the beginning; the end.
    ensure!(
        lines.len() == calls.len() + 3,
        "{} answers to {} calls{}",
        lines.len(),
        calls.len(),
        finished.last_words()
    );
    lines.pop();
    ensure!(lines[1]["outcome"] == "done", "it does not begin: {}{}", lines[1], finished.last_words());
    Ok(lines.into_iter().skip(2).map(|mut line| line["outcome"].take()).collect())
}

fn start(database: &Path, existing: bool, calls: &[&str]) -> Result<Finished> {
    let begin = json!({"begin": {
        "processes": [{"uid": 0, "gid": 0}], "root": {"uid": 0, "gid": 0, "permissions": 0o2755}, "profile": {},
    }});
    let input = format!(
        "{begin}\n{}{{\"end\": {{}}}}\n",
        calls.iter().map(|call| format!("{call}\n")).collect::<String>()
    );
    let program = Program::new(python()?).arg(adapter()).arg("--database").arg(database).input(input);
    if existing { program.arg("--existing").run() } else { program.run() }
}

/// The setting of [`start`] has a root directory with that bit.
fn set_group_id(arena: &Arena) -> Result<()> {
    let calls = [
        r#"{"op": "mkdir", "path": "d", "mode": 493}"#,
        r#"{"op": "stat", "path": "d"}"#,
        r#"{"op": "stat", "path": "/"}"#,
    ];
    let outcomes = drive(&arena.scratch().join("answers.db"), false, &calls)?;
    let seen = [&outcomes[1], &outcomes[2]].map(|outcome| outcome["status"]["permissions"].clone());
    ensure!(seen == [json!(0o755), json!(0o2755)], "{seen:?}");
    Ok(())
}

fn its_own(arena: &Arena) -> Result<()> {
    let database = arena.scratch().join("own.db");
    drive(&database, false, TRACES[1].calls)?;
    let refused = Program::new(arena.agentfs()?).arg("verify").arg(&database).run()?;
    ensure!(
        !refused.status.success() && refused.stderr.contains("format 0.4 is older than 0.5"),
        "`{}` {}{}",
        refused.line,
        refused.describe_status(),
        refused.last_words()
    );
    Ok(())
}

/// What verify finds after the calls on a fresh database of ours.
fn after(arena: &Arena, trace: &Trace) -> Result<BTreeSet<String>> {
    let folder = tempfile::tempdir_in(arena.scratch())?;
    let database = folder.path().join("fresh.db");
    Program::new(arena.agentfs()?).arg("init").arg(&database).succeed()?;
    let outcomes = drive(&database, true, trace.calls)?;
    let refused =
        outcomes.iter().position(|outcome| outcome.get("error").or(outcome.get("unsupported")).is_some());
    ensure!(refused.is_none(), "it refuses {}", trace.calls[refused.unwrap_or_default()]);
    verify(arena, &database)
}

fn verify(arena: &Arena, database: &Path) -> Result<BTreeSet<String>> {
    let finished = Program::new(arena.agentfs()?).args(["--json", "verify"]).arg(database).run()?;
    let report: Value = serde_json::from_str(&finished.stdout).with_context(|| {
        format!("`{}` {}{}", finished.line, finished.describe_status(), finished.last_words())
    })?;
    let findings = report["findings"].as_array().context("no findings")?.iter();
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap_or("-").to_owned();
    Ok(findings.map(|one| ["rule", "severity", "table"].map(|name| text(one, name)).join(" ")).collect())
}

const CHUNKED: usize = 5_000;
const LARGE: usize = 200_000;
const SPARSE: u64 = 300_000;
const FAR: u64 = 200_000;

/// What the SDK sees of each: by stat, then by reading it whole.
const SEEN: &[(&str, &str)] = &[
    ("chunked", "regular, 2 links, size 5000; 5000 bytes as written"),
    ("large", "regular, 1 links, size 200000; 200000 bytes as written"),
    ("inline", "regular, 2 links, size 5; 0 bytes, not as written"),
    ("sparse", "regular, 1 links, size 300000; 65536 bytes, not as written"),
    ("second", "regular, 2 links, size 5000; 5000 bytes as written"),
    ("symlink", "symlink, 1 links, size 6; ENOSYS"),
    ("through/inside", "ENOENT"),
    ("directory", "directory, 1 links, size 0; EISDIR"),
    ("directory/inside", "regular, 1 links, size 5000; 5000 bytes as written"),
    ("pipe", "fifo, 1 links, size 0; 0 bytes as written"),
];

/// A database with every form that we store files in, made through a mount.
fn ours(arena: &Arena) -> Result<PathBuf> {
    let mount = arena.mount("ours")?;
    let at = |name: &str| mount.point.join(name);
    fs::create_dir(at("directory"))?;
    for name in ["inline", "chunked", "large", "directory/inside"] {
        fs::write(at(name), content(name))?;
    }
    let sparse = File::create(at("sparse"))?;
    sparse.set_len(SPARSE)?;
    sparse.write_all_at(b"far away", FAR)?;
    drop(sparse);
    fs::hard_link(at("inline"), at("first"))?;
    fs::hard_link(at("chunked"), at("second"))?;
    symlink("inline", at("symlink"))?;
    symlink("directory", at("through"))?;
    Program::new("mkfifo").arg(at("pipe")).succeed()?;
    let database = mount.unmount()?;
    let found = verify(arena, &database)?;
    ensure!(found.is_empty(), "our own database: {found:?}");
    Ok(database)
}

/// What was written.
fn content(name: &str) -> Vec<u8> {
    match name {
        "inline" => b"hello".to_vec(),
        "large" => vec![b'l'; LARGE],
        "sparse" => {
            let mut content = vec![0; SPARSE as usize];
            content[FAR as usize..FAR as usize + 8].copy_from_slice(b"far away");
            content
        }
        "pipe" => Vec::new(),
        _ => vec![b'c'; CHUNKED],
    }
}

/// What the SDK sees of a file in a copy of the database: it writes to what it opens.
fn look(ours: &Path, name: &str) -> Result<String> {
    let (_folder, database) = copy(ours)?;
    let stat = format!(r#"{{"op": "stat", "path": "{name}"}}"#);
    let open = format!(r#"{{"op": "open", "path": "{name}", "flags": "READ", "handle": 1}}"#);
    let read = r#"{"op": "read", "handle": 1, "length": 1000000}"#;
    let answers = drive(&database, true, &[&stat, &open, read])?;
    if let Some(errno) = answers[0]["error"].as_str() {
        return Ok(errno.to_owned());
    }
    let status = &answers[0]["status"];
    let kind = status["kind"].as_str().context("no kind")?;
    let seen = format!("{kind}, {} links, size {}", status["links"], status["size"]);
    if let Some(errno) = answers[2]["error"].as_str() {
        return Ok(format!("{seen}; {errno}"));
    }
    let data = answers[2]["data"].as_str().context("no data")?;
    let same = if data.as_bytes() == content(name) { " as written" } else { ", not as written" };
    Ok(format!("{seen}; {} bytes{same}", data.len()))
}

fn copy(database: &Path) -> Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("copy.db");
    fs::copy(database, &path)?;
    Ok((folder, path))
}

/// No exception: the process aborts in the engine.
fn not_text(arena: &Arena) -> Result<()> {
    let mount = arena.mount("bytes")?;
    fs::write(mount.point.join(OsStr::from_bytes(b"name\xff")), b"")?;
    let database = mount.unmount()?;
    let open = r#"{"op": "open", "path": "/", "flags": "READ | DIRECTORY", "handle": 1}"#;
    let finished = start(&database, true, &[open])?;
    ensure!(
        !finished.status.success() && finished.stderr.contains("UnicodeDecodeError"),
        "{}{}",
        finished.describe_status(),
        finished.last_words()
    );
    Ok(())
}

/// The SDK knows nothing of files in their rows: it puts the content beside.
fn small_file(arena: &Arena, ours: &Path) -> Result<()> {
    let (_folder, database) = copy(ours)?;
    let open = r#"{"op": "open", "path": "inline", "flags": "READ | WRITE", "handle": 1}"#;
    let write = r#"{"op": "write", "handle": 1, "data": "SDK"}"#;
    let outcomes = drive(&database, true, &[open, r#"{"op": "truncate", "handle": 1, "size": 0}"#, write])?;
    ensure!(outcomes[2] == json!({"count": 3}), "{}", outcomes[2]);
    let found = verify(arena, &database)?;
    ensure!(found.contains("INT-27 error fs_inode"), "verify finds {found:?}");
    let shown =
        Program::new(arena.agentfs()?).args(["fs", "cat"]).arg(&database).arg("inline").succeed()?.stdout;
    ensure!(shown == "hel", "our program shows {shown:?}");
    Ok(())
}

/// The way out that docs/FOREIGN.md names.
fn not_inline(arena: &Arena) -> Result<()> {
    let database = arena.scratch().join("not-inline.db");
    Program::new(arena.agentfs()?).args(["init", "--inline-threshold", "0"]).arg(&database).succeed()?;
    Program::new(arena.agentfs()?).args(["fs", "write"]).arg(&database).args(["small", "ours"]).succeed()?;
    let open = r#"{"op": "open", "path": "small", "flags": "READ | WRITE", "handle": 1}"#;
    let read = r#"{"op": "read", "handle": 1, "length": 100}"#;
    let outcomes = drive(&database, true, &[open, read, r#"{"op": "write", "handle": 1, "data": "SDK"}"#])?;
    ensure!(outcomes[1] == json!({"data": "ours"}), "{}", outcomes[1]);
    ensure!(verify(arena, &database)? == BTreeSet::from([STAMP.to_owned()]), "verify finds more");
    let shown =
        Program::new(arena.agentfs()?).args(["fs", "cat"]).arg(&database).arg("small").succeed()?.stdout;
    ensure!(shown == "oursSDK", "our program shows {shown:?}");
    Ok(())
}

/// Whoever changes a byte with the SDK reads the file and writes it: without its holes, and shorter.
fn sparse_file(arena: &Arena, ours: &Path) -> Result<()> {
    let (_folder, database) = copy(ours)?;
    let open = r#"{"op": "open", "path": "sparse", "flags": "READ | WRITE", "handle": 1}"#;
    let outcomes =
        drive(&database, true, &[open, r#"{"op": "pwrite", "handle": 1, "offset": 0, "data": "x"}"#])?;
    ensure!(outcomes[1] == json!({"count": 1}), "{}", outcomes[1]);
    ensure!(verify(arena, &database)? == BTreeSet::from([STAMP.to_owned()]), "verify finds more");
    let shown =
        Program::new(arena.agentfs()?).args(["fs", "cat"]).arg(&database).arg("sparse").succeed()?.stdout;
    ensure!(shown.len() == 65_536, "our program shows {} bytes", shown.len());
    Ok(())
}
