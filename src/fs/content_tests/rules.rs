//! One test for each rule on content that a single case shows best.

use super::{CHUNK, Fixture, INLINE, TIB, pattern, refused};
use crate::error::Errno;
use crate::fs::chunk::{STATEMENTS_BY_INDEX, STATEMENTS_BY_INDEX_ALONE};
use crate::fs::content::{FileShape, MAX_FILE_BYTES, StorageKind};
use crate::store::{Store, bytes};
use crate::types::Options;
use crate::vfs::SeekTo;

// spec: FS-DATA-8, FS-DATA-9, FS-DATA-10, FS-TRUNC-3, FS-TRUNC-5
#[test]
fn a_file_is_inline_while_it_is_dense_and_small() {
    let fixture = Fixture::new();
    let ino = fixture.file_with(&pattern(60));
    assert_eq!(fixture.shape(ino), FileShape { size: 60, storage: StorageKind::Inline });
    fixture.change(ino, |file| file.write(60, &[7; 40])).unwrap();
    assert_eq!(fixture.inline(ino), Some(INLINE));
    fixture.change(ino, |file| file.set_size(50)).unwrap();
    assert_eq!(fixture.inline(ino), Some(50));
    fixture.change(ino, |file| file.write(50, &[7; 50])).unwrap();
    fixture.change(ino, |file| file.write(100, &[8])).unwrap();
    assert_eq!(fixture.shape(ino), FileShape { size: 101, storage: StorageKind::Chunked });
    assert_eq!((fixture.inline(ino), fixture.rows(ino)), (None, vec![(0, 101)]));
    fixture.change(ino, |file| file.set_size(60)).unwrap();
    assert_eq!(fixture.shape(ino).storage, StorageKind::Chunked, "only an empty file begins anew");
    fixture.change(ino, |file| file.set_size(0)).unwrap();
    assert_eq!(fixture.rows(ino), []);
    fixture.change(ino, |file| file.write(0, b"again")).unwrap();
    assert_eq!(fixture.shape(ino), FileShape { size: 5, storage: StorageKind::Inline });
}

// spec: FS-DATA-9
#[test]
fn a_gap_makes_a_small_file_chunked() {
    let fixture = Fixture::new();
    let ino = fixture.file_with(b"ab");
    fixture.change(ino, |file| file.write(3, b"d")).unwrap();
    assert_eq!(fixture.shape(ino), FileShape { size: 4, storage: StorageKind::Chunked });
    assert_eq!(fixture.all(ino), b"ab\0d");
    let ino = fixture.file_with(b"ab");
    fixture.change(ino, |file| file.set_size(4)).unwrap();
    assert_eq!(fixture.shape(ino).storage, StorageKind::Chunked);
    let ino = fixture.file();
    fixture.change(ino, |file| file.write(1, b"b")).unwrap();
    assert_eq!(fixture.shape(ino), FileShape { size: 2, storage: StorageKind::Chunked });
}

// spec: FS-DATA-13
#[test]
fn zeros_over_a_hole_are_not_stored() {
    let fixture = Fixture::new();
    let ino = fixture.file();
    fixture.change(ino, |file| file.set_size(10 * CHUNK)).unwrap();
    fixture.change(ino, |file| file.write(100, &[0; 3 * CHUNK as usize])).unwrap();
    assert_eq!(fixture.rows(ino), []);
    fixture.change(ino, |file| file.write(5 * CHUNK, &[1; 2 * CHUNK as usize])).unwrap();
    fixture.change(ino, |file| file.write(6 * CHUNK, &[0; CHUNK as usize])).unwrap();
    assert_eq!(fixture.rows(ino), [(5, CHUNK)]);
}

