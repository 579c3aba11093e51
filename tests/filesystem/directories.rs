//! Listing directories while they change, and directories that are large.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use agentfs::Errno;
use agentfs::types::{Caller, Ino, Name};
use agentfs::vfs::{DirectoryPosition, RenameFlags, Vfs};

use crate::common::{Fixture, errno, n};

/// Lists in batches, running `between` after each.
fn list(fixture: &Fixture, directory: Ino, batch: usize, mut between: impl FnMut(&[String])) -> Vec<String> {
    let mut seen = Vec::new();
    let mut position = DirectoryPosition::START;
    loop {
        let entries = fixture.fs.readdir(directory, position, batch, false).unwrap();
        let Some(last) = entries.last() else { return seen };
        position = last.position;
        let names: Vec<_> =
            entries.iter().map(|entry| String::from_utf8(entry.name.clone()).unwrap()).collect();
        between(&names);
        seen.extend(names);
    }
}

// spec: FS-DIR-1, FS-DIR-3, FS-DIR-4
#[test]
fn deleting_while_listing_reaches_every_entry() {
    let fixture = Fixture::new();
    for i in 0..1000 {
        fixture.file(Ino::ROOT, &format!("f{i}"), b"");
    }
    let seen = list(&fixture, Ino::ROOT, 7, |names| {
        for name in names {
            fixture.unlink(Ino::ROOT, name).unwrap();
        }
    });
    assert_eq!(seen.len(), 1000);
    assert!(fixture.names(Ino::ROOT).is_empty());
}

// spec: FS-DIR-3
#[test]
fn an_entry_that_stays_is_seen_exactly_once_while_others_come_go_and_are_renamed() {
    let fixture = Fixture::new();
    for i in 0..300 {
        fixture.file(Ino::ROOT, &format!("stable{i:03}"), b"");
        fixture.file(Ino::ROOT, &format!("moving{i:03}"), b"");
    }
    let mut round = 0;
    let seen = list(&fixture, Ino::ROOT, 10, |_| {
        let (old, new) = (format!("moving{round:03}"), format!("a-new-name{round:03}"));
        fixture.rename((Ino::ROOT, &old), (Ino::ROOT, &new), RenameFlags::empty()).unwrap();
        fixture.unlink(Ino::ROOT, &format!("moving{:03}", 299 - round)).unwrap();
        fixture.file(Ino::ROOT, &format!("added{round}"), b"");
        round += 1;
    });
    let stable: Vec<_> = seen.iter().filter(|name| name.starts_with("stable")).collect();
    assert_eq!(stable.len(), 300);
    assert_eq!(stable.iter().collect::<BTreeSet<_>>().len(), 300);
    assert_eq!(seen.len(), seen.iter().collect::<BTreeSet<_>>().len(), "no name twice");
}

// spec: FS-DIR-3, FS-RENAME-7
#[test]
fn saving_every_listed_file_by_rename_ends_and_shows_each_once() {
    let fixture = Fixture::new();
    for i in 0..50 {
        fixture.file(Ino::ROOT, &format!("f{i}"), b"");
    }
    let seen = list(&fixture, Ino::ROOT, 1, |names| {
        fixture.file(Ino::ROOT, "temporary", b"new");
        fixture.rename((Ino::ROOT, "temporary"), (Ino::ROOT, &names[0]), RenameFlags::empty()).unwrap();
    });
    assert_eq!(seen.len(), 50);
}

// spec: FS-DIR-4
#[test]
fn a_position_outlives_its_entry_and_a_reopening() {
    let fixture = Fixture::new();
    for name in ["a", "b", "c"] {
        fixture.file(Ino::ROOT, name, b"");
    }
    let first = fixture.fs.readdir(Ino::ROOT, DirectoryPosition::START, 2, false).unwrap();
    let position = first[1].position;
    fixture.unlink(Ino::ROOT, "b").unwrap();
    let fixture = fixture.reopen();
    let rest = fixture.fs.readdir(Ino::ROOT, position, 10, false).unwrap();
    assert_eq!(rest.iter().map(|entry| &entry.name[..]).collect::<Vec<_>>(), [b"c"]);
}

// spec: FS-DIR-6, FS-DIR-7
#[test]
fn only_directories_are_listed_and_each_entry_can_carry_its_attributes() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", b"123");
    assert_eq!(errno(fixture.fs.readdir(file.ino, DirectoryPosition::START, 1, false)), Errno::ENOTDIR);
    let entries = fixture.fs.readdir(Ino::ROOT, DirectoryPosition::START, 10, true).unwrap();
    assert_eq!(entries[0].attributes, Some(file));
}

// spec: FS-DIR-8
#[test]
fn a_large_directory_costs_no_more_per_entry_than_a_small_one() {
    let fixture = Fixture::new();
    let caller = Caller::root();
    let create = |range: std::ops::Range<u32>| -> Duration {
        let start = Instant::now();
        for i in range {
            let name = format!("entry-{:08x}", i.wrapping_mul(0x9E37_79B1));
            let made = fixture.fs.create(&caller, Ino::ROOT, Name::new(name.as_bytes()).unwrap(), 0o644);
            fixture.fs.forget(made.unwrap().ino, 1);
        }
        start.elapsed()
    };
    create(0..1_000);
    let small = create(1_000..2_000);
    create(2_000..19_000);
    let large = create(19_000..20_000);
    // Linear cost would be ten times; the bound leaves room for a busy machine.
    assert!(large < small * 6 + Duration::from_millis(200), "{small:?} for 1,000, later {large:?}");
    assert_eq!(list(&fixture, Ino::ROOT, 500, |_| {}).len(), 20_000);
    assert_eq!(fixture.lookup(Ino::ROOT, "missing").unwrap_err().errno(), Errno::ENOENT);
}

