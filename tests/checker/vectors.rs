//! The conformance vectors: complete, named by rules that exist, and the same as those that are committed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentfs::Options;
use agentfs::oracle::conform::{Caller, Tally, run_vectors};
use agentfs::oracle::file;
use agentfs::oracle::library::Library;
use agentfs::oracle::play::{Ended, Look, replay};
use agentfs::oracle::vectors::all;
use agentfs_model::profile::Profile;
use agentfs_model::values::Credentials;

use crate::simulated::Simulated;

const SPECIFICATION: &str = include_str!("../../SPEC.md");

#[test]
fn every_vector_has_a_name_of_its_own_that_begins_with_a_rule() {
    let vectors = all();
    let names: BTreeSet<&str> = vectors.iter().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), vectors.len());
    assert!(vectors.len() >= 120, "{} vectors", vectors.len());
    for scenario in &vectors {
        let rule = format!("\n**{}.** ", scenario.rule());
        assert!(SPECIFICATION.contains(&rule), "{}: there is no rule {}", scenario.name, scenario.rule());
        assert!(scenario.about.len() > 10, "{}: {}", scenario.name, scenario.about);
    }
}

#[test]
fn the_model_passes_every_vector_under_every_profile() {
    for profile in [Profile::agentfs(), Profile::mount(), Profile::linux(), Profile::posix()] {
        for scenario in all() {
            let played = replay(&scenario.trace(&profile), &mut Simulated::new(None), Look::EveryStep);
            let ended = played.ended.unwrap_or_else(|fault| panic!("{}: {fault}", scenario.name));
            assert_eq!(ended, Ended::Complete, "{}", scenario.name);
        }
    }
}

// spec: ORA-30
#[test]
fn the_library_passes_every_vector() {
    // Where it costs no disk, if there is such a place.
    let memory = Path::new("/dev/shm");
    let above = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = tempfile::tempdir_in(above).unwrap();
    let mut library = Library::new(folder.path(), Options::default());
    let ran = run_vectors(&mut library, &Profile::agentfs(), &Caller(Credentials::root()), |_| true);
    let failed: Vec<String> =
        ran.failed.iter().map(|failed| format!("{}: {}", failed.vector, failed.fault)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(ran.total(), Tally { passed: u32::try_from(all().len()).unwrap(), ..Tally::default() });
}

/// Where they are committed.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("spec/vectors")
}

// spec: ORA-29
#[test]
fn what_is_committed_is_what_is_generated() {
    let mut committed: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".jsonl"))
        .collect();
    for scenario in all() {
        let name = format!("{}.jsonl", scenario.name);
        let mut generated = Vec::new();
        file::write(&scenario.vector(&Profile::agentfs()).unwrap(), &mut generated).unwrap();
        let text = std::fs::read(folder().join(&name)).unwrap_or_default();
        assert!(text == generated, "{name} differs: agentfs oracle vectors spec/vectors");
        committed.remove(&name);
    }
    assert!(committed.is_empty(), "nothing generates {committed:?}");
}
