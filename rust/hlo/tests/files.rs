//! Golden files: texts in `ok/` next to their modules as trees, texts in `err/` next to their errors, or the diagnostics
//! of those that lose only lines.
//!
//! `HLOMAP_BLESS=1 cargo test -p hlomap-hlo` rewrites the golden files; review the diff. Every text in `ok/` must also
//! print to a text that parses to an equal module.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use hlo::{describe, LiteralValue, Module, Value};

fn texts(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let files = fs::read_dir(folder).expect("the folder of the tests is there");
    let mut files: Vec<_> = files.map(|f| f.expect("a readable folder").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "hlo"));
    files.sort();
    assert!(files.len() > 5, "too few texts");
    files
}

/// Compares with the golden file of a text, or rewrites it.
fn check(text: &Path, extension: &str, found: &str, failures: &mut Vec<String>) {
    let beside = text.with_extension(extension);
    if std::env::var_os("HLOMAP_BLESS").is_some_and(|v| v == "1") {
        fs::write(&beside, found).expect("the golden file can be written");
        return;
    }
    let expected = fs::read_to_string(&beside).unwrap_or_default().replace("\r\n", "\n");
    if expected != found {
        failures.push(format!("{}\n--- expected\n{expected}\n--- found\n{found}", text.display()));
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a readable text").replace("\r\n", "\n")
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|n| n.to_str()).expect("names are plain")
}

