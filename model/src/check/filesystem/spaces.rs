//! The spaces: each complete within its bounds, each with one thing that it varies much and others that it leaves alone.

use std::sync::Arc;

use super::alphabet::{
    ROOT, USER, below, by, chmod, close, exchange, link, mkdir, mknod, open, open_object, pairs, path,
    pwrite, read, readdir, rename, rename_if_free, rmdir, seekdir, symlink, truncate, unlink,
    unordered_pairs, write,
};
use super::{Bounds, Sighting, Space};
use crate::call::{Call, FallocateMode, OpenFlags, Operation, TimeChange, Whence, XattrMode};
use crate::profile::{AtimePolicy, Profile};
use crate::trace::{RootSetting, Setting};
use crate::values::{Credentials, Handle};

/// How far the bounds are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Small,
    Large,
}

use Extent::{Large, Small};

impl Extent {
    const fn choose(self, small: usize, large: usize) -> usize {
        match self {
            Small => small,
            Large => large,
        }
    }
}

/// Small enough to be explored with every run of the tests.
#[must_use]
pub fn small() -> [Space; 8] {
    all(Small)
}

/// The same with larger bounds and alphabets.
#[must_use]
pub fn larger() -> [Space; 8] {
    all(Large)
}

fn all(extent: Extent) -> [Space; 8] {
    [
        names(extent),
        open_files(extent),
        removed_directories(extent),
        permissions(extent),
        content(extent),
        listing(extent),
        unordered_listing(extent),
        times(extent),
    ]
}

/// Listings are looked at in their own spaces; elsewhere the order of entries would only make more states.
fn without_order() -> Profile {
    Profile { directory_order: false, ..Profile::agentfs() }
}

fn space(name: &'static str, profile: Profile, calls: Vec<Call>, sightings: &'static [Sighting]) -> Space {
    let user = |id| Credentials { uid: id, gid: id, groups: Vec::new() };
    let setting = Setting {
        about: String::new(),
        processes: vec![Credentials::root(), user(1)],
        root: RootSetting { uid: 0, gid: 0, permissions: 0o777 },
        profile,
    };
    let bounds = Bounds { inodes: 4, size: 2, listed: 0 };
    Space {
        name,
        setting,
        prelude: Vec::new(),
        calls,
        bounds,
        times: false,
        sightings,
        bug: None,
        seen: Arc::default(),
        floor: 1,
    }
}

/// Files, directories and symlinks, linked, renamed and removed at two levels.
fn names(extent: Extent) -> Space {
    let places = ["a", "b", "a/b", "b/a"];
    let mut operations: Vec<Operation> = Vec::new();
    operations.extend(places.map(|place| mkdir(place, 0o777)));
    operations.extend(places.map(|place| mknod(place, 0o666)));
    operations.extend([symlink("b", "a"), symlink("a", "b"), symlink("/", "a/b")]);
    operations.extend(places.map(unlink));
    operations.extend(places.map(rmdir));
    operations.extend(pairs(&places).map(|(from, to)| link(from, to)));
    operations.extend(pairs(&places).map(|(from, to)| rename(from, to)));
    operations.extend(unordered_pairs(&places).map(|(one, other)| exchange(one, other)));
    operations.extend([rename_if_free("a", "b"), rename_if_free("a/b", "b/a")]);
    let sightings = &[
        Sighting::NotEmptyRefused,
        Sighting::OwnSubtreeRefused,
        Sighting::DirectoryReplaced,
        Sighting::DirectoriesExchanged,
        Sighting::SameInodeRenamed,
        Sighting::ThreeNames,
        Sighting::SymlinkLoop,
    ];
    let space = space("names", without_order(), by(ROOT, operations), sightings);
    let bounds = Bounds { inodes: extent.choose(6, 7), ..space.bounds };
    Space { bounds, floor: extent.choose(38_000, 367_000), ..space }
}

