//! x
use agentfs_model::{
    check::{explore, group::larger},
    mechanism::group::Groups,
};
#[test]
fn large() {
    let only = std::env::var("ONLY").unwrap_or_default();
    for space in larger().into_iter().filter(|s| only.is_empty() || only == s.name) {
        match explore(Groups::new(space.bounds), Some(120_000_000)) {
            Ok(e) => println!("{}: {e}", space.name),
            Err(c) => println!("{}: {c}", space.name),
        }
    }
}

#[test]
fn cache() {
    use agentfs_model::{check::cache::larger, mechanism::cache::Caches};
    let only = std::env::var("ONLY").unwrap_or_default();
    for space in larger().into_iter().filter(|s| only.is_empty() || only == s.name) {
        match explore(Caches::new(space.bounds), Some(60_000_000)) {
            Ok(e) => println!("{}: {e}", space.name),
            Err(c) => println!("{}: {c}", space.name),
        }
    }
}
