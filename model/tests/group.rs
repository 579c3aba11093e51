//! The group transaction with two writers in two processes, several threads at barriers, and crashes: explored within
//! bounds, and with one thing wrong at a time.

use agentfs_model::check::explore;
use agentfs_model::check::group::{
    IN_ORDER, LOSS_TOLD, LOSS_TOLD_ONCE, NO_HOLLOW_BARRIER, NO_TRACE, NOTHING_VANISHES, PREFIX, PROMISES,
    SEES_ALL, TURNS, small,
};
use agentfs_model::mechanism::group::{Bounds, Bug, Groups};

fn bounds(space: &str) -> Bounds {
    small().into_iter().find(|known| known.name == space).expect("a space has this name").bounds
}

/// Asserts that the check finds `bug`, as a violation of `property`, and shows how.
fn finds(bug: Bug, bounds: Bounds, property: &str) {
    let found = explore(Groups::with(bounds, bug), None).expect_err("the bug has consequences");
    println!("{bug:?}\n{found}");
    assert_eq!(found.property, property);
}

// spec: DUR-1, DUR-2, DUR-4, DUR-6, DUR-7, DUR-8, DUR-9, DUR-10, DUR-13, DUR-15, DUR-16, KV-8, OPEN-3, OPEN-9
#[test]
fn whatever_two_processes_and_a_crash_do_the_promises_hold() {
    // Floors, so that a space that has become small by mistake is noticed.
    let floors = [
        ("crashes", 160_000),
        ("threads", 65_000),
        ("checkpoints", 198_000),
        ("flushes", 218_000),
        ("losses", 70_000),
        ("keys", 33_000),
        ("closing", 125_000),
    ];
    let spaces = small();
    assert_eq!(spaces.len(), floors.len());
    for (space, (name, floor)) in spaces.into_iter().zip(floors) {
        assert_eq!(space.name, name);
        let explored =
            explore(Groups::new(space.bounds), None).unwrap_or_else(|found| panic!("{name}: {found}"));
        println!("{name}: {explored}");
        assert!(!explored.bounded && explored.states >= floor, "{name}: {explored}");
    }
}

// spec: DUR-4
#[test]
fn a_barrier_that_only_commits_forgets_at_a_loss_of_power() {
    finds(Bug::CommitOnly, bounds("crashes"), PROMISES);
}

// spec: DUR-4
#[test]
fn a_barrier_that_believes_a_checkpoint_without_looking_forgets_at_a_loss_of_power() {
    finds(Bug::TrustsCheckpoint, bounds("checkpoints"), PROMISES);
}

// spec: DUR-7
#[test]
fn a_barrier_that_tries_a_failed_flush_again_succeeds_for_nothing() {
    finds(Bug::FailedFlushForgotten, bounds("flushes"), NO_HOLLOW_BARRIER);
}

// spec: DUR-16, DUR-1
#[test]
fn a_log_that_is_copied_after_a_failed_flush_mixes_two_states() {
    finds(Bug::CheckpointAfterFailure, bounds("flushes"), PREFIX);
}

// spec: DUR-1
#[test]
fn a_log_that_is_copied_before_it_is_flushed_mixes_two_states() {
    finds(Bug::CheckpointBeforeFlush, bounds("checkpoints"), PREFIX);
}

// spec: DUR-1
#[test]
fn a_checkpoint_that_does_not_see_the_log_start_anew_loses_what_follows() {
    let bounds = Bounds { reads: [false; 2], ..bounds("checkpoints") };
    finds(Bug::CheckpointIgnoresReset, bounds, IN_ORDER);
}

// spec: DUR-8
#[test]
fn bytes_that_leave_memory_before_their_commit_are_missing_to_the_next_operation() {
    finds(Bug::PendingDropped, bounds("crashes"), SEES_ALL);
}

// spec: DUR-1
#[test]
fn a_group_that_overtakes_another_is_committed_out_of_order() {
    finds(Bug::OutOfOrder, bounds("losses"), IN_ORDER);
}

// spec: DUR-2
#[test]
fn an_operation_that_fails_without_a_savepoint_leaves_a_trace() {
    finds(Bug::NoSavepoint, bounds("crashes"), NO_TRACE);
}

// spec: DUR-6
#[test]
fn a_lost_group_that_is_not_reported_lets_a_barrier_succeed() {
    finds(Bug::LossUnreported, bounds("losses"), LOSS_TOLD);
}

// spec: DUR-6
#[test]
fn a_lost_group_must_not_be_reported_to_whom_the_next_group_touches() {
    finds(Bug::LossToLaterTouchers, bounds("losses"), LOSS_TOLD_ONCE);
}

// spec: DUR-6, KV-8
#[test]
fn a_lost_group_of_keys_must_not_be_reported_to_the_files_of_the_group_before() {
    finds(Bug::KeyLossBlamedOnFile, bounds("keys"), LOSS_TOLD_ONCE);
}

// spec: DUR-6
#[test]
fn a_barrier_that_answers_with_a_second_loss_lets_it_be_told_twice() {
    finds(Bug::SecondLossToldTwice, bounds("losses"), LOSS_TOLD_ONCE);
}

// spec: DUR-6
#[test]
fn a_loss_that_one_of_two_barriers_takes_lets_the_other_succeed() {
    finds(Bug::LossTakenByOneBarrier, bounds("losses"), LOSS_TOLD);
}

// spec: DUR-4
#[test]
fn a_flush_that_claims_what_was_committed_after_it_lets_the_next_barrier_forget() {
    finds(Bug::CoverReadLate, bounds("threads"), PROMISES);
}

// spec: DUR-15
#[test]
fn a_barrier_that_flushes_only_its_own_groups_forgets_what_was_seen_of_others() {
    finds(Bug::ForeignNotFlushed, bounds("crashes"), PROMISES);
}

// spec: DUR-10
#[test]
fn a_group_that_begins_on_the_snapshot_of_a_reader_misses_what_others_committed() {
    finds(Bug::SnapshotKept, bounds("checkpoints"), SEES_ALL);
}

// spec: DUR-9
#[test]
fn a_writer_that_does_not_step_back_overtakes_one_that_waits_again_and_again() {
    finds(Bug::NoStepBack, bounds("crashes"), TURNS);
}

// spec: OPEN-9
#[test]
fn a_store_that_closes_on_an_open_group_loses_acknowledged_operations() {
    finds(Bug::ClosingDropsGroup, bounds("closing"), NOTHING_VANISHES);
}
