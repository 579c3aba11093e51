-- Extension tables of this implementation. Each is created the first time that it is needed and
-- named, with its version, in ext_registry. A reader of the core format can ignore all of them,
-- and its engine reads them: they use no words of SQL that the core tables do not (no CHECK, for one).

CREATE TABLE IF NOT EXISTS ext_registry (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL
);

-- Extended attributes. The name carries its namespace ("user.mime_type").
CREATE TABLE IF NOT EXISTS ext_xattr (
  ino INTEGER NOT NULL,
  name TEXT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (ino, name)
);

-- Inodes without a dentry whose rows wait for the last reference; what a mount sweeps first.
CREATE TABLE IF NOT EXISTS ext_orphan (
  ino INTEGER PRIMARY KEY
);

-- Who has the file system mounted for writing: at most one row, with id 1. It counts only while the
-- lock that the mount holds on the database file is held.
CREATE TABLE IF NOT EXISTS ext_mount (
  id INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  mountpoint TEXT NOT NULL,
  since INTEGER NOT NULL
);

-- What the core's tool_calls has no column for.
CREATE TABLE IF NOT EXISTS ext_tool_call (
  id INTEGER PRIMARY KEY,
  session TEXT,
  parent INTEGER,
  status TEXT,
  started_at_nsec INTEGER NOT NULL DEFAULT 0,
  completed_at_nsec INTEGER NOT NULL DEFAULT 0
);
