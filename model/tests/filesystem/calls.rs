//! What system calls add to the operations: the rules of chapter 11.

use agentfs_model::Errno;
use agentfs_model::call::{
    Call, FallocateMode, Object, OpenFlags, Operation, Place, RenameFlags, TimeChange, Whence, XattrMode,
};
use agentfs_model::outcome::{Entry, EntryPattern, Expected, Outcome};
use agentfs_model::profile::Profile;
use agentfs_model::values::{Handle, ProcessId, Timestamp};

use crate::machine::{DONE, Machine, at, by_handle, count, data, path, refused};

const NOT_OPEN: u32 = 77;
const LARGEST: u64 = i64::MAX as u64;

fn offset(offset: u64) -> Expected {
    Expected::Exactly(Outcome::Offset(offset))
}

/// The file "f" of five bytes, open for reading as 1, for writing as 2 and for appending as 3.
fn with_open_file() -> Machine {
    let mut machine = Machine::new();
    machine.file("f", "bytes");
    machine.open("f", OpenFlags::READ, 1);
    machine.open("f", OpenFlags::WRITE, 2);
    machine.open("f", OpenFlags::WRITE | OpenFlags::APPEND, 3);
    machine
}

// spec: CALL-1
#[test]
fn a_handle_that_is_not_open_or_not_for_that_is_ebadf() {
    let mut machine = with_open_file();
    let not_open = Handle(NOT_OPEN);
    let at_none = || Place { path: "f".into(), at: Some(not_open) };
    for operation in [
        Operation::Close { handle: not_open },
        Operation::Fsync { handle: not_open },
        Operation::Readdir { handle: not_open, count: 1 },
        Operation::Stat { object: by_handle(NOT_OPEN) },
        Operation::Truncate { object: by_handle(NOT_OPEN), size: 0 },
        Operation::Stat { object: Object::Path { path: at_none(), follow: true } },
        Operation::LinkHandle { handle: not_open, to: "no/where".into() },
        Operation::Read { handle: Handle(2), length: 1 },
        Operation::Write { handle: Handle(1), data: "x".into() },
        Operation::Fallocate { handle: Handle(1), mode: FallocateMode::empty(), offset: 0, length: 1 },
    ] {
        assert_eq!(machine.root(operation.clone()), refused(Errno::EBADF), "{operation:?}");
    }
    let mut copy = |from, to| {
        let (from, to) = (Handle(from), Handle(to));
        machine.root(Operation::CopyFileRange { from, from_offset: 0, to, to_offset: 9, length: 1 })
    };
    assert_eq!(
        (copy(2, 2), copy(1, 1), copy(1, 3)),
        (refused(Errno::EBADF), refused(Errno::EBADF), refused(Errno::EBADF))
    );
    assert_eq!(copy(1, 2), count(1));
    // Another process has its own.
    assert_eq!(machine.by(1, Operation::Read { handle: Handle(1), length: 1 }), refused(Errno::EBADF));
}

// spec: CALL-2
#[test]
fn reading_and_writing_move_the_offset_only_without_one() {
    let mut machine = with_open_file();
    assert_eq!(machine.root(Operation::Pread { handle: Handle(1), offset: 3, length: 9 }), data("es"));
    assert_eq!(machine.read(1, 2), data("by"));
    assert_eq!(machine.read(1, 2), data("te"));
    let pwrite =
        |handle, offset, text: &str| Operation::Pwrite { handle: Handle(handle), offset, data: text.into() };
    assert_eq!(machine.root(pwrite(2, 4, "S")), count(1));
    assert_eq!(machine.write(2, "B"), count(1));
    assert_eq!(machine.root(pwrite(3, 0, "!")), count(1));
    assert_eq!(machine.write(3, "?"), count(1));
    let here = |handle| Operation::Seek { handle: Handle(handle), offset: 0, whence: Whence::Current };
    assert_eq!((machine.root(here(2)), machine.root(here(3))), (offset(1), offset(7)));
    machine.open("f", OpenFlags::READ, 4);
    assert_eq!(machine.read(4, 99), data("ByteS!?"));
}

