//! `agentfs fs cp`: copies between the database and the host, and within the database.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::copy::{Copied, Copier, Sink, Source};
use super::files::Tree;
use super::host::{self, Host};
use super::inside::Inside;
use super::{Database, Purpose};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{Output, printable};
use crate::error::{Errno, Error};
use crate::types::Ino;
use crate::vfs::Vfs;
use crate::vfs::paths::{Follow, Reference};

/// Copy files and trees; ':' before a path says that it is inside the database
///
/// Directories are copied with everything below them. Modes, times, symlinks, hard links, holes and
/// extended attributes are kept, and owners when called by root. When the destination is a directory, sources are copied
/// into it; a source that ends in '/' or '/.' is copied onto it. Files that are there are replaced, directories
/// are merged.
#[derive(Args)]
#[command(after_help = "\
Examples:
  agentfs fs cp my-agent ./project :/          copy a tree in, as /project
  agentfs fs cp my-agent :/project/out ./      copy one out, as ./out
  agentfs fs cp my-agent ./project/. :/project copy what is in it")]
pub(super) struct Cp {
    #[command(flatten)]
    database: Database,
    /// What to copy: ./host or :/inside
    #[arg(required = true)]
    sources: Vec<OsString>,
    /// Where to: ./host or :/inside
    destination: OsString,
}

/// A side and a path on it.
#[derive(Clone, Copy)]
enum Side<'p> {
    Host(&'p [u8]),
    Inside(&'p [u8]),
}

impl<'p> Side<'p> {
    fn of(argument: &'p OsStr) -> Self {
        match argument.as_bytes() {
            [b':', path @ ..] => Self::Inside(path),
            path => Self::Host(path),
        }
    }
}

/// Where copies go: into a directory, onto it, or to a new name in one.
enum Destination<N> {
    Directory(N),
    Name(N, Vec<u8>),
}

impl Cp {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let to = Side::of(&self.destination);
        let from: Vec<Side<'_>> = self.sources.iter().map(|source| Side::of(source)).collect();
        let purpose = if matches!(to, Side::Inside(_)) { Purpose::Change } else { Purpose::Read };
        if purpose == Purpose::Read && from.iter().any(|side| matches!(side, Side::Host(_))) {
            return Err(Failure::usage(
                "neither side is inside the database; put ':' before the path that is",
            ));
        }
        let copied = self.database.with(purpose, |tree| match to {
            Side::Inside(path) => copy_in(tree, &from, path),
            Side::Host(path) => copy_out(tree, &from, path),
        })?;
        if output.is_json() { output.json(&json!(copied)) } else { Ok(()) }
    }
}

fn copy_in(tree: &Tree<'_>, from: &[Side<'_>], to: &[u8]) -> Result<Copied, Failure> {
    let inside = Inside::new(tree);
    let mut copied = Copied::default();
    for source in from {
        // Anew for each, as the first may make what the second goes into.
        let destination = match existing(tree.paths.resolve(to, Follow::Yes))? {
            Some(held) if held.attributes().mode.is_directory() => {
                Destination::Directory(inside.node(held, to))
            }
            _ => {
                let (parent, name) = tree.parent_of(to)?;
                Destination::Name(inside.node(parent, to), name.to_vec())
            }
        };
        demand_directory(&destination, from)?;
        copied.add(match source {
            Side::Host(path) => {
                let node = host::Node::new(OsStr::from_bytes(path));
                let host = Host::new(tree.fs.store().path())?.without(directories_above(tree, to)?);
                copy_one(&host, node, path, &inside, destination, to)?
            }
            Side::Inside(path) => {
                let held = tree.paths.resolve(path, Follow::No)?;
                refuse_own_subtree(tree, &held, path, to)?;
                copy_one(&inside, inside.node(held, path), path, &inside, destination, to)?
            }
        });
    }
    Ok(copied)
}

