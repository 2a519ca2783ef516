//! Characters to words: a cursor over the bytes of a text.
//!
//! Read [`Cursor`]. Law: every method either moves forward or says why it cannot; none looks behind the cursor.
//! Not here: what a sequence of words means.

use crate::error::{Problem, ProblemKind, Span};

/// The result of reading something.
pub(crate) type Read<T> = Result<T, Problem>;

/// A place in a text.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    pub text: &'a str,
    pub pos: usize,
}

const NAME: u8 = 1;
const SPACE: u8 = 2;
const DIGIT: u8 = 4;
const NUMBER: u8 = 8;

/// What each byte can be part of.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut c = 0;
    while c < 256 {
        let b = c as u8;
        if b.is_ascii_alphanumeric() || b == b'_' || b == b'.' || b == b'-' {
            class[c] |= NAME;
        }
        if b.is_ascii_whitespace() {
            class[c] |= SPACE;
        }
        if b.is_ascii_digit() {
            class[c] |= DIGIT;
        }
        if b.is_ascii_alphanumeric() || b == b'+' || b == b'-' || b == b'.' {
            class[c] |= NUMBER;
        }
        c += 1;
    }
    class
};

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, pos: 0 }
    }

    pub fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    pub fn rest(&self) -> &'a [u8] {
        &self.bytes()[self.pos..]
    }

    pub fn peek(&self) -> Option<u8> {
        self.bytes().get(self.pos).copied()
    }

    pub fn at_end(&self) -> bool {
        self.pos >= self.text.len()
    }

    /// Skips whitespace and comments. A comment that is never closed is not skipped.
    #[inline]
    pub fn space(&mut self) {
        loop {
            while self.peek().is_some_and(|c| CLASS[c as usize] & SPACE != 0) {
                self.pos += 1;
            }
            if self.peek() != Some(b'/') || !self.comment() {
                return;
            }
        }
    }

    #[cold]
    fn comment(&mut self) -> bool {
        match self.rest().get(1) {
            Some(b'/') => {
                self.pos += memchr::memchr(b'\n', self.rest()).unwrap_or(self.rest().len());
                true
            }
            Some(b'*') => match memchr::memmem::find(&self.rest()[2..], b"*/") {
                Some(n) => {
                    self.pos += n + 4;
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    pub fn accept(&mut self, c: u8) -> bool {
        let found = self.peek() == Some(c);
        self.pos += usize::from(found);
        found
    }

    /// Skips space, then takes this byte if it is next.
    pub fn accept_after_space(&mut self, c: u8) -> bool {
        self.space();
        self.accept(c)
    }

    /// Takes this word if it is next and ends here.
    pub fn accept_word(&mut self, word: &str) -> bool {
        let rest = self.rest();
        let found =
            rest.starts_with(word.as_bytes()) && rest.get(word.len()).is_none_or(|&c| CLASS[c as usize] & NAME == 0);
        if found {
            self.pos += word.len();
        }
        found
    }

    pub fn expect(&mut self, c: u8, expected: &'static str) -> Read<()> {
        self.space();
        if self.accept(c) {
            Ok(())
        } else {
            Err(self.expected(expected))
        }
    }

    /// The letters, digits, `.`, `_` and `-` from here on; may be none. The `-` of `->` does not belong to a word.
    #[inline]
    pub fn word(&mut self) -> &'a str {
        let start = self.pos;
        let bytes = self.bytes();
        while self.pos < bytes.len() && CLASS[bytes[self.pos] as usize] & NAME != 0 {
            self.pos += 1;
        }
        if self.pos > start && bytes[self.pos - 1] == b'-' && self.peek() == Some(b'>') {
            self.pos -= 1;
        }
        &self.text[start..self.pos]
    }

    /// A name, with or without `%`; the span leaves the `%` out.
    pub fn name(&mut self, expected: &'static str) -> Read<Span> {
        self.space();
        let start = self.pos;
        self.accept(b'%');
        let from = self.pos;
        if self.word().is_empty() {
            self.pos = start;
            return Err(self.expected(expected));
        }
        Ok(Span::new(from, self.pos))
    }

    pub fn str(&self, span: Span) -> &'a str {
        &self.text[span.range()]
    }

    /// A decimal integer that fits in 64 bits.
    pub fn int(&mut self) -> Read<i64> {
        self.space();
        let start = self.pos;
        let negative = self.accept(b'-');
        let digits = self.pos;
        let mut value = Some(0i64);
        while let Some(c) = self.peek().filter(|&c| CLASS[c as usize] & DIGIT != 0) {
            let digit = i64::from(c - b'0');
            value = value.and_then(|v| {
                let v = v.checked_mul(10)?;
                if negative {
                    v.checked_sub(digit)
                } else {
                    v.checked_add(digit)
                }
            });
            self.pos += 1;
        }
        if self.pos == digits {
            self.pos = start;
            return Err(self.expected("an integer"));
        }
        value.ok_or_else(|| {
            let span = Span::new(start, self.pos);
            Problem { kind: ProblemKind::OutOfRange { found: clip(self.str(span)), of: "s64" }, span }
        })
    }

    /// The characters of a number or of a word in its place: `-1.5e+3`, `inf`, `true`, `0x1f`.
    #[inline]
    pub fn number(&mut self) -> &'a str {
        let start = self.pos;
        let bytes = self.bytes();
        while self.pos < bytes.len() && CLASS[bytes[self.pos] as usize] & NUMBER != 0 {
            self.pos += 1;
        }
        &self.text[start..self.pos]
    }

    /// A quoted string; the span leaves the quotes out and the escapes in.
    pub fn string(&mut self) -> Read<Span> {
        self.space();
        if self.peek() != Some(b'"') {
            return Err(self.expected("a string in quotes"));
        }
        let start = self.pos + 1;
        let mut at = start;
        loop {
            match memchr::memchr2(b'"', b'\\', &self.bytes()[at.min(self.text.len())..]) {
                Some(n) if self.bytes()[at + n] == b'"' => {
                    self.pos = at + n + 1;
                    return Ok(Span::new(start, at + n));
                }
                Some(n) => at += n + 2,
                None => {
                    let span = Span::new(start - 1, start);
                    self.pos = self.text.len();
                    let found = "the end of the text".into();
                    return Err(Problem {
                        kind: ProblemKind::Expected { expected: "`\"` that ends this string".into(), found },
                        span,
                    });
                }
            }
        }
    }

    /// Skips a value in braces, whatever is inside; brackets of other kinds need not balance.
    pub fn braced(&mut self) -> Read<()> {
        self.space();
        let open = self.pos;
        if !self.accept(b'{') {
            return Err(self.expected("`{`"));
        }
        let mut depth = 1usize;
        while depth > 0 {
            match memchr::memchr3(b'"', b'{', b'}', self.rest()) {
                Some(n) => {
                    self.pos += n;
                    match self.bytes()[self.pos] {
                        b'"' => {
                            self.string()?;
                            continue;
                        }
                        b'{' => depth += 1,
                        _ => depth -= 1,
                    }
                    self.pos += 1;
                }
                None => {
                    self.pos = self.text.len();
                    return Err(Problem {
                        kind: ProblemKind::Expected {
                            expected: "`}` that closes this brace".into(),
                            found: "the end of the text".into(),
                        },
                        span: Span::new(open, open + 1),
                    });
                }
            }
        }
        Ok(())
    }

    /// "Expected this, found what is here."
    pub fn expected(&self, expected: impl Into<std::borrow::Cow<'static, str>>) -> Problem {
        let (found, len) = self.found();
        let kind = ProblemKind::Expected { expected: expected.into(), found };
        // The end of the text is where its last word ends, not behind the empty lines after it.
        let at = if self.at_end() { self.text.trim_ascii_end().len() } else { self.pos };
        Problem { kind, span: Span::new(at, at + len) }
    }

    /// What stands here, for a message, and its length in bytes.
    fn found(&self) -> (String, usize) {
        let rest = &self.text[self.pos.min(self.text.len())..];
        let mut at = *self;
        match rest.chars().next() {
            None => ("the end of the text".into(), 0),
            Some('\n') => ("the end of the line".into(), 1),
            Some('/') if rest.starts_with("/*") => ("a comment that is never closed".into(), 2),
            Some('-') if rest.starts_with("->") => ("`->`".into(), 2),
            Some('"') => ("a string".into(), at.string().map_or(1, |_| at.pos - self.pos)),
            Some('%') => {
                at.pos += 1;
                at.word();
                (format!("`{}`", clip(&self.text[self.pos..at.pos])), at.pos - self.pos)
            }
            Some(c) if c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.' => {
                at.word();
                let len = (at.pos - self.pos).max(1);
                (format!("`{}`", clip(&self.text[self.pos..self.pos + len])), len)
            }
            Some(c) if c.is_control() => (format!("the character U+{:04X}", c as u32), c.len_utf8()),
            Some(c) => (format!("`{c}`"), c.len_utf8()),
        }
    }
}

/// A word cut to a length that fits in a message.
pub(crate) fn clip(word: &str) -> String {
    match word.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &word[..at]),
        None => word.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_spaces() {
        let mut c = Cursor::new("  /* a */ // b\n %x.1-2->y");
        assert_eq!(c.name("a name").map(|s| c.str(s)), Ok("x.1-2"));
        assert_eq!(c.rest(), b"->y");
        let mut c = Cursor::new("/* never");
        c.space();
        assert_eq!(c.pos, 0);
    }

    #[test]
    fn strings_and_braces() {
        let mut c = Cursor::new(r#"{a="}\"{", {}} rest"#);
        assert!(c.braced().is_ok());
        assert_eq!(c.rest(), b" rest");
        assert!(Cursor::new("{\"a\\").braced().is_err());
        assert!(Cursor::new(&"{".repeat(1_000_000)).braced().is_err());
    }

    #[test]
    fn integers_at_the_edge() {
        assert_eq!(Cursor::new("-9223372036854775808").int(), Ok(i64::MIN));
        assert!(Cursor::new("9223372036854775808").int().is_err());
        assert!(Cursor::new("-").int().is_err());
    }
}
