//! Parser of shapes and layouts in XLA's notation.
//!
//! `parse_shape(&shape.to_string()) == Ok(shape)` for every shape without `padded_dimensions`. Whitespace and comments
//! may separate any two tokens of a shape. Errors carry the byte range of the offending text.

use std::fmt;

use smallvec::SmallVec;

use crate::layout::{SplitConfig, Tile, COMBINED};
use crate::shape::UNBOUNDED;
use crate::{nearest, ArrayShape, ElementType, Layout, Shape, ShapeError};

/// The maximal nesting depth of tuples and buffers; the limit bounds the parser's recursion.
pub const MAX_DEPTH: usize = 128;

/// A syntax error in the text of a shape, with its byte range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The kind of the error.
    pub kind: TextErrorKind,
    /// The first byte of the offending text.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
}

/// The kinds of syntax errors in the text of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextErrorKind {
    /// An unexpected token.
    Expected {
        /// The expected token.
        expected: &'static str,
        /// The token that was found.
        found: String,
    },
    /// An unknown element type.
    UnknownElementType {
        /// The name that was found.
        found: String,
        /// The element type with the most similar name.
        nearest: Option<&'static str>,
    },
    /// Nesting deeper than [`MAX_DEPTH`].
    TooDeep,
    /// A number that is not below 2^63.
    NumberTooLarge,
    /// The dimensions and the layout do not form a shape.
    Shape(ShapeError),
}

impl fmt::Display for TextErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextErrorKind::Expected { expected, found } => write!(f, "expected {expected}, found {found}"),
            TextErrorKind::UnknownElementType { found, nearest } => {
                write!(f, "unknown element type `{found}`")?;
                nearest.map_or(Ok(()), |n| write!(f, ", did you mean `{n}`?"))
            }
            TextErrorKind::TooDeep => write!(f, "shapes nested deeper than {MAX_DEPTH} levels"),
            TextErrorKind::NumberTooLarge => write!(f, "expected a number below 2^63, found a larger one"),
            TextErrorKind::Shape(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.start)
    }
}

impl std::error::Error for TextError {}

/// Parses a shape; the text must contain nothing else.
///
/// ```
/// let shape = layout::parse_shape("(f32[<=4,5]{1,0:T(8,128)}, token[])")?;
/// assert_eq!(shape.to_string(), "(f32[<=4,5]{1,0:T(8,128)}, token[])");
/// let error = layout::parse_shape("f33[2]").unwrap_err();
/// assert_eq!(error.to_string(), "unknown element type `f33`, did you mean `f32`? at byte 0");
/// # Ok::<(), layout::TextError>(())
/// ```
pub fn parse_shape(text: &str) -> Result<Shape, TextError> {
    let mut r = Parser { bytes: text.as_bytes(), pos: 0 };
    let shape = r.shape(0)?;
    r.end()?;
    Ok(shape)
}

/// Parses a layout with its braces; the text must contain nothing else. Without a dimension order, `minor_to_major` is
/// empty.
pub fn parse_layout(text: &str) -> Result<Layout, TextError> {
    let mut r = Parser { bytes: text.as_bytes(), pos: 0 };
    r.space();
    let layout = r.layout(0)?;
    r.end()?;
    Ok(layout)
}

/// Parses the shape that starts at byte `start` of a longer text; also returns the position after it.
pub fn read_shape(bytes: &[u8], start: usize) -> Result<(Shape, usize), TextError> {
    let mut r = Parser { bytes, pos: start };
    let shape = r.shape(0)?;
    Ok((shape, r.pos))
}

/// Whether a layout follows the dimensions that end before byte `at`. The brace may also open the body of a computation:
/// right behind the dimensions it does so before `ROOT` or `name =`, and behind space unless before a dimension number
/// or `:`.
pub fn is_layout_next(bytes: &[u8], at: usize) -> bool {
    let mut r = Parser { bytes, pos: at };
    if r.peek() == Some(b'{') {
        return match bytes.get(at + 1) {
            Some(b'0'..=b'9' | b':' | b'}') | None => true,
            Some(_) => !r.is_instruction_next(),
        };
    }
    r.space();
    if !r.accept(b'{') {
        return false;
    }
    r.space();
    if r.peek().is_some_and(|c| c.is_ascii_digit()) {
        while r.peek().is_some_and(|c| c.is_ascii_digit()) {
            r.pos += 1;
        }
        r.space();
        return matches!(r.peek(), Some(b',' | b'}' | b':'));
    }
    r.peek() == Some(b':')
}

