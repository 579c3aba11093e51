//! The rules of the check, one by one.

use agentfs::oracle::check::{Checker, Difference, Moment, Rejection, example};
use agentfs::oracle::{Observed, Tree};
use agentfs_model::Errno;
use agentfs_model::call::{Call, Object, OpenFlags, Operation, RenameFlags};
use agentfs_model::outcome::{Entry, Expected, Outcome, Status};
use agentfs_model::profile::Profile;
use agentfs_model::trace::{RootSetting, Setting};
use agentfs_model::values::{Credentials, FileKind, Handle, ProcessId, Timestamp};

const fn at(seconds: i64) -> Timestamp {
    Timestamp { seconds, nanoseconds: 0 }
}

/// A checker, and a clock of one second a step.
struct Desk {
    checker: Checker,
    seconds: i64,
    /// Added to the model's numbers of inodes.
    numbers: u64,
}

impl Desk {
    fn new(profile: Profile) -> Self {
        let root = RootSetting { uid: 0, gid: 0, permissions: 0o755 };
        let setting = Setting { about: String::new(), processes: vec![Credentials::root()], root, profile };
        Self { checker: Checker::new(&setting, Moment::At(at(0))), seconds: 0, numbers: 500 }
    }

    /// The right answer to the call, with the numbers of this implementation.
    fn right(&self, operation: &Operation) -> Outcome {
        let call = Call { by: ProcessId(0), operation: operation.clone() };
        let allowed = self.checker.allowed(&call, Moment::At(at(self.seconds + 1))).unwrap();
        let mut outcome = example(&allowed[0].expected);
        match &mut outcome {
            Outcome::Status(status) => status.inode += self.numbers,
            Outcome::Entries(entries) => entries.iter_mut().for_each(|entry| entry.inode += self.numbers),
            _ => {}
        }
        outcome
    }

    fn answered(&mut self, operation: Operation, outcome: &Outcome) -> Result<(), Rejection> {
        self.seconds += 1;
        let call = Call { by: ProcessId(0), operation };
        self.checker.check(&call, Moment::At(at(self.seconds)), outcome).map(drop)
    }

    fn done(&mut self, operation: Operation) -> &mut Self {
        let outcome = self.right(&operation);
        self.answered(operation, &outcome).unwrap();
        self
    }

    /// In what an answer differs.
    fn differences(&mut self, operation: Operation, outcome: &Outcome) -> Vec<Difference> {
        match self.answered(operation, outcome) {
            Err(Rejection::Divergence(divergence)) => divergence.differences,
            other => panic!("{other:?}"),
        }
    }

    fn words(&mut self, operation: Operation, outcome: &Outcome) -> String {
        self.answered(operation, outcome).unwrap_err().to_string()
    }

    fn status(&self, path: &str) -> Status {
        match self.right(&stat(path)) {
            Outcome::Status(status) => status,
            other => panic!("{other:?}"),
        }
    }
}

fn mkdir(path: &str) -> Operation {
    Operation::Mkdir { path: path.into(), mode: 0o755 }
}

fn open(path: &str, handle: u32) -> Operation {
    let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
    Operation::Open { path: path.into(), flags, mode: 0o644, handle: Handle(handle) }
}

fn stat(path: &str) -> Operation {
    let object = Object::Path { path: path.into(), follow: true };
    Operation::Stat { object }
}

fn rename(from: &str, to: &str) -> Operation {
    Operation::Rename { from: from.into(), to: to.into(), flags: RenameFlags::empty() }
}

fn write(handle: u32, text: &str) -> Operation {
    Operation::Write { handle: Handle(handle), data: text.into() }
}

const fn error(errno: Errno) -> Outcome {
    Outcome::Error(errno)
}

