//! The `agentfs` program.
fn main() {}
