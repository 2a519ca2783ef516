//! Tables in the header of a module by arrays of the unoptimized program: `debug_attributes`, and how to recover arrays
//! that no longer exist, `origin_recovery_table`.
//!
//! Each table has one function per direction. Texts have the form in which XLA prints them.

use std::fmt::Write;

use super::quote::push_quoted;
use super::read::Reader;
use super::wire::{bad, Encoder, Message, Wire};
use crate::attribute::unescape;
use crate::cursor::{Cursor, Read};
use crate::error::Span;

/// `{"name" {1,0}}`: the result of an instruction, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Array {
    name: String,
    index: Vec<i64>,
}

impl Array {
    /// The array at the cursor; `None` for `{}`.
    pub fn parse(c: &mut Cursor<'_>) -> Read<Option<Array>> {
        c.expect(b'{', "`{` and the name of an instruction")?;
        if c.accept_after_space(b'}') {
            return Ok(None);
        }
        let name = c.string()?;
        let name = unescape(c.str(name)).into_owned();
        let mut index = Vec::new();
        if c.accept_after_space(b'{') {
            while !c.accept_after_space(b'}') {
                index.push(c.int()?);
                c.accept_after_space(b',');
            }
        }
        c.expect(b'}', "`}` behind the name of an instruction")?;
        Ok(Some(Array { name, index }))
    }

    pub fn read(m: Message<'_>) -> Wire<Array> {
        Ok(Array { name: m.text(1)?.to_string(), index: m.ints(2)? })
    }

