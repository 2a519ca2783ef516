//! The fields of XLA's messages, to report those of versions that are newer than this table.
//!
//! A field that has a value and is not in the table is reported by its message and its number, wherever it is.

use std::sync::LazyLock;

use layout::MAX_DEPTH;

use super::messages::{self, message_name, FieldSpec, Type, COMPUTATION};
use crate::wire::{each_field, Field, Payload};

/// By message and field number: [`UNKNOWN`], [`VALUE`], or `MESSAGE` plus the number of the field's message.
static FIELDS: LazyLock<Vec<[u8; 128]>> = LazyLock::new(|| {
    let row = |(message, row): (usize, &Vec<FieldSpec>)| {
        let mut fields = [UNKNOWN; 128];
        for field in row {
            fields[field.number as usize] = match field.ty {
                // The instructions have the shapes of a computation.
                Type::Message(_) if message == COMPUTATION && field.name == "program_shape" => VALUE,
                Type::Message(inner) => MESSAGE + inner as u8,
                _ => VALUE,
            };
        }
        fields
    };
    messages::all().iter().enumerate().map(row).collect()
});
const UNKNOWN: u8 = 0;
const VALUE: u8 = 1;
const MESSAGE: u8 = 2;

/// Calls `found` for each unknown field of a message and of the messages inside it, with the name of the message and
/// the number of the field.
pub(super) fn each_unknown<'a>(
    message: usize,
    fields: impl Iterator<Item = Field<'a>>,
    found: &mut dyn FnMut(&'static str, u32),
) {
    let table = &FIELDS[..];
    for f in fields {
        unknown(table, message, f, 0, found);
    }
}

#[inline(always)]
fn unknown(table: &[[u8; 128]], message: usize, f: Field<'_>, depth: usize, found: &mut dyn FnMut(&'static str, u32)) {
    match table[message].get(f.number as usize).copied().unwrap_or(UNKNOWN) {
        VALUE => {}
        inner @ MESSAGE.. => inside(table, usize::from(inner - MESSAGE), f, depth + 1, found),
        UNKNOWN if f.is_default() => {}
        UNKNOWN => found(message_name(message), f.number),
    }
}

fn inside(table: &[[u8; 128]], message: usize, f: Field<'_>, depth: usize, found: &mut dyn FnMut(&'static str, u32)) {
    if let (Payload::Bytes(bytes), true) = (f.payload, depth <= MAX_DEPTH) {
        // Malformed bytes are refused where they are read, and so are messages that nest deeper.
        let _ = each_field(bytes, f.at, |f| {
            unknown(table, message, f, depth, found);
            Ok(())
        });
    }
}
