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
    if text.bytes().all(|c| c >= b' ' && !matches!(c, b'"' | b'\\' | 127)) {
        out.push_str(text);
        return out.push('"');
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 32 || c as u32 == 127 => {
                let _ = write!(out, "\\{:03o}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A string of bytes; those that are not UTF-8 have octal escapes outside ASCII.
pub(crate) fn push_bytes(out: &mut String, bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return push_quoted(out, text);
    }
    out.push('"');
    for &b in bytes {
        match b {
            b' '..=b'~' if b != b'"' && b != b'\\' => out.push(b as char),
            b => {
                let _ = write!(out, "\\{b:03o}");
            }
        }
    }
    out.push('"');
}
