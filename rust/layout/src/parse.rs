//! Parser of shapes and layouts in XLA's notation.
//!
//! `parse_shape(&shape.to_string()) == Ok(shape)` for every shape without `padded_dimensions`. Whitespace and comments
//! may separate any two tokens of a shape. Errors carry the byte range of the offending text.

use smallvec::SmallVec;

use crate::shape::{SplitConfig, Tile, COMBINED, UNBOUNDED};
use crate::text::{Cursor, Read};
pub use crate::tuning::MAX_DEPTH;
use crate::{nearest, ArrayShape, Diagnostic, ElementType, Layout, Shape, Span};

/// The error of a shape that nests deeper than [`MAX_DEPTH`].
pub fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::new(span, format!("shapes nested deeper than {MAX_DEPTH} levels"))
}

/// Parses a shape; the text must contain nothing else.
///
/// ```
/// let shape = layout::parse_shape("(f32[<=4,5]{1,0:T(8,128)}, token[])")?;
/// assert_eq!(shape.to_string(), "(f32[<=4,5]{1,0:T(8,128)}, token[])");
/// let error = layout::parse_shape("f33[2]").unwrap_err();
/// assert_eq!(error.to_string(), "unknown element type `f33`, did you mean `f32`?");
/// # Ok::<(), layout::Diagnostic>(())
/// ```
pub fn parse_shape(text: &str) -> Read<Shape> {
    whole(text, |c| shape(c, 0))
}

/// Parses a layout with its braces; the text must contain nothing else. Without a dimension order, `minor_to_major` is
/// empty.
pub fn parse_layout(text: &str) -> Read<Layout> {
    whole(text, |c| layout(c, 0))
}

