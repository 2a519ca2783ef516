//! Attributes whose value maps to one field, in both directions.
//!
//! [`read`] and [`write()`] have one arm per [`Codec`].

use std::fmt::Write;

use super::push_int;
use super::quote::{is_word, push_quoted};
use crate::attribute::schema::{Codec, Form, OperationField};
use crate::attribute::Value;
use crate::wire::{bad, Encoder, Message, Wire};

/// Appends the text of an attribute's value; false for the default, unless the attribute is required.
pub(crate) fn read(f: &OperationField, m: Message<'_>, out: &mut String) -> Wire<bool> {
    let (codec, is_required) = (f.field.codec, f.is_required);
    // An absent message has no fields.
    let (m, field) = m.at_path(f.field.path)?.unwrap_or((Message::new(&[], m.at)?, 0));
    Ok(match codec {
        Codec::Int => {
            let n = m.int(field);
            push_int(out, n);
            let is_default = match f.row.default {
                Some(default) => n == 0 || n == default,
                None => !m.has(field),
            };
            is_required || !is_default
        }
        Codec::FirstInt => {
            let mut first = None;
            m.each_int(field, |n| first = first.or(Some(n)))?;
            push_int(out, first.unwrap_or(0));
            is_required || first.is_some()
        }
        Codec::Bool => {
            let is_true = m.int(field) != 0;
            out.push_str(if is_true { "true" } else { "false" });
            is_required || is_true
        }
        Codec::Float => {
            let value = m.f32(field);
            let _ = if value.is_nan() { out.write_str("nan") } else { write!(out, "{value}") };
            true
        }
        Codec::Text => {
            let text = m.text(field)?;
            push_quoted(out, text);
            is_required || !text.is_empty()
        }
        Codec::Name => {
            let word = m.text(field)?;
            if !word.is_empty() && !is_word(word) {
                return bad(m.at, format!("{} {word:?}", f.row.name));
            }
            out.push_str(word);
            !word.is_empty()
        }
        Codec::Word(words) => {
            let n = m.int(field);
            match word(words, n) {
                Some("") => false,
                Some(word) => {
                    out.push_str(word);
                    is_required || (n != 0 && f.row.default != Some(n))
                }
                // A number without a word is newer than the schema.
                None if f.row.form == Form::Word => {
                    push_int(out, n);
                    true
                }
                None => return bad(m.at, format!("{n} for {}", f.row.name)),
            }
        }
        Codec::Ints => {
            let has_items = push_list(m, field, out, push_int)?;
            is_required || has_items
        }
        Codec::Words(words) => {
            let mut is_default = true;
            push_list(m, field, out, |out, n| {
                is_default &= n == 0;
                match word(words, n) {
                    Some(word) => out.push_str(word),
                    None => push_int(out, n),
                }
            })?;
            !is_default
        }
        _ => false,
    })
}

/// Appends the items of a field in braces; false if there are none.
fn push_list(m: Message<'_>, field: u32, out: &mut String, mut push: impl FnMut(&mut String, i64)) -> Wire<bool> {
    out.push('{');
    let mut has_items = false;
    m.each_int(field, |n| {
        out.push_str(if has_items { "," } else { "" });
        has_items = true;
        push(out, n);
    })?;
    out.push('}');
    Ok(has_items)
}

/// Writes the field of an attribute; `None` if it cannot represent the value.
pub(crate) fn write(f: &OperationField, value: Value<'_>, d: &mut Encoder) -> Option<()> {
    let field = *f.field.path.last()?;
    match (f.field.codec, value) {
        (Codec::Int, Value::Int(n)) if f.row.default.is_none() => d.int(field, n),
        (Codec::Int, Value::Int(n)) => d.int_unless_zero(field, n),
        (Codec::FirstInt, Value::Int(n)) => d.ints(field, &[n]),
        (Codec::Bool, Value::Bool(b)) => d.int_unless_zero(field, i64::from(b)),
        (Codec::Float, Value::Float(v)) => d.f32(field, v as f32),
        (Codec::Text, Value::Text(text)) => d.text_unless_empty(field, &text),
        (Codec::Name, Value::Word(word)) => d.text_unless_empty(field, word),
        // An invalid word has a number in the proto that stands for an absent one.
        (Codec::Word(_), Value::Word(word)) if !f.row.words.is_empty() && !f.row.words.contains(&word) => return None,
        (Codec::Word(words), Value::Word(word)) => d.int(field, number(words, word)?),
        (Codec::Word(words), Value::Bool(b)) => d.int(field, number(words, if b { "true" } else { "false" })?),
        (Codec::Ints, Value::Ints(all)) => d.ints(field, &all),
        (Codec::Words(words), Value::Words(all)) => {
            d.ints(field, &all.iter().map(|w| number(words, w)).collect::<Option<Vec<_>>>()?);
        }
        _ => return None,
    }
    Some(())
}

/// The word of a number; empty for a number that is not written in text.
fn word(words: &[&'static str], n: i64) -> Option<&'static str> {
    usize::try_from(n).ok().and_then(|n| words.get(n)).copied()
}

/// The number of a word; `None` if the enum does not have it, such as one from a newer XLA.
fn number(words: &[&str], word: &str) -> Option<i64> {
    words.iter().position(|w| if w.is_empty() { word == "unset" } else { *w == word }).map(|n| n as i64)
}
