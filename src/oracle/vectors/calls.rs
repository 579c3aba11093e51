//! What system calls add, and what survives: CALL, OPEN, DUR, FMT.

use agentfs_model::call::{AccessMode, OpenFlags, TimeChange, Whence};
use agentfs_model::values::FileKind;

use super::attributes::time;
use super::scenario::{BOTH, CREATE, FOLDER, MEMBER, READ, ROOT, Scenario, USER, WRITE, at, raw, scenario};

const APPEND: OpenFlags = OpenFlags::APPEND;

pub(super) fn scenarios() -> Vec<Scenario> {
    [handles(), offsets(), special(), refused(), lasting()].concat()
}

fn handles() -> Vec<Scenario> {
    vec![
        scenario("CALL-1-not-open", "A handle that is not open is EBADF")
            .read(7, 1)
            .write(7, "x")
            .pread(7, 0, 1)
            .close(7)
            .fsync(7)
            .fdatasync(7)
            .fstat(7)
            .ftruncate(7, 0)
            .readdir(7, 1)
            .seekdir(7, 0)
            .seek(7, 0, Whence::Set)
            .stat(at(7, "f"))
            .mkdir(at(7, "d"))
            .link_handle(7, "f")
            .fchmod(7, 0o600),
        scenario("CALL-1-not-opened-for-it", "A handle that was not opened for what the call needs is EBADF")
            .file("f", "x")
            .open(1, "f", READ)
            .open(2, "f", WRITE)
            .write(1, "y")
            .pwrite(1, 0, "y")
            .read(2, 1)
            .pread(2, 0, 1),
        scenario("CALL-1-closed", "A closed handle is not open, and its number can be used again")
            .file("f", "x")
            .open(1, "f", READ)
            .close(1)
            .read(1, 1)
            .close(1)
            .open(1, "f", READ)
            .read(1, 1),
        scenario("CALL-1-of-the-process", "A handle belongs to the process that opened it")
            .file("f", "x")
            .open(1, "f", READ)
            .by(USER)
            .read(1, 1)
            .open(1, "f", READ)
            .read(1, 1)
            .by(ROOT)
            .read(1, 1),
    ]
}

fn offsets() -> Vec<Scenario> {
    vec![
        scenario("CALL-2-offsets", "read and write move the offset, pread and pwrite leave it")
            .file("f", "0123456789")
            .open(1, "f", BOTH)
            .read(1, 2)
            .pread(1, 5, 2)
            .read(1, 2)
            .write(1, "xx")
            .pwrite(1, 0, "yy")
            .read(1, 2)
            .seek(1, 0, Whence::Current),
        scenario("CALL-2-append", "An appending write leaves the offset after what it wrote")
            .file("f", "0123")
            .open(1, "f", BOTH.union(APPEND))
            .write(1, "45")
            .seek(1, 0, Whence::Current)
            .seek(1, 1, Whence::Set)
            .read(1, 2)
            .pwrite(1, 0, "67")
            .seek(1, 0, Whence::Current)
            .pread(1, 0, 20),
        scenario("CALL-2-descriptions", "Each open has an offset of its own")
            .file("f", "0123456789")
            .open(1, "f", READ)
            .open(2, "f", READ)
            .read(1, 4)
            .read(2, 2)
            .read(1, 2),
        scenario("CALL-3-negative", "Offsets and sizes above 2^63 - 1 are EINVAL")
            .file("f", "x")
            .open(1, "f", BOTH)
            .pread(1, 1 << 63, 1)
            .pwrite(1, 1 << 63, "x")
            .truncate("f", 1 << 63)
            .ftruncate(1, u64::MAX)
            .seek(1, -1, Whence::Set)
            .seek(1, i64::MIN, Whence::Current)
            .seek(1, i64::MAX, Whence::End)
            .seek(1, i64::MAX, Whence::Set)
            .fstat(1),
    ]
}

