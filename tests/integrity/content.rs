//! Where the bytes of files lie, and rows that belong to no inode.

use crate::sound::{CHUNK, Sound};

// spec: INT-27
#[test]
fn an_inline_file_has_all_its_bytes_inline_and_nowhere_else() {
    let sound = Sound::new();
    let inline = sound.inline;
    let has = |size, what: &str| {
        [format!("INT-27 error fs_inode ino={inline}: the inline file {inline} of size {size} has {what}")]
    };
    let at = |change: &str| format!("UPDATE fs_inode SET {change} WHERE ino = {inline}");
    assert_eq!(sound.damage(&at("size = 12")), has(12, "11 bytes of inline data"));
    assert_eq!(sound.damage(&at("size = 0, data_inline = NULL")), has(0, "no inline data"));
    assert_eq!(sound.damage(&at("size = 11, data_inline = zeroblob(11)")), [""; 0]);
    let chunk = format!("INSERT INTO fs_data (ino, chunk_index, data) VALUES ({inline}, 0, x'00')");
    assert_eq!(sound.damage(&chunk), has(11, "chunks as well"));
}

// spec: INT-27
#[test]
fn an_inline_file_above_the_threshold_is_a_note() {
    let sound = Sound::new();
    let inline = sound.inline;
    let at = |size| {
        format!("UPDATE fs_inode SET size = {size}, data_inline = zeroblob({size}) WHERE ino = {inline}")
    };
    assert_eq!(sound.damage(&at(64)), [""; 0]);
    let expected = format!(
        "INT-27 note fs_inode ino={inline}: the inline file {inline} has 65 bytes, more than the inline threshold of 64"
    );
    assert_eq!(sound.damage(&at(65)), [expected]);
}

// spec: INT-28
#[test]
fn a_chunked_file_has_nothing_inline() {
    let sound = Sound::new();
    let chunked = sound.chunked;
    let found = sound.damage(&format!("UPDATE fs_inode SET data_inline = x'' WHERE ino = {chunked}"));
    let expected = format!(
        "INT-28 error fs_inode ino={chunked}: the file {chunked} has storage_kind 0, for chunks, and 0 bytes of inline data"
    );
    assert_eq!(found, [expected]);
}

// spec: INT-29, FS-DATA-11
#[test]
fn chunks_that_cannot_be() {
    let sound = Sound::new();
    let Sound { chunked, empty, directory, .. } = sound;
    let size = 10 * CHUNK;
    let cases = [
        (chunked.0, -1, "x'00'", "has no possible index".to_owned()),
        (chunked.0, 7, "zeroblob(513)", "has 513 bytes, more than the chunk size of 512".to_owned()),
        (chunked.0, 7, "'text'", "is no BLOB".to_owned()),
        (chunked.0, 10, "x'00'", format!("begins past the end of the file, whose size is {size}")),
        (chunked.0, i64::MAX, "x''", format!("begins past the end of the file, whose size is {size}")),
        (empty.0, 0, "x'00'", "begins past the end of the file, whose size is 0".to_owned()),
        (directory.0, 0, "x'00'", "belongs to what is no regular file".to_owned()),
    ];
    sound.fixture.foreign(&format!("UPDATE fs_inode SET size = {size} WHERE ino = {chunked}"));
    for (ino, index, data, what) in cases {
        let found = sound
            .damage(&format!("INSERT INTO fs_data (ino, chunk_index, data) VALUES ({ino}, {index}, {data})"));
        let expected = format!(
            "INT-29 error fs_data ino={ino} chunk_index={index}: chunk {index} of inode {ino} {what}"
        );
        assert_eq!(found, [expected]);
        let sound = sound.damage(&format!("DELETE FROM fs_data WHERE ino = {ino} AND chunk_index = {index}"));
        assert_eq!(sound, [""; 0]);
    }
    // The last byte that there can be.
    let found = sound.damage(&format!(
        "UPDATE fs_inode SET size = 9223372036854775807 WHERE ino = {chunked};
         INSERT INTO fs_data (ino, chunk_index, data) VALUES ({chunked}, {}, zeroblob(511))",
        i64::MAX / CHUNK as i64
    ));
    assert_eq!(found, [""; 0]);
}

// spec: INT-30
#[test]
fn rows_that_belong_to_no_inode() {
    let sound = Sound::new();
    let chunks = sound.damage(
        "INSERT INTO fs_data (ino, chunk_index, data) VALUES (4711, 0, x'00'), (4711, 3, x'00'), (4712, 0, x'00')",
    );
    let of = |ino, count| {
        format!(
            "INT-30 error fs_data ino={ino}: inode {ino} does not exist; its chunks that are there: {count}"
        )
    };
    assert_eq!(chunks, [of(4711, 2), of(4712, 1)]);
    sound.fixture.foreign("DELETE FROM fs_data WHERE ino > 4000");
    assert_eq!(
        sound.damage("INSERT INTO fs_symlink (ino, target) VALUES (4711, 'x')"),
        ["INT-30 error fs_symlink ino=4711: inode 4711 does not exist, but has a target: \"x\""]
    );
    sound.fixture.foreign("DELETE FROM fs_symlink WHERE ino = 4711");
    assert_eq!(
        sound.damage(
            "INSERT INTO ext_xattr (ino, name, value) VALUES (4711, 'user.a', x''), (4711, 'user.b', x'')"
        ),
        [
            "INT-30 error ext_xattr ino=4711: inode 4711 does not exist; its extended attributes that are there: 2"
        ]
    );
}
