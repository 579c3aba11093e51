//! Which call moves which time: FS-TIME.

use agentfs_model::call::{FallocateMode, OpenFlags, RenameFlags, TimeChange, Whence};
use agentfs_model::values::FileKind;

use super::attributes::time;
use super::scenario::{BOTH, FOLDER, READ, Scenario, WRITE, scenario};

/// A file `f` in a directory `d`, and the status of both.
fn begin(name: &'static str, about: &'static str) -> Scenario {
    both(scenario(name, about).mkdir("d").file("d/f", "0123456789"))
}

fn both(scenario: Scenario) -> Scenario {
    scenario.lstat("d/f").stat("d")
}

pub(super) fn scenarios() -> Vec<Scenario> {
    [of_names(), of_content(), of_attributes(), of_nothing(), relative()].concat()
}

fn of_names() -> Vec<Scenario> {
    vec![
        scenario("FS-TIME-2-one-moment", "All times that one call sets are the same")
            .mkdir("d")
            .file("d/f", "")
            .stat("d/f")
            .stat("d"),
        begin("FS-TIME-3-create", "What is made gets three times, its parent mtime and ctime")
            .mkdir("d/e")
            .stat("d/e")
            .stat("d")
            .symlink("t", "d/s")
            .lstat("d/s")
            .stat("d")
            .mknod("d/p", FileKind::Fifo, 0)
            .stat("d/p")
            .stat("d"),
        both(
            begin("FS-TIME-3-link", "link: ctime of the inode, mtime and ctime of the parent")
                .link("d/f", "d/g"),
        ),
        begin("FS-TIME-3-unlink", "unlink: ctime of what was removed, mtime and ctime of the parent")
            .open(1, "d/f", READ)
            .unlink("d/f")
            .fstat(1)
            .stat("d"),
        begin("FS-TIME-3-rmdir", "rmdir: ctime of what was removed, mtime and ctime of the parent")
            .mkdir("d/e")
            .open(1, "d/e", FOLDER)
            .rmdir("d/e")
            .fstat(1)
            .stat("d"),
        begin("FS-TIME-3-rename", "rename: both parents, and ctime of what moved and of what was replaced")
            .mkdir("e")
            .file("e/g", "")
            .open(1, "e/g", READ)
            .rename("d/f", "e/g")
            .stat("e/g")
            .fstat(1)
            .stat("d")
            .stat("e"),
        begin("FS-TIME-3-exchange", "exchange: both parents, and ctime of both inodes")
            .mkdir("e")
            .mkdir("e/g")
            .rename_with("d/f", "e/g", RenameFlags::EXCHANGE)
            .stat("d/f")
            .stat("e/g")
            .stat("d")
            .stat("e"),
        both(
            begin("FS-TIME-3-rename-to-itself", "rename to a name of the same inode moves no time")
                .link("d/f", "d/g")
                .stat("d"),
        )
        .rename("d/f", "d/g")
        .stat("d/f")
        .stat("d"),
    ]
}

fn of_content() -> Vec<Scenario> {
    vec![
        begin("FS-TIME-3-write", "write of at least one byte: mtime and ctime; of none: nothing")
            .open(1, "d/f", WRITE)
            .write(1, "x")
            .stat("d/f")
            .write(1, "")
            .pwrite(1, 3, "")
            .stat("d/f")
            .stat("d"),
        both(
            begin("FS-TIME-3-truncate", "truncate: mtime and ctime, also when the size stays")
                .truncate("d/f", 10),
        )
        .truncate("d/f", 3)
        .stat("d/f"),
        begin(
            "FS-TIME-3-open",
            "open moves no time, with truncation mtime and ctime of a file that was empty too",
        )
        .open(1, "d/f", BOTH)
        .stat("d/f")
        .open(2, "d/f", WRITE.union(OpenFlags::TRUNCATE))
        .stat("d/f")
        .open(3, "d/f", WRITE.union(OpenFlags::TRUNCATE))
        .stat("d/f")
        .stat("d"),
        begin("FS-TIME-3-fallocate", "fallocate: mtime and ctime, also when it changed no byte")
            .open(1, "d/f", WRITE)
            .fallocate(1, FallocateMode::empty(), 0, 5)
            .stat("d/f")
            .fallocate(1, FallocateMode::KEEP_SIZE, 0, 5)
            .stat("d/f"),
        begin("FS-TIME-3-copy", "copy: mtime and ctime of the target; of no bytes: nothing")
            .file("d/t", "")
            .open(1, "d/f", READ)
            .open(2, "d/t", BOTH)
            .copy((1, 0), (2, 0), 5)
            .stat("d/t")
            .copy((1, 0), (2, 0), 0)
            .copy((1, 10), (2, 0), 5)
            .stat("d/t"),
    ]
}

