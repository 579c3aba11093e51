//! rename in all its forms: FS-RENAME.

use agentfs_model::call::RenameFlags;
use agentfs_model::values::FileKind;

use super::scenario::{FOLDER, READ, ROOT, Scenario, USER, at, scenario};

const NOREPLACE: RenameFlags = RenameFlags::NOREPLACE;
const EXCHANGE: RenameFlags = RenameFlags::EXCHANGE;

pub(super) fn scenarios() -> Vec<Scenario> {
    [moved(), flags(), refused(), kept()].concat()
}

fn moved() -> Vec<Scenario> {
    vec![
        scenario("FS-RENAME-1-move", "The new name names what the old one did, which is gone")
            .mkdir("a")
            .mkdir("b")
            .file("a/f", "x")
            .stat("a/f")
            .rename("a/f", "b/g")
            .stat("b/g")
            .stat("a/f")
            .mkdir("a/d")
            .rename("a/d", "b/d")
            .stat("b/d")
            .stat("a")
            .stat("b"),
        scenario("FS-RENAME-1-replace", "What the new name named before loses that name")
            .file("f", "new")
            .file("g", "old")
            .link("g", "h")
            .open(1, "g", READ)
            .rename("f", "g")
            .stat("g")
            .stat("h")
            .read(1, 10)
            .unlink("h")
            .fstat(1),
        scenario("FS-RENAME-2-kinds", "Anything but a directory replaces anything but a directory")
            .file("f", "")
            .symlink("none", "s")
            .mknod("p", FileKind::Fifo, 0)
            .rename("f", "s")
            .rename("s", "p")
            .stat("p")
            .symlink("p", "t")
            .rename("t", "p")
            .lstat("p"),
        scenario("FS-RENAME-2-empty-directory", "A directory replaces an empty directory")
            .mkdir("d")
            .file("d/f", "")
            .mkdir("e")
            .open(1, "e", FOLDER)
            .rename("d", "e")
            .stat("e/f")
            .stat("/")
            .fstat(1)
            .stat(at(1, "f")),
        scenario("FS-RENAME-3-same-inode", "Between two names of one inode nothing changes")
            .file("f", "")
            .link("f", "g")
            .rename("f", "g")
            .stat("f")
            .stat("g")
            .rename("f", "f")
            .rename_with("f", "g", EXCHANGE)
            .rename_with("f", "g", NOREPLACE)
            .mkdir("d")
            .rename("d", "d"),
        scenario("FS-RENAME-3-whatever-the-permissions", "Nothing changes, so no permission is needed")
            .mkdir_mode("d", 0o755)
            .file("d/f", "")
            .link("d/f", "d/g")
            .by(USER)
            .rename("d/f", "d/g")
            .rename("d/f", "d/f"),
    ]
}

fn flags() -> Vec<Scenario> {
    vec![
        scenario("FS-RENAME-4-noreplace", "With NOREPLACE an existing target is EEXIST, and nothing changes")
            .file("f", "f")
            .file("g", "g")
            .mkdir("d")
            .rename_with("f", "g", NOREPLACE)
            .rename_with("f", "d", NOREPLACE)
            .rename_with("f", "h", NOREPLACE)
            .stat("h")
            .stat("g"),
        scenario("FS-RENAME-5-exchange", "With EXCHANGE the two swap, whatever their kinds")
            .mkdir("a")
            .mkdir("a/d")
            .file("a/d/inside", "")
            .mkdir("b")
            .file("b/f", "x")
            .rename_with("a/d", "b/f", EXCHANGE)
            .stat("a/d")
            .stat("b/f")
            .stat("b/f/inside")
            .stat("a")
            .stat("b")
            .symlink("none", "s")
            .rename_with("s", "a/d", EXCHANGE)
            .lstat("a/d")
            .stat("s"),
        scenario("FS-RENAME-5-not-empty", "An exchange does not ask whether directories are empty")
            .mkdir("a")
            .file("a/f", "")
            .mkdir("b")
            .file("b/g", "")
            .rename_with("a", "b", EXCHANGE)
            .stat("a/g")
            .stat("b/f"),
    ]
}

