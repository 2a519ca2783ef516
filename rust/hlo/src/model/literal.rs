//! Literals: checked when a module is read, decoded to bytes on request.
//!
//! Elements are in row-major order, which is the order of the text, whatever the layout; each takes whole little-endian
//! bytes, even if its type is narrower than a byte. Decoding succeeds on every text that was accepted, unless it is
//! elided.

use std::borrow::Cow;

use cancel::poll;
use layout::{clip, ArrayShape, ElementKind, ElementType, Shape, UNBOUNDED};

use crate::cursor::{find, Cursor, Read, SHORT};
use crate::error::{Diagnostic, Span};
use crate::model::float::{self, Format};
use crate::tuning::MAX_ZEROS;

/// The value of a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiteralValue {
    /// The elements of an array.
    Array(Vec<u8>),
    /// The parts of a tuple.
    Tuple(Vec<LiteralValue>),
}

/// A literal that is read: its elements are checked or, with `values`, decoded.
#[derive(Default)]
pub(crate) struct Literal {
    pub is_elided: bool,
    /// The first element that XLA does not read: a nan whose payload its type cannot hold, or a real number for a
    /// complex one. Only set by a check.
    pub doubtful: Option<Diagnostic>,
    /// The shapes before values in a literal, as XLA wrote them until 2019.
    pub shapes: Vec<Span>,
    /// The bytes of elements that are not written.
    zeros: u64,
    values: Option<Values>,
    /// The lengths of rows by dimension, if requested, and whether two of one dimension differ.
    sizes: Vec<Option<i64>>,
    is_ragged: bool,
}

/// The decoded part of a literal.
#[derive(Default)]
struct Values {
    /// A literal has at most as many elements as bytes of text.
    limit: usize,
    width: usize,
    bytes: Vec<u8>,
    /// Whether unwritten elements, the zeros at the end of an array, are left out.
    is_short: bool,
    done: Vec<LiteralValue>,
}

/// Checks the literal at the cursor and advances past it. `zeros` counts the bytes of a whole text that are not written.
pub(crate) fn check(c: &mut Cursor<'_>, shape: &Shape, zeros: &mut u64) -> Read<Literal> {
    let start = c.pos;
    let mut literal = Literal { zeros: *zeros, ..Literal::default() };
    literal.read(c, shape)?;
    if literal.zeros > MAX_ZEROS {
        let text = format!("more than {MAX_ZEROS} bytes of constants that are written as one number");
        return Err(Diagnostic::limit(Span::new(start, c.pos), text));
    }
    *zeros = literal.zeros;
    Ok(literal)
}

/// Reads a literal that includes its shape: an array behind its shape, or a tuple of such literals in parentheses. The
/// value is `None` if a part is elided.
pub(crate) fn with_shape(c: &mut Cursor<'_>, depth: usize, zeros: &mut u64) -> Read<(Shape, Option<LiteralValue>)> {
    if !c.accept_after_space(b'(') {
        let shape = shape_before_literal(c)?;
        let start = c.pos;
        check(c, &shape, zeros)?;
        let value = decode(c.text, Span::new(start, c.pos), &shape);
        return Ok((shape, value));
    }
    if depth >= layout::MAX_DEPTH {
        return Err(c.expected(format!("tuples that nest at most {} deep", layout::MAX_DEPTH)));
    }
    let (mut shapes, mut values) = (Vec::new(), Some(Vec::new()));
    while !c.accept_after_space(b')') {
        let (shape, value) = with_shape(c, depth + 1, zeros)?;
        shapes.push(shape);
        values = values.zip(value).map(|(mut all, one)| {
            all.push(one);
            all
        });
        if !c.accept_after_space(b',') {
            c.expect(b')', "`,` or `)` after a part of a tuple")?;
            break;
        }
    }
    Ok((Shape::Tuple(shapes), values.map(LiteralValue::Tuple)))
}