/// Two handles on files that lose their names, get others, grow and shrink.
fn open_files(extent: Extent) -> Space {
    let places = ["a", "b"];
    let create = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
    let mut operations = vec![
        open("a", create, 1),
        open("b", create | OpenFlags::TRUNCATE, 1),
        open("a", OpenFlags::READ, 2),
        open("b", OpenFlags::WRITE | OpenFlags::APPEND, 2),
        close(1),
        close(2),
        write(1, "x"),
        write(2, "y"),
        read(1, 1),
        truncate(1, 0),
        truncate(1, 2),
        Operation::Reopen { read_only: false },
        Operation::LinkHandle { handle: Handle(1), to: "a".into() },
        Operation::LinkHandle { handle: Handle(1), to: "b".into() },
        Operation::Stat { object: open_object(1) },
    ];
    operations.extend(places.map(unlink));
    operations.extend(pairs(&places).map(|(from, to)| link(from, to)));
    operations.extend(pairs(&places).map(|(from, to)| rename(from, to)));
    operations.push(exchange("a", "b"));
    if extent == Large {
        operations.extend([mkdir("a", 0o777), rmdir("a"), truncate(1, 1), pwrite(1, 1, "z")]);
        operations.push(Operation::Reopen { read_only: true });
    }
    let sightings = &[Sighting::NamelessOpenFile, Sighting::NamelessGrows, Sighting::NamelessRefused];
    let space = space("open files", without_order(), by(ROOT, operations), sightings);
    let bounds = Bounds { size: 2, ..space.bounds };
    Space { bounds, floor: extent.choose(179_000, 1_600_000), ..space }
}

/// Directories that are removed while they are open, where ".." of one that is gone is remembered.
fn removed_directories(extent: Extent) -> Space {
    let places = ["a", "b", "a/b"];
    let mut operations = vec![
        open("a", OpenFlags::READ, 1),
        open("a/b", OpenFlags::READ, 2),
        close(1),
        close(2),
        mknod(below(1, "b"), 0o666),
        mkdir(below(2, "a"), 0o777),
        mkdir(below(2, "../b"), 0o777),
        rmdir(below(2, "../b")),
        rmdir(below(1, "b")),
        unlink(below(1, "b")),
        rename("b", below(2, "a")),
        rename(below(2, "../b"), "b"),
        Operation::Stat { object: open_object(2) },
    ];
    operations.extend(places.map(|place| mkdir(place, 0o777)));
    operations.extend(places.map(rmdir));
    operations.extend(pairs(&places).map(|(from, to)| rename(from, to)));
    operations.push(exchange("a/b", "b"));
    if extent == Large {
        operations.extend(places.map(|place| mknod(place, 0o666)));
        operations.extend([open("b", OpenFlags::READ, 3), close(3), rename(below(3, ".."), "b")]);
        operations.extend([mkdir(below(3, "a"), 0o777), rename(below(3, "a"), below(2, "../b"))]);
    }
    let profile = Profile { parent_of_removed: true, posix_errors: true, ..without_order() };
    let sightings = &[Sighting::RemovedDirectoryOpen, Sighting::NotEmptyRefused];
    let space = space("removed directories", profile, by(ROOT, operations), sightings);
    let bounds = Bounds { inodes: extent.choose(6, 7), ..space.bounds };
    Space { bounds, floor: extent.choose(14_000, 742_000), ..space }
}

