//! The reader of protos against the parser: the text of a module from a proto parses to the same rows at the same spans.

use std::fmt::Debug;

use super::parse_proto;
use crate::model::module::{Attribute, Module};
use crate::{parse, Names};

fn rows(m: &Module) -> Vec<String> {
    fn show(all: impl IntoIterator<Item = impl Debug>) -> String {
        all.into_iter().map(|a| format!("{a:?} ")).collect()
    }
    let attribute = |a: &Attribute| {
        let names =
            matches!(a.form(), crate::Form::Computation | crate::Form::Computations | crate::Form::Instructions);
        let list = if names { m.list(a.link) } else { &[] };
        format!("{}:{}={:?} {:?} {list:?}", a.key, m.attribute_name(a), a.form(), a.value)
    };
    let mut all = vec![
        format!("{:?} {:?} {:?} {}", m.span, m.name, m.unknown_keys, m.entry),
        show(m.header.iter().map(attribute)),
        format!("{:?}", m.frames.spans),
    ];
    for c in 0..m.computations().len() as u32 {
        let row = &m.computations[c as usize];
        let attributes = show(m.computation_attributes(c).iter().map(attribute));
        all.push(format!("{:?} {:?} {} {:?} {attributes}", row.name, row.start..row.end, row.root, m.parameters(c)));
    }
    for i in 0..m.instructions().len() as u32 {
        let row = &m.instructions[i as usize];
        let attributes = show(m.attributes(i).iter().map(attribute));
        all.push(format!(
            "{:?} {:?} {:?} {:?} {} {} {:?} {attributes}",
            row.name,
            row.body,
            row.opcode,
            m.unknown_opcodes.get(&i),
            row.flags,
            m.shape(i),
            m.operands(i).collect::<Vec<_>>(),
        ));
    }
    all.push(show(&m.diagnostics));
    all
}

const SAMPLES: &[&str] = &[
    include_str!("../../tests/ok/attributes.hlo"),
    include_str!("../../tests/ok/async.hlo"),
    include_str!("../../tests/ok/async_short.hlo"),
    include_str!("../../tests/ok/shapes.hlo"),
    include_str!("../../tests/ok/literals.hlo"),
    include_str!("../../tests/ok/literals_with_shapes.hlo"),
    include_str!("../../tests/ok/stack_frames.hlo"),
    include_str!("../../tests/ok/inline_computations.hlo"),
    include_str!("../../tests/ok/inconsistent.hlo"),
    include_str!("../../tests/ok/diagnostics.hlo"),
    include_str!("../../tests/ok/parameter_counts.hlo"),
    include_str!("../../tests/ok/nested.hlo"),
    include_str!("../../tests/ok/left_out.hlo"),
    include_str!("../../tests/ok/single_while.hlo"),
    include_str!("../../../../tests/cases/modules/attention_causal.hlo"),
    include_str!("../../../../tests/cases/modules/while_simple.hlo"),
];

#[test]
fn the_text_of_a_proto_parses_to_the_same_rows() {
    for sample in SAMPLES {
        for m in parse(sample, None, false).expect("a sample") {
            let Ok(bytes) = m.to_proto() else { continue };
            let read = parse_proto(&bytes, None, false).unwrap_or_else(|e| panic!("{e}\n{sample}"));
            assert_eq!(read[0].difference(&m, Names::Ignored), None, "{sample}\n{}", read[0].own_text());
            let parsed = parse(read[0].own_text(), None, false).unwrap_or_else(|e| panic!("{e}\n{sample}"));
            assert_eq!(parsed.len(), 1);
            for (a, b) in rows(&read[0]).iter().zip(&rows(&parsed[0])) {
                assert_eq!(a, b, "{}", read[0].own_text());
            }
        }
    }
}