/// The shape before a literal: braces behind space are the literal, not a layout.
fn shape_before_literal(c: &mut Cursor<'_>) -> Read<Shape> {
    let end = find(c.bytes(), c.pos, *b"]") + 1;
    if c.bytes().get(end).is_none_or(|&b| b == b'{') {
        return layout::read_shape(c);
    }
    let mut within = Cursor { text: &c.text[..end], pos: c.pos };
    let shape = layout::read_shape(&mut within)?;
    c.pos = within.pos;
    Ok(shape)
}

/// The value of a checked literal; `None` if a part is elided.
pub(crate) fn decode(text: &str, span: Span, shape: &Shape) -> Option<LiteralValue> {
    decode_as(text, span, shape, false)
}

/// The value of a checked literal as [`decode`] gives it, but without the elements of arrays that are not written: it is
/// never larger than the text asks for.
pub(crate) fn decode_written(text: &str, shape: &Shape) -> Option<LiteralValue> {
    decode_as(text, Span::new(0, text.len()), shape, true)
}

fn decode_as(text: &str, span: Span, shape: &Shape, is_short: bool) -> Option<LiteralValue> {
    let mut c = Cursor { text: &text[..span.end as usize], pos: span.start as usize };
    let values = Some(Values { limit: span.len(), is_short, ..Values::default() });
    let mut literal = Literal { values, ..Literal::default() };
    let read = literal.read(&mut c, shape);
    debug_assert!(read.is_ok(), "literals are checked when they are read: {read:?}");
    literal.values.filter(|_| read.is_ok() && !literal.is_elided)?.done.pop()
}

/// The sizes of an array in a checked literal, which may be smaller than the bounds of its dynamic dimensions; `None` if
/// it is elided or has rows of different lengths.
pub(crate) fn sizes(text: &str, shape: &Shape) -> Option<Vec<i64>> {
    let array = shape.as_array()?;
    let mut literal = Literal { sizes: vec![None; array.rank()], ..Literal::default() };
    literal.read(&mut Cursor::new(text), shape).ok()?;
    let sizes = literal.sizes.iter().zip(array.dims()).map(|(size, &bound)| size.unwrap_or(bound)).collect();
    (!literal.is_elided && !literal.is_ragged).then_some(sizes)
}

