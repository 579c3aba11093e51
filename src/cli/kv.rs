//! `agentfs kv`: the key-value store.

use std::ffi::OsString;
use std::io::Read;

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::database::{self, Purpose};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::target::Target;
use super::time;
use crate::kv::Entry;
use crate::types::Timestamp;

/// Read and change the key-value store
#[derive(Args)]
#[command(after_help = "\
JSON of set and get: {key, value, created_at, updated_at}; of list, an array of these; of delete, {deleted: the key}.
  What another program stored and is not JSON is a string in `text` in the place of `value`.")]
pub(crate) struct Kv {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Set a key to a JSON value, which is kept to the byte
    #[command(
        after_help = "Examples:\n  agentfs kv set my-agent plan '{\"steps\":3}'\n  agentfs kv set my-agent note --text 'not JSON'\n  agentfs kv set my-agent state < state.json"
    )]
    Set {
        /// Id or path of the database
        #[arg(value_name = "ID|PATH")]
        target: OsString,
        /// The key
        key: String,
        /// The value, as JSON; without it, standard input
        #[arg(allow_negative_numbers = true)]
        value: Option<String>,
        /// Store the value as a JSON string of this text
        #[arg(long)]
        text: bool,
    },
    /// Print the value of a key
    Get {
        /// Id or path of the database
        #[arg(value_name = "ID|PATH")]
        target: OsString,
        /// The key
        key: String,
        /// Print the text of a JSON string without its quotes
        #[arg(long, conflicts_with = "json")]
        text: bool,
    },
    /// List the keys in byte order
    List {
        /// Id or path of the database
        #[arg(value_name = "ID|PATH")]
        target: OsString,
        /// Only keys that begin so
        #[arg(long, allow_hyphen_values = true)]
        prefix: Option<String>,
        /// With the time of the last change and the value
        #[arg(short, long)]
        long: bool,
    },
    /// Delete a key
    Delete {
        /// Id or path of the database
        #[arg(value_name = "ID|PATH")]
        target: OsString,
        /// The key
        key: String,
    },
}

impl Kv {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self.command {
            Command::Set { target, key, value, text } => set(&target, &key, value, text, output),
            Command::Get { target, key, text } => get(&target, &key, text, output),
            Command::List { target, prefix, long } => list(&target, prefix.as_deref(), long, output),
            Command::Delete { target, key } => delete(&target, &key, output),
        }
    }
}

fn set(
    target: &OsString,
    key: &str,
    value: Option<String>,
    is_text: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let target = Target::existing(target)?;
    let given = match value {
        Some(value) => value,
        None => standard_input()?,
    };
    let value = if is_text { json!(given).to_string() } else { given };
    let entry = database::with(&target, Purpose::Change, |fs| {
        let kv = fs.kv();
        kv.set_text(key, &value).map_err(|error| match error {
            crate::Error::Invalid(why) if !is_text => {
                Failure::usage(format!("{why}; --text stores plain text"))
            }
            other => other.into(),
        })?;
        Ok(kv.entry(key)?)
    })?;
    match (output.is_json(), entry) {
        (true, Some(entry)) => output.json(&Shown::of(&entry)),
        _ => Ok(()),
    }
}

fn standard_input() -> Result<String, Failure> {
    let mut value = String::new();
    std::io::stdin()
        .read_to_string(&mut value)
        .map_err(|error| Failure::host("read", "standard input", error))?;
    // A line feed at the end is the pipe's, not the value's.
    if value.ends_with('\n') {
        value.pop();
    }
    Ok(value)
}

fn get(target: &OsString, key: &str, is_text: bool, output: &mut Output) -> Result<(), Failure> {
    let target = Target::existing(target)?;
    let entry = database::with(&target, Purpose::Read, |fs| Ok(fs.kv().entry(key)?))?;
    let entry = entry.ok_or_else(|| no_such_key(key))?;
    if output.is_json() {
        return output.json(&Shown::of(&entry));
    }
    let value = entry.value.unwrap_or_default();
    let plain = if is_text { serde_json::from_str::<String>(&value).ok() } else { None };
    output.line(plain.unwrap_or(value))
}

fn list(target: &OsString, prefix: Option<&str>, long: bool, output: &mut Output) -> Result<(), Failure> {
    let target = Target::existing(target)?;
    let with_values = long || output.is_json();
    let entries = database::with(&target, Purpose::Read, |fs| {
        let kv = fs.kv();
        Ok(if with_values { kv.list_with_values(prefix)? } else { kv.list(prefix)? })
    })?;
    if output.is_json() {
        return output.json(&entries.iter().map(Shown::of).collect::<Vec<_>>());
    }
    if long {
        let rows: Vec<Vec<String>> = entries
            .into_iter()
            .map(|entry| {
                vec![
                    entry.key,
                    moment(entry.updated_at).unwrap_or("-".into()),
                    entry.value.unwrap_or_default(),
                ]
            })
            .collect();
        return output.table(&rows);
    }
    entries.iter().try_for_each(|entry| output.line(&entry.key))
}

fn delete(target: &OsString, key: &str, output: &mut Output) -> Result<(), Failure> {
    let target = Target::existing(target)?;
    let deleted = database::with(&target, Purpose::Change, |fs| Ok(fs.kv().delete(key)?))?;
    match (deleted, output.is_json()) {
        (false, _) => Err(no_such_key(key)),
        (true, true) => output.json(&json!({ "deleted": key })),
        (true, false) => Ok(()),
    }
}

fn no_such_key(key: &str) -> Failure {
    Failure::new(Exit::Missing, format!("no such key: {key:?}"))
}

fn moment(seconds: Option<i64>) -> Option<String> {
    seconds.map(|seconds| time::exact(Timestamp::new(seconds, 0)))
}

/// The JSON form of an entry. `value` is the stored JSON; what another writer stored that is not JSON appears as
/// the string `text` instead.
#[derive(Serialize)]
struct Shown<'a> {
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    created_at: Option<String>,
    updated_at: Option<String>,
}

impl<'a> Shown<'a> {
    fn of(entry: &'a Entry) -> Self {
        let stored = entry.value.as_deref().unwrap_or_default();
        let value = serde_json::from_str(stored).ok();
        Self {
            key: &entry.key,
            value,
            text: value.is_none().then_some(stored),
            created_at: moment(entry.created_at),
            updated_at: moment(entry.updated_at),
        }
    }
}