// spec: ORA-20
#[test]
fn each_of_several_answers_is_allowed_and_no_other() {
    let mut desk = Desk::new(Profile::posix());
    desk.done(mkdir("a")).done(mkdir("b")).done(mkdir("b/c"));
    assert!(desk.answered(rename("a", "b"), &error(Errno::ENOTEMPTY)).is_ok());
    assert!(desk.answered(rename("a", "b"), &error(Errno::EEXIST)).is_ok());
    assert!(desk.answered(rename("a", "b"), &error(Errno::EISDIR)).is_err());
    assert!(desk.answered(rename("a", "b"), &Outcome::Done).is_err());
    // AgentFS answers one thing only.
    let mut desk = Desk::new(Profile::agentfs());
    desk.done(mkdir("a")).done(mkdir("b")).done(mkdir("b/c"));
    assert!(desk.answered(rename("a", "b"), &error(Errno::EEXIST)).is_err());
}

// spec: ORA-20
#[test]
fn after_a_step_that_is_not_supported_the_state_is_as_it_was() {
    let mut desk = Desk::new(Profile::agentfs());
    let unsupported = Outcome::Unsupported("no directories here".into());
    desk.answered(mkdir("d"), &unsupported).unwrap();
    assert!(desk.answered(stat("d"), &error(Errno::ENOENT)).is_ok());
    assert_eq!(desk.checker.unsupported()["mkdir"], 1);
}

// spec: ORA-20
#[test]
fn an_open_that_is_not_supported_may_have_followed_a_symlink() {
    let mut desk = Desk::new(Profile::linux());
    desk.done(mkdir("d")).done(Operation::Symlink { target: "f".into(), path: "s".into() });
    let moved = |desk: &mut Desk, path: &str| {
        let look = Operation::Stat { object: Object::Path { path: path.into(), follow: false } };
        let Outcome::Status(mut status) = desk.right(&look) else { panic!("no status of {path}") };
        status.atime = at(1_700_000_500);
        desk.answered(look, &Outcome::Status(status))
    };
    assert!(moved(&mut desk, "s").is_err());
    desk.answered(open("s", 1), &Outcome::Unsupported("a device".into())).unwrap();
    assert!(moved(&mut desk, "s").is_ok());
    assert!(moved(&mut desk, "d").is_err(), "nothing else has moved");
}

// spec: ORA-21
#[test]
fn a_time_lies_within_the_step_that_set_it_and_stays_what_it_was() {
    let mut desk = Desk::new(Profile::agentfs());
    let call = |operation| Call { by: ProcessId(0), operation };
    let window = Moment::Between(at(100), at(105));
    desk.checker.check(&call(open("f", 1)), window, &Outcome::Done).unwrap();
    let shown = |seconds: i64| {
        let mut status = desk.status("f");
        (status.atime, status.mtime, status.ctime) = (at(seconds), at(seconds), at(seconds));
        Outcome::Status(status)
    };
    let answers = [99, 106, 103, 104, 103].map(shown);
    let look =
        |desk: &mut Desk, seen: &Outcome| desk.checker.check(&call(stat("f")), Moment::Unknown, seen).is_ok();
    let allowed = answers.map(|seen| look(&mut desk, &seen));
    // Before, after, within; then another one within; then the same again.
    assert_eq!(allowed, [false, false, true, false, true]);
}

// spec: ORA-22
#[test]
fn a_wrong_error_is_said_with_what_is_allowed_and_the_rule() {
    let mut desk = Desk::new(Profile::agentfs());
    desk.done(mkdir("d")).done(open("f", 1));
    assert_eq!(
        desk.words(rename("d", "f"), &error(Errno::EISDIR)),
        "step 3: rename from \"d\" to \"f\": answered EISDIR; allowed: ENOTDIR (FS-RENAME-6)"
    );
}

