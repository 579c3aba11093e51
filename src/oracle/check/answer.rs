//! Whether one answer is what one branch of the model allows, and in what it differs (ORA-20).

use agentfs_model::bytes::Bytes;
use agentfs_model::outcome::{
    Allowed, EntriesPattern, Entry, EntryPattern, Expected, Outcome, RuleId, Statistics,
};
use agentfs_model::values::InodeId;

use super::causes::Causes;
use super::clock::Clock;
use super::divergence::Difference;
use super::identity::Identities;
use super::status::{self, SeenTimes};
use super::words;

/// What an answer is held against beside the branch.
pub(super) struct Context<'a> {
    pub(super) clock: &'a Clock,
    pub(super) identities: &'a Identities,
    pub(super) causes: &'a Causes,
    pub(super) seen_times: &'a SeenTimes,
    /// Whether access times of a tree are compared: not where looking may have moved them.
    pub(super) access_times: bool,
}

/// In what `seen` differs from what is allowed; empty when it is allowed.
pub(super) fn differences(allowed: &Allowed, seen: &Outcome, context: &Context<'_>) -> Vec<Difference> {
    let rules = &allowed.rules;
    match (&allowed.expected, seen) {
        (Expected::Exactly(exactly), seen) => exact(exactly, seen, rules),
        (Expected::Status(pattern), Outcome::Status(status)) => status::differences(pattern, status, context),
        (Expected::Entries(pattern), Outcome::Entries(entries)) => {
            listing(pattern, entries, rules, context.identities)
        }
        (Expected::OffsetBetween { least, most }, Outcome::Offset(offset))
            if (least..=most).contains(&offset) =>
        {
            Vec::new()
        }
        (Expected::CountBetween { least, most }, Outcome::Count(count))
            if (least..=most).contains(&count) =>
        {
            Vec::new()
        }
        (Expected::Statistics { longest_name }, Outcome::Statistics(seen)) => {
            statistics(*longest_name, seen, rules)
        }
        (expected, seen) => vec![whole(words::outcome(seen), words::expected(expected), rules)],
    }
}

/// The inodes that an allowed answer has told the numbers of.
pub(super) fn numbers(expected: &Expected, seen: &Outcome, identities: &Identities) -> Vec<(InodeId, u64)> {
    match (expected, seen) {
        (Expected::Status(pattern), Outcome::Status(status)) => vec![(pattern.inode, status.inode)],
        (Expected::Entries(pattern), Outcome::Entries(entries)) => {
            let told = entries.iter().filter_map(|entry| {
                let known = meant(pattern, entry, identities)?;
                Some((known.inode, entry.inode))
            });
            told.collect()
        }
        _ => Vec::new(),
    }
}

/// What may be returned by the name of `entry`. Where that is what stood there at several times, the first that nothing
/// speaks against, or just the first.
fn meant<'a>(
    pattern: &'a EntriesPattern,
    entry: &Entry,
    identities: &Identities,
) -> Option<&'a EntryPattern> {
    let mut known = pattern.due.iter().chain(&pattern.possible).filter(|known| known.name == entry.name);
    let first = known.clone().next();
    let fits = |known: &&EntryPattern| {
        entry.kind.is_none_or(|kind| kind == known.kind)
            && identities.contradiction(known.inode, entry.inode).is_none()
    };
    known.find(fits).or(first)
}

fn whole(seen: String, allowed: String, rules: &[RuleId]) -> Difference {
    Difference { subject: "answer".into(), seen: format!("answered {seen}"), allowed, rules: rules.to_vec() }
}

fn exact(exactly: &Outcome, seen: &Outcome, rules: &[RuleId]) -> Vec<Difference> {
    match (exactly, seen) {
        (exactly, seen) if exactly == seen => Vec::new(),
        (Outcome::Names(exactly), Outcome::Names(seen)) => names(exactly, seen, rules),
        (Outcome::Data(exactly), Outcome::Data(seen)) | (Outcome::Value(exactly), Outcome::Value(seen)) => {
            let (seen, allowed) = words::bytes_differ(seen, exactly);
            vec![whole(seen, allowed, rules)]
        }
        (exactly, seen) => vec![whole(words::outcome(seen), words::outcome(exactly), rules)],
    }
}

/// Names of extended attributes: the same, each once, in any order.
fn names(exactly: &[Bytes], seen: &[Bytes], rules: &[RuleId]) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut differ = |name: &Bytes, seen: &str, allowed: &str| {
        differences.push(Difference {
            subject: format!("name {name:?}"),
            seen: seen.into(),
            allowed: allowed.into(),
            rules: rules.to_vec(),
        });
    };
    for name in exactly {
        if !seen.contains(name) {
            differ(name, "missing", "listed");
        }
    }
    for (index, name) in seen.iter().enumerate() {
        if seen[..index].contains(name) {
            differ(name, "listed twice", "once");
        } else if !exactly.contains(name) {
            differ(name, "listed", "not there");
        }
    }
    differences
}