/// A checked literal without shapes before its values, which XLA no longer reads.
pub(crate) fn without_shapes<'a>(text: &'a str, shape: &Shape) -> Cow<'a, str> {
    if memchr::memchr(b'[', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut literal = Literal::default();
    let read = literal.read(&mut Cursor::new(text), shape);
    debug_assert!(read.is_ok(), "literals are checked when they are read: {read:?}");
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for span in literal.shapes {
        out.push_str(&text[at..span.start as usize]);
        at = span.end as usize;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

impl Literal {
    /// Recursion is bounded by the nesting of shapes, `layout::MAX_DEPTH`.
    fn read(&mut self, c: &mut Cursor<'_>, shape: &Shape) -> Read<()> {
        c.space();
        self.shape_before_value(c, shape)?;
        if c.rest().starts_with(b"{...}") {
            c.pos += 5;
            self.is_elided = true;
            return Ok(());
        }
        match shape {
            Shape::Array(a) => {
                let t = a.element();
                if let Some(values) = &mut self.values {
                    let n = a.n_elements().and_then(|n| usize::try_from(n).ok()).unwrap_or(0).min(values.limit);
                    values.width = if t.kind() == ElementKind::Complex { t.n_bytes() / 2 } else { t.n_bytes() };
                    values.bytes = Vec::with_capacity(n.saturating_mul(t.n_bytes()));
                }
                self.array(c, a)?;
                if let Some(values) = &mut self.values {
                    values.done.push(LiteralValue::Array(std::mem::take(&mut values.bytes)));
                }
                Ok(())
            }
            Shape::Tuple(parts) => {
                c.expect(b'(', "`(` of a tuple constant")?;
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        c.accept_after_space(b',');
                    }
                    self.read(c, part)?;
                }
                c.expect(b')', "`)` of a tuple constant")?;
                if let Some(values) = self.values.as_mut().filter(|_| !self.is_elided) {
                    let parts = values.done.split_off(values.done.len() - parts.len());
                    values.done.push(LiteralValue::Tuple(parts));
                }
                Ok(())
            }
            // The value of a buffer is that of its array.
            Shape::Buffer(inner) => self.read(c, inner),
            Shape::Token | Shape::Opaque => {
                let span = Span::new(c.pos, (c.pos + 1).min(c.text.len()));
                Err(Diagnostic::expected(span, "an array or a tuple as the shape of a constant", shape.to_string()))
            }
        }
    }

    /// Reads the shape before a value, if there is one: that of the value.
    fn shape_before_value(&mut self, c: &mut Cursor<'_>, shape: &Shape) -> Read<()> {
        let start = c.pos;
        let found = match (c.peek(), shape) {
            (Some(b'a'..=b'z'), _) if is_typed(c) => shape_before_literal(c)?,
            // Parentheses are a value, unless other ones follow a shape in them.
            (Some(b'('), Shape::Tuple(_)) => {
                let mut ahead = *c;
                match layout::read_shape(&mut ahead) {
                    Ok(found) if ahead.accept_after_space(b'(') => {
                        c.pos = ahead.pos - 1;
                        found
                    }
                    _ => return Ok(()),
                }
            }
            _ => return Ok(()),
        };
        let span = Span::new(start, c.pos);
        if !found.same_dims(shape) {
            let found = found.without_layout().to_string();
            return Err(Diagnostic::disagrees(span, "the shape before a value", shape.without_layout(), found));
        }
        c.space();
        self.shapes.push(Span::new(start, c.pos));
        Ok(())
    }

    /// Reads an array, whose end may be elided. Commas are optional, as for XLA.
    fn array(&mut self, c: &mut Cursor<'_>, shape: &ArrayShape) -> Read<()> {
        let dims = shape.dims();
        let t = shape.element();
        if dims.is_empty() {
            return self.element(c, t);
        }
        if c.peek() != Some(b'{') && c.peek() != Some(b'(') {
            return self.first_element(c, shape);
        }
        let mut counts = vec![0i64; dims.len()];
        let mut depth = 0;
        loop {
            c.space();
            if depth > 0 && c.peek() == Some(b'}') {
                let (n, expected) = (counts[depth - 1], dims[depth - 1]);
                if n != expected && expected != UNBOUNDED && !shape.is_dynamic(depth - 1) {
                    return Err(disagreement(c, depth - 1, n, expected));
                }
                c.pos += 1;
                depth -= 1;
                if let Some(size) = self.sizes.get_mut(depth) {
                    self.is_ragged |= *size.get_or_insert(n) != n;
                }
                if depth == 0 {
                    return Ok(());
                }
            } else if depth > 0 && c.rest().starts_with(b"...") {
                c.pos += 3;
                self.is_elided = true;
                return (0..depth).try_for_each(|_| c.expect(b'}', "`}` after `...`"));
            } else if depth < dims.len() {
                c.expect(
                    b'{',
                    if depth == 0 { "`{` of an array constant" } else { "`{` or `}` in an array constant" },
                )?;
                poll();
                counts[depth] = 0;
                depth += 1;
                while c.accept_after_space(b',') {}
                continue;
            } else {
                if counts[depth - 1] >= dims[depth - 1] && dims[depth - 1] != UNBOUNDED {
                    return Err(disagreement(c, depth - 1, counts[depth - 1] + 1, dims[depth - 1]));
                }
                if counts[depth - 1] % i64::from(SHORT) == i64::from(SHORT) - 1 {
                    poll();
                }
                self.element(c, t)?;
            }
            counts[depth - 1] += 1;
            while c.accept_after_space(b',') {}
        }
    }

    /// One number for a whole array, which XLA reads as its first element; the others are zero. XLA also writes an array
    /// without elements as one number.
    fn first_element(&mut self, c: &mut Cursor<'_>, shape: &ArrayShape) -> Read<()> {
        let t = shape.element();
        let n_zeros = match shape.n_elements() {
            Some(0) => return Literal::default().element(c, t),
            Some(n) => u64::try_from(n - 1).unwrap_or(0).saturating_mul(t.n_bytes() as u64),
            None => return Err(c.expected("`{` of an array constant")),
        };
        self.element(c, t)?;
        match &mut self.values {
            Some(values) if values.is_short => {}
            Some(values) => values.bytes.resize(values.bytes.len() + n_zeros as usize, 0),
            None => self.zeros = self.zeros.saturating_add(n_zeros),
        }
        Ok(())
    }

    #[inline]
    fn element(&mut self, c: &mut Cursor<'_>, t: ElementType) -> Read<()> {
        if let Some(Values { width, bytes, .. }) = &mut self.values {
            return element(c, t, &mut |bits: u64| bytes.extend_from_slice(&bits.to_le_bytes()[..*width]));
        }
        if t.kind() == ElementKind::Float && t.bits() >= 32 {
            let start = c.pos;
            let word = token(c);
            // A short word of digits with at most a sign and a point is a number of every wide type.
            if !word.is_empty() && word.len() < 30 && is_plain(word.as_bytes()) {
                return Ok(());
            }
            c.pos = start;
        }
        c.space();
        let start = c.pos;
        element(c, t, &mut |_| ())?;
        if self.doubtful.is_none() {
            self.doubtful = doubt(c, start, t);
        }
        Ok(())
    }
}