fn of_attributes() -> Vec<Scenario> {
    vec![
        both(begin("FS-TIME-3-chmod", "chmod: ctime").chmod("d/f", 0o600)),
        both(begin("FS-TIME-3-chown", "chown: ctime").chown("d/f", Some(1000), Some(1000))),
        begin("FS-TIME-3-xattrs", "setxattr and removexattr: ctime; getxattr and listxattr: nothing")
            .setxattr("d/f", "user.a", "1")
            .stat("d/f")
            .getxattr("d/f", "user.a")
            .listxattr("d/f")
            .stat("d/f")
            .removexattr("d/f", "user.a")
            .stat("d/f"),
        begin("FS-TIME-3-utimens", "utimens: the times that it sets, and ctime")
            .utimens("d/f", time(1, 2), TimeChange::Omit)
            .stat("d/f")
            .utimens("d/f", TimeChange::Omit, time(3, 4))
            .stat("d/f")
            .utimens("d/f", TimeChange::Now, TimeChange::Now)
            .stat("d/f"),
    ]
}

fn of_nothing() -> Vec<Scenario> {
    vec![
        both(
            begin("FS-TIME-3-nothing", "Looking, opening and seeking move no time")
                .stat("d/f")
                .access("d/f", agentfs_model::call::AccessMode::READ)
                .open(1, "d/f", BOTH)
                .open(2, "d", FOLDER)
                .seek(1, 5, Whence::Set)
                .seek(1, 0, Whence::Data)
                .statfs()
                .fsync(1)
                .close(1),
        ),
        both(
            begin("FS-TIME-3-refused", "What is refused moves no time")
                .mkdir("d/f")
                .rmdir("d")
                .rename("d", "d/e")
                .link("d", "d/g")
                .unlink("d/none")
                .truncate("d/f", 1 << 63),
        ),
    ]
}

fn relative() -> Vec<Scenario> {
    const DAY: i64 = 24 * 60 * 60;
    vec![
        begin(
            "FS-TIME-4-relative",
            "A read moves atime when that is not later than mtime or ctime, or a day old",
        )
        .open(1, "d/f", READ)
        .read(1, 4)
        .stat("d/f")
        .read(1, 4)
        .stat("d/f")
        .chmod("d/f", 0o600)
        .read(1, 4)
        .stat("d/f")
        .later(DAY)
        .pread(1, 0, 1)
        .stat("d/f"),
        begin("FS-TIME-4-at-the-end", "A read at the end of the file is a read; a read of no bytes is none")
            .open(1, "d/f", READ)
            .pread(1, 0, 0)
            .stat("d/f")
            .pread(1, 1000, 5)
            .stat("d/f"),
        begin(
            "FS-TIME-4-readdir",
            "A listing moves atime of the directory, and following a symlink that of the symlink",
        )
        .open(1, "d", FOLDER)
        .readdir(1, 10)
        .stat("d")
        .symlink("f", "d/s")
        .stat("d/s")
        .lstat("d/s")
        .readlink("d/s")
        .lstat("d/s"),
        begin(
            "FS-TIME-5-seen-at-once",
            "An access time that a read moved is seen by the next stat, and after reopening",
        )
        .open(1, "d/f", READ)
        .read(1, 1)
        .fstat(1)
        .reopen(false)
        .stat("d/f"),
        begin("FS-TIME-6-explicit", "An access time that is set wins over an earlier read")
            .open(1, "d/f", READ)
            .read(1, 1)
            .utimens("d/f", time(1, 2), TimeChange::Omit)
            .stat("d/f")
            .reopen(false)
            .stat("d/f"),
        begin("FS-TIME-8-ctime", "ctime is the last change of content or attributes and cannot be set back")
            .utimens("d/f", time(1, 0), time(1, 0))
            .stat("d/f")
            .rename("d/f", "d/g")
            .stat("d/g"),
    ]
}
