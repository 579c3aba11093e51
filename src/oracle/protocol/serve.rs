//! The side of the protocol that answers, for any [`Implementation`] in this process.
//!
//! Keeps ORA-1, ORA-2, ORA-4 (an operation that is not known is unsupported) and ORA-9 (who cannot go on says so).

use std::io::{self, BufRead, Read, Write};

use agentfs_model::outcome::Outcome;
use agentfs_model::trace::Step;
use serde_json::Value;

use super::{Frame, Hello, OPERATIONS, Reply, VERSION};
use crate::oracle::conversation::shown;
use crate::oracle::implementation::{Failure, Implementation, Problem};

/// The longest request: the largest byte string of a trace, each byte escaped, and room for the rest.
const LONGEST_REQUEST: u64 = 6 * agentfs_model::bytes::MAX_BYTES + (1 << 20);

/// Why serving ended early. The other side has been told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The pipes failed.
    #[error("cannot speak to the driver: {0}")]
    Io(#[from] io::Error),

    /// A line is no request.
    #[error("line {line} is no request ({why}): {said}")]
    Malformed {
        /// Its number, counted from 1.
        line: u64,
        /// The line; a long one is cut.
        said: String,
        /// What is wrong with it.
        why: String,
    },

    /// The implementation cannot go on.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Answers requests from `input` on `output` until there are no more.
///
/// # Errors
/// When a request is malformed, or the implementation fails.
pub fn serve(
    implementation: &mut dyn Implementation,
    mut input: impl BufRead,
    mut output: impl Write,
) -> Result<(), ServeError> {
    let supported = OPERATIONS.iter().filter(|name| implementation.supports(name));
    let operations = supported.map(|name| (*name).to_owned()).collect();
    let hello = Hello { protocol: VERSION, name: implementation.name().to_owned(), operations };
    reply(&mut output, &Reply { hello: Some(hello), ..Reply::default() })?;
    let mut step = 0;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if (&mut input).take(LONGEST_REQUEST).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let answered = match understand(&line) {
            Ok(request) => answer(implementation, &request, &mut step).map_err(ServeError::Failed),
            Err(why) => Err(ServeError::Malformed { line: number, said: shown(line.trim_ascii_end()), why }),
        };
        match answered {
            Ok(answer) => reply(&mut output, &answer)?,
            Err(error) => {
                reply(&mut output, &Reply { failure: Some(error.to_string()), ..Reply::default() })?;
                return Err(error);
            }
        }
    }
    Ok(())
}

/// A line that was understood.
enum Request {
    Frame(Frame),
    Step(Box<Step>),
    /// An operation of a later version, by its name.
    Unknown(String),
}

fn understand(line: &[u8]) -> Result<Request, String> {
    let why = |error: serde_json::Error| error.to_string();
    let value: Value = serde_json::from_slice(line).map_err(why)?;
    if value.get("begin").is_some() || value.get("end").is_some() {
        return serde_json::from_value(value).map(Request::Frame).map_err(why);
    }
    match value.get("op") {
        Some(Value::String(name)) if !OPERATIONS.contains(&name.as_str()) => {
            Ok(Request::Unknown(name.clone()))
        }
        Some(_) => serde_json::from_value(value).map(Request::Step).map_err(why),
        None => Err("it has neither \"op\" nor \"begin\" nor \"end\"".to_owned()),
    }
}

fn answer(
    implementation: &mut dyn Implementation,
    request: &Request,
    step: &mut u32,
) -> Result<Reply, Failure> {
    match request {
        Request::Frame(Frame::Begin(setting)) => {
            *step = 0;
            match implementation.begin(setting) {
                Ok(between) => Ok(Reply { outcome: Some(Outcome::Done), between, ..Reply::default() }),
                Err(Failure { problem: Problem::Refused(why), .. }) => Ok(unsupported(why)),
                Err(failure) => Err(failure),
            }
        }
        Request::Frame(Frame::End {}) => {
            implementation.end()?;
            Ok(Reply { outcome: Some(Outcome::Done), ..Reply::default() })
        }
        Request::Step(request) => {
            *step += 1;
            let answer = implementation.call(*step, request.now, &request.call)?;
            Ok(Reply { outcome: Some(answer.outcome), between: answer.between, ..Reply::default() })
        }
        Request::Unknown(name) => {
            *step += 1;
            Ok(unsupported(format!("there is no operation {name:?}")))
        }
    }
}

fn unsupported(why: String) -> Reply {
    Reply { outcome: Some(Outcome::Unsupported(why)), ..Reply::default() }
}

fn reply(output: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}
