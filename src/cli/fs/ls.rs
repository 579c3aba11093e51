//! `agentfs fs ls`: the entries of a directory.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::{ArgAction, Args};
use serde_json::Value;

use super::files::Tree;
use super::show::{self, mode_text, size_text};
use super::{Database, Purpose};
use crate::cli::exit::Failure;
use crate::cli::output::Output;
use crate::cli::time;
use crate::types::Attributes;
use crate::vfs::paths::Follow;

/// List a directory, every entry, in byte order
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(super) struct Ls {
    #[command(flatten)]
    database: Database,
    /// What to list
    #[arg(default_value = "/")]
    path: OsString,
    /// Mode, links, owner, group, size and change time too
    #[arg(short, long)]
    long: bool,
    /// Sizes in units of 1024
    #[arg(short = 'h', long)]
    human_readable: bool,
    /// The directory itself, not what is in it
    #[arg(short, long)]
    directory: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

impl Ls {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        self.database.with(Purpose::Read, |tree| {
            let path = self.path.as_bytes();
            let follow = if self.directory { Follow::No } else { Follow::Yes };
            let listed = *tree.paths.resolve(path, follow)?.attributes();
            let entries = if listed.mode.is_directory() && !self.directory {
                tree.paths.list(path)?.into_iter().map(|entry| (entry.name, entry.attributes)).collect()
            } else {
                vec![(path.to_vec(), listed)]
            };
            self.show(tree, &entries, output)
        })
    }

    fn show(
        &self,
        tree: &Tree<'_>,
        entries: &[(Vec<u8>, Attributes)],
        output: &mut Output,
    ) -> Result<(), Failure> {
        if output.is_json() {
            let objects: Result<Vec<Value>, Failure> = entries
                .iter()
                .map(|(name, attributes)| show::json(tree, "name", name, attributes).map(Value::Object))
                .collect();
            return output.json(&objects?);
        }
        if !self.long {
            return entries.iter().try_for_each(|(name, _)| output.line(output.name(name)));
        }
        let rows: Vec<[String; 5]> = entries
            .iter()
            .map(|(_, attributes)| {
                [
                    attributes.nlink.to_string(),
                    attributes.uid.0.to_string(),
                    attributes.gid.0.to_string(),
                    size_text(attributes.size, self.human_readable),
                    time::exact(attributes.mtime),
                ]
            })
            .collect();
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths = [0, 1, 2, 3, 4].map(width);
        for ((name, attributes), row) in entries.iter().zip(&rows) {
            let mut line = mode_text(attributes.mode);
            for (cell, width) in row.iter().zip(widths) {
                line.push_str(&format!("  {cell:>width$}"));
            }
            let mut line = line.into_bytes();
            line.extend_from_slice(b"  ");
            line.extend(output.name(name));
            if let Some(target) = show::link_target(tree, attributes)? {
                line.extend_from_slice(b" -> ");
                line.extend(output.name(&target));
            }
            output.line(line)?;
        }
        Ok(())
    }
}
