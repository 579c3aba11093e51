//! Listings of directories, also while they change: FS-DIR.

use agentfs_model::values::FileKind;

use super::scenario::{FOLDER, READ, Scenario, USER, scenario};

/// A directory `d` with `a`, `b`, `c`, `e` in it, opened as handle 1.
fn four(name: &'static str, about: &'static str) -> Scenario {
    let made =
        scenario(name, about).mkdir("d").file("d/a", "").mkdir("d/b").symlink("t", "d/c").file("d/e", "");
    made.open(1, "d", FOLDER)
}

pub(super) fn scenarios() -> Vec<Scenario> {
    [listing(), changing(), errors()].concat()
}

fn listing() -> Vec<Scenario> {
    vec![
        four(
            "FS-DIR-1-pages",
            "A listing returns at most as many as asked for, each with number and kind, and ends with none",
        )
        .readdir(1, 1)
        .readdir(1, 2)
        .readdir(1, 100)
        .readdir(1, 100)
        .readdir(1, 1),
        scenario("FS-DIR-1-kinds", "Each entry says what it is")
            .file("f", "")
            .mkdir("d")
            .symlink("t", "s")
            .mknod("p", FileKind::Fifo, 0)
            .mknod("k", FileKind::Socket, 0)
            .mknod("c", FileKind::CharDevice, 0x103)
            .mknod("b", FileKind::BlockDevice, 0x800)
            .list("/"),
        four("FS-DIR-2-order", "Entries come in the order in which they were made, a new one last")
            .unlink("d/a")
            .file("d/a", "")
            .rename("d/c", "d/0")
            .list("d"),
        scenario("FS-DIR-1-empty", "An empty directory has no entries").mkdir("d").list("d"),
    ]
}

fn changing() -> Vec<Scenario> {
    vec![
        four("FS-DIR-3-removed-before", "Removing what was returned leaves the rest to come, each once")
            .readdir(1, 2)
            .unlink("d/a")
            .rmdir("d/b")
            .readdir(1, 1)
            .unlink("d/c")
            .readdir(1, 10)
            .readdir(1, 10),
        four("FS-DIR-3-renamed", "What is renamed during a listing is returned once")
            .readdir(1, 2)
            .rename("d/a", "d/z")
            .rename("d/e", "d/y")
            .readdir(1, 10)
            .readdir(1, 10),
        four("FS-DIR-3-emptied", "Whoever removes all that each call returns empties the directory")
            .readdir(1, 2)
            .unlink("d/a")
            .rmdir("d/b")
            .readdir(1, 2)
            .unlink("d/c")
            .unlink("d/e")
            .readdir(1, 2)
            .rmdir("d"),
        four("FS-DIR-4-positions", "A position stays valid after its own entry is gone")
            .readdir(1, 1)
            .readdir(1, 1)
            .readdir(1, 2)
            .rmdir("d/b")
            .seekdir(1, 2)
            .readdir(1, 10)
            .seekdir(1, 3)
            .readdir(1, 10)
            .seekdir(1, 0)
            .readdir(1, 10),
        four("FS-DIR-5-removed-after", "What was removed is not returned any more, what was added may be")
            .readdir(1, 1)
            .unlink("d/c")
            .file("d/f", "")
            .readdir(1, 10)
            .readdir(1, 10),
        four(
            "FS-DIR-5-seen-before",
            "What was removed is not returned either to who has seen it and goes back",
        )
        .readdir(1, 10)
        .readdir(1, 10)
        .unlink("d/c")
        .rename("d/a", "d/z")
        .seekdir(1, 0)
        .readdir(1, 1)
        .readdir(1, 10)
        .readdir(1, 10)
        .rmdir("d/b")
        .seekdir(1, 1)
        .readdir(1, 10),
        four("FS-DIR-5-two-handles", "Two handles list independently of each other")
            .open(2, "d", FOLDER)
            .readdir(1, 3)
            .readdir(2, 1)
            .rmdir("d/b")
            .readdir(2, 10)
            .readdir(1, 10),
    ]
}

fn errors() -> Vec<Scenario> {
    vec![
        scenario(
            "FS-DIR-7-errors",
            "ENOTDIR for what is no directory; permission is asked for when it is opened",
        )
        .file("f", "")
        .open(1, "f", READ)
        .readdir(1, 10)
        .seekdir(1, 0)
        .mkdir_mode("d", 0o711)
        .by(USER)
        .open(2, "d", FOLDER)
        .by(0)
        .chmod("d", 0o755)
        .by(USER)
        .open(3, "d", FOLDER)
        .by(0)
        .chmod("d", 0o700)
        .by(USER)
        .readdir(3, 10),
        scenario("FS-DIR-7-removed", "A removed directory has no entries and is no error")
            .mkdir("d")
            .open(1, "d", FOLDER)
            .rmdir("d")
            .readdir(1, 10),
    ]
}
