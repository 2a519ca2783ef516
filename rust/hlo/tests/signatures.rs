//! The inputs of signatures: each attribute of the schema changes the signature, on each operation that has it.
//!
//! Instructions of one signature have the same maps, so an attribute that a rule reads must change it.

use std::collections::BTreeSet;

use hlo::{attributes_of, parse, Arity, AttributeSpec, Form, Module, Opcode, Owner};

/// The attributes that no signature has, with the reason.
const ANNOTATIONS: &[(&str, &str)] = &[
    ("control-predecessors", "what runs before it, not what it reads"),
    ("metadata", "the line of the program"),
    ("origin", "the value that it had in the program"),
    ("parameter_replication", "which replicas have equal arguments"),
    ("sharding", "which devices have which elements"),
    ("statistics", "figures for a picture"),
];

/// Those that only the signatures of [`FREE`] operations have: others compile in other ways, to the same values.
const HINTS: &[&str] = &["backend_config", "frontend_attributes"];

/// Operations that give such attributes any meaning, and a loop, whose trip count is one.
const FREE: &[&str] = &["custom-call", "while", "no-such-operation"];

/// Words that say what the type of the operands says.
const IMPLIED: &[&str] = &["type=FLOAT", "type=SIGNED", "type=UNSIGNED"];

/// Values that differ, all of them if there are few.
fn values(spec: &AttributeSpec) -> Vec<String> {
    let all: &[&str] = match (spec.form, spec.name) {
        (Form::Word, _) if !spec.words.is_empty() => spec.words,
        (_, "domain") => &[
            r#"{kind="sharding", entry={maximal device=0}, exit={maximal device=1}}"#,
            r#"{kind="sharding", entry={maximal device=1}, exit={maximal device=1}}"#,
        ],
        (form, _) => match form {
            Form::Int => &["2", "3"],
            Form::Float => &["0.25", "0.5"],
            Form::Bool => &["true", "false"],
            Form::Word => &["one", "two"],
            Form::Text | Form::Config => &[r#""one""#, r#""two""#],
            Form::Ints => &["{0}", "{1}"],
            Form::IntLists => &["{{0,1}}", "{{1,0}}"],
            Form::Words => &["{high,high}", "{highest,high}"],
            Form::Slices => &["{[0:2]}", "{[0:1]}", "{[1:2]}"],
            Form::Padding => &["0_1", "1_0", "0_0_1"],
            Form::Window => &["{size=2}", "{size=3}", "{size=2 stride=2}"],
            Form::DimLabels => &["bf0_oi0->bf0", "b0f_oi0->bf0"],
            Form::Computation => &["one", "two"],
            Form::Computations => &["{one, two}", "{two, one}"],
            Form::Instructions => &["{p0}", "{p1}"],
            Form::Shape => &["f32[2]", "f32[3]"],
            Form::Shapes => &["{f32[2,2]{1,0}}", "{f32[2,2]{0,1}}"],
            Form::Metadata => &[r#"{op_name="one"}"#, r#"{op_name="two"}"#],
            Form::DeviceGroups => &["{{0,1}}", "{{0},{1}}", "[2,2]<=[4]"],
            Form::Literal => &["f32[] 1", "f32[] 2"],
            Form::FrontendAttributes => &[r#"{k="one"}"#, r#"{k="two"}"#],
            Form::Bools => &["{true}", "{false}"],
            Form::Sharding => &["{maximal device=0}", "{maximal device=1}"],
            Form::OperandAliases => &["{{}: (0, {})}", "{{}: (1, {})}"],
            Form::Accuracy => &["{mode=highest}", "{tolerance={atol=0.5,rtol=0,ulps=1}}"],
            Form::Sparsity => {
                &["{rhs={sparsity=1x4 dimension=0 stride=1 idx=2}}", "{rhs={sparsity=1x4 dimension=1 stride=1 idx=2}}"]
            }
            Form::BlockScaling => {
                &["{lhs={scale_idx=2 strides=1x32 steps=1x1}}", "{lhs={scale_idx=2 strides=1x16 steps=1x1}}"]
            }
            Form::Braced => &["{one}", "{two}"],
            Form::Aliases
            | Form::Donors
            | Form::EntryLayout
            | Form::DebugAttributes
            | Form::RecoveryTable
            | Form::Raw => panic!("{} of an instruction: its values", spec.name),
        },
    };
    all.iter().map(|value| format!("{}={value}", spec.name)).collect()
}

/// A module whose root is an operation with these attributes.
fn module(opcode: &str, attributes: &[String]) -> Module {
    let arity = Opcode::from_name(opcode).map_or(Arity::Any, Opcode::arity);
    let n = match arity {
        Arity::Fixed(n) | Arity::AtLeast(n) => usize::from(n),
        Arity::Any => 2,
    };
    let operands = match opcode {
        "parameter" => "2".into(),
        "constant" => "{ { 1, 2 }, { 3, 4 } }".into(),
        _ => (0..n).map(|k| format!("p{}", k % 2)).collect::<Vec<_>>().join(", "),
    };
    let attributes: String = attributes.iter().map(|a| format!(", {a}")).collect();
    let text = format!(
        "HloModule m
one {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}}
two {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] multiply(a, b)
}}
ENTRY e {{
  p0 = f32[2,2] parameter(0)
  p1 = f32[2,2] parameter(1)
  ROOT r = f32[2,2] {opcode}({operands}){attributes}
}}"
    );
    let mut all = parse(&text, None, false).unwrap_or_else(|problems| panic!("{opcode}{attributes}: {problems:?}"));
    all.remove(0)
}

