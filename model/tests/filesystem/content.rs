//! Open files and the bytes behind them.

use agentfs_model::Errno;
use agentfs_model::call::{Call, FallocateMode, OpenFlags, Operation, Whence};
use agentfs_model::outcome::{Expected, Outcome};
use agentfs_model::profile::Profile;
use agentfs_model::values::{Handle, ProcessId};

use crate::machine::{DONE, Machine, at, by_handle, count, data, path, refused};

const BOTH: OpenFlags = OpenFlags::READ.union(OpenFlags::WRITE);
const PUNCH: FallocateMode = FallocateMode::PUNCH_HOLE.union(FallocateMode::KEEP_SIZE);

/// "f" with these bytes, open for both as handle 1, in chunks of four bytes that are inline up to two.
fn with_content(content: &str) -> Machine {
    let mut machine = Machine::with(Profile { chunk_size: 4, inline_threshold: 2, ..Profile::agentfs() });
    machine.file("f", content);
    machine.open("f", BOTH, 1);
    machine
}

fn allocate(mode: FallocateMode, offset: u64, length: u64) -> Operation {
    Operation::Fallocate { handle: Handle(1), mode, offset, length }
}

fn cut(size: u64) -> Operation {
    Operation::Truncate { object: by_handle(1), size }
}

fn all(machine: &mut Machine) -> Expected {
    machine.root(Operation::Pread { handle: Handle(1), offset: 0, length: 999 })
}

// spec: FS-REAP-1, FS-REAP-4
#[test]
fn an_unlinked_file_lives_until_its_last_close() {
    let mut machine = Machine::new();
    machine.file("f", "bytes");
    machine.open("f", OpenFlags::READ, 1);
    assert_eq!(machine.root(Operation::Unlink { path: "f".into() }), DONE);
    assert_eq!(machine.fs.inodes().len(), 2);
    assert_eq!(machine.read(1, 9), data("bytes"));
    machine.close(1);
    assert_eq!(machine.fs.inodes().len(), 1);
}

// spec: FS-OPEN-1, FS-OPEN-2
#[test]
fn open_looks_at_the_kind_before_the_permission() {
    let mut machine = Machine::new();
    machine.mkdir("d");
    machine.file("f", "");
    machine.symlink("f", "l");
    machine.chmod("d", 0);
    machine.chmod("f", 0);
    assert_eq!(machine.open_by(1, "l", OpenFlags::READ | OpenFlags::NOFOLLOW, 1), refused(Errno::ELOOP));
    let directory = OpenFlags::READ | OpenFlags::DIRECTORY;
    assert_eq!(machine.open_by(1, "l", directory | OpenFlags::NOFOLLOW, 1), refused(Errno::ENOTDIR));
    assert_eq!(machine.open_by(1, "f", directory, 1), refused(Errno::ENOTDIR));
    assert_eq!(machine.open_by(1, "d", BOTH, 1), refused(Errno::EISDIR));
    assert_eq!(machine.open_by(1, "d", OpenFlags::READ | OpenFlags::TRUNCATE, 1), refused(Errno::EISDIR));
    assert_eq!(machine.open_by(1, "d", OpenFlags::READ, 1), refused(Errno::EACCES));
    assert_eq!(machine.open_by(1, "f", OpenFlags::READ, 1), refused(Errno::EACCES));
}

