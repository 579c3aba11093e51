//! The bytes of a regular file, and where they are stored: inline or in chunks (FS-DATA, FS-TRUNC, FS-ALLOC, FS-SEEK).
//!
//! What a reader sees are the size and the bytes. Which chunks are stored shows in `blocks`, SEEK_DATA and SEEK_HOLE, and is
//! the same for every implementation of the format; how long a stored row is does not show, so a chunk is kept here
//! without the zeros at its end.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Profile;

/// How content is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    chunk_size: u64,
    inline_threshold: u64,
}

impl From<&Profile> for Layout {
    fn from(profile: &Profile) -> Self {
        Self {
            chunk_size: u64::from(profile.chunk_size),
            inline_threshold: u64::from(profile.inline_threshold),
        }
    }
}

/// The content of a regular file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Content {
    size: u64,
    stored: Stored,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stored {
    Inline(Vec<u8>),
    /// By index; what is missing is a hole. Zeros at the end of a chunk are left out.
    Chunks(BTreeMap<u64, Vec<u8>>),
}

impl Default for Stored {
    fn default() -> Self {
        Self::Chunks(BTreeMap::new())
    }
}

fn is_zero(data: &[u8]) -> bool {
    data.iter().all(|byte| *byte == 0)
}

fn trim(chunk: &mut Vec<u8>) {
    let length = chunk.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    chunk.truncate(length);
}

/// Puts `data` at `from` of a chunk that has its zeros at the end left out.
fn overwrite(chunk: &mut Vec<u8>, from: usize, data: &[u8]) {
    let end = from + data.len();
    chunk.resize(chunk.len().max(end), 0);
    chunk[from..end].copy_from_slice(data);
    trim(chunk);
}

/// Cuts a range of a file at the borders of its chunks: index, and the range within the chunk.
fn pieces(range: Range<u64>, chunk_size: u64) -> impl Iterator<Item = (u64, Range<u64>)> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let index = at / chunk_size;
        let end = range.end.min((index + 1).saturating_mul(chunk_size));
        let piece = (index, at - index * chunk_size..end.saturating_sub(index * chunk_size));
        let more = at < range.end;
        at = end;
        more.then_some(piece)
    })
}

impl Content {
    /// Bytes in the file.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Whether it is stored inline.
    #[must_use]
    pub const fn is_inline(&self) -> bool {
        matches!(self.stored, Stored::Inline(_))
    }

    /// The bytes of `offset..offset + length` that lie in the file (FS-DATA-1).
    #[must_use]
    pub fn read(&self, offset: u64, length: u64, layout: Layout) -> Vec<u8> {
        let end = offset.saturating_add(length).min(self.size);
        if offset >= end {
            return Vec::new();
        }
        let mut found = vec![0; (end - offset) as usize];
        let mut copy = |start: u64, data: &[u8]| {
            let (from, to) = (start.max(offset), (start + data.len() as u64).min(end));
            if from < to {
                let source = &data[(from - start) as usize..(to - start) as usize];
                found[(from - offset) as usize..(to - offset) as usize].copy_from_slice(source);
            }
        };
        match &self.stored {
            Stored::Inline(data) => copy(0, data),
            Stored::Chunks(chunks) => {
                let range = offset / layout.chunk_size..=(end - 1) / layout.chunk_size;
                chunks.range(range).for_each(|(index, data)| copy(index * layout.chunk_size, data));
            }
        }
        found
    }

    /// The stored stretches that are not all zeros, in order: an offset and bytes each.
    #[must_use]
    pub fn extents(&self, layout: Layout) -> Vec<(u64, Vec<u8>)> {
        match &self.stored {
            Stored::Inline(data) if is_zero(data) => Vec::new(),
            Stored::Inline(data) => vec![(0, data.clone())],
            Stored::Chunks(chunks) => chunks
                .iter()
                .filter(|(_, data)| !data.is_empty())
                .map(|(index, data)| (index * layout.chunk_size, data.clone()))
                .collect(),
        }
    }

