//! The fields of `metadata`: `{op_name="add" source_line=3}`.

use super::fields::{name, string};
use super::{list, unknown_word};
use crate::cursor::{Cursor, Read};
use crate::error::{Diagnostic, Span};

/// The type of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// 32 bits in text.
    Int,
    /// A number that XLA does not read in text.
    Size,
    /// Numbers of `ProfileType`, in braces in text.
    Ints,
    /// A string of bytes, which many instructions may share.
    Payload,
}

/// Name, field number and type, in the order of printed metadata.
pub(crate) const METADATA_FIELDS: &[(&str, u32, Kind)] = &[
    ("op_type", 1, Kind::Text),
    ("op_name", 2, Kind::Text),
    ("source_file", 3, Kind::Text),
    ("source_line", 4, Kind::Int),
    ("source_end_line", 17, Kind::Int),
    ("source_column", 18, Kind::Int),
    ("source_end_column", 19, Kind::Int),
    ("stack_frame_id", 15, Kind::Int),
    ("size_of_generated_code_in_bytes", 8, Kind::Size),
    ("size_of_memory_working_set_in_bytes", 9, Kind::Size),
    ("profile_type", 5, Kind::Ints),
    ("deduplicated_name", 12, Kind::Text),
    ("scheduling_name", 16, Kind::Text),
    ("metadata_payload", 20, Kind::Payload),
];

pub(crate) fn is_number(name: &str) -> bool {
    METADATA_FIELDS.iter().any(|&(known, _, kind)| known == name && matches!(kind, Kind::Int | Kind::Size))
}

/// The largest number of `ProfileType`.
const LAST_PROFILE: i64 = 3;

/// Reads `{op_name="add" source_line=3}`. Commas are optional, and every field occurs at most once.
pub(crate) fn check(c: &mut Cursor<'_>) -> Read<()> {
    c.expect(b'{', "`{`")?;
    let mut seen = 0u32;
    loop {
        let is_comma = c.accept_after_space(b',');
        c.space();
        let start = *c;
        if c.accept(b'}') {
            return if is_comma { Err(start.expected("a field behind the comma")) } else { Ok(()) };
        }
        let field = name(c)?;
        let span = Span::new(start.pos, start.pos + field.len());
        let is_known = |row: &&(&str, u32, Kind)| row.2 != Kind::Size;
        let Some(k) = METADATA_FIELDS.iter().position(|row| row.0 == field && is_known(&row)) else {
            let known: Vec<&str> = METADATA_FIELDS.iter().filter(is_known).map(|row| row.0).collect();
            return Err(unknown_word("field of metadata", field, &known, span));
        };
        if seen >> k & 1 == 1 {
            return Err(Diagnostic::duplicate(span, "field", field));
        }
        seen |= 1 << k;
        match METADATA_FIELDS[k].2 {
            Kind::Text | Kind::Payload => drop(string(c)?),
            Kind::Int | Kind::Size => drop(int32(c)?),
            Kind::Ints => {
                let all = list(c, |c| {
                    let start = *c;
                    let n = int32(c)?;
                    (0..=LAST_PROFILE)
                        .contains(&n)
                        .then_some(())
                        .ok_or_else(|| start.expected("a profile type, 0 to 3"))
                });
                all?;
            }
        }
    }
}

/// An integer of 32 bits.
fn int32(c: &mut Cursor<'_>) -> Read<i64> {
    c.space();
    let start = c.pos;
    let n = c.int()?;
    if i32::try_from(n).is_ok() {
        return Ok(n);
    }
    let span = Span::new(start, c.pos);
    Err(Diagnostic::out_of_range(span, "s32", c.str(span)))
}
