//! Names, lookups and paths: FS-NAME, FS-LOOKUP, PATH.

use agentfs_model::bytes::Bytes;
use agentfs_model::call::OpenFlags;
use agentfs_model::values::FileKind;

use super::scenario::{CREATE, FOLDER, READ, Scenario, USER, at, raw, scenario};

pub(super) fn scenarios() -> Vec<Scenario> {
    [in_directories(), lookups(), paths(), ends_of_paths()].concat()
}

fn in_directories() -> Vec<Scenario> {
    vec![
        scenario(
            "FS-NAME-1-bytes",
            "A name is any bytes but NUL and '/', UTF-8 or not, and differs from every other",
        )
        .file(raw(b"\xff\xfe"), "bytes")
        .file("e\u{301}", "decomposed")
        .file("\u{e9}", "composed")
        .file("E", "upper")
        .file("e", "lower")
        .file(" \n\t\\", "blanks")
        .stat(raw(b"\xff\xfe"))
        .stat("e\u{301}")
        .list("/"),
        scenario("FS-NAME-1-longest", "A name of 255 bytes is a name")
            .file(raw(&[b'n'; 255]), "longest")
            .stat(raw(&[b'n'; 255]))
            .unlink(raw(&[b'n'; 255])),
        scenario("FS-NAME-2-too-long", "A name of more than 255 bytes is ENAMETOOLONG wherever it stands")
            .mkdir(raw(&[b'n'; 256]))
            .stat(raw(&[b'n'; 256]))
            .open(1, raw(&[b'n'; 256]), CREATE)
            .symlink("t", raw(&[b'n'; 256]))
            .stat(raw(&[&[b'n'; 256][..], b"/below"].concat()))
            .file("f", "")
            .rename("f", raw(&[b'n'; 256])),
        scenario("FS-NAME-3-targets", "A target is 1 to 4095 bytes, and need not exist")
            .symlink("", "empty")
            .symlink(Bytes::repeated(b't', 4095), "longest")
            .symlink(Bytes::repeated(b't', 4096), "too-long")
            .symlink("not/there", "dangling")
            .symlink(&b"\xff"[..], "bytes")
            .readlink("longest")
            .readlink("bytes")
            .lstat("dangling")
            .stat("dangling"),
        scenario("FS-NAME-4-as-given", "What a listing returns is what was given")
            .mkdir("d")
            .file(raw(b"d/A\xcc\x8a"), "")
            .file("d/\u{c5}", "")
            .list("d"),
    ]
}

fn lookups() -> Vec<Scenario> {
    vec![
        scenario("FS-LOOKUP-1-errors", "ENOTDIR, then EACCES, then ENOENT")
            .file("f", "")
            .mkdir_mode("closed", 0o700)
            .file("closed/f", "")
            .stat("f/below")
            .stat("none")
            .by(USER)
            .stat("closed/f")
            .stat("closed/none"),
        scenario("FS-LOOKUP-2-removed", "In a directory that has been removed nothing is found")
            .mkdir("d")
            .open(1, "d", FOLDER)
            .rmdir("d")
            .stat(at(1, "f"))
            .stat(at(1, "."))
            .open(2, at(1, "f"), CREATE)
            .mkdir(at(1, "d"))
            .fstat(1),
        scenario("FS-LOOKUP-3-parents", "'..' of a directory is what holds it, also after it was moved")
            .mkdir("a")
            .mkdir("b")
            .mkdir("a/d")
            .open(1, "a/d", FOLDER)
            .stat(at(1, ".."))
            .stat("a")
            .rename("a/d", "b/d")
            .stat(at(1, ".."))
            .stat("b"),
        scenario("FS-LOOKUP-4-readlink", "readlink returns the target, and is EINVAL for what is no symlink")
            .symlink("some/where", "s")
            .file("f", "")
            .mkdir("d")
            .mknod("p", FileKind::Fifo, 0)
            .readlink("s")
            .readlink("f")
            .readlink("d")
            .readlink("p")
            .readlink("none"),
    ]
}

