//! Ranges of files: FS-ALLOC, FS-SEEK, FS-COPY.

use agentfs_model::bytes::Bytes;
use agentfs_model::call::{FallocateMode, OpenFlags, Whence};
use agentfs_model::values::FileKind;

use super::scenario::{BOTH, CREATE, FOLDER, READ, Scenario, WRITE, scenario};

/// The size of a chunk that the vectors are made for.
const CHUNK: u64 = 65536;
const LARGEST: u64 = i64::MAX as u64;
const PLAIN: FallocateMode = FallocateMode::empty();
const KEEP: FallocateMode = FallocateMode::KEEP_SIZE;
const PUNCH: FallocateMode = FallocateMode::PUNCH_HOLE.union(KEEP);
const ZERO: FallocateMode = FallocateMode::ZERO_RANGE;
const COLLAPSE: FallocateMode = FallocateMode::COLLAPSE_RANGE;
const INSERT: FallocateMode = FallocateMode::INSERT_RANGE;

pub(super) fn scenarios() -> Vec<Scenario> {
    [allocating(), punching(), shifting(), refused(), seeking(), copying()].concat()
}

/// Three chunks, of `a`, `b` and `c`, open as handle 1.
fn three_chunks(name: &'static str, about: &'static str) -> Scenario {
    let chunk = |byte| Bytes::repeated(byte, CHUNK as usize);
    scenario(name, about)
        .open(1, "f", CREATE)
        .write(1, chunk(b'a'))
        .write(1, chunk(b'b'))
        .write(1, chunk(b'c'))
}

fn allocating() -> Vec<Scenario> {
    vec![
        scenario("FS-ALLOC-1-grows", "Mode 0 makes the file large enough; KEEP_SIZE changes no size")
            .open(1, "f", CREATE)
            .write(1, "abc")
            .fallocate(1, KEEP, 0, 1000)
            .fstat(1)
            .fallocate(1, PLAIN, 0, 2)
            .fstat(1)
            .fallocate(1, PLAIN, 1000, 500)
            .fstat(1)
            .pread(1, 0, 2000),
        scenario("FS-ALLOC-9-times", "Every fallocate that succeeds sets mtime and ctime")
            .open(1, "f", CREATE)
            .write(1, "abc")
            .fallocate(1, PUNCH, 1000, 10)
            .fstat(1),
    ]
}

fn punching() -> Vec<Scenario> {
    vec![
        three_chunks(
            "FS-ALLOC-2-punch",
            "PUNCH_HOLE makes the range read as zeros and gives whole chunks back",
        )
        .fallocate(1, PUNCH, CHUNK - 10, CHUNK + 20)
        .fstat(1)
        .pread(1, 0, 300_000)
        .fallocate(1, PUNCH, 3 * CHUNK, CHUNK)
        .fstat(1)
        .fallocate(1, PUNCH, 2 * CHUNK + 10, 10 * CHUNK)
        .fstat(1)
        .pread(1, 2 * CHUNK, 300_000),
        three_chunks("FS-ALLOC-3-zero", "ZERO_RANGE makes the range read as zeros, and the file long enough")
            .fallocate(1, ZERO, 10, CHUNK)
            .fstat(1)
            .pread(1, 0, 100)
            .fallocate(1, ZERO, 3 * CHUNK - 5, 10)
            .fstat(1)
            .fallocate(1, ZERO.union(KEEP), 3 * CHUNK, 1000)
            .fstat(1)
            .pread(1, 2 * CHUNK, 300_000),
        scenario("FS-ALLOC-7-small", "Punching and zeroing a part of a small file leaves zeros")
            .open(1, "f", CREATE)
            .write(1, "0123456789")
            .fallocate(1, PUNCH, 2, 3)
            .fstat(1)
            .pread(1, 0, 20)
            .fallocate(1, ZERO, 7, 2)
            .fstat(1)
            .pread(1, 0, 20),
    ]
}

fn shifting() -> Vec<Scenario> {
    vec![
        three_chunks("FS-ALLOC-4-collapse", "COLLAPSE_RANGE removes the range, and what follows moves down")
            .fallocate(1, COLLAPSE, CHUNK, CHUNK)
            .fstat(1)
            .pread(1, CHUNK - 2, 5)
            .pread(1, 2 * CHUNK - 2, 5),
        three_chunks("FS-ALLOC-5-insert", "INSERT_RANGE opens a hole, and what follows moves up")
            .fallocate(1, INSERT, CHUNK, CHUNK)
            .fstat(1)
            .pread(1, CHUNK - 2, 5)
            .pread(1, 2 * CHUNK - 2, 5)
            .pread(1, 4 * CHUNK - 2, 5),
        three_chunks(
            "FS-ALLOC-8-shift-refused",
            "Collapse and insert want multiples of the chunk size within the file",
        )
        .fallocate(1, COLLAPSE, 1, CHUNK)
        .fallocate(1, COLLAPSE, 0, 1)
        .fallocate(1, INSERT, CHUNK, 1)
        .fallocate(1, COLLAPSE, 2 * CHUNK, CHUNK)
        .fallocate(1, COLLAPSE, 0, 10 * CHUNK)
        .fallocate(1, INSERT, 3 * CHUNK, CHUNK)
        .fallocate(1, INSERT, 0, (LARGEST / CHUNK) * CHUNK)
        .fstat(1),
    ]
}

