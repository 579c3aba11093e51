//! Small statements about the abstract file system, each a rule that a reader can check against a man page.

mod attributes;
mod calls;
mod content;
mod listings;
mod machine;
mod names;
mod paths;
mod permissions;
mod protections;
mod rename;
