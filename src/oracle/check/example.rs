//! One answer of those that are allowed, where somebody needs one and nobody has answered.

use agentfs_model::outcome::{Entry, EntryPattern, Expected, Outcome, Statistics, Status, StatusPattern};
use agentfs_model::values::{Time, Timestamp};

/// An allowed answer, with the model's own numbers of inodes. What is not known is 0.
#[must_use]
pub fn example(expected: &Expected) -> Outcome {
    match expected {
        Expected::Exactly(outcome) => outcome.clone(),
        Expected::Status(pattern) => Outcome::Status(status(pattern)),
        Expected::Entries(pattern) => {
            let all = pattern.due.iter().chain(&pattern.possible);
            Outcome::Entries(all.take(pattern.most as usize).map(entry).collect())
        }
        Expected::OffsetBetween { most, .. } => Outcome::Offset(*most),
        Expected::CountBetween { most, .. } => Outcome::Count(*most),
        Expected::Statistics { longest_name } => Outcome::Statistics(Statistics {
            blocks: 0,
            blocks_free: 0,
            blocks_available: 0,
            files: 0,
            files_free: 0,
            longest_name: *longest_name,
        }),
    }
}

fn entry(pattern: &EntryPattern) -> Entry {
    Entry { name: pattern.name.clone(), inode: pattern.inode.0, kind: Some(pattern.kind) }
}

fn status(pattern: &StatusPattern) -> Status {
    let time = |time: Time| match time {
        Time::At(time) => time,
        Time::During(_) | Time::Unknown => Timestamp { seconds: 0, nanoseconds: 0 },
    };
    Status {
        inode: pattern.inode.0,
        kind: pattern.kind,
        permissions: pattern.permissions,
        links: pattern.links.unwrap_or_default(),
        uid: pattern.uid,
        gid: pattern.gid,
        size: pattern.size.unwrap_or_default(),
        blocks: pattern.blocks.unwrap_or_default(),
        rdev: pattern.rdev,
        atime: time(pattern.atime),
        mtime: time(pattern.mtime),
        ctime: time(pattern.ctime),
    }
}
