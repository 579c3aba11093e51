//! AgentFS: an agent's whole world in one SQLite file: its files, its key-value state and the log of its
//! tool calls.
//!
//! [`AgentFs`] is the file system, [`kv`] and [`tools`] the two small stores, [`vfs::Vfs`] the
//! interface that adapters speak, [`integrity`] the check of any database. What every operation must do is argued in `SPEC.md`; the ids
//! in the documentation (FS-NAME-1, DUR-2 ...) point there.

pub mod cli;
pub mod error;
pub mod fs;
pub mod fuse;
pub mod integrity;
pub mod kv;
pub mod oracle;
pub mod schema;
pub mod store;
pub mod tools;
pub mod types;
pub mod vfs;

pub use error::{Errno, Error, Result};
pub use fs::AgentFs;
pub use types::Options;