/// Two users in directories that are sticky, set-group-id, closed.
fn permissions(extent: Extent) -> Space {
    let mut root = vec![mkdir("a", 0o777), mknod("a/b", 0o666), unlink("a/b")];
    root.extend([0o755, 0o1777, 0o2775].map(|mode| chmod("a", mode)));
    root.extend([chmod("a/b", 0o6777), chmod("a/b", 0o600)]);
    let chown = |of: &str, uid| Operation::Chown { object: path(of), uid: Some(uid), gid: Some(uid) };
    root.extend([chown("a", 1), chown("a/b", 1)]);
    let attribute = |of: &str| Operation::Setxattr {
        object: path(of),
        name: "user.x".into(),
        value: "1".into(),
        mode: XattrMode::Set,
    };
    let mut user = vec![
        mkdir("a/b", 0o777),
        mkdir("a/b/a", 0o777),
        mknod("a/b", 0o666),
        unlink("a/b"),
        rmdir("a/b"),
        rename("a/b", "b"),
        rename("b", "a/b"),
        open("a/b", OpenFlags::WRITE, 1),
        close(1),
        write(1, "x"),
        chmod("a/b", 0o2777),
        Operation::Chown { object: path("a/b"), uid: None, gid: Some(1) },
        attribute("a/b"),
    ];
    if extent == Large {
        root.extend([
            chmod("a", 0o3777),
            chmod("b", 0o1777),
            mknod("b", 0o666),
            chown("b", 1),
            rename("b", "a/b"),
            rmdir("a"),
        ]);
        user.extend([
            mkdir("b", 0o777),
            link("b", "a/b"),
            exchange("a/b", "b"),
            unlink("b"),
            attribute("a"),
            rmdir("b"),
        ]);
        user.extend([truncate(1, 0), Operation::Umask { mask: 0 }, rmdir("a/b/a")]);
    }
    let sightings = &[
        Sighting::StickyRefused,
        Sighting::PermissionRefused,
        Sighting::SetGroupIdInherited,
        Sighting::SetIdFalls,
        Sighting::AttributeRefused,
    ];
    let calls = [by(ROOT, root), by(USER, user)].concat();
    let space = space("permissions", without_order(), calls, sightings);
    let bounds = Bounds { inodes: 4, size: 1, listed: 0 };
    Space { bounds, floor: extent.choose(61_000, 2_245_000), ..space }
}

/// The bytes of two open files that are stored inline or in chunks of two bytes.
fn content(extent: Extent) -> Space {
    let allocate = |mode, offset, length| Operation::Fallocate { handle: Handle(1), mode, offset, length };
    let (keep, punch) = (FallocateMode::KEEP_SIZE, FallocateMode::PUNCH_HOLE | FallocateMode::KEEP_SIZE);
    let copy = |from, to, length| Operation::CopyFileRange {
        from: Handle(1),
        from_offset: from,
        to: Handle(2),
        to_offset: to,
        length,
    };
    let seek = |offset, whence| Operation::Seek { handle: Handle(1), offset, whence };
    let mut operations = vec![write(1, "x"), write(3, "x"), read(1, 2), seek(0, Whence::Set)];
    operations.extend((0..4).map(|offset| pwrite(1, offset, "x")));
    operations.extend([pwrite(1, 1, "xx"), pwrite(1, 0, "\0\0"), pwrite(1, 2, "\0\0"), pwrite(1, 3, "\0")]);
    operations.extend((0..6).map(|size| truncate(1, size)));
    operations.extend([allocate(punch, 0, 2), allocate(punch, 1, 2), allocate(punch, 3, 9)]);
    operations.extend([allocate(FallocateMode::empty(), 1, 4), allocate(keep, 0, 9)]);
    operations
        .extend([allocate(FallocateMode::ZERO_RANGE, 1, 3), allocate(FallocateMode::COLLAPSE_RANGE, 0, 2)]);
    operations
        .extend([allocate(FallocateMode::COLLAPSE_RANGE, 2, 2), allocate(FallocateMode::INSERT_RANGE, 2, 2)]);
    operations.extend([copy(0, 3, 2), copy(1, 0, 9), copy(2, 1, 2)]);
    operations.extend((0..4).flat_map(|offset| [seek(offset, Whence::Data), seek(offset, Whence::Hole)]));
    let mut prelude = vec![open("a", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE, 1)];
    prelude.push(open("a", OpenFlags::READ | OpenFlags::WRITE, 2));
    prelude.push(open("a", OpenFlags::WRITE | OpenFlags::APPEND, 3));
    if extent == Large {
        prelude[1] = open("b", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE, 2);
        operations.extend([truncate(2, 0), truncate(2, 3), pwrite(2, 0, "z")]);
    }
    let profile =
        Profile { chunk_size: 2, inline_threshold: 3, atime: AtimePolicy::Never, ..without_order() };
    let sightings: &[Sighting] = match extent {
        Small => &[Sighting::Hole, Sighting::Shifted, Sighting::Overlap],
        Large => &[Sighting::Hole, Sighting::Shifted],
    };
    let space = space("content", profile, by(ROOT, operations), sightings);
    let bounds = Bounds { size: extent.choose(6, 5) as u64, ..space.bounds };
    Space { prelude: by(ROOT, prelude), bounds, floor: extent.choose(12_000, 784_000), ..space }
}

