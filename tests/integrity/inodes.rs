//! Inodes by themselves, and the targets of symlinks.

use crate::sound::Sound;

// spec: INT-20, FS-LOOKUP-5
#[test]
fn numbers_that_no_inode_can_have() {
    let damage = [
        ("mode = 'r--'", "mode 'r--'"),
        ("mode = -1", "mode -1"),
        ("mode = 98724", "mode 98724"),
        ("nlink = -1", "nlink -1"),
        ("nlink = 1.5", "nlink 1.5"),
        ("uid = -1", "uid -1"),
        ("gid = 1 << 40", "gid 1099511627776"),
        ("size = -1", "size -1"),
        ("size = 'large'", "size 'large'"),
        ("rdev = -1", "rdev -1"),
        ("atime = 'noon'", "atime 'noon'"),
        ("mtime = 1.5", "mtime 1.5"),
        ("ctime = x'00'", "ctime X'00'"),
        ("storage_kind = 2", "storage_kind 2"),
        ("mode = replace(hex(zeroblob(200000)), '0', 'r')", &format!("mode '{}\u{2026}", "r".repeat(250))),
    ];
    let sound = Sound::new();
    let Sound { directory, symlink, inline, chunked, fifo, .. } = sound;
    sound.fixture.foreign("CREATE TABLE saved AS SELECT * FROM fs_inode");
    for (change, shown) in damage {
        let found = sound.damage(&format!("UPDATE fs_inode SET {change} WHERE ino = {fifo}"));
        let expected =
            format!("INT-20 error fs_inode ino={fifo}: inode {fifo} has {shown}, which no inode can have");
        assert_eq!(found, [expected], "{change}");
        sound.fixture.foreign(&format!(
            "DELETE FROM fs_inode WHERE ino = {fifo};
             INSERT INTO fs_inode SELECT * FROM saved WHERE ino = {fifo}"
        ));
        assert_eq!(sound.found(), [""; 0], "{change}");
    }
    // Whatever else is said of the size of such an inode, this is all.
    for ino in [directory, symlink, inline, chunked] {
        for (change, shown) in [("size = 'large'", "size 'large'"), ("size = -5", "size -5")] {
            let found = sound.damage(&format!("UPDATE fs_inode SET {change} WHERE ino = {ino}"));
            let expected =
                format!("INT-20 error fs_inode ino={ino}: inode {ino} has {shown}, which no inode can have");
            assert_eq!(found, [expected]);
        }
        sound.fixture.foreign(&format!(
            "UPDATE fs_inode SET size = (SELECT size FROM saved WHERE ino = {ino}) WHERE ino = {ino}"
        ));
    }
    let found = sound.damage(&format!(
        "UPDATE fs_inode SET ino = -5 WHERE ino = {fifo}; UPDATE fs_dentry SET ino = -5 WHERE ino = {fifo}"
    ));
    assert_eq!(found, ["INT-20 error fs_inode ino=-5: inode -5 has that number, which no inode can have"]);
}

// spec: INT-21, FMT-14
#[test]
fn a_mode_of_no_known_kind() {
    let sound = Sound::new();
    let fifo = sound.fifo;
    let found = sound.damage(&format!("UPDATE fs_inode SET mode = 420 WHERE ino = {fifo}"));
    let expected = format!(
        "INT-21 error fs_inode ino={fifo}: inode {fifo} has mode 0o644, whose type bits are of no known kind"
    );
    assert_eq!(found, [expected]);
}

// spec: INT-22, FMT-13
#[test]
fn nanoseconds_out_of_range() {
    let sound = Sound::new();
    let fifo = sound.fifo;
    for (change, shown) in [
        ("atime_nsec = 1000000000", "atime_nsec 1000000000"),
        ("atime_nsec = 0, mtime_nsec = -1", "mtime_nsec -1"),
        ("mtime_nsec = 0, ctime_nsec = 'many'", "ctime_nsec 'many'"),
    ] {
        let found = sound.damage(&format!("UPDATE fs_inode SET {change} WHERE ino = {fifo}"));
        let expected = format!(
            "INT-22 error fs_inode ino={fifo}: inode {fifo} has {shown}, where 0 to 999999999 is possible"
        );
        assert_eq!(found, [expected]);
    }
}

