//! Calls and outcomes in words, for people who read a divergence.

use std::fmt::Write as _;

use agentfs_model::bytes::Bytes;
use agentfs_model::call::Call;
use agentfs_model::outcome::{Expected, Outcome};
use agentfs_model::values::FileKind;
use serde_json::Value;

/// A call, as in `rename from "a" to "b" by 1`.
pub(super) fn call(call: &Call) -> String {
    let mut words = call.operation.name().to_owned();
    // What a call is in JSON has every argument under its name.
    let Ok(Value::Object(arguments)) = serde_json::to_value(&call.operation) else { return words };
    for (name, value) in arguments.iter().filter(|(name, _)| *name != "op") {
        let octal = value.as_u64().filter(|_| ["mode", "mask"].contains(&name.as_str()));
        let _ = match octal {
            Some(mode) => write!(words, " {name} {mode:04o}"),
            None => write!(words, " {name} {}", argument(value)),
        };
    }
    if call.by.0 != 0 {
        let _ = write!(words, " by process {}", call.by.0);
    }
    words
}

fn argument(value: &Value) -> String {
    const LONGEST: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], text.chars().count()),
        None => text,
    }
}

/// An answer, as in `17 bytes "..."`.
pub(super) fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Error(errno) => errno.symbol().into(),
        Outcome::Done => "success".into(),
        Outcome::Count(count) => format!("{count} bytes done"),
        Outcome::Offset(offset) => format!("offset {offset}"),
        Outcome::Data(data) => format!("the data {data:?}"),
        Outcome::Status(_) => "a status".into(),
        Outcome::Target(target) => format!("the target {target:?}"),
        Outcome::Value(value) => format!("the value {value:?}"),
        Outcome::Names(names) => format!("the names {names:?}"),
        Outcome::Entries(entries) => {
            let names: Vec<&Bytes> = entries.iter().map(|entry| &entry.name).collect();
            format!("the entries {names:?}")
        }
        Outcome::Statistics(_) => "statistics".into(),
        Outcome::Unsupported(why) => format!("not supported: {why}"),
    }
}

/// What may be answered.
pub(super) fn expected(expected: &Expected) -> String {
    match expected {
        Expected::Exactly(exactly) => outcome(exactly),
        Expected::Status(_) => "a status".into(),
        Expected::Entries(pattern) => {
            let names: Vec<&Bytes> = pattern.due.iter().map(|entry| &entry.name).collect();
            format!("entries of {names:?}")
        }
        Expected::OffsetBetween { least, most } => format!("an offset from {least} to {most}"),
        Expected::CountBetween { least, most } => format!("{least} to {most} bytes"),
        Expected::Statistics { .. } => "statistics".into(),
    }
}

/// Where two byte strings differ first.
pub(super) fn bytes_differ(seen: &[u8], allowed: &[u8]) -> (String, String) {
    let place = seen.iter().zip(allowed).position(|(seen, allowed)| seen != allowed);
    let words = |bytes: &[u8]| match place {
        Some(place) => {
            let shown = &bytes[place..bytes.len().min(place + 8)];
            format!("{} bytes, \"{}\" at {place}", bytes.len(), shown.escape_ascii())
        }
        None => format!("{} bytes", bytes.len()),
    };
    (words(seen), words(allowed))
}

/// A kind of file.
pub(super) const fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Regular => "a regular file",
        FileKind::Directory => "a directory",
        FileKind::Symlink => "a symlink",
        FileKind::Fifo => "a pipe",
        FileKind::Socket => "a socket",
        FileKind::CharDevice => "a character device",
        FileKind::BlockDevice => "a block device",
    }
}
