//! The abstract file system, explored: every state of small spaces, and every seeded bug found in one of them.
//!
//! What is promised, and what each bug breaks, is in `agentfs_model::check::filesystem`. A bug's trace is printed;
//! `cargo test -p agentfs-model --test abstract -- --nocapture` shows them all.

use agentfs_model::check::explore;
use agentfs_model::check::filesystem::{Bug, Space, small};

// spec: FS-NLINK-1, FS-REAP-1, FS-REAP-4, FS-LINK-2, FS-RENAME-1, FS-RENAME-5, FS-RMDIR-1, FS-DIR-3, FS-TRUNC-1
// spec: FS-DATA-1, FS-DATA-4, FS-SEEK-3, FS-PERM-3, FS-PERM-4, FS-PERM-12, FS-TIME-3, CALL-12
#[test]
fn no_sequence_of_calls_breaks_a_promise() {
    let mut states = 0;
    for space in small() {
        let Space { name, floor, .. } = space;
        let explored = explore(space, None).unwrap_or_else(|example| panic!("{name}: {example}"));
        println!("{name}: {explored}");
        assert!(!explored.bounded && explored.states >= floor, "{name}: fewer than {floor} states");
        states += explored.states;
    }
    println!("the abstract file system: {states} states");
    assert!(states >= 330_000);
}

/// The checker finds the bug by the promise that it breaks.
fn finds(bug: Bug, name: &str) {
    let space = small().into_iter().find(|space| space.name == name).expect("there is a space of that name");
    let example = explore(space.with(bug), None).expect_err("the bug is found");
    println!("{bug:?}\n{example}\n");
    assert_eq!(example.property, bug.breaks().statement());
    assert!(!example.trace.is_empty());
}

/// A test for each bug, and one that none is missing.
macro_rules! bugs {
    ($($name:ident: $bug:ident in $space:literal;)*) => {
        $(
            #[test]
            fn $name() {
                finds(Bug::$bug, $space);
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
    reaping_at_unlink_is_found: ReapedAtUnlink in "open files";
    // spec: FS-REAP-4
    a_reference_dropped_by_the_first_of_two_closes_is_found: DroppedByFirstClose in "open files";
    // spec: FS-RENAME-6
    a_rename_into_the_own_subtree_is_found: MovedBelowItself in "names";
    // spec: FS-RENAME-9
    a_replaced_inode_that_keeps_its_count_is_found: ReplacedKeepsCount in "names";
    // spec: FS-RENAME-1
    an_old_name_that_a_rename_leaves_is_found: OldNameStays in "names";
    // spec: FS-RENAME-5
    an_exchange_that_forgets_the_parents_is_found: ExchangeForgetsParent in "names";
    // spec: FS-RENAME-5
    an_exchange_that_replaces_is_found: ExchangeReplaces in "names";
    // spec: FS-RMDIR-3
    an_rmdir_of_a_directory_with_entries_is_found: NotEmptyRemoved in "removed directories";
    // spec: FS-NLINK-4
    a_root_that_is_swept_as_an_orphan_is_found: RootSwept in "names";
    // spec: FS-LINK-2
    a_link_to_what_has_no_name_is_found: NamelessLinked in "open files";
    // spec: CALL-12
    a_failed_mkdir_that_touches_its_parent_is_found: FailedMkdirTouches in "times";
    // spec: FS-TIME-3
    a_rename_that_forgets_the_change_time_is_found: RenameForgetsChange in "times";
    // spec: FS-TRUNC-1
    old_bytes_after_growing_again_are_found: CutBytesComeBack in "content";
    // spec: FS-DATA-4
    an_append_at_the_own_offset_is_found: AppendAtOffset in "content";
    // spec: FS-ALLOC-2
    a_hole_that_begins_too_late_is_found: PunchLeavesByte in "content";
    // spec: FS-DIR-3
    a_listing_by_index_is_found: ListedByIndex in "listing";
    // spec: FS-PERM-4
    a_sticky_directory_that_is_not_is_found: StickyIgnored in "permissions";
    // spec: FS-PERM-3
    an_unlink_that_asks_the_file_is_found: UnlinkAsksFile in "permissions";
    // spec: FS-PERM-12
    set_id_bits_that_survive_a_write_are_found: SetIdStays in "permissions";
    a_refusal_that_names_no_rule_is_found: NoRule in "names";
}
