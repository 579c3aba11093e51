//! The kernel's caches over the daemon while other processes change the database: explored within bounds, and with one
//! thing wrong at a time.

use agentfs_model::check::cache::{
    DATA_FOUND, FRESH, KEPT_AT_THE_END, NOT_NEEDLESS, NOT_UNDONE, READ_BACK, SYNCED, larger, small,
};
use agentfs_model::check::explore;
use agentfs_model::mechanism::cache::{Bounds, Bug, Caches, Operation};

fn bounds(space: &str) -> Bounds {
    let mut spaces = small().into_iter().chain(larger());
    spaces.find(|known| known.name == space).expect("a space has this name").bounds
}

/// Asserts that the check finds `bug`, as a violation of `property`, and shows how.
fn finds(bug: Bug, space: &str, property: &str) {
    let found = explore(Caches::with(bounds(space), bug), None).expect_err("the bug has consequences");
    println!("{bug:?}\n{found}");
    assert_eq!(found.property, property);
}

// spec: MNT-8, MNT-9, MNT-22, MNT-23, MNT-34, MNT-41, MNT-42, FS-TIME-7
#[test]
fn whatever_users_and_other_processes_do_the_caches_stay_right() {
    // Floors, so that a space that has become small by mistake is noticed.
    let floors = [
        ("absent", 22_000),
        ("replaced", 33_000),
        ("unlinked", 9_000),
        ("mode", 36_000),
        ("modes", 23_000),
        ("content", 128_000),
        ("let go", 180_000),
        ("growth", 19_000),
        ("writes", 32_000),
        ("times", 119_000),
    ];
    let spaces = small();
    assert_eq!(spaces.len(), floors.len());
    for (space, (name, floor)) in spaces.into_iter().zip(floors) {
        assert_eq!(space.name, name);
        let explored =
            explore(Caches::new(space.bounds), None).unwrap_or_else(|found| panic!("{name}: {found}"));
        println!("{name}: {explored}");
        assert!(!explored.bounded && explored.states >= floor, "{name}: {explored}");
    }
}

// spec: FS-TIME-7, MNT-22
#[test]
fn a_late_write_that_sets_the_time_undoes_the_one_that_was_given() {
    finds(Bug::WriteMovesTimes, "times", NOT_UNDONE);
}

// spec: MNT-22
#[test]
fn a_time_that_the_kernel_kept_undoes_a_later_one_that_does_not_wait_for_it() {
    finds(Bug::TimesOvertaken, "times", NOT_UNDONE);
}

// spec: MNT-22
#[test]
fn a_write_that_is_answered_before_it_is_applied_undoes_a_truncation() {
    let bounds = Bounds { calls: vec![Operation::Write, Operation::Truncate], ..bounds("times") };
    let found = explore(Caches::with(bounds, Bug::WriteAnsweredEarly), None).unwrap_err();
    println!("{found}");
    assert_eq!(found.property, NOT_UNDONE);
}

// spec: MNT-22
#[test]
fn a_size_in_an_answer_that_is_believed_cuts_off_what_is_not_written_back() {
    let found = explore(Caches::with(bounds("sizes"), Bug::SizeOfAnswerBelieved), None).unwrap_err();
    println!("{found}");
    assert!([NOT_UNDONE, READ_BACK].contains(&found.property));
}

// spec: MNT-23
#[test]
fn an_fsync_that_does_not_wait_for_dirty_pages_syncs_too_little() {
    finds(Bug::FsyncBeforeWriteBack, "times", SYNCED);
}

// spec: MNT-34
#[test]
fn a_search_for_data_without_the_dirty_pages_finds_a_hole() {
    finds(Bug::SeekWithoutWriteBack, "times", DATA_FOUND);
}

// spec: MNT-8
#[test]
fn a_mount_that_ends_without_its_dirty_pages_loses_them() {
    finds(Bug::EndWithoutWriteBack, "times", KEPT_AT_THE_END);
}

// spec: MNT-9
#[test]
fn an_invalidation_that_is_sent_before_the_commit_is_of_no_use() {
    finds(Bug::NoticedBeforeCommit, "mode", FRESH);
}

// spec: MNT-9, DUR-10
#[test]
fn a_foreign_commit_between_two_of_our_own_must_be_noticed() {
    finds(Bug::CommitMissed, "writes", FRESH);
}

// spec: MNT-9
#[test]
fn commits_of_our_own_are_no_reason_to_drop_what_is_cached() {
    finds(Bug::OwnCommitsNoticed, "mode", NOT_NEEDLESS);
}

// spec: MNT-41
#[test]
fn an_answer_from_before_the_news_that_is_sent_after_stays_in_the_cache() {
    finds(Bug::LateAnswerForgotten, "content", FRESH);
}

// spec: MNT-41
#[test]
fn an_answer_that_is_under_way_while_a_name_is_dropped_brings_it_back() {
    finds(Bug::DroppedOnce, "absent", FRESH);
}

// spec: MNT-41
#[test]
fn an_answer_that_is_under_way_while_attributes_are_dropped_brings_them_back() {
    finds(Bug::DroppedOnce, "mode", FRESH);
}

// spec: MNT-9
#[test]
fn the_absence_of_a_name_must_not_be_believed_for_the_whole_bound() {
    finds(Bug::AbsenceBelievedTooLong, "absent", FRESH);
}

// spec: MNT-42
#[test]
fn an_end_that_is_stored_although_the_file_has_not_grown_takes_a_write_back() {
    finds(Bug::EndStoredOverWrites, "writes", READ_BACK);
}

// spec: MNT-9
#[test]
fn a_file_that_was_open_when_it_was_cut_short_must_be_dropped_once_it_is_let_go() {
    finds(Bug::HeldForgotten, "let go", FRESH);
}

// spec: MNT-42
#[test]
fn a_file_that_is_shown_once_to_have_grown_is_cut_short_by_an_answer_under_way() {
    let space = larger().into_iter().find(|space| space.name == "let go").expect("a space has this name");
    // Open from the beginning, so that the checker is sooner where it goes wrong.
    let bounds = Bounds { held_open: true, ..space.bounds };
    let found = explore(Caches::with(bounds, Bug::GrowthShownOnce), None).unwrap_err();
    println!("{found}");
    assert_eq!(found.property, FRESH);
}

// spec: MNT-42
#[test]
fn what_the_rule_excepts_does_happen() {
    let bounds = Bounds { collisions: true, ..bounds("growth") };
    let found = explore(Caches::new(bounds), None).unwrap_err();
    println!("{found}");
    assert_eq!(found.property, READ_BACK);
}