// spec: CALL-3
#[test]
fn what_lies_past_the_largest_offset_is_einval_or_cut() {
    let mut machine = with_open_file();
    let einval = refused(Errno::EINVAL);
    let pread = |handle, offset, length| Operation::Pread { handle: Handle(handle), offset, length };
    let pwrite =
        |handle, offset, text: &str| Operation::Pwrite { handle: Handle(handle), offset, data: text.into() };
    assert_eq!(machine.root(pread(1, LARGEST + 1, 0)), einval);
    assert_eq!(machine.root(pread(1, LARGEST, 1)), einval);
    assert_eq!(machine.root(pread(1, LARGEST, 0)), data(""));
    assert_eq!(machine.root(pwrite(2, LARGEST, "x")), einval);
    assert_eq!(machine.root(Operation::Truncate { object: path("f"), size: LARGEST + 1 }), einval);
    let seek = |handle, offset| Operation::Seek { handle: Handle(handle), offset, whence: Whence::Set };
    assert_eq!(machine.root(seek(1, -1)), einval);
    let copy = |to_offset, length| {
        let (from, to) = (Handle(1), Handle(2));
        Operation::CopyFileRange { from, from_offset: 0, to, to_offset, length }
    };
    assert_eq!(machine.root(copy(LARGEST, 1)), refused(Errno::EFBIG));
    assert_eq!(machine.root(copy(LARGEST + 1, u64::MAX)), refused(Errno::EOVERFLOW));
    assert_eq!(machine.root(copy(LARGEST - 2, 5)), count(2));
    assert_eq!(machine.write(3, "x"), refused(Errno::EFBIG));
}

/// Linux looks at the sign of an offset before it looks at the descriptor, and at the sum after it.
// spec: CALL-1, CALL-3
#[test]
fn a_range_that_is_too_far_is_found_after_the_handle() {
    let mut machine = with_open_file();
    let pread = |handle, offset| Operation::Pread { handle: Handle(handle), offset, length: 1 };
    let pwrite = |handle, offset| Operation::Pwrite { handle: Handle(handle), offset, data: "x".into() };
    for handle in [NOT_OPEN, 2] {
        assert_eq!(machine.root(pread(handle, LARGEST)), refused(Errno::EBADF));
        assert_eq!(machine.root(pread(handle, LARGEST + 1)), refused(Errno::EINVAL));
    }
    for handle in [NOT_OPEN, 1] {
        assert_eq!(machine.root(pwrite(handle, LARGEST)), refused(Errno::EBADF));
        assert_eq!(machine.root(pwrite(handle, LARGEST + 1)), refused(Errno::EINVAL));
    }
    let cut = Operation::Truncate { object: by_handle(NOT_OPEN), size: LARGEST + 1 };
    assert_eq!(machine.root(cut), refused(Errno::EINVAL));
}

// spec: CALL-3
#[test]
fn a_range_that_is_too_far_comes_before_what_the_handle_is_of() {
    let mut machine = Machine::new();
    machine.open("/", OpenFlags::READ, 1);
    let pread = |offset| Operation::Pread { handle: Handle(1), offset, length: 1 };
    assert_eq!(machine.root(pread(LARGEST)), refused(Errno::EINVAL));
    assert_eq!(machine.root(pread(0)), refused(Errno::EISDIR));
}

/// Where a listing stands is a number of the file system's own: after ext4's last entry it is the largest there is.
// spec: CALL-3
#[test]
fn the_offset_of_a_listing_can_be_too_far_as_well() {
    let mut machine = Machine::with(Profile::linux());
    machine.open("/", OpenFlags::READ, 1);
    let read = |length| Operation::Read { handle: Handle(1), length };
    assert_eq!(machine.allowed(0, read(1)), [refused(Errno::EISDIR)]);
    machine.root(Operation::Readdir { handle: Handle(1), count: 1 });
    assert_eq!(machine.allowed(0, read(1)), [refused(Errno::EISDIR), refused(Errno::EINVAL)]);
    assert_eq!(machine.allowed(0, read(0)), [refused(Errno::EISDIR)]);
}