fn paths() -> Vec<Scenario> {
    vec![
        scenario("PATH-1-slashes", "A leading slash is optional, and repeated slashes count as one")
            .mkdir("d")
            .file("d/f", "x")
            .stat("d/f")
            .stat("/d/f")
            .stat("//d///f")
            .stat("/")
            .stat("///"),
        scenario(
            "PATH-2-dots",
            "'.' is the directory, '..' its parent, and what stands before them must be a directory",
        )
        .mkdir("d")
        .file("d/f", "")
        .stat("d/.")
        .stat("d/..")
        .stat("..")
        .stat("../..")
        .stat("./d/./f")
        .stat("d/../d/f")
        .stat("d/f/.")
        .stat("d/f/..")
        .stat("none/.."),
        scenario("PATH-3-middle", "Symlinks in the middle are followed")
            .mkdir("d")
            .file("d/f", "x")
            .symlink("d", "s")
            .symlink("s", "t")
            .stat("s/f")
            .stat("t/f")
            .symlink("../d/f", "d/up")
            .stat("t/up")
            .symlink("d/f", "file")
            .stat("file/below"),
        scenario("PATH-3-last", "The last symlink is followed by some calls and taken itself by others")
            .file("f", "x")
            .symlink("f", "s")
            .stat("s")
            .lstat("s")
            .readlink("s")
            .open(1, "s", READ)
            .read(1, 10)
            .truncate("s", 0)
            .chmod("s", 0o600)
            .link("s", "other")
            .lstat("other")
            .rename("s", "t")
            .readlink("t")
            .unlink("t")
            .stat("f"),
        scenario(
            "PATH-3-relative",
            "A relative target begins where the symlink lies, from wherever it is reached",
        )
        .mkdir("a")
        .mkdir("a/b")
        .file("a/f", "in a")
        .symlink("../f", "a/b/s")
        .open(1, "a/b", FOLDER)
        .stat("a/b/s")
        .stat(at(1, "s")),
        scenario("PATH-4-forty", "Forty symlinks are followed, and one more is ELOOP")
            .mkdir("d")
            .symlink("d", "s")
            .stat(raw(&[b"s/../".repeat(39), b"s".to_vec()].concat()))
            .stat(raw(&[b"s/../".repeat(40), b"s".to_vec()].concat())),
        scenario("PATH-4-loop", "A symlink that leads to itself is ELOOP for whoever follows it")
            .symlink("s", "s")
            .stat("s")
            .lstat("s")
            .open(1, "s", READ)
            .open(2, "s", CREATE)
            .mkdir("s/d")
            .symlink("b", "a")
            .symlink("a", "b")
            .stat("a")
            .chmod("b", 0o600),
        scenario("PATH-5-lengths", "An empty path is ENOENT, one of more than 4095 bytes ENAMETOOLONG")
            .file("f", "")
            .stat("")
            .open(1, "", CREATE)
            .stat(raw(&[b"./".repeat(2047), b"f".to_vec()].concat()))
            .stat(raw(&[b"./".repeat(2047), b"./f".to_vec()].concat()))
            .mkdir("")
            .rename("f", "")
            .symlink("f", ""),
        scenario("PATH-8-search", "Search permission is needed on every directory that is passed")
            .mkdir("a")
            .mkdir_mode("a/closed", 0o700)
            .mkdir_mode("a/closed/b", 0o777)
            .file("a/closed/b/f", "")
            .symlink("a/closed/b/f", "s")
            .by(USER)
            .stat("a/closed")
            .stat("a/closed/b/f")
            .stat("s")
            .open(1, "a/closed/b/new", CREATE)
            .stat("a/closed/.."),
    ]
}

fn ends_of_paths() -> Vec<Scenario> {
    vec![
        scenario("PATH-6-trailing-slash", "A path that ends in '/' names a directory")
            .file("f", "")
            .mkdir("d")
            .symlink("f", "to-file")
            .symlink("d", "to-directory")
            .symlink("none", "dangling")
            .stat("f/")
            .stat("d/")
            .lstat("to-directory/")
            .lstat("to-file/")
            .lstat("dangling/")
            .open(1, "f/", READ)
            .unlink("f/")
            .rename("f/", "g"),
        scenario(
            "PATH-6-creation",
            "mkdir accepts a trailing slash, and nothing else does that makes a name",
        )
        .mkdir("d/")
        .open(1, "f/", CREATE)
        .symlink("t", "s/")
        .mknod("p/", FileKind::Fifo, 0)
        .file("g", "")
        .link("g", "h/")
        .rename("g", "h/")
        .rename("d", "e/")
        .stat("e"),
        scenario("PATH-7-dots", "'.' and '..' at the end cannot be made, removed or moved")
            .mkdir("d")
            .mkdir("d/.")
            .mkdir("d/..")
            .symlink("t", "d/.")
            .mknod("d/..", FileKind::Fifo, 0)
            .file("f", "")
            .link("f", "d/.")
            .rmdir("d/.")
            .rmdir("d/..")
            .unlink("d/.")
            .unlink("d/..")
            .rename("d/.", "e")
            .rename("d", "d/..")
            .open(1, "d/.", CREATE),
        scenario("PATH-7-root", "The root cannot be made, removed or moved")
            .mkdir("/")
            .symlink("t", "/")
            .rmdir("/")
            .unlink("/")
            .mkdir("d")
            .rename("/", "d/root")
            .rename("d", "/"),
        scenario(
            "PATH-11-dangling",
            "Creating through a dangling symlink makes its target, unless it must not exist",
        )
        .symlink("made", "s")
        .open(1, "s", CREATE.union(OpenFlags::EXCLUSIVE))
        .open(2, "s", CREATE)
        .write(2, "x")
        .stat("made")
        .lstat("s")
        .symlink("none/made", "t")
        .open(3, "t", CREATE)
        .symlink("other", "u")
        .mkdir("u")
        .mknod("u", FileKind::Regular, 0),
    ]
}
