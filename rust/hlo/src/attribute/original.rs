//! Tables in the header of a module by arrays of the unoptimized program: `debug_attributes`, and how to recover arrays
//! that no longer exist, `origin_recovery_table`.
//!
//! Texts have the form in which XLA prints them.

use std::sync::LazyLock;

use super::schema::{self, row, Codec, Form, OperationField, Row};
use super::{plain, unescape, Value};
use crate::cursor::{Cursor, Read};
use crate::error::Span;

/// `{"name" {1,0}}`: the result of an instruction, or a part of the result.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Array {
    pub name: String,
    pub index: Vec<i64>,
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
}

/// Words of `DebugLogModeProto`, by number.
const LOG_MODES: &[&str] = &["none", "default", "fusion_debugger", "no_fusion", "guaranteed"];

/// The fields of a `DebugAttributesProto` in the order of the text, which has those of its `X64ConfigProto` beside them.
pub(crate) static DEBUG_FIELDS: LazyLock<Vec<OperationField>> = LazyLock::new(|| {
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
    schema::fields(ROWS, "", &[], &|_| true)
});

/// The number of leading fields that XLA reads in text, and the log modes that it reads.
const N_READABLE: usize = 4;
const READABLE_MODES: &[&str] = &["default", "fusion_debugger"];

/// The fields of one item of `debug_attributes` with their values.
pub(crate) type DebugItem<'a> = Vec<(&'static OperationField, Value<'a>)>;

/// Reads the rows of `debug_attributes` by array, each with its items. Content that XLA has in protos but does
/// not read in text is an error if `is_strict`.
pub(crate) fn debug_entries<'a>(c: &mut Cursor<'a>, is_strict: bool) -> Read<Vec<(Option<Array>, Vec<DebugItem<'a>>)>> {
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

fn debug_item<'a>(c: &mut Cursor<'a>, is_strict: bool) -> Read<DebugItem<'a>> {
    c.expect(b'{', "`{` of debug attributes")?;
    let mut item = Vec::new();
    let n = if is_strict { N_READABLE } else { DEBUG_FIELDS.len() };
    while !(c.accept_after_space(b'}') && !(is_strict && item.is_empty())) {
        c.space();
        let start = *c;
        let name = c.word();
        c.expect(b'=', "`=` behind the name of a debug attribute")?;
        c.space();
        let at = *c;
        let Some(f) = DEBUG_FIELDS[..n].iter().find(|f| f.row.name == name) else {
            return Err(start.expected("log_mode, callback_id, op_id or partitioned"));
        };
        let value = plain(c, f.row.form)?.unwrap_or_else(|| Value::Word(c.word()));
        let modes = if is_strict { READABLE_MODES } else { LOG_MODES };
        if matches!(value, Value::Word(word) if !modes.contains(&word)) {
            return Err(at.expected("default or fusion_debugger"));
        }
        item.push((f, value));
        c.accept_after_space(b',');
    }
    Ok(item)
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
