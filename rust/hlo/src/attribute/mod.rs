//! Attribute values: parsing, checking and decoding.
//!
//! Values are checked when a module is read and decoded on request, by the same functions. The value of an unknown
//! attribute is kept as text. Values with a structure of their own have their own files. Not here: values that name
//! computations or instructions, which `parse` resolves.

pub(crate) mod accuracy;
pub(crate) mod alias;
pub(crate) mod comparison;
pub(crate) mod devices;
pub(crate) mod entry_layout;
pub(crate) mod fields;
pub(crate) mod form;
pub(crate) mod in_place;
pub(crate) mod mesh;
pub(crate) mod metadata;
pub(crate) mod origin;
pub(crate) mod original;
pub(crate) mod schema;
pub(crate) mod sharding;
pub(crate) mod sides;
pub(crate) mod window;

use std::borrow::Cow;

use layout::{read_shape, Shape};

use accuracy::{accuracy, Accuracy};
use alias::{Alias, Donor, Kinds};
use devices::DeviceGroups;
use entry_layout::{entry_layout, EntryLayout};
use fields::{escape, Escaped};
use form::Form;
use sharding::Sharding;
use sides::{sides, Sides, SCALING, SPARSITY};
use window::{dim_labels, window, DimLabels, Window};

use crate::cursor::{Cursor, Read};
use crate::error::{Diagnostic, Span};

