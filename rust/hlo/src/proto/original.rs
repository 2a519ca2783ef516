//! Header tables about arrays of the unoptimized program, in both directions: `debug_attributes` and
//! `origin_recovery_table`.
//!
//! Read [`read_array`]: an array is `{"name" {index}}`, an `OriginalArrayProto`.

use std::fmt::Write;

use super::push_int;
use super::quote::quoted;
use super::wire::{Encoder, Message, Wire, WireError};
use crate::attribute::mesh::joined;
use crate::cursor::Cursor;

/// Words by number of `LogMode`. XLA's text has the second and the third.
const LOG_MODES: &[&str] = &["none", "default", "fusion_debugger", "no_fusion", "guaranteed"];
/// Name, number and whether it is a flag, of `DebugAttributesProto`.
const DEBUG_FIELDS: &[(&str, u32, bool)] = &[("callback_id", 2, false), ("op_id", 3, false), ("partitioned", 4, true)];

/// Appends `{"name" {index}}`; `{}` if there is no array.
pub(super) fn push_array(array: Option<Message<'_>>, out: &mut String) -> Wire<()> {
    out.push('{');
    if let Some(array) = array {
        out.push_str(&quoted(array.text(1)?));
        let index = array.ints(2)?;
        if !index.is_empty() {
            let _ = write!(out, " {{{}}}", joined(&index));
        }
    }
    out.push('}');
    Ok(())
}

/// Parses `{"name" {index}}`; the inner `None` stands for `{}`, the outer for anything else.
pub(super) fn read_array(c: &mut Cursor<'_>) -> Option<Option<Encoder>> {
    c.accept_after_space(b'{').then_some(())?;
    if c.accept_after_space(b'}') {
        return Some(None);
    }
    let mut array = Encoder::default();
    let name = c.string().ok()?;
    array.data(1, crate::unescape(c.str(name)).as_bytes());
    if c.accept_after_space(b'{') {
        let mut at = Vec::new();
        while !c.accept_after_space(b'}') {
            at.push(c.int().ok()?);
            c.accept_after_space(b',');
        }
        array.ints(2, &at);
    }
    c.accept_after_space(b'}').then_some(Some(array))
}

/// Appends the value of `debug_attributes` from the entries of the table.
pub(super) fn push_debug<'a>(entries: impl Iterator<Item = Wire<Message<'a>>>, out: &mut String) -> Wire<()> {
    out.push('{');
    for (k, entry) in entries.enumerate() {
        let entry = entry?;
        out.push_str(if k > 0 { ",\n  " } else { "\n  " });
        push_array(entry.sub(1)?, out)?;
        out.push_str(":(");
        for (k, attributes) in entry.subs(2).enumerate() {
            let attributes = attributes?;
            out.push_str(if k > 0 { ",{" } else { "{" });
            let mut comma = "";
            let mode = attributes.int(1);
            if mode != 0 {
                let Some(word) = usize::try_from(mode).ok().and_then(|k| LOG_MODES.get(k)) else {
                    return Err(WireError { at: attributes.at, found: format!("log mode {mode}") });
                };
                let _ = write!(out, "log_mode={word}");
                comma = ",";
            }
            for &(name, number, is_flag) in DEBUG_FIELDS {
                let value = attributes.int(number);
                if value != 0 {
                    let _ = write!(out, "{comma}{name}=");
                    if is_flag {
                        out.push_str("true");
                    } else {
                        push_int(out, value);
                    }
                    comma = ",";
                }
            }
            out.push('}');
        }
        out.push(')');
    }
    out.push_str("\n}");
    Ok(())
}

/// The entries of `debug_attributes`, sorted by array; `None` if the proto cannot represent the text.
pub(super) fn debug_entries(text: &str) -> Option<Vec<Encoder>> {
    let mut c = Cursor::new(text);
    let mut all: Vec<(Vec<u8>, Encoder)> = Vec::new();
    c.accept_after_space(b'{').then_some(())?;
    while !c.accept_after_space(b'}') {
        let array = read_array(&mut c)??;
        let mut entry = Encoder::default();
        entry.message(1, &array);
        (c.accept_after_space(b':') && c.accept_after_space(b'(')).then_some(())?;
        while !c.accept_after_space(b')') {
            entry.message(2, &debug_item(&mut c)?);
            c.accept_after_space(b',');
        }
        all.push((array.0, entry));
        c.accept_after_space(b',');
    }
    c.space();
    c.at_end().then_some(())?;
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Some(all.into_iter().map(|(_, entry)| entry).collect())
}

fn debug_item(c: &mut Cursor<'_>) -> Option<Encoder> {
    let mut item = Encoder::default();
    c.accept_after_space(b'{').then_some(())?;
    while !c.accept_after_space(b'}') {
        c.space();
        let name = c.word();
        c.accept_after_space(b'=').then_some(())?;
        c.space();
        if name == "log_mode" {
            let word = c.word();
            item.int_unless_zero(1, LOG_MODES.iter().position(|known| *known == word)? as i64);
        } else {
            let &(_, number, is_flag) = DEBUG_FIELDS.iter().find(|field| field.0 == name)?;
            let value = match is_flag {
                true => i64::from(c.word() == "true"),
                false => c.int().ok()?,
            };
            item.int_unless_zero(number, value);
        }
        c.accept_after_space(b',');
    }
    Some(item)
}

/// Appends the value of `origin_recovery_table`: pairs of arrays, each perhaps with the text of a module that computes
/// the old one from the new one.
pub(super) fn push_recovery<'a>(
    entries: impl Iterator<Item = Wire<Message<'a>>>,
    limit: usize,
    out: &mut String,
) -> Wire<()> {
    out.push_str("{\n");
    for entry in entries {
        let entry = entry?;
        out.push_str("  ");
        push_array(entry.sub(1)?, out)?;
        out.push_str(" : ");
        push_array(entry.sub(2)?, out)?;
        if let Some(module) = entry.sub(3)? {
            let read = super::read::inner_module(module, limit.saturating_sub(out.len()))?;
            let Ok(module) = read else {
                return Err(WireError {
                    at: entry.at,
                    found: "a module that recovers an array and cannot be read".into(),
                });
            };
            let mut text = String::from("\n");
            for line in module.to_string().trim_end().lines() {
                let indent = if line.is_empty() { "" } else { "    " };
                let _ = writeln!(text, "{indent}{line}");
            }
            text.push_str("  ");
            let _ = write!(out, ",\n  \"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        }
        out.push('\n');
    }
    out.push('}');
    Ok(())
}

/// The entries of `origin_recovery_table`; `None` if the proto cannot represent the text.
pub(super) fn recovery_entries(text: &str) -> Option<Vec<Encoder>> {
    let mut c = Cursor::new(text);
    let mut all = Vec::new();
    c.accept_after_space(b'{').then_some(())?;
    while !c.accept_after_space(b'}') {
        let mut entry = Encoder::default();
        entry.message(1, &read_array(&mut c)??);
        c.accept_after_space(b':').then_some(())?;
        if let Some(new) = read_array(&mut c)? {
            entry.message(2, &new);
        }
        c.accept_after_space(b',');
        c.space();
        if matches!(c.peek(), Some(b'"' | b'\'')) {
            let span = c.string().ok()?;
            let modules = crate::parse(&crate::unescape(c.str(span)), None, false).ok()?;
            let [module] = &modules[..] else { return None };
            entry.data(3, &module.to_proto().ok()?);
        }
        all.push(entry);
        c.accept_after_space(b',');
    }
    c.space();
    c.at_end().then_some(all)
}
