//! Attributes whose value maps to one field, in both directions.
//!
//! Read [`read`] and [`write()`], which have one arm per [`Codec`].

use super::quote::{is_word, quoted};
use super::wire::{Encoder, Message, Wire, WireError};
use crate::attribute::mesh::joined;
use crate::attribute::schema::{Codec, OperationField};
use crate::attribute::Value;

/// The text of an attribute's value; `None` for the default, unless the attribute is required.
pub(crate) fn read(f: &OperationField, codec: Codec, m: Message<'_>) -> Wire<Option<String>> {
    let is_required = f.is_required;
    let Some((m, field)) = m.at_path(f.field.path)? else {
        let default = match codec {
            Codec::Ints => "{}",
            Codec::Int => "0",
            Codec::Bool => "false",
            _ => return Ok(None),
        };
        return Ok(is_required.then(|| default.into()));
    };
    Ok(match codec {
        Codec::Int => {
            let n = m.int(field);
            let is_default = match f.row.default {
                Some(default) => n == 0 || n == default,
                None => !m.has(field),
            };
            (is_required || !is_default).then(|| n.to_string())
        }
        Codec::FirstInt => match m.ints(field)?.first() {
            Some(n) => Some(n.to_string()),
            None => is_required.then(|| "0".into()),
        },
        Codec::Bool => (is_required || m.int(field) != 0).then(|| (m.int(field) != 0).to_string()),
        Codec::Float => Some(format!("{}", m.f32(field))),
        Codec::Text => {
            let text = m.text(field)?;
            (is_required || !text.is_empty()).then(|| quoted(text))
        }
        Codec::Name => {
            let word = m.text(field)?;
            if !word.is_empty() && !is_word(word) {
                return Err(WireError { at: m.at, found: format!("{} {word:?}", f.row.name) });
            }
            (!word.is_empty()).then(|| word.to_string())
        }
        Codec::Word(words) => {
            let n = m.int(field);
            match word(words, n) {
                Some("") => None,
                Some(word) => (is_required || n != 0).then(|| word.to_string()),
                // A number without a word is newer than the schema.
                None => Some(n.to_string()),
            }
        }
        Codec::Ints => {
            let all = m.ints(field)?;
            (is_required || !all.is_empty()).then(|| format!("{{{}}}", joined(&all)))
        }
        Codec::Words(words) => {
            let all = m.ints(field)?;
            let text = |n: i64| word(words, n).map_or_else(|| n.to_string(), str::to_string);
            let is_default = all.iter().all(|&n| n == 0);
            (!is_default).then(|| format!("{{{}}}", all.into_iter().map(text).collect::<Vec<_>>().join(",")))
        }
        Codec::Irregular(_) => None,
    })
}

/// The field of an attribute; `None` if it cannot represent the value.
pub(crate) fn write(f: &OperationField, codec: Codec, value: Value<'_>) -> Option<Encoder> {
    let mut d = Encoder::default();
    let field = *f.field.path.last()?;
    match (codec, value) {
        (Codec::Int, Value::Int(n)) if f.row.default.is_none() => d.int(field, n),
        (Codec::Int, Value::Int(n)) => d.int_unless_zero(field, n),
        (Codec::FirstInt, Value::Int(n)) => d.ints(field, &[n]),
        (Codec::Bool, Value::Bool(b)) => d.int_unless_zero(field, i64::from(b)),
        (Codec::Float, Value::Float(v)) => d.f32(field, v as f32),
        (Codec::Text, Value::Text(text)) => d.text_unless_empty(field, &text),
        (Codec::Name, Value::Word(word)) => d.text_unless_empty(field, word),
        (Codec::Word(words), Value::Word(word)) => d.int(field, number(words, word)?),
        (Codec::Word(words), Value::Bool(b)) => d.int(field, number(words, if b { "true" } else { "false" })?),
        (Codec::Ints, Value::Ints(all)) => d.ints(field, &all),
        (Codec::Words(words), Value::Words(all)) => {
            d.ints(field, &all.iter().map(|w| number(words, w)).collect::<Option<Vec<_>>>()?);
        }
        _ => return None,
    }
    Some(d)
}

/// The word of a number; empty for a number that is not written in text.
fn word(words: &[&'static str], n: i64) -> Option<&'static str> {
    usize::try_from(n).ok().and_then(|n| words.get(n)).copied()
}

/// The number of a word; `None` if the enum does not have it, such as one from a newer XLA.
fn number(words: &[&str], word: &str) -> Option<i64> {
    words.iter().position(|w| *w == word && !w.is_empty()).map(|n| n as i64)
}
