//! The grammar of `name=value` fields in braces as XLA reads it, and the escapes of strings.
//!
//! Values in any other form are kept as text; these functions tell where XLA's parser stops.

use std::borrow::Cow;

use super::sharding::{self, Sharding};
use super::{raw, unescape};
use crate::cursor::{Cursor, Read};
use crate::error::{Diagnostic, Span};

/// The name of a field, up to and including the `=`, which follows immediately. XLA's names begin with a letter or `_`.
pub(crate) fn name<'a>(c: &mut Cursor<'a>) -> Read<&'a str> {
    c.space();
    let start = *c;
    let name = c.word();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return Err(start.expected("the name of a field"));
    }
    if !c.accept(b'=') {
        return Err(c.expected("`=` directly behind the name of a field"));
    }
    Ok(name)
}

/// A string whose escapes are valid.
pub(crate) fn string(c: &mut Cursor<'_>) -> Read<Span> {
    let span = c.string()?;
    match invalid_escape(c.text, span) {
        Some(problem) => Err(problem),
        None => Ok(span),
    }
}

/// Reads `{name="text", name={text}}`.
pub(crate) fn frontend_attributes(c: &mut Cursor<'_>) -> Read<()> {
    c.items(*b"{}", ["`{`", "`,` or `}`"], |c| {
        name(c)?;
        c.space();
        match c.peek() {
            Some(b'{') => c.braced(),
            Some(b'"' | b'\'') => string(c).map(drop),
            _ => Err(c.expected("a string in quotes or a text in braces")),
        }
    })
}

/// Reads `{kind="sharding", entry={…}, exit={…}}`, with the fields in any order, with or without commas.
pub(crate) fn domain<'a>(c: &mut Cursor<'a>) -> Read<(&'a str, Sharding, Sharding)> {
    c.expect(b'{', "`{`")?;
    let (mut kind, mut entry, mut exit) = (None, None, None);
    loop {
        c.accept_after_space(b',');
        if c.accept_after_space(b'}') {
            break;
        }
        let start = *c;
        let field = name(c)?;
        c.space();
        let is_again = match field {
            "kind" => kind.replace(c.string()?).is_some(),
            "entry" => entry.replace(sharding::read(c)?).is_some(),
            "exit" => exit.replace(sharding::read(c)?).is_some(),
            _ => return Err(start.expected("`kind=`, `entry=` or `exit=` of a domain")),
        };
        if is_again {
            return Err(start.expected("each field of a domain once"));
        }
    }
    c.pos -= 1;
    match (kind, entry, exit) {
        (Some(kind), Some(entry), Some(exit)) => Ok((c.str(kind), entry, exit)),
        (None, ..) => Err(c.expected("`kind=` of a domain")),
        (_, None, _) => Err(c.expected("`entry=` of a domain")),
        _ => Err(c.expected("`exit=` of a domain")),
    }
}

/// `{name="value" number=1}`: every field with its value, up to the first that cannot be parsed.
pub(crate) fn values(text: &str, span: Span) -> Vec<(&str, Cow<'_, str>)> {
    let mut all = Vec::new();
    each_field(text, span, |name, value| all.push((name, value)));
    all
}

pub(crate) fn each_field<'m>(text: &'m str, span: Span, mut found: impl FnMut(&'m str, Cow<'m, str>)) {
    each_raw_field(text, span, |name, value| {
        found(name, quoted(value).map_or(Cow::Borrowed(value), unescape));
    });
}

/// The text inside the quotes of a value.
pub(crate) fn quoted(value: &str) -> Option<&str> {
    value.starts_with(['"', '\'']).then(|| &value[1..value.len() - 1])
}

/// As [`each_field`], with the quotes and escapes of strings.
pub(crate) fn each_raw_field<'m>(text: &'m str, span: Span, mut found: impl FnMut(&'m str, &'m str)) {
    let mut c = Cursor { text: &text[..span.end as usize], pos: span.start as usize };
    c.accept_after_space(b'{');
    loop {
        c.accept_after_space(b',');
        c.space();
        let name = c.word();
        if name.is_empty() || !c.accept_after_space(b'=') {
            return;
        }
        c.space();
        let start = c.pos;
        let value = match c.peek() {
            Some(b'"' | b'\'') => c.string().map(drop),
            Some(_) => raw(&mut c),
            None => return,
        };
        match value {
            Ok(()) => found(name, &text[start..c.pos]),
            Err(_) => return,
        }
    }
}

/// The problem of the first escape in a string that XLA does not read. XLA reads those of C, `\u` and `\U`.
pub(crate) fn invalid_escape(text: &str, span: Span) -> Option<Diagnostic> {
    let bytes = &text.as_bytes()[span.range()];
    let mut at = 0;
    while let Some(n) = memchr::memchr(b'\\', &bytes[at..]) {
        at += n;
        match escape(&bytes[at..]) {
            Some((_, n)) => at += n,
            None => {
                let start = span.start as usize + at;
                let n = text[start + 1..].chars().next().map_or(0, char::len_utf8);
                let span = Span::new(start, start + 1 + n);
                return Some(Diagnostic::expected(span, "an escape of C", format!("`{}`", &text[span.range()])));
            }
        }
    }
    None
}

/// The byte or character that an escape stands for.
pub(crate) enum Escaped {
    Byte(u8),
    Char(char),
}

/// The escape at the start of `bytes`, a backslash, and its length; `None` if it is not valid.
pub(crate) fn escape(bytes: &[u8]) -> Option<(Escaped, usize)> {
    let digits = |limit: usize, is_digit: fn(&u8) -> bool| {
        let rest = bytes.get(2..).unwrap_or(&[]);
        let n = rest.iter().take(limit).take_while(|c| is_digit(c)).count();
        std::str::from_utf8(&rest[..n]).unwrap_or("")
    };
    let c = *bytes.get(1)?;
    let byte = match c {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'v' => 11,
        b'\\' | b'?' | b'\'' | b'"' => c,
        b'0'..=b'7' => {
            let rest = digits(2, |c| (b'0'..=b'7').contains(c));
            let value = rest.bytes().fold(u32::from(c - b'0'), |value, c| value * 8 + u32::from(c - b'0'));
            return Some((Escaped::Byte(u8::try_from(value).ok()?), 2 + rest.len()));
        }
        b'x' | b'X' => {
            let rest = digits(usize::MAX, u8::is_ascii_hexdigit);
            return Some((Escaped::Byte(u8::from_str_radix(rest, 16).ok()?), 2 + rest.len()));
        }
        b'u' | b'U' => {
            let n = if c == b'u' { 4 } else { 8 };
            let rest = digits(n, u8::is_ascii_hexdigit);
            let value = u32::from_str_radix(rest, 16).ok().filter(|_| rest.len() == n)?;
            return Some((Escaped::Char(char::from_u32(value)?), 2 + n));
        }
        _ => return None,
    };
    Some((Escaped::Byte(byte), 2))
}
