//! Entries and the tree that they make: INT-10 to INT-19.
//!
//! 61440 (0o170000) is the mask of the type bits of a mode, 16384 (0o040000) a directory.

use super::{Check, Needs, has_text_that_is_not_utf8};
use crate::integrity::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        sql: NO_ROOT,
        sentence: "inode {ino}, the root, {why}",
        ..Check::new("INT-10", "fs_inode", &["ino"])
    },
    Check {
        sql: ROOT_HAS_A_NAME,
        sentence: "the entry {name} of directory {parent_ino} names the root",
        ..Check::new("INT-10", "fs_dentry", &["id"])
    },
    Check {
        sql: NAMES_NOTHING,
        sentence: "the entry {name} of directory {parent_ino} names inode {ino}, which does not exist",
        ..Check::new("INT-11", "fs_dentry", &["id"])
    },
    Check {
        sql: LIES_NOWHERE,
        sentence: "the entry {name} lies in inode {parent_ino}, which {why}",
        ..Check::new("INT-12", "fs_dentry", &["id"])
    },
    Check {
        sql: SAME_NAME,
        sentence: "directory {parent_ino} has {entries} entries of the name {name}; this is the last of them",
        ..Check::new("INT-13", "fs_dentry", &["id"])
    },
    Check {
        sql: DIRECTORY_WITH_SEVERAL_NAMES,
        sentence: "directory {ino} has {entries} entries, where one is all that a directory can have",
        ..Check::new("INT-14", "fs_inode", &["ino"])
    },
    Check {
        sql: DIRECTORY_BELOW_ITSELF,
        sentence: "directory {ino} lies below itself, or below a directory that does",
        ..Check::new("INT-14", "fs_inode", &["ino"])
    },
    Check {
        sql: WITHOUT_NAME,
        sentence: "no entry names inode {ino} (mode {mode:o}), whose nlink is {nlink}{why}",
        ..Check::new("INT-15", "fs_inode", &["ino"])
    },
    Check {
        severity: Severity::Note,
        needs: Needs::Orphans,
        sql: PENDING_AND_NOT_LISTED,
        sentence: "inode {ino} waits to be removed, but ext_orphan does not list it, so no mount will remove it",
        ..Check::new("INT-16", "fs_inode", &["ino"])
    },
    Check {
        severity: Severity::Pending,
        needs: Needs::Orphans,
        sql: LISTED_AND_NOT_PENDING,
        sentence: "inode {ino} is listed as one to be removed, but {why}; the next mount drops it from the list",
        ..Check::new("INT-16", "ext_orphan", &["ino"])
    },
    Check {
        sql: LINK_COUNT,
        sentence: "inode {ino} has nlink {nlink}, where {names} is due{why}",
        ..Check::new("INT-17", "fs_inode", &["ino"])
    },
    Check {
        sql: NO_NAME,
        sentence: "the entry {name} of directory {parent_ino} has a name that none can have",
        ..Check::new("INT-18", "fs_dentry", &["id"])
    },
    Check {
        severity: Severity::Note,
        sql: NAME_NOT_ASCII,
        sentence: "the entry {name} of directory {parent_ino} has a name that is not UTF-8, which some programs \
                   cannot read",
        decide: Some(has_text_that_is_not_utf8),
        ..Check::new("INT-19", "fs_dentry", &["id"])
    },
    Check {
        severity: Severity::Note,
        sql: TARGET_NOT_ASCII,
        sentence: "the symlink {ino} has the target {target}, which is not UTF-8, and which some programs cannot read",
        decide: Some(has_text_that_is_not_utf8),
        ..Check::new("INT-19", "fs_symlink", &["ino"])
    },
];

// By primary key.
const NO_ROOT: &str = "SELECT 1 AS ino,
    CASE WHEN root.ino IS NULL THEN 'does not exist' ELSE 'is no directory: its mode is ' || quote(root.mode) END AS why
  FROM (SELECT 1) LEFT JOIN fs_inode AS root ON root.ino = 1
  WHERE root.ino IS NULL OR (root.mode & 61440) <> 16384";

// One scan of the entries; they have no index by inode.
const ROOT_HAS_A_NAME: &str = "SELECT id, name, parent_ino FROM fs_dentry WHERE ino = 1";

// One scan of the entries, each inode by primary key.
const NAMES_NOTHING: &str = "SELECT entry.id, entry.name, entry.parent_ino, entry.ino FROM fs_dentry AS entry
  WHERE NOT EXISTS (SELECT 1 FROM fs_inode WHERE fs_inode.ino = entry.ino)";
const LIES_NOWHERE: &str = "SELECT entry.id, entry.name, entry.parent_ino,
    CASE WHEN parent.ino IS NULL THEN 'does not exist' ELSE 'is no directory' END AS why
  FROM fs_dentry AS entry LEFT JOIN fs_inode AS parent ON parent.ino = entry.parent_ino
  WHERE parent.ino IS NULL OR (parent.mode & 61440) <> 16384";

// One scan of the index by parent and name, in its order.
const SAME_NAME: &str = "SELECT max(id) AS id, parent_ino, name, count(*) AS entries FROM fs_dentry
  GROUP BY parent_ino, name HAVING count(*) > 1";