// spec: CALL-3
#[test]
fn the_own_offset_can_be_too_far_too() {
    let mut machine = with_open_file();
    for handle in [1, 3] {
        let far = Operation::Seek { handle: Handle(handle), offset: i64::MAX, whence: Whence::Set };
        assert_eq!(machine.root(far), offset(LARGEST));
    }
    assert_eq!(machine.read(1, 1), refused(Errno::EINVAL));
    assert_eq!(machine.read(1, 0), data(""));
    // Although it would be written at the end.
    assert_eq!(machine.write(3, "x"), refused(Errno::EINVAL));
    let appended = Operation::Pwrite { handle: Handle(3), offset: LARGEST, data: "x".into() };
    assert_eq!(machine.root(appended), refused(Errno::EINVAL));
}

// spec: CALL-4
#[test]
fn open_creates_no_directory_follows_nothing_when_exclusive_and_opens_what_it_made() {
    let mut machine = Machine::new();
    let (create, write) = (OpenFlags::CREATE | OpenFlags::READ, OpenFlags::WRITE);
    assert_eq!(machine.open("d", create | OpenFlags::DIRECTORY, 1), refused(Errno::EINVAL));
    machine.symlink("nothing", "l");
    assert_eq!(machine.open("l", create | OpenFlags::EXCLUSIVE, 1), refused(Errno::EEXIST));
    assert_eq!(machine.open("l", create, 1), DONE);
    assert_eq!(machine.lstat("nothing").size, Some(0));
    let unreadable = Operation::Open { path: "n".into(), flags: create | write, mode: 0, handle: Handle(2) };
    assert_eq!(machine.by(1, unreadable), DONE);
    assert_eq!(machine.by(1, Operation::Write { handle: Handle(2), data: "x".into() }), count(1));
    assert_eq!(machine.open_by(1, "n", OpenFlags::READ, 3), refused(Errno::EACCES));
}

// spec: CALL-4
#[test]
fn truncation_by_open_needs_write_permission_with_reading_alone_too() {
    let mut machine = Machine::new();
    machine.file("f", "bytes");
    assert_eq!(machine.open_by(1, "f", OpenFlags::READ | OpenFlags::TRUNCATE, 1), refused(Errno::EACCES));
    machine.chmod("f", 0o666);
    assert_eq!(machine.open_by(1, "f", OpenFlags::READ | OpenFlags::TRUNCATE, 1), DONE);
    assert_eq!(machine.lstat("f").size, Some(0));
}

// spec: CALL-5
#[test]
fn truncation_by_handle_needs_a_file_open_for_writing_and_no_permission() {
    let mut machine = with_open_file();
    machine.open("/", OpenFlags::READ, 4);
    let cut = |handle| Operation::Truncate { object: by_handle(handle), size: 1 };
    assert_eq!(machine.root(cut(1)), refused(Errno::EINVAL));
    assert_eq!(machine.root(cut(4)), refused(Errno::EINVAL));
    machine.chmod("f", 0o666);
    machine.open_by(1, "f", OpenFlags::WRITE, 1);
    machine.chmod("f", 0);
    assert_eq!(machine.by(1, cut(1)), DONE);
    assert_eq!(machine.lstat("f").size, Some(1));
    assert_eq!(machine.by(1, Operation::Truncate { object: path("f"), size: 0 }), refused(Errno::EACCES));
}

// spec: CALL-6
#[test]
fn chown_to_nothing_takes_set_id_bits_away_and_so_needs_the_owner() {
    let mut machine = Machine::new();
    machine.file("f", "");
    machine.chmod("f", 0o6755);
    let to_nothing = || Operation::Chown { object: path("f"), uid: None, gid: None };
    assert_eq!(machine.by(1, to_nothing()), refused(Errno::EPERM));
    assert_eq!(machine.root(to_nothing()), DONE);
    assert_eq!(machine.lstat("f").permissions, 0o755);
    // Without such bits there is nothing to lose.
    assert_eq!(machine.by(1, to_nothing()), DONE);
    assert_eq!(machine.lstat("f").ctime, at(machine.seconds - 1));
}

// spec: CALL-7
#[test]
fn utimens_of_neither_time_looks_at_nothing() {
    let mut machine = Machine::new();
    let (atime, mtime) = (TimeChange::Omit, TimeChange::Omit);
    for object in [path("nothing"), by_handle(NOT_OPEN), path("")] {
        assert_eq!(machine.root(Operation::Utimens { object, atime, mtime }), DONE);
    }
}

