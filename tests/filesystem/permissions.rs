//! Who may do what, and which set-id bits are left.

use agentfs::Errno;
use agentfs::types::{Access, Attributes, Caller, Gid, Ino, SetAttributes, Target, Uid};
use agentfs::vfs::{FallocateMode, OpenFlags, Vfs, WriteFlags, XattrMode};

use crate::common::{Fixture, errno, n};

const NONE: SetAttributes = SetAttributes {
    permissions: None,
    uid: None,
    gid: None,
    size: None,
    atime: None,
    mtime: None,
    ctime: None,
};

/// A file of user 10 and group 20 with these permissions.
fn owned(fixture: &Fixture, permissions: u32) -> Ino {
    let file = fixture.file(Ino::ROOT, "f", b"content").ino;
    let owner = SetAttributes { uid: Some(Uid(10)), gid: Some(Gid(20)), ..NONE };
    fixture.fs.setattr(&Caller::root(), file, &owner).unwrap();
    fixture.chmod(file, permissions);
    fixture.unlink(Ino::ROOT, "f").unwrap();
    file
}

fn bits(attributes: Attributes) -> u32 {
    attributes.mode.permissions()
}

// spec: FS-PERM-3, FS-PERM-15
#[test]
fn adding_and_removing_need_write_and_search_on_the_directory_and_inodes_in_hand_need_none() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    let file = fixture.file(directory, "f", b"content").ino;
    let user = Caller::user(7, 7);
    for permissions in [0o755, 0o772] {
        fixture.chmod(directory, permissions);
        assert_eq!(errno(fixture.fs.create(&user, directory, n("g"), 0o600)), Errno::EACCES);
        assert_eq!(errno(fixture.fs.unlink(&user, directory, n("f"))), Errno::EACCES);
    }
    fixture.chmod(directory, 0o000);
    fixture.fs.open(&user, file, OpenFlags::READ).unwrap();
    assert_eq!(fixture.fs.read(file, 0, 7).unwrap(), b"content");
    assert_eq!(fixture.fs.getattr(file).unwrap().size, 7);
    fixture.chmod(directory, 0o773);
    fixture.fs.create(&user, directory, n("g"), 0o600).unwrap();
    fixture.fs.unlink(&user, directory, n("f")).unwrap();
}

// spec: FS-PERM-2
#[test]
fn user_0_searches_every_directory() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    fixture.file(directory, "f", b"");
    fixture.chmod(directory, 0);
    assert!(fixture.lookup(directory, "f").is_ok());
    fixture.fs.access(&Caller::root(), directory, Access::all()).unwrap();
}

// spec: FS-PERM-4
#[test]
fn the_owner_of_a_sticky_directory_and_user_0_remove_what_others_own() {
    let fixture = Fixture::new();
    let directory = fixture.fs.mkdir(&Caller::user(1, 1), Ino::ROOT, n("d"), 0o1777).unwrap().ino;
    fixture.chmod(directory, 0o1777);
    for (remover, allowed) in
        [(Caller::user(1, 1), true), (Caller::root(), true), (Caller::user(3, 2), false)]
    {
        fixture.fs.create(&Caller::user(2, 2), directory, n("f"), 0o666).unwrap();
        assert_eq!(fixture.fs.unlink(&remover, directory, n("f")).is_ok(), allowed, "{remover:?}");
    }
}

// spec: FS-PERM-5
#[test]
fn a_directory_that_moves_must_be_writable_itself() {
    let fixture = Fixture::new();
    let user = Caller::user(7, 7);
    let place = fixture.directory(Ino::ROOT, "place");
    fixture.chmod(place, 0o777);
    let moved = fixture.directory(Ino::ROOT, "moved");
    let flags = agentfs::vfs::RenameFlags::empty();
    let rename = |to: Ino, name| fixture.fs.rename(&user, Ino::ROOT, n("moved"), to, n(name), flags);
    assert_eq!(errno(rename(place, "moved")), Errno::EACCES);
    rename(Ino::ROOT, "renamed").unwrap();
    fixture.rename((Ino::ROOT, "renamed"), (Ino::ROOT, "moved"), flags).unwrap();
    fixture.chmod(moved, 0o777);
    rename(place, "moved").unwrap();
}

