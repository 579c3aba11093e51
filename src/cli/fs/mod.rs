//! `agentfs fs`: files of a database without a mount. Keeps CLI-13.
//!
//! Paths inside are absolute, with or without the '/' in front. Commands read as `agentfs fs VERB ID [PATH]`.

mod cat;
mod chmod;
mod copy;
mod cp;
mod files;
mod find;
mod host;
mod inside;
mod ln;
mod ls;
mod mkdir;
mod mv;
mod rm;
mod show;
mod stat;
mod tree;
mod write;

use std::ffi::OsString;

use clap::{Args, Subcommand};

use super::database::{self, Purpose};
use super::exit::Failure;
use super::output::Output;
use super::target::Target;
use files::Tree;

/// Work with the files of a database, mounted or not
#[derive(Args)]
#[command(after_help = "\
JSON of ls: [{name, ino, kind, mode, nlink, uid, gid, size, blocks, atime, mtime, ctime}], with target of a symlink and
  device of a device; of find the same with path in the place of name; of stat one such object.
JSON of tree: [{path, depth, kind, target}], each directory before what is in it; of cat: [{path, size, content}];
  of cp: {files, directories, symlinks, others, bytes}.
A name, path, target or content that is not UTF-8 has U+FFFD where it is not, and is exact in hexadecimal under the same
  key with _bytes appended.")]
pub(crate) struct Fs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Ls(ls::Ls),
    Tree(tree::ShowTree),
    Cat(cat::Cat),
    Write(write::Write),
    Cp(cp::Cp),
    Mv(mv::Mv),
    Rm(rm::Rm),
    Mkdir(mkdir::Mkdir),
    Ln(ln::Ln),
    Stat(stat::Stat),
    Chmod(chmod::Chmod),
    Find(find::Find),
}

impl Fs {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self.command {
            Command::Ls(command) => command.run(output),
            Command::Tree(command) => command.run(output),
            Command::Cat(command) => command.run(output),
            Command::Write(command) => command.run(output),
            Command::Cp(command) => command.run(output),
            Command::Mv(command) => command.run(output),
            Command::Rm(command) => command.run(output),
            Command::Mkdir(command) => command.run(output),
            Command::Ln(command) => command.run(output),
            Command::Stat(command) => command.run(output),
            Command::Chmod(command) => command.run(output),
            Command::Find(command) => command.run(output),
        }
    }
}

/// The database that a command works on.
#[derive(Args)]
struct Database {
    /// Id or path of the database
    #[arg(value_name = "ID|PATH")]
    target: OsString,
}

impl Database {
    /// Runs `work` on the tree of files, then closes the database.
    fn with<T>(
        &self,
        purpose: Purpose,
        work: impl FnOnce(&Tree<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let target = Target::existing(&self.target)?;
        database::with(&target, purpose, |fs| work(&Tree::new(fs)))
    }
}

/// The permission bits of an octal number, as in `0755`.
fn octal(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|bits| *bits <= 0o7777)
        .ok_or_else(|| "not an octal mode from 0 to 7777".to_owned())
}