/// `UTIME_NOW` and `UTIME_OMIT` are numbers of nanoseconds too: as a time nobody can ask for them.
#[test]
fn the_two_special_numbers_of_nanoseconds_are_no_times() {
    let machine = Machine::new();
    for nanoseconds in [0x3fff_fffe, 0x3fff_ffff] {
        let (atime, mtime) = (TimeChange::Omit, TimeChange::At(Timestamp { seconds: 0, nanoseconds }));
        let operation = Operation::Utimens { object: path("/"), atime, mtime };
        assert!(machine.fs.step(at(1), &Call { by: ProcessId(0), operation }).is_err());
    }
}

// spec: CALL-8
#[test]
fn a_listing_goes_back_to_what_it_has_returned_and_anew_from_the_beginning() {
    let mut machine = Machine::new();
    for name in ["a", "b", "c"] {
        machine.file(name, "");
    }
    machine.open("/", OpenFlags::READ, 1);
    assert_eq!(listed(&mut machine, 2), ["a", "b"]);
    assert_eq!(machine.root(Operation::Seekdir { handle: Handle(1), after: 1 }), DONE);
    assert_eq!(listed(&mut machine, 9), ["b", "c"]);
    assert_eq!(machine.root(Operation::Unlink { path: "a".into() }), DONE);
    assert_eq!(machine.root(Operation::Seekdir { handle: Handle(1), after: 0 }), DONE);
    assert_eq!(listed(&mut machine, 9), ["b", "c"]);
    let beyond = Call { by: ProcessId(0), operation: Operation::Seekdir { handle: Handle(1), after: 3 } };
    assert!(machine.fs.step(at(99), &beyond).is_err());
}

// spec: FS-DIR-3, FS-DIR-5, MNT-43
#[test]
fn a_listing_owes_what_is_there_throughout_and_nothing_that_came_meanwhile() {
    // Through the kernel what it has kept may still be listed, as it was (MNT-43).
    let both: [(_, &[&str]); 2] =
        [(Profile::agentfs(), &["back", "came", "new"]), (Profile::mount(), &["b", "back", "came", "new"])];
    for (profile, possible) in both {
        let mut machine = Machine::with(profile);
        machine.mkdir("d");
        for name in ["before", "d/a", "d/b", "leaves"] {
            machine.file(name, "");
        }
        let rename = |machine: &mut Machine, from: &str, to: &str| {
            let flags = RenameFlags::empty();
            assert_eq!(machine.root(Operation::Rename { from: from.into(), to: to.into(), flags }), DONE);
        };
        machine.open("d", OpenFlags::READ, 1);
        assert_eq!(listed(&mut machine, 1), ["a"]);
        machine.file("d/new", "");
        // Its number is older than the listing, but not here.
        rename(&mut machine, "leaves", "d/came");
        rename(&mut machine, "d/b", "b");
        rename(&mut machine, "b", "d/back");
        rename(&mut machine, "d/a", "d/renamed");
        let call = Call { by: ProcessId(0), operation: Operation::Readdir { handle: Handle(1), count: 9 } };
        let branch = machine.fs.step(at(99), &call).unwrap().remove(0);
        let Expected::Entries(pattern) = branch.allowed.expected else { panic!("no entries") };
        let names = |patterns: &[EntryPattern]| -> Vec<String> {
            let mut names: Vec<_> =
                patterns.iter().map(|entry| String::from_utf8(entry.name.to_vec()).unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&pattern.due), [""; 0]);
        assert_eq!(names(&pattern.possible), possible);
    }
}

// spec: CALL-8
#[test]
fn listing_a_removed_directory_is_a_read_only_where_no_kernel_answers_it() {
    for (profile, is_read) in [(Profile::linux(), false), (Profile::agentfs(), true)] {
        let mut machine = Machine::with(profile);
        machine.mkdir("d");
        machine.open("d", OpenFlags::READ, 1);
        assert_eq!(machine.root(Operation::Rmdir { path: "d".into() }), DONE);
        assert_eq!(listed(&mut machine, 9), [""; 0]);
        assert_eq!(machine.status(by_handle(1)).atime == at(1), !is_read);
    }
}