/// Whether an element type and its brackets are next.
fn is_typed(c: &Cursor<'_>) -> bool {
    let word = c.rest().iter().take(16).position(|b| !b.is_ascii_alphanumeric());
    word.is_some_and(|n| c.rest()[n] == b'[')
}

fn disagreement(c: &Cursor<'_>, dim: usize, n: i64, expected: i64) -> Diagnostic {
    let span = Span::new(c.pos, (c.pos + 1).min(c.text.len()));
    let found = format!("{n}{}", if n > expected { " or more" } else { "" });
    Diagnostic::disagrees(span, "elements of a constant", format_args!("{expected} in dimension {dim}"), found)
}

/// The characters of one number, including the payload of a nan.
#[inline]
fn token<'a>(c: &mut Cursor<'a>) -> &'a str {
    let start = c.pos;
    let word = c.number();
    if word.ends_with("nan") && c.peek() == Some(b'(') {
        if let Some(n) = c.rest().iter().take(40).position(|&b| b == b')') {
            c.pos += n + 1;
            return &c.text[start..c.pos];
        }
    }
    word
}

fn expected_number(c: &Cursor<'_>, start: usize, t: ElementType) -> Diagnostic {
    let at = Cursor { text: c.text, pos: start };
    at.expected(format!("a number of type {}", t.name()))
}

fn out_of_range(c: &Cursor<'_>, start: usize, t: ElementType) -> Diagnostic {
    let span = Span::new(start, c.pos);
    Diagnostic::out_of_range(span, t.name(), c.str(span))
}

/// The reason why XLA does not read the element between `start` and the cursor, if it does not.
#[inline]
fn doubt(c: &Cursor<'_>, start: usize, t: ElementType) -> Option<Diagnostic> {
    let part = match (t.kind(), t) {
        (ElementKind::Complex, ElementType::C64) => ElementType::F32,
        (ElementKind::Complex, _) => ElementType::F64,
        (ElementKind::Float, _) => t,
        _ => return None,
    };
    let text = &c.text[start..c.pos];
    if part == t && !text.ends_with(')') {
        return None;
    }
    let span = Span::new(start, c.pos);
    if part != t && !text.starts_with('(') {
        let expected = format!("`(real, imaginary)` for {}", t.name());
        return Some(Diagnostic::expected(span, expected, format!("`{}`", clip(text))));
    }
    let format = Format::of(part);
    text.match_indices("nan(").find_map(|(at, word)| {
        let payload = text[at + word.len()..].split(')').next().unwrap_or("");
        let value =
            payload.strip_prefix("0x").map_or_else(|| payload.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok());
        let largest = format.largest_payload();
        if value.is_some_and(|value| (1..=largest).contains(&value)) {
            return None;
        }
        let expected = match largest {
            0 => format!("nan without a payload for {}", t.name()),
            _ => format!("a nan payload from 0x1 to 0x{largest:x} for {}", t.name()),
        };
        Some(Diagnostic::expected(span, expected, format!("`{}`", clip(payload))))
    })
}

