//! fallocate in its modes, seeking, copying and what statfs says of the room that is left.

use agentfs::Errno;
use agentfs::types::{Caller, Ino};
use agentfs::vfs::{FallocateMode, SeekTo, Vfs, WriteFlags};

use crate::common::{Fixture, errno, n};

const CHUNK: u64 = 65536;

// spec: FS-ALLOC-6
#[test]
fn the_modes_are_seven_and_no_other_combination() {
    let fixture = Fixture::new();
    let file = fixture.file(Ino::ROOT, "f", &[1; 4 * CHUNK as usize]).ino;
    let provided = [0x00, 0x01, 0x03, 0x10, 0x11, 0x08, 0x20];
    for bits in 0..0x80 {
        let mode = FallocateMode::from_bits_retain(bits);
        let outcome = fixture.fs.fallocate(file, 0, CHUNK, mode, WriteFlags::empty());
        match provided.contains(&bits) {
            true => outcome.unwrap(),
            false => assert_eq!(errno(outcome), Errno::EOPNOTSUPP, "{bits:#x}"),
        }
    }
}

// spec: FS-ALLOC-1, FS-ALLOC-3, FS-ALLOC-8, FS-DATA-6
#[test]
fn allocation_adds_a_hole_and_finds_out_whether_there_is_room() {
    let fixture = Fixture::new();
    let fs = &fixture.fs;
    let file = fixture.file(Ino::ROOT, "f", b"content").ino;
    let (plain, keep, zero) = (FallocateMode::empty(), FallocateMode::KEEP_SIZE, FallocateMode::ZERO_RANGE);
    fs.fallocate(file, 0, 10 * CHUNK, plain, WriteFlags::empty()).unwrap();
    assert_eq!(fixture.stat(file).size, 10 * CHUNK);
    assert_eq!(fs.seek(file, CHUNK, SeekTo::Data).map_err(|error| error.errno()), Err(Errno::ENXIO));
    let before = fixture.stat(file);
    // More than any disk has.
    for mode in [plain, keep, zero, zero | keep] {
        assert_eq!(
            errno(fs.fallocate(file, 0, 1 << 60, mode, WriteFlags::empty())),
            Errno::ENOSPC,
            "{mode:?}"
        );
    }
    assert_eq!(fixture.stat(file), before);
    fs.fallocate(file, 1 << 40, 1 << 60, FallocateMode::PUNCH_HOLE | keep, WriteFlags::empty()).unwrap();
}

// spec: FS-STATFS-1, FS-STATFS-2, DUR-5
#[test]
fn what_is_free_is_what_the_host_has_left() {
    let fixture = Fixture::new();
    let free = || nix::sys::statvfs::statvfs(&fixture.path()).unwrap();
    let before = free();
    let shown = fixture.fs.statfs().unwrap();
    let after = free();
    let bytes = |host: &nix::sys::statvfs::Statvfs| host.blocks_available() * host.fragment_size();
    let block = u64::from(shown.block_size);
    let (least, most) = (bytes(&before).min(bytes(&after)), bytes(&before).max(bytes(&after)));
    let slack = 64 << 20;
    assert!(shown.blocks_free * block + (2 << 20) + slack > least, "{shown:?} of {least}");
    assert!(shown.blocks_free * block < most + slack, "{shown:?} of {most}");
    assert_eq!(shown.blocks_available, shown.blocks_free);
    assert!(shown.blocks > shown.blocks_free);
    assert_eq!(shown.files - shown.files_free, 1, "the root");
    fixture.file(Ino::ROOT, "f", b"");
    fixture.directory(Ino::ROOT, "d");
    let shown = fixture.fs.statfs().unwrap();
    assert_eq!(shown.files - shown.files_free, 3);
    let read_only = fixture.read_only().fs.statfs().unwrap();
    assert_eq!((read_only.blocks_free, read_only.files_free, read_only.files), (0, 0, 3));
}

// spec: DUR-5, FS-ERR-1
#[test]
fn what_would_fill_the_disk_is_refused_before_it_starts_and_after_all_other_reasons() {
    let fixture = Fixture::new();
    let (fs, store) = (&fixture.fs, fixture.fs.store());
    assert_eq!(errno(store.reserve_space(1 << 60)), Errno::ENOSPC);
    assert_eq!(errno(store.reserve_space(u64::MAX)), Errno::ENOSPC);
    store.reserve_space(1 << 10).unwrap();
    let source = fixture.file(Ino::ROOT, "source", b"short").ino;
    let target = fixture.file(Ino::ROOT, "target", b"").ino;
    let copied = fs.copy_file_range(source, 0, target, 0, u64::MAX, WriteFlags::empty()).unwrap();
    assert_eq!(copied, 5, "what there is to copy counts, not what was asked for");
    assert_eq!(errno(fs.create(&Caller::root(), Ino::ROOT, n("source"), 0o644)), Errno::EEXIST);
}

// spec: FS-COPY-4
#[test]
fn a_long_copy_is_done_by_going_on_where_it_stopped() {
    let fixture = Fixture::new();
    let fs = &fixture.fs;
    let source = fixture.file(Ino::ROOT, "source", b"").ino;
    let size: u64 = 40 << 20;
    fs.write(source, 0, b"first", WriteFlags::empty()).unwrap();
    fs.write(source, size - 4, b"last", WriteFlags::empty()).unwrap();
    let target = fixture.file(Ino::ROOT, "target", b"").ino;
    let mut done = 0;
    while done < size {
        let copied = fs.copy_file_range(source, done, target, done, u64::MAX, WriteFlags::empty()).unwrap();
        assert!(copied > 0);
        done += copied;
    }
    assert_eq!(fs.read(target, 0, 5).unwrap(), b"first");
    assert_eq!(fs.read(target, size - 4, 10).unwrap(), b"last");
    assert!(fixture.stat(target).blocks * 512 <= 2 * CHUNK);
}

// spec: FS-ATTR-3
#[test]
fn blocks_are_the_bytes_that_are_stored() {
    let fixture = Fixture::new();
    let fs = &fixture.fs;
    let blocks = |ino| fixture.stat(ino).blocks;
    assert_eq!(blocks(fixture.file(Ino::ROOT, "empty", b"").ino), 0);
    assert_eq!(blocks(fixture.file(Ino::ROOT, "inline", &[1; 513]).ino), 2);
    let sparse = fixture.file(Ino::ROOT, "sparse", b"").ino;
    fs.write(sparse, 3 * CHUNK, &[1; 1000], WriteFlags::empty()).unwrap();
    assert_eq!(blocks(sparse), 2, "the end of a chunk that is not full");
    fs.write(sparse, 0, b"x", WriteFlags::empty()).unwrap();
    assert_eq!(blocks(sparse), 2 + CHUNK / 512);
    assert_eq!(blocks(fixture.symlink(Ino::ROOT, "l", "target")), 0);
    let directory = fixture.directory(Ino::ROOT, "d");
    assert_eq!((blocks(directory), fixture.stat(directory).size), (8, 4096));
    fixture.rmdir(Ino::ROOT, "d").unwrap();
    assert_eq!(blocks(directory), 0);
}
