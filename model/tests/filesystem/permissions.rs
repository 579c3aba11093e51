//! Who may do what.

use agentfs_model::Errno;
use agentfs_model::call::OpenFlags;

use crate::machine::{DONE, Machine, refused};

#[test]
fn permission_is_checked_for_the_process_that_calls() {
    let mut machine = Machine::new();
    machine.file("f", "");
    assert_eq!(machine.open_by(1, "f", OpenFlags::READ, 1), DONE);
    assert_eq!(machine.open_by(1, "f", OpenFlags::WRITE, 2), refused(Errno::EACCES));
}