// One scan of the entries, then a sort of those that name directories.
const DIRECTORY_WITH_SEVERAL_NAMES: &str = "SELECT entry.ino, count(*) AS entries
  FROM fs_dentry AS entry CROSS JOIN fs_inode AS inode ON inode.ino = entry.ino
  WHERE (inode.mode & 61440) = 16384 AND inode.ino <> 1
  GROUP BY entry.ino HAVING count(*) > 1";

// Down from the root, and from every directory that has no entry in another: those are for INT-12 and INT-15, and what
// lies below them is not their fault. Whatever is not reached so hangs on a circle.
const DIRECTORY_BELOW_ITSELF: &str = "WITH RECURSIVE
  placed(ino) AS (
    SELECT inode.ino FROM fs_dentry AS entry
      CROSS JOIN fs_inode AS inode ON inode.ino = entry.ino
      CROSS JOIN fs_inode AS parent ON parent.ino = entry.parent_ino
    WHERE (inode.mode & 61440) = 16384 AND (parent.mode & 61440) = 16384),
  reached(ino) AS (
    SELECT ino FROM fs_inode
    WHERE (mode & 61440) = 16384 AND (ino = 1 OR ino NOT IN (SELECT ino FROM placed))
    UNION
    SELECT inode.ino FROM reached
      CROSS JOIN fs_dentry AS entry ON entry.parent_ino = reached.ino
      CROSS JOIN fs_inode AS inode ON inode.ino = entry.ino
    WHERE (inode.mode & 61440) = 16384)
  SELECT ino FROM fs_inode WHERE (mode & 61440) = 16384 AND ino NOT IN (SELECT ino FROM reached)";

// The inodes in their order against the inodes that entries name, sorted.
const WITHOUT_NAME: &str = "SELECT inode.ino, inode.mode, inode.nlink,
    CASE WHEN inode.nlink > 0 THEN 'error' ELSE 'pending' END AS severity,
    CASE WHEN inode.nlink > 0 THEN '' ELSE ': it is removed when nobody uses it any more, at the latest by the next mount'
      END AS why
  FROM (SELECT ino FROM fs_inode WHERE ino <> 1 EXCEPT SELECT ino FROM fs_dentry ORDER BY ino) AS nameless
    CROSS JOIN fs_inode AS inode ON inode.ino = nameless.ino";

// The few inodes without a count, less those that entries name: one scan of each.
const PENDING_AND_NOT_LISTED: &str = "SELECT ino FROM fs_inode WHERE nlink <= 0 AND ino <> 1
  EXCEPT SELECT ino FROM fs_dentry EXCEPT SELECT ino FROM ext_orphan";
const LISTED_AND_NOT_PENDING: &str = "SELECT orphan.ino,
    CASE WHEN inode.ino IS NULL THEN 'does not exist' ELSE 'has a name' END AS why
  FROM ext_orphan AS orphan LEFT JOIN fs_inode AS inode ON inode.ino = orphan.ino
  WHERE inode.ino IS NULL OR orphan.ino IN (SELECT ino FROM fs_dentry)";

// One scan of the entries, sorted by inode. The subdirectories are counted only where the count differs.
const LINK_COUNT: &str = "SELECT ino, nlink, names,
    CASE WHEN nlink = 2 + subdirectories THEN 'note' ELSE 'error' END AS severity,
    CASE WHEN nlink = 2 + subdirectories THEN ': as other programs count, 2 and its subdirectories' ELSE '' END AS why
  FROM (SELECT inode.ino, inode.nlink, counted.names,
      CASE WHEN (inode.mode & 61440) = 16384 THEN (
        SELECT count(*) FROM fs_dentry AS entry CROSS JOIN fs_inode AS child ON child.ino = entry.ino
        WHERE entry.parent_ino = inode.ino AND (child.mode & 61440) = 16384) END AS subdirectories
    FROM (SELECT 1 AS ino, 1 AS names
          UNION ALL SELECT ino, count(*) FROM fs_dentry WHERE ino <> 1 GROUP BY ino) AS counted
      CROSS JOIN fs_inode AS inode ON inode.ino = counted.ino
    WHERE inode.nlink <> counted.names AND typeof(inode.nlink) = 'integer'
      AND inode.nlink BETWEEN 0 AND 4294967295)";

// One scan of the entries each. GLOB ends at a NUL, which is for INT-18.
const NO_NAME: &str = "SELECT id, name, parent_ino FROM fs_dentry
  WHERE typeof(name) <> 'text' OR octet_length(name) NOT BETWEEN 1 AND 255 OR name IN ('.', '..')
    OR instr(CAST(name AS BLOB), x'2f') > 0 OR instr(CAST(name AS BLOB), x'00') > 0";
const NAME_NOT_ASCII: &str = "SELECT id, name, parent_ino FROM fs_dentry
  WHERE typeof(name) = 'text' AND name GLOB '*[^ -~]*'";
const TARGET_NOT_ASCII: &str = "SELECT ino, target FROM fs_symlink
  WHERE typeof(target) = 'text' AND target GLOB '*[^ -~]*'";
