//! Serialized modules: `HloModuleProto` and the messages that contain some, in the wire format and as text.
//!
//! The fields of a proto become the rows of a module, beside the pieces of text that the rows refer to. The module
//! passes the same checks as one from text, and prints, pickles and compares alike; if there is something to report, it
//! is printed and parsed, so that reports have positions. Any bytes give a module or an error with its offset, and the
//! module as text is at most [`MAX_GROWTH`] times as long as the bytes. A written proto has everything that XLA's messages
//! have fields for; the rest of a text, such as unknown attributes and the number of replicas, is left out.

mod device;
mod header;
pub(crate) mod irregular;
mod known;
pub(crate) mod literal;
mod messages;
pub(crate) mod metadata;
mod operation;
pub(crate) mod origin;
pub(crate) mod original;
pub(crate) mod payload;
pub(crate) mod profile;
mod quote;
mod read;
mod regular;
mod row;
mod shape;
pub(crate) mod tables;
pub(crate) mod text_format;
mod write;
pub(crate) mod write_calls;

use std::fmt::Write;
use std::sync::Arc;

use crate::error::{Diagnostic, DiagnosticKind, Source, Span, SyntaxErrors};
use crate::model::module::Module;
use crate::tuning::{MAX_GROWTH, MAX_LOST, MAX_WRITTEN_MODULES};
use crate::wire::{self, bad, Message, Wire};

/// The fields of a module that text cannot express, kept as they are: numbers of the module, prefetches, whether it is
/// dynamic, shardings of parameters and result, profiles, the assignment of devices and their kind.
const WORDLESS: [u32; 10] = [5, 10, 11, 12, 13, 14, 15, 16, 21, 23];

/// Appends a decimal number.
fn push_int(out: &mut String, n: i64) {
    if (0..10).contains(&n) {
        return out.push((b'0' + n as u8) as char);
    }
    // Writing to a string does not fail.
    let _ = write!(out, "{n}");
}

