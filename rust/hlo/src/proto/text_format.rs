//! The text format of protocol buffers: read into the wire format, by the table of messages.
//!
//! `computations { name: "e" id: 1 }` becomes its encoded bytes, which the reader of protos takes; nothing here knows
//! about modules. A field that the table does not have is skipped and reported. Errors have the line and column of the
//! text. See <https://protobuf.dev/reference/protobuf/textformat-spec/>.

use cancel::poll;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::messages::{self, message_name, FieldSpec, Type, FILES};
use crate::wire::WireError;
use layout::clip;

use crate::cursor::{Cursor, Read};
use crate::error::{Diagnostic, Span};
use crate::tuning::{MAX_DIAGNOSTICS, MAX_MESSAGES};

/// The number of bytes of a length: with a fixed size, a length can be filled in after its message.
const LENGTH_BYTES: usize = 5;

/// A text as bytes.
pub(crate) struct Encoded {
    pub bytes: Vec<u8>,
    /// Fields that are not known, once for each message and name.
    pub lost: Vec<Diagnostic>,
    /// Offsets in the bytes, ascending, and the places in the text that they come from.
    marks: Vec<(u32, u32)>,
}

impl Encoded {
    /// The problem of bytes that are not a module, at its place in the text.
    pub fn problem(&self, text: &str, error: WireError) -> Diagnostic {
        let k = self.marks.partition_point(|mark| mark.0 as usize <= error.at);
        let start = k.checked_sub(1).map_or(0, |k| self.marks[k].1 as usize);
        let length = text[start..].bytes().take_while(|&b| is_name(b)).count();
        Diagnostic::expected(Span::new(start, start + length.max(1)), "an HLO proto", error.found)
    }
}

/// Whether a text, or the head of one, is that of a module in the text format: it begins with fields of a file, one of
/// which is a message. No text of HLO does.
pub(crate) fn is_text_format(text: &str) -> bool {
    let mut r = Reader::new(text);
    let Some(file) = r.file() else { return false };
    loop {
        let field = find(file, r.word());
        if let Some(FieldSpec { ty: Type::Message(message), .. }) = field {
            return r.is_at(*message);
        }
        r.space();
        if !matches!(r.peek(), Some(b':' | b'{' | b'<')) || r.skip().is_err() {
            return false;
        }
        r.space();
        let _ = r.accept(b',') || r.accept(b';');
        r.space();
    }
}

/// The text as bytes of the wire format.
pub(crate) fn encode(text: &str) -> Read<Encoded> {
    let mut r = Reader::new(text);
    if text.len() >= u32::MAX as usize / 4 {
        return Err(Diagnostic::limit(Span::default(), format!("more than {} bytes of text", u32::MAX / 4)));
    }
    let file = r.file().unwrap_or(messages::MODULE);
    r.message(file, None, 0)?;
    Ok(Encoded { bytes: r.out, lost: r.lost, marks: r.marks })
}

fn find(message: usize, name: &str) -> Option<&'static FieldSpec> {
    messages::all()[message].iter().find(|field| field.name == name)
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

struct Reader<'a> {
    text: &'a str,
    pos: usize,
    out: Vec<u8>,
    marks: Vec<(u32, u32)>,
    lost: Vec<Diagnostic>,
    reported: FxHashSet<(usize, &'a str)>,
}

