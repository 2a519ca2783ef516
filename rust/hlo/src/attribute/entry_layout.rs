//! The shapes and layouts of the entry computation as its caller sees them: `entry_computation_layout`.

use std::fmt;

use layout::Shape;

use crate::attribute::window::whole;
use crate::cursor::{Cursor, Read};

/// `{(f32[4]{0}, s32[])->f32[4]{0}}`: the shapes of the parameters and of the result, with layouts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryLayout {
    /// The shapes of the parameters, by number.
    pub parameters: Vec<Shape>,
    /// The shape of the result.
    pub result: Shape,
}

/// Parses the layout of an entry from a whole text, with its braces.
pub fn parse_entry_layout(text: &str) -> Option<EntryLayout> {
    whole(text, entry_layout)
}

pub(crate) fn entry_layout(c: &mut Cursor<'_>) -> Read<EntryLayout> {
    let mut parameters = Vec::new();
    let result = entry_shapes(c, layout::read_shape, |p| parameters.push(p))?;
    Ok(EntryLayout { parameters, result })
}

/// Parses `{(one, …)->one}`; returns the last, behind the arrow.
pub(crate) fn entry_shapes<'a, T>(
    c: &mut Cursor<'a>,
    mut one: impl FnMut(&mut Cursor<'a>) -> Read<T>,
    mut parameter: impl FnMut(T),
) -> Read<T> {
    c.expect(b'{', "`{`")?;
    c.items(*b"()", ["`(`", "`,` or `)`"], |c| one(c).map(&mut parameter))?;
    c.expect_pair(*b"->", "`->`")?;
    c.space();
    let result = one(c)?;
    c.expect(b'}', "`}`")?;
    Ok(result)
}

impl fmt::Display for EntryLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters: Vec<String> = self.parameters.iter().map(Shape::to_string).collect();
        write!(f, "{{({})->{}}}", parameters.join(", "), self.result)
    }
}
