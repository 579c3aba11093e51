//! How an inode looks: its line in a long listing, and its JSON object.

use indicatif::HumanBytes;
use serde_json::{Map, Value};

use super::files::Tree;
use crate::cli::exit::Failure;
use crate::cli::output::put_bytes;
use crate::cli::time;
use crate::types::{Attributes, FileKind, Mode};
use crate::vfs::Vfs;

/// The word for a kind in JSON and in `stat`.
pub(super) const fn kind_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Regular => "file",
        FileKind::Directory => "directory",
        FileKind::Symlink => "symlink",
        FileKind::Fifo => "fifo",
        FileKind::CharacterDevice => "character-device",
        FileKind::BlockDevice => "block-device",
        FileKind::Socket => "socket",
    }
}

/// A mode as in `drwxr-xr-x`.
pub(super) fn mode_text(mode: Mode) -> String {
    let kind = match mode.kind() {
        FileKind::Regular => '-',
        FileKind::Directory => 'd',
        FileKind::Symlink => 'l',
        FileKind::Fifo => 'p',
        FileKind::CharacterDevice => 'c',
        FileKind::BlockDevice => 'b',
        FileKind::Socket => 's',
    };
    let bits = mode.permissions();
    let mut text = String::from(kind);
    for (shift, special, set, unset) in
        [(6, Mode::SET_UID, 's', 'S'), (3, Mode::SET_GID, 's', 'S'), (0, Mode::STICKY, 't', 'T')]
    {
        let has = |bit: u32| bits & (bit << shift) != 0;
        text.push(if has(4) { 'r' } else { '-' });
        text.push(if has(2) { 'w' } else { '-' });
        text.push(match (bits & special != 0, has(1)) {
            (false, false) => '-',
            (false, true) => 'x',
            (true, true) => set,
            (true, false) => unset,
        });
    }
    text
}

/// Bytes, or a size in units of 1024.
pub(super) fn size_text(bytes: u64, human: bool) -> String {
    if human { HumanBytes(bytes).to_string() } else { bytes.to_string() }
}

/// The target of a symlink; None of anything else.
pub(super) fn link_target(tree: &Tree<'_>, attributes: &Attributes) -> Result<Option<Vec<u8>>, Failure> {
    if !attributes.mode.is_symlink() {
        return Ok(None);
    }
    Ok(Some(tree.fs.readlink(attributes.ino)?))
}

/// The JSON object of an inode, `key` ("name" or "path") saying what it was found under.
pub(super) fn json(
    tree: &Tree<'_>,
    key: &str,
    name: &[u8],
    attributes: &Attributes,
) -> Result<Map<String, Value>, Failure> {
    let kind = attributes.mode.kind();
    let mut object = Map::new();
    put_bytes(&mut object, key, name);
    let fields: [(&str, Value); 11] = [
        ("ino", attributes.ino.0.into()),
        ("kind", kind_name(kind).into()),
        ("mode", format!("{:04o}", attributes.mode.permissions()).into()),
        ("nlink", attributes.nlink.into()),
        ("uid", attributes.uid.0.into()),
        ("gid", attributes.gid.0.into()),
        ("size", attributes.size.into()),
        ("blocks", attributes.blocks.into()),
        ("atime", time::exact(attributes.atime).into()),
        ("mtime", time::exact(attributes.mtime).into()),
        ("ctime", time::exact(attributes.ctime).into()),
    ];
    object.extend(fields.map(|(name, value)| (name.to_owned(), value)));
    if matches!(kind, FileKind::CharacterDevice | FileKind::BlockDevice) {
        let device = u64::from(attributes.rdev.0);
        let numbers = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
        object.insert("device".into(), numbers.into());
    }
    if let Some(target) = link_target(tree, attributes)? {
        put_bytes(&mut object, "target", &target);
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: CLI-3
    #[test]
    fn modes_read_as_in_ls() {
        for (bits, text) in [
            (0o100_644, "-rw-r--r--"),
            (0o040_755, "drwxr-xr-x"),
            (0o041_777, "drwxrwxrwt"),
            (0o041_776, "drwxrwxrwT"),
            (0o104_755, "-rwsr-xr-x"),
            (0o102_644, "-rw-r-Sr--"),
            (0o120_777, "lrwxrwxrwx"),
        ] {
            assert_eq!(Mode::from_bits(bits).map(mode_text).as_deref(), Some(text));
        }
    }
}