fn refused() -> Vec<Scenario> {
    vec![
        scenario("FS-ALLOC-6-modes", "Other combinations of modes are EOPNOTSUPP")
            .open(1, "f", CREATE)
            .write(1, "x")
            .fallocate(1, FallocateMode::PUNCH_HOLE, 0, 10)
            .fallocate(1, COLLAPSE.union(KEEP), 0, CHUNK)
            .fallocate(1, INSERT.union(COLLAPSE), 0, CHUNK)
            .fallocate(1, ZERO.union(PUNCH), 0, 10)
            .fallocate(1, ZERO.union(KEEP), 0, 1)
            .fstat(1),
        scenario(
            "FS-ALLOC-8-values",
            "EINVAL for no length and for negative values, EFBIG past the largest size",
        )
        .open(1, "f", CREATE)
        .fallocate(1, PLAIN, 0, 0)
        .fallocate(1, PLAIN, 1 << 63, 1)
        .fallocate(1, PLAIN, 0, 1 << 63)
        .fallocate(1, PLAIN, LARGEST, 1)
        .fallocate(1, PUNCH, LARGEST, 1)
        .fallocate(1, FallocateMode::PUNCH_HOLE, 0, 0)
        .open(2, "f", READ)
        .fallocate(2, PLAIN, 0, 10)
        .fstat(1),
        scenario("FS-ALLOC-8-kinds", "Only a handle that is open for writing can be allocated for")
            .mkdir("d")
            .open(1, "d", FOLDER)
            .fallocate(1, PLAIN, 0, 10)
            .mknod("p", FileKind::Fifo, 0)
            .stat("p"),
    ]
}

fn seeking() -> Vec<Scenario> {
    vec![
        scenario(
            "FS-SEEK-1-data-and-holes",
            "SEEK_DATA finds stored chunks, SEEK_HOLE what is none, the end is a hole",
        )
        .open(1, "f", CREATE)
        .pwrite(1, 2 * CHUNK + 5, "x")
        .ftruncate(1, 5 * CHUNK)
        .seek(1, 0, Whence::Data)
        .seek(1, 0, Whence::Hole)
        .seek(1, 2 * CHUNK as i64, Whence::Hole)
        .seek(1, 2 * CHUNK as i64 + 10, Whence::Data)
        .seek(1, 3 * CHUNK as i64, Whence::Hole)
        .open(2, "small", CREATE)
        .write(2, "0123456789")
        .seek(2, 3, Whence::Data)
        .seek(2, 3, Whence::Hole),
        scenario("FS-SEEK-2-errors", "ENXIO at and past the end, and where no data follows")
            .open(1, "f", CREATE)
            .seek(1, 0, Whence::Data)
            .seek(1, 0, Whence::Hole)
            .write(1, "abc")
            .seek(1, 3, Whence::Data)
            .seek(1, 3, Whence::Hole)
            .seek(1, -1, Whence::Data)
            .ftruncate(1, 10 * CHUNK)
            .seek(1, 5 * CHUNK as i64, Whence::Data)
            .seek(1, 5 * CHUNK as i64, Whence::Hole),
        scenario("FS-SEEK-3-no-byte-in-a-hole", "No byte that is not zero lies in a hole")
            .open(1, "f", CREATE)
            .pwrite(1, CHUNK, Bytes::repeated(b'x', CHUNK as usize))
            .fallocate(1, PUNCH, CHUNK + 10, CHUNK - 20)
            .seek(1, 0, Whence::Data)
            .seek(1, CHUNK as i64, Whence::Hole),
        scenario("FS-SEEK-3-last-byte", "The last byte that a file can have is data as any other")
            .open(1, "f", CREATE)
            .pwrite(1, LARGEST - 1, "x")
            .seek(1, 0, Whence::Data)
            .seek(1, LARGEST as i64 - 1, Whence::Data)
            .seek(1, LARGEST as i64 - 1, Whence::Hole),
    ]
}

fn copying() -> Vec<Scenario> {
    let appending = WRITE.union(OpenFlags::APPEND);
    vec![
        scenario("FS-COPY-1-what-there-is", "A copy takes what lies before the end of the source")
            .open(1, "f", CREATE)
            .write(1, "0123456789")
            .open(2, "g", CREATE)
            .copy((1, 2), (2, 5), 4)
            .pread(2, 0, 20)
            .copy((1, 8), (2, 0), 100)
            .pread(2, 0, 20)
            .copy((1, 10), (2, 0), 5)
            .copy((1, 0), (2, 0), 0)
            .fstat(2),
        scenario("FS-COPY-1-within", "A copy within one file, beside itself")
            .open(1, "f", CREATE)
            .write(1, "0123456789")
            .copy((1, 0), (1, 5), 5)
            .pread(1, 0, 20)
            .copy((1, 0), (1, 10), 3)
            .pread(1, 0, 20),
        scenario("FS-COPY-2-errors", "Directories, overlap, handles that are not for it, the largest size")
            .file("f", "0123456789")
            .mkdir("d")
            .open(1, "f", BOTH)
            .open(2, "d", FOLDER)
            .open(3, "f", READ)
            .open(4, "f", WRITE)
            .open(5, "f", appending)
            .copy((2, 0), (1, 0), 1)
            .copy((1, 0), (2, 0), 1)
            .copy((1, 0), (1, 5), 6)
            .copy((1, 0), (1, 2), 20)
            .copy((4, 0), (1, 20), 1)
            .copy((1, 0), (3, 20), 1)
            .copy((1, 0), (5, 20), 1)
            .copy((1, 0), (1, LARGEST), 1)
            .fstat(1),
        scenario("FS-COPY-3-holes", "A hole that covers a chunk of the target becomes one there")
            .open(1, "f", CREATE)
            .pwrite(1, 2 * CHUNK, "x")
            .open(2, "g", CREATE)
            .write(2, Bytes::repeated(b'y', 3 * CHUNK as usize))
            .copy((1, 0), (2, 0), 2 * CHUNK + 1)
            .fstat(2)
            .pread(2, 0, 300_000),
    ]
}
