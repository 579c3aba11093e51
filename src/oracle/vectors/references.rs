//! Link counts, and what lives on without a name: FS-NLINK, FS-REAP, FS-STATFS.

use super::scenario::{BOTH, CREATE, FOLDER, READ, Scenario, at, scenario};

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        scenario("FS-NLINK-1-names", "A file has as many links as names")
            .file("f", "")
            .stat("f")
            .link("f", "g")
            .link("f", "h")
            .stat("f")
            .file("other", "")
            .rename("other", "g")
            .stat("f")
            .unlink("h")
            .stat("f"),
        scenario("FS-NLINK-2-directories", "A directory shows 2 and its subdirectories")
            .stat("/")
            .mkdir("d")
            .stat("d")
            .stat("/")
            .mkdir("d/a")
            .mkdir("d/b")
            .file("d/f", "")
            .symlink("a", "d/s")
            .stat("d")
            .rename("d/a", "a")
            .stat("d")
            .stat("/")
            .rmdir("d/b")
            .stat("d")
            .open(1, "a", FOLDER)
            .rmdir("a")
            .fstat(1)
            .stat("/"),
        scenario("FS-NLINK-2-replaced", "A directory that is replaced is one less of its parent's")
            .mkdir("d")
            .mkdir("d/a")
            .mkdir("d/b")
            .stat("d")
            .rename("d/a", "d/b")
            .stat("d")
            .mkdir("e")
            .rename("d/b", "e/b")
            .stat("d")
            .stat("e"),
        scenario("FS-NLINK-4-root", "The root stays, however often its last subdirectory goes")
            .mkdir("d")
            .rmdir("d")
            .stat("/")
            .mkdir("d")
            .rmdir("d")
            .stat("/")
            .reopen(false)
            .stat("/"),
        scenario(
            "FS-REAP-1-works-as-before",
            "Without a name everything works that is done through the handle",
        )
        .file("f", "0123456789")
        .setxattr("f", "user.a", "1")
        .open(1, "f", BOTH)
        .unlink("f")
        .pwrite(1, 2, "xx")
        .pread(1, 0, 20)
        .ftruncate(1, 5)
        .fstat(1)
        .fchmod(1, 0o600)
        .fsync(1)
        .fstat(1),
        scenario("FS-REAP-1-two-handles", "What has no name lives until its last handle is closed")
            .file("f", "x")
            .open(1, "f", READ)
            .open(2, "f", READ)
            .unlink("f")
            .close(1)
            .read(2, 10)
            .fstat(2)
            .close(2)
            .stat("f"),
        scenario("FS-REAP-1-directory", "A removed directory that is open is a place where nothing is")
            .mkdir("d")
            .open(1, "d", FOLDER)
            .rmdir("d")
            .fstat(1)
            .stat(at(1, "."))
            .mkdir(at(1, "e"))
            .fchmod(1, 0o700)
            .fstat(1),
        scenario("FS-REAP-4-number", "A file that replaces one that is gone is another")
            .file("f", "old")
            .stat("f")
            .unlink("f")
            .file("f", "new")
            .stat("f")
            .open(1, "f", READ)
            .read(1, 10),
        scenario(
            "FS-REAP-6-reopened",
            "Opening again leaves nothing of what had no name, and all that had one",
        )
        .file("f", "gone")
        .file("g", "stays")
        .open(1, "f", BOTH)
        .unlink("f")
        .reopen(false)
        .stat("f")
        .stat("g")
        .open(1, "f", CREATE)
        .fstat(1),
        scenario(
            "FS-STATFS-3-numbers",
            "Free is at most all, available at most free, and names have 255 bytes",
        )
        .statfs()
        .file("f", "x")
        .statfs(),
    ]
}
