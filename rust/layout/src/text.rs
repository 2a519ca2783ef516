//! A cursor over the bytes of a text: the lexical level of the parsers of shapes and of HLO.
//!
//! Every method either advances or returns an error, and none looks back. Not here: the grammar.

use cancel::poll;
use quasiaffine::is_hidden;

pub use crate::tuning::SHORT;
use crate::{clip, Diagnostic, Span};

/// The result of parsing a value.
pub type Read<T> = Result<T, Diagnostic>;

/// A position in a text.
#[derive(Clone, Copy, Default)]
pub struct Cursor<'a> {
    /// The whole text.
    pub text: &'a str,
    /// The next byte.
    pub pos: usize,
}

const NAME: u8 = 1;
const SPACE: u8 = 2;
const NUMBER: u8 = 4;
const SLASH: u8 = 8;

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
        if b.is_ascii_alphanumeric() || b == b'+' || b == b'-' || b == b'.' {
            class[c] |= NUMBER;
        }
        if b == b'/' {
            class[c] |= SLASH;
        }
        c += 1;
    }
    class
};

impl<'a> Cursor<'a> {
    /// At the start of a text.
    #[inline]
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, pos: 0 }
    }

    /// The bytes of the whole text.
    #[inline(always)]
    pub fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// The bytes from the cursor on.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes()[self.pos..]
    }

    /// The next byte.
    #[inline(always)]
    pub fn peek(&self) -> Option<u8> {
        self.bytes().get(self.pos).copied()
    }

    /// Whether no byte is left.
    #[inline]
    pub fn at_end(&self) -> bool {
        self.pos >= self.text.len()
    }

    /// Skips whitespace and comments. A comment that is never closed is not skipped.
    #[inline(always)]
    pub fn space(&mut self) {
        // Most words are separated by one space or none.
        if self.is_behind_space() {
            return;
        }
        if self.peek() == Some(b' ') {
            self.pos += 1;
            if self.is_behind_space() {
                return;
            }
        }
        self.long_space();
    }

    #[inline(always)]
    fn is_behind_space(&self) -> bool {
        self.peek().is_some_and(|c| CLASS[c as usize] & (SPACE | SLASH) == 0)
    }

    #[inline(never)]
    fn long_space(&mut self) {
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
                self.pos += memchr::memchr2(b'\n', b'\r', self.rest()).unwrap_or(self.rest().len());
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

    /// Consumes this byte if it is next.
    #[inline(always)]
    pub fn accept(&mut self, c: u8) -> bool {
        let found = self.peek() == Some(c);
        self.pos += usize::from(found);
        found
    }

    /// Skips space, then consumes this byte if it is next.
    #[inline(always)]
    pub fn accept_after_space(&mut self, c: u8) -> bool {
        self.space();
        self.accept(c)
    }

    /// Consumes this word if it is next and complete.
    #[inline]
    pub fn accept_word(&mut self, word: &str) -> bool {
        let rest = self.rest();
        let found =
            rest.starts_with(word.as_bytes()) && rest.get(word.len()).is_none_or(|&c| CLASS[c as usize] & NAME == 0);
        if found {
            self.pos += word.len();
        }
        found
    }

    /// Skips space, then consumes this byte.
    #[inline(always)]
    pub fn expect(&mut self, c: u8, expected: &'static str) -> Read<()> {
        self.space();
        if self.accept(c) {
            Ok(())
        } else {
            Err(self.expected(expected))
        }
    }

    /// Consumes these two bytes if they are next.
    #[inline]
    pub fn accept_pair(&mut self, pair: [u8; 2]) -> bool {
        let found = self.rest().starts_with(&pair);
        self.pos += 2 * usize::from(found);
        found
    }

    /// Skips space, then consumes these two bytes.
    #[inline]
    pub fn expect_pair(&mut self, pair: [u8; 2], expected: &'static str) -> Read<()> {
        self.space();
        self.accept_pair(pair).then_some(()).ok_or_else(|| self.expected(expected))
    }

    /// Consumes letters, digits, `.`, `_` and `-`, possibly none. The `-` of `->` is not part of a word.
    #[inline]
    pub fn word(&mut self) -> &'a str {
        let span = self.word_span();
        self.str(span)
    }

    /// The span of [`Cursor::word`].
    #[inline(always)]
    pub fn word_span(&mut self) -> Span {
        let start = self.pos;
        let bytes = self.bytes();
        let mut at = word_end(bytes, start);
        if at > start && bytes[at - 1] == b'-' && bytes.get(at) == Some(&b'>') {
            at -= 1;
        }
        self.pos = at;
        Span::new(start, at)
    }

    /// A name, with or without `%`; the span excludes the `%`.
    #[inline]
    pub fn name(&mut self, expected: &'static str) -> Read<Span> {
        self.space();
        let start = self.pos;
        self.accept(b'%');
        let span = self.word_span();
        if span.is_empty() {
            self.pos = start;
            return Err(self.expected(expected));
        }
        Ok(span)
    }

    /// The text of a span.
    #[inline]
    pub fn str(&self, span: Span) -> &'a str {
        &self.text[span.range()]
    }

    /// The bytes of a span.
    #[inline]
    pub fn slice(&self, span: Span) -> &'a [u8] {
        &self.bytes()[span.range()]
    }

    /// A decimal integer that fits in 64 bits.
    #[inline]
    pub fn int(&mut self) -> Read<i64> {
        self.space();
        let start = self.pos;
        let negative = self.accept(b'-');
        let digits = self.pos;
        // A magnitude above 2^63 / 10 before its last digit is out of range; any other does not overflow a u64.
        const LARGEST: u64 = 1 << 63;
        let (mut value, mut fits) = (0u64, true);
        while let Some(c) = self.peek().filter(u8::is_ascii_digit) {
            fits &= value <= LARGEST / 10;
            value = value.wrapping_mul(10).wrapping_add(u64::from(c - b'0'));
            self.pos += 1;
        }
        if self.pos == digits {
            self.pos = start;
            return Err(self.expected("an integer"));
        }
        if !fits || value > LARGEST - u64::from(!negative) {
            let span = Span::new(start, self.pos);
            return Err(Diagnostic::out_of_range(span, "s64", self.str(span)));
        }
        Ok(if negative { (value as i64).wrapping_neg() } else { value as i64 })
    }

    /// The characters of a number or of a word in its position: `-1.5e+3`, `inf`, `true`, `0x1f`.
    #[inline]
    pub fn number(&mut self) -> &'a str {
        let start = self.pos;
        let bytes = self.bytes();
        while self.pos < bytes.len() && CLASS[bytes[self.pos] as usize] & NUMBER != 0 {
            self.pos += 1;
        }
        &self.text[start..self.pos]
    }

    /// A quoted string; the span excludes the quotes and keeps the escapes.
    #[inline]
    pub fn string(&mut self) -> Read<Span> {
        self.space();
        let quote = match self.peek() {
            Some(quote @ (b'"' | b'\'')) => quote,
            _ => return Err(self.expected("a string in quotes")),
        };
        let start = self.pos + 1;
        match string_end(self.bytes(), start, quote) {
            Some(end) => {
                self.pos = end + 1;
                Ok(Span::new(start, end))
            }
            None => {
                self.pos = self.text.len();
                let quote = if quote == b'"' { "`\"` that ends this string" } else { "`'` that ends this string" };
                Err(unclosed(quote, start - 1))
            }
        }
    }

    /// Skips a value in braces without parsing it; other kinds of brackets need not balance.
    pub fn braced(&mut self) -> Read<()> {
        self.space();
        let open = self.pos;
        if !self.accept(b'{') {
            return Err(self.expected("`{`"));
        }
        let bytes = self.bytes();
        let (mut at, mut depth, mut n) = (self.pos, 1usize, 0u32);
        while depth > 0 {
            n = n.wrapping_add(1);
            if n.is_multiple_of(SHORT) {
                poll();
            }
            at = find(bytes, at, *b"\"{}");
            match bytes.get(at) {
                Some(b'"') => match string_end(bytes, at + 1, b'"') {
                    Some(end) => at = end,
                    None => {
                        self.pos = bytes.len();
                        return Err(unclosed("`\"` that ends this string", at));
                    }
                },
                Some(b'{') => depth += 1,
                Some(_) => depth -= 1,
                None => {
                    self.pos = bytes.len();
                    return Err(unclosed("`}` that closes this brace", open));
                }
            }
            at += 1;
        }
        self.pos = at;
        Ok(())
    }

    /// `{one, one, …}` in these brackets; `one` reads behind the space before it. `expected` describes the brackets.
    #[inline]
    pub fn items(
        &mut self,
        [open, close]: [u8; 2],
        expected: [&'static str; 2],
        mut one: impl FnMut(&mut Cursor<'a>) -> Read<()>,
    ) -> Read<()> {
        self.expect(open, expected[0])?;
        if self.accept_after_space(close) {
            return Ok(());
        }
        let mut n = 0u32;
        loop {
            self.space();
            one(self)?;
            n = n.wrapping_add(1);
            if n.is_multiple_of(SHORT) {
                poll();
            }
            if !self.accept_after_space(b',') {
                return self.expect(close, expected[1]);
            }
        }
    }

    /// As [`Cursor::items`], the values in a list.
    #[inline]
    pub fn list<T>(
        &mut self,
        brackets: [u8; 2],
        expected: [&'static str; 2],
        mut one: impl FnMut(&mut Cursor<'a>) -> Read<T>,
    ) -> Read<Vec<T>> {
        let mut all = Vec::new();
        self.items(brackets, expected, |c| one(c).map(|one| all.push(one)))?;
        Ok(all)
    }

    /// The error "expected this, found the next token".
    #[cold]
    #[inline(never)]
    pub fn expected(&self, expected: impl Into<std::borrow::Cow<'static, str>>) -> Diagnostic {
        let (found, len) = self.found();
        // Points behind the last word, not behind the empty lines that follow it.
        let at = if self.at_end() { self.text.trim_ascii_end().len() } else { self.pos };
        Diagnostic::expected(Span::new(at, at + len), expected, found)
    }

    /// A description of the next token for a message, and its length in bytes.
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
            Some(c) if is_hidden(c) => (format!("the character U+{:04X}", c as u32), c.len_utf8()),
            Some(c) => (format!("`{c}`"), c.len_utf8()),
        }
    }
}

/// The position of the closing quote of a string whose characters start at `at`.
#[inline]
fn string_end(bytes: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    loop {
        at += memchr::memchr2(quote, b'\\', bytes.get(at..)?)?;
        if bytes[at] == quote {
            return Some(at);
        }
        at += 2;
    }
}

/// A byte repeated eight times.
#[inline(always)]
const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The first position from `at` on that is not part of a word.
#[inline(always)]
pub fn word_end(bytes: &[u8], mut at: usize) -> usize {
    // Eight bytes at a time; the highest bit of each byte of `inside` tells whether it can be part of a word. Sums do
    // not carry into the next byte, since both operands are below 128.
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let word = u64::from_le_bytes(*chunk);
        let low = word & eight(0x7f);
        let at_least = |low: u64, c: u8| low + eight(128 - c);
        let differs = |c: u8| (low ^ eight(c)) + eight(0x7f);
        let lower = low | eight(0x20);
        let letter = at_least(lower, b'a') & !at_least(lower, b'z' + 1);
        let digit = at_least(low, b'-') & !at_least(low, b'9' + 1) & differs(b'/');
        let inside = (letter | digit | !differs(b'_')) & !word & eight(0x80);
        if inside != eight(0x80) {
            return at + (inside ^ eight(0x80)).trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|&c| CLASS[c as usize] & NAME != 0) {
        at += 1;
    }
    at
}

/// The first position from `at` on of one of these bytes; the end if there is none.
#[inline(always)]
pub fn find<const N: usize>(bytes: &[u8], mut at: usize, needles: [u8; N]) -> usize {
    // Eight bytes at a time. The lowest mark is exact: subtraction borrows only from bytes above one that is 0.
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let word = u64::from_le_bytes(*chunk);
        let mut marks = 0;
        for needle in needles {
            let zero_there = word ^ eight(needle);
            marks |= zero_there.wrapping_sub(eight(1)) & !zero_there;
        }
        marks &= eight(0x80);
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|c| !needles.contains(c)) {
        at += 1;
    }
    at.min(bytes.len())
}