/// What the calls have in common, call by call: the path is walked in the same way for all.
fn refused() -> Vec<Scenario> {
    let through = |name, about, path: &str| {
        scenario(name, about)
            .symlink("loop", "loop")
            .file("f", "")
            .open(1, "f", READ)
            .stat(path)
            .access(path, AccessMode::READ)
            .truncate(path, 1)
            .chmod(path, 0o600)
            .chown(path, Some(0), None)
            .utimens(path, TimeChange::Now, TimeChange::Now)
            .mkdir(path)
            .mknod(path, FileKind::Fifo, 0)
            .symlink("t", path)
            .link("f", path)
            .link(path, "g")
            .link_handle(1, path)
            .unlink(path)
            .rmdir(path)
            .rename("f", path)
            .rename(path, "g")
            .readlink(path)
            .getxattr(path, "user.a")
            .setxattr(path, "user.a", "x")
            .listxattr(path)
            .removexattr(path, "user.a")
            .open(2, path, READ)
    };
    vec![
        through("CALL-11-through-a-loop", "A loop of symlinks on the way is ELOOP to every call", "loop/x"),
        through("CALL-11-through-a-file", "A file on the way is ENOTDIR to every call", "f/x"),
        through(
            "CALL-11-through-a-long-name",
            "A name of 256 bytes is ENAMETOOLONG to every call",
            &"n".repeat(256),
        ),
        scenario("CALL-11-read-only", "In a database that is only read, every change is EROFS")
            .file("f", "")
            .symlink("f", "s")
            .reopen(true)
            .lchmod("s", 0o600)
            .open(1, "f", READ)
            .link_handle(1, "g")
            .access("f", AccessMode::WRITE)
            .mknod("g", FileKind::Fifo, 0)
            .link("f", "g")
            .setxattr("f", "user.a", "x")
            .removexattr("f", "user.a")
            .chmod("f", 0o600)
            .stat("f"),
        scenario("CALL-11-not-searched", "Names below a directory that may not be searched are EACCES")
            .mkdir_mode("d", 0o700)
            .file("d/f", "")
            .by(USER)
            .listxattr("d/f")
            .readlink("d/f")
            .mknod("d/g", FileKind::Fifo, 0)
            .chmod("d/f", 0o600)
            .chown("d/f", Some(1000), None),
    ]
}

fn special() -> Vec<Scenario> {
    vec![
        scenario("CALL-4-open", "CREATE with DIRECTORY is EINVAL; what open has made it also opens")
            .open(1, "d", CREATE.union(OpenFlags::DIRECTORY))
            .by(USER)
            .open_mode(2, "f", CREATE, 0o000)
            .write(2, "x")
            .pread(2, 0, 5)
            .open(3, "f", READ)
            .symlink("made", "s")
            .open(4, "s", CREATE.union(OpenFlags::EXCLUSIVE))
            .open(5, "s", CREATE.union(OpenFlags::NOFOLLOW))
            .stat("made"),
        scenario(
            "CALL-5-ftruncate",
            "Truncation by handle wants a regular file that is open for writing, and no permission",
        )
        .file("f", "0123")
        .mkdir("d")
        .open(1, "f", READ)
        .open(2, "f", WRITE)
        .open(3, "d", FOLDER)
        .ftruncate(1, 1)
        .ftruncate(3, 1)
        .chmod("f", 0o000)
        .ftruncate(2, 1)
        .fstat(2),
        scenario(
            "CALL-6-chown-to-nothing",
            "chown that changes nothing takes set-id bits away, if that is allowed",
        )
        .by(USER)
        .file_mode("f", "", 0o755)
        .chmod("f", 0o6755)
        .by(MEMBER)
        .chown("f", None, None)
        .stat("f")
        .by(USER)
        .chown("f", None, None)
        .stat("f")
        .by(MEMBER)
        .chown("f", None, None),
        scenario(
            "CALL-7-utimens-of-nothing",
            "utimens with both times omitted succeeds before anything is looked at",
        )
        .utimens("none", TimeChange::Omit, TimeChange::Omit)
        .file("f", "")
        .by(USER)
        .utimens("f", TimeChange::Omit, TimeChange::Omit)
        .stat("f"),
        scenario("CALL-8-rewound", "From the beginning a listing is a new one")
            .mkdir("d")
            .file("d/a", "")
            .file("d/b", "")
            .open(1, "d", FOLDER)
            .readdir(1, 10)
            .readdir(1, 10)
            .file("d/c", "")
            .seekdir(1, 0)
            .readdir(1, 10)
            .readdir(1, 10),
        scenario("CALL-12-refused", "What is refused changes nothing")
            .mkdir("d")
            .file("d/f", "x")
            .lchown("d", Some(1000), None)
            .stat("d")
            .rmdir("d")
            .mkdir("d")
            .rename("d", "d/e")
            .link("d", "e")
            .mknod("d/f", FileKind::Fifo, 0)
            .open(1, "d/f", CREATE.union(OpenFlags::EXCLUSIVE))
            .stat("d")
            .stat("d/f")
            .list("/"),
    ]
}