// spec: OPEN-8, FS-ERR-1, FS-OPEN-2
#[test]
fn what_can_only_be_read_refuses_changes_after_what_is_wrong_in_itself() {
    let mut machine = Machine::new();
    machine.mkdir("d");
    machine.file("f", "");
    machine.chmod("f", 0);
    assert_eq!(machine.root(Operation::Reopen { read_only: true }), DONE);
    let erofs = refused(Errno::EROFS);
    assert_eq!(machine.mkdir("d"), refused(Errno::EEXIST));
    assert_eq!(machine.mkdir("e"), erofs);
    assert_eq!(machine.root(Operation::Unlink { path: "nothing".into() }), erofs);
    assert_eq!(machine.open("d", BOTH, 1), refused(Errno::EISDIR));
    assert_eq!(machine.open_by(1, "f", OpenFlags::WRITE, 1), erofs);
    assert_eq!(machine.open_by(1, "f", OpenFlags::READ | OpenFlags::CREATE, 1), refused(Errno::EACCES));
    assert_eq!(machine.root(Operation::Truncate { object: path("d"), size: 0 }), refused(Errno::EISDIR));
    assert_eq!(machine.by(1, Operation::Truncate { object: path("f"), size: 0 }), erofs);
    assert_eq!(machine.root(Operation::Chmod { object: path("f"), mode: 0 }), erofs);
}

// spec: FS-DATA-1, FS-DATA-3, FS-DATA-4, FS-DATA-5
#[test]
fn what_is_written_is_read_and_gaps_are_zeros() {
    let mut machine = with_content("ab");
    assert_eq!(machine.root(Operation::Pwrite { handle: Handle(1), offset: 6, data: "c".into() }), count(1));
    assert_eq!(all(&mut machine), data("ab\0\0\0\0c"));
    machine.open("f", OpenFlags::WRITE | OpenFlags::APPEND, 2);
    machine.open("f", OpenFlags::WRITE | OpenFlags::APPEND, 3);
    assert_eq!(
        (machine.write(2, "x"), machine.write(3, "y"), machine.write(2, "z")),
        (count(1), count(1), count(1))
    );
    assert_eq!(machine.root(Operation::Pread { handle: Handle(1), offset: 6, length: 9 }), data("cxyz"));
    let before = machine.lstat("f");
    assert_eq!(machine.root(Operation::Pwrite { handle: Handle(1), offset: 99, data: "".into() }), count(0));
    assert_eq!(machine.lstat("f"), before);
}

// spec: FS-DATA-2
#[test]
fn a_directory_is_not_read_as_bytes() {
    let mut machine = Machine::new();
    machine.open("/", OpenFlags::READ, 1);
    assert_eq!((machine.read(1, 0), machine.read(1, 1)), (refused(Errno::EISDIR), refused(Errno::EISDIR)));
}

// spec: FS-DATA-6
#[test]
fn no_file_is_larger_than_the_profile_says() {
    let mut machine = Machine::with(Profile { largest_file: 4, ..Profile::agentfs() });
    machine.file("f", "abc");
    machine.open("f", OpenFlags::WRITE | OpenFlags::APPEND, 1);
    assert_eq!(machine.write(1, "defg"), count(1));
    assert_eq!(machine.write(1, "e"), refused(Errno::EFBIG));
    assert_eq!(machine.root(cut(5)), refused(Errno::EFBIG));
    assert_eq!(machine.root(allocate(FallocateMode::empty(), 0, 5)), refused(Errno::EFBIG));
    assert_eq!(machine.lstat("f").size, Some(4));
}

// spec: FS-TRUNC-1, FS-TRUNC-2, FS-TRUNC-4
#[test]
fn what_was_cut_off_does_not_come_back() {
    let mut machine = with_content("0123456789");
    for size in [2, 5] {
        assert_eq!(machine.root(Operation::Truncate { object: path("f"), size }), DONE);
    }
    assert_eq!(all(&mut machine), data("01\0\0\0"));
    assert_eq!(machine.root(cut(5)), DONE);
    let cut_at = at(machine.seconds);
    let status = machine.lstat("f");
    assert_eq!((status.mtime, status.ctime), (cut_at, cut_at));
}