// spec: FS-TRUNC-2, FS-ALLOC-10, FS-COPY-3
#[test]
fn a_tebibyte_of_nothing_takes_no_time_and_no_rows() {
    let fixture = Fixture::with(65536, 4096);
    let ino = fixture.file_with(b"head");
    let begun = std::time::Instant::now();
    fixture.change(ino, |file| file.set_size(TIB)).unwrap();
    fixture.change(ino, |file| file.allocate(0, 2 * TIB, false)).unwrap();
    fixture.change(ino, |file| file.punch_hole(0, TIB)).unwrap();
    fixture.change(ino, |file| file.write(2 * TIB - 4, b"tail")).unwrap();
    let copy = fixture.file();
    assert_eq!(fixture.copy(ino, 0, copy, 0, u64::MAX).unwrap(), 2 * TIB);
    for file in [ino, copy] {
        let last = (2 * TIB / 65536 - 1).cast_signed();
        assert_eq!(fixture.rows(file), [(last, 65536)]);
        assert_eq!(fixture.look(file, |file| file.seek(0, SeekTo::Data)).unwrap(), 2 * TIB - 65536);
        assert_eq!(fixture.look(file, |file| file.read(2 * TIB - 6, 100)).unwrap(), b"\0\0tail");
        assert_eq!(fixture.look(file, |file| file.stored_bytes()).unwrap(), 65536);
    }
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}

// spec: FS-TRUNC-1
#[test]
fn what_was_cut_off_never_comes_back() {
    let fixture = Fixture::new();
    for (size, cut) in [(90, 10), (3 * CHUNK, CHUNK + 5), (3 * CHUNK, CHUNK), (CHUNK, 1)] {
        let content = pattern(size as usize);
        let ino = fixture.file_with(&content);
        fixture.change(ino, |file| file.set_size(cut)).unwrap();
        fixture.change(ino, |file| file.set_size(size)).unwrap();
        let mut expected = content[..cut as usize].to_vec();
        expected.resize(size as usize, 0);
        assert_eq!(fixture.all(ino), expected);
        fixture.check_layout(ino);
    }
}

// spec: FS-DATA-6, FS-ALLOC-8, FS-COPY-2
#[test]
fn the_largest_file_is_reached_and_not_passed() {
    let fixture = Fixture::new();
    let ino = fixture.file();
    let last = MAX_FILE_BYTES - 1;
    assert_eq!(refused(fixture.change(ino, |file| file.write(last, b"ab"))), Errno::EFBIG);
    assert_eq!(refused(fixture.change(ino, |file| file.write(u64::MAX, b"ab"))), Errno::EFBIG);
    assert_eq!(refused(fixture.change(ino, |file| file.set_size(MAX_FILE_BYTES + 1))), Errno::EFBIG);
    assert_eq!(refused(fixture.change(ino, |file| file.allocate(last, 2, true))), Errno::EFBIG);
    assert_eq!(refused(fixture.change(ino, |file| file.punch_hole(u64::MAX, 2))), Errno::EFBIG);
    assert_eq!(refused(fixture.change(ino, |file| file.zero_range(0, 0, true))), Errno::EINVAL);
    assert_eq!(fixture.shape(ino).size, 0);
    fixture.change(ino, |file| file.write(last, b"a")).unwrap();
    assert_eq!(fixture.look(ino, |file| file.read(last - 1, usize::MAX)).unwrap(), b"\0a");
    assert_eq!(fixture.look(ino, |file| file.seek(last, SeekTo::Hole)).unwrap(), MAX_FILE_BYTES);
    assert_eq!(refused(fixture.change(ino, |file| file.insert_range(0, CHUNK))), Errno::EFBIG);
    fixture.change(ino, |file| file.zero_range(0, MAX_FILE_BYTES, false)).unwrap();
    assert_eq!(fixture.rows(ino), []);
    let other = fixture.file_with(b"xyz");
    assert_eq!(refused(fixture.copy(other, 0, ino, last - 1, 3)), Errno::EFBIG);
    assert_eq!(refused(fixture.copy(other, 0, ino, u64::MAX, 3)), Errno::EFBIG);
    assert_eq!(fixture.copy(other, 2, ino, last, 3).unwrap(), 1);
}

