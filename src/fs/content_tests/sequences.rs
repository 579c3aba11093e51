//! Random sequences of operations on two files, compared with plain bytes after every step.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::{CHUNK, Fixture, INLINE};
use crate::error::{Errno, Result};
use crate::types::Ino;
use crate::vfs::SeekTo;

#[derive(Clone, Debug)]
enum Step {
    Write { file: usize, offset: u64, length: usize, fill: u8 },
    SetSize { file: usize, size: u64 },
    Allocate { file: usize, offset: u64, length: u64, keep_size: bool },
    ZeroRange { file: usize, offset: u64, length: u64, keep_size: bool },
    PunchHole { file: usize, offset: u64, length: u64 },
    Collapse { file: usize, offset: u64, length: u64 },
    Insert { file: usize, offset: u64, length: u64 },
    Copy { from: usize, from_offset: u64, to: usize, to_offset: u64, length: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let file = || 0..2_usize;
    // Around the borders of chunks and of what is inline, and anywhere.
    let place = || {
        prop_oneof![
            3 => (0..6_u64, 0..3_u64).prop_map(|(chunk, by)| (chunk * CHUNK + by).saturating_sub(1)),
            2 => 0..6 * CHUNK,
            2 => 0..INLINE + 2,
            1 => Just(0),
        ]
    };
    let aligned = || prop_oneof![6 => (0..4_u64).prop_map(|chunk| chunk * CHUNK), 1 => 0..1000_u64];
    let step = prop_oneof![
        6 => (file(), place(), place(), prop_oneof![Just(0_u8), 1..=255_u8])
            .prop_map(|(file, offset, length, fill)| Step::Write { file, offset, length: length as usize, fill }),
        4 => (file(), place()).prop_map(|(file, size)| Step::SetSize { file, size }),
        1 => (file(), place(), place(), any::<bool>())
            .prop_map(|(file, offset, length, keep_size)| Step::Allocate { file, offset, length, keep_size }),
        2 => (file(), place(), place(), any::<bool>())
            .prop_map(|(file, offset, length, keep_size)| Step::ZeroRange { file, offset, length, keep_size }),
        2 => (file(), place(), place())
            .prop_map(|(file, offset, length)| Step::PunchHole { file, offset, length }),
        2 => (file(), aligned(), aligned())
            .prop_map(|(file, offset, length)| Step::Collapse { file, offset, length }),
        2 => (file(), aligned(), aligned())
            .prop_map(|(file, offset, length)| Step::Insert { file, offset, length }),
        3 => (file(), place(), file(), place(), place()).prop_map(|(from, from_offset, to, to_offset, length)| {
            Step::Copy { from, from_offset, to, to_offset, length }
        }),
    ];
    prop::collection::vec(step, 1..25)
}

/// What the data of a write looks like: different at each place, or zeros throughout.
fn data_of(offset: u64, length: usize, fill: u8) -> Vec<u8> {
    (0..length).map(|at| if fill == 0 { 0 } else { fill ^ ((offset as usize + at) % 127) as u8 }).collect()
}

type Model = [Vec<u8>; 2];

fn grow(content: &mut Vec<u8>, size: usize) {
    content.resize(content.len().max(size), 0);
}

/// The same step on plain bytes.
fn apply_to_model(model: &mut Model, step: &Step) -> Result<u64, Errno> {
    let range = |offset: u64, length: u64| match length {
        0 => Err(Errno::EINVAL),
        _ => Ok((offset as usize, (offset + length) as usize)),
    };
    let aligned = |offset: u64, length: u64| offset.is_multiple_of(CHUNK) && length.is_multiple_of(CHUNK);
    match *step {
        Step::Write { file, offset, length, fill } => {
            if length > 0 {
                let end = offset as usize + length;
                grow(&mut model[file], end);
                model[file][offset as usize..end].copy_from_slice(&data_of(offset, length, fill));
            }
        }
        Step::SetSize { file, size } => model[file].resize(size as usize, 0),
        Step::Allocate { file, offset, length, keep_size } => {
            let (_, end) = range(offset, length)?;
            grow(&mut model[file], if keep_size { 0 } else { end });
        }
        Step::ZeroRange { file, offset, length, keep_size } => {
            let (start, end) = range(offset, length)?;
            grow(&mut model[file], if keep_size { 0 } else { end });
            let size = model[file].len();
            model[file][start.min(size)..end.min(size)].fill(0);
        }
        Step::PunchHole { file, offset, length } => {
            let (start, end) = range(offset, length)?;
            let size = model[file].len();
            model[file][start.min(size)..end.min(size)].fill(0);
        }
        Step::Collapse { file, offset, length } => {
            let (start, end) = range(offset, length)?;
            if !aligned(offset, length) || end >= model[file].len() {
                return Err(Errno::EINVAL);
            }
            model[file].drain(start..end);
        }
        Step::Insert { file, offset, length } => {
            let (start, end) = range(offset, length)?;
            if !aligned(offset, length) || start >= model[file].len() {
                return Err(Errno::EINVAL);
            }
            model[file].splice(start..start, vec![0; end - start]);
        }
        Step::Copy { from, from_offset, to, to_offset, length } => {
            let size = model[from].len() as u64;
            let length = length.min(size.saturating_sub(from_offset));
            if length == 0 {
                return Ok(0);
            }
            if from == to && from_offset < to_offset + length && to_offset < from_offset + length {
                return Err(Errno::EINVAL);
            }
            let moved = model[from][from_offset as usize..(from_offset + length) as usize].to_vec();
            grow(&mut model[to], (to_offset + length) as usize);
            model[to][to_offset as usize..(to_offset + length) as usize].copy_from_slice(&moved);
            return Ok(length);
        }
    }
    Ok(0)
}

fn apply(fixture: &Fixture, files: [Ino; 2], step: &Step) -> Result<u64, Errno> {
    let done = match *step {
        Step::Write { file, offset, length, fill } => {
            fixture.change(files[file], |content| content.write(offset, &data_of(offset, length, fill)))
        }
        Step::SetSize { file, size } => fixture.change(files[file], |content| content.set_size(size)),
        Step::Allocate { file, offset, length, keep_size } => {
            fixture.change(files[file], |content| content.allocate(offset, length, keep_size))
        }
        Step::ZeroRange { file, offset, length, keep_size } => {
            fixture.change(files[file], |content| content.zero_range(offset, length, keep_size))
        }
        Step::PunchHole { file, offset, length } => {
            fixture.change(files[file], |content| content.punch_hole(offset, length))
        }
        Step::Collapse { file, offset, length } => {
            fixture.change(files[file], |content| content.collapse_range(offset, length))
        }
        Step::Insert { file, offset, length } => {
            fixture.change(files[file], |content| content.insert_range(offset, length))
        }
        Step::Copy { from, from_offset, to, to_offset, length } => {
            let copied = fixture.copy(files[from], from_offset, files[to], to_offset, length);
            return copied.map_err(|error| error.errno());
        }
    };
    done.map(|()| 0).map_err(|error| error.errno())
}

/// Everything that can be seen of a file, from a few places.
fn check_file(fixture: &Fixture, ino: Ino, model: &[u8]) {
    assert_eq!(fixture.shape(ino).size, model.len() as u64);
    assert!(fixture.all(ino) == model, "content\n{:?}\nmodel\n{model:?}", fixture.all(ino));
    fixture.check_layout(ino);
    let size = model.len() as u64;
    for offset in [0, 1, INLINE, CHUNK - 1, CHUNK, 2 * CHUNK + 7, size.saturating_sub(1), size, size + 1] {
        let from = model.len().min(offset as usize);
        for length in [1, 100, 600] {
            let read = fixture.look(ino, |content| content.read(offset, length)).unwrap();
            assert_eq!(read, &model[from..model.len().min(from + length)]);
        }
        check_seek(fixture, ino, model, offset);
    }
    let stored = fixture.look(ino, |file| file.stored_bytes()).unwrap();
    assert!(stored <= size);
}

/// A file system may call zeros data, but must not call anything else a hole.
fn check_seek(fixture: &Fixture, ino: Ino, model: &[u8], offset: u64) {
    let size = model.len() as u64;
    let zeros = |from: u64, to: u64| model[from as usize..to as usize].iter().all(|byte| *byte == 0);
    let data = fixture.look(ino, |content| content.seek(offset, SeekTo::Data)).map_err(|error| error.errno());
    let hole = fixture.look(ino, |content| content.seek(offset, SeekTo::Hole)).map_err(|error| error.errno());
    if offset >= size {
        assert_eq!((data, hole), (Err(Errno::ENXIO), Err(Errno::ENXIO)));
        return;
    }
    match data {
        Ok(data) => assert!(offset <= data && data < size && zeros(offset, data)),
        Err(errno) => assert!(errno == Errno::ENXIO && zeros(offset, size)),
    }
    let hole = hole.unwrap();
    assert!(offset <= hole && hole <= size);
    assert!(zeros(hole, size.min(hole.next_multiple_of(CHUNK))));
    assert_eq!(hole == offset, data != Ok(offset), "a place is either data or a hole");
}

// spec: FS-DATA-1, FS-DATA-3, FS-DATA-7, FS-DATA-11, FS-TRUNC-1, FS-ALLOC-1, FS-ALLOC-2, FS-ALLOC-3
// spec: FS-ALLOC-4, FS-ALLOC-5, FS-SEEK-1, FS-SEEK-2, FS-SEEK-3, FS-COPY-1, FS-COPY-2
#[test]
fn every_sequence_of_operations_gives_what_plain_bytes_give() {
    let fixture = Fixture::new();
    let config = Config { cases: 192, failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config).run(&steps(), |steps| {
        let files = [fixture.file(), fixture.file()];
        let mut model = Model::default();
        for step in &steps {
            let expected = apply_to_model(&mut model, step);
            prop_assert_eq!(apply(&fixture, files, step), expected, "{:?}", step);
            for (file, model) in files.into_iter().zip(&model) {
                check_file(&fixture, file, model);
            }
        }
        Ok(())
    });
    run.unwrap();
}