// spec: FS-TRUNC-2, FS-DATA-11, FS-ATTR-3, FS-SEEK-1
#[test]
fn a_hole_takes_no_room_and_is_found() {
    let mut machine = with_content("");
    assert_eq!(machine.root(cut(1 << 50)), DONE);
    assert_eq!((machine.lstat("f").size, machine.lstat("f").blocks), (Some(1 << 50), Some(0)));
    assert_eq!(machine.root(Operation::Pwrite { handle: Handle(1), offset: 9, data: "x".into() }), count(1));
    let mut seek = |offset, whence| machine.root(Operation::Seek { handle: Handle(1), offset, whence });
    let found = |offset| Expected::Exactly(Outcome::Offset(offset));
    assert_eq!((seek(0, Whence::Data), seek(9, Whence::Data)), (found(8), found(9)));
    assert_eq!((seek(0, Whence::Hole), seek(9, Whence::Hole)), (found(0), found(12)));
    assert_eq!(
        (seek(12, Whence::Data), seek(1 << 50, Whence::Hole)),
        (refused(Errno::ENXIO), refused(Errno::ENXIO))
    );
    assert_eq!((seek(0, Whence::End), seek(-1, Whence::Current)), (found(1 << 50), found((1 << 50) - 1)));
}

// spec: FS-ALLOC-1, FS-ALLOC-2, FS-ALLOC-3, FS-ALLOC-4, FS-ALLOC-5
#[test]
fn fallocate_makes_room_and_zeros_and_moves_what_follows() {
    let mut machine = with_content("0123456789");
    assert_eq!(machine.root(allocate(FallocateMode::KEEP_SIZE, 0, 99)), DONE);
    assert_eq!(machine.root(allocate(PUNCH, 1, 2)), DONE);
    assert_eq!(machine.root(allocate(PUNCH, 50, 2)), DONE);
    assert_eq!(all(&mut machine), data("0\0\x003456789"));
    assert_eq!(machine.root(allocate(FallocateMode::ZERO_RANGE, 8, 4)), DONE);
    assert_eq!(all(&mut machine), data("0\0\x0034567\0\0\0\0"));
    assert_eq!(machine.root(allocate(FallocateMode::COLLAPSE_RANGE, 0, 4)), DONE);
    assert_eq!(all(&mut machine), data("4567\0\0\0\0"));
    assert_eq!(machine.root(allocate(FallocateMode::INSERT_RANGE, 0, 4)), DONE);
    assert_eq!(machine.root(allocate(FallocateMode::empty(), 0, 13)), DONE);
    assert_eq!(all(&mut machine), data("\0\0\0\x004567\0\0\0\0\0"));
}

// spec: FS-ALLOC-6, FS-ALLOC-8
#[test]
fn fallocate_refuses_in_the_order_of_the_kernel() {
    let mut machine = with_content("0123456789");
    let (collapse, insert) = (FallocateMode::COLLAPSE_RANGE, FallocateMode::INSERT_RANGE);
    let keep = FallocateMode::KEEP_SIZE;
    for (mode, offset, length, errno) in [
        (collapse | keep, 0, 0, Errno::EINVAL),
        (FallocateMode::empty(), u64::MAX, 1, Errno::EINVAL),
        (FallocateMode::PUNCH_HOLE, 0, 1, Errno::EOPNOTSUPP),
        (collapse | keep, 0, 4, Errno::EOPNOTSUPP),
        (PUNCH, i64::MAX as u64, 1, Errno::EFBIG),
        (collapse, 1, 4, Errno::EINVAL),
        (collapse, 8, 4, Errno::EINVAL),
        (insert, 12, 4, Errno::EINVAL),
        (insert, 0, i64::MAX as u64 - 3, Errno::EFBIG),
    ] {
        assert_eq!(
            machine.root(allocate(mode, offset, length)),
            refused(errno),
            "{mode:?} {offset} {length}"
        );
    }
    assert_eq!(all(&mut machine), data("0123456789"));
}