struct Parser<'a> {
    bytes: &'a [u8],
    pos: usize,
}

type ParseResult<T> = Result<T, TextError>;

impl Parser<'_> {
    /// Whether an instruction is behind the brace here: `ROOT`, or a name and `=`.
    fn is_instruction_next(&mut self) -> bool {
        self.pos += 1;
        self.space();
        self.accept(b'%');
        let start = self.pos;
        while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-')) {
            self.pos += 1;
        }
        let word = &self.bytes[start..self.pos];
        self.space();
        word == b"ROOT" || (!word.is_empty() && self.peek() == Some(b'='))
    }

    fn shape(&mut self, depth: usize) -> ParseResult<Shape> {
        self.space();
        if depth > MAX_DEPTH {
            return Err(self.error(TextErrorKind::TooDeep, self.pos, self.pos + 1));
        }
        if self.accept(b'(') {
            return self.tuple(depth);
        }
        let start = self.pos;
        let word = self.word();
        match word {
            b"" => Err(self.expected("a shape")),
            b"token" | b"opaque" => {
                let shape = if word == b"token" { Shape::Token } else { Shape::Opaque };
                self.expect(b'[', "`[]`")?;
                self.expect(b']', "`]`")?;
                if self.peek() == Some(b'{') {
                    self.layout(depth)?;
                }
                Ok(shape)
            }
            b"b" => {
                self.expect(b'(', "`(`")?;
                let inner = self.shape(depth + 1)?;
                self.expect(b')', "`)`")?;
                Ok(Shape::Buffer(Box::new(inner)))
            }
            _ => self.array(start, depth),
        }
    }

    fn tuple(&mut self, depth: usize) -> ParseResult<Shape> {
        let mut parts = Vec::new();
        self.space();
        if self.accept(b')') {
            return Ok(Shape::Tuple(parts));
        }
        loop {
            parts.push(self.shape(depth + 1)?);
            self.space();
            if !self.accept(b',') {
                break;
            }
        }
        self.expect(b')', "`,` or `)` in a tuple shape")?;
        Ok(Shape::Tuple(parts))
    }

    fn array(&mut self, start: usize, depth: usize) -> ParseResult<Shape> {
        let element = self.element(start)?;
        self.expect(b'[', "`[` after the element type")?;
        let (mut dims, mut dynamic) = (SmallVec::<[i64; 8]>::new(), SmallVec::<[bool; 8]>::new());
        self.space();
        if !self.accept(b']') {
            loop {
                self.space();
                if self.accept(b'?') {
                    dims.push(UNBOUNDED);
                    dynamic.push(true);
                } else {
                    let bounded = self.accept(b'<');
                    if bounded {
                        self.expect(b'=', "`=` of `<=`")?;
                    }
                    if bounded && self.accept(b'?') {
                        dims.push(UNBOUNDED);
                    } else {
                        dims.push(self.natural("a dimension size")?);
                    }
                    dynamic.push(bounded);
                }
                self.space();
                if !self.accept(b',') {
                    break;
                }
            }
            self.expect(b']', "`,` or `]` in the dimensions")?;
        }
        let layout = if is_layout_next(self.bytes, self.pos) { Some(self.layout(depth)?) } else { None };
        ArrayShape::new(element, &dims, &dynamic, layout)
            .map(Shape::Array)
            .map_err(|e| self.error(TextErrorKind::Shape(e), start, self.pos))
    }

    /// The element type whose name starts at `start` and ends at the current position.
    fn element(&self, start: usize) -> ParseResult<ElementType> {
        let word = &self.bytes[start..self.pos];
        std::str::from_utf8(word).ok().and_then(ElementType::from_name).ok_or_else(|| {
            let word = String::from_utf8_lossy(word);
            let known = ElementType::all().map(ElementType::name).chain(["token", "opaque"]);
            let kind = TextErrorKind::UnknownElementType { nearest: nearest(&word, known), found: shorten(&word) };
            self.error(kind, start, self.pos)
        })
    }

    fn layout(&mut self, depth: usize) -> ParseResult<Layout> {
        self.expect(b'{', "`{`")?;
        let mut layout = Layout::new(Vec::new());
        self.space();
        if self.peek().is_some_and(|c| c.is_ascii_digit()) {
            layout.minor_to_major = self.naturals()?;
        }
        self.space();
        if self.accept(b':') {
            self.attributes(&mut layout, depth)?;
            self.expect(b'}', "one of D T L # * E S SC P M in this order, or `}`")?;
        } else {
            self.expect(b'}', "`,`, `:` or `}` in a layout")?;
        }
        Ok(layout)
    }

    /// The attributes after the colon, each at most once and in XLA's order.
    fn attributes(&mut self, layout: &mut Layout, depth: usize) -> ParseResult<()> {
        if self.accept_attribute(b"D") {
            let start = self.pos;
            while self.peek().is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, b',' | b'+' | b'~' | b' ')) {
                self.pos += 1;
            }
            layout.dim_level_types = Some(String::from_utf8_lossy(&self.bytes[start..self.pos]).into());
            self.expect(b')', "`)` after dim level types")?;
        }
        if self.accept_attribute(b"T") {
            loop {
                layout.tiles.push(Tile(self.tile()?));
                if !self.accept(b'(') {
                    break;
                }
            }
        }
        if self.accept_attribute(b"L") {
            layout.tail_padding_alignment = self.integer_in_parens()?;
        }
        if self.accept_attribute(b"#") {
            layout.index_type = Some(self.element_in_parens()?);
        }
        if self.accept_attribute(b"*") {
            layout.pointer_type = Some(self.element_in_parens()?);
        }
        if self.accept_attribute(b"E") {
            layout.element_size_in_bits = self.integer_in_parens()?;
        }
        if self.accept_attribute(b"S") {
            layout.memory_space = self.integer_in_parens()?;
        }
        if self.accept_attribute(b"SC") {
            loop {
                let dimension = self.integer("a physical dimension")?;
                self.expect(b':', "`:` in a split config")?;
                layout.split_configs.push(SplitConfig { dimension, indices: self.naturals()? });
                self.expect(b')', "`)`")?;
                if !self.accept(b'(') {
                    break;
                }
            }
        }
        if self.accept_attribute(b"P") {
            layout.physical_shape = Some(Box::new(self.shape(depth + 1)?));
            self.expect(b')', "`)`")?;
        }
        if self.accept_attribute(b"M") {
            layout.dynamic_shape_metadata_prefix_bytes = self.integer_in_parens()?;
        }
        Ok(())
    }

    /// The sizes of one tile, from after its `(` to its `)`.
    fn tile(&mut self) -> ParseResult<Vec<i64>> {
        let mut sizes = Vec::new();
        self.space();
        if self.accept(b')') {
            return Ok(sizes);
        }
        loop {
            self.space();
            sizes.push(if self.accept(b'*') { COMBINED } else { self.integer("a tile size or `*`")? });
            self.space();
            if !self.accept(b',') {
                break;
            }
        }
        self.expect(b')', "`,` or `)` in a tile")?;
        Ok(sizes)
    }

    fn integer_in_parens(&mut self) -> ParseResult<i64> {
        let n = self.integer("a number")?;
        self.expect(b')', "`)`")?;
        Ok(n)
    }

    fn element_in_parens(&mut self) -> ParseResult<ElementType> {
        self.space();
        let start = self.pos;
        self.word();
        let element = self.element(start)?;
        self.expect(b')', "`)`")?;
        Ok(element)
    }

    fn naturals(&mut self) -> ParseResult<Vec<i64>> {
        let mut numbers = Vec::with_capacity(4);
        numbers.push(self.natural("a number")?);
        loop {
            self.space();
            if !self.accept(b',') {
                return Ok(numbers);
            }
            numbers.push(self.natural("a number")?);
        }
    }

    /// A number that may be negative: XLA's parser accepts it too, and [`Layout::problem`] rejects it.
    fn integer(&mut self, expected: &'static str) -> ParseResult<i64> {
        self.space();
        let sign = if self.accept(b'-') { -1 } else { 1 };
        Ok(sign * self.natural(expected)?)
    }

    fn natural(&mut self, expected: &'static str) -> ParseResult<i64> {
        self.space();
        let start = self.pos;
        let mut value = Some(0i64);
        while let Some(c) = self.peek().filter(u8::is_ascii_digit) {
            value = value.and_then(|v| v.checked_mul(10)?.checked_add(i64::from(c - b'0')));
            self.pos += 1;
        }
        if self.pos == start {
            return Err(self.expected(expected));
        }
        value.ok_or_else(|| self.error(TextErrorKind::NumberTooLarge, start, self.pos))
    }

    fn word(&mut self) -> &[u8] {
        let start = self.pos;
        while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == b'_') {
            self.pos += 1;
        }
        &self.bytes[start..self.pos]
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    fn accept(&mut self, c: u8) -> bool {
        let found = self.peek() == Some(c);
        self.pos += usize::from(found);
        found
    }

    /// Accepts the name of an attribute and the `(` behind it.
    fn accept_attribute(&mut self, name: &[u8]) -> bool {
        let start = self.pos;
        self.space();
        if self.bytes[self.pos..].starts_with(name) {
            self.pos += name.len();
            self.space();
            if self.accept(b'(') {
                return true;
            }
        }
        self.pos = start;
        false
    }

    fn expect(&mut self, c: u8, expected: &'static str) -> ParseResult<()> {
        self.space();
        if self.accept(c) {
            Ok(())
        } else {
            Err(self.expected(expected))
        }
    }

    fn end(&mut self) -> ParseResult<()> {
        self.space();
        if self.pos == self.bytes.len() {
            Ok(())
        } else {
            Err(self.expected("the end of the text"))
        }
    }

    /// Skips whitespace, `// …` and `/* … */`.
    #[inline]
    fn space(&mut self) {
        // Most tokens are not separated.
        if !self.peek().is_some_and(|c| c > b' ' && c != b'/') {
            self.long_space();
        }
    }

    #[inline(never)]
    fn long_space(&mut self) {
        loop {
            while self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
                self.pos += 1;
            }
            let rest = &self.bytes[self.pos..];
            self.pos += match rest {
                [b'/', b'/', ..] => rest.iter().position(|&c| c == b'\n').unwrap_or(rest.len()),
                [b'/', b'*', inside @ ..] => match inside.windows(2).position(|w| w == b"*/") {
                    Some(n) => n + 4,
                    None => return,
                },
                _ => return,
            };
        }
    }

    fn expected(&self, expected: &'static str) -> TextError {
        let rest = &self.bytes[self.pos..];
        let is_word = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
        let (found, len) = match rest.first() {
            None => ("the end of the text".to_string(), 0),
            Some(c) if is_word(c) => {
                let n = rest.iter().position(|c| !is_word(c)).unwrap_or(rest.len());
                (format!("`{}`", shorten(&String::from_utf8_lossy(&rest[..n]))), n)
            }
            Some(&c) if c.is_ascii_graphic() => (format!("`{}`", c as char), 1),
            Some(&c) if c < 128 => (format!("byte 0x{c:02x}"), 1),
            Some(_) => {
                // A character outside ASCII, which may be truncated in text that does not come from a `str`.
                let n = (1..=4.min(rest.len())).find(|&n| std::str::from_utf8(&rest[..n]).is_ok()).unwrap_or(1);
                (format!("`{}`", String::from_utf8_lossy(&rest[..n])), n)
            }
        };
        self.error(TextErrorKind::Expected { expected, found }, self.pos, self.pos + len)
    }

    fn error(&self, kind: TextErrorKind, start: usize, end: usize) -> TextError {
        TextError { kind, start, end: end.min(self.bytes.len()).max(start) }
    }
}

