//! Extended attributes: FS-XATTR.

use agentfs_model::bytes::Bytes;
use agentfs_model::call::XattrMode;
use agentfs_model::values::FileKind;

use super::scenario::{FOLDER, MEMBER, READ, ROOT, Scenario, USER, WRITE, scenario};

pub(super) fn scenarios() -> Vec<Scenario> {
    [kept(), permissions(), errors(), belonging()].concat()
}

fn kept() -> Vec<Scenario> {
    vec![
        scenario(
            "FS-XATTR-1-namespaces",
            "user., trusted. and security. are kept, every other is EOPNOTSUPP",
        )
        .file("f", "")
        .setxattr("f", "user.a", "1")
        .setxattr("f", "trusted.a", "2")
        .setxattr("f", "security.a", "3")
        .setxattr("f", "system.a", "4")
        .setxattr("f", "other.a", "5")
        .setxattr("f", "plain", "6")
        .getxattr("f", "user.a")
        .getxattr("f", "trusted.a")
        .getxattr("f", "security.a")
        .getxattr("f", "system.a")
        .getxattr("f", "other.a")
        .listxattr("f"),
        scenario("FS-XATTR-2-sizes", "Names of up to 255 bytes and values of up to 65536, both of any bytes")
            .of_agentfs()
            .file("f", "")
            .setxattr("f", &b"user.\xff\n"[..], &b"\0\xff"[..])
            .getxattr("f", &b"user.\xff\n"[..])
            .setxattr("f", "user.empty", "")
            .getxattr("f", "user.empty")
            .setxattr("f", "user.largest", Bytes::repeated(b'v', 65536))
            .getxattr("f", "user.largest")
            .setxattr("f", "user.larger", Bytes::repeated(b'v', 65537))
            .setxattr("f", &[b"user.".to_vec(), vec![b'n'; 250]].concat()[..], "longest")
            .setxattr("f", &[b"user.".to_vec(), vec![b'n'; 251]].concat()[..], "too long")
            .listxattr("f"),
    ]
}

fn permissions() -> Vec<Scenario> {
    vec![
        scenario("FS-XATTR-3-kinds", "user. attributes exist on regular files and directories only")
            .mkdir("d")
            .symlink("none", "s")
            .mknod("p", FileKind::Fifo, 0)
            .setxattr("d", "user.a", "1")
            .getxattr("d", "user.a")
            .lsetxattr("s", "user.a", "1")
            .lgetxattr("s", "user.a")
            .setxattr("p", "user.a", "1")
            .getxattr("p", "user.a")
            .removexattr("p", "user.a")
            .lsetxattr("s", "trusted.a", "1")
            .lgetxattr("s", "trusted.a"),
        scenario(
            "FS-XATTR-3-sticky",
            "In a sticky directory only its owner and user 0 change its user. attributes",
        )
        .umask(0)
        .mkdir_mode("d", 0o1777)
        .chown("d", Some(1001), None)
        .by(USER)
        .setxattr("d", "user.a", "1")
        .by(MEMBER)
        .setxattr("d", "user.a", "1")
        .by(USER)
        .getxattr("d", "user.a")
        .removexattr("d", "user.a"),
        scenario("FS-XATTR-4-bits", "user. attributes are read with read and changed with write permission")
            .file_mode("f", "", 0o644)
            .setxattr("f", "user.a", "1")
            .by(USER)
            .getxattr("f", "user.a")
            .setxattr("f", "user.a", "2")
            .removexattr("f", "user.a")
            .by(ROOT)
            .chmod("f", 0o602)
            .by(USER)
            .getxattr("f", "user.a")
            .setxattr("f", "user.a", "2")
            .listxattr("f"),
        scenario(
            "FS-XATTR-5-privileged",
            "trusted. attributes are user 0's alone; security. ones are read by anyone",
        )
        .file_mode("f", "", 0o666)
        .setxattr("f", "trusted.a", "1")
        .setxattr("f", "security.a", "1")
        .by(USER)
        .getxattr("f", "trusted.a")
        .setxattr("f", "trusted.a", "2")
        .removexattr("f", "trusted.a")
        .getxattr("f", "security.a")
        .setxattr("f", "security.a", "2")
        .removexattr("f", "security.a")
        .listxattr("f"),
    ]
}

fn errors() -> Vec<Scenario> {
    vec![
        scenario("FS-XATTR-6-modes", "Create wants it not to be there, Replace wants it to be there")
            .file("f", "")
            .setxattr_mode("f", "user.a", "1", XattrMode::Replace)
            .setxattr_mode("f", "user.a", "2", XattrMode::Create)
            .setxattr_mode("f", "user.a", "3", XattrMode::Create)
            .setxattr_mode("f", "user.a", "4", XattrMode::Replace)
            .getxattr("f", "user.a")
            .getxattr("f", "user.b")
            .removexattr("f", "user.b")
            .removexattr("f", "user.a")
            .removexattr("f", "user.a"),
        scenario(
            "FS-XATTR-7-order",
            "The form of the name comes before everything, permissions before the namespace",
        )
        .file_mode("f", "", 0o600)
        .setxattr("none", "", "v")
        .setxattr("f", "", "v")
        .setxattr("f", "user.", "v")
        .getxattr("f", "user.")
        .setxattr("f", "trusted.", "v")
        .setxattr("none", "user.a", Bytes::repeated(b'v', 65537))
        .by(USER)
        .setxattr("f", "other.a", "v")
        .setxattr("f", "system.a", "v")
        .getxattr("f", "other.a"),
        scenario("FS-XATTR-8-list", "A list needs no permission, and shows trusted. names to user 0 only")
            .file_mode("f", "", 0o600)
            .setxattr("f", "user.b", "1")
            .setxattr("f", "user.a", "1")
            .setxattr("f", "trusted.a", "1")
            .listxattr("f")
            .by(USER)
            .listxattr("f"),
        many(
            scenario("FS-XATTR-9-list-full", "The names of one inode take at most 65536 bytes together")
                .of_agentfs()
                .file("f", ""),
        )
        .setxattr("f", "user.256-one-more-that-does-not-fit-any-more", "")
        .listxattr("f"),
    ]
}

/// 255 attributes, each of whose names takes 256 bytes with the byte after it.
fn many(scenario: Scenario) -> Scenario {
    (0..256).fold(scenario, |scenario, number| scenario.setxattr("f", &*format!("user.{number:0250}"), ""))
}

fn belonging() -> Vec<Scenario> {
    vec![
        scenario(
            "FS-XATTR-10-of-the-inode",
            "Attributes are shared by all names, survive rename, and go with the inode",
        )
        .file("f", "")
        .setxattr("f", "user.a", "1")
        .link("f", "g")
        .getxattr("g", "user.a")
        .rename("g", "h")
        .getxattr("h", "user.a")
        .unlink("f")
        .unlink("h")
        .file("f", "")
        .listxattr("f")
        .mkdir("d")
        .open(1, "d", FOLDER)
        .setxattr("d", "user.a", "1")
        .reopen(false)
        .getxattr("d", "user.a"),
        scenario("FS-XATTR-11-capability", "security.capability falls with a change of content or owner")
            .file("f", "x")
            .setxattr(
                "f",
                "security.capability",
                &b"\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"[..],
            )
            .open(1, "f", READ)
            .listxattr("f")
            .chmod("f", 0o755)
            .listxattr("f")
            .truncate("f", 0)
            .listxattr("f")
            .open(2, "f", WRITE)
            .write(2, "y")
            .listxattr("f"),
    ]
}