fn lasting() -> Vec<Scenario> {
    vec![
        scenario("OPEN-8-read-only", "What is opened read-only refuses every change and shows everything")
            .mkdir("d")
            .file("d/f", "x")
            .symlink("d/f", "s")
            .setxattr("d/f", "user.a", "1")
            .reopen(true)
            .stat("s")
            .list("d")
            .getxattr("d/f", "user.a")
            .mkdir("e")
            .unlink("d/f")
            .rmdir("d")
            .rename("d", "e")
            .symlink("t", "u")
            .chmod("d/f", 0o600)
            .chown("d/f", Some(1), None)
            .utimens("d/f", time(1, 1), time(1, 1))
            .setxattr("d/f", "user.a", "2")
            .removexattr("d/f", "user.a")
            .truncate("d/f", 0)
            .reopen(false)
            .unlink("d/f"),
        scenario("OPEN-9-reopened", "What was done is there after closing and opening again, exactly")
            .mkdir("d")
            .file("d/f", "content")
            .chmod("d/f", 0o4755)
            .chown("d", Some(1000), Some(1001))
            .symlink("f", raw(b"d/\xff"))
            .link("d/f", "g")
            .mknod("n", FileKind::CharDevice, 0x103)
            .setxattr("g", "user.a", "1")
            .utimens("g", time(-5, 5), time(6, 6))
            .stat("g")
            .stat("d")
            .list("d")
            .reopen(false)
            .stat("g")
            .stat("d")
            .stat("n")
            .list("d")
            .readlink(raw(b"d/\xff"))
            .getxattr("d/f", "user.a")
            .open(1, "g", READ)
            .read(1, 20),
        scenario("DUR-2-no-trace", "A call that fails leaves no trace, and those around it are not affected")
            .mkdir("a")
            .file("a/f", "x")
            .mkdir("b")
            .file("b/g", "y")
            .rename("a", "b")
            .rename("a/f", "b/g/h")
            .mkdir("c")
            .list("/")
            .stat("a")
            .stat("b")
            .reopen(false)
            .list("/"),
        scenario(
            "DUR-4-barriers",
            "fsync, fdatasync and sync succeed on what is open, files and directories",
        )
        .mkdir("d")
        .open(1, "d/f", CREATE)
        .open(2, "d", FOLDER)
        .write(1, "x")
        .fsync(1)
        .fdatasync(1)
        .fsync(2)
        .unlink("d/f")
        .fsync(1)
        .sync()
        .fstat(1),
        scenario("FMT-9-never-again", "A number of an inode that is gone does not come again")
            .file("a", "")
            .stat("a")
            .unlink("a")
            .file("b", "")
            .stat("b")
            .mkdir("c")
            .stat("c")
            .rmdir("c")
            .mkdir("c")
            .stat("c")
            .reopen(false)
            .unlink("b")
            .file("d", "")
            .stat("d"),
    ]
}
