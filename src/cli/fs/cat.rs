//! `agentfs fs cat`: the bytes of files.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use serde_json::{Map, Value};

use super::files::Tree;
use super::{Database, Purpose};
use crate::cli::exit::Failure;
use crate::cli::output::{Output, put_bytes};
use crate::error::{Errno, Error};
use crate::vfs::paths::Follow;
use crate::vfs::{OpenFlags, Vfs};

/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;

/// Print files as they are
#[derive(Args)]
pub(super) struct Cat {
    #[command(flatten)]
    database: Database,
    /// The files
    #[arg(required = true)]
    paths: Vec<OsString>,
}

impl Cat {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        self.database.with(Purpose::Read, |tree| {
            let mut objects = Vec::new();
            for path in &self.paths {
                let path = path.as_bytes();
                if output.is_json() {
                    let mut content = Vec::new();
                    read(tree, path, |piece| {
                        content.extend_from_slice(piece);
                        Ok(())
                    })?;
                    let mut object = Map::new();
                    put_bytes(&mut object, "path", path);
                    object.insert("size".into(), content.len().into());
                    put_bytes(&mut object, "content", &content);
                    objects.push(Value::Object(object));
                } else {
                    read(tree, path, |piece| output.bytes(piece))?;
                }
            }
            if output.is_json() { output.json(&objects) } else { Ok(()) }
        })
    }
}

fn read(
    tree: &Tree<'_>,
    path: &[u8],
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let file = tree.paths.resolve(path, Follow::Yes)?;
    if file.attributes().mode.is_directory() {
        return Err(Error::from(Errno::EISDIR).at_path(path).into());
    }
    tree.fs.open(&tree.caller, file.ino(), OpenFlags::READ).map_err(|error| error.at_path(path))?;
    let mut offset = 0;
    loop {
        let piece = tree.fs.read(file.ino(), offset, PIECE).map_err(|error| error.at_path(path))?;
        if piece.is_empty() {
            return Ok(());
        }
        offset += piece.len() as u64;
        take(&piece)?;
    }
}