/// The branches that a conditional must have beside an attribute: two, or a list of them.
fn branches(opcode: &str, name: &str) -> Option<String> {
    (opcode == "conditional" && name != "branch_computations").then(|| match name {
        "true_computation" => "false_computation=one".into(),
        "false_computation" => "true_computation=one".into(),
        _ => "branch_computations={one, two}".into(),
    })
}

#[test]
fn attributes_change_the_signature() {
    let mut unchanged = BTreeSet::new();
    let mut n_owners = 0;
    for opcode in Opcode::names().chain(["no-such-operation"]) {
        let all: Vec<AttributeSpec> = attributes_of(Owner::from_name(opcode)).collect();
        let first = |spec: &AttributeSpec| values(spec).remove(0);
        for spec in &all {
            if spec.words.len() == 1 {
                continue;
            }
            n_owners += 1;
            let required = all.iter().filter(|o| o.is_required && o.name != spec.name).map(first);
            let others: Vec<String> = required.chain(branches(opcode, spec.name)).collect();
            let signature = |value: Option<&String>| {
                let attributes: Vec<String> = others.iter().chain(value).cloned().collect();
                let m = module(opcode, &attributes);
                let root = m.root(m.entry());
                assert!(value.is_none() || m.attribute(root, spec.name).is_some(), "{opcode}: {}", spec.name);
                m.signature(root)
            };
            let is_implied = |value: &&String| IMPLIED.contains(&value.as_str());
            let values = values(spec);
            let counted: Vec<&String> =
                values.iter().filter(|v| !is_implied(v)).chain(values.iter().find(is_implied)).collect();
            let mut found: Vec<[u8; 16]> = counted.iter().map(|value| signature(Some(value))).collect();
            let is_branch = opcode == "conditional" && matches!(spec.form, Form::Computation | Form::Computations);
            if !(spec.is_required || is_branch) {
                // An absent one is at most the default.
                let absent = signature(None);
                let n_like = found.iter().filter(|&other| *other == absent).count();
                assert!(n_like <= 1 || n_like == found.len(), "{opcode}: {} is as if it were absent", spec.name);
            }
            found.sort_unstable();
            found.dedup();
            assert!(found.len() == 1 || found.len() == counted.len(), "{opcode}: some of {counted:?} are alike");
            if found.len() == 1 {
                unchanged.insert((spec.name, opcode));
            }
        }
    }
    assert!(n_owners > 1000, "{n_owners}");
    let is_left_out = |name: &str, opcode: &str| {
        ANNOTATIONS.iter().any(|row| row.0 == name) || HINTS.contains(&name) && !FREE.contains(&opcode)
    };
    let expected: BTreeSet<(&str, &str)> = Opcode::names()
        .chain(["no-such-operation"])
        .flat_map(|opcode| attributes_of(Owner::from_name(opcode)).map(move |spec| (spec.name, opcode)))
        .filter(|&(name, opcode)| is_left_out(name, opcode))
        .collect();
    let wrong: Vec<_> = unchanged.symmetric_difference(&expected).collect();
    assert!(wrong.is_empty(), "the signature and the list above disagree: {wrong:?}");
}
