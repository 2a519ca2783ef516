//! An invariant of all input: it gives modules or a few errors, every accessor of a module works, and the text, the
//! print and the proto of a module give the same module.
//!
//! The tests and the fuzz targets share it.

use hlo::{parse, parse_bytes, parse_part, parse_proto, DiagnosticKind, Module, Names};

/// Reads bytes and calls every accessor of the modules.
pub fn read(bytes: &[u8]) {
    match parse_bytes(bytes, None, false) {
        Ok(modules) => modules.iter().for_each(touch),
        Err(errors) => {
            assert!(!errors.problems.is_empty() && errors.problems.len() <= hlo::MAX_PROBLEMS + 1);
            assert!(!errors.to_string().is_empty());
        }
    }
}

fn touch(m: &Module) {
    for d in m.diagnostics() {
        assert!(!hlo::describe(m.source(), d).is_empty());
    }
    for c in 0..m.computations().len() as u32 {
        m.callers(c);
        m.fingerprint(c);
        for a in m.computation_attributes(c) {
            m.value(a, Some(c));
        }
    }
    for i in 0..m.instructions().len() as u32 {
        for a in m.attributes(i) {
            m.value(a, Some(m.computation_of(i)));
        }
        assert_eq!(
            m.literal(i).is_some(),
            m.literal_text(i).is_some() && !m.is_elided(i),
            "a literal that was checked"
        );
        m.metadata(i);
        m.users(i);
        m.signature_with_values(i, &[0, 1, 9]);
    }
    let printed = m.to_string();
    if let Err(e) = parse(&printed, None, false) {
        panic!("printed text does not read back: {e}\n{printed}");
    }
    own_text(m);
    if let Ok(proto) = m.to_proto() {
        let again = read_proto(&proto, &printed);
        own_text(&again);
        // What a proto has no field for is left out, so the first one may be another module.
        let third = read_proto(&again.to_proto().expect("a proto"), again.own_text());
        assert_eq!(again.difference(&third, Names::Count), None, "\n{}\nand\n{}", again.own_text(), third.own_text());
    }
}

fn read_proto(proto: &[u8], text: &str) -> Module {
    parse_proto(proto, None, false).unwrap_or_else(|e| panic!("the proto does not read back: {e}\n{text}")).remove(0)
}

/// The text of a module is that module, with the same diagnostics, also if it comes from a proto.
fn own_text(m: &Module) {
    let text = m.own_text();
    match parse_part(text, m.position(), None).as_deref() {
        Ok([again]) => {
            assert_eq!(m.difference(again, Names::Count), None, "the own text\n{text}");
            let has_misfits = m.diagnostics().iter().any(|d| d.kind == DiagnosticKind::Bytes);
            let (found, expected) = (located(again), located(m));
            assert!(has_misfits || found == expected, "{found:?}, not {expected:?}, are the diagnostics of\n{text}");
        }
        Ok(_) => panic!("the own text is several modules\n{text}"),
        Err(e) => panic!("the own text does not read back: {e}\n{text}"),
    }
}

/// The diagnostics with their lines and columns, which are the same in a whole text and in a part of it.
fn located(m: &Module) -> Vec<((usize, usize), String)> {
    m.diagnostics().iter().map(|d| (m.source().line_column(d.span.start as usize), d.to_string())).collect()
}
