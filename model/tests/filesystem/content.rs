//! Open files and the bytes behind them.

use agentfs_model::call::{OpenFlags, Operation};

use crate::machine::{DONE, Machine, data, path};

#[test]
fn an_unlinked_file_lives_until_its_last_close() {
    let mut machine = Machine::new();
    machine.file("f", "bytes");
    machine.open("f", OpenFlags::READ, 1);
    assert_eq!(machine.root(Operation::Unlink { path: "f".into() }), DONE);
    assert_eq!(machine.fs.inodes().len(), 2);
    assert_eq!(machine.read(1, 9), data("bytes"));
    machine.close(1);
    assert_eq!(machine.fs.inodes().len(), 1);
}

#[test]
fn what_was_cut_off_does_not_come_back() {
    let mut machine = Machine::new();
    machine.file("f", "0123456789");
    for size in [2, 5] {
        assert_eq!(machine.root(Operation::Truncate { object: path("f"), size }), DONE);
    }
    machine.open("f", OpenFlags::READ, 1);
    assert_eq!(machine.read(1, 9), data("01\0\0\0"));
}