// spec: FS-DATA-12
#[test]
fn rows_of_odd_length_read_as_the_size_says() {
    let fixture = Fixture::new();
    let (long, short) = ([b'l'; 700], [b's'; 10]);
    let chunks: [(i64, &[u8]); 5] = [(-1, &long), (0, &short), (1, &long), (3, &long), (4, &long)];
    let ino = fixture.foreign(3 * CHUNK + 20, None, &chunks);
    let mut expected = vec![0; 3 * CHUNK as usize + 20];
    expected[..10].fill(b's');
    expected[512..1024].fill(b'l');
    expected[1536..].fill(b'l');
    assert_eq!(fixture.all(ino), expected);
    assert_eq!(fixture.look(ino, |file| file.read(5, 510)).unwrap(), &expected[5..515]);
    assert_eq!(fixture.look(ino, |file| file.seek(1536, SeekTo::Hole)).unwrap(), 3 * CHUNK + 20);

    fixture.change(ino, |file| file.write(3, b"abc")).unwrap();
    fixture.change(ino, |file| file.write(300, b"def")).unwrap();
    expected[3..6].copy_from_slice(b"abc");
    expected[300..303].copy_from_slice(b"def");
    assert_eq!(fixture.all(ino), expected);

    fixture.change(ino, |file| file.set_size(5 * CHUNK)).unwrap();
    expected.resize(5 * CHUNK as usize, 0);
    assert_eq!(fixture.all(ino), expected, "stale bytes past the old size stay hidden");
}

// spec: FS-DATA-12
#[test]
fn a_write_past_the_end_covers_what_another_program_left_there() {
    let fixture = Fixture::new();
    let stale = [b'x'; 512];
    for offset in [30, 400, 2 * CHUNK + 1] {
        let ino = fixture.foreign(20, None, &[(0, &stale), (1, &stale), (2, &stale)]);
        fixture.change(ino, |file| file.write(offset, b"new")).unwrap();
        let mut expected = vec![0; offset as usize];
        expected[..20].fill(b'x');
        expected.extend(b"new");
        assert_eq!(fixture.all(ino), expected);
        fixture.check_layout(ino);
    }
}

// spec: FS-DATA-12
#[test]
fn inline_content_of_odd_length_reads_as_the_size_says() {
    let fixture = Fixture::new();
    let stale: [(i64, &[u8]); 1] = [(0, b"stale")];
    let longer = fixture.foreign(3, Some(b"abcdef"), &stale);
    let shorter = fixture.foreign(6, Some(b"abc"), &stale);
    assert_eq!((fixture.all(longer), fixture.all(shorter)), (b"abc".to_vec(), b"abc\0\0\0".to_vec()));
    fixture.change(longer, |file| file.set_size(300)).unwrap();
    fixture.change(shorter, |file| file.write(298, b"zz")).unwrap();
    for ino in [longer, shorter] {
        assert_eq!(fixture.all(ino)[..6], *b"abc\0\0\0");
        fixture.check_layout(ino);
    }
    let empty = fixture.foreign(0, None, &stale);
    fixture.change(empty, |file| file.write(0, b"new")).unwrap();
    fixture.check_layout(empty);
    let much_longer = fixture.foreign(3, Some(&pattern(700)), &[]);
    fixture.change(much_longer, |file| file.set_size(4)).unwrap();
    fixture.check_layout(much_longer);
}

// spec: FS-DATA-7, FS-DATA-12
#[test]
fn inline_content_above_the_threshold_is_moved_by_the_first_change() {
    let fixture = Fixture::new();
    let content = pattern((1 << 20) + 3 * CHUNK as usize);
    let size = content.len() as u64;
    let file = || fixture.foreign(size, Some(&content), &[]);

    let written = file();
    fixture.change(written, |file| file.write(700, b"!")).unwrap();
    let punched = file();
    fixture.change(punched, |file| file.punch_hole(0, 600)).unwrap();
    let collapsed = file();
    fixture.change(collapsed, |file| file.collapse_range(0, CHUNK)).unwrap();
    let cut = file();
    fixture.change(cut, |file| file.set_size(700)).unwrap();
    let copied = file();
    assert_eq!(fixture.copy(copied, 0, copied, size, size).unwrap(), size);
    let longer_than_its_size = fixture.foreign(600, Some(&content), &[]);
    fixture.change(longer_than_its_size, |file| file.punch_hole(0, 1)).unwrap();
    for ino in [written, punched, collapsed, cut, copied, longer_than_its_size] {
        fixture.check_layout(ino);
    }
    assert!(fixture.all(written)[701..] == content[701..] && fixture.all(written)[700] == b'!');
    assert!(fixture.all(punched)[600..] == content[600..]);
    assert!(fixture.all(collapsed) == content[CHUNK as usize..]);
    assert!(fixture.all(cut) == content[..700]);
    assert!(fixture.all(copied) == [&content[..], &content[..]].concat());
}