/// Entries of a directory: FS-DIR-1 to FS-DIR-5.
fn listing(
    pattern: &EntriesPattern,
    seen: &[Entry],
    rules: &[RuleId],
    identities: &Identities,
) -> Vec<Difference> {
    let mut differences = Vec::new();
    if seen.len() > pattern.most as usize {
        let (seen, allowed) = (format!("{} returned", seen.len()), format!("at most {}", pattern.most));
        differences.push(of_listing("entries".into(), seen, allowed, &["FS-DIR-1"]));
    }
    // What one entry shows of its number, the next one must not contradict.
    let mut identities = identities.clone();
    for (index, entry) in seen.iter().enumerate() {
        differences.extend(in_entry(pattern, &seen[..index], entry, &mut identities));
    }
    if differences.is_empty() {
        differences.extend(in_sequence(pattern, seen));
    }
    // What the call itself is about comes after what is known more exactly.
    for difference in &mut differences {
        for rule in rules {
            if !difference.rules.contains(rule) {
                difference.rules.push(rule.clone());
            }
        }
    }
    differences
}

fn of_listing(subject: String, seen: String, allowed: String, rules: &[&'static str]) -> Difference {
    let rules = rules.iter().map(|rule| RuleId::Borrowed(*rule)).collect();
    Difference { subject, seen, allowed, rules }
}

/// What is wrong with `entry`, returned after those `before` it.
fn in_entry(
    pattern: &EntriesPattern,
    before: &[Entry],
    entry: &Entry,
    identities: &mut Identities,
) -> Vec<Difference> {
    let differs = |seen: String, allowed: String, rules: &[&'static str]| {
        of_listing(format!("entry {:?}", entry.name), seen, allowed, rules)
    };
    let known = pattern.due.iter().chain(&pattern.possible).filter(|known| known.name == entry.name);
    let returned = before.iter().filter(|before| before.name == entry.name);
    if returned.count() >= known.count().max(1) {
        return vec![differs("returned twice".into(), "once".into(), &["FS-DIR-3"])];
    }
    let Some(known) = meant(pattern, entry, identities) else {
        let allowed = "not there, or returned before".into();
        return vec![differs("returned".into(), allowed, &["FS-DIR-3", "FS-DIR-5"])];
    };
    let mut differences = Vec::new();
    if let Some(kind) = entry.kind.filter(|kind| *kind != known.kind) {
        differences.push(differs(words::kind(kind).into(), words::kind(known.kind).into(), &["FS-DIR-1"]));
    }
    if let Some(why) = identities.contradiction(known.inode, entry.inode) {
        let allowed = format!("another number: {why}");
        differences.push(differs(format!("inode {}", entry.inode), allowed, &["FMT-9"]));
    } else {
        identities.learn(known.inode, entry.inode);
    }
    differences
}

/// What is missing among entries that are right one by one, or not in its place.
fn in_sequence(pattern: &EntriesPattern, seen: &[Entry]) -> Vec<Difference> {
    if seen.is_empty() {
        let missed = |name: &Bytes| {
            let seen = "missing at the end of the listing".into();
            of_listing(format!("entry {name:?}"), seen, "returned once".into(), &["FS-DIR-3"])
        };
        return pattern.due.iter().map(|entry| missed(&entry.name)).collect();
    }
    if !pattern.ordered {
        return Vec::new();
    }
    let due: Vec<&Bytes> = pattern.due.iter().map(|entry| &entry.name).collect();
    let returned: Vec<&Bytes> =
        seen.iter().map(|entry| &entry.name).filter(|name| due.contains(name)).collect();
    let first = &due[..returned.len()];
    if returned == first {
        return Vec::new();
    }
    vec![of_listing("entries".into(), format!("the order {returned:?}"), format!("{first:?}"), &["FS-DIR-2"])]
}

fn statistics(longest_name: u64, seen: &Statistics, rules: &[RuleId]) -> Vec<Difference> {
    let claims = [
        ("blocks_free", seen.blocks_free, "at most blocks", seen.blocks_free <= seen.blocks),
        (
            "blocks_available",
            seen.blocks_available,
            "at most blocks_free",
            seen.blocks_available <= seen.blocks_free,
        ),
        ("files_free", seen.files_free, "at most files", seen.files_free <= seen.files),
        ("longest_name", seen.longest_name, "255", seen.longest_name == longest_name),
    ];
    let wrong =
        claims.into_iter().filter(|(.., right)| !right).map(|(subject, seen, allowed, _)| Difference {
            subject: subject.into(),
            seen: seen.to_string(),
            allowed: allowed.into(),
            rules: rules.to_vec(),
        });
    wrong.collect()
}
