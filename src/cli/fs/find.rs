//! `agentfs fs find`: the files below a directory that match.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use super::files::split;
use super::show;
use super::{Database, Purpose};
use crate::cli::exit::Failure;
use crate::cli::output::Output;
use crate::types::FileKind;
use crate::vfs::paths::WalkEntry;

/// Find files by name, kind and size, in byte order
#[derive(Args)]
#[command(after_help = "Example: agentfs fs find my-agent /src --name '*.rs' --type f --size +10k")]
pub(super) struct Find {
    #[command(flatten)]
    database: Database,
    /// Where to begin
    #[arg(default_value = "/")]
    path: OsString,
    /// Names that match this glob (*, ?, [...], {a,b})
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    name: Option<String>,
    /// Only of this kind
    #[arg(long = "type", value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    /// At least (+), at most (-) or exactly so many bytes, with k, M or G for units of 1024
    #[arg(long, value_name = "[+-]N[kMG]", allow_hyphen_values = true)]
    size: Option<Size>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Regular file
    F,
    /// Directory
    D,
    /// Symbolic link
    L,
    /// Named pipe
    P,
    /// Socket
    S,
    /// Block device
    B,
    /// Character device
    C,
}

impl Kind {
    const fn of(kind: FileKind) -> Self {
        match kind {
            FileKind::Regular => Self::F,
            FileKind::Directory => Self::D,
            FileKind::Symlink => Self::L,
            FileKind::Fifo => Self::P,
            FileKind::Socket => Self::S,
            FileKind::BlockDevice => Self::B,
            FileKind::CharacterDevice => Self::C,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    AtLeast(u64),
    AtMost(u64),
    Exactly(u64),
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (make, number): (fn(u64) -> Self, &str) = match text.as_bytes().first() {
            Some(b'+') => (Self::AtLeast, &text[1..]),
            Some(b'-') => (Self::AtMost, &text[1..]),
            _ => (Self::Exactly, text),
        };
        let (digits, unit) = match number.as_bytes().last() {
            Some(b'k' | b'K') => (&number[..number.len() - 1], 1 << 10),
            Some(b'M') => (&number[..number.len() - 1], 1 << 20),
            Some(b'G') => (&number[..number.len() - 1], 1 << 30),
            _ => (number, 1),
        };
        let value = digits.parse::<u64>().ok().and_then(|value| value.checked_mul(unit));
        value.map(make).ok_or_else(|| "not a size; write 100, +10k or -2M".to_owned())
    }
}

impl Size {
    const fn admits(self, bytes: u64) -> bool {
        match self {
            Self::AtLeast(bound) => bytes >= bound,
            Self::AtMost(bound) => bytes <= bound,
            Self::Exactly(bound) => bytes == bound,
        }
    }
}

struct Search {
    glob: Option<GlobMatcher>,
    kind: Option<Kind>,
    size: Option<Size>,
}

impl Find {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let glob = self.name.as_deref().map(|glob| GlobBuilder::new(glob).build()).transpose();
        let glob =
            glob.map_err(|error| Failure::usage(error.to_string()))?.map(|glob| glob.compile_matcher());
        let search = Search { glob, kind: self.kind, size: self.size };
        self.database.with(Purpose::Read, |tree| {
            let mut found: Vec<Value> = Vec::new();
            for entry in tree.paths.walk(self.path.as_bytes())? {
                let entry = entry?;
                if !search.admits(&entry) {
                    continue;
                }
                if output.is_json() {
                    found.push(show::json(tree, "path", &entry.path, &entry.attributes)?.into());
                } else {
                    output.line(output.name(&entry.path))?;
                }
            }
            if output.is_json() { output.json(&found) } else { Ok(()) }
        })
    }
}

impl Search {
    fn admits(&self, entry: &WalkEntry) -> bool {
        let name = match split(&entry.path).1 {
            b"" => b"/",
            name => name,
        };
        self.glob.as_ref().is_none_or(|glob| glob.is_match(OsStr::from_bytes(name)))
            && self.kind.is_none_or(|kind| kind == Kind::of(entry.kind()))
            && self.size.is_none_or(|size| size.admits(entry.attributes.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: CLI-1
    #[test]
    fn sizes_are_numbers_with_a_sign_and_a_unit() {
        assert_eq!("+10k".parse(), Ok(Size::AtLeast(10 << 10)));
        assert_eq!("-2M".parse(), Ok(Size::AtMost(2 << 20)));
        assert_eq!("0".parse(), Ok(Size::Exactly(0)));
        for wrong in ["", "+", "k", "1.5k", "10T", "99999999999G"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }
}