// spec: FS-ALLOC-8
#[test]
fn ranges_move_by_whole_chunks_inside_the_file_only() {
    let fixture = Fixture::new();
    let ino = fixture.file_with(&pattern(4 * CHUNK as usize));
    for (offset, length) in [(0, CHUNK - 1), (1, CHUNK), (CHUNK, 3 * CHUNK), (4 * CHUNK, CHUNK), (0, 0)] {
        let refusal = refused(fixture.change(ino, |file| file.collapse_range(offset, length)));
        assert_eq!(refusal, Errno::EINVAL, "collapse {offset}, {length}");
    }
    for (offset, length) in [(0, CHUNK - 1), (1, CHUNK), (4 * CHUNK, CHUNK), (8 * CHUNK, CHUNK), (0, 0)] {
        let refusal = refused(fixture.change(ino, |file| file.insert_range(offset, length)));
        assert_eq!(refusal, Errno::EINVAL, "insert {offset}, {length}");
    }
    assert_eq!(fixture.all(ino), pattern(4 * CHUNK as usize));
}

// spec: FS-ALLOC-4, FS-ALLOC-5
#[test]
fn thousands_of_chunks_move_in_order() {
    let fixture = Fixture::new();
    let content = pattern(2500 * CHUNK as usize + 9);
    let ino = fixture.file_with(&content);
    fixture.change(ino, |file| file.insert_range(CHUNK, 2 * CHUNK)).unwrap();
    assert!(fixture.all(ino)[3 * CHUNK as usize..] == content[CHUNK as usize..]);
    fixture.check_layout(ino);
    fixture.change(ino, |file| file.collapse_range(CHUNK, 2 * CHUNK)).unwrap();
    assert!(fixture.all(ino) == content);
    fixture.check_layout(ino);
}

// spec: FS-COPY-2
#[test]
fn a_file_is_copied_beside_itself_but_not_onto_itself() {
    let fixture = Fixture::new();
    let ino = fixture.file_with(b"abcdef");
    assert_eq!(refused(fixture.copy(ino, 0, ino, 2, 3)), Errno::EINVAL);
    assert_eq!(refused(fixture.copy(ino, 2, ino, 0, 3)), Errno::EINVAL);
    assert_eq!(fixture.copy(ino, 0, ino, 3, 3).unwrap(), 3);
    assert_eq!(fixture.copy(ino, 0, ino, 6, u64::MAX).unwrap(), 6);
    assert_eq!(fixture.all(ino), b"abcabcabcabc");
}

// spec: FS-ALLOC-2, FS-ALLOC-7
#[test]
fn a_punched_hole_gives_its_chunks_back() {
    let fixture = Fixture::new();
    let ino = fixture.file_with(&pattern(4 * CHUNK as usize + 100));
    fixture.change(ino, |file| file.punch_hole(CHUNK / 2, 2 * CHUNK)).unwrap();
    assert_eq!(fixture.rows(ino), [(0, CHUNK), (2, CHUNK), (3, CHUNK), (4, 100)]);
    fixture.change(ino, |file| file.punch_hole(0, CHUNK / 2)).unwrap();
    fixture.change(ino, |file| file.punch_hole(4 * CHUNK, 10 * CHUNK)).unwrap();
    assert_eq!(fixture.rows(ino), [(2, CHUNK), (3, CHUNK)], "also by several punches, and at the end");
    assert_eq!(fixture.shape(ino).size, 4 * CHUNK + 100);

    let small = fixture.file_with(b"abcdef");
    fixture.change(small, |file| file.punch_hole(2, 2)).unwrap();
    assert_eq!((fixture.all(small), fixture.inline(small)), (b"ab\0\0ef".to_vec(), Some(6)));
}

