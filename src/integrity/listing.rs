//! The whole tree as the tables have it: every path with its inode's row, target, extended attributes and stored bytes.
//!
//! Keeps INT-6. Read with plain SQL and none of the code that the file system reads with, for databases that are kept
//! as examples and for tests that hold the tables against what operations say. All of it is in memory at once. What a
//! hole is here: what no piece covers.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Row;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Map;

use crate::error::Result;
use crate::store::{Session, bytes};
use crate::types::text::put_bytes;

// By the index of parent and name.
const ENTRIES: &str = "SELECT name, ino FROM fs_dentry WHERE parent_ino = ? ORDER BY name, id";
// By primary key.
const INODE: &str =
    "SELECT mode, nlink, uid, gid, rdev, size, atime, atime_nsec, mtime, mtime_nsec, ctime, ctime_nsec,
  storage_kind, data_inline FROM fs_inode WHERE ino = ?";
const INODES: &str = "SELECT ino FROM fs_inode ORDER BY ino";
const TARGET: &str = "SELECT target FROM fs_symlink WHERE ino = ?";
const CHUNKS: &str = "SELECT chunk_index, data FROM fs_data WHERE ino = ? ORDER BY chunk_index";
const XATTRS: &str = "SELECT name, value FROM ext_xattr WHERE ino = ?";
const CHUNK_SIZE: &str = "SELECT CAST(value AS INTEGER) FROM fs_config WHERE key = 'chunk_size'";

/// The whole tree of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// Every path, the root's ("/") first, in the order of their bytes. A file with several names is there several
    /// times.
    pub entries: Vec<Entry>,
    /// The inodes that no path leads to, by number: those that wait to be removed, above all.
    pub unnamed: Vec<Inode>,
}

/// A path and what it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path from the root.
    pub path: Vec<u8>,
    /// The number that the entry has.
    pub ino: u64,
    /// The inode of that number; None when there is none.
    pub inode: Option<Inode>,
}

/// An inode at rest, as its rows have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inode {
    /// Its number.
    pub ino: u64,
    /// Kind and permissions, as `st_mode` has them.
    pub mode: u32,
    /// The stored count, which is not what stat shows of a directory.
    pub nlink: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The device number.
    pub rdev: u32,
    /// The stored size.
    pub size: u64,
    /// Seconds and nanoseconds.
    pub atime: (i64, i64),
    /// Seconds and nanoseconds.
    pub mtime: (i64, i64),
    /// Seconds and nanoseconds.
    pub ctime: (i64, i64),
    /// 0 for chunks, 1 for inline data.
    pub storage_kind: i64,
    /// Of a symlink, where it leads.
    pub target: Option<Vec<u8>>,
    /// The extended attributes by name.
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// What is stored of the content, in the order of offsets, nothing of it past the size.
    pub content: Vec<Piece>,
}

/// Stored bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where in the file they begin.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        serialize_bytes(&mut map, "path", &self.path)?;
        map.serialize_entry("ino", &self.ino)?;
        if let Some(inode) = &self.inode {
            inode.serialize_into(&mut map)?;
        }
        map.end()
    }
}

impl Serialize for Inode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("ino", &self.ino)?;
        self.serialize_into(&mut map)?;
        map.end()
    }
}

impl Inode {
    fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("mode", &self.mode)?;
        map.serialize_entry("nlink", &self.nlink)?;
        map.serialize_entry("uid", &self.uid)?;
        map.serialize_entry("gid", &self.gid)?;
        map.serialize_entry("rdev", &self.rdev)?;
        map.serialize_entry("size", &self.size)?;
        map.serialize_entry("atime", &self.atime)?;
        map.serialize_entry("mtime", &self.mtime)?;
        map.serialize_entry("ctime", &self.ctime)?;
        map.serialize_entry("storage_kind", &self.storage_kind)?;
        if let Some(target) = &self.target {
            serialize_bytes(map, "target", target)?;
        }
        let xattrs = self.xattrs.iter().map(|(name, value)| {
            let mut object = Map::new();
            put_bytes(&mut object, "name", name);
            put_bytes(&mut object, "value", value);
            object
        });
        map.serialize_entry("xattrs", &xattrs.collect::<Vec<_>>())?;
        let content = self.content.iter().map(|piece| {
            let mut object = Map::new();
            object.insert("offset".into(), piece.offset.into());
            put_bytes(&mut object, "data", &piece.bytes);
            object
        });
        map.serialize_entry("content", &content.collect::<Vec<_>>())
    }
}

