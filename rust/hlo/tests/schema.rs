//! The schema of attributes against the table of values in `docs/hlo_model.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use hlo::{attributes_of, Form, Opcode, Owner};

/// Values of forms that many attributes share, as the table has them.
const PLAIN: &[(&str, Form)] = &[
    ("3", Form::Int),
    ("1e-05", Form::Float),
    ("true", Form::Bool),
    ("\"text\"", Form::Text),
    ("GE", Form::Word),
    ("{1,2}", Form::Ints),
    ("{{0,1},{2}}", Form::IntLists),
    ("{highest,default}", Form::Words),
];

fn forms() -> BTreeMap<&'static str, Form> {
    let owners = Opcode::names().chain(["module", "computation"]).map(Owner::from_name);
    owners.flat_map(attributes_of).map(|spec| (spec.name, spec.form)).collect()
}

/// Every name in the table is an attribute, and every form of value has a row.
#[test]
fn the_documented_values_are_those_of_the_schema() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hlo_attributes.md");
    let docs = fs::read_to_string(docs).expect("the documentation is there").replace("\r\n", "\n");
    let (_, table) = docs.split_once("| in the text | in Python |\n|---|---|\n").expect("the table of values");
    let forms = forms();
    let mut documented = BTreeSet::new();
    for line in table.lines().take_while(|line| line.starts_with('|')) {
        let cell = line.split('|').nth(1).expect("a cell");
        for value in cell.split('`').skip(1).step_by(2) {
            let form = match PLAIN.iter().find(|row| row.0 == value) {
                Some(row) => row.1,
                None => {
                    let (name, _) = value.split_once('=').unwrap_or_else(|| panic!("expected `name=value`: {value}"));
                    *forms.get(name).unwrap_or_else(|| panic!("an unknown attribute in the table: {value}"))
                }
            };
            documented.insert(format!("{form:?}"));
        }
    }
    let all: BTreeSet<String> = forms.values().map(|form| format!("{form:?}")).collect();
    assert_eq!(documented, all);
}