    pub fn push(array: Option<&Array>, out: &mut String) {
        out.push('{');
        if let Some(array) = array {
            push_quoted(out, &array.name);
            if !array.index.is_empty() {
                // Writing to a string does not fail.
                let _ = write!(out, " {{{}}}", crate::attribute::mesh::joined(&array.index));
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

/// Words of `DebugLogModeProto`, by number.
const LOG_MODES: [&str; 5] = ["none", "default", "fusion_debugger", "no_fusion", "guaranteed"];
/// Those that XLA reads in text.
const READABLE_MODES: [&str; 2] = ["default", "fusion_debugger"];

/// Names and numbers of the strings of `X64ConfigProto`, which text has as fields of their own.
const X64_FIELDS: [(&str, u32); 3] =
    [("xprecision_64bit_fragment", 1), ("original_log_instruction_name", 2), ("xprecision_64bit_original_type", 3)];

/// The rows of `debug_attributes` by array, each with its `DebugAttributesProto`s. What XLA does not read in text, but has in protos, is
/// an error if `is_strict`.
pub(crate) fn debug_entries(c: &mut Cursor<'_>, is_strict: bool) -> Read<Vec<(Option<Array>, Vec<Encoder>)>> {
    c.expect(b'{', "`{` of debug attributes")?;
    let mut all = Vec::new();
    while !c.accept_after_space(b'}') {
        let array = Array::parse(c)?;
        c.expect(b':', "`:` and debug attributes")?;
        c.expect(b'(', "`(` of a list of debug attributes")?;
        let mut items = Vec::new();
        loop {
            items.push(debug_item(c, is_strict)?);
            if !c.accept_after_space(b',') {
                break;
            }
        }
        c.expect(b')', "`,` or `)` of a list of debug attributes")?;
        all.push((array, items));
        c.accept_after_space(b',');
    }
    Ok(all)
}

fn debug_item(c: &mut Cursor<'_>, is_strict: bool) -> Read<Encoder> {
    let (mut d, mut x64) = (Encoder::default(), Encoder::default());
    c.expect(b'{', "`{` of debug attributes")?;
    let mut is_empty = true;
    while !(c.accept_after_space(b'}') && !(is_strict && is_empty)) {
        c.space();
        let start = *c;
        let name = c.word();
        c.expect(b'=', "`=` behind the name of a debug attribute")?;
        c.space();
        let x64_field = X64_FIELDS.iter().find(|field| field.0 == name);
        match name {
            "log_mode" => {
                let at = *c;
                let word = c.word();
                match LOG_MODES.iter().position(|mode| *mode == word) {
                    Some(n) if !is_strict || READABLE_MODES.contains(&word) => d.int_unless_zero(1, n as i64),
                    _ => return Err(at.expected("default or fusion_debugger")),
                }
            }
            "callback_id" => d.int_unless_zero(2, c.int()?),
            "op_id" => d.int_unless_zero(3, c.int()?),
            "partitioned" => d.int_unless_zero(4, i64::from(crate::attribute::boolean(c)?)),
            "operands_sharding" if !is_strict => d.text_unless_empty(5, &text(c)?),
            _ if x64_field.is_some() && !is_strict => x64.text_unless_empty(x64_field.map_or(0, |f| f.1), &text(c)?),
            _ => return Err(start.expected("log_mode, callback_id, op_id or partitioned")),
        }
        is_empty = false;
        c.accept_after_space(b',');
    }
    if !x64.0.is_empty() {
        d.message(6, &x64);
    }
    Ok(d)
}

fn text(c: &mut Cursor<'_>) -> Read<String> {
    let span = c.string()?;
    Ok(unescape(c.str(span)).into_owned())
}

/// Appends the text of `DebugAttributeTableEntryProto`s, by array.
pub(super) fn read_debug_attributes(m: Message<'_>, number: u32, out: &mut String) -> Wire<()> {
    let row = |entry: Message<'_>| {
        let mut items = Vec::new();
        for m in entry.subs(2) {
            let m = m?;
            let mode = usize::try_from(m.int(1)).ok().and_then(|n| LOG_MODES.get(n));
            let Some(mode) = mode else {
                return bad(m.at, format!("log mode {} of debug attributes", m.int(1)));
            };
            let mut fields = Vec::new();
            if m.int(1) != 0 {
                fields.push(format!("log_mode={mode}"));
            }
            for (name, number) in [("callback_id", 2), ("op_id", 3)] {
                if m.int(number) != 0 {
                    fields.push(format!("{name}={}", m.int(number)));
                }
            }
            if m.int(4) != 0 {
                fields.insert(fields.len() - usize::from(m.int(3) != 0), "partitioned=true".into());
            }
            let mut push = |name: &str, value: &str| {
                if !value.is_empty() {
                    fields.push(format!("{name}={}", super::quote::quoted(value)));
                }
            };
            push("operands_sharding", m.text(5)?);
            if let Some(x64) = m.sub(6)? {
                for (name, number) in X64_FIELDS {
                    push(name, x64.text(number)?);
                }
            }
            // XLA does not read an empty item.
            items.push(if fields.is_empty() { "{op_id=0}".into() } else { format!("{{{}}}", fields.join(",")) });
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
            items.iter().for_each(|item| d.message(2, item));
        });
    }
    c.at_end().then_some(())
}

/// A row of the recovery table: the old array, the new one, and how to compute the old from it, as the text of a module.
pub(crate) type Recovery = (Option<Array>, Option<Array>, Option<Span>);

/// The rows of `origin_recovery_table`.
pub(crate) fn recoveries(c: &mut Cursor<'_>) -> Read<Vec<Recovery>> {
    c.expect(b'{', "`{` of a recovery table")?;
    let mut all = Vec::new();
    while !c.accept_after_space(b'}') {
        let old = Array::parse(c)?;
        c.expect(b':', "`:` and the array from which to recover")?;
        let new = Array::parse(c)?;
        let is_comma = c.accept_after_space(b',');
        c.space();
        let has_module = is_comma && matches!(c.peek(), Some(b'"' | b'\''));
        all.push((old, new, if has_module { Some(c.string()?) } else { None }));
        c.accept_after_space(b',');
    }
    Ok(all)
}

/// Appends the text of an `OriginalValueRecoveryTableProto`.
pub(super) fn read_recovery_table(m: Message<'_>, r: &mut Reader<'_>) -> Wire<()> {
    r.out.push('{');
    for entry in m.subs(1) {
        let entry = entry?;
        r.out.push_str("\n  ");
        Array::push(entry.sub(1)?.map(Array::read).transpose()?.as_ref(), &mut r.out);
        r.out.push_str(" : ");
        Array::push(entry.sub(2)?.map(Array::read).transpose()?.as_ref(), &mut r.out);
        if let Some(module) = entry.sub(3)? {
            r.out.push_str(",\n  \"\n");
            for line in r.nested(module)?.to_string().lines() {
                let indent = if line.is_empty() { "" } else { "    " };
                let _ = writeln!(r.out, "{indent}{}", line.replace('\\', "\\\\").replace('"', "\\\""));
            }
            r.out.push_str("\n\n  \"");
        }
    }
    r.out.push_str("\n}");
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
            let [module] = &crate::parse::parse(&text, None, false).ok()?[..] else { return None };
            entry.data(3, &module.to_proto().ok()?);
        }
        table.message(1, &entry);
    }
    d.message(number, &table);
    c.at_end().then_some(())
}

/// The fields that a text of one of these tables, or of an origin, becomes, for comparisons.
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