/// The value of an attribute.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'m> {
    Int(i64),
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    Word(&'m str),
    /// A string without quotes and escapes.
    Text(Cow<'m, str>),
    /// `{1,2}`
    Ints(Vec<i64>),
    /// `{{0,1},{2}}`
    IntLists(Vec<Vec<i64>>),
    /// `{a,b}`
    Words(Vec<&'m str>),
    /// `(start, limit, stride)` by dimension.
    Slices(Vec<(i64, i64, i64)>),
    /// `(low, high, interior)` by dimension.
    Padding(Vec<(i64, i64, i64)>),
    Window(Window),
    DimLabels(DimLabels),
    /// A computation, by number.
    Computation(u32),
    /// Computations, by number.
    Computations(&'m [u32]),
    /// Instructions, by number.
    Instructions(Vec<u32>),
    Shape(Shape),
    Shapes(Vec<Shape>),
    DeviceGroups(DeviceGroups),
    /// `{true,false}`, or one of them alone.
    Bools(Vec<bool>),
    /// The distribution of a value over devices.
    Sharding(Sharding),
    /// Subshapes of the output that alias subshapes of parameters.
    Aliases(Vec<Alias>),
    /// Subshapes of the output that alias subshapes of operands.
    OperandAliases(Vec<Alias>),
    /// Subshapes of parameters whose buffers outputs may reuse.
    Donors(Vec<Donor>),
    Accuracy(Accuracy),
    /// Configurations of the sides of a product.
    Sides(Sides),
    /// The shapes and layouts of the entry computation as its caller sees them.
    EntryLayout(EntryLayout),
    /// Keys with their values.
    Dictionary(Vec<(&'m str, Cow<'m, str>)>),
    /// Anything else, as written.
    Raw(&'m str),
}

/// Checks the value at the cursor and advances past it. Only for forms that name neither computations nor instructions.
pub(crate) fn check(c: &mut Cursor<'_>, form: Form) -> Read<()> {
    match form {
        Form::Int => c.int().map(drop),
        Form::Word => word(c).map(drop),
        Form::Text => c.string().map(drop),
        Form::Ints => ints(c, &mut |_| ()),
        Form::DeviceGroups => match c.peek() {
            Some(b'{' | b'[') => devices::read(c).map(drop),
            _ => mesh_groups(c),
        },
        Form::Metadata | Form::FrontendAttributes | Form::Braced => c.braced(),
        Form::Sharding | Form::Aliases | Form::OperandAliases | Form::Donors => c.braced(),
        Form::Accuracy | Form::EntryLayout | Form::Sparsity | Form::BlockScaling => c.braced(),
        Form::DebugAttributes | Form::RecoveryTable => c.braced(),
        Form::Config => match c.peek() {
            Some(b'{') => c.braced(),
            _ => c.string().map(drop),
        },
        Form::Raw | Form::Literal | Form::Computation | Form::Computations | Form::Instructions => raw(c),
        form => plain(c, form).map(drop),
    }
}

/// Reads the value at the cursor, of a form that does not fall back to text; `None` for other forms.
pub(crate) fn plain<'m>(c: &mut Cursor<'m>, form: Form) -> Read<Option<Value<'m>>> {
    Ok(Some(match form {
        Form::Int => Value::Int(c.int()?),
        Form::Float => Value::Float(float(c)?),
        Form::Bool => Value::Bool(boolean(c)?),
        Form::Word => Value::Word(word(c)?),
        Form::Text => Value::Text(unescape(&c.text[c.string()?.range()])),
        Form::Ints => {
            let mut list = Vec::with_capacity(if c.rest().starts_with(b"{}") { 0 } else { 4 });
            ints(c, &mut |n| list.push(n))?;
            Value::Ints(list)
        }
        Form::IntLists => Value::IntLists(int_lists(c)?),
        Form::Words => Value::Words(list(c, word)?),
        Form::Slices => Value::Slices(slices(c)?),
        Form::Padding => Value::Padding(padding(c)?),
        Form::Window => Value::Window(window(c)?),
        Form::DimLabels => Value::DimLabels(dim_labels(c)?),
        Form::Bools if c.peek() == Some(b'{') => Value::Bools(list(c, boolean)?),
        Form::Bools => Value::Bools(vec![boolean(c)?]),
        Form::Shape => Value::Shape(read_shape(c)?),
        Form::Shapes => Value::Shapes(list(c, read_shape)?),
        // `structured` lists them.
        _ => return Ok(None),
    }))
}

/// The value of a text that [`check`] accepts.
pub(crate) fn decode<'m>(text: &'m str, span: Span, form: Form) -> Value<'m> {
    let mut c = Cursor { text: &text[..span.end as usize], pos: span.start as usize };
    let whole = &text[span.range()];
    let value = match form {
        Form::FrontendAttributes => dictionary(&mut c).ok().map(Value::Dictionary),
        Form::Config if whole.starts_with(['"', '\'']) => Some(Value::Text(unescape(&whole[1..whole.len() - 1]))),
        form => {
            let value = plain(&mut c, form);
            debug_assert!(value.is_ok(), "values are checked when they are read: {value:?}");
            value.ok().flatten().or_else(|| structured(&mut c, form).ok().flatten())
        }
    };
    value.unwrap_or(Value::Raw(whole))
}

/// The value of a form that falls back to text if it cannot be decoded; `None` for other forms, and for forms that stay
/// text.
#[deny(clippy::wildcard_enum_match_arm)]
fn structured<'m>(c: &mut Cursor<'_>, form: Form) -> Read<Option<Value<'m>>> {
    use Form::*;
    let value = match form {
        DeviceGroups => Some(Value::DeviceGroups(devices::read(c)?)),
        Sharding => Some(Value::Sharding(sharding::read(c)?)),
        Aliases => Some(Value::Aliases(alias::aliases(c, Kinds::Written)?)),
        OperandAliases => Some(Value::OperandAliases(alias::aliases(c, Kinds::None)?)),
        Donors => Some(Value::Donors(alias::donors(c)?)),
        Accuracy => Some(Value::Accuracy(accuracy(c)?)),
        EntryLayout => Some(Value::EntryLayout(entry_layout(c)?)),
        Sparsity => Some(Value::Sides(sides(c, SPARSITY)?)),
        BlockScaling => Some(Value::Sides(sides(c, SCALING)?)),
        DebugAttributes => {
            original::debug_entries(c, true)?;
            None
        }
        RecoveryTable => {
            original::recoveries(c)?;
            None
        }
        // The forms of [`plain`].
        Int | Float | Bool | Word | Text | Ints | IntLists | Words | Slices | Padding | Window | DimLabels | Shape
        | Shapes | Bools => return Ok(None),
        // Links to other lines, and text that is decoded in parts, on request.
        Computation | Computations | Instructions | Metadata | Literal | FrontendAttributes | Config | Braced | Raw => {
            return Ok(None)
        }
    };
    c.space();
    if c.at_end() {
        Ok(value)
    } else {
        Err(c.expected("the end of the value"))
    }
}