#[test]
fn ok() {
    let mut failures = Vec::new();
    for file in texts("ok") {
        let text = read(&file);
        match hlo::parse(&text, Some(name(&file)), false) {
            Ok(modules) => check(&file, "tree", &modules.iter().map(tree).collect::<String>(), &mut failures),
            Err(e) => failures.push(format!("{}: {e}", file.display())),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn err() {
    let mut failures = Vec::new();
    for file in texts("err") {
        let text = read(&file);
        assert!(hlo::parse(&text, None, true).is_err(), "a strict reading accepts {}", file.display());
        let found = match hlo::parse(&text, Some(name(&file)), false) {
            Ok(modules) => modules.iter().fold("read with diagnostics\n".to_string(), |mut found, m| {
                assert!(!m.instructions().is_empty() && !m.diagnostics().is_empty(), "{}", file.display());
                m.diagnostics().iter().for_each(|d| found += &format!("{}\n", describe(m.source(), d)));
                found
            }),
            Err(e) => format!("{e}\n"),
        };
        check(&file, "txt", &found, &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn round_trip() {
    for file in texts("ok") {
        for module in hlo::parse(&read(&file), None, false).expect("checked by the other test") {
            let printed = module.to_string();
            let again = hlo::parse(&printed, None, false).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            assert_eq!(again.len(), 1, "{}", file.display());
            assert_eq!(again[0].to_string(), printed, "{}", file.display());
            // A module or computation without a name gets one when it is printed.
            let has_names = (0..module.computations().len() as u32)
                .all(|c| module.computations()[c as usize].is_inline || !module.computation_name(c).is_empty());
            if has_names && !module.name().is_empty() {
                assert!(module.same_as(&again[0], hlo::Names::Count), "{} reads back differently", file.display());
            }
        }
    }
}

/// The texts that a proto cannot hold as they are: asynchronous operations in short form, unknown attributes and some of
/// the header, the order of instructions, constants of a type that literals do not have.
const UNLIKE_THEIR_PROTO: &[&str] = &[
    "async.hlo",
    "async_late.hlo",
    "async_short.hlo",
    "attention_causal.hlo",
    "diagnostics.hlo",
    "left_out.hlo",
    "literals_of_buffers.hlo",
    "nested.hlo",
    "shapes.hlo",
];

/// Text to proto and back is the identity up to names, which must be unique in a proto.
#[test]
fn proto_round_trip() {
    let mut failures = Vec::new();
    let mut files = texts("ok");
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/modules");
    for file in fs::read_dir(modules).expect("the cases are there") {
        files.push(file.expect("a readable folder").path());
    }
    files.retain(|f| f.extension().is_some_and(|e| e == "hlo"));
    for file in files {
        for module in hlo::parse(&read(&file), None, false).expect("checked by the other test") {
            let bytes = match module.to_proto() {
                Ok(bytes) => bytes,
                Err(reason) if name(&file) == "unfit.hlo" => {
                    assert_eq!(reason, "a proto cannot hold mode=cross_replica of `g`");
                    continue;
                }
                Err(_) => {
                    assert!((0..module.instructions().len() as u32).any(|i| module.has_unnamed_operands(i)));
                    continue;
                }
            };
            let again = hlo::parse_bytes(&bytes, None, false).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let difference = module.difference(&again[0], hlo::Names::Ignored);
            if difference.is_some() != UNLIKE_THEIR_PROTO.contains(&name(&file)) {
                failures.push(format!("{}: {difference:?}\n{module}\n{}", file.display(), again[0]));
            }
            let bytes = again[0].to_proto().expect("operands have names");
            let third = hlo::parse_bytes(&bytes, None, false).expect("a proto that was written here");
            assert_eq!(again[0].difference(&third[0], hlo::Names::Count), None, "{}", file.display());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn strict() {
    let text = "ENTRY e { ROOT p = f32[2] parameter(0), shardin={replicated} }";
    assert_eq!(hlo::parse(text, None, false).expect("a diagnostic is not an error")[0].diagnostics().len(), 1);
    let error = hlo::parse(text, None, true).expect_err("strict makes it one").to_string();
    assert!(error.starts_with("<text>:1:41: unknown attribute `shardin`, did you mean `sharding`?"), "{error}");
}

/// A module, line by line.
fn tree(m: &Module) -> String {
    let mut out = format!("module {:?} entry {}\n", m.name(), m.entry());
    for a in m.header() {
        let _ = writeln!(out, "  {} = {}", m.attribute_name(a), shown(&m.value(a, None)));
    }
    for c in 0..m.computations().len() as u32 {
        let _ = writeln!(out, "computation {c} {:?} root {}", m.computation_name(c), m.root(c));
        for a in m.computation_attributes(c) {
            let value = m.value(a, Some(c));
            let _ = writeln!(out, "  {} = {}", m.attribute_name(a), shown(&value));
        }
        for i in m.instructions_of(c) {
            let operands: Vec<_> = m.operands(i).collect();
            let name = m.instruction_name(i);
            let _ = write!(out, "  {i} {name}: {} {}{operands:?}", m.shape(i), m.opcode_name(i));
            if let Some(n) = m.parameter_number(i) {
                let _ = write!(out, " number {n}");
            }
            match m.literal(i) {
                Some(value) => out.push_str(&literal(&value)),
                None if m.is_elided(i) => out.push_str(" elided"),
                None => assert!(m.literal_text(i).is_none(), "checked when read"),
            }
            if m.has_unnamed_operands(i) {
                out.push_str(" operands unknown");
            }
            out.push('\n');
            for a in m.attributes(i) {
                let value = m.value(a, Some(c));
                let _ = writeln!(out, "      {} = {}", m.attribute_name(a), shown(&value));
            }
            let from = m.metadata(i);
            if let Some(file) = from.source_file {
                let _ = writeln!(out, "      from {file}:{:?}", from.source_line);
            }
        }
    }
    for d in m.diagnostics() {
        let _ = writeln!(out, "diagnostic {}", describe(m.source(), d));
    }
    out
}

/// Values that print are shown as text, the others as Rust values.
fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Sharding(v) => format!("Sharding {v}"),
        Value::DeviceGroups(v) => format!("DeviceGroups {v}"),
        Value::EntryLayout(v) => format!("EntryLayout {v}"),
        Value::Accuracy(v) => format!("Accuracy {v}"),
        Value::DimLabels(v) => format!("DimLabels {v}"),
        value => format!("{value:?}"),
    }
}

fn literal(value: &LiteralValue) -> String {
    match value {
        LiteralValue::Array(bytes) => format!(" bytes {bytes:02x?}"),
        LiteralValue::Tuple(parts) => format!(" tuple{}", parts.iter().map(literal).collect::<String>()),
    }
}
