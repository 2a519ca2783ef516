//! The tables by arrays of the unoptimized program, `debug_attributes` and `origin_recovery_table`, in both directions.
//!
//! Each table has one function per direction.

use std::fmt::Write;

use super::quote::push_quoted;
use super::read::Reader;
use super::regular;
use crate::attribute::mesh::joined;
use crate::attribute::original::{debug_entries, recoveries, Array, DebugItem, DEBUG_FIELDS};
use crate::attribute::{unescape, Value};
use crate::cursor::Cursor;
use crate::error::Source;
use crate::parse::parse_source;
use crate::wire::{Encoder, Message, Wire};

impl Array {
    pub fn read(m: Message<'_>) -> Wire<Array> {
        Ok(Array { name: m.text(1)?.to_string(), index: m.ints(2)? })
    }

    pub fn push(array: Option<&Array>, out: &mut String) {
        out.push('{');
        if let Some(array) = array {
            push_quoted(out, &array.name);
            if !array.index.is_empty() {
                // Writing to a string does not fail.
                let _ = write!(out, " {{{}}}", joined(&array.index));
            }
        }
        out.push('}');
    }

    pub fn write(&self) -> Encoder {
        let mut d = Encoder::default();
        d.data(1, self.name.as_bytes());
        d.ints(2, &self.index);
        d
    }
}

/// Appends the text of `DebugAttributeTableEntryProto`s, by array.
pub(super) fn read_debug_attributes(m: Message<'_>, number: u32, out: &mut String) -> Wire<()> {
    let row = |entry: Message<'_>| {
        let mut items = Vec::new();
        for m in entry.subs(2) {
            let m = m?;
            let mut item = String::from("{");
            for f in DEBUG_FIELDS.iter() {
                let before = item.len();
                let _ = write!(item, "{}{}=", if before > 1 { "," } else { "" }, f.row.name);
                if !regular::read(f, m, &mut item)? {
                    item.truncate(before);
                }
            }
            // XLA does not read an empty item.
            item.push_str(if item.len() == 1 { "op_id=0}" } else { "}" });
            items.push(item);
        }
        Ok((entry.sub(1)?.map(Array::read).transpose()?, items))
    };
    let mut rows = m.subs(number).map(|entry| row(entry?)).collect::<Wire<Vec<_>>>()?;
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    out.push('{');
    for (k, (array, items)) in rows.iter().enumerate() {
        out.push_str(if k > 0 { ",\n  " } else { "\n  " });
        Array::push(array.as_ref(), out);
        let _ = write!(out, ":({})", items.join(","));
    }
    out.push_str("\n}");
    Ok(())
}

/// Writes the rows of `debug_attributes` as messages; `None` for a text that is not such a table.
pub(crate) fn write_debug_attributes(text: &str, number: u32, d: &mut Encoder) -> Option<()> {
    let mut c = Cursor::new(text);
    let mut rows = debug_entries(&mut c, false).ok()?;
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    for (array, items) in rows {
        d.nested(number, |d| {
            array.iter().for_each(|array| d.message(1, &array.write()));
            items.into_iter().try_for_each(|item| {
                d.message(2, &write_debug_item(item)?);
                Some(())
            })
        })?;
    }
    c.at_end().then_some(())
}

/// A `DebugAttributesProto`.
fn write_debug_item(item: DebugItem<'_>) -> Option<Encoder> {
    let (mut d, mut x64) = (Encoder::default(), Encoder::default());
    for (f, value) in item {
        // The mode of an absent field.
        if value != Value::Word("none") {
            regular::write(f, value, if f.field.path.len() > 1 { &mut x64 } else { &mut d })?;
        }
    }
    if !x64.0.is_empty() {
        d.message(6, &x64);
    }
    Some(d)
}

/// Appends the text of an `OriginalValueRecoveryTableProto`.
pub(super) fn read_recovery_table(m: Message<'_>, r: &mut Reader<'_>) -> Wire<()> {
    r.text.push('{');
    for entry in m.subs(1) {
        let entry = entry?;
        r.text.push_str("\n  ");
        Array::push(entry.sub(1)?.map(Array::read).transpose()?.as_ref(), &mut r.text);
        r.text.push_str(" : ");
        Array::push(entry.sub(2)?.map(Array::read).transpose()?.as_ref(), &mut r.text);
        if let Some(module) = entry.sub(3)? {
            r.text.push_str(",\n  \"\n");
            for line in r.nested(module)?.to_string().lines() {
                let indent = if line.is_empty() { "" } else { "    " };
                let _ = writeln!(r.text, "{indent}{}", line.replace('\\', "\\\\").replace('"', "\\\""));
            }
            r.text.push_str("\n\n  \"");
        }
    }
    r.text.push_str("\n}");
    Ok(())
}

/// Writes `origin_recovery_table` as a message; `None` for a text that is not such a table.
pub(crate) fn write_recovery_table(text: &str, number: u32, d: &mut Encoder) -> Option<()> {
    let mut c = Cursor::new(text);
    let mut table = Encoder::default();
    for (old, new, module) in recoveries(&mut c).ok()? {
        let mut entry = Encoder::default();
        for (number, array) in [(1, old), (2, new)] {
            array.iter().for_each(|array| entry.message(number, &array.write()));
        }
        if let Some(module) = module {
            let text = unescape(c.str(module));
            let [module] = &parse_source(Source::new(text, None), Vec::new(), false).ok()?[..] else { return None };
            entry.data(3, &module.to_proto().ok()?);
        }
        table.message(1, &entry);
    }
    d.message(number, &table);
    c.at_end().then_some(())
}

/// The encoded fields of a text of one of these tables or of an origin, for comparisons.
pub(crate) fn encoded(name: &str, text: &str) -> Option<Vec<u8>> {
    let mut d = Encoder::default();
    match name {
        "debug_attributes" => write_debug_attributes(text, 1, &mut d)?,
        "origin_recovery_table" => write_recovery_table(text, 1, &mut d)?,
        "origin" => super::origin::write(text, &mut d)?,
        _ => return None,
    }
    Some(d.0)
}