fn refused() -> Vec<Scenario> {
    vec![
        scenario("FS-RENAME-6-flags", "NOREPLACE with EXCHANGE is EINVAL")
            .file("f", "")
            .rename_with("f", "g", NOREPLACE | EXCHANGE)
            .rename_with("none", "g", NOREPLACE | EXCHANGE),
        scenario("FS-RENAME-6-parents", "Parents that are none: ENOTDIR, EACCES, ENOENT")
            .file("f", "")
            .mkdir_mode("closed", 0o700)
            .rename("f", "f/g")
            .rename("f/g", "h")
            .rename("f", "none/g")
            .rename("none/f", "g")
            .by(USER)
            .rename("closed/f", "g"),
        scenario(
            "FS-RENAME-6-missing",
            "ENOENT for an old name, and with EXCHANGE for a new one, that is not there",
        )
        .file("f", "")
        .rename("none", "f")
        .rename_with("none", "f", NOREPLACE)
        .rename_with("f", "none", EXCHANGE)
        .stat("f"),
        scenario("FS-RENAME-6-ancestor", "A directory is not moved into itself or below itself")
            .mkdir("a")
            .mkdir("a/b")
            .mkdir("a/b/c")
            .rename("a", "a/x")
            .rename("a", "a/b/c/x")
            .rename("a", "a/b")
            .rename_with("a", "a/b/c", EXCHANGE)
            .rename_with("a/b/c", "a", EXCHANGE)
            .stat("a/b/c"),
        scenario("FS-RENAME-6-descendant", "Onto a directory above it nothing is moved: ENOTEMPTY")
            .mkdir("a")
            .mkdir("a/b")
            .file("a/b/f", "")
            .rename("a/b/f", "a")
            .rename("a/b/f", "a/b")
            .rename("a/b", "a")
            .stat("a/b/f"),
        scenario(
            "FS-RENAME-6-kinds",
            "A directory onto something else is ENOTDIR, something else onto a directory EISDIR",
        )
        .mkdir("d")
        .file("f", "")
        .symlink("d", "s")
        .rename("d", "f")
        .rename("f", "d")
        .rename("d", "s")
        .rename("s", "d")
        .stat("d"),
        scenario("FS-RENAME-6-not-empty", "A directory with entries is not replaced")
            .mkdir("d")
            .mkdir("e")
            .file("e/f", "")
            .rename("d", "e")
            .stat("d"),
        scenario("FS-RENAME-6-permissions", "Write permission on both parents; sticky directories")
            .umask(0)
            .mkdir_mode("open", 0o777)
            .mkdir_mode("closed", 0o755)
            .mkdir_mode("sticky", 0o1777)
            .file("open/f", "")
            .file("closed/f", "")
            .file("sticky/f", "")
            .by(USER)
            .rename("closed/f", "open/g")
            .rename("open/f", "closed/g")
            .rename("sticky/f", "open/g")
            .rename("open/f", "sticky/f")
            .rename("open/f", "sticky/g")
            .by(ROOT)
            .stat("sticky/g"),
        scenario("FS-RENAME-6-removed", "Into a directory that has been removed: ENOENT")
            .mkdir("d")
            .open(1, "d", FOLDER)
            .rmdir("d")
            .file("f", "")
            .rename("f", at(1, "f"))
            .rename(at(1, "f"), "g")
            .stat("f"),
        scenario(
            "FS-RENAME-6-order",
            "What the old name is comes before the new name, kinds come after permissions",
        )
        .mkdir("d")
        .file("d/f", "")
        .mkdir_mode("closed", 0o755)
        .file("closed/f", "")
        .by(USER)
        .rename("closed/none", "d")
        .rename("d", "closed/f")
        .rename_with("closed/f", "d", NOREPLACE)
        .mkdir("own")
        .rename("own", "closed/f"),
    ]
}

fn kept() -> Vec<Scenario> {
    vec![
        scenario("FS-RENAME-7-position", "A name that is replaced keeps its position in listings")
            .mkdir("d")
            .file("d/a", "")
            .file("d/b", "")
            .file("d/c", "")
            .open(1, "d", FOLDER)
            .readdir(1, 1)
            .rename("d/c", "d/b")
            .readdir(1, 10)
            .readdir(1, 10)
            .file("d/e", "")
            .rename("d/a", "d/z")
            .list("d"),
        scenario(
            "FS-RENAME-7-saved-while-listed",
            "Who saves each file that a listing returns comes to an end",
        )
        .mkdir("d")
        .file("d/a", "1")
        .file("d/b", "1")
        .open(1, "d", FOLDER)
        .readdir(1, 1)
        .file("d/new", "2")
        .rename("d/new", "d/a")
        .readdir(1, 1)
        .file("d/new", "2")
        .rename("d/new", "d/b")
        .readdir(1, 1)
        .readdir(1, 1),
        scenario("FS-RENAME-8-unaffected", "Numbers, content, attributes and what is open are not affected")
            .file("f", "content")
            .chmod("f", 0o640)
            .chown("f", Some(1000), Some(1000))
            .setxattr("f", "user.a", "v")
            .open(1, "f", READ)
            .stat("f")
            .rename("f", "g")
            .stat("g")
            .fstat(1)
            .read(1, 20)
            .getxattr("g", "user.a"),
        scenario("FS-RENAME-9-replaced", "What is replaced and open lives on without a name")
            .file("f", "new")
            .file("g", "old")
            .open(1, "g", READ)
            .rename("f", "g")
            .fstat(1)
            .read(1, 10)
            .mkdir("d")
            .mkdir("e")
            .open(2, "e", FOLDER)
            .rename("d", "e")
            .fstat(2)
            .mkdir(at(2, "x")),
    ]
}
