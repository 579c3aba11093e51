//! Attributes and what changes them: FS-ATTR, FS-ERR.

use agentfs_model::call::{AccessMode, TimeChange};
use agentfs_model::values::{FileKind, Timestamp};

use super::scenario::{BOTH, CREATE, FOLDER, READ, Scenario, USER, raw, scenario};

/// A time to set.
pub(super) const fn time(seconds: i64, nanoseconds: u32) -> TimeChange {
    TimeChange::At(Timestamp { seconds, nanoseconds })
}

pub(super) fn scenarios() -> Vec<Scenario> {
    [shown(), changed(), refused(), order()].concat()
}

fn shown() -> Vec<Scenario> {
    vec![
        scenario("FS-ATTR-1-at-once", "stat shows what every call before it has made")
            .open(1, "f", CREATE)
            .stat("f")
            .write(1, "12345")
            .stat("f")
            .chmod("f", 0o600)
            .stat("f")
            .link("f", "g")
            .fstat(1)
            .unlink("f")
            .stat("g")
            .stat("f"),
        scenario("FS-ATTR-2-sizes", "A directory shows 4096, a symlink the length of its target")
            .mkdir("d")
            .symlink("0123456789", "s")
            .mknod("p", FileKind::Fifo, 0)
            .stat("d")
            .lstat("s")
            .stat("p")
            .stat("/"),
        scenario("FS-ATTR-3-blocks", "blocks count the bytes that are stored, holes left out")
            .open(1, "f", CREATE)
            .fstat(1)
            .write(1, "x")
            .fstat(1)
            .pwrite(1, 200_000, "y")
            .fstat(1)
            .ftruncate(1, 1_000_000)
            .fstat(1)
            .ftruncate(1, 0)
            .fstat(1)
            .mkdir("d")
            .stat("d")
            .open(2, "d", FOLDER)
            .rmdir("d")
            .fstat(2),
    ]
}

fn changed() -> Vec<Scenario> {
    vec![
        scenario("FS-ATTR-5-nothing", "A change of owner to nobody sets ctime")
            .file("f", "")
            .stat("f")
            .chown("f", None, None)
            .stat("f"),
        scenario(
            "FS-ATTR-8-who-may-write",
            "Both times to the present: whoever may write; anything else: the owner",
        )
        .file_mode("f", "", 0o600)
        .chmod("f", 0o606)
        .by(USER)
        .utimens("f", TimeChange::Now, TimeChange::Now)
        .utimens("f", TimeChange::Now, TimeChange::Omit)
        .utimens("f", TimeChange::Omit, TimeChange::Now)
        .utimens("f", time(1, 0), time(1, 0))
        .by(0)
        .chmod("f", 0o600)
        .by(USER)
        .utimens("f", TimeChange::Now, TimeChange::Now)
        .stat("f"),
        scenario("FS-ATTR-9-any-time", "Times have any second and any nanosecond, also before 1970")
            .file("f", "")
            .utimens("f", time(-1, 999_999_999), time(-2_000_000_000, 1))
            .stat("f")
            .utimens("f", time(0, 0), time(10_000_000_000, 123_456_789))
            .stat("f")
            .utimens("f", TimeChange::Omit, time(5, 5))
            .stat("f"),
        scenario("FS-ATTR-9-farthest", "Every 64-bit second is a time")
            .of_agentfs()
            .file("f", "")
            .utimens("f", time(i64::MIN, 0), time(i64::MAX, 999_999_999))
            .stat("f"),
        scenario("FS-ATTR-10-twelve-bits", "chmod changes the twelve permission bits and nothing else")
            .file("f", "")
            .chmod("f", 0o7777)
            .stat("f")
            .chmod("f", 0o170_644)
            .stat("f")
            .mkdir("d")
            .chmod("d", 0o1000)
            .stat("d"),
        scenario("FS-ATTR-11-access", "access says whether the caller has all the kinds of access asked for")
            .file_mode("f", "", 0o640)
            .mkdir_mode("d", 0o700)
            .access("f", AccessMode::empty())
            .access("f", AccessMode::READ | AccessMode::WRITE)
            .access("f", AccessMode::EXECUTE)
            .access("none", AccessMode::empty())
            .by(USER)
            .access("f", AccessMode::empty())
            .access("f", AccessMode::READ)
            .access("d", AccessMode::EXECUTE),
    ]
}

fn refused() -> Vec<Scenario> {
    vec![
        scenario("FS-ATTR-7-symlink-permissions", "The permissions of a symlink cannot be changed")
            .symlink("f", "s")
            .lchmod("s", 0o600)
            .lstat("s"),
        scenario("FS-ATTR-7-sizes", "Only a regular file has a size to set")
            .mkdir("d")
            .mknod("p", FileKind::Fifo, 0)
            .truncate("d", 0)
            .truncate("p", 0)
            .truncate("none", 0),
        scenario("FS-ATTR-7-nanoseconds", "Nanoseconds above 999999999 are EINVAL")
            .file("f", "")
            .utimens("f", time(0, 1_000_000_000), TimeChange::Omit)
            .stat("f"),
        scenario("FS-ATTR-7-not-the-owner", "EACCES where permission is missing, EPERM where ownership is")
            .file_mode("f", "x", 0o644)
            .by(USER)
            .truncate("f", 0)
            .utimens("f", TimeChange::Now, TimeChange::Now)
            .utimens("f", time(1, 1), time(1, 1))
            .chmod("f", 0o777)
            .chown("f", Some(1000), None)
            .chown("f", None, Some(1000))
            .stat("f"),
    ]
}

fn order() -> Vec<Scenario> {
    vec![
        scenario("FS-ERR-1-values-first", "Values that are wrong come before what does not exist")
            .utimens("none", time(0, 2_000_000_000 - 1), TimeChange::Omit)
            .setxattr("none", "", "v")
            .rename_with("none", "none", agentfs_model::call::RenameFlags::all())
            .truncate("none", 1 << 63)
            .symlink("", "none/s"),
        scenario("FS-ERR-1-search-first", "Search permission comes before the name that is looked for")
            .mkdir_mode("closed", 0o700)
            .file("closed/f", "")
            .by(USER)
            .mkdir("closed/f")
            .unlink("closed/none")
            .rename("closed/f", "g")
            .rename("none", "closed/f"),
        scenario("FS-ERR-1-exists-before-read-only", "On what is read-only, EEXIST comes before EROFS")
            .mkdir("d")
            .file("f", "")
            .reopen(true)
            .mkdir("d")
            .mkdir("e")
            .symlink("t", "f")
            .link("f", "d")
            .link("f", "g")
            .unlink("f")
            .unlink("none")
            .open(1, "f", BOTH)
            .open(2, "f", READ)
            .open(3, "new", CREATE)
            .chmod("f", 0o600)
            .truncate("f", 1),
        scenario("FS-ERR-3-superuser", "User 0 is refused nothing by permission bits")
            .by(USER)
            .mkdir_mode("d", 0o000)
            .by(0)
            .file_mode("d/f", "x", 0o000)
            .open(1, "d/f", BOTH)
            .read(1, 10)
            .chown("d/f", Some(1001), Some(1001))
            .chmod("d/f", 0o640)
            .unlink("d/f")
            .stat(raw(b"d")),
    ]
}
