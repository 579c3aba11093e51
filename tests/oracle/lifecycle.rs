//! What happens to the processes of a trace when the file system below them is taken away and comes back.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use agentfs::oracle::Implementation;
use agentfs::oracle::host::Lifecycle;
use agentfs_model::outcome::Outcome;
use serde_json::json;
use tempfile::TempDir;

use crate::trace::{Trace, in_memory, on, own_setting};

/// A directory that goes to another place whenever it is closed or killed, as a mount does. It writes down what is done.
struct Moving {
    folder: TempDir,
    place: PathBuf,
    moves: u32,
    log: Rc<RefCell<Vec<String>>>,
}

impl Moving {
    fn new(log: &Rc<RefCell<Vec<String>>>) -> Self {
        let folder = in_memory();
        let place = folder.path().join("0");
        std::fs::create_dir(&place).unwrap();
        Self { folder, place, moves: 0, log: Rc::clone(log) }
    }

    fn go(&mut self) -> io::Result<()> {
        self.moves += 1;
        let next = self.folder.path().join(self.moves.to_string());
        std::fs::rename(&self.place, &next)?;
        self.place = next;
        Ok(())
    }

    /// Says what is done, and whether a process has something open below the directory.
    fn note(&self, what: &str) {
        let open = Path::new("/proc").read_dir().unwrap().flatten().any(|process| {
            let descriptors = process.path().join("fd").read_dir();
            descriptors.into_iter().flatten().flatten().any(|descriptor| {
                std::fs::read_link(descriptor.path()).is_ok_and(|path| path.starts_with(self.folder.path()))
            })
        });
        self.log.borrow_mut().push(format!("{what}{}", if open { ", open" } else { "" }));
    }
}

impl Lifecycle for Moving {
    fn name(&self) -> String {
        "moving".into()
    }

    fn directory(&self) -> &Path {
        &self.place
    }

    fn renew(&mut self) -> io::Result<()> {
        self.note("renew");
        Ok(())
    }

    fn is_served(&self) -> bool {
        true
    }

    fn reopen(&mut self, read_only: bool) -> io::Result<Outcome> {
        self.note(if read_only { "reopen for reading" } else { "reopen" });
        self.go().map(|()| Outcome::Done)
    }

    fn kill(&mut self) -> io::Result<()> {
        self.note("kill");
        Ok(())
    }

    fn restart(&mut self) -> io::Result<Outcome> {
        self.note("restart");
        self.go().map(|()| Outcome::Done)
    }
}

// spec: ORA-18
#[test]
fn reopening_and_crashing_close_the_handles_and_keep_the_processes() {
    let log = Rc::default();
    let mut trace = Trace::begin_on(on(Moving::new(&log)), &own_setting());
    assert!(trace.host.supports("reopen") && trace.host.supports("crash"));
    let open =
        json!({"op": "open", "path": "f", "flags": "READ | WRITE | CREATE", "mode": 0o666, "handle": 1});
    let closed = (json!({"op": "read", "handle": 1, "length": 1}), json!({"error": "EBADF"}));
    trace.runs(&[
        (json!({"op": "umask", "mask": 0o027}), json!("done")),
        (open.clone(), json!("done")),
        (json!({"op": "reopen"}), json!("done")),
        closed.clone(),
        (open.clone(), json!("done")),
        (json!({"op": "crash"}), json!("done")),
        closed.clone(),
        (json!({"op": "reopen", "read_only": true}), json!("done")),
        (json!({"op": "mkdir", "path": "d", "mode": 0o777}), json!("done")),
    ]);
    assert_eq!(trace.stat(&json!({"path": "d"})).permissions, 0o750);
    assert_eq!(trace.tree().objects.len(), 3);
    trace.again(&own_setting());
    assert_eq!(*log.borrow(), ["renew", "reopen", "kill, open", "restart", "reopen for reading", "renew"]);
}