#[cold]
fn unclosed(expected: &'static str, open: usize) -> Diagnostic {
    Diagnostic::expected(Span::new(open, open + 1), expected, "the end of the text")
}

/// Equality of short words: comparing eight bytes at a time, the last chunk overlapping, is faster than a call.
#[inline]
pub fn bytes_equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let (Some(a_last), Some(b_last)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) else {
        return a.iter().zip(b).all(|(a, b)| a == b);
    };
    a_last == b_last && a.chunks_exact(8).zip(b.chunks_exact(8)).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brief;

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
    fn bytes_equal_is_equality() {
        let text = b"0123456789abcdef0123456789abcdeX";
        for a in 0..16 {
            for b in 0..16 {
                for n in 0..16 {
                    let (a, b) = (&text[a..a + n], &text[b + 16 - n.min(b)..][..n]);
                    assert_eq!(bytes_equal(a, b), a == b);
                }
            }
        }
    }

    #[test]
    fn the_end_of_a_word() {
        for c in 0..=255u8 {
            let is_word = CLASS[c as usize] & NAME != 0;
            for n in 0..9 {
                let mut bytes = [b'a'; 20];
                bytes[n] = c;
                assert_eq!(word_end(&bytes, 0), if is_word { 20 } else { n }, "{c}");
                assert_eq!(word_end(&bytes[..n + 1], 0), if is_word { n + 1 } else { n }, "{c}");
            }
        }
    }

    #[test]
    fn the_first_of_several_bytes() {
        let text = "\u{fe}ab\u{80}\"!\"#{zz}\u{ff}|}~".repeat(3);
        for from in 0..text.len() {
            let expected = text.bytes().skip(from).position(|c| b"\"{}".contains(&c)).map_or(text.len(), |n| from + n);
            assert_eq!(find(text.as_bytes(), from, *b"\"{}"), expected);
        }
        assert_eq!(find(b"", 0, *b"x"), 0);
        assert_eq!(find(b"abc", 7, *b"x"), 3);
    }

    #[test]
    fn brief_texts() {
        assert_eq!(brief(&"ä".repeat(500)), "ä".repeat(500));
        assert_eq!(brief(&format!("x{}", "ä".repeat(500))), format!("x{}…", "ä".repeat(499)));
    }

    #[test]
    fn integers_at_the_edge() {
        assert_eq!(Cursor::new("-9223372036854775808").int(), Ok(i64::MIN));
        assert_eq!(Cursor::new("0009223372036854775807").int(), Ok(i64::MAX));
        for large in ["9223372036854775808", "-9223372036854775809", "18446744073709551616", "92233720368547758070"] {
            assert!(Cursor::new(large).int().is_err(), "{large}");
        }
        assert!(Cursor::new("-").int().is_err());
    }
}
