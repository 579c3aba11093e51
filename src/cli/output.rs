//! What a command answers: text or one JSON value on standard output, nothing else.
//!
//! Keeps CLI-3 (a closed output ends quietly), CLI-4 (stable JSON shapes; byte strings that are not UTF-8
//! are not lost) and CLI-10 (names cannot control a terminal). Warnings go to standard error, and never make a command fail.

use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;

use super::exit::Failure;
pub(crate) use crate::types::text::{printable, put_bytes};

/// Standard output, in the form that was asked for.
pub(crate) struct Output {
    stdout: BufWriter<io::Stdout>,
    json: bool,
    terminal: bool,
}

impl Output {
    /// Standard output; `json` when `--json` was given.
    pub(crate) fn new(json: bool) -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        Self { stdout: BufWriter::new(stdout), json, terminal }
    }

    /// Whether the answer is wanted as JSON.
    pub(crate) const fn is_json(&self) -> bool {
        self.json
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stdout.write_all(bytes).map_err(|error| Failure::output(&error))
    }

    /// Writes one line of text.
    pub(crate) fn line(&mut self, line: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.bytes(line.as_ref())?;
        self.bytes(b"\n")
    }

    /// Writes one JSON value, on one line.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_vec(value).map_err(|error| Failure::output(&error.into()))?;
        self.line(text)
    }

    /// Writes rows of cells as aligned columns.
    pub(crate) fn table(&mut self, rows: &[Vec<String>]) -> Result<(), Failure> {
        let mut writer = tabwriter::TabWriter::new(&mut self.stdout).padding(2);
        let write = |writer: &mut tabwriter::TabWriter<_>| {
            for row in rows {
                // A tab or a line feed inside a cell would be taken for the end of it.
                let end = row.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1);
                let cells: Vec<String> = row[..end].iter().map(|cell| printable(cell.as_bytes())).collect();
                writeln!(writer, "{}", cells.join("\t"))?;
            }
            writer.flush()
        };
        write(&mut writer).map_err(|error| Failure::output(&error))
    }

    /// A name for people: escaped on a terminal, so that no name can control it, as it is elsewhere.
    pub(crate) fn name(&self, name: &[u8]) -> Vec<u8> {
        if self.terminal { printable(name).into_bytes() } else { name.to_vec() }
    }

    /// Hands everything written so far to the reader.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.stdout.flush().map_err(|error| Failure::output(&error))
    }
}

/// Tells the person something that does not make the command fail.
pub(crate) fn warn(message: impl std::fmt::Display) {
    // A closed standard error is no reason to fail.
    let _ = writeln!(io::stderr(), "agentfs: warning: {}", printable(message.to_string().as_bytes()));
}
