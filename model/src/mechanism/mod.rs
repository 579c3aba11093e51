//! How the implementation keeps the promises of the abstract file system, each mechanism as a transition system.
//!
//! A mechanism says which steps are possible in a state and what each leads to; what must hold in every state is
//! beside it. Nothing here explores: that is `check`'s business.

pub mod group;
pub mod references;
