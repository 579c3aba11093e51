//! Whether a tree that was looked at is the model's: every path, and all that can be seen of it (ORA-23).
//!
//! The order of listings is not looked at: it shows in readdir.

use std::collections::{BTreeMap, BTreeSet};

use agentfs_model::bytes::Bytes;
use agentfs_model::fs::{FileSystem, Object, ObjectContent};
use agentfs_model::outcome::{Entry, RuleId, Status, StatusPattern};
use agentfs_model::values::FileKind;

use super::answer::Context;
use super::causes::Field;
use super::divergence::Difference;
use super::{status, words};
use crate::oracle::tree::{Observed, Tree};

/// Bytes that are compared at once.
const BLOCK: u64 = 4096;

/// In what the tree `seen` differs from the model's.
pub(super) fn differences(model: &FileSystem, seen: &Tree, context: &Context<'_>) -> Vec<Difference> {
    let mut seen_at: BTreeMap<&[u8], &Observed> = BTreeMap::new();
    let mut differences = Vec::new();
    for object in &seen.objects {
        let path = object.path.strip_prefix(b"/").unwrap_or(&object.path);
        if seen_at.insert(path, object).is_some() {
            differences.push(about(path, "path", "seen twice", "once", &["FS-DIR-3"]));
        }
    }
    let objects = model.tree();
    // What one object shows of its number, the next one must not contradict.
    let mut identities = context.identities.clone();
    for object in &objects {
        match seen_at.remove(&*object.path) {
            Some(seen) => {
                let context = Context { identities: &identities, ..*context };
                let found = of_object(object, seen, &context);
                if found.is_empty() {
                    identities.learn(object.status.inode, seen.status.inode);
                }
                differences.extend(found);
            }
            None => {
                differences.push(about(&object.path, "path", "missing", "there", &["FS-DIR-3", "FS-ERR-1"]))
            }
        }
    }
    let extra = seen_at.keys().map(|path| about(path, "path", "there", "not there", &["FS-DIR-5", "DUR-2"]));
    differences.extend(extra);
    differences.extend(numbers_of_entries(&objects, seen));
    differences
}

/// What every status of the tree must be, and what it is.
pub(super) fn statuses<'a>(model: &FileSystem, seen: &'a Tree) -> Vec<(StatusPattern, &'a Status)> {
    let at = |path: &Bytes| {
        seen.objects.iter().find(|object| object.path.strip_prefix(b"/").is_some_and(|seen| *seen == **path))
    };
    let objects = model.tree().into_iter();
    objects.filter_map(|object| Some((object.status, &at(&object.path)?.status))).collect()
}

fn about(path: &[u8], what: &str, seen: &str, allowed: &str, rules: &[&'static str]) -> Difference {
    Difference {
        subject: format!("{what} of \"/{}\"", path.escape_ascii()),
        seen: seen.into(),
        allowed: allowed.into(),
        rules: rules.iter().map(|rule| RuleId::Borrowed(*rule)).collect(),
    }
}

fn of_object(object: &Object, seen: &Observed, context: &Context<'_>) -> Vec<Difference> {
    let path = &object.path;
    let mut differences = status::differences(&object.status, &seen.status, context);
    if !context.access_times {
        differences.retain(|difference| difference.subject != Field::Atime.name());
    }
    for difference in &mut differences {
        difference.subject = format!("{} of \"/{}\"", difference.subject, path.escape_ascii());
    }
    if object.status.kind != seen.status.kind {
        return differences;
    }
    match (&object.content, seen) {
        (ObjectContent::Extents(extents), Observed { content: Some(pieces), .. }) => {
            let pieces = pieces.iter().map(|(offset, bytes)| (*offset, &bytes.0[..]));
            let extents = extents.iter().map(|(offset, bytes)| (*offset, &bytes[..]));
            if let Some((offset, seen, allowed)) = first_difference(blocks(pieces), blocks(extents)) {
                let subject = format!("content at {offset}");
                let (seen, allowed) = words::bytes_differ(&seen, &allowed);
                differences.push(about(
                    path,
                    &subject,
                    &seen,
                    &allowed,
                    &["FS-DATA-3", "FS-DATA-1", "FS-TRUNC-1"],
                ));
            }
        }
        (ObjectContent::Target(target), Observed { target: Some(seen), .. }) if target != seen => {
            differences.push(about(
                path,
                "target",
                &format!("{seen:?}"),
                &format!("{target:?}"),
                &["FS-LOOKUP-4"],
            ));
        }
        (ObjectContent::Entries(names), Observed { entries: Some(entries), .. }) => {
            differences.extend(of_entries(path, names, entries));
        }
        _ => {}
    }
    differences.extend(of_attributes(path, &object.xattrs, &seen.xattrs));
    differences
}

/// The blocks that are not all zeros, by number.
fn blocks<'a>(extents: impl Iterator<Item = (u64, &'a [u8])>) -> BTreeMap<u64, Vec<u8>> {
    let mut blocks: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    for (offset, bytes) in extents {
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let within = at % BLOCK;
            let (piece, after) = rest.split_at(rest.len().min((BLOCK - within) as usize));
            let block = blocks.entry(at / BLOCK).or_insert_with(|| vec![0; BLOCK as usize]);
            block[within as usize..][..piece.len()].copy_from_slice(piece);
            at += piece.len() as u64;
            rest = after;
        }
    }
    blocks.retain(|_, block| block.iter().any(|byte| *byte != 0));
    blocks
}

