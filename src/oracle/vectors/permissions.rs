//! Who may do what, and what becomes of set-id bits: FS-PERM.

use agentfs_model::call::{AccessMode, FallocateMode, RenameFlags};
use agentfs_model::values::FileKind;

use super::scenario::{BOTH, CREATE, FOLDER, MEMBER, READ, ROOT, Scenario, USER, WRITE, scenario};

pub(super) fn scenarios() -> Vec<Scenario> {
    [classes(), directories(), new_inodes(), owners(), set_id()].concat()
}

fn classes() -> Vec<Scenario> {
    vec![
        scenario(
            "FS-PERM-1-one-class",
            "Exactly one of the three classes applies, also when a later one would allow more",
        )
        .by(USER)
        .file_mode("f", "x", 0o644)
        .chmod("f", 0o077)
        .open(1, "f", READ)
        .by(MEMBER)
        .open(1, "f", READ)
        .by(USER)
        .chmod("f", 0o707)
        .by(MEMBER)
        .open(2, "f", READ)
        .access("f", AccessMode::READ),
        scenario("FS-PERM-1-kinds", "Reading, writing and executing are permitted each by its own bit")
            .by(USER)
            .file_mode("r", "x", 0o400)
            .file_mode("w", "x", 0o200)
            .open(1, "r", READ)
            .open(2, "r", WRITE)
            .open(3, "w", WRITE)
            .open(4, "w", READ)
            .open(5, "w", BOTH)
            .access("r", AccessMode::EXECUTE),
        scenario("FS-PERM-1-directories", "Reading a directory lists it, executing it leads into it")
            .by(USER)
            .mkdir("d")
            .file("d/f", "x")
            .chmod("d", 0o400)
            .open(1, "d", FOLDER)
            .readdir(1, 10)
            .stat("d/f")
            .chmod("d", 0o100)
            .open(2, "d", FOLDER)
            .stat("d/f"),
        scenario("FS-PERM-2-superuser", "User 0 may do all but execute what nobody may execute")
            .by(USER)
            .file_mode("f", "x", 0o000)
            .mkdir_mode("d", 0o000)
            .by(ROOT)
            .access("f", AccessMode::READ | AccessMode::WRITE)
            .access("f", AccessMode::EXECUTE)
            .access("d", AccessMode::EXECUTE)
            .chmod("f", 0o001)
            .access("f", AccessMode::EXECUTE),
        scenario(
            "FS-PERM-15-already-open",
            "What is open needs no permission any more, neither its own nor above it",
        )
        .by(USER)
        .mkdir("d")
        .file("d/f", "content")
        .open(1, "d/f", BOTH)
        .open(2, "d", FOLDER)
        .chmod("d/f", 0o000)
        .chmod("d", 0o000)
        .pread(1, 0, 20)
        .pwrite(1, 0, "C")
        .fstat(1)
        .readdir(2, 10)
        .stat("d/f"),
    ]
}

fn directories() -> Vec<Scenario> {
    vec![
        scenario(
            "FS-PERM-3-entries",
            "Adding and taking out entries needs write and search permission on the directory",
        )
        .mkdir_mode("d", 0o755)
        .file("d/f", "")
        .by(USER)
        .mkdir("d/e")
        .open(1, "d/new", CREATE)
        .symlink("t", "d/s")
        .link("d/f", "d/g")
        .unlink("d/f")
        .rename("d/f", "f")
        .file("mine", "")
        .rename("mine", "d/mine")
        .by(ROOT)
        .umask(0)
        .mkdir_mode("w", 0o776)
        .by(USER)
        .mkdir("w/d"),
        scenario("FS-PERM-4-sticky", "In a sticky directory only the owners remove, rename and replace")
            .root_permissions(0o1777)
            .by(USER)
            .file("f", "user's")
            .mkdir("d")
            .by(MEMBER)
            .file("g", "member's")
            .unlink("f")
            .rmdir("d")
            .rename("f", "h")
            .rename("g", "f")
            .rename_with("g", "f", RenameFlags::EXCHANGE)
            .rename("g", "h")
            .unlink("h")
            .by(ROOT)
            .unlink("f"),
        scenario(
            "FS-PERM-4-owner-of-the-directory",
            "The owner of a sticky directory removes what is others'",
        )
        .umask(0)
        .mkdir_mode("d", 0o1777)
        .chown("d", Some(1000), Some(1000))
        .by(MEMBER)
        .file("d/f", "")
        .by(USER)
        .unlink("d/f"),
        scenario(
            "FS-PERM-5-dot-dot",
            "Moving a directory to another parent needs write permission on the directory itself",
        )
        .umask(0)
        .mkdir_mode("a", 0o777)
        .mkdir_mode("b", 0o777)
        .mkdir_mode("a/closed", 0o755)
        .by(USER)
        .rename("a/closed", "b/closed")
        .rename("a/closed", "a/other")
        .mkdir("b/own")
        .rename_with("b/own", "a/other", RenameFlags::EXCHANGE)
        .rename("b/own", "a/own"),
    ]
}

