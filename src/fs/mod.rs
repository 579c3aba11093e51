//! The file system over the store.

mod chunk;
#[cfg_attr(not(test), expect(dead_code, reason = "its caller is not written yet"))]
mod content;
#[cfg(test)]
mod content_tests;
#[cfg_attr(not(test), expect(dead_code, reason = "its caller is not written yet"))]
mod extent;

use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::store::Store;
use crate::types::Options;

/// A file system in one SQLite file.
pub struct AgentFs {
    store: Arc<Store>,
}

impl AgentFs {
    /// Makes a new database and opens it.
    ///
    /// # Errors
    /// As [`Store::create`].
    pub fn create(path: &Path, options: &Options) -> Result<Self> {
        Ok(Self { store: Arc::new(Store::create(path, options)?) })
    }

    /// Opens a database.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open(path: &Path, options: &Options) -> Result<Self> {
        Ok(Self { store: Arc::new(Store::open(path, options)?) })
    }

    /// The store below.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }
}
