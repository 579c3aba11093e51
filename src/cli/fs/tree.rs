//! `agentfs fs tree`: a directory with everything below it, drawn.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use serde_json::{Map, Value};

use super::show::{self, kind_name};
use super::walk::{Held, Last, Tree};
use super::{Database, Purpose};
use crate::cli::exit::Failure;
use crate::cli::output::{Output, put_bytes};
use crate::types::FileKind;

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

/// What there is below.
#[derive(Default)]
struct Count {
    directories: u64,
    others: u64,
}

impl ShowTree {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        self.database.with(Purpose::Read, |tree| {
            let path = self.path.as_bytes();
            let top = tree.resolve(path, Last::Follow)?;
            if output.is_json() {
                return output.json(&to_json(tree, path, &top, self.depth)?);
            }
            let mut count = Count::default();
            output.line(output.name(path))?;
            draw(tree, &top, "", self.depth, &mut count, output)?;
            let plural = |number: u64, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
            output.line(format!(
                "{}, {}",
                plural(count.directories, "directory", "directories"),
                plural(count.others, "file", "files")
            ))
        })
    }
}

fn draw(
    tree: &Tree<'_>,
    held: &Held<'_>,
    margin: &str,
    depth: usize,
    count: &mut Count,
    output: &mut Output,
) -> Result<(), Failure> {
    if depth == 0 || !held.is_directory() {
        return Ok(());
    }
    let mut children = tree.children(held.ino())?.into_iter().peekable();
    while let Some((name, child)) = children.next() {
        let (branch, below) = if children.peek().is_some() { ("├── ", "│   ") } else { ("└── ", "    ") };
        let mut line = format!("{margin}{branch}").into_bytes();
        line.extend(output.name(&name));
        if let Some(target) = show::link_target(tree, &child)? {
            line.extend_from_slice(b" -> ");
            line.extend(output.name(&target));
        }
        output.line(line)?;
        match child.kind() {
            FileKind::Directory => count.directories += 1,
            _ => count.others += 1,
        }
        draw(tree, &child, &format!("{margin}{below}"), depth - 1, count, output)?;
    }
    Ok(())
}

fn to_json(tree: &Tree<'_>, name: &[u8], held: &Held<'_>, depth: usize) -> Result<Value, Failure> {
    let mut object = Map::new();
    put_bytes(&mut object, "name", name);
    object.insert("kind".into(), kind_name(held.kind()).into());
    if let Some(target) = show::link_target(tree, held)? {
        put_bytes(&mut object, "target", &target);
    }
    if held.is_directory() && depth > 0 {
        let children: Result<Vec<Value>, Failure> = tree
            .children(held.ino())?
            .iter()
            .map(|(name, child)| to_json(tree, name, child, depth - 1))
            .collect();
        object.insert("children".into(), children?.into());
    }
    Ok(object.into())
}