/// The error of a value that [`check`] accepts but that cannot be decoded.
pub(crate) fn unreadable(text: &str, span: Span, form: Form) -> Option<Diagnostic> {
    let mut c = Cursor { text: &text[..span.end as usize], pos: span.start as usize };
    structured(&mut c, form).err()
}

/// Skips device groups over a mesh without parsing the brackets.
fn mesh_groups(c: &mut Cursor<'_>) -> Read<()> {
    raw(c)?;
    let mut after = *c;
    if after.accept_after_space(b',') {
        after.space();
        if after.accept_word("device_ids") && after.accept_after_space(b'=') && raw(&mut after).is_ok() {
            *c = after;
        }
    }
    let end = c.pos;
    c.space();
    if c.peek() == Some(b'{') {
        c.braced()
    } else {
        c.pos = end;
        Ok(())
    }
}

/// `{one, one, …}`
pub(crate) fn list<'a, T>(c: &mut Cursor<'a>, one: impl FnMut(&mut Cursor<'a>) -> Read<T>) -> Read<Vec<T>> {
    c.list(*b"{}", ["`{`", "`,` or `}`"], one)
}

/// The form of a value whose attribute has this form: integers may be rows of integers, as the `slice_sizes` of a
/// collective-permute are.
#[inline]
pub(crate) fn form_of(form: Form, value: &[u8]) -> Form {
    let mut braces = value.iter().filter(|c| !c.is_ascii_whitespace());
    if form == Form::Ints && braces.next() == Some(&b'{') && braces.next() == Some(&b'{') {
        return Form::IntLists;
    }
    form
}

fn ints(c: &mut Cursor<'_>, each: &mut impl FnMut(i64)) -> Read<()> {
    c.items(*b"{}", ["`{`", "`,` or `}` in a list of integers"], |c| c.int().map(&mut *each))
}

pub(crate) fn int_lists(c: &mut Cursor<'_>) -> Read<Vec<Vec<i64>>> {
    list(c, |c| {
        let mut row = Vec::new();
        ints(c, &mut |n| row.push(n))?;
        Ok(row)
    })
}

fn word<'a>(c: &mut Cursor<'a>) -> Read<&'a str> {
    let found = c.word();
    if found.is_empty() {
        return Err(c.expected("a word"));
    }
    Ok(found)
}

pub(crate) fn boolean(c: &mut Cursor<'_>) -> Read<bool> {
    c.space();
    for (word, value) in [("true", true), ("false", false), ("1", true), ("0", false)] {
        if c.accept_word(word) {
            return Ok(value);
        }
    }
    Err(c.expected("`true` or `false`"))
}

pub(crate) fn float(c: &mut Cursor<'_>) -> Read<f64> {
    c.space();
    let start = *c;
    let word = c.number();
    let is_number = word.bytes().any(|b| b.is_ascii_digit()) || word.ends_with("inf") || word.ends_with("nan");
    word.parse().ok().filter(|_| is_number).ok_or_else(|| start.expected("a number"))
}

fn slices(c: &mut Cursor<'_>) -> Read<Vec<(i64, i64, i64)>> {
    list(c, |c| {
        c.expect(b'[', "`[`")?;
        let start = c.int()?;
        c.expect(b':', "`:`")?;
        let limit = c.int()?;
        if c.accept_after_space(b']') {
            return Ok((start, limit, 1));
        }
        c.expect(b':', "`:` or `]`")?;
        let stride = c.int()?;
        c.expect(b']', "`]`")?;
        Ok((start, limit, stride))
    })
}

