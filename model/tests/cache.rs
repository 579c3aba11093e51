//! x
use agentfs_model::check::{cache::small, explore};
use agentfs_model::mechanism::cache::*;
#[test]
fn probe() {
    for space in small() {
        match explore(Caches::new(space.bounds), Some(20_000_000)) {
            Ok(e) => println!("{}: {e}", space.name),
            Err(c) => println!("{}: {c}", space.name),
        }
    }
}
#[test]
fn bugs() {
    use Bug::*;
    for bug in [
        WriteMovesTimes,
        TimesOvertaken,
        WriteAnsweredEarly,
        SizeOfAnswerBelieved,
        FsyncBeforeWriteBack,
        SeekWithoutWriteBack,
        EndWithoutWriteBack,
        NoticedBeforeCommit,
        CommitMissed,
        OwnCommitsNoticed,
        LateAnswerForgotten,
        DroppedOnce,
        AbsenceBelievedTooLong,
        EndStoredOverWrites,
        HeldForgotten,
    ] {
        let mut n = 0;
        for space in small() {
            match explore(Caches::with(space.bounds, bug), Some(20_000_000)) {
                Ok(_) => {}
                Err(c) => {
                    n += 1;
                    println!("{bug:?} in {}: {} ({})", space.name, c.property, c.trace.len())
                }
            }
        }
        if n == 0 {
            println!("{bug:?} NOT FOUND");
        }
    }
}