// spec: ORA-22
#[test]
fn a_wrong_status_is_said_field_by_field_with_the_step_that_made_it_so() {
    let mut desk = Desk::new(Profile::agentfs());
    desk.done(open("f", 1)).done(write(1, "abc"));
    let mut status = desk.status("f");
    (status.mtime, status.links, status.size) = (at(1), 2, 4);
    let differences = desk.differences(stat("f"), &Outcome::Status(status));
    let said: Vec<String> = differences.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "links: 2; allowed: 1 since step 1 (open) (FS-NLINK-2, FS-NLINK-1, FS-OPEN-1, FS-OPEN-3, FS-CREATE-1)",
            "size: 4; allowed: 3 since step 2 (write) (FS-DATA-3, FS-TRUNC-1, CALL-2)",
            "mtime: 1+000000000ns; allowed: 2+000000000ns since step 2 (write) (FS-TIME-3, FS-DATA-3, CALL-2)",
        ]
    );
}

// spec: ORA-22
#[test]
fn a_listing_is_said_entry_by_entry() {
    let mut desk = Desk::new(Profile::mount());
    let flags = OpenFlags::READ | OpenFlags::DIRECTORY;
    desk.done(open("f", 1)).done(mkdir("d"));
    desk.done(Operation::Open { path: "/".into(), flags, mode: 0, handle: Handle(2) });
    let readdir = |count| Operation::Readdir { handle: Handle(2), count };
    let entry = |name: &str, inode: u64, kind| Entry { name: name.into(), inode, kind: Some(kind) };
    let (f, d) = (entry("f", 502, FileKind::Regular), entry("d", 503, FileKind::Directory));
    let mut said = |count, entries: Vec<Entry>| -> Vec<String> {
        let differences = desk.differences(readdir(count), &Outcome::Entries(entries));
        differences.iter().map(|difference| format!("{}: {}", difference.subject, difference.seen)).collect()
    };
    assert_eq!(said(2, vec![f.clone(), f.clone()]), ["entry \"f\": returned twice"]);
    assert_eq!(said(2, vec![entry("x", 9, FileKind::Regular)]), ["entry \"x\": returned"]);
    assert_eq!(said(2, vec![entry("f", 502, FileKind::Fifo)]), ["entry \"f\": a pipe"]);
    assert_eq!(said(2, vec![f.clone(), entry("d", 502, FileKind::Directory)]), ["entry \"d\": inode 502"]);
    assert_eq!(said(1, vec![f.clone(), d.clone()]), ["entries: 2 returned"]);
    let missing = "missing at the end of the listing";
    assert_eq!(said(2, Vec::new()), [format!("entry \"f\": {missing}"), format!("entry \"d\": {missing}")]);
    // One at a time, in any order, is right here; then what was returned must not come again.
    desk.answered(readdir(2), &Outcome::Entries(vec![d.clone()])).unwrap();
    assert!(desk.answered(readdir(2), &Outcome::Entries(vec![d])).is_err());
    desk.answered(readdir(2), &Outcome::Entries(vec![f])).unwrap();
    desk.answered(readdir(2), &Outcome::Entries(Vec::new())).unwrap();
}

/// The tree of a file `/f` that holds "abc", as it must be.
fn tree(desk: &Desk) -> Tree {
    let directory = |entries| (None, Some(entries));
    let file = |content: &str| (Some(vec![(0, content.into())]), None);
    let object = |path: &str, status: Status, (content, entries)| Observed {
        path: path.into(),
        status,
        content,
        target: None,
        xattrs: Vec::new(),
        entries,
    };
    let f = desk.status("f");
    let entry = Entry { name: "f".into(), inode: f.inode, kind: Some(FileKind::Regular) };
    Tree {
        objects: vec![object("/", desk.status("/"), directory(vec![entry])), object("/f", f, file("abc"))],
    }
}

