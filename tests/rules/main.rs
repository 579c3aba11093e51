//! Every rule of SPEC.md is named by a test, a gate or a checker, and every name of a rule is one that SPEC.md has.
//!
//! A citation is a comment of its own, `spec:` and the ids, separated by commas or spaces: with two slashes
//! in Rust, with `#` in Python and shell.
//! Beside the citations, ids that the prose of a source file mentions must exist, so that a reader who
//! follows one arrives somewhere. Whether a test really checks the rule that it names is for its reader to judge.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Where citations are looked for, below the root of the repository.
const FOLDERS: [&str; 4] = ["src", "model", "tests", "gates"];
/// What a comment begins with, by the ending of the file.
const COMMENTS: [(&str, &str); 3] = [("rs", "//"), ("py", "#"), ("sh", "#")];

/// A place in a file, as compilers print it.
type Place = String;

/// What is wrong between the specification and those who cite it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Findings {
    /// Rules that are defined more than once.
    repeated: BTreeSet<String>,
    /// Rules that nothing cites.
    uncited: BTreeSet<String>,
    /// Cited or mentioned, and not in the specification.
    unknown: BTreeMap<String, BTreeSet<Place>>,
    /// Citations that are not a list of ids.
    malformed: BTreeSet<Place>,
}

/// A source file by name, and its text.
struct Source {
    name: String,
    text: String,
}

/// Whether `text` is a rule's id: families in capitals, a hyphen, a number from 1.
fn is_id(text: &str) -> bool {
    let Some((family, number)) = text.rsplit_once('-') else { return false };
    let capitals = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase());
    family.split('-').all(capitals)
        && !number.starts_with('0')
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn family(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(family, _)| family)
}

/// The ids that a specification defines, in order: bold, at the beginning of a line.
fn defined(specification: &str) -> Vec<&str> {
    specification
        .lines()
        .filter_map(|line| line.strip_prefix("**")?.split_once(".**"))
        .map(|(id, _)| id)
        .filter(|id| is_id(id))
        .collect()
}

/// The citation on a line, if it is one: the ids, or None when it is not a list of ids.
fn citation<'a>(line: &'a str, comment: &str) -> Option<Option<Vec<&'a str>>> {
    let ids = line.trim().strip_prefix(comment)?.trim_start().strip_prefix("spec:")?;
    let ids: Vec<&str> = ids.split([',', ' ']).filter(|id| !id.is_empty()).collect();
    Some((!ids.is_empty() && ids.iter().all(|id| is_id(id))).then_some(ids))
}

/// The words of a line that look like ids.
fn mentions(line: &str) -> impl Iterator<Item = &str> {
    line.split(|character: char| !(character.is_ascii_alphanumeric() || character == '-'))
        .map(|word| word.trim_matches('-'))
        .filter(|word| is_id(word))
}

fn comment_of(name: &str) -> Option<&'static str> {
    let ending = Path::new(name).extension()?.to_str()?;
    COMMENTS.iter().find(|(known, _)| *known == ending).map(|(_, comment)| *comment)
}

fn compare(specification: &str, sources: &[Source]) -> Findings {
    let mut findings = Findings::default();
    let mut rules = BTreeSet::new();
    for id in defined(specification) {
        if !rules.insert(id) {
            findings.repeated.insert(id.to_owned());
        }
    }
    let families: BTreeSet<&str> = rules.iter().copied().map(family).collect();
    let mut cited = BTreeSet::new();
    for source in sources {
        let Some(comment) = comment_of(&source.name) else { continue };
        for (index, line) in source.text.lines().enumerate() {
            let place = || format!("{}:{}", source.name, index + 1);
            let named: Vec<&str> = match citation(line, comment) {
                Some(Some(ids)) => {
                    cited.extend(ids.iter().copied());
                    ids
                }
                Some(None) => {
                    findings.malformed.insert(place());
                    continue;
                }
                None => mentions(line).filter(|id| families.contains(family(id))).collect(),
            };
            for id in named.into_iter().filter(|id| !rules.contains(id)) {
                findings.unknown.entry(id.to_owned()).or_default().insert(place());
            }
        }
    }
    findings.uncited = rules.difference(&cited).map(|id| (*id).to_owned()).collect();
    findings
}

impl std::fmt::Display for Findings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut list = |title: &str, items: Vec<String>| match items.len() {
            0 => Ok(()),
            count => writeln!(f, "{title} ({count}):\n  {}", items.join("\n  ")),
        };
        list("rules defined more than once", self.repeated.iter().cloned().collect())?;
        list("citations that are not a list of ids", self.malformed.iter().cloned().collect())?;
        let unknown = self.unknown.iter().map(|(id, places)| {
            let places: Vec<&str> = places.iter().map(String::as_str).collect();
            format!("{id}: {}", places.join(" "))
        });
        list("ids that SPEC.md does not have", unknown.collect())?;
        let mut by_family: BTreeMap<&str, String> = BTreeMap::new();
        let mut uncited: Vec<&String> = self.uncited.iter().collect();
        uncited.sort_by_key(|id| (family(id), id.len(), *id));
        for id in uncited {
            // Writing to a String cannot fail.
            let _ = write!(by_family.entry(family(id)).or_default(), " {id}");
        }
        list("rules that nothing cites, by family", by_family.into_values().collect())
    }
}