/// In the form of CLI-4.
fn serialize_bytes<M: SerializeMap>(map: &mut M, key: &str, bytes: &[u8]) -> Result<(), M::Error> {
    let mut object = Map::new();
    put_bytes(&mut object, key, bytes);
    object.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))
}

/// Lists the tree.
pub(super) fn list(session: &Session<'_>) -> Result<Listing> {
    let tables = Tables {
        session,
        chunk_size: session.row(CHUNK_SIZE, [], |row| row.get(0))?.unwrap_or(0),
        xattrs: session.has_table("ext_xattr")?,
    };
    let mut entries = vec![Entry { path: b"/".to_vec(), ino: 1, inode: tables.inode(1)? }];
    let mut named = BTreeSet::from([1]);
    let mut directories = vec![(Vec::new(), 1)];
    while let Some((path, directory)) = directories.pop() {
        for (name, ino) in tables.entries(directory)? {
            let path = [&path[..], b"/", &name[..]].concat();
            let inode = tables.inode(ino)?;
            // A directory that is met a second time (damage) is not entered again.
            if named.insert(ino) && inode.as_ref().is_some_and(Inode::is_directory) {
                directories.push((path.clone(), ino));
            }
            entries.push(Entry { path, ino, inode });
        }
    }
    entries.sort_by(|one, other| (&one.path, one.ino).cmp(&(&other.path, other.ino)));
    let all = session.rows(INODES, [], |row| row.get::<_, u64>(0))?;
    let unnamed = all.into_iter().filter(|ino| !named.contains(ino));
    let unnamed = unnamed.filter_map(|ino| tables.inode(ino).transpose()).collect::<Result<_>>()?;
    Ok(Listing { entries, unnamed })
}

struct Tables<'a> {
    session: &'a Session<'a>,
    chunk_size: u64,
    xattrs: bool,
}

impl Tables<'_> {
    fn entries(&self, directory: u64) -> Result<Vec<(Vec<u8>, u64)>> {
        self.session.rows(ENTRIES, [directory], |row| Ok((bytes(row, 0)?.to_vec(), row.get(1)?)))
    }

    fn inode(&self, ino: u64) -> Result<Option<Inode>> {
        let Some(mut inode) = self.session.row(INODE, [ino], |row| Inode::of(ino, row))? else {
            return Ok(None);
        };
        inode.target = self.session.row(TARGET, [ino], |row| Ok(bytes(row, 0)?.to_vec()))?;
        if self.xattrs {
            let xattrs = self
                .session
                .rows(XATTRS, [ino], |row| Ok((bytes(row, 0)?.to_vec(), bytes(row, 1)?.to_vec())))?;
            inode.xattrs = xattrs.into_iter().collect();
        }
        let chunks = self.session.rows(CHUNKS, [ino], |row| {
            let index: i64 = row.get(0)?;
            let data = bytes(row, 1)?;
            let offset = u64::try_from(index).ok().and_then(|index| index.checked_mul(self.chunk_size));
            let length = data.len().min(usize::try_from(self.chunk_size).unwrap_or(usize::MAX));
            Ok(offset.map(|offset| (offset, data[..length].to_vec())))
        })?;
        for (offset, bytes) in chunks.into_iter().flatten() {
            inode.add_piece(offset, &bytes);
        }
        Ok(Some(inode))
    }
}

impl Inode {
    fn of(ino: u64, row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut inode = Self {
            ino,
            mode: row.get("mode")?,
            nlink: row.get("nlink")?,
            uid: row.get("uid")?,
            gid: row.get("gid")?,
            rdev: row.get("rdev")?,
            size: row.get("size")?,
            atime: (row.get("atime")?, row.get("atime_nsec")?),
            mtime: (row.get("mtime")?, row.get("mtime_nsec")?),
            ctime: (row.get("ctime")?, row.get("ctime_nsec")?),
            storage_kind: row.get("storage_kind")?,
            target: None,
            xattrs: BTreeMap::new(),
            content: Vec::new(),
        };
        if let Some(data) = row.get_ref("data_inline")?.as_bytes_or_null()? {
            inode.add_piece(0, data);
        }
        Ok(inode)
    }

    const fn is_directory(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }

    /// Adds stored bytes as far as they lie before the end.
    fn add_piece(&mut self, offset: u64, bytes: &[u8]) {
        let room = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let bytes = bytes[..bytes.len().min(room)].to_vec();
        if !bytes.is_empty() {
            self.content.push(Piece { offset, bytes });
        }
    }
}