/// The values of a repeated field of numbers, which are written together.
struct Packed {
    number: u32,
    /// The place of the first one in the text.
    at: usize,
    bytes: Vec<u8>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        let pos = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let mut r =
            Reader { text, pos, out: Vec::new(), marks: Vec::new(), lost: Vec::new(), reported: FxHashSet::default() };
        r.space();
        r
    }

    /// The message of a file that has the next word as a field.
    fn file(&mut self) -> Option<usize> {
        let start = self.pos;
        let name = self.word();
        self.pos = start;
        FILES.iter().filter_map(|file| messages::message(file)).find(|&file| find(file, name).is_some())
    }

    /// Whether this message is next, which is empty or begins with one of its fields.
    fn is_at(&mut self, message: usize) -> bool {
        self.space();
        self.accept(b':');
        self.space();
        if self.accept(b'[') {
            self.space();
        }
        let Some(close) = self.open() else { return false };
        self.space();
        if self.accept(close) || self.accept(b'[') {
            return true;
        }
        let is_known = find(message, self.word()).is_some();
        self.space();
        is_known && matches!(self.peek(), Some(b':' | b'{' | b'<'))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn accept(&mut self, b: u8) -> bool {
        let found = self.peek() == Some(b);
        self.pos += usize::from(found);
        found
    }

    /// Advances past space and comments.
    fn space(&mut self) {
        while let Some(b) = self.peek() {
            match b {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.pos += 1,
                b'#' => {
                    let rest = &self.text.as_bytes()[self.pos..];
                    self.pos += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// The letters, digits and underscores that are next.
    fn word(&mut self) -> &'a str {
        let start = self.pos;
        while self.peek().is_some_and(is_name) {
            self.pos += 1;
        }
        &self.text[start..self.pos]
    }

    /// The end of the message that begins here.
    fn open(&mut self) -> Option<u8> {
        if self.accept(b'{') {
            Some(b'}')
        } else if self.accept(b'<') {
            Some(b'>')
        } else {
            None
        }
    }

    fn expected(&self, what: impl Into<String>) -> Diagnostic {
        Cursor { text: self.text, pos: self.pos }.expected(what.into())
    }

    fn varint(&mut self, value: u64) {
        push_varint(value, |byte| self.out.push(byte));
    }

    fn mark(&mut self, at: usize) {
        self.marks.push((self.out.len() as u32, at as u32));
    }

    /// The fields of a message up to its end, which is consumed.
    fn message(&mut self, message: usize, close: Option<u8>, depth: usize) -> Read<()> {
        let mut packed: SmallVec<[Packed; 2]> = SmallVec::new();
        loop {
            poll();
            self.space();
            match (self.peek(), close) {
                (None, None) => break,
                (Some(b), Some(close)) if b == close => {
                    self.pos += 1;
                    break;
                }
                (None, Some(close)) => return Err(self.expected(format!("a field or `{}`", close as char))),
                _ => self.field(message, &mut packed, depth)?,
            }
            self.space();
            let _ = self.accept(b',') || self.accept(b';');
        }
        for Packed { number, at, bytes } in packed {
            self.mark(at);
            self.varint(u64::from(number) << 3 | 2);
            self.varint(bytes.len() as u64);
            self.out.extend_from_slice(&bytes);
        }
        Ok(())
    }

    fn field(&mut self, message: usize, packed: &mut SmallVec<[Packed; 2]>, depth: usize) -> Read<()> {
        let start = self.pos;
        // The name of an extension, or the type of a message of any type, is in brackets.
        let is_extension = self.accept(b'[');
        let name = match is_extension {
            true => {
                let rest = &self.text[self.pos..];
                let end =
                    rest.find(|c: char| !(c.is_ascii_alphanumeric() || "._/- ".contains(c))).unwrap_or(rest.len());
                self.pos += end;
                if !self.accept(b']') {
                    return Err(self.expected("`]` after the name of a field"));
                }
                &rest[..end]
            }
            false => self.word(),
        };
        if name.is_empty() {
            return Err(self.expected(format!("the name of a field of {}", message_name(message))));
        }
        let field = if is_extension { None } else { find(message, name) };
        let Some(field) = field.filter(|field| field.ty != Type::Skipped) else {
            if field.is_none() && self.lost.len() < MAX_DIAGNOSTICS && self.reported.insert((message, name)) {
                let found = format!("`{}`, which is lost", clip(name));
                let expected = format!("a known field of {}", message_name(message));
                self.lost.push(Diagnostic::expected(Span::new(start, self.pos), expected, found));
            }
            return self.skip();
        };
        self.space();
        let has_colon = self.accept(b':');
        let is_message = matches!(field.ty, Type::Message(_));
        if !has_colon && !is_message {
            return Err(self.expected(format!("`:` after `{name}`")));
        }
        self.space();
        if !field.is_repeated || self.peek() != Some(b'[') {
            return self.value(field, start, packed, depth);
        }
        self.pos += 1;
        self.space();
        if self.accept(b']') {
            return Ok(());
        }
        loop {
            poll();
            self.space();
            self.value(field, self.pos, packed, depth)?;
            self.space();
            if self.accept(b']') {
                return Ok(());
            }
            if !self.accept(b',') {
                return Err(self.expected("`,` or `]` in a list"));
            }
        }
    }

    /// One value of a field, which stands at `at` in the text.
    fn value(&mut self, field: &FieldSpec, at: usize, packed: &mut SmallVec<[Packed; 2]>, depth: usize) -> Read<()> {
        let tag = u64::from(field.number) << 3;
        let (tag, bytes): (u64, SmallVec<[u8; 10]>) = match field.ty {
            Type::Message(inner) => return self.nested(field, inner, at, depth),
            Type::Bytes => {
                let bytes = self.strings(field)?;
                self.mark(at);
                self.varint(tag | 2);
                self.varint(bytes.len() as u64);
                self.out.extend_from_slice(&bytes);
                return Ok(());
            }
            Type::Skipped => return Ok(()),
            Type::Float => {
                let word = self.float(field)?;
                (tag | 5, word.parse::<f32>().unwrap_or(f32::NAN).to_le_bytes().into_iter().collect())
            }
            Type::Double => {
                let word = self.float(field)?;
                (tag | 1, word.parse::<f64>().unwrap_or(f64::NAN).to_le_bytes().into_iter().collect())
            }
            Type::Integer | Type::Enum(_) => {
                let mut bytes = SmallVec::new();
                push_varint(self.integer(field)?, |byte| bytes.push(byte));
                (tag, bytes)
            }
        };
        if !field.is_repeated {
            self.mark(at);
            self.varint(tag);
            self.out.extend_from_slice(&bytes);
            return Ok(());
        }
        match packed.iter_mut().find(|p| p.number == field.number) {
            Some(p) => p.bytes.extend_from_slice(&bytes),
            None => packed.push(Packed { number: field.number, at, bytes: bytes.to_vec() }),
        }
        Ok(())
    }

    fn nested(&mut self, field: &FieldSpec, inner: usize, at: usize, depth: usize) -> Read<()> {
        if depth >= MAX_MESSAGES {
            return Err(Diagnostic::limit(
                Span::new(at, at + field.name.len()),
                format!("messages nested deeper than {MAX_MESSAGES} levels"),
            ));
        }
        let Some(close) = self.open() else {
            return Err(self.expected(format!("`{{` of a {}", message_name(inner))));
        };
        self.mark(at);
        self.varint(u64::from(field.number) << 3 | 2);
        let start = self.out.len() + LENGTH_BYTES;
        self.out.resize(start, 0);
        self.message(inner, Some(close), depth + 1)?;
        let mut length = self.out.len() - start;
        for k in 0..LENGTH_BYTES {
            let more = if k + 1 < LENGTH_BYTES { 128 } else { 0 };
            self.out[start - LENGTH_BYTES + k] = (length & 127) as u8 | more;
            length >>= 7;
        }
        Ok(())
    }

    /// The bits of an integer, a bool or an enum.
    fn integer(&mut self, field: &FieldSpec) -> Read<u64> {
        let start = self.pos;
        let is_negative = self.accept(b'-');
        if is_negative {
            self.space();
        }
        let word = self.word();
        let digits = |digits: &str, radix| u64::from_str_radix(digits, radix).ok();
        let magnitude = match (word.as_bytes(), field.ty) {
            ([b'0', b'x' | b'X', ..], _) => digits(&word[2..], 16),
            ([b'0', b'0'..=b'9', ..], _) => digits(&word[1..], 8),
            ([b'0'..=b'9', ..], _) => digits(word, 10),
            (_, Type::Enum(number)) if !is_negative => messages::enum_value(number, word),
            _ if is_negative => None,
            _ => match word {
                "true" | "True" | "t" => Some(1),
                "false" | "False" | "f" => Some(0),
                _ => None,
            },
        };
        let value = match (magnitude, is_negative) {
            (Some(n), false) => Some(n),
            (Some(n), true) if n <= 1 << 63 => Some(n.wrapping_neg()),
            _ => None,
        };
        value.ok_or_else(|| {
            let end = self.pos;
            self.pos = start;
            let what = match field.ty {
                Type::Enum(number) => format!("a word of {} as `{}`", messages::enum_name(number), field.name),
                _ => format!("an integer of 64 bits as `{}`", field.name),
            };
            match self.text[start..end].is_empty() {
                true => self.expected(what),
                false => {
                    Diagnostic::expected(Span::new(start, end), what, format!("`{}`", clip(&self.text[start..end])))
                }
            }
        })
    }

    /// A number as Rust writes it.
    fn float(&mut self, field: &FieldSpec) -> Read<String> {
        let start = self.pos;
        let sign = if self.accept(b'-') { "-" } else { "" };
        self.space();
        let first = self.pos;
        while let Some(b) = self.peek() {
            let is_sign = matches!(b, b'+' | b'-') && matches!(self.text.as_bytes()[self.pos - 1], b'e' | b'E');
            if !is_name(b) && b != b'.' && !(is_sign && self.pos > first) {
                break;
            }
            self.pos += 1;
        }
        let word = self.text[first..self.pos].to_ascii_lowercase();
        let number = match word.strip_suffix('f') {
            Some(number) if word.starts_with(|c: char| c.is_ascii_digit() || c == '.') => number,
            _ => word.as_str(),
        };
        match number.parse::<f64>() {
            Ok(_) if !number.is_empty() => Ok(format!("{sign}{number}")),
            _ => {
                self.pos = start;
                Err(self.expected(format!("a number as `{}`", field.name)))
            }
        }
    }

    /// The bytes of strings, one behind the other.
    fn strings(&mut self, field: &FieldSpec) -> Read<Vec<u8>> {
        let mut bytes = Vec::new();
        if !matches!(self.peek(), Some(b'"' | b'\'')) {
            return Err(self.expected(format!("a string as `{}`", field.name)));
        }
        while matches!(self.peek(), Some(b'"' | b'\'')) {
            self.string(&mut bytes)?;
            self.space();
        }
        Ok(bytes)
    }

    fn string(&mut self, bytes: &mut Vec<u8>) -> Read<()> {
        let start = self.pos;
        let quote = self.text.as_bytes()[start];
        self.pos += 1;
        loop {
            let rest = &self.text.as_bytes()[self.pos..];
            let n = rest.iter().position(|&b| b == quote || b == b'\\' || b == b'\n').unwrap_or(rest.len());
            bytes.extend_from_slice(&rest[..n]);
            self.pos += n;
            match self.peek() {
                Some(b) if b == quote => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape(bytes)?,
                _ => {
                    let found = "a string that is not closed in its line";
                    return Err(Diagnostic::expected(Span::new(start, start + 1), "a string", found));
                }
            }
        }
    }

    /// The bytes of an escape sequence.
    fn escape(&mut self, bytes: &mut Vec<u8>) -> Read<()> {
        let start = self.pos;
        self.pos += 1;
        let b = self.peek();
        self.pos += usize::from(b.is_some_and(|b| b.is_ascii()));
        let mut digits = |radix: u32, most: usize| {
            let rest = &self.text[self.pos..];
            let n = rest.bytes().take(most).take_while(|&b| (b as char).is_digit(radix)).count();
            self.pos += n;
            (u32::from_str_radix(&rest[..n], radix).ok(), n)
        };
        let byte = match b {
            Some(b'n') => Some(b'\n'),
            Some(b'r') => Some(b'\r'),
            Some(b't') => Some(b'\t'),
            Some(b'a') => Some(7),
            Some(b'b') => Some(8),
            Some(b'f') => Some(12),
            Some(b'v') => Some(11),
            Some(b @ (b'\\' | b'\'' | b'"' | b'?')) => Some(b),
            Some(b'x' | b'X') => digits(16, 2).0.map(|n| n as u8),
            Some(b @ b'0'..=b'7') => {
                let (more, n) = digits(8, 2);
                let first = u32::from(b - b'0') << (3 * n);
                u8::try_from(first | more.unwrap_or(0)).ok()
            }
            Some(b @ (b'u' | b'U')) => {
                let n = if b == b'u' { 4 } else { 8 };
                let (code, found) = digits(16, n);
                if let Some(c) = code.filter(|_| found == n).and_then(char::from_u32) {
                    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    return Ok(());
                }
                None
            }
            _ => None,
        };
        match byte {
            Some(byte) => {
                bytes.push(byte);
                Ok(())
            }
            None => {
                let found = format!("`{}`", clip(&self.text[start..self.pos]));
                Err(Diagnostic::expected(Span::new(start, self.pos), "an escape sequence", found))
            }
        }
    }

    /// Advances past the value of a field of any kind.
    fn skip(&mut self) -> Read<()> {
        self.space();
        self.accept(b':');
        let mut waiting: Vec<(u8, usize)> = Vec::new();
        loop {
            self.space();
            let Some(b) = self.peek() else {
                return Err(match waiting.last() {
                    Some(&(close, at)) => Diagnostic::expected(
                        Span::new(at, at + 1),
                        format!("`{}` of this bracket", close as char),
                        "the end of the text",
                    ),
                    None => self.expected("a value"),
                });
            };
            match b {
                b'{' | b'<' | b'[' => {
                    waiting.push((if b == b'[' { b']' } else { b + 2 }, self.pos));
                    self.pos += 1;
                }
                b'"' | b'\'' => {
                    let mut bytes = Vec::new();
                    self.string(&mut bytes)?;
                    self.space();
                    if waiting.is_empty() && !matches!(self.peek(), Some(b'"' | b'\'')) {
                        return Ok(());
                    }
                }
                b'}' | b'>' | b']' => match waiting.pop() {
                    Some((close, _)) if close == b => {
                        self.pos += 1;
                        if waiting.is_empty() {
                            return Ok(());
                        }
                    }
                    Some((close, _)) => return Err(self.expected(format!("`{}`", close as char))),
                    None => return Err(self.expected("a value")),
                },
                b',' | b';' if waiting.is_empty() => return Err(self.expected("a value")),
                _ => {
                    let rest = &self.text.as_bytes()[self.pos..];
                    let n = rest.iter().position(|b| b" \t\n\r,;{}<>[]#\"'".contains(b)).unwrap_or(rest.len());
                    // A sign may be separated from its number.
                    let is_sign = &rest[..n] == b"-";
                    self.pos += n.max(1);
                    if waiting.is_empty() && !is_sign {
                        return Ok(());
                    }
                }
            }
        }
    }
}

fn push_varint(mut value: u64, mut push: impl FnMut(u8)) {
    while value >= 128 {
        push(value as u8 | 128);
        value >>= 7;
    }
    push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_may_come_after_any_number_of_fields() {
        for n in [0, 1, 64, 65, 5000] {
            let fields = "name: \"m\"\n".repeat(n);
            assert!(is_text_format(&format!("{fields}computations {{ name: \"e\" }}")), "{n} fields");
            assert!(!is_text_format(&fields), "{n} fields without a message");
            assert!(!is_text_format(&format!("{fields}computations")), "{n} fields and a word");
        }
        assert!(!is_text_format("HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }"));
    }
}
