//! Which buffers are shared, how exact a result is, and the layout of an entry: values of several attributes.
//!
//! Read [`Alias`] and [`Accuracy`].

use std::fmt;

use layout::Shape;

use crate::attribute::{list, shape};
use crate::mesh::joined;
use crate::token::{Cursor, Read};

/// `{0}: (1, {}, must-alias)` of `input_output_alias`, or `{0}: (1, {})` of `output_to_operand_aliasing`: a part of
/// the output lies where a part of a parameter or operand is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Alias {
    /// The shape index of the part of the output.
    pub output_index: Vec<i64>,
    /// The number of the parameter or operand.
    pub number: i64,
    /// The shape index of its part.
    pub index: Vec<i64>,
    /// Whether it must lie there, or may; of a parameter.
    pub must: bool,
}

/// `(1, {})` of `buffer_donor`: a part of a parameter that an output may lie on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Donor {
    /// The number of the parameter.
    pub number: i64,
    /// The shape index of its part.
    pub index: Vec<i64>,
}

/// `{tolerance={atol=0.1,rtol=0,ulps=2}}`: how exact a result is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// `{mode=default}`
    Default,
    /// `{mode=highest}`
    Highest,
    /// No further off than these.
    Tolerance {
        /// Absolute.
        atol: f64,
        /// Relative.
        rtol: f64,
        /// In units in the last place.
        ulps: i64,
    },
}

/// `{(f32[4]{0}, s32[])->f32[4]{0}}`: the shapes of parameters and value with the layouts that a caller sees.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryLayout {
    /// By number.
    pub parameters: Vec<Shape>,
    /// Of the value.
    pub result: Shape,
}

/// `{ {}: (0, {}, may-alias), … }`; `kinds`: whether entries may say how strict they are.
pub(crate) fn aliases(c: &mut Cursor<'_>, kinds: Kinds) -> Read<Vec<Alias>> {
    list(c, |c| {
        let output_index = index(c)?;
        c.expect(b':', "`:`")?;
        c.expect(b'(', "`(`")?;
        let number = c.int()?;
        c.expect(b',', "`,`")?;
        let mut alias = Alias { output_index, number, index: index(c)?, must: false };
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

/// Whether an alias says that it must hold, or only may.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kinds {
    Written,
    None,
}

/// `{ (1, {}), … }`
pub(crate) fn donors(c: &mut Cursor<'_>) -> Read<Vec<Donor>> {
    list(c, |c| {
        c.expect(b'(', "`(`")?;
        let number = c.int()?;
        c.expect(b',', "`,`")?;
        let index = index(c)?;
        c.expect(b')', "`)`")?;
        Ok(Donor { number, index })
    })
}

fn index(c: &mut Cursor<'_>) -> Read<Vec<i64>> {
    list(c, |c| c.int())
}

pub(crate) fn accuracy(c: &mut Cursor<'_>) -> Read<Accuracy> {
    c.expect(b'{', "`{`")?;
    c.space();
    let at = *c;
    let word = c.word();
    c.expect(b'=', "`=`")?;
    c.space();
    let found = match word {
        "mode" => {
            let at = *c;
            match c.word() {
                "default" => Accuracy::Default,
                "highest" => Accuracy::Highest,
                _ => return Err(at.expected("default or highest")),
            }
        }
        "tolerance" => {
            let (mut atol, mut rtol, mut ulps) = (0.0, 0.0, 0);
            c.expect(b'{', "`{`")?;
            loop {
                c.space();
                let at = *c;
                let word = c.word();
                c.expect(b'=', "`=`")?;
                match word {
                    "atol" => atol = crate::attribute::float(c)?,
                    "rtol" => rtol = crate::attribute::float(c)?,
                    "ulps" => ulps = c.int()?,
                    _ => return Err(at.expected("atol, rtol or ulps")),
                }
                if !c.accept_after_space(b',') {
                    break;
                }
            }
            c.expect(b'}', "`,` or `}`")?;
            Accuracy::Tolerance { atol, rtol, ulps }
        }
        _ => return Err(at.expected("mode or tolerance")),
    };
    c.expect(b'}', "`}`")?;
    Ok(found)
}

pub(crate) fn entry_layout(c: &mut Cursor<'_>) -> Read<EntryLayout> {
    let mut parameters = Vec::new();
    let result = entry_shapes(c, shape, |p| parameters.push(p))?;
    Ok(EntryLayout { parameters, result })
}

/// `{(one, …)->one}`; gives the last, behind the arrow.
pub(crate) fn entry_shapes<'a, T>(
    c: &mut Cursor<'a>,
    mut one: impl FnMut(&mut Cursor<'a>) -> Read<T>,
    mut parameter: impl FnMut(T),
) -> Read<T> {
    c.expect(b'{', "`{`")?;
    c.expect(b'(', "`(`")?;
    if !c.accept_after_space(b')') {
        loop {
            c.space();
            parameter(one(c)?);
            if !c.accept_after_space(b',') {
                break;
            }
        }
        c.expect(b')', "`,` or `)`")?;
    }
    c.space();
    if !c.rest().starts_with(b"->") {
        return Err(c.expected("`->`"));
    }
    c.pos += 2;
    c.space();
    let result = one(c)?;
    c.expect(b'}', "`}`")?;
    Ok(result)
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

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Accuracy::Default => f.write_str("{mode=default}"),
            Accuracy::Highest => f.write_str("{mode=highest}"),
            Accuracy::Tolerance { atol, rtol, ulps } => {
                write!(f, "{{tolerance={{atol={atol},rtol={rtol},ulps={ulps}}}}}")
            }
        }
    }
}

impl fmt::Display for EntryLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters: Vec<String> = self.parameters.iter().map(Shape::to_string).collect();
        write!(f, "{{({})->{}}}", parameters.join(", "), self.result)
    }
}