// spec: FS-PERM-6, FS-PERM-7, FS-PERM-14
#[test]
fn owner_group_and_umask_of_what_is_made() {
    let fixture = Fixture::new();
    let caller = Caller { umask: 0o077, ..Caller::user(10, 20) };
    let target = Target::new(b"t").unwrap();
    let directory = fixture.fs.mkdir(&caller, Ino::ROOT, n("d"), 0o777).unwrap();
    assert_eq!((directory.uid, directory.gid, bits(directory)), (Uid(10), Gid(20), 0o700));
    let link = fixture.fs.symlink(&caller, Ino::ROOT, n("l"), target).unwrap();
    assert_eq!((link.uid, link.gid, bits(link)), (Uid(10), Gid(20), 0o777));
    let shared = fixture.directory(Ino::ROOT, "shared");
    let group = SetAttributes { gid: Some(Gid(50)), ..NONE };
    fixture.fs.setattr(&Caller::root(), shared, &group).unwrap();
    fixture.chmod(shared, 0o2777);
    assert_eq!(fixture.fs.symlink(&caller, shared, n("l"), target).unwrap().gid, Gid(50));
    let open = |groups: Vec<Gid>| Caller { umask: 0, groups, ..Caller::user(10, 20) };
    let make = |caller: &Caller, name, permissions| {
        bits(fixture.fs.create(caller, shared, n(name), permissions).unwrap())
    };
    assert_eq!(make(&open(vec![]), "stranger", 0o2755), 0o755);
    assert_eq!(make(&open(vec![]), "no-execution", 0o2745), 0o2745);
    // What is asked for decides, also where the umask takes the execution away.
    assert_eq!(make(&caller, "masked", 0o2755), 0o700);
    assert_eq!(make(&open(vec![Gid(50)]), "member", 0o2755), 0o2755);
    assert_eq!(make(&Caller::root(), "root", 0o2755), 0o2755);
    assert_eq!(make(&Caller::authorized(10, 20), "authorized", 0o2755), 0o2755);
    assert_eq!(fixture.fs.create(&open(vec![]), Ino::ROOT, n("f"), 0o2755).map(bits).unwrap(), 0o2755);
}

// spec: FS-CREATE-5, FS-PERM-7
#[test]
fn mkdir_takes_no_set_id_bits_and_hands_set_group_id_down() {
    let fixture = Fixture::new();
    let root = Caller::root();
    assert_eq!(bits(fixture.fs.mkdir(&root, Ino::ROOT, n("d"), 0o7777).unwrap()), 0o1777);
    assert_eq!(bits(fixture.fs.create(&root, Ino::ROOT, n("f"), 0o7777).unwrap()), 0o7777);
    fixture.chmod(Ino::ROOT, 0o2777);
    assert_eq!(bits(fixture.fs.mkdir(&root, Ino::ROOT, n("e"), 0o755).unwrap()), 0o2755);
}

// spec: FS-ATTR-10, FS-PERM-10
#[test]
fn chmod_changes_twelve_bits_and_strangers_to_the_group_lose_one() {
    let fixture = Fixture::new();
    let file = owned(&fixture, 0o644);
    let chmod = |caller: &Caller, ino, changes| bits(fixture.fs.setattr(caller, ino, &changes).unwrap());
    let all = SetAttributes { permissions: Some(0o177_777), ..NONE };
    assert_eq!(chmod(&Caller::root(), file, all), 0o7777);
    assert!(fixture.stat(file).mode.is_regular());
    let directory = fixture.fs.mkdir(&Caller::user(10, 20), Ino::ROOT, n("d"), 0o755).unwrap().ino;
    let bits = SetAttributes { permissions: Some(0o2755), ..NONE };
    assert_eq!(chmod(&Caller::user(10, 20), directory, bits), 0o2755);
    assert_eq!(chmod(&Caller::user(10, 21), directory, bits), 0o755);
    let member = Caller { groups: vec![Gid(30)], ..Caller::user(10, 20) };
    let away = SetAttributes { gid: Some(Gid(30)), ..bits };
    assert_eq!(
        chmod(&Caller { gid: Gid(30), ..member.clone() }, directory, away),
        0o2755,
        "the new group counts"
    );
    assert_eq!(chmod(&Caller::authorized(10, 1), directory, bits), 0o2755);
}

