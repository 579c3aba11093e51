//! Byte strings in traces: names, targets, contents and values, of which JSON knows nothing.
//!
//! In JSON a byte string is text when it is UTF-8, else `{"hex": "ff00"}`; a long one of few different stretches is
//! `{"runs": [[0, 65536], [97, 3]]}`, pairs of a byte and how often it comes. Any of the three may be given.

use std::fmt::Write as _;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The longest byte string that a trace may hold: more than any operation of a trace needs, less than would hurt.
pub const MAX_BYTES: u64 = 64 << 20;
/// Shorter ones are never written as runs, so that a reader sees what they are.
const FIRST_RUNS: usize = 64;

/// A byte string.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    /// `count` times `byte`.
    #[must_use]
    pub fn repeated(byte: u8, count: usize) -> Self {
        Self(vec![byte; count])
    }

    fn runs(&self) -> Vec<(u8, u64)> {
        let mut runs: Vec<(u8, u64)> = Vec::new();
        for byte in &self.0 {
            match runs.last_mut() {
                Some((last, count)) if last == byte => *count += 1,
                _ => runs.push((*byte, 1)),
            }
        }
        runs
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.len() < FIRST_RUNS {
            return write!(f, "\"{}\"", self.escape_ascii());
        }
        let runs = self.runs();
        write!(f, "{} bytes", self.len())?;
        for (byte, count) in runs.iter().take(4) {
            write!(f, " {count}x{}", byte.escape_ascii())?;
        }
        if runs.len() > 4 { write!(f, " ...") } else { Ok(()) }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Form {
    Text(String),
    Hex { hex: String },
    Runs { runs: Vec<(u8, u64)> },
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let runs = if self.len() < FIRST_RUNS { Vec::new() } else { self.runs() };
        let form = if self.len() >= FIRST_RUNS && runs.len() <= self.len() / 8 {
            Form::Runs { runs }
        } else if let Ok(text) = std::str::from_utf8(self) {
            Form::Text(text.to_owned())
        } else {
            let hex = self.iter().fold(String::new(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}");
                hex
            });
            Form::Hex { hex }
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = match Form::deserialize(deserializer)? {
            Form::Text(text) => text.into_bytes(),
            Form::Hex { hex } => {
                from_hex(&hex).ok_or_else(|| D::Error::custom("\"hex\" takes pairs of hexadecimal digits"))?
            }
            Form::Runs { runs } => {
                let length = runs.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count));
                if length.is_none_or(|length| length > MAX_BYTES) {
                    return Err(D::Error::custom("\"runs\" of more than 64 MiB"));
                }
                runs.iter().flat_map(|(byte, count)| std::iter::repeat_n(*byte, *count as usize)).collect()
            }
        };
        Ok(Self(bytes))
    }
}

fn from_hex(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = hex.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits?;
    (digits.len() % 2 == 0).then(|| digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}
