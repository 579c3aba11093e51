//! Making and removing names: FS-CREATE, FS-LINK, FS-UNLINK, FS-RMDIR.

use agentfs_model::call::OpenFlags;
use agentfs_model::values::FileKind;

use super::scenario::{BOTH, CREATE, FOLDER, READ, ROOT, Scenario, USER, at, scenario};

pub(super) fn scenarios() -> Vec<Scenario> {
    [creating(), linking(), unlinking(), removing()].concat()
}

fn creating() -> Vec<Scenario> {
    let exclusive = CREATE.union(OpenFlags::EXCLUSIVE);
    vec![
        scenario("FS-CREATE-1-each", "Each makes one inode with one name, of the kind that was asked for")
            .open(1, "f", CREATE)
            .stat("f")
            .mkdir("d")
            .stat("d")
            .symlink("t", "s")
            .lstat("s")
            .mknod("p", FileKind::Fifo, 0)
            .stat("p")
            .list("/"),
        scenario("FS-CREATE-2-empty", "A new file is empty").open(1, "f", CREATE).fstat(1).read(1, 10),
        scenario("FS-CREATE-3-exists", "A name that exists is EEXIST, whatever it is")
            .file("f", "")
            .mkdir("d")
            .symlink("none", "s")
            .mknod("p", FileKind::Fifo, 0)
            .mkdir("f")
            .mkdir("d")
            .mkdir("s")
            .mkdir("p")
            .symlink("t", "f")
            .mknod("d", FileKind::Regular, 0)
            .open(1, "f", exclusive)
            .open(2, "s", exclusive)
            .open(3, "d", exclusive),
        scenario("FS-CREATE-3-removed", "In a directory that has been removed nothing can be made")
            .mkdir("d")
            .open(1, "d", FOLDER)
            .rmdir("d")
            .mkdir(at(1, "e"))
            .open(2, at(1, "f"), CREATE)
            .symlink("t", at(1, "s"))
            .file("g", "")
            .link("g", at(1, "h"))
            .rename("g", at(1, "h")),
        scenario(
            "FS-CREATE-3-kinds",
            "mknod makes neither directories nor symlinks, and devices only for user 0",
        )
        .mknod("d", FileKind::Directory, 0)
        .mknod("s", FileKind::Symlink, 0)
        .mknod("null", FileKind::CharDevice, 0x103)
        .mknod("disk", FileKind::BlockDevice, 0x800)
        .stat("null")
        .stat("disk")
        .by(USER)
        .mknod("other", FileKind::CharDevice, 0x103)
        .mknod("other", FileKind::BlockDevice, 0)
        .mknod("socket", FileKind::Socket, 0)
        .mknod("pipe", FileKind::Fifo, 0),
        scenario("FS-CREATE-4-whiteout", "A character device with number 0 may be made by anyone")
            .by(USER)
            .mknod("w", FileKind::CharDevice, 0)
            .stat("w"),
        scenario("FS-CREATE-5-modes", "mkdir takes 01777 of what is given, create and mknod all twelve bits")
            .umask(0)
            .mkdir_mode("d", 0o7777)
            .stat("d")
            .open_mode(1, "f", CREATE, 0o7777)
            .stat("f")
            .open_mode(2, "g", CREATE, 0o1000)
            .stat("g"),
        scenario("FS-CREATE-6-regular", "mknod of a regular file makes one")
            .mknod("f", FileKind::Regular, 0)
            .stat("f")
            .open(1, "f", BOTH)
            .write(1, "x"),
        scenario("FS-CREATE-7-symlink", "A symlink has 0777 and the size of its target")
            .umask(0o077)
            .symlink("0123456789", "s")
            .lstat("s"),
        scenario(
            "FS-CREATE-8-special",
            "Pipes, sockets and devices are shown, linked, renamed and removed as other files",
        )
        .mknod("p", FileKind::Fifo, 0)
        .mknod("s", FileKind::Socket, 0)
        // 259:70000, which needs all of the encoding.
        .mknod("b", FileKind::BlockDevice, 0x1110_0000 | 0x0001_0370)
        .stat("b")
        .link("p", "q")
        .stat("q")
        .rename("s", "t")
        .chmod("t", 0o600)
        .stat("t")
        .unlink("p")
        .unlink("b")
        .list("/"),
    ]
}

