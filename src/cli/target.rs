//! Which database an argument names (CLI-6, CLI-7).
//!
//! An argument with a '/' or ending in `.db` is a path. Any other is an id: `x` names `.agentfs/x.db` in the
//! current directory when that exists; else a file `x` in the current directory when that exists;
//! else `.agentfs/x.db`, which is then missing or made. So an id keeps its meaning whatever other files
//! come and go, and `./x` always means the file.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::exit::Failure;

/// Where ids live, below the current directory.
pub(crate) const DIRECTORY: &str = ".agentfs";
/// The longest id in bytes.
const MAX_ID_BYTES: usize = 64;

/// A database, as the command line named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// As it was written.
    pub(crate) shown: String,
    /// The file; relative to the current directory unless it was given as an absolute path.
    pub(crate) path: PathBuf,
    /// Whether it was named by an id.
    pub(crate) is_id: bool,
}

impl Target {
    /// The database that `argument` names for a command that uses an existing one.
    pub(crate) fn existing(argument: &OsStr) -> Result<Self, Failure> {
        if is_path(argument) {
            return Ok(Self::path(argument));
        }
        let of_id = Self::id(argument);
        if of_id.as_ref().is_ok_and(|target| target.path.exists()) || !Path::new(argument).is_file() {
            return of_id;
        }
        Ok(Self::path(argument))
    }

    /// The database that `argument` names for a command that makes one: never a bare file name.
    pub(crate) fn new(argument: &OsStr) -> Result<Self, Failure> {
        if is_path(argument) { Ok(Self::path(argument)) } else { Self::id(argument) }
    }

    /// The database of an id.
    pub(crate) fn id(argument: &OsStr) -> Result<Self, Failure> {
        let valid = argument.to_str().filter(|id| is_valid_id(id)).ok_or_else(|| {
            Failure::usage(format!(
                "{:?} is not a valid id: 1 to {MAX_ID_BYTES} of A-Z a-z 0-9 _ . - not beginning with '.' or '-'; \
                 write a path with a '/' to name a file",
                argument.to_string_lossy()
            ))
        })?;
        let path = Path::new(DIRECTORY).join(format!("{valid}.db"));
        Ok(Self { shown: valid.to_owned(), path, is_id: true })
    }

    fn path(argument: &OsStr) -> Self {
        Self { shown: argument.to_string_lossy().into_owned(), path: argument.into(), is_id: false }
    }
}

fn is_path(argument: &OsStr) -> bool {
    let bytes = argument.as_bytes();
    bytes.contains(&b'/') || bytes.ends_with(b".db")
}

fn is_valid_id(id: &str) -> bool {
    (1..=MAX_ID_BYTES).contains(&id.len())
        && !id.starts_with(['.', '-'])
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

const ADJECTIVES: [&str; 32] = [
    "amber", "bold", "brisk", "calm", "clear", "coral", "crisp", "dusky", "eager", "fair", "fleet", "gentle",
    "glad", "golden", "grand", "hazel", "keen", "kind", "lively", "lucid", "mellow", "merry", "misty",
    "noble", "quick", "quiet", "rapid", "silver", "steady", "sunny", "vivid", "warm",
];
const NOUNS: [&str; 32] = [
    "badger", "beacon", "birch", "brook", "canyon", "cedar", "comet", "condor", "delta", "ember", "falcon",
    "fjord", "forest", "garden", "harbor", "heron", "island", "lantern", "lynx", "maple", "meadow", "orchid",
    "otter", "pebble", "pine", "prairie", "raven", "river", "sparrow", "summit", "tundra", "willow",
];

/// A new id that is easy to read aloud, as in `calm-otter-3fa9`, and that no database here has.
pub(crate) fn generate() -> Result<OsString, Failure> {
    loop {
        let mut random = [0_u8; 4];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| Failure::host("get random bytes from", "the kernel", error))?;
        let [adjective, noun, high, low] = random;
        let id = format!(
            "{}-{}-{high:02x}{low:02x}",
            ADJECTIVES[usize::from(adjective) % ADJECTIVES.len()],
            NOUNS[usize::from(noun) % NOUNS.len()],
        );
        if !Path::new(DIRECTORY).join(format!("{id}.db")).exists() {
            return Ok(id.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: CLI-7
    #[test]
    fn ids_are_short_plain_words() {
        for id in ["a", "my-agent", "A.b_c-9", &"x".repeat(64)] {
            assert!(is_valid_id(id), "{id}");
        }
        for id in ["", ".", "..", ".hidden", "-rf", "a b", "caf\u{e9}", "a\0", &"x".repeat(65)] {
            assert!(!is_valid_id(id), "{id}");
        }
    }

    // spec: CLI-6
    #[test]
    fn a_slash_or_the_ending_makes_a_path() {
        assert_eq!(Target::new(OsStr::new("x")).unwrap().path, Path::new(".agentfs/x.db"));
        assert_eq!(Target::new(OsStr::new("./x")).unwrap().path, Path::new("./x"));
        assert_eq!(Target::new(OsStr::new("x.db")).unwrap().path, Path::new("x.db"));
    }
}
