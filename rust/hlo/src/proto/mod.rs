//! Serialized modules: `HloModuleProto` and the messages that contain one.
//!
//! A proto becomes text, which the parser reads. So a module from a proto passes the same checks as one from text, owns
//! one text for all its names, and prints, pickles and compares alike. Any bytes give a module or an error with its
//! offset, and the text is at most [`GROWTH`] times as long as the bytes. A proto that is written has what XLA's
//! messages have fields for; the rest of a text, such as unknown attributes and the number of replicas, is left out.

mod device;
mod header;
pub(crate) mod irregular;
mod known;
pub(crate) mod literal;
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
pub(crate) mod wire;
mod write;
pub(crate) mod write_calls;

use std::fmt::Write;

use crate::error::SyntaxErrors;
use crate::model::module::{Ids, Module};
use wire::{bad, Message, Wire};

/// The maximum ratio of the length of the text to the bytes; real modules grow less than tenfold.
const GROWTH: usize = 64;

/// The fields of a module that text has no words for, kept as they are: numbers of the module, prefetches, whether it is
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

/// The module in a message: an `HloModuleProto` itself, or a message that holds one in its first field (HloProto,
/// HloSnapshot, HloUnoptimizedSnapshot, HloModuleProtoWithConfig).
fn find_module(bytes: &[u8], at: usize, depth: usize) -> Wire<Option<Message<'_>>> {
    const MAX_DEPTH: usize = 3;
    let m = Message::new(bytes, at)?;
    if is_module(m) {
        return Ok(Some(m));
    }
    if depth < MAX_DEPTH {
        if let Some(inner) = m.fields().find(|f| f.number == 1) {
            if let wire::Payload::Bytes(bytes) = inner.payload {
                return find_module(bytes, inner.at, depth + 1);
            }
        }
    }
    Ok(None)
}

/// Whether the third field is a computation: a message with instructions, which have an opcode.
fn is_module(m: Message<'_>) -> bool {
    let computation = m.fields().filter(|f| f.number == 3).find_map(|f| f.message().ok());
    let instruction = computation.and_then(|c| c.fields().filter(|f| f.number == 2).find_map(|f| f.message().ok()));
    instruction.is_some_and(|i| i.text(2).is_ok_and(quote::is_word) && i.text(1).is_ok())
}

/// Whether bytes begin like a message with a module. Cheap; a false positive only costs a closer look.
pub(crate) fn may_be_module(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0x0a) && matches!(find_module(bytes, 0, 0), Ok(Some(_)))
}

/// Whether the head of a file is the head of a message with a module.
pub fn is_module_head(head: &[u8]) -> bool {
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

impl Ids {
    /// Whether there is an id for each computation and instruction, with room for ids of wrappers.
    pub(crate) fn fit(&self, m: &Module) -> bool {
        const LARGEST: i64 = 1 << 30;
        self.computations.len() == m.computations().len()
            && self.instructions.len() == m.instructions().len()
            && self.computations.iter().all(|id| (0..LARGEST).contains(id))
    }
}

/// Reads the module in a proto.
pub fn parse_proto(bytes: &[u8], name: Option<&str>, strict: bool) -> Result<Vec<Module>, SyntaxErrors> {
    let read = find_module(bytes, 0, 0).and_then(|found| match found {
        Some(m) => read::module(m, name, strict, bytes.len().saturating_mul(GROWTH).saturating_add(1 << 16), 0),
        None => bad(0, "a message without an HLO module"),
    });
    match read {
        Ok(read) => read.map(|module| vec![module]),
        Err(e) => Err(SyntaxErrors::of_bytes(name, e.problem("an HLO proto"))),
    }
}
