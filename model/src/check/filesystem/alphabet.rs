//! Short forms of calls, for the spaces' alphabets, and their words in a trace.

use crate::call::{Call, Object, OpenFlags, Operation, Place, RenameFlags};
use crate::values::{FileKind, Handle, ProcessId};

/// User 0.
pub(super) const ROOT: ProcessId = ProcessId(0);
/// An ordinary user.
pub(super) const USER: ProcessId = ProcessId(1);

pub(super) fn by(process: ProcessId, operations: impl IntoIterator<Item = Operation>) -> Vec<Call> {
    operations.into_iter().map(|operation| Call { by: process, operation }).collect()
}

/// Every pair of two different ones, in both orders.
pub(super) fn pairs<'p>(paths: &'p [&'p str]) -> impl Iterator<Item = (&'p str, &'p str)> {
    let with = |from: &'p str| paths.iter().filter(move |to| **to != from).map(move |to| (from, *to));
    paths.iter().flat_map(move |from| with(from))
}

/// Every set of two different ones.
pub(super) fn unordered_pairs<'p>(paths: &'p [&'p str]) -> impl Iterator<Item = (&'p str, &'p str)> {
    pairs(paths).filter(|(one, other)| one < other)
}

pub(super) fn path(path: &str) -> Object {
    Object::Path { path: path.into(), follow: true }
}

pub(super) const fn open_object(handle: u32) -> Object {
    Object::Handle { handle: Handle(handle) }
}

/// A path that begins at an open directory.
pub(super) fn below(handle: u32, path: &str) -> Place {
    Place { path: path.into(), at: Some(Handle(handle)) }
}

pub(super) fn mkdir(path: impl Into<Place>, mode: u32) -> Operation {
    Operation::Mkdir { path: path.into(), mode }
}

/// A regular file, without a handle.
pub(super) fn mknod(path: impl Into<Place>, mode: u32) -> Operation {
    Operation::Mknod { path: path.into(), kind: FileKind::Regular, mode, rdev: 0 }
}

pub(super) fn symlink(target: &str, path: &str) -> Operation {
    Operation::Symlink { target: target.into(), path: path.into() }
}

pub(super) fn link(from: &str, to: &str) -> Operation {
    Operation::Link { from: from.into(), to: to.into(), follow: false }
}

pub(super) fn unlink(path: impl Into<Place>) -> Operation {
    Operation::Unlink { path: path.into() }
}

pub(super) fn rmdir(path: impl Into<Place>) -> Operation {
    Operation::Rmdir { path: path.into() }
}

pub(super) fn rename(from: impl Into<Place>, to: impl Into<Place>) -> Operation {
    Operation::Rename { from: from.into(), to: to.into(), flags: RenameFlags::empty() }
}

pub(super) fn rename_if_free(from: &str, to: &str) -> Operation {
    Operation::Rename { from: from.into(), to: to.into(), flags: RenameFlags::NOREPLACE }
}

pub(super) fn exchange(one: &str, other: &str) -> Operation {
    Operation::Rename { from: one.into(), to: other.into(), flags: RenameFlags::EXCHANGE }
}

pub(super) fn open(path: &str, flags: OpenFlags, handle: u32) -> Operation {
    Operation::Open { path: path.into(), flags, mode: 0o644, handle: Handle(handle) }
}

pub(super) const fn close(handle: u32) -> Operation {
    Operation::Close { handle: Handle(handle) }
}

pub(super) const fn read(handle: u32, length: u64) -> Operation {
    Operation::Read { handle: Handle(handle), length }
}

pub(super) fn write(handle: u32, data: &str) -> Operation {
    Operation::Write { handle: Handle(handle), data: data.into() }
}

pub(super) fn pwrite(handle: u32, offset: u64, data: &str) -> Operation {
    Operation::Pwrite { handle: Handle(handle), offset, data: data.into() }
}

pub(super) fn truncate(handle: u32, size: u64) -> Operation {
    Operation::Truncate { object: open_object(handle), size }
}

pub(super) fn chmod(path: &str, mode: u32) -> Operation {
    Operation::Chmod { object: self::path(path), mode }
}

pub(super) const fn readdir(handle: u32) -> Operation {
    Operation::Readdir { handle: Handle(handle), count: 1 }
}

pub(super) const fn seekdir(handle: u32, after: u32) -> Operation {
    Operation::Seekdir { handle: Handle(handle), after }
}

/// A call as a trace shows it: its name and its arguments, without what says nothing.
pub(super) fn words(operation: &Operation) -> String {
    let debug = format!("{operation:?}");
    let arguments = debug.split_once(" { ").map_or("", |(_, arguments)| arguments.trim_end_matches(" }"));
    let mut words = format!("{} {arguments}", operation.name());
    for (long, short) in
        [(", at: None", ""), (", follow: false", ""), (", mode: Set", ""), ("RenameFlags(0x0)", "none")]
    {
        words = words.replace(long, short);
    }
    if let Some((before, mode)) = words.split_once("mode: ")
        && let digits = mode.chars().take_while(char::is_ascii_digit).collect::<String>()
        && let Ok(bits) = digits.parse::<u32>()
    {
        words = format!("{before}mode: 0{bits:o}{}", &mode[digits.len()..]);
    }
    for wrapper in ["Place { path: ", "Path { path: ", "Handle { handle: ", "Handle("] {
        while let Some((before, rest)) = words.split_once(wrapper) {
            let (inner, after) = rest.split_once([')', '}']).unwrap_or((rest, ""));
            words = format!("{before}{}{after}", inner.trim_end());
        }
    }
    words
}