/// Calls `found` with each module in a message: an `HloModuleProto` itself, or a message that holds modules in its
/// first field (HloProto, HloSnapshot, HloUnoptimizedSnapshot, HloModuleProtoWithConfig, TuningData). That field is
/// repeated in a message for several modules, and in concatenated files of one module each; `found` returns whether to
/// continue.
fn find_modules<'a>(
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    found: &mut dyn FnMut(Message<'a>) -> Wire<bool>,
) -> Wire<bool> {
    let m = Message::new(bytes, at)?;
    if is_module(m) {
        // A module has one name: a second name begins a second module.
        let names = m
            .fields()
            .filter(|f| f.number == 1 && f.bytes().is_ok())
            .skip(1)
            .map(|f| wire::tag_start(bytes, f.at - at));
        let ends: Vec<usize> = names.chain([bytes.len()]).collect();
        let mut start = 0;
        for end in ends {
            if !found(Message::new(&bytes[start..end], at + start)?)? {
                return Ok(false);
            }
            start = end;
        }
        return Ok(true);
    }
    if depth < MAX_WRITTEN_MODULES {
        for inner in m.fields().filter(|f| f.number == 1) {
            if let wire::Payload::Bytes(bytes) = inner.payload {
                if !find_modules(bytes, inner.at, depth + 1, found)? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// Whether the third field is a computation: a message with instructions, which have an opcode.
fn is_module(m: Message<'_>) -> bool {
    let computation = m.fields().filter(|f| f.number == 3).find_map(|f| f.message().ok());
    let instruction = computation.and_then(|c| c.fields().filter(|f| f.number == 2).find_map(|f| f.message().ok()));
    instruction.is_some_and(|i| i.text(2).is_ok_and(quote::is_word) && i.text(1).is_ok())
}

/// Whether bytes begin like a message with a module. Cheap; a false positive only costs a closer look.
pub(crate) fn may_be_module(bytes: &[u8]) -> bool {
    let mut has_module = false;
    let mut found = |_: Message<'_>| {
        has_module = true;
        Ok(false)
    };
    bytes.first() == Some(&0x0a) && find_modules(bytes, 0, 0, &mut found).is_ok() && has_module
}

/// Whether the head of a file is the head of a message with a module, in the wire format or as text.
pub fn is_module_head(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(e) => std::str::from_utf8(&head[..e.valid_up_to()]).unwrap_or(""),
    };
    if text_format::is_text_format(text) {
        return true;
    }
    // An HloModuleProto begins with its name, the others with the embedded HloModuleProto.
    let mut rest = head;
    for _ in 0..3 {
        let Some((inner, behind, is_cut)) = wire::first_field(rest) else { return false };
        // The name of a module may be empty.
        let is_name = quote::is_word(&String::from_utf8_lossy(inner)) || (inner.is_empty() && rest.len() > 2);
        if is_name && !is_cut {
            return behind.first().is_none_or(|&tag| tag == 0x12);
        }
        rest = inner;
    }
    false
}

/// Reads the modules in a proto.
pub fn parse_proto(bytes: &[u8], name: Option<&str>, strict: bool) -> Result<Vec<Module>, SyntaxErrors> {
    proto_at(bytes, 0, name, strict)
}

/// Reads the programs of a profile, or `only` those with these numbers.
pub(crate) fn parse_programs(
    bytes: &[u8],
    only: Option<&[usize]>,
    name: Option<&str>,
    strict: bool,
) -> Result<Vec<Module>, SyntaxErrors> {
    let bad = |e: wire::WireError| SyntaxErrors::of_bytes(name, e.problem("a profile with the HLO of programs"));
    let programs = profile::programs(bytes).map_err(bad)?;
    let chosen = programs.iter().enumerate().filter(|(k, _)| only.is_none_or(|only| only.contains(k)));
    let mut modules = Vec::new();
    for (_, program) in chosen {
        let of_program = |mut module: Module| {
            module.ids.get_or_insert_default().program = program.id;
            module
        };
        modules.extend(proto_at(program.proto, program.at, name, strict)?.into_iter().map(of_program));
    }
    match modules.is_empty() {
        true => Err(bad(wire::WireError { at: 0, found: "one without HLO".into() })),
        false => Ok(modules),
    }
}

/// Reads the modules in a proto that begins at an offset of the input.
fn proto_at(bytes: &[u8], at: usize, name: Option<&str>, strict: bool) -> Result<Vec<Module>, SyntaxErrors> {
    match read_modules(bytes, at, name, strict, Vec::new()) {
        Ok(read) => read,
        Err(e) => Err(SyntaxErrors::of_bytes(name, e.problem("an HLO proto"))),
    }
}

/// Reads the modules of a proto in the text format.
pub(crate) fn parse_text_format(text: &str, name: Option<&str>, strict: bool) -> Result<Vec<Module>, SyntaxErrors> {
    let of_text = |source: Source, problems| SyntaxErrors { source: Arc::new(source), problems };
    let source = Source::new(text, name);
    let encoded = match text_format::encode(text) {
        Ok(encoded) if strict && !encoded.lost.is_empty() => return Err(of_text(source, encoded.lost)),
        Ok(encoded) => encoded,
        Err(problem) => return Err(of_text(source, vec![problem])),
    };
    // The source of the module is the text of HLO that it becomes, which has other lines.
    let moved = |lost: &Diagnostic| {
        let (line, column) = source.line_column(lost.span.start as usize);
        let text = format!("line {line}, column {column}: ").into();
        Diagnostic { span: Span::default(), kind: DiagnosticKind::Bytes, text, ..lost.clone() }
    };
    match read_modules(&encoded.bytes, 0, name, strict, encoded.lost.iter().map(moved).collect()) {
        Ok(read) => read,
        Err(e) => {
            // An unknown field, such as a misspelled one, may be the reason.
            let problem = encoded.problem(text, e);
            let mut problems: Vec<Diagnostic> = encoded.lost.into_iter().take(MAX_LOST).chain([problem]).collect();
            problems.sort_by_key(|p| p.span.start);
            Err(of_text(source, problems))
        }
    }
}

/// The modules in a message; the first one gets the diagnostics.
fn read_modules(
    bytes: &[u8],
    at: usize,
    name: Option<&str>,
    strict: bool,
    diagnostics: Vec<Diagnostic>,
) -> Wire<Result<Vec<Module>, SyntaxErrors>> {
    let (mut modules, mut errors) = (Vec::new(), None);
    let mut diagnostics = Some(diagnostics);
    find_modules(bytes, at, 0, &mut |m| {
        let limit = m.bytes().len().saturating_mul(MAX_GROWTH).saturating_add(1 << 16);
        match read::module(m, name, strict, limit, 0, diagnostics.take().unwrap_or_default())? {
            Ok(module) => modules.push(module),
            Err(e) => errors = Some(e),
        }
        Ok(errors.is_none())
    })?;
    match errors {
        Some(errors) => Ok(Err(errors)),
        None if modules.is_empty() => bad(at, "a message without an HLO module"),
        None => Ok(Ok(modules)),
    }
}