// spec: FS-COPY-3
#[test]
fn a_copy_keeps_holes_and_makes_holes() {
    let fixture = Fixture::new();
    let source = fixture.file_with(&pattern(CHUNK as usize));
    fixture.change(source, |file| file.write(5 * CHUNK, &pattern(CHUNK as usize))).unwrap();
    fixture.change(source, |file| file.set_size(8 * CHUNK)).unwrap();
    let target = fixture.file_with(&pattern(10 * CHUNK as usize));
    assert_eq!(fixture.copy(source, 0, target, CHUNK, 100 * CHUNK).unwrap(), 8 * CHUNK);
    let indices: Vec<_> = fixture.rows(target).into_iter().map(|(index, _)| index).collect();
    assert_eq!(indices, [0, 1, 6, 9]);
    assert_eq!(fixture.all(target)[CHUNK as usize..9 * CHUNK as usize], fixture.all(source));
}

// spec: FS-COPY-1
#[test]
fn a_copy_of_many_parts_is_whole_wherever_it_begins() {
    let fixture = Fixture::with(65536, 4096);
    let content = pattern((3 << 20) + 5);
    let source = fixture.file_with(&content);
    let length = content.len() as u64;
    for (from, to) in [(0, 0), (7, 0), (0, 7), (65536, 5)] {
        let target = fixture.file();
        assert_eq!(fixture.copy(source, from, target, to, u64::MAX).unwrap(), length - from);
        assert!(fixture.all(target)[to as usize..] == content[from as usize..]);
    }
}

// spec: FS-DATA-14
#[test]
fn one_byte_in_a_large_file_costs_a_few_pages() {
    let Fixture { directory, store } = Fixture::with(65536, 4096);
    let fixture = Fixture { directory, store };
    let ino = fixture.file();
    let part = pattern(1 << 20);
    for at in 0..64 {
        fixture.change(ino, |file| file.write(at << 20, &part)).unwrap();
    }
    let Fixture { directory, store } = fixture;
    let path = store.path().to_owned();
    store.close().unwrap();
    let fixture = Fixture { directory, store: Store::open(&path, &Options::default()).unwrap() };
    fixture.change(ino, |file| file.write((31 << 20) + 40_000, b"!")).unwrap();
    fixture.store.barrier().unwrap();
    let log = std::fs::metadata(fixture.directory.path().join("a.db-wal")).unwrap().len();
    let pages = log / u64::from(fixture.store.configuration().page_size);
    assert!((1..=3).contains(&pages), "{pages} pages for one byte");
    assert_eq!(fixture.look(ino, |file| file.read((31 << 20) + 40_000, 1)).unwrap(), b"!");
}

// spec: FS-DATA-5
#[test]
fn writing_nothing_changes_nothing() {
    let fixture = Fixture::new();
    let ino = fixture.file_with(b"abc");
    fixture.change(ino, |file| file.write(50, b"")).unwrap();
    assert_eq!((fixture.all(ino), fixture.inline(ino)), (b"abc".to_vec(), Some(3)));
}

// spec: FS-DATA-14, FS-ALLOC-10
#[test]
fn every_statement_on_chunks_uses_the_index() {
    let fixture = Fixture::new();
    for sql in STATEMENTS_BY_INDEX {
        let alone = STATEMENTS_BY_INDEX_ALONE.contains(&sql);
        let sql =
            ["?1", "?2", "?3"].iter().fold(sql.to_owned(), |sql, parameter| sql.replace(parameter, "1"));
        let explain: &'static str = format!("EXPLAIN QUERY PLAN {sql}").leak();
        let plan = fixture.store.read(|session| {
            session.rows(explain, [], |row| Ok(String::from_utf8_lossy(bytes(row, 3)?).into_owned()))
        });
        let plan = plan.unwrap().join("; ");
        let index = if alone { "USING COVERING INDEX" } else { "INDEX" };
        assert!(plan.starts_with("SEARCH fs_data") && plan.contains(index), "{sql}: {plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{sql}: {plan}");
    }
}