fn new_inodes() -> Vec<Scenario> {
    vec![
        scenario(
            "FS-PERM-6-owner-and-group",
            "A new inode is its maker's, and in a set-group-id directory of its group",
        )
        .umask(0)
        .mkdir_mode("plain", 0o777)
        .mkdir_mode("shared", 0o777)
        .chown("shared", None, Some(2000))
        .chmod("shared", 0o2777)
        .by(USER)
        .file("plain/f", "")
        .stat("plain/f")
        .file("shared/f", "")
        .stat("shared/f")
        .symlink("t", "shared/s")
        .lstat("shared/s")
        .mknod("shared/p", FileKind::Fifo, 0)
        .stat("shared/p"),
        scenario(
            "FS-PERM-7-inherited",
            "A directory in a set-group-id directory gets the bit, a file of strangers loses it",
        )
        .umask(0)
        .mkdir_mode("shared", 0o777)
        .chown("shared", None, Some(1000))
        .chmod("shared", 0o2777)
        .by(USER)
        .mkdir_mode("shared/d", 0o700)
        .stat("shared/d")
        .open_mode(1, "shared/member", CREATE, 0o2775)
        .stat("shared/member")
        .by(ROOT)
        .chown("shared", None, Some(2000))
        .chmod("shared", 0o2777)
        .by(USER)
        .open_mode(2, "shared/stranger", CREATE, 0o2775)
        .stat("shared/stranger")
        .open_mode(3, "shared/not-executable", CREATE, 0o2764)
        .stat("shared/not-executable"),
        scenario(
            "FS-PERM-14-umask",
            "The umask is taken from the permissions of what is made, but not from a symlink's",
        )
        .umask(0o027)
        .open_mode(1, "f", CREATE, 0o777)
        .stat("f")
        .mkdir_mode("d", 0o777)
        .stat("d")
        .mknod("p", FileKind::Fifo, 0)
        .stat("p")
        .symlink("t", "s")
        .lstat("s")
        .umask(0o777)
        .open_mode(2, "g", CREATE, 0o777)
        .stat("g")
        .by(USER)
        .open_mode(3, "h", CREATE, 0o666)
        .stat("h"),
    ]
}

fn owners() -> Vec<Scenario> {
    vec![
        scenario("FS-PERM-8-owner", "Only user 0 gives a file away; its owner may name himself")
            .by(USER)
            .file("f", "")
            .chown("f", Some(1001), None)
            .chown("f", Some(1000), None)
            .chown("f", Some(0), None)
            .by(MEMBER)
            .chown("f", Some(1000), None)
            .by(ROOT)
            .chown("f", Some(1001), None)
            .stat("f"),
        scenario("FS-PERM-9-group", "The owner changes the group to one that he is in, or that the file has")
            .by(MEMBER)
            .file("f", "")
            .chown("f", None, Some(1000))
            .stat("f")
            .chown("f", None, Some(1001))
            .chown("f", None, Some(2000))
            .by(ROOT)
            .chown("f", None, Some(2000))
            .by(MEMBER)
            .chown("f", None, Some(2000))
            .by(USER)
            .chown("f", None, Some(1000)),
        scenario(
            "FS-PERM-10-chmod",
            "chmod by one who is not in the group drops set-group-id, on directories as well",
        )
        .by(USER)
        .file("f", "")
        .mkdir("d")
        .chmod("f", 0o2755)
        .stat("f")
        .by(ROOT)
        .chown("f", None, Some(2000))
        .chown("d", None, Some(2000))
        .by(USER)
        .chmod("f", 0o2755)
        .stat("f")
        .chmod("d", 0o2755)
        .stat("d")
        .chmod("f", 0o4755)
        .stat("f"),
    ]
}

fn set_id() -> Vec<Scenario> {
    vec![
        scenario("FS-PERM-11-chown", "chown of what is no directory drops set-id bits, by user 0 too")
            .file_mode("f", "", 0o755)
            .chmod("f", 0o6755)
            .chown("f", Some(1000), None)
            .stat("f")
            .chmod("f", 0o6745)
            .chown("f", None, Some(1000))
            .stat("f")
            .mkdir("d")
            .chmod("d", 0o6755)
            .chown("d", Some(1000), Some(1000))
            .stat("d"),
        scenario(
            "FS-PERM-11-not-executable",
            "Set-group-id without group execution stays for members, and not for others",
        )
        .by(MEMBER)
        .file("f", "")
        .chown("f", None, Some(1000))
        .chmod("f", 0o2644)
        .chown("f", None, Some(1001))
        .stat("f")
        .chmod("f", 0o2644)
        .by(ROOT)
        .chown("f", None, Some(2000))
        .stat("f")
        .by(MEMBER)
        .chown("f", None, Some(1000))
        .stat("f"),
        scenario("FS-PERM-12-truncation", "Truncation by anyone but user 0 drops set-id bits")
            .by(USER)
            .file_mode("f", "x", 0o755)
            .chmod("f", 0o6755)
            .by(ROOT)
            .truncate("f", 0)
            .stat("f")
            .by(USER)
            .truncate("f", 0)
            .stat("f")
            .chmod("f", 0o6755)
            .open(1, "f", WRITE.union(agentfs_model::call::OpenFlags::TRUNCATE))
            .stat("f")
            .chmod("f", 0o6755)
            .ftruncate(1, 5)
            .stat("f"),
        scenario("FS-PERM-13-write", "A write of bytes by anyone but user 0 drops set-id bits")
            .by(USER)
            .file_mode("f", "x", 0o755)
            .open(1, "f", WRITE)
            .chmod("f", 0o6755)
            .write(1, "")
            .stat("f")
            .write(1, "y")
            .stat("f")
            .chmod("f", 0o6755)
            .by(ROOT)
            .open(2, "f", WRITE)
            .write(2, "z")
            .stat("f")
            .by(USER)
            .fallocate(1, FallocateMode::KEEP_SIZE, 0, 1)
            .stat("f"),
    ]
}