    /// FS-ATTR-3.
    pub(super) fn stored_bytes(&self, layout: Layout) -> u64 {
        match &self.stored {
            Stored::Inline(_) => self.size,
            Stored::Chunks(chunks) => {
                chunks.keys().map(|index| self.bytes_of(*index, self.size, layout)).sum()
            }
        }
    }

    /// Bytes of a chunk that lie in a file of `size` bytes.
    #[allow(clippy::unused_self, reason = "reads as a question about the file")]
    fn bytes_of(&self, index: u64, size: u64, layout: Layout) -> u64 {
        size.saturating_sub(index.saturating_mul(layout.chunk_size)).min(layout.chunk_size)
    }

    /// The chunks, after what was inline has been moved to them (FS-DATA-9).
    fn chunks(&mut self, layout: Layout) -> &mut BTreeMap<u64, Vec<u8>> {
        if let Stored::Inline(data) = &self.stored {
            let mut chunks = BTreeMap::new();
            for (index, data) in (0_u64..).zip(data.chunks(layout.chunk_size as usize)) {
                if !is_zero(data) {
                    let mut chunk = data.to_vec();
                    trim(&mut chunk);
                    chunks.insert(index, chunk);
                }
            }
            self.stored = Stored::Chunks(chunks);
        }
        match &mut self.stored {
            Stored::Chunks(chunks) => chunks,
            Stored::Inline(_) => unreachable!("it has just been made chunks"),
        }
    }

    /// FS-DATA-3, FS-DATA-7 to FS-DATA-13.
    pub(super) fn write(&mut self, offset: u64, data: &[u8], layout: Layout) {
        if data.is_empty() {
            return;
        }
        let end = offset + data.len() as u64;
        let new_size = self.size.max(end);
        let may_be_inline = self.is_inline() || self.size == 0;
        if may_be_inline && offset <= self.size && new_size <= layout.inline_threshold {
            if self.size == 0 {
                self.stored = Stored::Inline(Vec::new());
            }
            if let Stored::Inline(content) = &mut self.stored {
                content.resize(new_size as usize, 0);
                content[offset as usize..end as usize].copy_from_slice(data);
            }
            self.size = new_size;
            return;
        }
        self.chunks(layout);
        for (index, range) in pieces(offset..end, layout.chunk_size) {
            let start = index * layout.chunk_size;
            let part = &data[(start + range.start - offset) as usize..(start + range.end - offset) as usize];
            let whole = part.len() as u64 == self.bytes_of(index, new_size, layout);
            let chunks = self.chunks(layout);
            if whole && is_zero(part) {
                chunks.remove(&index);
            } else if chunks.contains_key(&index) || !is_zero(part) {
                overwrite(chunks.entry(index).or_default(), range.start as usize, part);
            }
        }
        self.size = new_size;
    }

    /// FS-TRUNC.
    pub(super) fn set_size(&mut self, size: u64, layout: Layout) {
        if size == self.size {
            return;
        }
        let old_size = std::mem::replace(&mut self.size, size);
        if size == 0 {
            self.stored = Stored::default();
            return;
        }
        if let Stored::Inline(content) = &mut self.stored
            && size < old_size
        {
            content.truncate(size as usize);
            return;
        }
        let first_gone = size.div_ceil(layout.chunk_size);
        let chunks = self.chunks(layout);
        chunks.retain(|index, _| *index < first_gone);
        if let Some(last) = chunks.get_mut(&(size / layout.chunk_size)) {
            last.truncate((size % layout.chunk_size) as usize);
            trim(last);
        }
    }

    /// What a truncation that takes away nothing but the number would store: the bytes of `old` under the present size.
    #[cfg(feature = "check")]
    pub(super) fn leave_behind(&mut self, old: &Self) {
        self.stored = old.stored.clone();
    }