/// The word, truncated to a length that fits in a message.
fn shorten(word: &str) -> String {
    match word.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &word[..at]),
        None => word.to_string(),
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
        for (text, message) in [
            ("f33[2]", "unknown element type `f33`, did you mean `f32`? at byte 0"),
            ("f32[2", "expected `,` or `]` in the dimensions, found the end of the text at byte 5"),
            ("f32[-2]", "expected a dimension size, found `-` at byte 4"),
            ("f32[2]{1,0}", "expected a layout of rank 1, found one of rank 2 at byte 0"),
            ("f32[9223372036854775808]", "expected a number below 2^63, found a larger one at byte 4"),
            ("f32[4294967296,4294967296]", "expected fewer than 2^63 elements, found more at byte 0"),
            ("f32[2]{0:S(1)T(2)}", "expected one of D T L # * E S SC P M in this order, or `}`, found `T` at byte 13"),
            ("f32[2] x", "expected the end of the text, found `x` at byte 7"),
            ("", "expected a shape, found the end of the text at byte 0"),
            ("f32[é]", "expected a dimension size, found `é` at byte 4"),
        ] {
            assert_eq!(parse_shape(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn nesting_is_limited() {
        let deep = "(".repeat(1_000_000);
        assert_eq!(parse_shape(&deep).unwrap_err().kind, TextErrorKind::TooDeep);
        let deep = "b(".repeat(1_000_000);
        assert_eq!(parse_shape(&deep).unwrap_err().kind, TextErrorKind::TooDeep);
        let deep = "f32[2]{0:P(".repeat(1_000_000);
        assert_eq!(parse_shape(&deep).unwrap_err().kind, TextErrorKind::TooDeep);
    }
}