// spec: FS-LOOKUP-3
#[test]
fn the_parent_of_a_directory_is_known_and_the_roots_is_itself() {
    let fixture = Fixture::new();
    let a = fixture.directory(Ino::ROOT, "a");
    let b = fixture.directory(a, "b");
    assert_eq!(fixture.fs.parent(b).unwrap(), a);
    assert_eq!(fixture.fs.parent(Ino::ROOT).unwrap(), Ino::ROOT);
    let fixture = fixture.reopen();
    assert_eq!(fixture.fs.parent(b).unwrap(), a);
    fixture.fs.lookup(&Caller::root(), a, n("b")).unwrap();
    fixture.rmdir(a, "b").unwrap();
    assert_eq!(errno(fixture.fs.parent(b)), Errno::ENOENT);
}

// spec: FS-NLINK-6
#[test]
fn a_directory_with_too_many_entries_to_count_shows_one_link() {
    let fixture = Fixture::new();
    let directory = fixture.directory(Ino::ROOT, "d");
    let inner = fixture.directory(directory, "inner");
    let link = |i: u32| {
        let name = format!("link{i}");
        let caller = Caller::root();
        fixture.fs.link(&caller, fixture.lookup(directory, "f").unwrap().ino, directory, n(&name)).unwrap();
    };
    fixture.file(directory, "f", b"");
    (0..10_000).for_each(link);
    assert_eq!(fixture.stat(directory).nlink, 3, "counted while it grew");
    let fixture = fixture.reopen();
    assert_eq!((fixture.stat(directory).nlink, fixture.stat(inner).nlink), (1, 2));
    fixture.rmdir(directory, "inner").unwrap();
    assert_eq!(fixture.stat(directory).nlink, 1);
}

// spec: FS-LOOKUP-5
#[test]
fn an_entry_without_an_inode_does_not_hide_the_others() {
    let fixture = Fixture::new();
    fixture.file(Ino::ROOT, "a", b"");
    let lost = fixture.file(Ino::ROOT, "lost", b"").ino;
    fixture.file(Ino::ROOT, "z", b"");
    fixture
        .fs
        .store()
        .mutate(|session| session.execute("DELETE FROM fs_inode WHERE ino = ?", [lost.0]))
        .unwrap();
    assert_eq!(fixture.names(Ino::ROOT), ["a", "z"]);
    assert_eq!(errno(fixture.lookup(Ino::ROOT, "lost")), Errno::EIO);
}

// spec: FS-DIR-8
#[test]
fn listing_by_single_entries_costs_no_more_per_entry_in_a_large_directory() {
    let fixture = Fixture::new();
    let fill = |name: &str, count: u32| {
        let directory = fixture.directory(Ino::ROOT, name);
        let file = fixture.file(directory, "f", b"").ino;
        for i in 1..count {
            let name = format!("{i}");
            fixture.fs.link(&Caller::root(), file, directory, n(&name)).unwrap();
        }
        directory
    };
    let (small, large) = (fill("small", 200), fill("large", 5_000));
    let take = |directory| {
        let start = Instant::now();
        let seen = list(&fixture, directory, 1, |_| {}).len() as u32;
        start.elapsed() / seen
    };
    take(small);
    let (few, many) = (take(small), take(large));
    // Twenty-five times as many entries: any search for the place would show.
    assert!(
        many < few * 8 + Duration::from_micros(20),
        "{few:?} an entry of 200, {many:?} an entry of 5,000"
    );
}

// spec: FS-DIR-1, FS-DIR-2, FS-DIR-5
#[test]
fn entries_come_in_the_order_of_their_rows() {
    let fixture = Fixture::new();
    for name in ["z", "a", "m"] {
        fixture.file(Ino::ROOT, name, b"");
    }
    fixture.unlink(Ino::ROOT, "a").unwrap();
    fixture.file(Ino::ROOT, "a", b"");
    let read = |after, limit| fixture.fs.readdir(Ino::ROOT, after, limit, false).unwrap();
    let all = read(DirectoryPosition::START, 10);
    assert_eq!(all.iter().map(|entry| &entry.name[..]).collect::<Vec<_>>(), [b"z", b"m", b"a"]);
    assert!(all.windows(2).all(|pair| pair[0].position < pair[1].position));
    assert_eq!(read(DirectoryPosition::START, 2), all[..2]);
    assert_eq!(read(all[1].position, 2), all[2..]);
    assert_eq!(read(all[2].position, 2), []);
    assert_eq!(read(DirectoryPosition(u64::MAX), 2), []);
    fixture.unlink(Ino::ROOT, "m").unwrap();
    assert_eq!(read(all[0].position, 2), all[2..], "removed before the call");
    assert_eq!(fixture.count("SELECT MAX(id) FROM fs_dentry"), all[2].position.0 as i64);
}