    /// FS-ALLOC-2 and FS-ALLOC-7: zeros, and whole chunks that hold nothing else given back.
    pub(super) fn punch(&mut self, offset: u64, length: u64, layout: Layout) {
        let end = (offset + length).min(self.size);
        if offset >= end {
            return;
        }
        if let Stored::Inline(content) = &mut self.stored {
            content[offset as usize..end as usize].fill(0);
            return;
        }
        let size = self.size;
        let chunk_size = layout.chunk_size;
        let bytes_of = |index: u64| size.saturating_sub(index * chunk_size).min(chunk_size);
        self.chunks(layout).retain(|index, chunk| {
            let start = index * chunk_size;
            let (from, to) = (offset.max(start), end.min(start + bytes_of(*index)));
            if from >= to {
                return true;
            }
            let (from, to) = ((from - start) as usize, ((to - start) as usize).min(chunk.len()));
            if from < to {
                chunk[from..to].fill(0);
                trim(chunk);
            }
            !chunk.is_empty()
        });
    }

    /// FS-ALLOC-4. The range is aligned and ends before the file does.
    pub(super) fn collapse(&mut self, offset: u64, length: u64, layout: Layout) {
        let (first, count) = (offset / layout.chunk_size, length / layout.chunk_size);
        let chunks = std::mem::take(self.chunks(layout));
        *self.chunks(layout) = chunks
            .into_iter()
            .filter(|(index, _)| !(first..first + count).contains(index))
            .map(|(index, chunk)| (if index < first { index } else { index - count }, chunk))
            .collect();
        self.size -= length;
    }

    /// FS-ALLOC-5. The range is aligned and begins before the file ends.
    pub(super) fn insert(&mut self, offset: u64, length: u64, layout: Layout) {
        let (first, count) = (offset / layout.chunk_size, length / layout.chunk_size);
        let chunks = std::mem::take(self.chunks(layout));
        *self.chunks(layout) = chunks
            .into_iter()
            .map(|(index, chunk)| (if index < first { index } else { index + count }, chunk))
            .collect();
        self.size += length;
    }

    /// FS-SEEK-1: the first offset from `offset` on, which is inside the file, that is stored.
    pub(super) fn next_stored(&self, offset: u64, layout: Layout) -> Option<u64> {
        match &self.stored {
            Stored::Inline(_) => Some(offset),
            Stored::Chunks(chunks) => {
                let (index, _) = chunks.range(offset / layout.chunk_size..).next()?;
                Some((index * layout.chunk_size).max(offset))
            }
        }
    }

    /// FS-SEEK-1: the first offset from `offset` on, which is inside the file, that is not stored.
    pub(super) fn next_hole(&self, offset: u64, layout: Layout) -> u64 {
        match &self.stored {
            Stored::Inline(_) => self.size,
            Stored::Chunks(chunks) => {
                let mut index = offset / layout.chunk_size;
                while chunks.contains_key(&index) {
                    index += 1;
                }
                index.saturating_mul(layout.chunk_size).clamp(offset, self.size)
            }
        }
    }

    /// The first byte from `offset` on that is zero, or past the end.
    pub(super) fn next_zero(&self, offset: u64, layout: Layout) -> u64 {
        let mut at = offset;
        while at < self.size {
            let read = self.read(at, layout.chunk_size, layout);
            if let Some(zero) = read.iter().position(|byte| *byte == 0) {
                return at + zero as u64;
            }
            at += read.len() as u64;
        }
        self.size
    }

    /// The first byte from `offset` on that is not zero.
    pub(super) fn next_nonzero(&self, offset: u64, layout: Layout) -> Option<u64> {
        self.extents(layout)
            .iter()
            .flat_map(|(start, data)| (*start..).zip(data))
            .find(|(at, byte)| *at >= offset && **byte != 0)
            .map(|(at, _)| at)
    }
}

/// FS-COPY-3: copies `length` bytes, which the source has, stretch by stretch: a hole of the source is punched into the
/// target, data is written.
pub(super) fn copy(
    (source, from): (&Content, u64),
    (target, to): (&mut Content, u64),
    length: u64,
    layout: Layout,
) {
    let end = from + length;
    let mut at = from;
    while at < end {
        let place = to + (at - from);
        let data = source.next_stored(at, layout).map_or(end, |data| data.min(end));
        if data > at {
            target.punch(place, data - at, layout);
            at = data;
            continue;
        }
        let data_end = source.next_hole(at, layout).min(end);
        target.write(place, &source.read(at, data_end - at, layout), layout);
        at = data_end;
    }
    if to + length > target.size {
        target.set_size(to + length, layout);
    }
}
