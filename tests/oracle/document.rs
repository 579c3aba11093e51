//! spec/PROTOCOL.md shows every operation, outcome and error, and every line of it is one of the protocol.

use std::collections::BTreeSet;

use agentfs::Errno;
use agentfs::oracle::protocol::{Hello, OPERATIONS};
use agentfs_model::outcome::Outcome;
use agentfs_model::trace::{Setting, Step};
use serde_json::Value;

/// The lines of the document's blocks of JSON Lines.
fn lines(document: &str) -> Vec<Value> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in document.lines().map(str::trim) {
        match line {
            "```jsonl" => inside = true,
            "```" => inside = false,
            _ if inside => {
                lines.push(serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            }
            _ => {}
        }
    }
    lines
}

/// The words of the document.
fn words(document: &str) -> BTreeSet<&str> {
    document.split(|character: char| !character.is_ascii_alphanumeric() && character != '_').collect()
}

// spec: ORA-1, ORA-2
#[test]
fn every_line_of_the_document_is_a_line_of_the_protocol_and_nothing_is_left_out() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/spec/PROTOCOL.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (mut operations, mut outcomes) = (BTreeSet::new(), BTreeSet::new());
    for line in lines(&document) {
        let is = |name| line.get(name).is_some();
        let parsed = if is("op") {
            serde_json::from_value(line.clone()).map(|step: Step| {
                operations.insert(step.call.operation.name());
                // What it says has been understood: it is said again in the same words.
                let again = serde_json::to_value(&step).unwrap();
                assert_eq!(again, line);
            })
        } else if is("begin") {
            serde_json::from_value(line["begin"].clone()).map(|_: Setting| ())
        } else if is("hello") {
            serde_json::from_value(line["hello"].clone()).map(|_: Hello| ())
        } else if is("outcome") {
            let outcome = &line["outcome"];
            let name = outcome.as_str().map(String::from);
            outcomes.extend(name.or_else(|| outcome.as_object().unwrap().keys().next().cloned()));
            serde_json::from_value(outcome.clone()).map(|_: Outcome| ())
        } else {
            assert!(is("end") || is("failure"), "{line}");
            continue;
        };
        parsed.unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    assert_eq!(operations, OPERATIONS.into_iter().collect());
    assert_eq!(outcomes.len(), 12, "{outcomes:?}");
    let words = words(&document);
    let missing = (1..200).filter_map(Errno::from_number).find(|errno| !words.contains(errno.symbol()));
    assert_eq!(missing, None);
}
