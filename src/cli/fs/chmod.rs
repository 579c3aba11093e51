//! `agentfs fs chmod`: permissions, in octal or as chmod(1) writes them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::str::FromStr;

use clap::Args;

use super::{Database, Purpose, octal};
use crate::cli::exit::Failure;
use crate::cli::output::Output;
use crate::types::{Ino, Mode, SetAttributes};
use crate::vfs::Vfs;
use crate::vfs::paths::Follow;

/// Change permissions
#[derive(Args)]
#[command(
    after_help = "Examples:\n  agentfs fs chmod my-agent 0644 /notes.txt\n  agentfs fs chmod my-agent u+x,go-w /run.sh"
)]
pub(super) struct Chmod {
    #[command(flatten)]
    database: Database,
    /// Octal, or [ugoa]*[-+=][rwxXst]* with commas between
    #[arg(allow_hyphen_values = true)]
    mode: Change,
    /// The files
    #[arg(required = true)]
    paths: Vec<OsString>,
    /// Directories with everything below them
    #[arg(short = 'R', long)]
    recursive: bool,
}

impl Chmod {
    pub(super) fn run(self, _output: &mut Output) -> Result<(), Failure> {
        self.database.with(Purpose::Change, |tree| {
            for path in self.paths.iter().map(|path| path.as_bytes()) {
                let apply = |path: &[u8], ino: Ino, mode: Mode| {
                    let permissions = Some(self.mode.of(mode, tree.caller.umask));
                    let changes = SetAttributes { permissions, ..SetAttributes::default() };
                    tree.fs.setattr(&tree.caller, ino, &changes).map_err(|error| error.at_path(path))
                };
                let named = tree.paths.resolve(path, Follow::Yes)?;
                apply(path, named.ino(), named.attributes().mode)?;
                if !self.recursive {
                    continue;
                }
                for entry in tree.paths.walk(path)? {
                    let entry = entry?;
                    // A symlink has no permissions of its own, and what it leads to may be anywhere.
                    if entry.depth > 0 && !entry.attributes.mode.is_symlink() {
                        apply(&entry.path, entry.attributes.ino, entry.attributes.mode)?;
                    }
                }
            }
            Ok(())
        })
    }
}

/// A change of permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Octal(u32),
    Clauses(Vec<Clause>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Clause {
    /// The bits of the classes: 0700, 0070, 0007 and their special bits.
    who: u32,
    operator: char,
    bits: u32,
    /// `X`: execution where it makes sense.
    execute_if_any: bool,
    /// No class was given: everyone's, without what the umask holds back.
    within_umask: bool,
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return octal(text).map(Self::Octal);
        }
        text.split(',')
            .map(Clause::parse)
            .collect::<Option<_>>()
            .map(Self::Clauses)
            .ok_or_else(|| "not a mode; write it in octal, or as in u+x,go-w".to_owned())
    }
}

impl Clause {
    fn parse(text: &str) -> Option<Self> {
        let operator_at = text.find(['+', '-', '='])?;
        let (classes, rest) = text.split_at(operator_at);
        let mut who = 0;
        for class in classes.chars() {
            who |= match class {
                'u' => 0o4700,
                'g' => 0o2070,
                'o' => 0o0007,
                'a' => 0o6777,
                _ => return None,
            };
        }
        let mut clause = Self {
            who: if who == 0 { 0o6777 } else { who },
            operator: rest.chars().next()?,
            bits: 0,
            execute_if_any: false,
            within_umask: who == 0,
        };
        for permission in rest.chars().skip(1) {
            match permission {
                'r' => clause.bits |= 0o444 & clause.who,
                'w' => clause.bits |= 0o222 & clause.who,
                'x' => clause.bits |= 0o111 & clause.who,
                'X' => clause.execute_if_any = true,
                's' => clause.bits |= 0o6000 & clause.who,
                't' => clause.bits |= Mode::STICKY,
                _ => return None,
            }
        }
        Some(clause)
    }

    fn apply(&self, mode: Mode, present: u32, umask: u32) -> u32 {
        let executable = mode.is_directory() || present & 0o111 != 0;
        let bits = self.bits | if self.execute_if_any && executable { 0o111 & self.who } else { 0 };
        let bits = if self.within_umask { bits & !umask } else { bits };
        match self.operator {
            '+' => present | bits,
            '-' => present & !bits,
            _ => (present & !(self.who & 0o777)) & !(0o6000 & self.who) | bits,
        }
    }
}

impl Change {
    fn of(&self, mode: Mode, umask: u32) -> u32 {
        match self {
            Self::Octal(bits) => *bits,
            Self::Clauses(clauses) => {
                clauses.iter().fold(mode.permissions(), |present, clause| clause.apply(mode, present, umask))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: CLI-1
    #[test]
    fn modes_mean_what_they_mean_to_chmod() {
        let of = |text: &str, bits| {
            text.parse::<Change>().map(|change| change.of(Mode::from_bits(bits).unwrap(), 0o022))
        };
        for (text, before, after) in [
            ("0644", 0o100_777, 0o644),
            ("7777", 0o100_000, 0o7777),
            ("u+x", 0o100_644, 0o744),
            ("go-w", 0o100_666, 0o644),
            ("a=r", 0o100_777, 0o444),
            ("+x", 0o100_644, 0o755),
            ("+w", 0o100_444, 0o644),
            ("a+w", 0o100_444, 0o666),
            ("-w", 0o100_666, 0o466),
            ("=rw", 0o100_777, 0o644),
            ("u=rwx,g=rx,o=", 0o100_000, 0o750),
            ("a+X", 0o100_644, 0o644),
            ("a+X", 0o040_644, 0o755),
            ("u+s", 0o100_755, 0o4755),
            ("g-s", 0o102_755, 0o755),
            ("+t", 0o040_777, 0o1777),
        ] {
            assert_eq!(of(text, before), Ok(after), "{text}");
        }
        for wrong in ["", "8", "77777", "u", "u+q", "z+x", "u+x,"] {
            assert!(wrong.parse::<Change>().is_err(), "{wrong}");
        }
    }
}