// spec: FS-PERM-11, FS-PERM-16, FS-ERR-3
#[test]
fn chown_drops_set_id_bits_and_keeps_those_given_with_it() {
    let fixture = Fixture::new();
    let file = owned(&fixture, 0);
    let chown = |caller: &Caller, before, permissions| {
        fixture.chmod(file, before);
        let changes = SetAttributes { gid: Some(Gid(20)), permissions, ..NONE };
        bits(fixture.fs.setattr(caller, file, &changes).unwrap())
    };
    let (owner, stranger) = (Caller::user(10, 20), Caller::user(10, 21));
    assert_eq!(chown(&Caller::root(), 0o6755, None), 0o755);
    assert_eq!(chown(&Caller::root(), 0o6745, None), 0o2745, "without group execution it is no set-id");
    assert_eq!(chown(&owner, 0o6745, None), 0o2745);
    assert_eq!(chown(&stranger, 0o6745, None), 0o745);
    assert_eq!(chown(&Caller::authorized(10, 21), 0o6745, None), 0o2745, "a member of every group");
    assert_eq!(chown(&Caller::root(), 0o755, Some(0o6755)), 0o6755);
    assert_eq!(chown(&stranger, 0o755, Some(0o6755)), 0o4755);
}

// spec: FS-PERM-8, FS-PERM-9
#[test]
fn owners_and_groups_are_given_away_by_user_0_alone() {
    let fixture = Fixture::new();
    let file = owned(&fixture, 0o666);
    let owner = Caller { groups: vec![Gid(30)], ..Caller::user(10, 1) };
    let set = |caller: &Caller, uid, gid| {
        fixture.fs.setattr(caller, file, &SetAttributes { uid, gid, ..NONE }).map(|now| (now.uid, now.gid))
    };
    assert_eq!(set(&owner, Some(Uid(10)), Some(Gid(20))).unwrap(), (Uid(10), Gid(20)), "as they are");
    assert_eq!(errno(set(&owner, Some(Uid(11)), None)), Errno::EPERM);
    assert_eq!(errno(set(&owner, None, Some(Gid(31)))), Errno::EPERM);
    let member = Caller { groups: vec![Gid(20)], ..Caller::user(11, 1) };
    assert_eq!(errno(set(&member, None, Some(Gid(20)))), Errno::EPERM, "not the owner");
    assert_eq!(set(&owner, None, Some(Gid(30))).unwrap(), (Uid(10), Gid(30)));
    assert_eq!(set(&Caller::root(), Some(Uid(1)), Some(Gid(2))).unwrap(), (Uid(1), Gid(2)));
}

