//! `agentfs fs tree`: a directory with everything below it, drawn.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use serde_json::{Map, Value};

use super::files::{Tree, split};
use super::show::{self, kind_name};
use super::{Database, Purpose};
use crate::cli::exit::Failure;
use crate::cli::output::{Output, put_bytes};
use crate::error::{Errno, Error};
use crate::vfs::paths::WalkEntry;

/// Draw a directory with everything below it
#[derive(Args)]
pub(super) struct ShowTree {
    #[command(flatten)]
    database: Database,
    /// Where to begin
    #[arg(default_value = "/")]
    path: OsString,
    /// How many levels to show
    #[arg(short = 'L', long, value_name = "LEVELS", default_value_t = usize::MAX, hide_default_value = true)]
    depth: usize,
}

impl ShowTree {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        self.database.with(Purpose::Read, |tree| {
            let entries = self.collect(tree)?;
            if output.is_json() {
                let objects: Result<Vec<Value>, Failure> =
                    entries.iter().map(|entry| to_json(tree, entry)).collect();
                return output.json(&objects?);
            }
            draw(tree, &entries, output)
        })
    }

    /// Everything to show, each directory before what is in it. A list, since a tree can be deeper than any stack.
    fn collect(&self, tree: &Tree<'_>) -> Result<Vec<WalkEntry>, Failure> {
        let path = self.path.as_bytes();
        if !tree.paths.stat(path)?.mode.is_directory() {
            return Err(Error::from(Errno::ENOTDIR).at_path(path).into());
        }
        let mut entries = Vec::new();
        let mut walk = tree.paths.walk(path)?;
        while let Some(entry) = walk.next() {
            let entry = entry?;
            if entry.depth >= self.depth {
                walk.skip_directory();
            }
            entries.push(entry);
        }
        Ok(entries)
    }
}

fn draw(tree: &Tree<'_>, entries: &[WalkEntry], output: &mut Output) -> Result<(), Failure> {
    let (mut directories, mut others) = (0_u64, 0_u64);
    // Of each level above, whether more entries follow there.
    let mut open: Vec<bool> = Vec::new();
    for (entry, is_last) in entries.iter().zip(last_ones(entries)) {
        let mut line = Vec::new();
        if let Some(above) = entry.depth.checked_sub(1) {
            open.truncate(above);
            open.iter()
                .for_each(|open| line.extend_from_slice(if *open { "│   " } else { "    " }.as_bytes()));
            line.extend_from_slice(if is_last { "└── " } else { "├── " }.as_bytes());
            open.push(!is_last);
            line.extend(output.name(split(&entry.path).1));
            if entry.attributes.mode.is_directory() { directories += 1 } else { others += 1 }
        } else {
            line.extend(output.name(&entry.path));
        }
        if let Some(target) = show::link_target(tree, &entry.attributes)? {
            line.extend_from_slice(b" -> ");
            line.extend(output.name(&target));
        }
        output.line(line)?;
    }
    let (directory, file) =
        (plural(directories, "directory", "directories"), plural(others, "file", "files"));
    output.line(format!("{directory}, {file}"))
}

/// Of each entry, whether no sibling follows it.
fn last_ones(entries: &[WalkEntry]) -> Vec<bool> {
    let mut followed: Vec<bool> = Vec::new();
    let mut last = Vec::with_capacity(entries.len());
    for entry in entries.iter().rev() {
        followed.resize(entry.depth + 1, false);
        last.push(!std::mem::replace(&mut followed[entry.depth], true));
    }
    last.reverse();
    last
}

fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn to_json(tree: &Tree<'_>, entry: &WalkEntry) -> Result<Value, Failure> {
    let mut object = Map::new();
    put_bytes(&mut object, "path", &entry.path);
    object.insert("depth".into(), entry.depth.into());
    object.insert("kind".into(), kind_name(entry.kind()).into());
    if let Some(target) = show::link_target(tree, &entry.attributes)? {
        put_bytes(&mut object, "target", &target);
    }
    Ok(object.into())
}
