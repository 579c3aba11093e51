//! The kernel's list of mounts, `/proc/self/mountinfo`, as far as it concerns us.
//!
//! Reading it never touches a mounted file system, so a mount whose program has ended or hangs cannot
//! hold us up.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The file system type under which our mounts appear.
pub(super) const TYPE: &str = "fuse.agentfs";
const MOUNTINFO: &str = "/proc/self/mountinfo";

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Tells a mount from every other one that exists now.
    pub(super) id: u64,
    /// The minor number of its device: the number of its FUSE connection.
    pub(super) minor: u32,
    pub(super) mountpoint: PathBuf,
    pub(super) read_only: bool,
    pub(super) kind: String,
    pub(super) source: OsString,
}

/// All mounts that are ours, in the order in which they were made.
pub(super) fn ours() -> Result<Vec<Entry>> {
    let mut entries = all()?;
    entries.retain(|entry| entry.kind == TYPE);
    Ok(entries)
}

/// Whatever is mounted at `mountpoint`, one over the other: the last one is what is seen. An automounter's own mount,
/// which waits there for the real one, does not count.
pub(super) fn stack_at(mountpoint: &Path) -> Result<Vec<Entry>> {
    let mut entries = all()?;
    entries.retain(|entry| entry.mountpoint == mountpoint && entry.kind != "autofs");
    Ok(entries)
}

fn all() -> Result<Vec<Entry>> {
    let text = std::fs::read(MOUNTINFO).map_err(|error| Error::host("read", MOUNTINFO, error))?;
    Ok(text.split(|&byte| byte == b'\n').filter_map(parse).collect())
}

/// Our mount at `mountpoint`: the last one made there.
pub(super) fn at(mountpoint: &Path) -> Result<Option<Entry>> {
    Ok(ours()?.into_iter().rfind(|entry| entry.mountpoint == mountpoint))
}

/// `36 35 0:42 / /mnt rw,nosuid shared:1 - fuse.agentfs source rw,user_id=0`: the fields before the
/// hyphen vary in number.
fn parse(line: &[u8]) -> Option<Entry> {
    let mut fields = line.split(|&byte| byte == b' ');
    // Options can name paths, which are any bytes.
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let id = text(fields.next()?).parse().ok()?;
    let minor = text(fields.nth(1)?).split_once(':')?.1.parse().ok()?;
    let mountpoint = PathBuf::from(OsString::from_vec(unescape(fields.nth(1)?)));
    let options = text(fields.next()?);
    fields.find(|&field| field == b"-")?;
    let kind = text(fields.next()?);
    let source = OsString::from_vec(unescape(fields.next()?));
    let super_options = text(fields.next()?);
    let read_only =
        [options, super_options].iter().any(|options| options.split(',').any(|option| option == "ro"));
    Some(Entry { id, minor, mountpoint, read_only, kind, source })
}

/// Undoes the kernel's `\ooo` for blanks, newlines, backslashes and hashes.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after
            .get(..3)
            .filter(|digits| first == b'\\' && digits.iter().all(|digit| (b'0'..b'8').contains(digit)));
        match octal {
            Some(digits) => {
                plain.push(
                    digits.iter().fold(0_u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')),
                );
                rest = &after[3..];
            }
            None => {
                plain.push(first);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: MNT-36
    #[test]
    fn a_mount_with_blanks_and_backslashes_in_its_names_is_read() {
        let line = br"97 29 0:51 / /mnt/a\040b\134c rw,nosuid - fuse.agentfs /data/x\011y.db ro,user_id=0";
        let entry = parse(line).unwrap();
        assert_eq!((entry.id, entry.minor), (97, 51));
        assert_eq!(entry.mountpoint, Path::new("/mnt/a b\\c"));
        assert_eq!(entry.source, "/data/x\ty.db");
        assert!(entry.read_only);
    }

    // spec: MNT-36
    #[test]
    fn a_mount_whose_options_are_no_text_is_read_as_any_other() {
        let line = b"97 29 0:51 / /mnt rw - overlay overlay ro,lowerdir=/data/caf\xe9";
        assert!(parse(line).unwrap().read_only);
    }

    // spec: MNT-36
    #[test]
    fn optional_fields_before_the_hyphen_are_skipped() {
        let line = b"97 29 0:51 / /mnt rw shared:3 master:1 - ext4 /dev/vda rw";
        assert_eq!(parse(line).unwrap().kind, "ext4");
        assert_eq!(parse(b""), None);
    }
}
