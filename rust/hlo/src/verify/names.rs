//! Names that XLA's grammar cannot tell from its own words.
//!
//! Read [`check`]. XLA prints none of these, but hand-written texts have some.

use layout::ElementType;

use super::rule::{broken, Law, Rule, Violation};
use crate::cursor::clip;
use crate::error::Span;
use crate::model::module::Module;

/// The first `limit` violations of names, at their spans.
pub(crate) fn check(m: &Module, limit: usize) -> Vec<(Span, Violation)> {
    let mut found = Vec::new();
    let mut add = |span: Span| {
        if is_suspect(m.source.text.as_bytes(), span) && found.len() < limit {
            found.extend(law(m, span).err().map(|violation| (span, violation)));
        }
    };
    add(m.name);
    m.computations.iter().for_each(|c| add(c.name));
    m.instructions.iter().for_each(|i| add(i.name));
    found
}

/// Whether a name may break the law; false for most.
#[inline]
fn is_suspect(text: &[u8], span: Span) -> bool {
    match text[span.range()] {
        [b's' | b'u' | b'f' | b'c', second, ..] if second.is_ascii_digit() => true,
        [b'p', b'r', b'e', b'd'] | [b'b', b'f', b'1', b'6'] => true,
        [first, ..] if !(first.is_ascii_alphabetic() || first == b'_') => true,
        ref name => is_word(name) || matches!(name, b"token" | b"opaque"),
    }
}

/// A name begins with a letter or `_` and is not a type; without `%` it is not a word of the grammar either.
fn law(m: &Module, span: Span) -> Law {
    let text = &m.source.text;
    let name = &text[span.range()];
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return broken(Rule::ReservedName, "a letter or `_` at the beginning of a name", clip(name));
    }
    let is_type = matches!(name, "token" | "opaque") || ElementType::from_name(name).is_some();
    let has_sign = text.as_bytes()[..span.start as usize].ends_with(b"%");
    match is_type || is_word(name.as_bytes()) && !has_sign {
        true => broken(Rule::ReservedName, "a name that is not a word of the grammar", clip(name)),
        false => Ok(()),
    }
}

/// Words of the grammar, which are names behind `%`.
#[inline]
fn is_word(name: &[u8]) -> bool {
    matches!(
        name,
        b"ENTRY"
            | b"FileLocations"
            | b"FileNames"
            | b"FunctionNames"
            | b"HloModule"
            | b"ROOT"
            | b"StackFrames"
            | b"false"
            | b"inf"
            | b"last_tile_dim_replicate"
            | b"manual"
            | b"maximal"
            | b"nan"
            | b"replicated"
            | b"shard_as"
            | b"shard_like"
            | b"true"
            | b"unknown"
            | b"unreduced"
    )
}
