//! `metadata`, in both directions: `OpMetadata` and `{op_name="x" source_line=1}`.

use smallvec::SmallVec;

use super::payload::{Payloads, WrittenPayloads};
use super::push_int;
use super::quote::{push_bytes, push_quoted};
use crate::attribute::fields::{each_raw_field, quoted};
use crate::attribute::metadata::{Kind, METADATA_FIELDS};
use crate::attribute::{unescape, unescape_bytes};
use crate::error::Span;
use crate::wire::{bit, each_field, Encoder, Field, Message, Payload, Wire};

/// Writes the fields of a text; `None` if one of them is unknown. Payloads go to `payloads`, or in place.
pub(crate) fn write(text: &str, payloads: Option<&WrittenPayloads>, m: &mut Encoder) -> Option<()> {
    let mut is_seen = [false; METADATA_FIELDS.len()];
    let mut result = Some(());
    each_raw_field(text, Span::new(0, text.len()), |name, value| {
        result = result.and_then(|()| {
            let row = METADATA_FIELDS.iter().position(|f| f.0 == name)?;
            if std::mem::replace(&mut is_seen[row], true) {
                return None;
            }
            let (_, number, kind) = METADATA_FIELDS[row];
            match kind {
                Kind::Text => m.data(number, quoted(value).map_or(value.into(), unescape).as_bytes()),
                Kind::Int | Kind::Size => m.int(number, quoted(value).unwrap_or(value).parse().ok()?),
                Kind::Ints => {
                    let all = value.strip_prefix('{')?.strip_suffix('}')?.split(',');
                    m.ints(number, &all.map(|n| n.trim().parse().ok()).collect::<Option<Vec<_>>>()?);
                }
                Kind::Payload => {
                    let bytes = unescape_bytes(quoted(value)?);
                    m.nested(number, |m| match payloads {
                        Some(payloads) => m.int(2, payloads.id(&bytes)),
                        None => m.data(1, &bytes),
                    });
                }
            }
            Some(())
        });
    });
    result
}

/// The text of `OpMetadata`, with its braces.
pub(crate) fn metadata_text(m: Message<'_>, payloads: &Payloads<'_>) -> Wire<String> {
    let mut text = String::new();
    read(m.bytes(), m.at, payloads, &mut text)?;
    Ok(text)
}

/// Appends the text of `OpMetadata`, with its braces; false if it is empty.
pub(crate) fn read(bytes: &[u8], at: usize, payloads: &Payloads<'_>, out: &mut String) -> Wire<bool> {
    let mut fields: SmallVec<[Field<'_>; 12]> = SmallVec::new();
    let mut types = String::new();
    let mut there = 0;
    each_field(bytes, at, |f| {
        there |= bit(f.number);
        match f.number {
            5 => f.each_int(|n| {
                types.push(if types.is_empty() { '{' } else { ',' });
                push_int(&mut types, n);
            }),
            _ => {
                fields.push(f);
                Ok(())
            }
        }
    })?;
    let start = out.len();
    out.push('{');
    for &(name, number, kind) in METADATA_FIELDS.iter().filter(|row| there & bit(row.1) != 0) {
        match (kind, fields.iter().rev().find(|f| f.number == number).map(|f| (f, f.payload))) {
            (Kind::Text, Some((f, Payload::Bytes(bytes)))) if !bytes.is_empty() => {
                begin(out, start, name);
                push_quoted(out, f.text()?);
            }
            (Kind::Int | Kind::Size, Some((_, Payload::Varint(n)))) if n != 0 => {
                begin(out, start, name);
                push_int(out, n as i64);
            }
            (Kind::Ints, _) if !types.is_empty() => {
                begin(out, start, name);
                out.push_str(&types);
                out.push('}');
            }
            (Kind::Payload, Some((f, _))) => {
                begin(out, start, name);
                push_bytes(out, payloads.of(f.message()?)?);
            }
            _ => {}
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
