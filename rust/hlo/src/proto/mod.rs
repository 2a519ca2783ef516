//! Modules in the wire form of protocol buffers: `HloModuleProto` and the messages around it.
//!
//! Read [`find_module`], then `Reader::module`. A proto is decoded to the text that the printer would write, and
//! that text is parsed. So a module from a proto is the same kind of value as one from text, goes through the same
//! checks, owns one arena for all its names, and prints, pickles and compares the same; the price is one pass of
//! the parser. Law: whatever the bytes, reading ends with a module or an error with its byte, and the text is at
//! most [`GROWTH`] times as long as the bytes.

mod device;
pub(crate) mod irregular;
mod literal;
mod operation;
pub(crate) mod origin;
mod read;
mod regular;
mod shape;

mod tables;
mod wire;
mod write;

use crate::error::{Problem, ProblemKind, Source, Span, SyntaxErrors};
use crate::model::module::{Ids, Module};
use crate::parse;
use std::sync::Arc;
use wire::{Message, WireError};

/// How much longer than its bytes the text of a proto may become; real ones grow less than tenfold.
const GROWTH: usize = 64;

/// Field numbers that no message of XLA has, for what the fields it has cannot hold. Other readers skip them.
const EXTRA: u32 = 100_001;
const EXTRA_HEADER: u32 = 100_002;
const EXTRA_TABLES: u32 = 100_003;
/// Of the first half of an asynchronous pair that is written in short: the instruction as it is in text. Of a
/// computation: that it stands for such an instruction.
const EXTRA_ASYNC: u32 = 100_004;
/// Of a constant whose text has no layout, which XLA wants in both of its shapes: the shape without.
const EXTRA_SHAPE: u32 = 100_005;

/// The module in a message: itself an `HloModuleProto`, or one that holds one in its first field (HloProto,
/// HloSnapshot, HloUnoptimizedSnapshot, HloModuleProtoWithConfig).
fn find_module(bytes: &[u8], at: usize, depth: usize) -> Result<Option<Message<'_>>, WireError> {
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

/// A message whose third field is a computation: a message with instructions, which have an opcode.
fn is_module(m: Message<'_>) -> bool {
    let computation = m.fields().filter(|f| f.number == 3).find_map(|f| f.message().ok());
    let instruction = computation.and_then(|c| c.fields().filter(|f| f.number == 2).find_map(|f| f.message().ok()));
    instruction.is_some_and(|i| i.text(2).is_ok_and(irregular::is_word) && i.text(1).is_ok())
}

/// Whether bytes begin like a message that may hold a module; cheap, and a wrong yes only costs a closer look.
pub(crate) fn may_be_module(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0x0a) && matches!(find_module(bytes, 0, 0), Ok(Some(_)))
}

/// Whether the beginning of a file is the beginning of a message that holds a module.
pub fn is_module_head(head: &[u8]) -> bool {
    // An HloModuleProto begins with its name, the others with the HloModuleProto inside.
    let mut rest = head;
    for _ in 0..3 {
        let Some((inner, is_cut)) = wire::first_field(rest) else { return false };
        let is_name = !inner.is_empty() && irregular::is_word(&String::from_utf8_lossy(inner));
        if is_name && !is_cut {
            return wire::second_tag(rest).is_none_or(|tag| tag == 0x12);
        }
        rest = inner;
    }
    false
}

impl Ids {
    /// One for everything, and room for those of computations that are added.
    fn fit(&self, m: &Module) -> bool {
        const LARGEST: i64 = 1 << 30;
        self.computations.len() == m.computations().len()
            && self.instructions.len() == m.instructions().len()
            && self.computations.iter().all(|id| (0..LARGEST).contains(id))
    }
}

/// The module that a proto holds.
pub fn parse_proto(bytes: &[u8], name: Option<&str>, strict: bool) -> Result<Vec<Module>, SyntaxErrors> {
    let text = find_module(bytes, 0, 0).and_then(|found| match found {
        Some(m) => read::text(m, bytes.len().saturating_mul(GROWTH).saturating_add(1 << 16)),
        None => Err(WireError { at: 0, found: "a message without an HLO module".into() }),
    });
    match text {
        Ok((text, ids)) => {
            let mut modules = parse::parse(&text, name, strict)?;
            if let [m] = &mut modules[..] {
                m.ids = Some(ids).filter(|ids| ids.fit(m));
            }
            Ok(modules)
        }
        Err(e) => {
            let kind = ProblemKind::Wire { at: e.at, found: e.found };
            let source = Arc::new(Source::new("", name));
            Err(SyntaxErrors { source, problems: vec![Problem { kind, span: Span::default() }] })
        }
    }
}
