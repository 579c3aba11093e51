//! Inodes by themselves, and the targets of symlinks: INT-20 to INT-26.
//!
//! 61440 (0o170000) is the mask of the type bits of a mode. The kinds: 4096 FIFO, 8192 character device, 16384
//! directory, 24576 block device, 32768 regular file, 40960 symlink, 49152 socket.

use super::Check;

pub(super) const CHECKS: &[Check] = &[
    Check {
        sql: IMPOSSIBLE_NUMBER,
        sentence: "inode {ino} has {why}, which no inode can have",
        ..Check::new("INT-20", "fs_inode", &["ino"])
    },
    Check {
        sql: UNKNOWN_KIND,
        sentence: "inode {ino} has mode {mode:o}, whose type bits are of no known kind",
        ..Check::new("INT-21", "fs_inode", &["ino"])
    },
    Check {
        sql: NANOSECONDS,
        sentence: "inode {ino} has {why}, where 0 to 999999999 is possible",
        ..Check::new("INT-22", "fs_inode", &["ino"])
    },
    Check {
        sql: NUMBER_OF_NO_DEVICE,
        sentence: "inode {ino} has rdev {rdev}, but mode {mode:o} and so is no device",
        ..Check::new("INT-23", "fs_inode", &["ino"])
    },
    Check {
        sql: NOT_AT_REST,
        sentence: "inode {ino} (mode {mode:o}) has {why}",
        ..Check::new("INT-24", "fs_inode", &["ino"])
    },
    Check {
        sql: WITHOUT_TARGET,
        sentence: "the symlink {ino} has {targets} targets",
        ..Check::new("INT-25", "fs_inode", &["ino"])
    },
    Check {
        sql: TARGET_OF_NO_SYMLINK,
        sentence: "there is a target, {target}, for inode {ino}, which has mode {mode:o} and so is no symlink",
        ..Check::new("INT-25", "fs_symlink", &["ino"])
    },
    Check {
        sql: NO_TARGET,
        sentence: "the symlink {ino} has the target {target}, which none can have",
        ..Check::new("INT-26", "fs_symlink", &["ino"])
    },
];

// All of these are one scan of the inodes or of the targets, with what belongs to them by primary key. SQLite knows
// lengths without reading the bytes.

const IMPOSSIBLE_NUMBER: &str = "SELECT ino, why FROM (SELECT ino, CASE
      WHEN ino < 1 THEN 'that number'
      WHEN typeof(mode) <> 'integer' OR mode NOT BETWEEN 0 AND 65535 THEN 'mode ' || quote(mode)
      WHEN typeof(nlink) <> 'integer' OR nlink NOT BETWEEN 0 AND 4294967295 THEN 'nlink ' || quote(nlink)
      WHEN typeof(uid) <> 'integer' OR uid NOT BETWEEN 0 AND 4294967295 THEN 'uid ' || quote(uid)
      WHEN typeof(gid) <> 'integer' OR gid NOT BETWEEN 0 AND 4294967295 THEN 'gid ' || quote(gid)
      WHEN typeof(size) <> 'integer' OR size < 0 THEN 'size ' || quote(size)
      WHEN typeof(rdev) <> 'integer' OR rdev NOT BETWEEN 0 AND 4294967295 THEN 'rdev ' || quote(rdev)
      WHEN typeof(atime) <> 'integer' THEN 'atime ' || quote(atime)
      WHEN typeof(mtime) <> 'integer' THEN 'mtime ' || quote(mtime)
      WHEN typeof(ctime) <> 'integer' THEN 'ctime ' || quote(ctime)
      WHEN typeof(storage_kind) <> 'integer' OR storage_kind NOT IN (0, 1)
        THEN 'storage_kind ' || quote(storage_kind)
    END AS why FROM fs_inode) WHERE why IS NOT NULL";

const UNKNOWN_KIND: &str = "SELECT ino, mode FROM fs_inode WHERE typeof(mode) = 'integer'
  AND mode BETWEEN 0 AND 65535
  AND (mode & 61440) NOT IN (4096, 8192, 16384, 24576, 32768, 40960, 49152)";

const NANOSECONDS: &str = "SELECT ino, why FROM (SELECT ino, CASE
      WHEN typeof(atime_nsec) <> 'integer' OR atime_nsec NOT BETWEEN 0 AND 999999999
        THEN 'atime_nsec ' || quote(atime_nsec)
      WHEN typeof(mtime_nsec) <> 'integer' OR mtime_nsec NOT BETWEEN 0 AND 999999999
        THEN 'mtime_nsec ' || quote(mtime_nsec)
      WHEN typeof(ctime_nsec) <> 'integer' OR ctime_nsec NOT BETWEEN 0 AND 999999999
        THEN 'ctime_nsec ' || quote(ctime_nsec)
    END AS why FROM fs_inode) WHERE why IS NOT NULL";

const NUMBER_OF_NO_DEVICE: &str = "SELECT ino, mode, rdev FROM fs_inode
  WHERE typeof(rdev) = 'integer' AND rdev BETWEEN 1 AND 4294967295 AND (mode & 61440) NOT IN (8192, 24576)";

const NOT_AT_REST: &str = "SELECT ino, mode, why FROM (SELECT ino, mode, CASE
      WHEN storage_kind = 1 THEN 'storage_kind 1, which is for regular files'
      WHEN data_inline IS NOT NULL THEN octet_length(data_inline) || ' bytes of inline data, which are for regular files'
      WHEN typeof(size) <> 'integer' OR size < 0 THEN NULL
      WHEN (mode & 61440) = 16384 AND size > 0 THEN 'size ' || size || ', where a directory has 0'
      WHEN (mode & 61440) = 40960 AND size <> target_length
        THEN 'size ' || size || ', where its target has ' || target_length || ' bytes'
    END AS why
  FROM (SELECT ino, mode, size, storage_kind, data_inline,
      CASE WHEN (mode & 61440) = 40960
        THEN (SELECT octet_length(target) FROM fs_symlink WHERE fs_symlink.ino = fs_inode.ino) END AS target_length
    FROM fs_inode
    WHERE (mode & 61440) IN (4096, 8192, 16384, 24576, 40960, 49152))) WHERE why IS NOT NULL";

const WITHOUT_TARGET: &str = "SELECT ino,
    (SELECT count(*) FROM fs_symlink WHERE fs_symlink.ino = fs_inode.ino) AS targets
  FROM fs_inode WHERE (mode & 61440) = 40960 AND targets <> 1";
const TARGET_OF_NO_SYMLINK: &str = "SELECT fs_symlink.ino, target, mode
  FROM fs_symlink CROSS JOIN fs_inode ON fs_inode.ino = fs_symlink.ino WHERE (mode & 61440) <> 40960";
const NO_TARGET: &str = "SELECT ino, target FROM fs_symlink WHERE typeof(target) <> 'text'
  OR octet_length(target) NOT BETWEEN 1 AND 4095 OR instr(CAST(target AS BLOB), x'00') > 0";
