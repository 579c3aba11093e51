//! Databases that break rules, each in several places.

use agentfs::types::Ino;

use crate::common::Fixture;
use crate::{CHUNK, Golden};

pub fn databases() -> Vec<Golden> {
    vec![
        Golden::new(
            "damaged-tree",
            "Entries that name nothing, inodes without a name, a directory below itself",
            some_tree,
        )
        .damaged_by(
            "INSERT INTO fs_dentry (id, name, parent_ino, ino) VALUES (90, 'ghost', 1, 4711);
                 INSERT INTO fs_dentry (id, name, parent_ino, ino) VALUES (91, 'in a file', 4, 4);
                 INSERT INTO fs_dentry (id, name, parent_ino, ino) VALUES (92, 'a/b', 1, 4);
                 DELETE FROM fs_dentry WHERE name = 'lost';
                 UPDATE fs_dentry SET parent_ino = 3 WHERE ino = 2;
                 UPDATE fs_inode SET mode = 0 WHERE ino = 6;",
        ),
        Golden::new(
            "damaged-content",
            "Chunks that are too long, of nobody, beside inline data; targets and keys that are none",
            some_tree,
        )
        .damaged_by(
            "INSERT INTO fs_data (ino, chunk_index, data) VALUES (5, 7, zeroblob(513));
                 INSERT INTO fs_data (ino, chunk_index, data) VALUES (4, 0, x'00');
                 INSERT INTO fs_data (ino, chunk_index, data) VALUES (99, 0, x'00');
                 DELETE FROM fs_symlink;
                 UPDATE fs_inode SET mtime_nsec = 1000000000, size = 3 WHERE ino = 4;
                 INSERT INTO kv_store (key, value) VALUES ('broken', '{');
                 INSERT INTO tool_calls (name, started_at, completed_at, duration_ms, result, error)
                   VALUES ('both', 1700000000, 1700000001, 1000, '1', 'failed');",
        ),
        Golden::new("damaged-pages", "An index that does not agree with its table", some_tree)
            .overwritten_by(|bytes| {
                // An entry's name in the index of names, but not in the table: the last place where it stands.
                let name = b"chunked";
                let places: Vec<usize> =
                    (0..bytes.len() - name.len()).filter(|at| &bytes[*at..at + name.len()] == name).collect();
                assert_eq!(places.len(), 3, "the name stands in the table and in two indexes");
                bytes[places[2]] = b'C';
            }),
    ]
}

/// Directories 2 and 3, the files 4 and 5, the file 6 and the symlink 7.
fn some_tree(fixture: &Fixture) {
    let outer = fixture.directory(Ino::ROOT, "outer");
    let inner = fixture.directory(outer, "inner");
    fixture.file(inner, "inline", b"inline");
    fixture.file(inner, "chunked", &[b'c'; 2 * CHUNK]);
    fixture.file(inner, "lost", b"");
    fixture.symlink(Ino::ROOT, "symlink", "outer");
}
