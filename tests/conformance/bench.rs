//! The library as an implementation of traces, looked at more closely than a trace can.
//!
//! Whenever the tree is looked at, so are the consistency rules on the raw tables, and whether there are inodes without a
//! name that nobody has open. Crashes are counted by what they lost.

use std::collections::BTreeSet;
use std::path::Path;

use agentfs::integrity::{Finding, Severity};
use agentfs::oracle::library::Library;
use agentfs::oracle::{Answer, Between, During, Failure, Implementation, Problem, Tree};
use agentfs::{AgentFs, Options};
use agentfs_model::call::{Call, Operation};
use agentfs_model::trace::Setting;
use agentfs_model::values::Timestamp;
use tempfile::TempDir;

/// What crashes left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crashes {
    /// All that had been done.
    pub lost_nothing: u32,
    /// Less than all.
    pub lost_something: u32,
}

/// The library, and what was noticed beside its answers.
pub struct Bench {
    library: Library,
    pub crashes: Crashes,
    _folder: TempDir,
}

impl Bench {
    /// In memory, where there is a place: durability is not tried here, but what a killed process leaves.
    pub fn new(options: Options) -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = tempfile::tempdir_in(place).unwrap();
        let library = Library::new(folder.path(), options);
        Self { library, crashes: Crashes::default(), _folder: folder }
    }

    /// The database file of the trace that is under way.
    pub fn database(&self) -> Option<&Path> {
        self.library.fs().map(|fs| fs.store().path())
    }

    /// The tree without its access times, which a crash may lose (DUR-12).
    fn safe_tree(&mut self) -> Result<Tree, Failure> {
        let mut tree = self.library.observe()?.unwrap_or_default();
        for object in &mut tree.objects {
            object.status.atime = object.status.mtime;
        }
        Ok(tree)
    }

    /// What is wrong in the tables, in words.
    fn damage(&self) -> Vec<String> {
        let Some(fs) = self.library.fs() else { return Vec::new() };
        let report = fs.verify().unwrap();
        let errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error);
        let broken = errors.map(|Finding { rule, message, .. }| format!("{rule}: {message}"));
        broken.chain(leaked(&self.library, fs)).collect()
    }
}

/// Inodes that wait to be removed though nobody has them open (FS-REAP-4).
fn leaked(library: &Library, fs: &AgentFs) -> Option<String> {
    let unnamed = fs.listing().unwrap().unnamed;
    let open: BTreeSet<u64> = library.open_inodes().map(|ino| ino.0).collect();
    let leaked: Vec<u64> = unnamed.iter().map(|inode| inode.ino).filter(|ino| !open.contains(ino)).collect();
    (!leaked.is_empty()).then(|| format!("FS-REAP-4: inodes {leaked:?} have neither a name nor a handle"))
}

impl Implementation for Bench {
    fn name(&self) -> &str {
        self.library.name()
    }

    fn supports(&self, operation: &str) -> bool {
        self.library.supports(operation)
    }

    fn begin(&mut self, setting: &Setting) -> Result<Option<Between>, Failure> {
        self.library.begin(setting)
    }

    fn call(&mut self, step: u32, now: Option<Timestamp>, call: &Call) -> Result<Answer, Failure> {
        if !matches!(call.operation, Operation::Crash) {
            return self.library.call(step, now, call);
        }
        let before = self.safe_tree()?;
        let answer = self.library.call(step, now, call)?;
        match self.safe_tree()? == before {
            true => self.crashes.lost_nothing += 1,
            false => self.crashes.lost_something += 1,
        }
        Ok(answer)
    }

    // spec: INT-1, FS-REAP-4
    fn observe(&mut self) -> Result<Option<Tree>, Failure> {
        let damage = self.damage();
        if !damage.is_empty() {
            return Err(Problem::GaveUp(damage.join("; ")).during(During::Observation));
        }
        self.library.observe()
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.library.end()
    }
}
