//! `agentfs info`: what a database is and holds.

use std::ffi::OsString;

use clap::Args;
use indicatif::HumanBytes;
use serde_json::json;

use super::database::{self, Purpose};
use super::exit::Failure;
use super::output::Output;
use super::target::Target;
use super::time;
use crate::error::Result;
use crate::store::{Configuration, MountHolder, Session};
use crate::types::Timestamp;
use crate::{AgentFs, schema};

/// Show the format, the settings and the contents of a database in numbers
#[derive(Args)]
#[command(after_help = "\
JSON: {path, format, user_version, encoding, chunk_size, inline_threshold, page_size, inodes, dentries, chunks, kv_entries,
  tool_calls, bytes_stored, file_size, free_pages, orphans, extensions: [{name, version}],
  mounted: null or {mountpoint, pid, host, since}}")]
pub(crate) struct Info {
    /// Id or path of the database
    #[arg(value_name = "ID|PATH")]
    target: OsString,
    /// Sizes in units of 1024
    #[arg(short = 'H', long)]
    human_readable: bool,
}

struct Facts {
    configuration: Configuration,
    encoding: String,
    user_version: i64,
    inodes: u64,
    dentries: u64,
    chunks: u64,
    kv_entries: u64,
    tool_calls: u64,
    bytes_stored: u64,
    file_bytes: u64,
    free_pages: u64,
    orphans: u64,
    extensions: Vec<(String, i64)>,
    holder: Option<MountHolder>,
}

impl Info {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let target = Target::existing(&self.target)?;
        let (facts, path) =
            database::with(&target, Purpose::Read, |fs| Ok((Facts::of(fs)?, fs.store().path().to_owned())))?;
        if output.is_json() {
            return output.json(&facts.to_json(&path));
        }
        let size =
            |bytes: u64| if self.human_readable { HumanBytes(bytes).to_string() } else { bytes.to_string() };
        let mut rows = vec![
            row("database", path.display()),
            row("format", schema::SCHEMA_VERSION),
            row("encoding", &facts.encoding),
            row("chunk size", size(facts.configuration.chunk_size.into())),
            row("inline threshold", size(facts.configuration.inline_threshold.into())),
            row("page size", size(facts.configuration.page_size.into())),
            row("inodes", facts.inodes),
            row("dentries", facts.dentries),
            row("chunks", facts.chunks),
            row("kv entries", facts.kv_entries),
            row("tool calls", facts.tool_calls),
            row("bytes stored", size(facts.bytes_stored)),
            row("file size", size(facts.file_bytes)),
            row("free pages", facts.free_pages),
            row("pending reap", facts.orphans),
        ];
        let extensions = facts.extensions.iter().map(|(name, version)| format!("{name} {version}"));
        rows.push(row("extensions", extensions.collect::<Vec<_>>().join(", ")));
        rows.push(match &facts.holder {
            None => row("mounted", "no"),
            Some(holder) => row(
                "mounted",
                format!(
                    "{} by process {} on {} since {}",
                    holder.mountpoint,
                    holder.pid,
                    holder.host,
                    time::exact(Timestamp::new(holder.since, 0))
                ),
            ),
        });
        output.table(&rows)
    }
}

fn row(label: &str, value: impl ToString) -> Vec<String> {
    vec![format!("{label}:"), value.to_string()]
}

impl Facts {
    fn of(fs: &AgentFs) -> Result<Self> {
        let holder = fs.store().mount_holder()?;
        let file_bytes = std::fs::metadata(fs.store().path()).map_or(0, |metadata| metadata.len());
        fs.store().read(|session| {
            Ok(Self {
                configuration: fs.store().configuration(),
                encoding: text(session, "PRAGMA encoding")?,
                user_version: number(session, "PRAGMA user_version")?.cast_signed(),
                inodes: number(session, "SELECT count(*) FROM fs_inode")?,
                dentries: number(session, "SELECT count(*) FROM fs_dentry")?,
                chunks: number(session, "SELECT count(*) FROM fs_data")?,
                kv_entries: number(session, "SELECT count(*) FROM kv_store")?,
                tool_calls: number_if(session, "tool_calls", "SELECT count(*) FROM tool_calls")?,
                // SQLite knows a length without reading the bytes.
                bytes_stored: number(session, "SELECT coalesce(sum(length(data)), 0) FROM fs_data")?
                    + number(session, "SELECT coalesce(sum(length(data_inline)), 0) FROM fs_inode")?,
                file_bytes,
                free_pages: number(session, "PRAGMA freelist_count")?,
                orphans: number_if(session, "ext_orphan", "SELECT count(*) FROM ext_orphan")?,
                extensions: extensions(session)?,
                holder,
            })
        })
    }

    fn to_json(&self, path: &std::path::Path) -> serde_json::Value {
        let extensions: Vec<_> = self
            .extensions
            .iter()
            .map(|(name, version)| json!({ "name": name, "version": version }))
            .collect();
        let mounted = self.holder.as_ref().map(|holder| {
            json!({
                "mountpoint": holder.mountpoint,
                "pid": holder.pid,
                "host": holder.host,
                "since": time::exact(Timestamp::new(holder.since, 0)),
            })
        });
        json!({
            "path": path.to_string_lossy(),
            "format": schema::SCHEMA_VERSION,
            "user_version": self.user_version,
            "encoding": self.encoding,
            "chunk_size": self.configuration.chunk_size,
            "inline_threshold": self.configuration.inline_threshold,
            "page_size": self.configuration.page_size,
            "inodes": self.inodes,
            "dentries": self.dentries,
            "chunks": self.chunks,
            "kv_entries": self.kv_entries,
            "tool_calls": self.tool_calls,
            "bytes_stored": self.bytes_stored,
            "file_size": self.file_bytes,
            "free_pages": self.free_pages,
            "orphans": self.orphans,
            "extensions": extensions,
            "mounted": mounted,
        })
    }
}

fn number(session: &Session<'_>, sql: &'static str) -> Result<u64> {
    Ok(session.row(sql, [], |row| row.get(0))?.unwrap_or(0))
}

fn number_if(session: &Session<'_>, table: &str, sql: &'static str) -> Result<u64> {
    if session.has_table(table)? { number(session, sql) } else { Ok(0) }
}

fn text(session: &Session<'_>, sql: &'static str) -> Result<String> {
    Ok(session.row(sql, [], |row| row.get(0))?.unwrap_or_default())
}

fn extensions(session: &Session<'_>) -> Result<Vec<(String, i64)>> {
    if !session.has_table("ext_registry")? {
        return Ok(Vec::new());
    }
    session.rows("SELECT name, version FROM ext_registry ORDER BY name", [], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}