/// Every file below `folder`, without what is built.
fn read_folder(root: &Path, folder: &Path, sources: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return };
    for entry in entries {
        let entry = entry.expect("the folder can be listed");
        let name = folder.join(entry.file_name());
        if entry.file_type().expect("the entry has a type").is_dir() {
            if entry.file_name() != "target" {
                read_folder(root, &name, sources);
            }
        } else if comment_of(&name.to_string_lossy()).is_some() {
            let text = fs::read_to_string(root.join(&name)).expect("a source file is text");
            sources.push(Source { name: name.to_string_lossy().into_owned(), text });
        }
    }
}

#[test]
fn every_rule_is_cited_and_every_citation_is_a_rule() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let specification = fs::read_to_string(root.join("SPEC.md")).expect("SPEC.md is at the root");
    let rules = defined(&specification).len();
    // A floor, so that a specification that can no longer be read does not pass as an empty one.
    assert!(rules >= 250, "SPEC.md has {rules} rules");
    let mut sources = Vec::new();
    for folder in FOLDERS {
        read_folder(&root, Path::new(folder), &mut sources);
    }
    let findings = compare(&specification, &sources);
    println!("{rules} rules, {} without a citation, {} files", findings.uncited.len(), sources.len());
    assert!(findings == Findings::default(), "SPEC.md and its citations differ\n{findings}");
}

const SPECIFICATION: &str = "# Title\n\n**AAA-1.** One.\nWhy: see AAA-2.\n\n**AAA-BBB-2.** Two, after **AAA-7.**\n\
                             **Not a rule.** Three.\n**AAA-BBB-10.** Ten.\n";

fn source(name: &str, text: &str) -> Source {
    Source { name: name.into(), text: text.into() }
}

#[test]
fn ids_are_capitals_and_a_number() {
    for id in ["AAA-1", "AAA-BBB-12"] {
        assert!(is_id(id), "{id}");
    }
    for id in ["AAA", "AAA-", "AAA-01", "AAA-0", "-1", "AAA--1", "aaa-1", "AAA-1A", "D6", "", "AAA-1."] {
        assert!(!is_id(id), "{id}");
    }
}

#[test]
fn only_bold_ids_at_the_beginning_of_a_line_are_rules() {
    assert_eq!(defined(SPECIFICATION), ["AAA-1", "AAA-BBB-2", "AAA-BBB-10"]);
}

#[test]
fn a_specification_that_is_cited_in_full_has_no_findings() {
    let sources = [
        source("src/a.rs", "    // spec: AAA-1, AAA-BBB-2\n#[test]\nfn a() {}\n"),
        source("gates/b.py", "# spec: AAA-1 AAA-BBB-10\n"),
        source("gates/readme.md", "# spec: ZZZ-9\n"),
    ];
    assert_eq!(compare(SPECIFICATION, &sources), Findings::default());
}

#[test]
fn a_rule_without_a_citation_is_found() {
    let sources = [
        source("a.rs", "// spec: AAA-1\n//! Keeps AAA-BBB-10.\nlet text = \"// spec: AAA-BBB-2\";\n"),
        source("b.sh", "// spec: AAA-BBB-2\n"),
    ];
    let findings = compare(SPECIFICATION, &sources);
    assert_eq!(findings.uncited, BTreeSet::from(["AAA-BBB-10".into(), "AAA-BBB-2".into()]));
    assert!(
        findings.to_string().contains("rules that nothing cites, by family (1):\n   AAA-BBB-2 AAA-BBB-10")
    );
}

#[test]
fn a_citation_of_an_unknown_rule_is_found_with_its_place() {
    let text = "// spec: AAA-1, AAA-BBB-2, AAA-BBB-10\n\n// spec: ZZZ-1\n// AAA-3 says so, in UTF-8\n";
    let findings = compare(SPECIFICATION, &[source("src/a.rs", text)]);
    let place = |line: &str| BTreeSet::from([format!("src/a.rs:{line}")]);
    assert_eq!(
        findings.unknown,
        BTreeMap::from([("ZZZ-1".into(), place("3")), ("AAA-3".into(), place("4"))])
    );
    assert!(findings.uncited.is_empty());
}

#[test]
fn a_citation_with_other_words_and_a_rule_defined_twice_are_found() {
    let sources = [source("a.rs", "// spec: AAA-1 and AAA-BBB-2\n// spec:\n// spec: AAA-1.\n")];
    let findings = compare(&format!("{SPECIFICATION}**AAA-1.** Again.\n"), &sources);
    assert_eq!(findings.malformed, ["a.rs:1", "a.rs:2", "a.rs:3"].map(String::from).into());
    assert_eq!(findings.repeated, BTreeSet::from(["AAA-1".into()]));
    assert_eq!(findings.uncited.len(), 3);
}