// spec: CALL-12
#[test]
fn on_ext4_a_refused_shift_has_set_the_times_whyever_it_is_refused() {
    let profile = Profile { chunk_size: 4, largest_file: 100, ..Profile::ext4() };
    let mut machine = Machine::with(profile);
    machine.file("f", "0123456789");
    machine.open("f", BOTH, 1);
    for (length, errno) in [(3, Errno::EINVAL), (96, Errno::EFBIG)] {
        let shift = allocate(FallocateMode::INSERT_RANGE, 0, length);
        assert_eq!(machine.root(shift), refused(errno));
        assert_eq!(machine.lstat("f").mtime, at(machine.seconds - 1), "{errno:?}");
    }
}

// spec: FS-COPY-1, FS-COPY-2
#[test]
fn a_copy_ends_with_the_source_and_does_not_meet_itself() {
    let mut machine = with_content("0123");
    machine.file("g", "");
    machine.open("g", BOTH, 2);
    machine.open("/", OpenFlags::READ, 3);
    let mut copy = |from, from_offset, to, to_offset, length| {
        let (from, to) = (Handle(from), Handle(to));
        machine.root(Operation::CopyFileRange { from, from_offset, to, to_offset, length })
    };
    assert_eq!((copy(1, 2, 2, 1, 99), copy(1, 4, 2, 9, 99)), (count(2), count(0)));
    assert_eq!((copy(1, 0, 1, 1, 2), copy(1, 0, 1, 2, 2)), (refused(Errno::EINVAL), count(2)));
    assert_eq!(copy(3, 0, 2, 0, 1), refused(Errno::EISDIR));
    assert_eq!(machine.root(Operation::Pread { handle: Handle(2), offset: 0, length: 9 }), data("\x0023"));
    assert_eq!(all(&mut machine), data("0101"));
}

// spec: FS-COPY-4
#[test]
fn a_large_copy_may_leave_some_to_the_next() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.open("f", BOTH, 1);
    let (sure, size) = (16 << 20, (16 << 20) + 5);
    assert_eq!(machine.root(cut(size)), DONE);
    let end = Operation::Pwrite { handle: Handle(1), offset: sure, data: "abcde".into() };
    assert_eq!(machine.root(end), count(5));
    machine.file("g", "");
    machine.open("g", BOTH, 2);
    let (from, to) = (Handle(1), Handle(2));
    let operation = Operation::CopyFileRange { from, from_offset: 0, to, to_offset: 1, length: u64::MAX - 1 };
    let call = Call { by: ProcessId(0), operation };
    let branch = machine.fs.step(at(99), &call).unwrap().remove(0);
    assert_eq!(branch.allowed.expected, Expected::CountBetween { least: sure, most: size });
    for copied in [sure, sure + 3, size] {
        machine.fs = branch.clone().settle(&Outcome::Count(copied));
        assert_eq!(machine.lstat("g").size, Some(copied + 1));
        let tail = Operation::Pread { handle: to, offset: sure + 1, length: 9 };
        assert_eq!(machine.root(tail), data(&"abcde"[..(copied - sure) as usize]));
    }
}

// spec: FS-TIME-4
#[test]
fn a_read_moves_the_access_time_when_it_is_not_later_than_the_others_or_a_day_old() {
    let mut machine = with_content("x");
    machine.read(1, 1);
    let first = at(machine.seconds);
    assert_eq!(machine.lstat("f").atime, first);
    machine.read(1, 1);
    assert_eq!(machine.lstat("f").atime, first);
    machine.seconds += 24 * 60 * 60;
    machine.read(1, 0);
    assert_eq!(machine.lstat("f").atime, first);
    // At the end of the file as well.
    machine.read(1, 1);
    assert_eq!(machine.lstat("f").atime, at(machine.seconds - 1));
}

// spec: DUR-4
#[test]
fn a_barrier_shows_nothing() {
    let mut machine = with_content("x");
    let before = machine.fs.clone();
    for operation in
        [Operation::Fsync { handle: Handle(1) }, Operation::Fdatasync { handle: Handle(1) }, Operation::Sync]
    {
        assert_eq!(machine.root(operation), DONE);
    }
    assert_eq!(machine.fs, before);
}
