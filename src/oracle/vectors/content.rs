//! Opening, reading, writing, truncating: FS-OPEN, FS-DATA, FS-TRUNC.

use agentfs_model::bytes::Bytes;
use agentfs_model::call::{OpenFlags, Whence};
use agentfs_model::values::FileKind;

use super::scenario::{BOTH, CREATE, FOLDER, READ, Scenario, USER, WRITE, scenario};

/// The size of a chunk that the vectors are made for.
const CHUNK: usize = 65536;
/// The largest offset.
const LARGEST: u64 = i64::MAX as u64;
const TRUNCATE: OpenFlags = OpenFlags::TRUNCATE;
const APPEND: OpenFlags = OpenFlags::APPEND;

pub(super) fn scenarios() -> Vec<Scenario> {
    [opening(), reading(), writing(), limits(), truncating()].concat()
}

fn opening() -> Vec<Scenario> {
    vec![
        scenario(
            "FS-OPEN-1-permissions",
            "open checks what it asks for: reading, writing, and for truncation writing",
        )
        .file_mode("f", "x", 0o644)
        .by(USER)
        .open(1, "f", READ)
        .open(2, "f", WRITE)
        .open(3, "f", BOTH)
        .open(4, "f", READ.union(TRUNCATE))
        .open(5, "f", CREATE)
        .stat("f"),
        scenario("FS-OPEN-2-kinds", "ELOOP, ENOTDIR and EISDIR come before permissions")
            .symlink("f", "s")
            .file_mode("f", "", 0o000)
            .mkdir_mode("d", 0o000)
            .by(USER)
            .open(1, "s", READ.union(OpenFlags::NOFOLLOW))
            .open(2, "s", FOLDER.union(OpenFlags::NOFOLLOW))
            .open(3, "f", FOLDER)
            .open(4, "d", WRITE)
            .open(5, "d", READ.union(TRUNCATE))
            .open(6, "d", CREATE)
            .open(7, "f", READ)
            .open(8, "d", FOLDER),
        scenario("FS-OPEN-2-read-only", "What is read-only is opened for reading, and for nothing else")
            .file("f", "x")
            .mkdir("d")
            .reopen(true)
            .open(1, "f", READ)
            .open(2, "f", WRITE)
            .open(3, "f", READ.union(TRUNCATE))
            .open(4, "d", FOLDER)
            .open(5, "none", CREATE)
            .open(6, "f", READ.union(OpenFlags::CREATE))
            .read(1, 10)
            .reopen(false)
            .open(7, "f", WRITE),
        scenario("FS-OPEN-3-truncate", "open with TRUNCATE cuts a file to no bytes")
            .file("f", "content")
            .open(1, "f", READ)
            .open(2, "f", WRITE.union(TRUNCATE))
            .fstat(1)
            .read(1, 10)
            .open(3, "f", CREATE.union(TRUNCATE))
            .fstat(3),
    ]
}

fn reading() -> Vec<Scenario> {
    vec![
        scenario("FS-DATA-1-as-many-as-there-are", "A read returns what there is before the end of the file")
            .file("f", "0123456789")
            .open(1, "f", READ)
            .read(1, 4)
            .read(1, 100)
            .read(1, 100)
            .pread(1, 8, 100)
            .pread(1, 10, 1)
            .pread(1, 1 << 40, 1)
            .pread(1, 0, 0),
        scenario("FS-DATA-1-holes", "Bytes that are not stored read as zero")
            .open(1, "f", CREATE)
            .pwrite(1, 3, "x")
            .pread(1, 0, 10)
            .pwrite(1, 3 * CHUNK as u64 + 1, "y")
            .pread(1, 0, 300_000)
            .pread(1, 3 * CHUNK as u64 - 2, 10),
        scenario("FS-DATA-2-kinds", "A directory is EISDIR")
            .mkdir("d")
            .open(1, "d", FOLDER)
            .read(1, 10)
            .read(1, 0)
            .pread(1, 0, 1)
            .write(1, "x"),
    ]
}

