//! Names that XLA's grammar cannot tell from its own words.
//!
//! Read [`check`], and [`legal`], the name in print. XLA prints none of these, but hand-written texts have some.

use std::borrow::Cow;

use layout::ElementType;

use super::rule::{broken, Law, Rule, Violation};
use crate::cursor::clip;
use crate::error::Span;
use crate::model::module::Module;

/// Whose name it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// Printed without `%`.
    Module,
    /// Printed behind `%`, where it may be any word.
    Computation,
    /// Printed behind `%`, where it may be any word but a type.
    Instruction,
}

/// The first `limit` violations of names, at their spans.
pub(crate) fn check(m: &Module, limit: usize) -> Vec<(Span, Violation)> {
    let mut found = Vec::new();
    let text = &m.source.text;
    let mut add = |span: Span, named: Named| {
        if is_suspect(&text.as_bytes()[span.range()]) && found.len() < limit {
            let has_sign = text.as_bytes()[..span.start as usize].ends_with(b"%");
            found.extend(law(&text[span.range()], named, has_sign).err().map(|violation| (span, violation)));
        }
    };
    add(m.name, Named::Module);
    m.computations.iter().for_each(|c| add(c.name, Named::Computation));
    m.instructions.iter().for_each(|i| add(i.name, Named::Instruction));
    found
}

/// The name in print: its own, or one that is like it and not taken where XLA does not read its own.
#[inline]
pub(crate) fn legal(name: Cow<'_, str>, named: Named, is_taken: impl Fn(&str) -> bool) -> Cow<'_, str> {
    match is_suspect(name.as_bytes()) && law(&name, named, named != Named::Module).is_err() {
        true => Cow::Owned(replaced(&name, is_taken)),
        false => name,
    }
}

/// XLA appends a `_` to types, too.
#[cold]
fn replaced(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut made = if begins_well(name) { format!("{name}_") } else { format!("_{name}") };
    while is_taken(&made) {
        made.push('_');
    }
    made
}

/// Whether a name may break the law; false for most.
#[inline]
fn is_suspect(name: &[u8]) -> bool {
    match name {
        [b's' | b'u' | b'f' | b'c', second, ..] if second.is_ascii_digit() => true,
        [b'p', b'r', b'e', b'd'] | [b'b', b'f', b'1', b'6'] => true,
        [first, ..] if !(first.is_ascii_alphabetic() || *first == b'_') => true,
        name => is_word(name) || matches!(name, b"token" | b"opaque"),
    }
}

fn begins_well(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// A name begins with a letter or `_`. Without `%` it is neither a type nor a word of the grammar; with it, that of an
/// instruction is not a type.
fn law(name: &str, named: Named, has_sign: bool) -> Law {
    if !begins_well(name) {
        return broken(Rule::ReservedName, "a letter or `_` at the beginning of a name", clip(name));
    }
    let is_type = matches!(name, "token" | "opaque") || ElementType::from_name(name).is_some();
    let is_reserved = match has_sign {
        true => is_type && named == Named::Instruction,
        false => is_type || is_word(name.as_bytes()),
    };
    match is_reserved {
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
