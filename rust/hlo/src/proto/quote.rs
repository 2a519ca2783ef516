//! Strings and identifiers of a proto as they are written in text.

use std::fmt::Write;

use crate::cursor::{word_end, Cursor};

/// Whether a text is an identifier, which needs no quotes.
pub(crate) fn is_word(text: &str) -> bool {
    !text.is_empty() && word_end(text.as_bytes(), 0) == text.len()
}

/// Whether a text is one value in braces.
pub(crate) fn is_dictionary(text: &str) -> bool {
    let mut c = Cursor::new(text);
    text.starts_with('{') && c.braced().is_ok() && c.at_end()
}

pub(crate) fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    push_escaped(out, text);
    out.push('"');
}

/// A string of bytes; those that are not UTF-8 have octal escapes.
pub(crate) fn push_bytes(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        push_escaped(out, chunk.valid());
        chunk.invalid().iter().for_each(|&byte| push_octal(out, byte.into()));
    }
    out.push('"');
}

#[inline]
fn push_escaped(out: &mut String, text: &str) {
    if text.bytes().all(|c| c >= b' ' && !matches!(c, b'"' | b'\\' | 127)) {
        return out.push_str(text);
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..' ' | '\x7f' => push_octal(out, c.into()),
            c => out.push(c),
        }
    }
}

fn push_octal(out: &mut String, byte: u32) {
    // Writing to a string does not fail.
    let _ = write!(out, "\\{byte:03o}");
}
