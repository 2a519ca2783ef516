//! Values that XLA's parser reads in fewer ways: the fields of metadata, frontend attributes, the escapes of strings,
//! booleans, shapes in attributes.
//!
//! Only a strict reading calls [`check`]: metadata is most of the text of many modules.

use crate::attribute::fields;
use crate::attribute::form::Form;
use crate::attribute::metadata;
use crate::cursor::Cursor;
use crate::error::{Diagnostic, Span};
use crate::model::module::Module;

/// The first `limit` errors in values.
pub(crate) fn check(m: &Module, limit: usize) -> Vec<Diagnostic> {
    let text = &m.source.text;
    let of_computations = m.computations.iter().flat_map(|c| &c.attributes);
    let all = m.header.iter().chain(of_computations).chain(&m.attributes);
    all.filter_map(|a| problem(text, a.form, a.value)).take(limit).collect()
}

#[deny(clippy::wildcard_enum_match_arm)]
fn problem(text: &str, form: Form, span: Span) -> Option<Diagnostic> {
    let c = &mut Cursor { text: &text[..span.end as usize], pos: span.start as usize };
    use Form::*;
    match form {
        Metadata => metadata::check(c).err(),
        FrontendAttributes => fields::frontend_attributes(c).err(),
        Bool | Bools => boolean(c),
        Shape | Shapes if lacks_order(&text.as_bytes()[span.range()]) => Some(Diagnostic::new(span, NO_ORDER)),
        Text | Config if matches!(c.peek(), Some(b'"' | b'\'')) => fields::string(c).err(),
        // Every reading reads them as XLA does.
        Shape | Shapes | Text | Config | Int | Float | Word | Ints | IntLists | Words | Slices | Padding | Window
        | DimLabels | Computation | Computations | Instructions | DeviceGroups | Literal | Sharding | Aliases
        | OperandAliases | Donors | Accuracy | Sparsity | BlockScaling | EntryLayout | DebugAttributes
        | RecoveryTable | Braced | Raw => None,
    }
}

/// The first number in place of `true` or `false`.
fn boolean(c: &mut Cursor<'_>) -> Option<Diagnostic> {
    while !c.at_end() && !matches!(c.peek(), Some(b'0' | b'1')) {
        c.pos += 1;
    }
    (!c.at_end()).then(|| c.expected("`true` or `false`"))
}

/// Whether the text of a shape has a layout without the order of dimensions: `{}`, or one of an array with dimensions
/// and more than a memory space. The layout is read as that of row-major order.
pub(crate) fn lacks_order(text: &[u8]) -> bool {
    memchr::memchr_iter(b'{', text).any(|open| match text[open + 1..].trim_ascii_start() {
        [b'}', ..] => true,
        [b':', b'S', ..] => false,
        [b':', ..] => !text[..open].trim_ascii_end().ends_with(b"[]"),
        _ => false,
    })
}

/// The problem of a layout that [`lacks_order`].
pub(crate) const NO_ORDER: &str =
    "invalid layout: minor_to_major: expected one number per dimension, or no braces, found none";
