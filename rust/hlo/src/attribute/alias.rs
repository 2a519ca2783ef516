//! Buffer sharing: outputs that alias parameters or operands, and donated buffers.

use std::fmt;

use crate::attribute::list;
use crate::attribute::mesh::joined;
use crate::cursor::{Cursor, Read};

/// `{0}: (1, {}, must-alias)` of `input_output_alias`, or `{0}: (1, {})` of `output_to_operand_aliasing`: a subshape of
/// the output shares its buffer with a subshape of a parameter or operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Alias {
    /// The shape index in the output.
    pub output_index: Vec<i64>,
    /// The number of the parameter or the index of the operand.
    pub number: i64,
    /// The shape index in it.
    pub index: Vec<i64>,
    /// `must-alias` rather than `may-alias`; only for parameters.
    pub must: bool,
}

/// `(1, {})` of `buffer_donor`: a subshape of a parameter whose buffer an output may reuse.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Donor {
    /// The number of the parameter.
    pub number: i64,
    /// The shape index in it.
    pub index: Vec<i64>,
}

/// `{ {}: (0, {}, may-alias), … }`
pub(crate) fn aliases(c: &mut Cursor<'_>, kinds: Kinds) -> Read<Vec<Alias>> {
    list(c, |c| {
        let output_index = index(c)?;
        c.expect(b':', "`:`")?;
        let (number, index) = place(c)?;
        let mut alias = Alias { output_index, number, index, must: false };
        if kinds == Kinds::Written && c.accept_after_space(b',') {
            c.space();
            let at = *c;
            alias.must = match c.word() {
                "must-alias" => true,
                "may-alias" => false,
                _ => return Err(at.expected("may-alias or must-alias")),
            };
        }
        c.expect(b')', "`)`")?;
        Ok(alias)
    })
}

/// Whether the text has `may-alias` or `must-alias`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kinds {
    Written,
    None,
}

/// `{ (1, {}), … }`
pub(crate) fn donors(c: &mut Cursor<'_>) -> Read<Vec<Donor>> {
    list(c, |c| {
        let (number, index) = place(c)?;
        c.expect(b')', "`)`")?;
        Ok(Donor { number, index })
    })
}

/// `(1, {}`
fn place(c: &mut Cursor<'_>) -> Read<(i64, Vec<i64>)> {
    c.expect(b'(', "`(`")?;
    let number = c.int()?;
    c.expect(b',', "`,`")?;
    Ok((number, index(c)?))
}

fn index(c: &mut Cursor<'_>) -> Read<Vec<i64>> {
    list(c, |c| c.int())
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.must { "must-alias" } else { "may-alias" };
        write!(f, "{{{}}}: ({}, {{{}}}, {kind})", joined(&self.output_index), self.number, joined(&self.index))
    }
}

impl fmt::Display for Donor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {{{}}})", self.number, joined(&self.index))
    }
}
