//! Content of regular files through the interface: who, when, which times, which errors.

use agentfs::Errno;
use agentfs::types::{Caller, Ino, Name};
use agentfs::vfs::{FallocateMode, OpenFlags, SeekTo, Vfs, WriteFlags};

use crate::common::{Fixture, START, errno};

// spec: FS-DATA-1, FS-DATA-3, FS-DATA-4
#[test]
fn writes_land_where_they_are_aimed_and_append_finds_the_end() {
    let fixture = Fixture::new();
    let fs = &fixture.fs;
    let file = fixture.file(Ino::ROOT, "f", b"hello").ino;
    assert_eq!(fs.write(file, 0, b" world", WriteFlags::APPEND).unwrap(), 11);
    assert_eq!(fs.write(file, 0, b"H", WriteFlags::empty()).unwrap(), 1);
    assert_eq!(fixture.content(file), b"Hello world");
    assert_eq!(fs.read(file, 6, 100).unwrap(), b"world");
    assert_eq!(fs.read(file, 11, 100).unwrap(), b"");
    assert_eq!(fs.read(file, u64::MAX, 100).unwrap(), b"");
}

// spec: PATH-9
#[test]
fn a_whole_file_leaves_nothing_of_a_longer_one() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"as long as it was").ino;
    let name = Name::new(b"f").unwrap();
    fixture.fs.put(&Caller::root(), Ino::ROOT, &[], name, b"short").unwrap();
    assert_eq!(fixture.content(file), b"short");
}

// spec: FS-TIME-3, FS-TIME-7, FS-DATA-5
#[test]
fn a_write_moves_mtime_and_ctime_unless_it_comes_from_a_cache_or_is_empty() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"x").ino;
    fixture.clock.advance(1);
    fixture.fs.write(file, 0, b"", WriteFlags::empty()).unwrap();
    fixture.fs.write(file, 0, b"y", WriteFlags::KEEP_TIMES).unwrap();
    assert_eq!(fixture.stat(file).mtime, START);
    fixture.fs.write(file, 0, b"z", WriteFlags::empty()).unwrap();
    let stat = fixture.stat(file);
    assert_eq!((stat.mtime.seconds, stat.ctime.seconds), (START.seconds + 1, START.seconds + 1));
}

// spec: FS-PERM-13
#[test]
fn an_unprivileged_write_clears_set_id_bits() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"x").ino;
    fixture.chmod(file, 0o6755);
    fixture.fs.write(file, 0, b"y", WriteFlags::empty()).unwrap();
    assert_eq!(fixture.stat(file).mode.permissions(), 0o6755);
    fixture.fs.write(file, 0, b"y", WriteFlags::CLEAR_SET_ID).unwrap();
    assert_eq!(fixture.stat(file).mode.permissions(), 0o755);
}

// spec: FS-DATA-2, FS-DATA-6, FS-DATA-15
#[test]
fn content_belongs_to_regular_files_and_ends_at_the_largest_offset() {
    let fixture = Fixture::new();
    let fs = &fixture.fs;
    let link = fixture.symlink(Ino::ROOT, "l", "x");
    assert_eq!(errno(fs.read(Ino::ROOT, 0, 1)), Errno::EISDIR);
    assert_eq!(errno(fs.write(link, 0, b"x", WriteFlags::empty())), Errno::EINVAL);
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    let last = i64::MAX as u64 - 1;
    assert_eq!(errno(fs.write(file, last, b"xy", WriteFlags::empty())), Errno::EFBIG);
    fs.write(file, last, b"x", WriteFlags::empty()).unwrap();
    assert_eq!(fixture.stat(file).size, i64::MAX as u64);
    assert_eq!(fs.read(file, last, 10).unwrap(), b"x");
}

// spec: FS-OPEN-1, FS-OPEN-2, FS-OPEN-3
#[test]
fn opening_is_where_permission_is_checked() {
    let fixture = Fixture::new();
    let fs = &fixture.fs;
    let file = fixture.file(Ino::ROOT, "f", b"content").ino;
    let user = Caller::user(5, 5);
    fs.open(&user, file, OpenFlags::READ).unwrap();
    assert_eq!(errno(fs.open(&user, file, OpenFlags::READ | OpenFlags::WRITE)), Errno::EACCES);
    assert_eq!(errno(fs.open(&user, Ino::ROOT, OpenFlags::WRITE)), Errno::EISDIR);
    assert_eq!(errno(fs.open(&user, file, OpenFlags::READ | OpenFlags::DIRECTORY)), Errno::ENOTDIR);
    let link = fixture.symlink(Ino::ROOT, "l", "f");
    assert_eq!(errno(fs.open(&user, link, OpenFlags::READ)), Errno::ELOOP);
    fs.open(&Caller::root(), file, OpenFlags::WRITE | OpenFlags::TRUNCATE).unwrap();
    assert_eq!(fixture.stat(file).size, 0);
}

