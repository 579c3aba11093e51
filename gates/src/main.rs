//! The gates: checks that need a mount, other people's suites, or more time than a test may take.
fn main() {}
