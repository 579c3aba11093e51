//! chmod, chown, truncate, utimensat, access times.

use agentfs::Errno;
use agentfs::types::{Access, AtimePolicy, Caller, Gid, Ino, SetAttributes, SetTime, Timestamp, Uid};
use agentfs::vfs::{DirectoryPosition, Vfs};

use crate::common::{Fixture, START, errno, n};

fn changes() -> SetAttributes {
    SetAttributes::default()
}

fn mode(permissions: u32) -> SetAttributes {
    SetAttributes { permissions: Some(permissions), ..changes() }
}

fn owner(uid: u32, gid: u32) -> SetAttributes {
    SetAttributes { uid: Some(Uid(uid)), gid: Some(Gid(gid)), ..changes() }
}

// spec: FS-PERM-1, FS-PERM-2, FS-ERR-3, FS-ATTR-11
#[test]
fn the_first_class_that_fits_decides() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    fixture.fs.setattr(&Caller::root(), file, &owner(10, 20)).unwrap();
    fixture.chmod(file, 0o074);
    let owner = Caller::user(10, 20);
    let member = Caller { groups: vec![Gid(20)], ..Caller::user(11, 1) };
    let other = Caller::user(12, 1);
    assert_eq!(errno(fixture.fs.access(&owner, file, Access::READ)), Errno::EACCES);
    fixture.fs.access(&member, file, Access::all()).unwrap();
    fixture.fs.access(&other, file, Access::READ).unwrap();
    assert_eq!(errno(fixture.fs.access(&other, file, Access::WRITE)), Errno::EACCES);
    fixture.chmod(file, 0);
    fixture.fs.access(&Caller::root(), file, Access::READ | Access::WRITE).unwrap();
    assert_eq!(errno(fixture.fs.access(&Caller::root(), file, Access::EXECUTE)), Errno::EACCES);
    let authorized = Caller::authorized(12, 1);
    fixture.fs.access(&authorized, file, Access::all()).unwrap();
}

// spec: FS-PERM-10, FS-ATTR-7
#[test]
fn only_the_owner_changes_the_mode_and_strangers_to_the_group_lose_set_group_id() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    fixture.fs.setattr(&Caller::root(), file, &owner(10, 20)).unwrap();
    assert_eq!(errno(fixture.fs.setattr(&Caller::user(11, 20), file, &mode(0o777))), Errno::EPERM);
    let changed = fixture.fs.setattr(&Caller::user(10, 1), file, &mode(0o6755)).unwrap();
    assert_eq!(changed.mode.permissions(), 0o4755);
    let member = Caller { groups: vec![Gid(20)], ..Caller::user(10, 1) };
    let changed = fixture.fs.setattr(&member, file, &mode(0o6755)).unwrap();
    assert_eq!(changed.mode.permissions(), 0o6755);
}

// spec: FS-PERM-8, FS-PERM-9, FS-PERM-11, FS-ATTR-4
#[test]
fn owners_give_files_to_their_own_groups_only_and_set_id_bits_fall() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    fixture.fs.setattr(&Caller::root(), file, &owner(10, 20)).unwrap();
    fixture.chmod(file, 0o6755);
    let user = Caller { groups: vec![Gid(30)], ..Caller::user(10, 20) };
    let to = |gid| SetAttributes { gid: Some(Gid(gid)), ..changes() };
    assert_eq!(errno(fixture.fs.setattr(&user, file, &to(40))), Errno::EPERM);
    assert_eq!(errno(fixture.fs.setattr(&user, file, &owner(11, 30))), Errno::EPERM);
    assert_eq!(fixture.stat(file).mode.permissions(), 0o6755, "a refused change leaves no trace");
    let changed = fixture.fs.setattr(&user, file, &to(30)).unwrap();
    assert_eq!((changed.gid, changed.mode.permissions()), (Gid(30), 0o755));
    fixture.chmod(file, 0o6755);
    let changed = fixture.fs.setattr(&Caller::root(), file, &owner(1, 1)).unwrap();
    assert_eq!(changed.mode.permissions(), 0o755, "also when the superuser changes the owner");
    let directory = fixture.directory(Ino::ROOT, "d");
    fixture.chmod(directory, 0o2755);
    let changed = fixture.fs.setattr(&Caller::root(), directory, &owner(1, 1)).unwrap();
    assert_eq!(changed.mode.permissions(), 0o2755, "a directory keeps its bits");
}

