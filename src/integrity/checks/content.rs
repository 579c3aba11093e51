//! Where the bytes of files lie, and rows that belong to no inode: INT-27 to INT-30.
//!
//! 61440 (0o170000) is the mask of the type bits of a mode, 32768 (0o100000) a regular file.

use super::{Check, Needs};
use crate::integrity::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        sql: NOT_ALL_INLINE,
        sentence: "the inline file {ino} of size {size} has {why}",
        ..Check::new("INT-27", "fs_inode", &["ino"])
    },
    Check {
        severity: Severity::Note,
        needs: Needs::InlineThreshold,
        sql: LARGE_INLINE,
        sentence: "the inline file {ino} has {size} bytes, more than the inline threshold of {threshold}",
        ..Check::new("INT-27", "fs_inode", &["ino"])
    },
    Check {
        sql: CHUNKED_WITH_INLINE_DATA,
        sentence: "the file {ino} has storage_kind 0, for chunks, and {length} bytes of inline data",
        ..Check::new("INT-28", "fs_inode", &["ino"])
    },
    Check {
        needs: Needs::ChunkSize,
        sql: IMPOSSIBLE_CHUNK,
        sentence: "chunk {chunk_index} of inode {ino} {why}",
        ..Check::new("INT-29", "fs_data", &["ino", "chunk_index"])
    },
    Check {
        sql: CHUNKS_OF_NO_INODE,
        sentence: "inode {ino} does not exist; its chunks that are there: {rows}",
        ..Check::new("INT-30", "fs_data", &["ino"])
    },
    Check {
        sql: TARGET_OF_NO_INODE,
        sentence: "inode {ino} does not exist, but has a target: {target}",
        ..Check::new("INT-30", "fs_symlink", &["ino"])
    },
    Check {
        needs: Needs::Xattrs,
        sql: XATTRS_OF_NO_INODE,
        sentence: "inode {ino} does not exist; its extended attributes that are there: {rows}",
        ..Check::new("INT-30", "ext_xattr", &["ino"])
    },
];

// One scan of the inodes; SQLite knows lengths without reading the bytes. Chunks by the index of their primary key.
const NOT_ALL_INLINE: &str = "SELECT ino, size, why FROM (SELECT ino, size, CASE
      WHEN data_inline IS NULL THEN 'no inline data'
      WHEN octet_length(data_inline) <> size THEN octet_length(data_inline) || ' bytes of inline data'
      WHEN EXISTS (SELECT 1 FROM fs_data WHERE fs_data.ino = fs_inode.ino) THEN 'chunks as well'
    END AS why FROM fs_inode
    WHERE storage_kind = 1 AND (mode & 61440) = 32768 AND typeof(size) = 'integer' AND size >= 0)
  WHERE why IS NOT NULL";
const LARGE_INLINE: &str = "SELECT ino, size, threshold FROM fs_inode CROSS JOIN
    (SELECT CAST(value AS INTEGER) AS threshold FROM fs_config WHERE key = 'inline_threshold')
  WHERE storage_kind = 1 AND (mode & 61440) = 32768 AND typeof(size) = 'integer' AND size > threshold";
const CHUNKED_WITH_INLINE_DATA: &str = "SELECT ino, octet_length(data_inline) AS length FROM fs_inode
  WHERE storage_kind = 0 AND (mode & 61440) = 32768 AND data_inline IS NOT NULL";

// One scan of the chunks, whose bytes are not read, each inode by primary key. Of an inline file INT-27 reports them.
const IMPOSSIBLE_CHUNK: &str = "SELECT ino, chunk_index, why FROM (SELECT chunk.ino, chunk.chunk_index, CASE
      WHEN (inode.mode & 61440) <> 32768 THEN 'belongs to what is no regular file'
      WHEN typeof(chunk.chunk_index) <> 'integer' OR chunk.chunk_index < 0 THEN 'has no possible index'
      WHEN typeof(chunk.data) <> 'blob' THEN 'is no BLOB'
      WHEN octet_length(chunk.data) > chunk_size
        THEN 'has ' || octet_length(chunk.data) || ' bytes, more than the chunk size of ' || chunk_size
      WHEN typeof(inode.size) <> 'integer' OR inode.size < 0 THEN NULL
      WHEN inode.size = 0 OR chunk.chunk_index > (inode.size - 1) / chunk_size
        THEN 'begins past the end of the file, whose size is ' || inode.size
    END AS why
    FROM fs_data AS chunk CROSS JOIN fs_inode AS inode ON inode.ino = chunk.ino CROSS JOIN
      (SELECT CAST(value AS INTEGER) AS chunk_size FROM fs_config WHERE key = 'chunk_size')
    WHERE NOT (inode.storage_kind = 1 AND (inode.mode & 61440) = 32768))
  WHERE why IS NOT NULL";

// One scan of an index that begins with the inode, in its order, each inode by primary key.
const CHUNKS_OF_NO_INODE: &str = "SELECT ino, count(*) AS rows FROM fs_data GROUP BY ino
  HAVING NOT EXISTS (SELECT 1 FROM fs_inode WHERE fs_inode.ino = fs_data.ino)";
const TARGET_OF_NO_INODE: &str = "SELECT ino, target FROM fs_symlink
  WHERE NOT EXISTS (SELECT 1 FROM fs_inode WHERE fs_inode.ino = fs_symlink.ino)";
const XATTRS_OF_NO_INODE: &str = "SELECT ino, count(*) AS rows FROM ext_xattr GROUP BY ino
  HAVING NOT EXISTS (SELECT 1 FROM fs_inode WHERE fs_inode.ino = ext_xattr.ino)";
