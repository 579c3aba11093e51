//! The consistency rules of a database, checked on its tables, and the whole tree as the tables have it.
//!
//! Keeps the INT rules. The tables are read with plain SQL, apart from the code that the file system reads them with,
//! so that the two can be held against each other. Nothing here changes a database, repairs it, or moves a time.

mod checks;
mod file;
mod finding;
mod listing;
mod shape;

use std::path::Path;

pub use finding::{Finding, LISTED, Report, Severity, Unlisted, Value};
pub use listing::{Entry, Inode, Listing, Piece};

use shape::Shape;

use crate::AgentFs;
use crate::error::{Error, Result};
use crate::store::{self, Session};

/// Checks the database at `path`, whoever wrote it, without changing it: also one that is mounted or otherwise in
/// use, one that a crash has left, and one that is too damaged to be opened.
///
/// # Errors
/// [`Error::Database`] when the file cannot be read as a database of format 0.5.
///
/// ```
/// # use agentfs::{AgentFs, Options, integrity};
/// # fn main() -> agentfs::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("agent.db");
/// AgentFs::create(&path, &Options::default())?.close()?;
/// let report = integrity::verify_file(&path)?;
/// assert!(report.findings.is_empty());
/// # Ok(())
/// # }
/// ```
pub fn verify_file(path: &Path) -> Result<Report> {
    store::inspect(path, |session| verify(session, Scope::Everything))
}

/// The whole tree of the database at `path`, which is not changed.
///
/// # Errors
/// As [`AgentFs::listing`]; [`Error::Database`] when the file cannot be read as a database of format 0.5.
pub fn listing_of_file(path: &Path) -> Result<Listing> {
    store::inspect(path, listing::list)
}

impl AgentFs {
    /// Checks the database as it is at this moment, with what is not committed yet, and without ending the open
    /// group. SQLite's own structures are not checked; [`verify_file`] does that.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn verify(&self) -> Result<Report> {
        self.store().read(|session| verify(session, Scope::Rows))
    }

    /// The whole tree as the tables have it at this moment, with what is not committed yet.
    ///
    /// # Errors
    /// [`Error::Storage`], also when a number of an inode is none (INT-20).
    pub fn listing(&self) -> Result<Listing> {
        self.store().read(listing::list)
    }
}

/// How much is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// What the rows say.
    Rows,
    /// Also what SQLite knows of its own structures, which takes a look at every page.
    Everything,
}

fn verify(session: &Session<'_>, scope: Scope) -> Result<Report> {
    let mut report = Report::default();
    if scope == Scope::Everything {
        report.checked(file::SQLITE_RULE);
        attempt("SQLite's own check", &mut report, |report| file::check_sqlite(session, report))?;
    }
    let mut shape = None;
    attempt("the settings and the tables", &mut report, |report| {
        let found = Shape::of(session)?;
        file::check_shape(&found, report);
        shape = Some(found);
        Ok(())
    })?;
    if let Some(shape) = shape {
        let mut unfinished = Vec::new();
        for check in checks::all().filter(|check| check.applies_to(&shape)) {
            report.checked(check.rule());
            if !attempt(check.rule(), &mut report, |report| check.run(session, report))? {
                unfinished.push(check.rule());
            }
        }
        report.rules_checked.retain(|rule| !unfinished.contains(rule));
    }
    report.arrange();
    Ok(report)
}

/// Runs a check. That the file is too damaged for it is a finding, and false.
fn attempt(what: &str, report: &mut Report, check: impl FnOnce(&mut Report) -> Result<()>) -> Result<bool> {
    match check(report) {
        Err(Error::Storage { source, .. }) if store::is_damage(&source) => {
            report.checked(file::SQLITE_RULE);
            let message = format!("{what} could not be read to the end: {source}");
            let finding = file::whole(file::SQLITE_RULE, None, message);
            // Several checks of one rule may fail alike.
            if !report.findings.contains(&finding) {
                report.add(finding);
            }
            Ok(false)
        }
        outcome => outcome.map(|()| true),
    }
}