fn copy_out(tree: &Tree<'_>, from: &[Side<'_>], to: &[u8]) -> Result<Copied, Failure> {
    let inside = Inside::new(tree);
    let host = Host::new(tree.fs.store().path())?;
    let target = Path::new(OsStr::from_bytes(to));
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut copied = Copied::default();
    for source in from {
        let destination = if target.is_dir() {
            Destination::Directory(host::Node::new(target))
        } else {
            let name = target
                .file_name()
                .ok_or_else(|| Failure::host("create", target, rustix::io::Errno::NOENT))?;
            std::fs::metadata(parent).map_err(|error| Failure::host("copy to", parent, error))?;
            Destination::Name(host::Node::new(parent), name.as_bytes().to_vec())
        };
        demand_directory(&destination, from)?;
        let (Side::Inside(path) | Side::Host(path)) = source;
        let held = tree.paths.resolve(path, Follow::No)?;
        if held.attributes().mode.is_directory() && host.is_below(target, held.ino())? {
            return Err(into_itself(&format!(":{}", printable(path))));
        }
        let node = inside.node(held, path);
        copied.add(copy_one(&inside, node, path, &host, destination, to)?);
    }
    host.sync(if target.is_dir() { target } else { parent })?;
    Ok(copied)
}

fn copy_one<S: Source, T: Sink>(
    source: &S,
    node: S::Node,
    path: &[u8],
    sink: &T,
    destination: Destination<T::Node>,
    to: &[u8],
) -> Result<Copied, Failure> {
    let meta = source.meta(&node)?;
    if source.is_own(&meta) {
        return Err(into_itself(&source.describe(&node)));
    }
    let is_directory = meta.mode.is_directory();
    let mut copier = Copier::new(source, sink);
    // Not `split`: a slash at the end means what is in the directory.
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    match destination {
        Destination::Name(..) if !is_directory && to.ends_with(b"/") => {
            return Err(Failure::new(
                Exit::Missing,
                format!("{}: no such directory to copy into; make it first", printable(to)),
            ));
        }
        Destination::Name(parent, name) => copier.copy(node, &parent, &name)?,
        Destination::Directory(there) if is_directory && matches!(name, b"" | b"." | b"..") => {
            copier.fill(node, there)?;
        }
        Destination::Directory(there) => copier.copy(node, &there, name)?,
    }
    Ok(copier.finish())
}

fn existing<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Err(error) if error.errno() == Errno::ENOENT => Ok(None),
        found => found.map(Some),
    }
}

fn demand_directory<N>(destination: &Destination<N>, from: &[Side<'_>]) -> Result<(), Failure> {
    if from.len() > 1 && matches!(destination, Destination::Name(..)) {
        return Err(Failure::usage("several sources can only be copied into a directory that exists"));
    }
    Ok(())
}

/// A copy into itself would find its own results and never end (PATH-12).
fn refuse_own_subtree(
    tree: &Tree<'_>,
    source: &Reference<'_>,
    from: &[u8],
    to: &[u8],
) -> Result<(), Failure> {
    if source.attributes().mode.is_directory() && directories_above(tree, to)?.contains(&source.ino()) {
        return Err(into_itself(&format!(":{}", printable(from))));
    }
    Ok(())
}

fn into_itself(source: &str) -> Failure {
    Failure::new(Exit::Refused, format!("{source}: cannot be copied into itself; choose another destination"))
}

/// The directories that a copy to `to` goes into, up to the root.
fn directories_above(tree: &Tree<'_>, to: &[u8]) -> Result<Vec<Ino>, Failure> {
    let mut at = match existing(tree.paths.resolve(to, Follow::Yes))? {
        Some(held) if held.attributes().mode.is_directory() => held.ino(),
        _ => tree.parent_of(to)?.0.ino(),
    };
    let mut above = vec![at];
    while at != Ino::ROOT {
        at = tree.fs.parent(at)?;
        above.push(at);
    }
    Ok(above)
}
