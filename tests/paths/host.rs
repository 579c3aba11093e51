//! The same operations on a plain directory of the host: the kernel is the judge of what a path
//! means and with which errno it is refused.

use std::io;
use std::path::{Path, PathBuf};

use agentfs::vfs::Paths;
use agentfs::{Errno, Result};
use proptest::prelude::*;

use super::common::Fixture;
use super::root;

/// Deep enough that no sequence of `..` below leaves it: the host's directory is not its root.
const TOP: &str = "0/1/2/3/4/5/6/7";

#[derive(Clone, Debug)]
enum Step {
    Stat(String),
    Lstat(String),
    Read(String),
    ReadLink(String),
    List(String),
    CreateDir(String),
    Write(String),
    Truncate(String),
    Symlink(String, String),
    Link(String, String),
    Rename(String, String),
    Remove(String),
}

fn path() -> impl Strategy<Value = String> {
    let component = prop_oneof![
        4 => Just("d"), 3 => Just("e"), 3 => Just("f"), 2 => Just("g"), 2 => Just("link"), 1 => Just("."),
        2 => Just(".."), 1 => Just(""),
    ];
    (proptest::collection::vec(component, 1..4), any::<bool>()).prop_map(|(components, slash)| {
        let slash = if slash { "/" } else { "" };
        format!("{TOP}/{}{slash}", components.join("/"))
    })
}

fn step() -> impl Strategy<Value = Step> {
    let target = prop_oneof![
        Just("d"),
        Just("d/"),
        Just("f"),
        Just("f/"),
        Just("../e"),
        Just("link"),
        Just("d/link"),
        Just("."),
        Just("new")
    ];
    prop_oneof![
        1 => path().prop_map(Step::Stat),
        1 => path().prop_map(Step::Lstat),
        1 => path().prop_map(Step::Read),
        1 => path().prop_map(Step::ReadLink),
        1 => path().prop_map(Step::List),
        2 => path().prop_map(Step::CreateDir),
        2 => path().prop_map(Step::Write),
        1 => path().prop_map(Step::Truncate),
        2 => (target, path()).prop_map(|(target, path)| Step::Symlink(target.into(), path)),
        2 => (path(), path()).prop_map(|(from, to)| Step::Link(from, to)),
        2 => (path(), path()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => path().prop_map(Step::Remove),
    ]
}

/// What a step shows, in a form that both sides have.
type Shown = std::result::Result<String, Option<Errno>>;

fn on_host(base: &Path, step: &Step) -> Shown {
    // Joined as text: `Path::join` keeps every slash and dot of what it appends.
    let at = |path: &str| PathBuf::from(format!("{}/{path}", base.display()));
    let kind = |metadata: std::fs::Metadata| match metadata.file_type() {
        kind if kind.is_dir() => "directory".to_owned(),
        kind if kind.is_symlink() => "symlink".to_owned(),
        _ => format!("file of {}", metadata.len()),
    };
    let shown: io::Result<String> = match step {
        Step::Stat(path) => std::fs::metadata(at(path)).map(kind),
        Step::Lstat(path) => std::fs::symlink_metadata(at(path)).map(kind),
        Step::Read(path) => std::fs::read_to_string(at(path)),
        Step::ReadLink(path) => std::fs::read_link(at(path)).map(|target| target.display().to_string()),
        Step::List(path) => std::fs::read_dir(at(path)).map(|entries| {
            let mut names: Vec<_> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names.join(" ")
        }),
        Step::CreateDir(path) => std::fs::create_dir(at(path)).map(|()| String::new()),
        Step::Write(path) => std::fs::write(at(path), path).map(|()| String::new()),
        Step::Truncate(path) => {
            rustix::fs::open(at(path), rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty())
                .map_err(io::Error::from)
                .and_then(|file| Ok(rustix::fs::ftruncate(file, 3)?))
                .map(|()| String::new())
        }
        Step::Symlink(target, path) => std::os::unix::fs::symlink(target, at(path)).map(|()| String::new()),
        Step::Link(from, to) => std::fs::hard_link(at(from), at(to)).map(|()| String::new()),
        Step::Rename(from, to) => std::fs::rename(at(from), at(to)).map(|()| String::new()),
        Step::Remove(path) => match std::fs::remove_file(at(path)) {
            Err(error) if error.raw_os_error() == Some(Errno::EISDIR.number()) => {
                std::fs::remove_dir(at(path))
            }
            removed => removed,
        }
        .map(|()| String::new()),
    };
    shown.map_err(|error| error.raw_os_error().and_then(Errno::from_number))
}

fn on_ours(paths: &Paths<'_>, step: &Step) -> Shown {
    let kind = |attributes: agentfs::types::Attributes| match attributes.mode {
        mode if mode.is_directory() => "directory".to_owned(),
        mode if mode.is_symlink() => "symlink".to_owned(),
        _ => format!("file of {}", attributes.size),
    };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let shown: Result<String> = match step {
        Step::Stat(path) => paths.stat(path).map(kind),
        Step::Lstat(path) => paths.lstat(path).map(kind),
        Step::Read(path) => paths.read(path).map(text),
        Step::ReadLink(path) => paths.read_link(path).map(text),
        Step::List(path) => paths.list(path).map(|entries| {
            let names: Vec<_> = entries.into_iter().map(|entry| text(entry.name)).collect();
            names.join(" ")
        }),
        Step::CreateDir(path) => paths.create_dir(path).map(|()| String::new()),
        Step::Write(path) => paths.write(path, path).map(|()| String::new()),
        Step::Truncate(path) => paths.truncate(path, 3).map(|()| String::new()),
        Step::Symlink(target, path) => paths.symlink(target, path).map(|()| String::new()),
        Step::Link(from, to) => paths.link(from, to).map(|()| String::new()),
        Step::Rename(from, to) => paths.rename(from, to).map(|()| String::new()),
        Step::Remove(path) => paths.remove(path).map(|()| String::new()),
    };
    shown.map_err(|error| Some(error.errno()))
}

/// Everything below `base`, as the host's own directory reader sees it.
fn tree_of_host(base: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![base.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            found.push(format!("/{}", path.strip_prefix(base).unwrap().display()));
            if path.symlink_metadata().unwrap().is_dir() {
                pending.push(path);
            }
        }
    }
    found.sort();
    found
}