// spec: ORA-23
#[test]
fn whatever_of_a_tree_differs_is_found() {
    let mut desk = Desk::new(Profile::agentfs());
    desk.done(open("f", 1)).done(write(1, "abc"));
    let right = tree(&desk);
    desk.checker.compare_tree(&right).unwrap();
    let differs = |change: fn(&mut Tree)| -> Vec<String> {
        let mut seen = right.clone();
        change(&mut seen);
        let divergence = desk.checker.clone().compare_tree(&seen).unwrap_err();
        divergence.differences.into_iter().map(|difference| difference.subject).collect()
    };
    assert_eq!(differs(|tree| tree.objects[1].status.size = 4), ["size of \"/f\""]);
    assert_eq!(
        differs(|tree| tree.objects[1].content = Some(vec![(1, "abc".into())])),
        ["content at 0 of \"/f\""]
    );
    assert_eq!(
        differs(|tree| tree.objects[1].xattrs = vec![("user.a".into(), "1".into())]),
        ["attribute \"user.a\" of \"/f\""]
    );
    assert_eq!(differs(|tree| tree.objects[0].entries = Some(Vec::new())), ["entry \"f\" of \"/\""]);
    assert_eq!(differs(|tree| drop(tree.objects.pop())), ["path of \"/f\""]);
    assert_eq!(differs(|tree| tree.objects[1].path = "/g".into()), ["path of \"/f\"", "path of \"/g\""]);
    // How the same bytes lie in pieces makes no difference, nor do zeros beside them.
    let mut pieces = right.clone();
    pieces.objects[1].content = Some(vec![(0, "a".into()), (1, "bc\0\0".into()), (70_000, "\0".into())]);
    desk.checker.compare_tree(&pieces).unwrap();
}

// spec: ORA-24
#[test]
fn numbers_of_inodes_need_only_tell_them_apart() {
    let mut desk = Desk::new(Profile::agentfs());
    desk.done(open("f", 1)).done(open("g", 2)).done(stat("f"));
    let number = desk.status("f").inode;
    let renumbered =
        |desk: &Desk, path: &str, inode: u64| Outcome::Status(Status { inode, ..desk.status(path) });
    let other = renumbered(&desk, "f", number + 1);
    assert!(desk.answered(stat("f"), &other).is_err(), "another number");
    let same = renumbered(&desk, "g", number);
    assert!(desk.answered(stat("g"), &same).is_err(), "the number of another inode");
    // The number of a file that is gone comes again only where that is permitted.
    for (profile, permitted) in [(Profile::agentfs(), false), (Profile::linux(), true)] {
        let mut desk = Desk::new(profile);
        desk.done(open("f", 1)).done(stat("f")).done(Operation::Close { handle: Handle(1) });
        desk.done(Operation::Unlink { path: "f".into() }).done(open("h", 1));
        let again = renumbered(&desk, "h", number);
        assert_eq!(desk.answered(stat("h"), &again).is_ok(), permitted);
    }
}

// spec: ORA-25
#[test]
fn a_crash_loses_the_last_changes_in_order_and_none_before_a_barrier() {
    let begun = || {
        let mut desk = Desk::new(Profile::agentfs());
        desk.done(mkdir("safe")).done(Operation::Sync);
        desk.done(mkdir("first")).done(mkdir("second")).done(Operation::Crash);
        desk
    };
    assert_eq!(begun().checker.possible(), 3);
    // Which of the three are there, and whether that is possible.
    for (there, possible) in [
        ([true, false, false], true),
        ([true, true, false], true),
        ([true, true, true], true),
        ([true, false, true], false),
        ([false, false, false], false),
    ] {
        let mut desk = begun();
        let names = ["safe", "first", "second"];
        let answers = names.map(|name| {
            let call = Call { by: ProcessId(0), operation: stat(name) };
            let allowed = desk.checker.allowed(&call, Moment::Unknown).unwrap();
            let mut statuses =
                allowed.iter().filter(|allowed| matches!(allowed.expected, Expected::Status(_)));
            example(&statuses.next().unwrap().expected)
        });
        let mut told = Ok(());
        for ((name, status), there) in names.into_iter().zip(answers).zip(there) {
            let outcome = if there { status } else { error(Errno::ENOENT) };
            told = told.and_then(|()| desk.answered(stat(name), &outcome));
        }
        assert_eq!(told.is_ok(), possible, "{there:?}");
    }
}
