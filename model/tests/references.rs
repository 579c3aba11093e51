//! Lookup references: no row goes while the kernel can come to use it, and none stays after that.
//!
//! What is promised, and what each seeded bug breaks, is in `agentfs_model::mechanism::references`. A bug's trace is
//! printed; `cargo test -p agentfs-model --test references -- --nocapture` shows them all.

use agentfs_model::check::references::{small, wrong_list};
use agentfs_model::check::{Explored, explore};
use agentfs_model::mechanism::references::{Bug, References, promises};

/// Explores a whole space, which must not become smaller by mistake.
fn holds(mechanism: References, floor: usize) {
    let explored = explore(mechanism, None).unwrap_or_else(|counterexample| panic!("{counterexample}"));
    println!("{:?}: {explored}", mechanism.bounds());
    let Explored { states, bounded, .. } = explored;
    assert!(!bounded && states >= floor, "{states} states of at least {floor}");
}

/// The checker finds the bug by the promise that it breaks.
fn finds(bug: Bug, broken: &str) {
    let of_losses = [
        Bug::FailedStaysCounted,
        Bug::DeletesUnlooked,
        Bug::LossIsNotSeen,
        Bug::ReusesNumber,
        Bug::TrustsLostNumber,
    ];
    let mechanism = if of_losses.contains(&bug) { small() } else { wrong_list() };
    let counterexample = explore(mechanism.with(bug), None).expect_err("the bug is found");
    println!("{bug:?}\n{counterexample}\n");
    assert_eq!(counterexample.property, broken);
    assert!(!counterexample.trace.is_empty());
}

// spec: FS-REAP-1, FS-REAP-2, FS-REAP-3, FS-REAP-4, FS-REAP-5, FS-REAP-6, FS-REAP-7, FS-REAP-11, FS-REAP-12
// spec: MNT-18, MNT-19, DUR-6, FMT-9, FS-NLINK-4, FS-LOOKUP-1, FS-UNLINK-1, FS-UNLINK-3
#[test]
fn references_hold_with_lost_groups_and_other_processes() {
    holds(small(), 840_000);
}

// spec: FS-REAP-8, FS-REAP-1, FS-REAP-4, MNT-19
#[test]
fn references_hold_with_a_list_that_another_program_made_wrong() {
    holds(wrong_list(), 300_000);
}

/// A test for each bug, and one that none is missing.
macro_rules! bugs {
    ($($name:ident: $bug:ident breaks $promise:ident;)*) => {
        $(
            #[test]
            fn $name() {
                finds(Bug::$bug, promises::$promise);
            }
        )*

        #[test]
        fn every_seeded_bug_is_looked_for() {
            assert_eq!([$(Bug::$bug),*], Bug::ALL);
        }
    };
}

bugs! {
    // spec: FS-REAP-1
    reaping_at_unlink_is_found: ReapsAtUnlink breaks KEPT;
    // spec: FS-LOOKUP-1, FS-REAP-2
    a_lookup_of_a_known_inode_without_a_count_is_found: KnownIsNotCounted breaks KEPT;
    // spec: MNT-19
    listed_entries_without_a_count_are_found: ListedIsNotCounted breaks KEPT;
    // spec: MNT-19
    the_count_of_what_a_listing_had_no_room_for_is_found: UnsentStaysCounted breaks EXACT;
    // spec: MNT-19
    counting_after_the_reply_is_found: CountedAfterReply breaks KEPT;
    // spec: FS-REAP-2
    a_forget_of_several_that_counts_once_is_found: ForgetCountsOnce breaks EXACT;
    // spec: MNT-18
    references_that_end_with_the_last_close_are_found: EndsWithRelease breaks KEPT;
    // spec: FS-REAP-2, DUR-6
    the_count_of_an_operation_that_failed_with_its_group_is_found: FailedStaysCounted breaks EXACT;
    // spec: MNT-19
    the_count_of_an_undelivered_reply_is_found: UndeliveredStaysCounted breaks CLEAN_END;
    // spec: FS-REAP-12
    deleting_what_has_its_name_again_is_found: DeletesUnlooked breaks NAMED;
    // spec: FS-REAP-6
    a_sweep_of_what_is_referred_to_is_found: SweepsReferenced breaks KEPT;
    // spec: FS-REAP-8
    a_sweep_that_takes_a_named_file_for_an_orphan_is_found: NotesNamed breaks NAMED;
    // spec: FS-NLINK-4
    a_search_that_finds_the_root_is_found: SweepsRoot breaks ROOT;
    // spec: FS-REAP-3
    an_unlink_that_lists_nothing_is_found: UnlinkDoesNotList breaks CLEAN_START;
    // spec: FS-REAP-7
    a_list_that_was_made_empty_is_found: ListsWithoutSearch breaks CLEAN_START;
    // spec: FS-REAP-5
    another_process_that_removes_beside_a_mount_is_found: ReapsBesideMount breaks KEPT;
    // spec: FS-REAP-6
    a_mount_that_ends_without_a_sweep_is_found: EndsWithoutSweep breaks CLEAN_END;
    // spec: FS-REAP-12
    a_loss_that_no_sweep_follows_is_found: LossIsNotSeen breaks REAPED;
    // spec: FMT-9
    a_lost_number_that_is_given_out_again_is_found: ReusesNumber breaks NUMBERS;
    // spec: FS-REAP-12
    a_lost_number_that_another_process_gives_out_is_found: TrustsLostNumber breaks NUMBERS;
}