fn writing() -> Vec<Scenario> {
    vec![
        scenario("FS-DATA-3-gap", "A write makes the file larger, and a gap that it leaves is a hole")
            .open(1, "f", CREATE)
            .pwrite(1, 10, "abc")
            .fstat(1)
            .pread(1, 0, 20)
            .pwrite(1, 2, "xyz")
            .fstat(1)
            .pread(1, 0, 20),
        scenario("FS-DATA-4-append", "With APPEND every write goes to the end of that moment")
            .open(1, "f", CREATE.union(APPEND))
            .open(2, "f", BOTH.union(APPEND))
            .write(1, "aa")
            .write(2, "bb")
            .write(1, "cc")
            .pwrite(2, 0, "dd")
            .pread(1, 0, 20)
            .seek(1, 0, Whence::Set)
            .write(1, "ee")
            .fstat(1),
        scenario("FS-DATA-5-no-bytes", "A write of no bytes changes nothing")
            .open(1, "f", CREATE)
            .pwrite(1, 100, "")
            .write(1, "")
            .fstat(1),
        scenario("FS-DATA-9-grows-out-of-line", "A small file that grows or gets a gap keeps its bytes")
            .open(1, "f", CREATE)
            .write(1, Bytes::repeated(b'a', 4096))
            .fstat(1)
            .write(1, "b")
            .fstat(1)
            .pread(1, 4090, 10)
            .open(2, "g", CREATE)
            .write(2, "abc")
            .pwrite(2, 100, "d")
            .fstat(2)
            .pread(2, 0, 200),
        scenario("FS-DATA-10-small-again", "A file that became small again shows the same as before")
            .open(1, "f", CREATE)
            .write(1, Bytes::repeated(b'a', CHUNK + 1))
            .ftruncate(1, 10)
            .fstat(1)
            .pread(1, 0, 100)
            .ftruncate(1, 0)
            .pwrite(1, 0, "b")
            .fstat(1),
        scenario("FS-DATA-11-borders", "Writes at the borders of chunks")
            .open(1, "f", CREATE)
            .pwrite(1, CHUNK as u64 - 1, "ab")
            .pread(1, CHUNK as u64 - 2, 5)
            .pwrite(1, CHUNK as u64, Bytes::repeated(b'c', CHUNK))
            .fstat(1)
            .pread(1, 2 * CHUNK as u64 - 2, 5)
            .pwrite(1, 2 * CHUNK as u64, "d")
            .fstat(1)
            .pread(1, 2 * CHUNK as u64 - 2, 5),
        scenario("FS-DATA-13-zeros", "A whole chunk of zeros takes no room, zeros in a part of one do")
            .open(1, "f", CREATE)
            .write(1, Bytes::repeated(0, 2 * CHUNK))
            .fstat(1)
            .pwrite(1, 10, "x")
            .fstat(1)
            .pwrite(1, 0, Bytes::repeated(0, CHUNK))
            .fstat(1)
            .open(2, "g", CREATE)
            .write(2, Bytes::repeated(0, 100))
            .fstat(2),
        scenario("FS-DATA-14-middle", "A write in the middle changes no other byte")
            .open(1, "f", CREATE)
            .write(1, Bytes::repeated(b'a', 3 * CHUNK))
            .pwrite(1, CHUNK as u64 + 100, Bytes::repeated(b'b', 50))
            .pread(1, 0, 300_000),
    ]
}

fn limits() -> Vec<Scenario> {
    vec![
        scenario("FS-DATA-6-largest", "A file can have 2^63 - 1 bytes, and no more")
            .open(1, "f", CREATE)
            .ftruncate(1, LARGEST)
            .fstat(1)
            .pwrite(1, LARGEST - 1, "x")
            .open(2, "f", WRITE.union(APPEND))
            .write(2, "y")
            .pwrite(2, 0, "y")
            .ftruncate(1, LARGEST + 1)
            .fstat(1)
            .ftruncate(1, 1)
            .fstat(1),
        scenario("FS-DATA-15-errors", "Errors of read and write")
            .file("f", "x")
            .mkdir("d")
            .open(1, "f", READ)
            .open(2, "f", WRITE)
            .open(3, "d", FOLDER)
            .write(1, "x")
            .read(2, 1)
            .pread(3, 0, 1)
            .pwrite(2, u64::MAX, "x")
            .pread(1, u64::MAX, 1),
    ]
}

fn truncating() -> Vec<Scenario> {
    vec![
        scenario("FS-TRUNC-1-old-bytes", "What was cut off reads as zeros when the file grows again")
            .open(1, "f", CREATE)
            .write(1, "0123456789")
            .ftruncate(1, 4)
            .ftruncate(1, 10)
            .pread(1, 0, 20)
            .pwrite(1, 0, Bytes::repeated(b'a', CHUNK + 100))
            .ftruncate(1, CHUNK as u64 - 10)
            .ftruncate(1, CHUNK as u64 + 100)
            .pread(1, CHUNK as u64 - 20, 200)
            .fstat(1),
        scenario(
            "FS-TRUNC-1-written-behind",
            "What was cut off reads as zeros when a write makes the file grow",
        )
        .open(1, "f", CREATE)
        .write(1, "0123456789")
        .truncate("f", 2)
        .pwrite(1, 8, "x")
        .pread(1, 0, 20),
        scenario("FS-TRUNC-2-larger", "A larger size adds a hole, however large")
            .open(1, "f", CREATE)
            .write(1, "x")
            .ftruncate(1, 1 << 40)
            .fstat(1)
            .pread(1, (1 << 40) - 4, 10)
            .ftruncate(1, 1)
            .fstat(1),
        scenario("FS-TRUNC-3-empty", "Size 0 leaves an empty file")
            .open(1, "f", CREATE)
            .write(1, Bytes::repeated(b'a', 100_000))
            .ftruncate(1, 0)
            .fstat(1)
            .pread(1, 0, 10)
            .pwrite(1, 0, "b")
            .fstat(1),
        scenario("FS-TRUNC-4-same-size", "A truncation to the same size sets mtime and ctime")
            .file("f", "0123")
            .stat("f")
            .truncate("f", 4)
            .stat("f"),
        scenario("FS-TRUNC-5-small", "A small file that shrinks stays as it is stored")
            .file("f", "0123456789")
            .truncate("f", 4)
            .stat("f")
            .mknod("g", FileKind::Regular, 0)
            .truncate("g", 4)
            .stat("g"),
    ]
}
