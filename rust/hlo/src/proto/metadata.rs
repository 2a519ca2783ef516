//! `metadata`, in both directions: `OpMetadata` and `{op_name="x" source_line=1}`.
//!
//! Read [`METADATA`].

use std::borrow::Cow;

use super::irregular::{payload, Irregular};
use super::push_int;
use super::quote::{escaped, push_quoted};
use super::wire::{each_field, Encoder, Field, Message, Payload, Wire};
use crate::model::metadata::fields;

/// Name, field number and whether it is a string, in the order of printed metadata.
const METADATA_FIELDS: &[(&str, u32, bool)] = &[
    ("op_type", 1, true),
    ("op_name", 2, true),
    ("source_file", 3, true),
    ("source_line", 4, false),
    ("source_end_line", 17, false),
    ("source_column", 18, false),
    ("source_end_column", 19, false),
    ("stack_frame_id", 15, false),
    ("size_of_generated_code_in_bytes", 8, false),
    ("size_of_memory_working_set_in_bytes", 9, false),
    ("deduplicated_name", 12, true),
    ("scheduling_name", 16, true),
];

/// The field that may be a number of a payload of the module.
const PAYLOAD: &str = "metadata_payload";

/// Whether the field of this name is a number.
pub(crate) fn is_number(name: &str) -> bool {
    METADATA_FIELDS.iter().any(|&(known, _, is_text)| known == name && !is_text)
}

pub(crate) const METADATA: Irregular = Irregular {
    read: |r, out| metadata(r.m.data(7), r.m.at, r.payloads, out),
    write: |w, d| {
        let span = w.attribute.value;
        let mut payloads = w.payloads.borrow_mut();
        let mut number = |text: &str| Some(payloads.number(text));
        d.nested(7, |d| write_fields(&fields(&w.module.source().text, span), &mut number, d))
    },
    numbers: &[],
};

/// `OpMetadata` from its fields; `None` if one of them is unknown.
pub(crate) fn write_metadata(fields: &[(&str, Cow<'_, str>)]) -> Option<Encoder> {
    let mut m = Encoder::default();
    write_fields(fields, &mut |_| None, &mut m)?;
    Some(m)
}

/// Writes `OpMetadata`; `number` gives the number of a payload, if it is to have one.
fn write_fields(
    fields: &[(&str, Cow<'_, str>)],
    number: &mut dyn FnMut(&str) -> Option<i64>,
    m: &mut Encoder,
) -> Option<()> {
    let mut is_seen = [false; METADATA_FIELDS.len()];
    for (name, value) in fields {
        if *name == "profile_type" {
            let types = value.strip_prefix('{')?.strip_suffix('}')?;
            m.ints(5, &types.split(',').map(|t| t.trim().parse().ok()).collect::<Option<Vec<_>>>()?);
            continue;
        }
        if *name == PAYLOAD {
            let mut payload = Encoder::default();
            match number(value) {
                Some(number) => payload.int(2, number),
                None => payload.data(1, value.as_bytes()),
            }
            m.message(20, &payload);
            continue;
        }
        let row = METADATA_FIELDS.iter().position(|f| f.0 == *name)?;
        if std::mem::replace(&mut is_seen[row], true) {
            return None;
        }
        match &METADATA_FIELDS[row] {
            (_, number, true) => m.data(*number, value.as_bytes()),
            (_, number, false) => m.int(*number, value.parse().ok()?),
        }
    }
    Some(())
}

/// The text of `OpMetadata`, with its braces.
pub(crate) fn metadata_text(m: Message<'_>) -> Wire<String> {
    let mut text = String::new();
    metadata(m.bytes(), m.at, &[], &mut text)?;
    Ok(text)
}

/// Appends the text of `OpMetadata`, with its braces; false if it is empty.
fn metadata<'a>(bytes: &'a [u8], at: usize, payloads: &[&'a [u8]], out: &mut String) -> Wire<bool> {
    let mut values: [Option<Field<'_>>; 21] = [None; 21];
    let mut types = String::new();
    each_field(bytes, at, |f| {
        match f.number {
            5 => f.each_int(|n| {
                types.push(if types.is_empty() { '{' } else { ',' });
                push_int(&mut types, n);
            })?,
            n if n < 21 => values[n as usize] = Some(f),
            _ => {}
        }
        Ok(())
    })?;
    let start = out.len();
    out.push('{');
    for &(name, number, is_text) in METADATA_FIELDS {
        match values[number as usize].map(|f| (f, f.payload)) {
            Some((f, Payload::Bytes(bytes))) if is_text && !bytes.is_empty() => {
                begin(out, start, name);
                push_quoted(out, f.text()?);
            }
            Some((_, Payload::Varint(n))) if !is_text && n != 0 => {
                begin(out, start, name);
                push_int(out, n as i64);
            }
            _ => {}
        }
    }
    if !types.is_empty() {
        begin(out, start, "profile_type");
        out.push_str(&types);
        out.push('}');
    }
    if let Some(f) = values[20] {
        let bytes = payload(f.message()?, payloads)?;
        begin(out, start, PAYLOAD);
        match std::str::from_utf8(bytes) {
            Ok(text) => push_quoted(out, text),
            Err(_) => out.push_str(&escaped(bytes)),
        }
    }
    out.push('}');
    Ok(out.len() > start + 2)
}

fn begin(out: &mut String, start: usize, name: &str) {
    if out.len() > start + 1 {
        out.push(' ');
    }
    out.push_str(name);
    out.push('=');
}
