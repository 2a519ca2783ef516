//! Tables in the header of a module by arrays of the unoptimized program: `debug_attributes`, and how to recover arrays
//! that no longer exist, `origin_recovery_table`.
//!
//! Each table has one function per direction. Texts have the form in which XLA prints them.

use std::fmt::Write;
use std::sync::LazyLock;

use super::quote::push_quoted;
use super::read::Reader;
use super::regular;
use crate::attribute::schema::{self, row, Codec, Form, OperationField, Row};
use crate::attribute::{self, unescape, Value};
use crate::cursor::{Cursor, Read};
use crate::error::Span;
use crate::wire::{Encoder, Message, Wire};

/// `{"name" {1,0}}`: the result of an instruction, or a part of the result.
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
const LOG_MODES: &[&str] = &["none", "default", "fusion_debugger", "no_fusion", "guaranteed"];

/// The fields of a `DebugAttributesProto` in the order of the text, which has those of its `X64ConfigProto` beside them.
static DEBUG_FIELDS: LazyLock<Vec<OperationField>> = LazyLock::new(|| {
    const ROWS: &[Row] = &[
        row("log_mode", Form::Raw, "*").field_as(&[1], Codec::Word(LOG_MODES)),
        row("callback_id", Form::Int, "*").field(&[2]),
        row("partitioned", Form::Bool, "*").field(&[4]),
        row("op_id", Form::Int, "*").field(&[3]),
        row("operands_sharding", Form::Text, "*").field(&[5]),
        row("xprecision_64bit_fragment", Form::Text, "*").field(&[6, 1]),
        row("original_log_instruction_name", Form::Text, "*").field(&[6, 2]),
        row("xprecision_64bit_original_type", Form::Text, "*").field(&[6, 3]),
    ];
    schema::fields(ROWS, "", &[])
});

/// The number of leading fields that XLA reads in text, and the log modes that it reads.
const N_READABLE: usize = 4;
const READABLE_MODES: [&str; 2] = ["default", "fusion_debugger"];

/// Reads the rows of `debug_attributes` by array, each with its `DebugAttributesProto`s. Content that XLA has in protos
/// but does not read in text is an error if `is_strict`.
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
    let n = if is_strict { N_READABLE } else { DEBUG_FIELDS.len() };
    while !(c.accept_after_space(b'}') && !(is_strict && is_empty)) {
        c.space();
        let start = *c;
        let name = c.word();
        c.expect(b'=', "`=` behind the name of a debug attribute")?;
        c.space();
        let at = *c;
        let Some(f) = DEBUG_FIELDS[..n].iter().find(|f| f.row.name == name) else {
            return Err(start.expected("log_mode, callback_id, op_id or partitioned"));
        };
        let value = attribute::plain(c, f.row.form)?.unwrap_or_else(|| Value::Word(c.word()));
        let is_readable = !is_strict || !matches!(value, Value::Word(word) if !READABLE_MODES.contains(&word));
        let written = match value {
            // The mode of an absent field.
            Value::Word("none") => Some(()),
            value => regular::write(f, value, if f.field.path.len() > 1 { &mut x64 } else { &mut d }),
        };
        written.filter(|()| is_readable).ok_or_else(|| at.expected("default or fusion_debugger"))?;
        is_empty = false;
        c.accept_after_space(b',');
    }
    if !x64.0.is_empty() {
        d.message(6, &x64);
    }
    Ok(d)
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