// spec: FS-ALLOC-1, FS-ALLOC-2, FS-ALLOC-3, FS-ALLOC-6, FS-ALLOC-8
#[test]
fn fallocate_checks_its_arguments_in_the_kernels_order() {
    let fixture = Fixture::new();
    let fs = &fixture.fs;
    let file = fixture.file(Ino::ROOT, "f", b"0123456789").ino;
    let (keep, punch) = (FallocateMode::KEEP_SIZE, FallocateMode::PUNCH_HOLE);
    assert_eq!(errno(fs.fallocate(file, 0, 0, punch, WriteFlags::empty())), Errno::EINVAL);
    assert_eq!(errno(fs.fallocate(file, 0, 1, punch, WriteFlags::empty())), Errno::EOPNOTSUPP);
    assert_eq!(errno(fs.fallocate(Ino::ROOT, 0, 1, keep, WriteFlags::empty())), Errno::EISDIR);
    assert_eq!(errno(fs.fallocate(file, i64::MAX as u64, 1, keep, WriteFlags::empty())), Errno::EFBIG);
    fs.fallocate(file, 2, 3, punch | keep, WriteFlags::empty()).unwrap();
    assert_eq!(fixture.content(file), b"01\0\0\x0056789");
    fs.fallocate(file, 20, 10, keep, WriteFlags::empty()).unwrap();
    assert_eq!(fixture.stat(file).size, 10);
    fs.fallocate(file, 20, 10, FallocateMode::empty(), WriteFlags::empty()).unwrap();
    assert_eq!(fixture.stat(file).size, 30);
    fs.fallocate(file, 8, 40, FallocateMode::ZERO_RANGE, WriteFlags::empty()).unwrap();
    assert_eq!(fixture.stat(file).size, 48);
    assert_eq!(
        errno(fs.fallocate(file, 1, 1, FallocateMode::COLLAPSE_RANGE, WriteFlags::empty())),
        Errno::EINVAL
    );
}

// spec: FS-SEEK-1, FS-SEEK-2, FS-ATTR-3
#[test]
fn seeking_finds_data_and_holes() {
    let fixture = Fixture::new();
    let fs = &fixture.fs;
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    let chunk = 65536;
    fs.write(file, 4 * chunk, &[1; 100], WriteFlags::empty()).unwrap();
    assert_eq!(fs.seek(file, 0, SeekTo::Hole).unwrap(), 0);
    assert_eq!(fs.seek(file, 0, SeekTo::Data).unwrap(), 4 * chunk);
    assert_eq!(fs.seek(file, 4 * chunk + 5, SeekTo::Hole).unwrap(), 4 * chunk + 100);
    assert_eq!(errno(fs.seek(file, 4 * chunk + 100, SeekTo::Data)), Errno::ENXIO);
    assert_eq!(errno(fs.seek(file, 4 * chunk + 100, SeekTo::Hole)), Errno::ENXIO);
    assert!(fixture.stat(file).blocks * 512 < 2 * chunk);
}

// spec: FS-COPY-1, FS-COPY-2
#[test]
fn ranges_are_copied_between_files_and_within_one_but_not_onto_themselves() {
    let fixture = Fixture::new();
    let fs = &fixture.fs;
    let from = fixture.file(Ino::ROOT, "a", &(0..=255).collect::<Vec<u8>>().repeat(1000)).ino;
    let to = fixture.file(Ino::ROOT, "b", b"").ino;
    assert_eq!(fs.copy_file_range(from, 10, to, 3, u64::MAX - 10, WriteFlags::empty()).unwrap(), 255_990);
    assert_eq!(fixture.content(to)[3..], fixture.content(from)[10..]);
    assert_eq!(fs.copy_file_range(from, 256_000, to, 0, 10, WriteFlags::empty()).unwrap(), 0);
    assert_eq!(errno(fs.copy_file_range(from, 0, from, 5, 10, WriteFlags::empty())), Errno::EINVAL);
    fs.copy_file_range(from, 0, from, 256_000, 300, WriteFlags::empty()).unwrap();
    assert_eq!(fixture.content(from)[256_000..], fixture.content(from)[..300]);
}
