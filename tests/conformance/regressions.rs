//! The smallest traces of divergences that were found, by what was wrong: each fails without its repair.

use agentfs::Options;
use agentfs::oracle::check::Checker;
use agentfs::oracle::file;
use agentfs::oracle::play::{Ended, Look, replay};
use agentfs_model::generate::Alphabet;

use crate::bench::Bench;

/// Runs the steps on the library, in a root directory of user 0 with these permissions.
fn holds(permissions: u32, steps: &str) -> Checker {
    let mut setting = Alphabet::library().setting(0, "");
    setting.root.permissions = permissions;
    let text = serde_json::to_string(&setting).unwrap() + "\n" + steps;
    let (trace, _) = file::read(text.as_bytes()).unwrap();
    let played = replay(&trace, &mut Bench::new(Options::default()), Look::EveryStep);
    match played.ended {
        Ok(ended) => assert_eq!(ended, Ended::Complete),
        Err(fault) => panic!("{fault}"),
    }
    played.checker
}

// spec: FS-PERM-7
#[test]
fn regression_set_group_id_of_a_new_file_fell_by_what_the_umask_left() {
    holds(
        0o2777,
        r#"
        {"by":1,"op":"umask","mask":63}
        {"by":1,"op":"open","path":"a","flags":"READ | WRITE | CREATE","mode":3583,"handle":0}
        {"by":1,"op":"mknod","path":"b","kind":"fifo","mode":1533}
        "#,
    );
}

// spec: FS-XATTR-11
#[test]
fn regression_capabilities_stayed_when_user_0_changed_the_content() {
    let arm = r#"{"op":"setxattr","handle":0,"name":"security.capability","value":"x"}"#;
    let change = [
        r#"{"op":"write","handle":0,"data":"y"}"#,
        r#"{"op":"fallocate","handle":0,"offset":0,"length":1,"mode":"KEEP_SIZE"}"#,
        r#"{"op":"copy_file_range","from":1,"from_offset":0,"to":0,"to_offset":0,"length":1}"#,
    ];
    let steps: String = change.iter().map(|change| format!("{arm}\n{change}\n")).collect();
    let open = r#"
        {"op":"open","path":"a","flags":"READ | WRITE | CREATE","mode":420,"handle":0}
        {"op":"open","path":"b","flags":"READ | WRITE | CREATE","mode":420,"handle":1}
        {"op":"write","handle":1,"data":"z"}
    "#;
    holds(0o777, &format!("{open}{steps}"));
}