// spec: FS-PERM-12, FS-PERM-13, FS-PERM-16, FS-XATTR-11
#[test]
fn changed_content_drops_capabilities_and_set_id_bits_where_somebody_unprivileged_changes_it() {
    let fixture = Fixture::new();
    let fs = &fixture.fs;
    let file = owned(&fixture, 0o6777);
    let source = fixture.file(Ino::ROOT, "source", b"source").ino;
    let cap = b"security.capability";
    let arm = || {
        fixture.chmod(file, 0o6777);
        fs.setxattr(&Caller::root(), file, cap, b"cap", XattrMode::Set).unwrap();
    };
    let left = || (bits(fixture.stat(file)), fs.getxattr(&Caller::root(), file, cap).is_ok());
    let done = |_: u64| ();
    let refused = FallocateMode::COLLAPSE_RANGE;
    let kept: [&dyn Fn(); 3] = [
        &|| done(fs.write(file, 0, b"", WriteFlags::CLEAR_SET_ID).unwrap()),
        &|| done(fs.copy_file_range(source, 6, file, 0, 6, WriteFlags::CLEAR_SET_ID).unwrap()),
        &|| assert!(fs.fallocate(file, 1, 1, refused, WriteFlags::CLEAR_SET_ID).is_err()),
    ];
    arm();
    kept.iter().for_each(|change| change());
    assert_eq!(left(), (0o6777, true), "nothing has changed");
    let by_root: [&dyn Fn(); 4] = [
        &|| done(fs.write(file, 0, b"x", WriteFlags::empty()).unwrap()),
        &|| done(fs.write(file, 0, b"x", WriteFlags::KEEP_TIMES).unwrap()),
        &|| fs.fallocate(file, 0, 100, FallocateMode::empty(), WriteFlags::empty()).unwrap(),
        &|| done(fs.copy_file_range(source, 0, file, 0, 6, WriteFlags::empty()).unwrap()),
    ];
    for change in by_root {
        arm();
        change();
        assert_eq!(left(), (0o6777, false), "capabilities fall whoever changes the content");
    }
    let all_three: [&dyn Fn(WriteFlags); 3] = [
        &|flags| done(fs.write(file, 0, b"x", flags).unwrap()),
        &|flags| fs.fallocate(file, 0, 100, FallocateMode::empty(), flags).unwrap(),
        &|flags| done(fs.copy_file_range(source, 0, file, 0, 6, flags).unwrap()),
    ];
    for change in all_three {
        arm();
        change(WriteFlags::CLEAR_SET_ID);
        assert_eq!(left(), (0o777, false));
        fixture.chmod(file, 0o6745);
        change(WriteFlags::CLEAR_SET_ID);
        assert_eq!(bits(fixture.stat(file)), 0o2745, "without group execution it is no set-id");
        change(WriteFlags::CLEAR_SET_ID | WriteFlags::CLEAR_GROUP_ID);
        assert_eq!(bits(fixture.stat(file)), 0o745, "but falls for a stranger to the group");
    }
    let truncate = OpenFlags::WRITE | OpenFlags::TRUNCATE;
    arm();
    fs.open(&Caller::root(), file, truncate).unwrap();
    assert_eq!(left(), (0o6777, false));
    arm();
    fs.open(&Caller::user(7, 20), file, truncate).unwrap();
    assert_eq!(left(), (0o777, false));
    arm();
    let cut = SetAttributes { size: Some(0), permissions: Some(0o4755), ..NONE };
    assert_eq!(bits(fs.setattr(&Caller::user(10, 20), file, &cut).unwrap()), 0o4755);
}

// spec: FS-ERR-3
#[test]
fn a_caller_whom_the_kernel_has_authorized_is_refused_nothing() {
    let fixture = Fixture::new();
    let fs = &fixture.fs;
    let caller = Caller::authorized(7, 7);
    let directory = fixture.directory(Ino::ROOT, "d");
    fixture.file(directory, "f", b"");
    let file = owned(&fixture, 0);
    fixture.chmod(directory, 0o1000);
    fs.access(&caller, file, Access::all()).unwrap();
    fs.open(&caller, file, OpenFlags::READ | OpenFlags::WRITE).unwrap();
    let made = fs.create(&caller, directory, n("g"), 0o666).unwrap();
    assert_eq!((made.uid, made.gid, bits(made)), (Uid(7), Gid(7), 0o666));
    fs.unlink(&caller, directory, n("f")).unwrap();
    let changes = SetAttributes { uid: Some(Uid(1)), gid: Some(Gid(2)), permissions: Some(0), ..NONE };
    fs.setattr(&caller, file, &changes).unwrap();
    for name in [&b"user.a"[..], b"trusted.a", b"security.a"] {
        fs.setxattr(&caller, file, name, b"1", XattrMode::Set).unwrap();
        assert_eq!(fs.getxattr(&caller, file, name).unwrap(), b"1");
    }
    let device = agentfs::vfs::NodeSpec {
        mode: agentfs::types::Mode::new(agentfs::types::FileKind::BlockDevice, 0o600),
        rdev: agentfs::types::DeviceNumber(0x801),
    };
    fs.mknod(&caller, directory, n("device"), device).unwrap();
    let made = fs.create(&Caller::root(), directory, n("by-root"), 0o600).unwrap();
    assert_eq!(errno(fs.access(&Caller::root(), made.ino, Access::EXECUTE)), Errno::EACCES);
}