/// The offset of the first block that differs, and the two blocks.
fn first_difference(
    seen: BTreeMap<u64, Vec<u8>>,
    allowed: BTreeMap<u64, Vec<u8>>,
) -> Option<(u64, Vec<u8>, Vec<u8>)> {
    let numbers: BTreeSet<u64> = seen.keys().chain(allowed.keys()).copied().collect();
    let zeros = || vec![0; BLOCK as usize];
    let both = numbers.into_iter().map(|number| {
        let of = |blocks: &BTreeMap<u64, Vec<u8>>| blocks.get(&number).cloned().unwrap_or_else(zeros);
        (number * BLOCK, of(&seen), of(&allowed))
    });
    both.into_iter().find(|(_, seen, allowed)| seen != allowed)
}

fn of_entries(path: &[u8], names: &[Bytes], seen: &[Entry]) -> Vec<Difference> {
    let mut differences = Vec::new();
    for name in names.iter().filter(|name| !seen.iter().any(|entry| entry.name == **name)) {
        let subject = format!("entry {name:?}");
        differences.push(about(path, &subject, "missing in the listing", "returned once", &["FS-DIR-3"]));
    }
    for (index, entry) in seen.iter().enumerate() {
        let subject = format!("entry {:?}", entry.name);
        if seen[..index].iter().any(|before| before.name == entry.name) {
            differences.push(about(path, &subject, "returned twice", "once", &["FS-DIR-3"]));
        } else if !names.contains(&entry.name) {
            differences.push(about(path, &subject, "returned", "not there", &["FS-DIR-5"]));
        }
    }
    differences
}

/// Whether listings tell the same numbers and kinds as stat.
fn numbers_of_entries(objects: &[Object], seen: &Tree) -> Vec<Difference> {
    let mut stats: BTreeMap<&[u8], (u64, FileKind)> = BTreeMap::new();
    for object in &seen.objects {
        stats.insert(&object.path, (object.status.inode, object.status.kind));
    }
    let mut differences = Vec::new();
    for object in objects {
        let folder = [b"/", &object.path[..]].concat();
        let listed =
            seen.objects.iter().find(|seen| *seen.path == folder[..]).and_then(|seen| seen.entries.as_ref());
        for entry in listed.into_iter().flatten() {
            let separator: &[u8] = if folder == b"/" { b"" } else { b"/" };
            let path = [&folder[..], separator, &entry.name].concat();
            let Some((inode, kind)) = stats.get(&path[..]) else { continue };
            if entry.inode != *inode {
                let (listed, shown) =
                    (format!("inode {} in the listing", entry.inode), format!("{inode}, as stat shows"));
                differences.push(about(&path[1..], "inode", &listed, &shown, &["FS-DIR-1"]));
            }
            if entry.kind.is_some_and(|listed| listed != *kind) {
                let listed = entry.kind.map_or("", words::kind);
                differences.push(about(&path[1..], "kind", listed, words::kind(*kind), &["FS-DIR-1"]));
            }
        }
    }
    differences
}

fn of_attributes(path: &[u8], allowed: &[(Bytes, Bytes)], seen: &[(Bytes, Bytes)]) -> Vec<Difference> {
    let rules = &["FS-XATTR-2", "FS-XATTR-10"];
    let value = |list: &[(Bytes, Bytes)], name: &Bytes| {
        list.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let words = |value: Option<Bytes>| value.map_or_else(|| "none".to_owned(), |value| format!("{value:?}"));
    let names: BTreeSet<&Bytes> = allowed.iter().chain(seen).map(|(name, _)| name).collect();
    let both = names.into_iter().map(|name| (name, value(seen, name), value(allowed, name)));
    let different = both.filter(|(_, seen, allowed)| seen != allowed);
    different
        .map(|(name, seen, allowed)| {
            about(path, &format!("attribute {name:?}"), &words(seen), &words(allowed), rules)
        })
        .collect()
}
