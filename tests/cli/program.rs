//! Runs the program in a folder of its own, and writes down what it said.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// An ordinary user, whom permission bits bind also when the tests run as root.
pub const NOBODY: u32 = 65534;

/// The program under test.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentfs"));
    command.env_remove("AGENTFS_LOG").env_remove("COLUMNS").stdin(Stdio::null());
    command
}

/// What a run of the program came to.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Outcome {
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The answer of a run that must have succeeded without a word on standard error.
    #[track_caller]
    pub fn answer(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""));
        String::from_utf8(self.stdout).unwrap()
    }

    /// The answer as JSON.
    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.answer()).unwrap()
    }
}

/// A folder in which commands run.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Ordinary users get in as well.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    /// With the database `demo`.
    pub fn with_demo() -> Self {
        let place = Self::new();
        place.run(["init", "demo"]).answer();
        place
    }

    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = program();
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Outcome {
        Outcome::of(&mut self.command(arguments))
    }

    /// Runs as an ordinary user.
    pub fn run_as_nobody<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Outcome {
        if !rustix::process::geteuid().is_root() {
            return self.run(arguments);
        }
        // The build may lie in a folder that only its owner may enter: they get it elsewhere. A link where it can be,
        // since a copy cannot run while a child of another test still holds it open for writing.
        let open = tempfile::tempdir().unwrap();
        std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let copy = open.path().join("agentfs");
        let built = env!("CARGO_BIN_EXE_agentfs");
        std::fs::hard_link(built, &copy).or_else(|_| std::fs::copy(built, &copy).map(|_| ())).unwrap();
        let plain = self.command(arguments);
        let mut command = Command::new(copy);
        command.args(plain.get_args()).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_remove("AGENTFS_LOG").env_remove("COLUMNS").uid(NOBODY).gid(NOBODY);
        Outcome::of(&mut command)
    }

    /// Runs with bytes on standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Outcome {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        Outcome {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Every file in the folder with its content.
    pub fn contents(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        fn collect(directory: &Path, found: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let metadata = std::fs::symlink_metadata(&path).unwrap();
                if metadata.is_dir() {
                    found.insert(path.clone(), None);
                    collect(&path, found);
                } else if metadata.is_file() {
                    found.insert(path.clone(), Some(std::fs::read(&path).unwrap()));
                } else {
                    found.insert(path, None);
                }
            }
        }
        let mut found = BTreeMap::new();
        collect(self.folder.path(), &mut found);
        found
    }

    /// Runs commands as in a shell, and returns what a person would have seen.
    pub fn session(&self, commands: &[&str]) -> String {
        let mut seen = String::new();
        for command in commands {
            let outcome = self.run(words(command));
            seen.push_str(&format!("$ agentfs {command}\n"));
            seen.push_str(&String::from_utf8_lossy(&outcome.stdout));
            seen.push_str(&outcome.stderr);
            if outcome.code != 0 {
                seen.push_str(&format!("[exit {}]\n", outcome.code));
            }
        }
        seen.replace(&self.folder.path().to_string_lossy().into_owned(), "[folder]")
    }
}

/// Splits at blanks; single quotes keep them.
fn words(line: &str) -> Vec<OsString> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words.into_iter().map(OsString::from).collect()
}

/// Compares what was seen with the snapshot of this name, times left out.
#[macro_export]
macro_rules! shows {
    ($name:literal, $seen:expr) => {
        insta::with_settings!({ filters => vec![
            // As wide as it has digits: the blanks beside it do not count.
            (r" {2,}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "  [time]"),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z {2,}", "[time]  "),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[time]"),
            // Who owns the files: whoever runs the tests.
            (r#""uid":\d+"#, r#""uid":"[uid]""#),
            (r#""gid":\d+"#, r#""gid":"[gid]""#),
            (r"owner: +\d+:\d+", "owner:     [uid]:[gid]"),
            (r"(?m)^([-dlpcbs][-rwxsStT]{9} +\d+) +\d+ +\d+ ", "$1  [uid]  [gid] "),
            // How many blocks a file has is for other tests.
            (r"blocks: +\d+", "blocks:    [blocks]"),
            (r#""blocks":\d+"#, r#""blocks":"[blocks]""#),
            (r"process \d+ on \S+", "process [pid] on [host]"),
            (r#""pid":\d+"#, r#""pid":"[pid]""#),
            (r"file size: +[\d.]+", "file size:         [bytes]"),
            (r#""file_size":\d+"#, r#""file_size":"[bytes]""#),
        ], omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!($name, $seen);
        });
    };
}