fn tree_of_ours(paths: &Paths<'_>) -> Vec<String> {
    let mut found: Vec<String> = paths
        .walk("/")
        .unwrap()
        .map(|entry| String::from_utf8(entry.unwrap().path).unwrap())
        .filter(|path| path != "/")
        .collect();
    found.sort();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // spec: PATH-1 PATH-2 PATH-3 PATH-4 PATH-6 PATH-7 PATH-11
    #[test]
    fn every_path_means_what_it_means_to_the_kernel(steps in proptest::collection::vec(step(), 1..60)) {
        let host = tempfile::tempdir().unwrap();
        let fixture = Fixture::new();
        let paths = root(&fixture);
        for directory in [format!("{TOP}/d"), format!("{TOP}/d/d"), format!("{TOP}/e")] {
            std::fs::create_dir_all(host.path().join(&directory)).unwrap();
            paths.create_dir_all(&directory).unwrap();
        }
        for step in &steps {
            let expected = on_host(host.path(), step);
            // Where the kernel misses a parent, our write makes it.
            if matches!(step, Step::Write(_)) && expected == Err(Some(Errno::ENOENT)) {
                continue;
            }
            prop_assert_eq!(on_ours(&paths, step), expected, "{:?}", step);
            prop_assert_eq!(fixture.fs.referenced_inodes(), 0, "{:?}", step);
            prop_assert_eq!(tree_of_ours(&paths), tree_of_host(host.path()), "{:?}", step);
        }
    }
}
