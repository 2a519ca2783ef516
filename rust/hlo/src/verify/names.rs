//! Names that XLA's grammar cannot tell from its own words.
//!
//! [`legal`] is the name in print. XLA prints none of these, but hand-written texts have some.

use std::borrow::Cow;

use layout::{clip, ElementType};

use super::rule::{Law, Rule, Violation};
use crate::error::Span;
use crate::model::module::Module;
use crate::opcode::Words;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// Printed without `%`.
    Module,
    /// Printed behind `%`, where it may be any word.
    Computation,
    /// Printed behind `%`, where it may be any word but a type.
    Instruction,
}

/// The names that may break the law, noted while their text is in the cache.
#[derive(Default)]
pub(crate) struct SuspectNames(Vec<(Span, Named)>);

impl SuspectNames {
    #[inline]
    pub fn note(&mut self, m: &Module, name: Span, named: Named) {
        if is_suspect(&m.source.text.as_bytes()[name.range()]) {
            self.0.push((name, named));
        }
    }
}

/// The violations of names, at their spans.
pub(crate) fn check<'a>(m: &'a Module, suspects: &'a SuspectNames) -> impl Iterator<Item = (Span, Violation)> + 'a {
    let text = &m.source.text;
    let of_module = Some((m.name, Named::Module)).filter(|_| !m.name.is_empty());
    of_module.into_iter().chain(suspects.0.iter().copied()).filter_map(|(span, named)| {
        let has_sign = text.as_bytes()[..span.start as usize].ends_with(b"%");
        law(&text[span.range()], named, has_sign).err().map(|violation| (span, violation))
    })
}

/// The name in print: the original, or a similar unused name if XLA does not read the original.
#[inline]
pub(crate) fn legal(name: Cow<'_, str>, named: Named, is_taken: impl Fn(&str) -> bool) -> Cow<'_, str> {
    match is_suspect(name.as_bytes()) && law(&name, named, named != Named::Module).is_err() {
        true => Cow::Owned(replaced(&name, is_taken)),
        false => name,
    }
}

/// Appends a `_`, as XLA does for types.
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
    let [first, rest @ ..] = name else { return false };
    let [second, ..] = rest else { return !begins(*first) };
    let is_like_type = second.is_ascii_digit() && matches!(first, b's' | b'u' | b'f' | b'c');
    if is_like_type || !begins(*first) {
        return true;
    }
    // Most names end with a number, and no word does.
    match name.last().is_some_and(u8::is_ascii_digit) {
        true => name == b"bf16",
        false => WORDS.find(name).is_some() || matches!(name, b"pred" | b"token" | b"opaque"),
    }
}

#[inline]
fn begins(c: u8) -> bool {
    c.is_ascii_alphabetic() || c == b'_'
}

fn begins_well(name: &str) -> bool {
    name.bytes().next().is_some_and(begins)
}

/// A name begins with a letter or `_`. Without `%` it is neither a type nor a word of the grammar; with it, that of an
/// instruction is not a type.
fn law(name: &str, named: Named, has_sign: bool) -> Law {
    let law = |holds, expected| Rule::ReservedName.require(holds, expected, clip(name));
    law(begins_well(name), "a letter or `_` at the beginning of a name")?;
    let is_type = matches!(name, "token" | "opaque") || ElementType::from_name(name).is_some();
    let is_reserved = match has_sign {
        true => is_type && named == Named::Instruction,
        false => is_type || WORDS.find(name.as_bytes()).is_some(),
    };
    law(!is_reserved, "a name that is not a word of the grammar")
}

/// Words of the grammar, which are names behind `%`.
#[rustfmt::skip]
static WORDS: Words<19> = Words::new([
    "ENTRY", "FileLocations", "FileNames", "FunctionNames", "HloModule", "ROOT", "StackFrames", "false", "inf",
    "last_tile_dim_replicate", "manual", "maximal", "nan", "replicated", "shard_as", "shard_like", "true", "unknown",
    "unreduced",
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_breaks_the_law_is_suspect() {
        let words = ["ENTRY", "ROOT", "last_tile_dim_replicate", "true", "token", "opaque", "1", "-", ".x", "7up"];
        for name in ElementType::all().map(ElementType::name).chain(words) {
            assert!(law(name, Named::Module, false).is_err() && is_suspect(name.as_bytes()), "{name}");
        }
        for name in ["", "a", "_", "s", "add.12", "fusion_3", "s_32", "bf17", "f32"] {
            assert_eq!(is_suspect(name.as_bytes()), name == "f32", "{name}");
        }
    }
}