fn whole<T>(text: &str, read: impl FnOnce(&mut Cursor<'_>) -> Read<T>) -> Read<T> {
    let mut c = Cursor::new(text);
    let value = read(&mut c)?;
    c.space();
    c.at_end().then_some(value).ok_or_else(|| c.expected("the end of the text"))
}

/// Parses the shape at the cursor.
pub fn read_shape(c: &mut Cursor<'_>) -> Read<Shape> {
    shape(c, 0)
}

/// Whether a layout follows the dimensions before the cursor. The brace may also open the body of a computation: right
/// behind the dimensions it does so before `ROOT` or `name =`, and behind space unless before a dimension number or `:`.
pub fn is_layout_next(mut c: Cursor<'_>) -> bool {
    if c.accept(b'{') {
        return match c.peek() {
            Some(b'0'..=b'9' | b':' | b'}') | None => true,
            Some(_) => {
                c.space();
                !(c.accept_word("ROOT") || c.name("").is_ok() && c.accept_after_space(b'='))
            }
        };
    }
    if !c.accept_after_space(b'{') {
        return false;
    }
    c.space();
    let start = c.pos;
    while c.peek().is_some_and(|b| b.is_ascii_digit()) {
        c.pos += 1;
    }
    if c.pos == start {
        return c.peek() == Some(b':');
    }
    c.space();
    matches!(c.peek(), Some(b',' | b'}' | b':'))
}

fn shape(c: &mut Cursor<'_>, depth: usize) -> Read<Shape> {
    c.space();
    if depth > MAX_DEPTH {
        return Err(too_deep(Span::new(c.pos, (c.pos + 1).min(c.text.len()))));
    }
    if c.peek() == Some(b'(') {
        return c.list(*b"()", ["`(`", "`,` or `)` in a tuple shape"], |c| shape(c, depth + 1)).map(Shape::Tuple);
    }
    let start = *c;
    match c.word() {
        "" => Err(c.expected("a shape")),
        word @ ("token" | "opaque") => {
            c.expect(b'[', "`[]`")?;
            c.expect(b']', "`]`")?;
            if c.peek() == Some(b'{') {
                layout(c, depth)?;
            }
            Ok(if word == "token" { Shape::Token } else { Shape::Opaque })
        }
        "b" => {
            c.expect(b'(', "`(`")?;
            let inner = shape(c, depth + 1)?;
            c.expect(b')', "`)`")?;
            Ok(Shape::Buffer(Box::new(inner)))
        }
        _ => array(c, start, depth).map(Shape::Array),
    }
}

/// The array whose element type begins at `start` and ends at the cursor.
fn array(c: &mut Cursor<'_>, start: Cursor<'_>, depth: usize) -> Read<ArrayShape> {
    let element = element(c, start.pos)?;
    let (mut dims, mut dynamic) = (SmallVec::<[i64; 8]>::new(), SmallVec::<[bool; 8]>::new());
    c.items(*b"[]", ["`[` after the element type", "`,` or `]` in the dimensions"], |c| {
        let is_bounded = c.accept(b'<');
        if is_bounded {
            c.expect(b'=', "`=` of `<=`")?;
        }
        let is_unbounded = c.accept(b'?');
        dims.push(if is_unbounded { UNBOUNDED } else { natural(c, "a dimension size")? });
        dynamic.push(is_bounded || is_unbounded);
        Ok(())
    })?;
    let layout = if is_layout_next(*c) { Some(layout(c, depth)?) } else { None };
    let array = ArrayShape::new(element, &dims, &dynamic, layout);
    array.map_err(|reason| Diagnostic::new(Span::new(start.pos, c.pos), reason))
}

/// The element type whose name starts at `start` and ends at the cursor.
fn element(c: &Cursor<'_>, start: usize) -> Read<ElementType> {
    let span = Span::new(start, c.pos);
    ElementType::from_name(c.str(span)).ok_or_else(|| {
        let known = ElementType::all().map(ElementType::name).chain(["token", "opaque"]);
        Diagnostic::unknown_word(span, "element type", c.str(span), nearest(c.str(span), known))
    })
}

fn layout(c: &mut Cursor<'_>, depth: usize) -> Read<Layout> {
    c.expect(b'{', "`{`")?;
    let mut layout = Layout::new(Vec::new());
    c.space();
    if c.peek().is_some_and(|b| b.is_ascii_digit()) {
        layout.minor_to_major = naturals(c)?;
    }
    if c.accept_after_space(b':') {
        attributes(c, &mut layout, depth)?;
        c.expect(b'}', "one of D T L # * E S SC P M in this order, or `}`")?;
    } else {
        c.expect(b'}', "`,`, `:` or `}` in a layout")?;
    }
    Ok(layout)
}

/// The attributes after the colon, each at most once and in XLA's order.
fn attributes(c: &mut Cursor<'_>, layout: &mut Layout, depth: usize) -> Read<()> {
    if accept_attribute(c, "D") {
        let start = c.pos;
        while c.peek().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b',' | b'+' | b'~' | b' ')) {
            c.pos += 1;
        }
        layout.dim_level_types = Some(c.text[start..c.pos].into());
        c.expect(b')', "`)` after dim level types")?;
    }
    if accept_attribute(c, "T") {
        c.pos -= 1;
        while c.peek() == Some(b'(') {
            let size =
                |c: &mut Cursor<'_>| if c.accept(b'*') { Ok(COMBINED) } else { integer(c, "a tile size or `*`") };
            layout.tiles.push(Tile(c.list(*b"()", ["`(`", "`,` or `)` in a tile"], size)?));
        }
    }
    if accept_attribute(c, "L") {
        layout.tail_padding_alignment = integer_in_parens(c)?;
    }
    if accept_attribute(c, "#") {
        layout.index_type = Some(element_in_parens(c)?);
    }
    if accept_attribute(c, "*") {
        layout.pointer_type = Some(element_in_parens(c)?);
    }
    if accept_attribute(c, "E") {
        layout.element_size_in_bits = integer_in_parens(c)?;
    }
    if accept_attribute(c, "S") {
        layout.memory_space = integer_in_parens(c)?;
    }
    if accept_attribute(c, "SC") {
        loop {
            let dimension = integer(c, "a physical dimension")?;
            c.expect(b':', "`:` in a split config")?;
            layout.split_configs.push(SplitConfig { dimension, indices: naturals(c)? });
            c.expect(b')', "`)`")?;
            if !c.accept(b'(') {
                break;
            }
        }
    }
    if accept_attribute(c, "P") {
        layout.physical_shape = Some(Box::new(shape(c, depth + 1)?));
        c.expect(b')', "`)`")?;
    }
    if accept_attribute(c, "M") {
        layout.dynamic_shape_metadata_prefix_bytes = integer_in_parens(c)?;
    }
    Ok(())
}

