//! `agentfs fs stat`: the attributes of a file.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use serde_json::Value;

use super::show::{self, kind_name, mode_text};
use super::{Database, Purpose};
use crate::cli::exit::Failure;
use crate::cli::output::{Output, printable};
use crate::cli::time;
use crate::vfs::paths::Follow;

/// Show the attributes of a file
#[derive(Args)]
pub(super) struct Stat {
    #[command(flatten)]
    database: Database,
    /// The file; of a symlink, itself
    path: OsString,
    /// Of a symlink, what it leads to
    #[arg(short = 'L', long)]
    dereference: bool,
}

impl Stat {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        self.database.with(Purpose::Read, |tree| {
            let path = self.path.as_bytes();
            let follow = if self.dereference { Follow::Yes } else { Follow::No };
            let held = tree.paths.resolve(path, follow)?;
            let attributes = held.attributes();
            let object = show::json(tree, "path", path, attributes)?;
            if output.is_json() {
                return output.json(&Value::Object(object));
            }
            let row = |label: &str, value: String| vec![format!("{label}:"), value];
            let mut rows = vec![
                row("path", printable(path)),
                row("kind", kind_name(attributes.mode.kind()).into()),
                row("inode", attributes.ino.to_string()),
                row("mode", format!("{:04o} {}", attributes.mode.permissions(), mode_text(attributes.mode))),
                row("links", attributes.nlink.to_string()),
                row("owner", format!("{}:{}", attributes.uid.0, attributes.gid.0)),
                row("size", attributes.size.to_string()),
                row("blocks", attributes.blocks.to_string()),
                row("accessed", time::exact(attributes.atime)),
                row("modified", time::exact(attributes.mtime)),
                row("changed", time::exact(attributes.ctime)),
            ];
            if let Some(Value::String(device)) = object.get("device") {
                rows.push(row("device", device.clone()));
            }
            if let Some(target) = show::link_target(tree, attributes)? {
                rows.push(row("target", printable(&target)));
            }
            output.table(&rows)
        })
    }
}