/// Values separated by `x`, one per dimension. Each value ends where `one` stops.
pub(crate) fn by_dim<T>(c: &mut Cursor<'_>, mut one: impl FnMut(&mut Cursor<'_>) -> Read<T>) -> Read<Vec<T>> {
    let mut all = vec![one(c)?];
    while c.accept(b'x') {
        all.push(one(c)?);
    }
    Ok(all)
}

fn padding(c: &mut Cursor<'_>) -> Read<Vec<(i64, i64, i64)>> {
    c.space();
    // The padding of a scalar is an empty text.
    if !c.peek().is_some_and(|b| b == b'-' || b.is_ascii_digit()) {
        return Ok(Vec::new());
    }
    by_dim(c, |c| {
        let (low, high) = pair(c)?;
        let interior = if c.accept(b'_') { c.int()? } else { 0 };
        Ok((low, high, interior))
    })
}

pub(crate) fn pair(c: &mut Cursor<'_>) -> Read<(i64, i64)> {
    let low = c.int()?;
    if !c.accept(b'_') {
        return Err(c.expected("`_` between low and high padding"));
    }
    Ok((low, c.int()?))
}

fn dictionary<'a>(c: &mut Cursor<'a>) -> Read<Vec<(&'a str, Cow<'a, str>)>> {
    list(c, |c| {
        let key = if c.peek() == Some(b'"') {
            let span = c.string()?;
            &c.text[span.range()]
        } else {
            word(c)?
        };
        c.expect(b'=', "`=`")?;
        let text = c.text;
        let value = if c.accept_after_space(b'{') {
            // A nested dictionary is kept as text.
            c.pos -= 1;
            let start = c.pos;
            c.braced()?;
            Cow::Borrowed(&text[start..c.pos])
        } else {
            unescape(&text[c.string()?.range()])
        };
        Ok((key, value))
    })
}

/// Skips the value of an unknown attribute, up to the comma, space or brace that ends it.
pub(crate) fn raw(c: &mut Cursor<'_>) -> Read<()> {
    c.space();
    let start = *c;
    let mut depth = 0usize;
    loop {
        match c.peek() {
            None if depth > 0 => {
                let mut at = start;
                at.pos = c.pos;
                return Err(at.expected("the closing brackets of this value"));
            }
            None => break,
            Some(b'"') => {
                c.string()?;
                continue;
            }
            Some(b'{' | b'(' | b'[') => depth += 1,
            Some(b'}' | b')' | b']') if depth == 0 => break,
            Some(b'}' | b')' | b']') => depth -= 1,
            Some(b',') if depth == 0 => break,
            Some(b) if depth == 0 && b.is_ascii_whitespace() => break,
            Some(_) => {}
        }
        c.pos += 1;
    }
    if c.pos == start.pos {
        return Err(c.expected("a value"));
    }
    Ok(())
}

/// Replaces C escapes by the characters they stand for, and invalid ones by the character behind the backslash; invalid
/// UTF-8 becomes U+FFFD.
pub fn unescape(text: &str) -> Cow<'_, str> {
    match unescape_bytes(text) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// As [`unescape`], for a string of bytes.
pub(crate) fn unescape_bytes(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    if memchr::memchr(b'\\', bytes).is_none() {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let n = match (bytes[at], escape(&bytes[at..])) {
            (b'\\', Some((Escaped::Byte(byte), n))) => {
                out.push(byte);
                n
            }
            (b'\\', Some((Escaped::Char(c), n))) => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                n
            }
            (b'\\', None) if at + 1 < bytes.len() => {
                out.push(bytes[at + 1]);
                2
            }
            (byte, _) => {
                out.push(byte);
                1
            }
        };
        at += n;
    }
    Cow::Owned(out)
}

/// The problem of a word outside a closed set, with the nearest known word.
pub(crate) fn unknown_word(what: &'static str, found: &str, known: &[&str], span: Span) -> Diagnostic {
    Diagnostic::unknown_word(span, what, found, layout::nearest(found, known.iter().copied()))
}