fn accept_attribute(c: &mut Cursor<'_>, name: &str) -> bool {
    let start = c.pos;
    c.space();
    if c.rest().starts_with(name.as_bytes()) {
        c.pos += name.len();
        if c.accept_after_space(b'(') {
            return true;
        }
    }
    c.pos = start;
    false
}

fn integer_in_parens(c: &mut Cursor<'_>) -> Read<i64> {
    let n = integer(c, "a number")?;
    c.expect(b')', "`)`")?;
    Ok(n)
}

fn element_in_parens(c: &mut Cursor<'_>) -> Read<ElementType> {
    c.space();
    let start = c.pos;
    c.word();
    let element = element(c, start)?;
    c.expect(b')', "`)`")?;
    Ok(element)
}

fn naturals(c: &mut Cursor<'_>) -> Read<Vec<i64>> {
    let mut numbers = Vec::with_capacity(4);
    loop {
        numbers.push(natural(c, "a number")?);
        if !c.accept_after_space(b',') {
            return Ok(numbers);
        }
    }
}

/// A number that may be negative: XLA's parser accepts it too, and [`Layout::problem`] rejects it.
fn integer(c: &mut Cursor<'_>, expected: &'static str) -> Read<i64> {
    c.space();
    let sign = if c.accept(b'-') { -1 } else { 1 };
    Ok(sign * natural(c, expected)?)
}

fn natural(c: &mut Cursor<'_>, expected: &'static str) -> Read<i64> {
    c.space();
    match c.peek() {
        Some(b'0'..=b'9') => c.int(),
        _ => Err(c.expected(expected)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalizes_equivalent_texts() {
        for (text, same) in [
            ("f32[2, 3] ", "f32[2,3]"),
            ("(f32[2],/*index=1*/ s8[])", "(f32[2], s8[])"),
            ("f32[3,5]{:T(2,2)}", "f32[3,5]{1,0:T(2,2)}"),
            ("f32[]{}", "f32[]"),
            ("f32[0,9223372036854775807,9223372036854775807]", "f32[0,9223372036854775807,9223372036854775807]"),
        ] {
            assert_eq!(parse_shape(text).unwrap().to_string(), same);
        }
    }

    #[test]
    fn errors_have_positions() {
        for (text, at, message) in [
            ("f33[2]", 0, "unknown element type `f33`, did you mean `f32`?"),
            ("f32[2", 5, "expected `,` or `]` in the dimensions, found the end of the text"),
            ("f32[-2]", 4, "expected a dimension size, found `-2`"),
            ("f32[2]{1,0}", 0, "expected a layout of rank 1, found one of rank 2"),
            ("f32[9223372036854775808]", 4, "expected a number in the range of s64, found 9223372036854775808"),
            ("f32[4294967296,4294967296]", 0, "expected fewer than 2^63 elements, found more"),
            ("f32[2]{0:S(1)T(2)}", 13, "expected one of D T L # * E S SC P M in this order, or `}`, found `T`"),
            ("f32[2] x", 7, "expected the end of the text, found `x`"),
            ("", 0, "expected a shape, found the end of the text"),
            ("f32[é]", 4, "expected a dimension size, found `é`"),
        ] {
            let error = parse_shape(text).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.span.start), (message, at));
        }
    }

    #[test]
    fn nesting_is_limited() {
        for open in ["(", "b(", "f32[2]{0:P("] {
            let error = parse_shape(&open.repeat(1_000_000)).unwrap_err();
            assert_eq!(error.to_string(), "shapes nested deeper than 128 levels");
        }
    }
}
