//! Traces in files: JSON Lines, the setting first, then one step a line.
//!
//! Keeps ORA-27 and ORA-28: what is wrong with a trace is said with the number of its line, and a field that no step has is
//! wrong: a mistyped one would quietly stand for its default. Whether a call is possible at its place is not known
//! here: the checker says that. Empty lines are skipped.

use std::fmt;
use std::io::{self, BufRead, Write};

use agentfs_model::trace::{Setting, Step};
use serde_json::{Map, Value};

use super::play::Trace;

/// Fields that a step may have and that are left out when they say nothing new, by operation.
const OPTIONAL: &[(&str, &[&str])] = &[
    ("open", &["mode"]),
    ("truncate", &["follow"]),
    ("fallocate", &["mode"]),
    ("stat", &["follow"]),
    ("chmod", &["follow"]),
    ("chown", &["follow", "uid", "gid"]),
    ("utimens", &["follow"]),
    ("mknod", &["rdev"]),
    ("link", &["follow"]),
    ("rename", &["flags"]),
    ("getxattr", &["follow"]),
    ("setxattr", &["follow", "mode"]),
    ("listxattr", &["follow"]),
    ("removexattr", &["follow"]),
    ("reopen", &["read_only"]),
];
/// Fields that every step may have.
const ALWAYS: &[&str] = &["by", "now", "outcome", "between", "allowed"];

/// What is wrong with a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// A line is not what it must be.
    #[error("line {line}: {why}")]
    Line {
        /// Which, the first one being 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// There is no setting.
    #[error("the first line must be the setting, and there is none")]
    Empty,
}

/// A line that is no setting or no step, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        // Of a single line only the column says anything.
        Self(text.replace(" at line 1 column", " at column").replace(" at line 0 column 0", ""))
    }
}

/// Reads the setting of a trace.
///
/// # Errors
/// When it is none, or has a field too many.
pub fn setting(line: &str) -> Result<Setting, Malformed> {
    let value: Value = serde_json::from_str(line)?;
    if value.get("op").is_some() {
        return Err(Malformed("a step, where the setting must come first".into()));
    }
    serde_json::from_value(value).map_err(|error| Malformed(format!("no setting: {error}")))
}

/// Reads a step of a trace.
///
/// # Errors
/// When it is none, or has a field too many.
pub fn step(line: &str) -> Result<Step, Malformed> {
    let value: Value = serde_json::from_str(line)?;
    let Value::Object(fields) = &value else { return Err(Malformed("a step is an object".into())) };
    let operation = match fields.get("op") {
        Some(Value::String(operation)) => operation.clone(),
        Some(_) => return Err(Malformed("\"op\" must be the name of an operation".into())),
        None => return Err(Malformed("a step must have an \"op\"".into())),
    };
    let step: Step = serde_json::from_value(value.clone()).map_err(|error| {
        let text = error.to_string();
        let unknown = text.starts_with(&format!("unknown variant `{operation}`"));
        Malformed(if unknown {
            format!("unknown operation {operation:?}")
        } else {
            format!("{operation}: {text}")
        })
    })?;
    let known = serde_json::to_value(&step)?;
    match known.as_object().and_then(|known| unknown_field(fields, known, &operation)) {
        Some(field) => Err(Malformed(format!("{operation}: unknown field {field:?}"))),
        None => Ok(step),
    }
}

/// A field of `given` that `known`, which is the same step written anew, cannot have.
fn unknown_field(given: &Map<String, Value>, known: &Map<String, Value>, operation: &str) -> Option<String> {
    let optional = OPTIONAL.iter().find(|(name, _)| *name == operation).map_or(&[][..], |(_, fields)| fields);
    let by_handle = known.contains_key("handle");
    for (name, value) in given {
        let may = ALWAYS.contains(&name.as_str())
            || known.contains_key(name)
            || (optional.contains(&name.as_str()) && !(name == "follow" && by_handle));
        if !may {
            return Some(name.clone());
        }
        // A place: whatever else is an object in a step refuses unknown fields by itself.
        if let (Value::Object(place), true) = (value, ["path", "from", "to"].contains(&name.as_str()))
            && place.contains_key("at")
            && let Some(field) = place.keys().find(|field| !["at", "path"].contains(&field.as_str()))
        {
            return Some(format!("{name}.{field}"));
        }
    }
    None
}

/// The lines of a trace that say something, each with its number.
pub fn lines(input: impl BufRead) -> impl Iterator<Item = Result<(usize, String), TraceError>> {
    let numbered = input.lines().enumerate();
    let read = numbered.map(|(index, line)| match line {
        Ok(line) => Ok((index + 1, line)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(TraceError::Line { line: index + 1, why: "it is not UTF-8".into() })
        }
        Err(error) => Err(error.into()),
    });
    read.filter(|line| line.as_ref().map_or(true, |(_, text)| !text.trim().is_empty()))
}