// spec: FS-ATTR-9, FS-ATTR-6, FMT-13
#[test]
fn times_are_set_to_the_nanosecond_also_before_1970() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    let past = Timestamp::new(-2, 500_000_000);
    let far = Timestamp::new(5_000_000_000, 1);
    fixture.clock.advance(1);
    let times = SetAttributes { atime: Some(SetTime::At(past)), mtime: Some(SetTime::At(far)), ..changes() };
    fixture.fs.setattr(&Caller::root(), file, &times).unwrap();
    let fixture = fixture.reopen();
    let stat = fixture.stat(file);
    assert_eq!((stat.atime, stat.mtime), (past, far));
    assert_eq!(stat.ctime.seconds, START.seconds + 1);
}

// spec: FS-ATTR-8
#[test]
fn whoever_may_write_may_set_times_to_now_and_only_the_owner_to_anything_else() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    fixture.chmod(file, 0o666);
    let stranger = Caller::user(7, 7);
    let now = SetAttributes { atime: Some(SetTime::Now), mtime: Some(SetTime::Now), ..changes() };
    let one = SetAttributes { mtime: Some(SetTime::Now), ..changes() };
    let then = SetAttributes { mtime: Some(SetTime::At(Timestamp::EPOCH)), ..changes() };
    fixture.fs.setattr(&stranger, file, &now).unwrap();
    assert_eq!(errno(fixture.fs.setattr(&stranger, file, &one)), Errno::EPERM, "an explicit change");
    let cut = SetAttributes { size: Some(0), ..one };
    fixture.fs.setattr(&stranger, file, &cut).unwrap();
    assert_eq!(errno(fixture.fs.setattr(&stranger, file, &then)), Errno::EPERM);
    fixture.chmod(file, 0o644);
    assert_eq!(errno(fixture.fs.setattr(&stranger, file, &now)), Errno::EACCES);
}

// spec: FS-ATTR-7, FS-PERM-12, FS-TRUNC-1, FS-TRUNC-4, FS-DATA-6
#[test]
fn truncation_needs_write_permission_on_a_regular_file_and_takes_set_id_away() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"0123456789").ino;
    fixture.chmod(file, 0o6777);
    fixture.clock.advance(4);
    let cut = SetAttributes { size: Some(4), ..changes() };
    let stat = fixture.fs.setattr(&Caller::user(9, 9), file, &cut).unwrap();
    assert_eq!((stat.size, stat.mode.permissions()), (4, 0o777));
    assert_eq!((stat.mtime.seconds, stat.ctime.seconds), (START.seconds + 4, START.seconds + 4));
    assert_eq!(fixture.content(file), b"0123");
    let grow = SetAttributes { size: Some(6), ..changes() };
    fixture.fs.setattr(&Caller::root(), file, &grow).unwrap();
    assert_eq!(fixture.content(file), b"0123\0\0");
    fixture.chmod(file, 0o600);
    assert_eq!(errno(fixture.fs.setattr(&Caller::user(9, 9), file, &cut)), Errno::EACCES);
    assert_eq!(errno(fixture.fs.setattr(&Caller::root(), Ino::ROOT, &cut)), Errno::EISDIR);
    let link = fixture.symlink(Ino::ROOT, "l", "f");
    assert_eq!(errno(fixture.fs.setattr(&Caller::root(), link, &cut)), Errno::EINVAL);
    let huge = SetAttributes { size: Some(1 << 63), ..changes() };
    assert_eq!(errno(fixture.fs.setattr(&Caller::root(), file, &huge)), Errno::EFBIG);
}

