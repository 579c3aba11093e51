//! Small statements about the abstract file system, each a rule that a reader can check against a man page.

mod calls;
mod content;
mod machine;
mod names;
mod permissions;
mod protections;