/// Reads a whole trace; with each step the number of its line.
///
/// # Errors
/// At the first line that is wrong.
pub fn read(input: impl BufRead) -> Result<(Trace, Vec<usize>), TraceError> {
    let mut lines = lines(input);
    let at = |line: usize| move |malformed: Malformed| TraceError::Line { line, why: malformed.to_string() };
    let (number, first) = lines.next().ok_or(TraceError::Empty)??;
    let mut trace = Trace { setting: setting(&first).map_err(at(number))?, steps: Vec::new() };
    let mut numbers = Vec::new();
    for line in lines {
        let (number, text) = line?;
        trace.steps.push(step(&text).map_err(at(number))?);
        numbers.push(number);
    }
    Ok((trace, numbers))
}

/// Writes a trace.
///
/// # Errors
/// Of `output`.
pub fn write(trace: &Trace, mut output: impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut output, &trace.setting)?;
    output.write_all(b"\n")?;
    for step in &trace.steps {
        serde_json::to_writer(&mut output, step)?;
        output.write_all(b"\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: &str =
        r#"{"processes":[{"uid":0,"gid":0}],"root":{"uid":0,"gid":0,"permissions":493},"profile":PROFILE}"#;

    fn with_setting(steps: &str) -> String {
        let profile = serde_json::to_string(&agentfs_model::profile::Profile::agentfs()).unwrap();
        format!("{}\n{steps}", SETTING.replace("PROFILE", &profile))
    }

    fn problem(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    // spec: ORA-27
    #[test]
    fn what_is_wrong_with_a_trace_is_said_with_its_line() {
        assert_eq!(problem(""), "the first line must be the setting, and there is none");
        assert_eq!(problem("{\"op\":\"sync\"}"), "line 1: a step, where the setting must come first");
        assert!(problem("{\"processes\":[]}").starts_with("line 1: no setting: missing field"));
        let step = |text: &str| problem(&with_setting(&format!("\n{{\"op\":\"sync\"}}\n{text}\n")));
        assert_eq!(step("{\"op\":\"fly\"}"), "line 4: unknown operation \"fly\"");
        assert_eq!(step("{\"op\":\"unlink\""), "line 4: EOF while parsing an object at column 14");
        assert_eq!(step("{\"op\":\"unlink\"}"), "line 4: unlink: missing field `path`");
        assert_eq!(step("[]"), "line 4: a step is an object");
        assert_eq!(step("{\"path\":\"a\"}"), "line 4: a step must have an \"op\"");
    }

    // spec: ORA-28
    #[test]
    fn a_field_that_no_step_has_is_refused() {
        let step =
            |text: &str| read(with_setting(text).as_bytes()).map(drop).map_err(|error| error.to_string());
        assert_eq!(step(r#"{"op":"sync","wait":1}"#).unwrap_err(), "line 2: sync: unknown field \"wait\"");
        assert_eq!(
            step(r#"{"op":"unlink","path":{"at":1,"path":"a","of":2}}"#).unwrap_err(),
            "line 2: unlink: unknown field \"path.of\""
        );
        assert_eq!(
            step(r#"{"op":"stat","handle":1,"path":"a"}"#).unwrap_err(),
            "line 2: stat: unknown field \"path\""
        );
        assert!(step(r#"{"op":"stat","path":"a","outcome":{"status":{"inode":1,"size":2}}}"#).is_err());
        // What is known may be said also where it is the default.
        for line in [
            r#"{"by":0,"op":"open","path":"a","flags":"READ","mode":0,"handle":0}"#,
            r#"{"op":"stat","path":"a","follow":true,"now":[1,2],"outcome":{"error":"ENOENT"}}"#,
            r#"{"op":"rename","from":"a","to":{"at":3,"path":"b"},"flags":""}"#,
            r#"{"op":"chown","path":{"hex":"ff"}}"#,
            r#"{"op":"reopen","read_only":false}"#,
        ] {
            assert_eq!(step(line), Ok(()), "{line}");
        }
    }

    #[test]
    fn a_trace_that_is_written_is_read_as_the_same() {
        let text = with_setting("{\"op\":\"mkdir\",\"path\":\"a\",\"mode\":493}\n");
        let (trace, numbers) = read(text.as_bytes()).unwrap();
        let mut written = Vec::new();
        write(&trace, &mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), text);
        assert_eq!(numbers, [2]);
    }
}