fn linking() -> Vec<Scenario> {
    vec![
        scenario("FS-LINK-1-names", "A second name is the same inode")
            .file("f", "x")
            .link("f", "g")
            .stat("f")
            .stat("g")
            .chmod("g", 0o600)
            .open(1, "g", BOTH)
            .write(1, "yz")
            .stat("f")
            .unlink("f")
            .stat("g"),
        scenario("FS-LINK-1-symlink", "A symlink itself can be linked, or what it leads to")
            .file("f", "")
            .symlink("f", "s")
            .link("s", "t")
            .lstat("t")
            .link_followed("s", "g")
            .lstat("g"),
        scenario("FS-LINK-2-errors", "EEXIST, EPERM for a directory, ENOENT")
            .file("f", "")
            .mkdir("d")
            .link("f", "d")
            .link("f", "f")
            .link("d", "e")
            .link("d", "f")
            .link("none", "g")
            .link("f", "none/g")
            .link("f", "f/g"),
        scenario("FS-LINK-2-without-a-name", "What has lost its last name gets none again")
            .file("f", "x")
            .open(1, "f", READ)
            .link_handle(1, "g")
            .unlink("f")
            .unlink("g")
            .link_handle(1, "h")
            .fstat(1),
    ]
}

fn unlinking() -> Vec<Scenario> {
    vec![
        scenario("FS-UNLINK-1-last-name", "The name is gone, and what is open lives on without one")
            .file("f", "content")
            .open(1, "f", BOTH)
            .unlink("f")
            .stat("f")
            .fstat(1)
            .read(1, 20)
            .write(1, " grows")
            .fstat(1)
            .file("f", "another")
            .pread(1, 0, 50)
            .close(1)
            .stat("f"),
        scenario("FS-UNLINK-2-errors", "ENOENT, EACCES, EISDIR")
            .mkdir("d")
            .unlink("none")
            .unlink("d")
            .mkdir_mode("closed", 0o755)
            .file("closed/f", "")
            .by(USER)
            .unlink("closed/f")
            .unlink("closed/none"),
        scenario("FS-UNLINK-3-other-names", "Other names and the content are not affected")
            .file("f", "x")
            .link("f", "g")
            .link("f", "h")
            .unlink("g")
            .stat("f")
            .open(1, "h", READ)
            .read(1, 10),
        scenario("FS-UNLINK-1-symlink", "A symlink is removed itself")
            .file("f", "")
            .symlink("f", "s")
            .unlink("s")
            .stat("f")
            .lstat("s"),
    ]
}

fn removing() -> Vec<Scenario> {
    vec![
        scenario("FS-RMDIR-1-open", "A removed directory that is open has no links and no entries")
            .mkdir("d")
            .open(1, "d", FOLDER)
            .rmdir("d")
            .fstat(1)
            .readdir(1, 10)
            .stat("d")
            .stat("/"),
        scenario("FS-RMDIR-2-errors", "ENOENT, EACCES, ENOTDIR, ENOTEMPTY")
            .rmdir("none")
            .file("f", "")
            .rmdir("f")
            .symlink("d", "s")
            .mkdir("d")
            .rmdir("s")
            .file("d/f", "")
            .rmdir("d")
            .by(USER)
            .mkdir("own")
            .by(ROOT)
            .mkdir_mode("closed", 0o755)
            .mkdir("closed/d")
            .by(USER)
            .rmdir("closed/d"),
        scenario("FS-RMDIR-3-any-entry", "Any entry makes a directory not empty")
            .mkdir("d")
            .symlink("none", "d/s")
            .rmdir("d")
            .rename("d/s", "s")
            .mknod("d/p", FileKind::Fifo, 0)
            .rmdir("d")
            .unlink("d/p")
            .mkdir("d/e")
            .rmdir("d")
            .rmdir("d/e")
            .rmdir("d"),
        scenario("FS-RMDIR-4-again", "mkdir and rmdir of one name can be repeated")
            .mkdir("d")
            .stat("d")
            .rmdir("d")
            .mkdir("d")
            .stat("d")
            .rmdir("d")
            .stat("/"),
    ]
}
