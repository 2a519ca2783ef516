//! The rules of the verifier against their page and their cases.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hlo::Rule;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(path).expect("a readable text").replace("\r\n", "\n")
}

#[test]
fn every_rule_is_documented() {
    let page = read("docs/strict.md");
    let missing: Vec<_> = Rule::ALL
        .iter()
        .map(|r| format!("| `{}` | {} |", r.name(), r.law()))
        .filter(|row| !page.contains(row))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Every rule is broken by a case.
#[test]
fn every_rule_has_a_case() {
    let cases = read("tests/cases/strict.txt");
    let named: BTreeSet<&str> =
        cases.lines().filter_map(|line| line.split_once(": rule ")?.1.split(':').next()).collect();
    let missing: Vec<_> = Rule::ALL.iter().map(|r| r.name()).filter(|name| !named.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
