//! What a directory's file system is to the driver as a whole: where it is, and how it is begun, opened again and killed.

use std::io;
use std::path::{Path, PathBuf};

use agentfs_model::outcome::Outcome;

/// Provides the directory. But for [`Lifecycle::kill`], no process of a trace has anything open there when its functions
/// are called, so that a mount can be taken away.
pub trait Lifecycle {
    /// What the file system is called in reports.
    fn name(&self) -> String;

    /// Where it is now, as an absolute path.
    fn directory(&self) -> &Path;

    /// A new trace begins: the directory must be there, and be writable. It is emptied afterwards, so it need not be new.
    ///
    /// # Errors
    /// When there is no directory to be had.
    fn renew(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether something serves the file system that can be closed and opened again, or killed. The other functions are
    /// called only then.
    fn is_served(&self) -> bool {
        false
    }

    /// Closes the file system in good order and opens it again. What the trace is answered is returned.
    ///
    /// # Errors
    /// When there is no directory any more.
    fn reopen(&mut self, read_only: bool) -> io::Result<Outcome> {
        let _ = read_only;
        Ok(Outcome::Unsupported("cannot be opened again".into()))
    }

    /// Kills what serves the file system, while handles are open.
    ///
    /// # Errors
    /// When it does not die.
    fn kill(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Starts what was killed. What the trace is answered is returned.
    ///
    /// # Errors
    /// When there is no directory any more.
    fn restart(&mut self) -> io::Result<Outcome> {
        Ok(Outcome::Unsupported("cannot be killed".into()))
    }
}

/// A directory of the machine, which nothing serves.
#[derive(Debug)]
pub struct PlainDirectory {
    directory: PathBuf,
}

/// Why a directory is not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotTaken {
    /// It cannot be listed.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },

    /// There is something in it, which a trace would destroy.
    #[error("{}: not empty, and everything in it would be removed", path.display())]
    NotEmpty {
        /// Which.
        path: PathBuf,
    },
}

impl PlainDirectory {
    /// Takes the directory, which must be empty: what is in it later is removed.
    ///
    /// # Errors
    /// When it is not empty, or cannot be listed.
    pub fn new(directory: impl AsRef<Path>) -> Result<Self, NotTaken> {
        let path = directory.as_ref();
        let unreadable = |source| NotTaken::Unreadable { path: path.to_owned(), source };
        let directory = path.canonicalize().map_err(unreadable)?;
        if directory.read_dir().map_err(unreadable)?.next().is_some() {
            return Err(NotTaken::NotEmpty { path: directory });
        }
        Ok(Self { directory })
    }
}

impl Lifecycle for PlainDirectory {
    fn name(&self) -> String {
        self.directory.display().to_string()
    }

    fn directory(&self) -> &Path {
        &self.directory
    }
}