// spec: INT-23, FMT-12
#[test]
fn a_device_number_of_what_is_no_device() {
    let sound = Sound::new();
    let fifo = sound.fifo;
    let found = sound.damage(&format!("UPDATE fs_inode SET rdev = 259 WHERE ino = {fifo}"));
    let expected = format!(
        "INT-23 error fs_inode ino={fifo}: inode {fifo} has rdev 259, but mode 0o10600 and so is no device"
    );
    assert_eq!(found, [expected]);
}

// spec: INT-24, FMT-11
#[test]
fn what_is_no_regular_file_has_no_content_of_its_own() {
    let sound = Sound::new();
    let Sound { directory, inner, symlink, fifo, device, .. } = sound;
    let found = sound.damage(&format!(
        "UPDATE fs_inode SET size = 4096 WHERE ino = {directory};
         UPDATE fs_inode SET storage_kind = 1, data_inline = x'00' WHERE ino = {inner};
         UPDATE fs_inode SET size = 9 WHERE ino = {symlink};
         UPDATE fs_inode SET data_inline = x'6162' WHERE ino = {fifo};
         UPDATE fs_inode SET storage_kind = 1 WHERE ino = {device}"
    ));
    let expected = [
        format!("ino={directory}: inode {directory} (mode 0o40755) has size 4096, where a directory has 0"),
        format!("ino={inner}: inode {inner} (mode 0o40755) has storage_kind 1, which is for regular files"),
        format!("ino={symlink}: inode {symlink} (mode 0o120777) has size 9, where its target has 10 bytes"),
        format!(
            "ino={fifo}: inode {fifo} (mode 0o10600) has 2 bytes of inline data, which are for regular files"
        ),
        format!("ino={device}: inode {device} (mode 0o20600) has storage_kind 1, which is for regular files"),
    ];
    assert_eq!(found, expected.map(|finding| format!("INT-24 error fs_inode {finding}")));
}

// spec: INT-25
#[test]
fn a_symlink_without_a_target_and_a_target_without_a_symlink() {
    let sound = Sound::new();
    let Sound { symlink, fifo, .. } = sound;
    let found = sound.damage(&format!("UPDATE fs_symlink SET ino = {fifo} WHERE ino = {symlink}"));
    assert_eq!(
        found,
        [
            format!("INT-25 error fs_inode ino={symlink}: the symlink {symlink} has 0 targets"),
            format!(
                "INT-25 error fs_symlink ino={fifo}: there is a target, \"../inl\u{ef}ne\", for inode {fifo}, which \
                 has mode 0o10600 and so is no symlink"
            ),
        ]
    );
}

// spec: INT-25, FMT-8
#[test]
fn a_symlink_with_two_targets() {
    let sound = Sound::new();
    let symlink = sound.symlink;
    let found = sound.damage(
        "CREATE TABLE targets (target TEXT NOT NULL, ino INTEGER);
         INSERT INTO targets (ino, target) SELECT ino, target FROM fs_symlink;
         INSERT INTO targets (ino, target) SELECT ino, target FROM fs_symlink;
         DROP TABLE fs_symlink; ALTER TABLE targets RENAME TO fs_symlink",
    );
    assert_eq!(found, [format!("INT-25 error fs_inode ino={symlink}: the symlink {symlink} has 2 targets")]);
}

// spec: INT-26, FS-NAME-3
#[test]
fn targets_that_none_can_have() {
    let sound = Sound::new();
    let symlink = sound.symlink;
    for (target, shown) in [
        ("''", "\"\"".to_owned()),
        ("CAST(x'610062' AS TEXT)", "\"a\\u{0}b\"".to_owned()),
        ("x'61'", "BLOB \"a\"".to_owned()),
        ("hex(zeroblob(2048))", format!("\"{}\u{2026}\"", "0".repeat(256))),
    ] {
        let found = sound.damage(&format!(
            "UPDATE fs_symlink SET target = {target};
             UPDATE fs_inode SET size = (SELECT octet_length(target) FROM fs_symlink) WHERE ino = {symlink}"
        ));
        let expected = format!(
            "INT-26 error fs_symlink ino={symlink}: the symlink {symlink} has the target {shown}, which none can have"
        );
        assert_eq!(found, [expected]);
    }
}