fn is_plain(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let mut points = 0;
    for &c in digits {
        match c {
            b'0'..=b'9' => {}
            b'.' => points += 1,
            _ => return false,
        }
    }
    points <= 1 && digits.len() > points
}

/// Reads one element and passes on its bits; two values for a complex number.
fn element(c: &mut Cursor<'_>, t: ElementType, put: &mut impl FnMut(u64)) -> Read<()> {
    c.space();
    match t.kind() {
        ElementKind::Boolean => {
            let start = c.pos;
            let value = match token(c) {
                "true" => 1,
                "false" => 0,
                // Any integer except 0 is true.
                word => u64::from(wrapped(word).ok_or_else(|| expected_number(c, start, t))? != 0),
            };
            put(value);
        }
        ElementKind::Signed | ElementKind::Unsigned => put(integer(c, t)?),
        ElementKind::Float => put(real(c, t, t)?),
        ElementKind::Complex => {
            let part = if t == ElementType::C64 { ElementType::F32 } else { ElementType::F64 };
            if c.accept(b'(') {
                c.space();
                put(real(c, part, t)?);
                c.expect(b',', "`,` between the parts of a complex number")?;
                c.space();
                put(real(c, part, t)?);
                c.expect(b')', "`)` of a complex number")?;
            } else {
                put(real(c, part, t)?);
                put(0);
            }
        }
    }
    Ok(())
}

fn integer(c: &mut Cursor<'_>, t: ElementType) -> Read<u64> {
    let start = c.pos;
    let word = token(c);
    let (negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|b| (b as char).is_digit(radix)) {
        return Err(expected_number(c, start, t));
    }
    let magnitude = i128::from_str_radix(digits, radix).unwrap_or(i128::MAX);
    let mut value = if negative { -magnitude } else { magnitude };
    let bits = t.bits();
    if t.kind() == ElementKind::Signed {
        value = wrapped(word).map_or(value, i128::from);
    }
    // XLA reads numbers of this type as s64.
    if t == ElementType::U64 && (i128::from(i64::MIN)..0).contains(&value) {
        return Ok(value as u64);
    }
    let (low, high) = match t.kind() {
        ElementKind::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        _ => (0, (1i128 << bits) - 1),
    };
    if value < low || value > high {
        return Err(out_of_range(c, start, t));
    }
    Ok(value as u64)
}

/// A decimal integer of 64 bits as XLA reads it for every type but u64: numbers from 2^63 on wrap.
fn wrapped(word: &str) -> Option<i64> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    word.parse::<i64>().ok().or_else(|| word.parse::<u64>().ok().map(|n| n as i64))
}

/// A number as the bits of type `t`; `of` is the type in messages.
fn real(c: &mut Cursor<'_>, t: ElementType, of: ElementType) -> Read<u64> {
    let start = c.pos;
    let word = token(c);
    // The first integer that wraps has 19 digits.
    let wraps =
        if word.len() >= 19 && of == t { wrapped(word).filter(|&n| n < 0 && !word.starts_with('-')) } else { None };
    let bits = match wraps {
        Some(n) => float::parse(&n.to_string(), Format::of(t)),
        None => float::parse(word, Format::of(t)),
    };
    let bits = bits.ok_or_else(|| expected_number(c, start, of))?;
    if bits.overflows {
        return Err(out_of_range(c, start, of));
    }
    Ok(bits.bits)
}
