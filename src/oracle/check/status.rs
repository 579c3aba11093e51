//! Whether a status is what the model has of the inode, field by field.

use std::collections::BTreeMap;
use std::fmt::Display;

use agentfs_model::outcome::{RuleId, Status, StatusPattern};
use agentfs_model::values::{InodeId, Time, Timestamp};

use super::answer::Context;
use super::causes::Field;
use super::clock::show;
use super::divergence::Difference;
use super::words;

/// The times that inodes have shown. One that is only known to lie within a step must not change until another step
/// moves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SeenTimes(BTreeMap<(InodeId, Field), (Time, Timestamp)>);

impl SeenTimes {
    /// What the field showed when the model had `time` for it.
    fn of(&self, inode: InodeId, field: Field, time: Time) -> Option<Timestamp> {
        let (then, seen) = self.0.get(&(inode, field))?;
        (*then == time && matches!(time, Time::During(_))).then_some(*seen)
    }

    /// The times of a status that is allowed.
    pub(super) fn learn(&mut self, pattern: &StatusPattern, status: &Status) {
        for (field, time, seen) in times(pattern, status) {
            self.0.insert((pattern.inode, field), (time, seen));
        }
    }
}

fn times(pattern: &StatusPattern, status: &Status) -> [(Field, Time, Timestamp); 3] {
    [
        (Field::Atime, pattern.atime, status.atime),
        (Field::Mtime, pattern.mtime, status.mtime),
        (Field::Ctime, pattern.ctime, status.ctime),
    ]
}

/// In what `status` differs from `pattern`.
pub(super) fn differences(
    pattern: &StatusPattern,
    status: &Status,
    context: &Context<'_>,
) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut differ = |field: Field, seen: String, allowed: String| {
        let mut rules: Vec<RuleId> =
            field.rules(pattern.kind).iter().map(|rule| RuleId::Borrowed(*rule)).collect();
        let mut allowed = allowed;
        if let Some(cause) = context.causes.of(pattern.inode, field) {
            allowed = format!("{allowed} since step {} ({})", cause.step, cause.operation);
            let more: Vec<RuleId> =
                cause.rules.iter().filter(|rule| !rules.contains(rule)).cloned().collect();
            rules.extend(more);
        }
        differences.push(Difference { subject: field.name().into(), seen, allowed, rules });
    };
    if let Some(why) = context.identities.contradiction(pattern.inode, status.inode) {
        differ(Field::Inode, status.inode.to_string(), format!("another number: {why}"));
    }
    if status.kind != pattern.kind {
        differ(Field::Kind, words::kind(status.kind).into(), words::kind(pattern.kind).into());
    }
    let octal = |permissions: u32| format!("{permissions:04o}");
    if status.permissions != pattern.permissions {
        differ(Field::Permissions, octal(status.permissions), octal(pattern.permissions));
    }
    let mut number = |field: Field, seen: u64, allowed: Option<u64>| {
        if let Some(allowed) = allowed.filter(|allowed| *allowed != seen) {
            differ(field, display(seen), display(allowed));
        }
    };
    number(Field::Links, status.links, pattern.links);
    number(Field::Uid, status.uid.into(), Some(pattern.uid.into()));
    number(Field::Gid, status.gid.into(), Some(pattern.gid.into()));
    number(Field::Size, status.size, pattern.size);
    number(Field::Blocks, status.blocks, pattern.blocks);
    number(Field::Rdev, status.rdev.into(), Some(pattern.rdev.into()));
    for (field, time, seen) in times(pattern, status) {
        if !context.clock.allows(time, seen) {
            differ(field, show(seen), context.clock.words(time));
        } else if let Some(before) = context.seen_times.of(pattern.inode, field, time)
            && before != seen
        {
            differ(field, show(seen), format!("{}, as it was seen before", show(before)));
        }
    }
    differences
}

fn display(number: impl Display) -> String {
    number.to_string()
}