// spec: FS-TIME-4, FS-TIME-5
#[test]
fn a_read_moves_the_access_time_as_relatime_does() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"x").ino;
    fixture.clock.advance(1);
    fixture.fs.read(file, 0, 1).unwrap();
    assert_eq!(fixture.stat(file).atime.seconds, START.seconds + 1);
    fixture.clock.advance(10);
    fixture.fs.read(file, 0, 1).unwrap();
    assert_eq!(fixture.stat(file).atime.seconds, START.seconds + 1, "younger than the last change");
    fixture.clock.advance(24 * 3600);
    fixture.fs.read(file, 0, 1).unwrap();
    let expected = START.seconds + 11 + 24 * 3600;
    assert_eq!(fixture.stat(file).atime.seconds, expected, "a day old");
    let fixture = fixture.reopen();
    assert_eq!(fixture.stat(file).atime.seconds, expected, "kept by a clean close");
}

// spec: FS-TIME-4
#[test]
fn the_access_time_policy_is_an_option() {
    for (policy, moved) in [(AtimePolicy::Never, 0), (AtimePolicy::Strict, 20)] {
        let fixture = Fixture::with(|options| options.atime = policy);
        let file = fixture.file(Ino::ROOT, "f", b"x").ino;
        for _ in 0..2 {
            fixture.clock.advance(10);
            fixture.fs.read(file, 0, 1).unwrap();
        }
        assert_eq!(fixture.stat(file).atime.seconds, START.seconds + moved, "{policy:?}");
    }
}

// spec: FS-TIME-3, FS-TIME-4
#[test]
fn reading_a_directory_and_a_symlink_are_reads_too() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    let link = fixture.symlink(Ino::ROOT, "l", "d");
    fixture.clock.advance(2);
    fixture.fs.readdir(directory, DirectoryPosition::START, 1, false).unwrap();
    fixture.fs.readlink(link).unwrap();
    assert_eq!(fixture.stat(directory).atime.seconds, START.seconds + 2);
    assert_eq!(fixture.stat(link).atime.seconds, START.seconds + 2);
}

// spec: FS-CREATE-7, FS-ATTR-2, FS-LOOKUP-4
#[test]
fn a_symlink_has_the_length_of_its_target_and_all_permissions() {
    let fixture = Fixture::new();
    let link = fixture.symlink(Ino::ROOT, "l", "some/where");
    let stat = fixture.stat(link);
    assert_eq!((stat.size, stat.mode.permissions()), (10, 0o777));
    assert_eq!(fixture.fs.readlink(link).unwrap(), b"some/where");
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    assert_eq!(errno(fixture.fs.readlink(file)), Errno::EINVAL);
}

// spec: FS-ATTR-6
#[test]
fn kernel_times_are_taken_as_they_are() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"").ino;
    let ctime = Timestamp::new(START.seconds - 9, 5);
    let flushed = SetAttributes { ctime: Some(ctime), ..changes() };
    fixture.fs.setattr(&Caller::authorized(5, 5), file, &flushed).unwrap();
    assert_eq!(fixture.stat(file).ctime, ctime);
}

// spec: FS-LOOKUP-1
#[test]
fn a_lookup_needs_search_permission_on_a_directory() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    let file = fixture.file(directory, "f", b"").ino;
    fixture.chmod(directory, 0o700);
    let user = Caller::user(3, 3);
    assert_eq!(errno(fixture.fs.lookup(&user, directory, n("f"))), Errno::EACCES);
    assert_eq!(errno(fixture.fs.lookup(&user, file, n("f"))), Errno::ENOTDIR);
    assert_eq!(errno(fixture.lookup(directory, "missing")), Errno::ENOENT);
}