fn listing_calls(names: &'static [&'static str]) -> Vec<Operation> {
    let mut operations: Vec<Operation> = names.iter().map(|name| mknod(*name, 0o666)).collect();
    operations.extend(names.iter().map(|name| unlink(*name)));
    operations.extend(pairs(names).map(|(from, to)| rename(from, to)));
    operations.extend(unordered_pairs(names).map(|(one, other)| exchange(one, other)));
    operations.extend([readdir(1), seekdir(1, 0), seekdir(1, 1)]);
    operations
}

const LISTING_SIGHTINGS: &[Sighting] = &[Sighting::ReturnedGone, Sighting::ReplacedUnderListing];

/// A listing that has an order, of a directory that changes meanwhile.
fn listing(extent: Extent) -> Space {
    let operations =
        listing_calls(if extent == Small { &["a", "b", "c", "d"] } else { &["a", "b", "c", "d", "e"] });
    let space = space("listing", Profile::agentfs(), by(ROOT, operations), LISTING_SIGHTINGS);
    let bounds = Bounds { inodes: extent.choose(5, 6), size: 0, listed: extent.choose(4, 5) };
    let prelude = by(ROOT, [open("/", OpenFlags::READ, 1)]);
    Space { prelude, bounds, floor: extent.choose(8_900, 5_570_000), ..space }
}

/// The same without an order, where an entry that is put in place of another may be a new one.
fn unordered_listing(extent: Extent) -> Space {
    let operations =
        listing_calls(if extent == Small { &["a", "b", "c", "d"] } else { &["a", "b", "c", "d", "e"] });
    let profile = Profile { atime: AtimePolicy::Never, ..Profile::linux() };
    let space = space("listing without order", profile, by(ROOT, operations), LISTING_SIGHTINGS);
    let bounds = Bounds { inodes: extent.choose(5, 6), size: 0, listed: extent.choose(4, 5) };
    let prelude = by(ROOT, [open("/", OpenFlags::READ, 1)]);
    Space { prelude, bounds, floor: extent.choose(7_200, 109_000), ..space }
}

/// Which calls touch which times: every time is that of the beginning or that of a call.
fn times(extent: Extent) -> Space {
    let places = ["a", "b", "a/b"];
    let mut operations = vec![
        mkdir("a", 0o777),
        mkdir("a/b", 0o777),
        mknod("b", 0o666),
        symlink("a", "b"),
        mkdir("b/b", 0o777),
        unlink("b"),
        rmdir("a"),
        rmdir("a/b"),
        open("b", OpenFlags::READ | OpenFlags::WRITE, 1),
        close(1),
        write(1, "x"),
        read(1, 1),
        truncate(1, 0),
        Operation::Readlink { path: "b".into() },
        chmod("a", 0o777),
    ];
    let utimens = |atime, mtime| Operation::Utimens { object: path("a"), atime, mtime };
    let zero = TimeChange::At(crate::values::Timestamp { seconds: 0, nanoseconds: 0 });
    operations.extend([utimens(zero, TimeChange::Omit), utimens(TimeChange::Omit, TimeChange::Now)]);
    operations.extend(pairs(&places).map(|(from, to)| rename(from, to)));
    operations.extend([exchange("a", "b"), exchange("a/b", "b"), link("b", "a/b")]);
    if extent == Large {
        operations.extend([mknod("a/b", 0o666), unlink("a/b"), chmod("b", 0o666), utimens(zero, zero)]);
        operations.extend([open("a", OpenFlags::READ, 2), close(2)]);
    }
    let sightings = &[Sighting::TimesDiffer, Sighting::RefusalPassesSymlink];
    let space = space("times", without_order(), by(ROOT, operations), sightings);
    let prelude = by(ROOT, [mkdir("a", 0o777), symlink("a", "b")]);
    let bounds = Bounds { inodes: 4, size: 1, listed: 0 };
    Space { prelude, bounds, times: true, floor: extent.choose(16_000, 1_190_000), ..space }
}