/// The names that handle 1 goes on with, in the order in which they were made.
fn listed(machine: &mut Machine, count: u32) -> Vec<String> {
    machine.seconds += 1;
    let call = Call { by: ProcessId(0), operation: Operation::Readdir { handle: Handle(1), count } };
    let branch = machine.fs.step(at(machine.seconds), &call).unwrap().remove(0);
    let Expected::Entries(pattern) = branch.allowed.expected.clone() else { panic!("no entries") };
    let entry = |entry: &EntryPattern| Entry { name: entry.name.clone(), inode: 0, kind: None };
    let entries: Vec<Entry> = pattern.due.iter().take(count as usize).map(entry).collect();
    let names = entries.iter().map(|entry| String::from_utf8(entry.name.to_vec()).unwrap()).collect();
    machine.fs = branch.settle(&Outcome::Entries(entries));
    names
}

// spec: CALL-10
#[test]
fn posix_allows_two_errors_where_linux_has_one() {
    let calls = |machine: &mut Machine| {
        machine.mkdir("d");
        machine.mkdir("e");
        machine.file("d/f", "");
        [
            machine.allowed(0, Operation::Rmdir { path: "d".into() }),
            machine.allowed(0, Operation::Unlink { path: "d".into() }),
            machine.allowed(
                0,
                Operation::Rename { from: "e".into(), to: "d".into(), flags: RenameFlags::empty() },
            ),
        ]
    };
    let (not_empty, exists) = (refused(Errno::ENOTEMPTY), refused(Errno::EEXIST));
    let (is_directory, not_permitted) = (refused(Errno::EISDIR), refused(Errno::EPERM));
    let linux = [vec![not_empty.clone()], vec![is_directory.clone()], vec![not_empty.clone()]];
    assert_eq!(calls(&mut Machine::new()), linux);
    let both = vec![not_empty, exists];
    let posix = [both.clone(), vec![is_directory, not_permitted], both];
    assert_eq!(calls(&mut Machine::with(Profile::posix())), posix);
}

// spec: CALL-12
#[test]
fn a_refused_call_leaves_nothing_but_the_access_times_of_the_symlinks_it_passed() {
    let mut machine = Machine::new();
    machine.mkdir("d");
    machine.symlink("d", "l");
    machine.file("d/f", "");
    let before = machine.fs.clone();
    let refusals = [
        Operation::Mkdir { path: "l/f".into(), mode: 0o755 },
        Operation::Rmdir { path: "d".into() },
        Operation::Rename { from: "l/f".into(), to: "d/".into(), flags: RenameFlags::empty() },
        Operation::Unlink { path: "l/nothing".into() },
    ];
    for operation in refusals {
        assert!(matches!(machine.root(operation), Expected::Exactly(Outcome::Error(_))));
    }
    let passed = machine.lstat("l");
    assert_eq!((passed.atime, passed.mtime), (at(6), at(2)));
    for (id, inode) in before.inodes() {
        if *id != passed.inode {
            assert_eq!(machine.fs.inodes()[id], *inode);
        }
    }
    assert_eq!(machine.fs.inodes().len(), before.inodes().len());
}

/// The kernel understands `security.capability` itself: it refuses some values, and shows others in another form.
#[test]
fn through_the_kernel_a_value_of_capabilities_is_one() {
    let set = |value: &[u8]| {
        let (name, value, mode) = ("security.capability".into(), value.into(), XattrMode::Set);
        let operation = Operation::Setxattr { object: path("/"), name, value, mode };
        Call { by: ProcessId(0), operation }
    };
    let capabilities = [[1, 0, 0, 2].as_slice(), &[0; 16]].concat();
    let mut versions = vec![(capabilities.clone(), true), (Vec::new(), true), (b"x".to_vec(), false)];
    versions.push(([capabilities.as_slice(), &[0; 4]].concat(), false));
    for (value, through_kernel) in versions {
        let step = |machine: &Machine| machine.fs.step(at(1), &set(&value)).is_ok();
        assert_eq!(step(&Machine::with(Profile::linux())), through_kernel, "{value:?}");
        assert!(step(&Machine::new()));
    }
}
