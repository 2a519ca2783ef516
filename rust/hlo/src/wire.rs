//! The wire format of protocol buffers: fields by number, read in place and written.
//!
//! A message is validated when it is constructed; a lookup scans it again, so that reading allocates nothing. No scan
//! leaves the bytes of its message. Not here: the schema of messages. See
//! <https://protobuf.dev/programming-guides/encoding/>.

use crate::error::{Diagnostic, Span};

/// An error of malformed bytes, and its offset in the whole input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireError {
    pub at: usize,
    pub found: String,
}

impl WireError {
    /// The problem of bytes that should be `expected`.
    pub fn problem(self, expected: &'static str) -> Diagnostic {
        Diagnostic::disagrees(Span::default(), format_args!("byte {}", self.at), expected, self.found)
    }
}

pub(crate) type Wire<T> = Result<T, WireError>;

/// The error of bytes at this offset.
pub(crate) fn bad<T>(at: usize, found: impl Into<String>) -> Wire<T> {
    Err(WireError { at, found: found.into() })
}

/// The bytes of one message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    bytes: &'a [u8],
    /// The offset of its first byte in the whole input.
    pub at: usize,
    index: Option<&'a Index<'a>>,
}

/// The decoded fields of a message with many lookups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index<'a> {
    /// The bits of the present fields; see [`decode`].
    pub there: u128,
    pub fields: &'a [Field<'a>],
}

/// A bit for each field number of XLA's messages, and one for all others.
#[inline]
pub(crate) const fn bit(number: u32) -> u128 {
    match number {
        0..127 => 1 << number,
        _ => 1 << 127,
    }
}

impl Index<'_> {
    pub fn message(&self, at: usize) -> Message<'_> {
        Message { bytes: &[], at, index: Some(self) }
    }

    /// Whether field `number` is absent for sure.
    #[inline]
    pub fn lacks(&self, number: u32) -> bool {
        self.there & bit(number) == 0
    }
}

/// Decodes a message into a buffer, in place of what it holds, and returns the bits of its fields.
pub(crate) fn decode<'a>(bytes: &'a [u8], at: usize, fields: &mut Vec<Field<'a>>) -> Wire<u128> {
    fields.clear();
    let mut there = 0;
    each_field(bytes, at, |f| {
        there |= bit(f.number);
        fields.push(f);
        Ok(())
    })?;
    Ok(there)
}

/// The value of one field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// One field of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub number: u32,
    /// The offset of its value in the whole input.
    pub at: usize,
    pub payload: Payload<'a>,
}

impl Field<'_> {
    /// Whether the value is that of an absent field.
    pub fn is_default(&self) -> bool {
        match self.payload {
            Payload::Varint(v) | Payload::Fixed64(v) => v == 0,
            Payload::Fixed32(v) => v == 0,
            Payload::Bytes(bytes) => bytes.is_empty(),
        }
    }
}

impl<'a> Message<'a> {
    /// These bytes as a message, if they are a sequence of fields; nested messages are not validated.
    pub fn new(bytes: &'a [u8], at: usize) -> Wire<Message<'a>> {
        each_field(bytes, at, |_| Ok(()))?;
        Ok(Message { bytes, at, index: None })
    }

    pub fn fields(self) -> impl Iterator<Item = Field<'a>> {
        let decoded = self.index.map_or(&[][..], |index| index.fields);
        let mut pos = 0;
        decoded.iter().copied().chain(std::iter::from_fn(move || {
            if pos >= self.bytes.len() {
                return None;
            }
            let field = next(self.bytes, &mut pos, self.at);
            debug_assert!(field.is_ok(), "the message was checked when it was formed");
            field.ok()
        }))
    }

    fn last(self, number: u32) -> Option<Field<'a>> {
        match self.index {
            Some(index) if index.lacks(number) => None,
            Some(index) => index.fields.iter().rev().find(|f| f.number == number).copied(),
            None => self.fields().filter(|f| f.number == number).last(),
        }
    }

    fn payload(self, number: u32) -> Option<Payload<'a>> {
        self.last(number).map(|f| f.payload)
    }

    /// Whether an indexed message has any field of a set of bits.
    #[inline]
    pub fn has_any(self, bits: u128) -> bool {
        self.index.is_none_or(|index| index.there & bits != 0)
    }

    /// The encoded message, unless it is indexed.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    pub fn has(self, number: u32) -> bool {
        self.last(number).is_some()
    }

    /// An integer, an enum or a bool; 0 if the field is absent, as the format defines.
    pub fn int(self, number: u32) -> i64 {
        let Some(Payload::Varint(v)) = self.payload(number) else { return 0 };
        v as i64
    }

    /// The integers in the first fields.
    pub fn row<const N: usize>(self) -> [i64; N] {
        std::array::from_fn(|k| self.int(k as u32 + 1))
    }

    pub fn f32(self, number: u32) -> f32 {
        let Some(Payload::Fixed32(v)) = self.payload(number) else { return 0.0 };
        f32::from_bits(v)
    }

    pub fn f64(self, number: u32) -> f64 {
        let Some(Payload::Fixed64(v)) = self.payload(number) else { return 0.0 };
        f64::from_bits(v)
    }

    pub fn data(self, number: u32) -> &'a [u8] {
        let Some(Payload::Bytes(bytes)) = self.payload(number) else { return &[] };
        bytes
    }

    /// A string; an error if it is not UTF-8.
    pub fn text(self, number: u32) -> Wire<&'a str> {
        self.last(number).map_or(Ok(""), Field::text)
    }

    /// The message in a field; the last one of several.
    pub fn sub(self, number: u32) -> Wire<Option<Message<'a>>> {
        self.last(number).map(Field::message).transpose()
    }

    /// All messages of a repeated field.
    pub fn subs(self, number: u32) -> impl Iterator<Item = Wire<Message<'a>>> {
        self.fields().filter(move |f| f.number == number).map(Field::message)
    }

    /// A repeated integer, packed or not.
    pub fn each_int(self, number: u32, mut each: impl FnMut(i64)) -> Wire<()> {
        if self.index.is_some_and(|index| index.lacks(number)) {
            return Ok(());
        }
        match self.index {
            Some(index) => index.fields.iter().filter(|f| f.number == number).try_for_each(|f| f.each_int(&mut each)),
            None => self.fields().filter(|f| f.number == number).try_for_each(|f| f.each_int(&mut each)),
        }
    }

    pub fn ints(self, number: u32) -> Wire<Vec<i64>> {
        let mut all = Vec::new();
        self.each_int(number, |n| all.push(n))?;
        Ok(all)
    }

    /// The field at the end of a path of messages.
    pub fn at_path(self, path: &[u32]) -> Wire<Option<(Message<'a>, u32)>> {
        let (&last, outer) = path.split_last().unwrap_or((&0, &[]));
        let mut message = self;
        for &number in outer {
            match message.sub(number)? {
                Some(inner) => message = inner,
                None => return Ok(None),
            }
        }
        Ok(Some((message, last)))
    }
}

impl<'a> Field<'a> {
    /// Its value as a string; empty if it is a number.
    pub fn text(self) -> Wire<&'a str> {
        let Payload::Bytes(bytes) = self.payload else { return Ok("") };
        let bad = |_| WireError { at: self.at, found: format!("a string that is not UTF-8 in field {}", self.number) };
        std::str::from_utf8(bytes).map_err(bad)
    }

    /// Its integers, packed or not.
    pub fn each_int(self, mut each: impl FnMut(i64)) -> Wire<()> {
        match self.payload {
            Payload::Varint(v) => each(v as i64),
            Payload::Bytes(bytes) => {
                let mut pos = 0;
                while pos < bytes.len() {
                    each(varint(bytes, &mut pos, self.at)? as i64);
                }
            }
            _ => return bad(self.at, format!("a value in field {} that is not an integer", self.number)),
        }
        Ok(())
    }

    /// The bytes of its value, a message.
    pub fn bytes(self) -> Wire<&'a [u8]> {
        match self.payload {
            Payload::Bytes(bytes) => Ok(bytes),
            _ => bad(self.at, format!("a number in field {}, expected a message", self.number)),
        }
    }

    pub fn message(self) -> Wire<Message<'a>> {
        Message::new(self.bytes()?, self.at)
    }
}

/// The start of the field whose value begins at `at`: a string or a message with a tag of one byte.
pub(crate) fn tag_start(bytes: &[u8], at: usize) -> usize {
    // All bytes of a length but the last have the upper bit, which a tag of one byte does not have.
    let mut start = at.saturating_sub(2);
    while start > 0 && bytes[start] >= 128 {
        start -= 1;
    }
    start
}

/// The bytes of field 1 in the head of a message, what follows it, and whether it is truncated.
pub(crate) fn first_field(head: &[u8]) -> Option<(&[u8], &[u8], bool)> {
    if head.first() != Some(&0x0a) {
        return None;
    }
    let mut pos = 1;
    let length = usize::try_from(varint(head, &mut pos, 0).ok()?).ok()?;
    let (inner, behind) = head[pos..].split_at(length.min(head.len() - pos));
    Some((inner, behind, inner.len() < length))
}

/// Calls `each` with every field of a message while it is decoded, which may not be valid.
#[inline]
pub(crate) fn each_field<'a>(bytes: &'a [u8], at: usize, mut each: impl FnMut(Field<'a>) -> Wire<()>) -> Wire<()> {
    let mut pos = 0;
    while pos < bytes.len() {
        let field = match short(bytes, &mut pos, at) {
            Some(field) => field,
            None => next(bytes, &mut pos, at)?,
        };
        each(field)?;
    }
    Ok(())
}

/// As [`next`], for fields whose tag and whose value or length have at most three bytes, which are most; `None` for
/// others.
#[inline(always)]
fn short<'a>(bytes: &'a [u8], pos: &mut usize, at: usize) -> Option<Field<'a>> {
    let (tag, value_at) = short_varint(bytes, *pos)?;
    match tag & 7 {
        _ if tag < 8 => None,
        0 => {
            let mut end = value_at;
            let value = varint(bytes, &mut end, at).ok()?;
            *pos = end;
            Some(Field { number: tag >> 3, at: at + value_at, payload: Payload::Varint(value) })
        }
        2 => {
            let (value, start) = short_varint(bytes, value_at)?;
            let payload = Payload::Bytes(bytes.get(start..start + value as usize)?);
            *pos = start + value as usize;
            Some(Field { number: tag >> 3, at: at + start, payload })
        }
        _ => None,
    }
}

/// A number of at most three bytes, and the position behind it.
#[inline(always)]
fn short_varint(bytes: &[u8], pos: usize) -> Option<(u32, usize)> {
    match bytes.get(pos..)? {
        [byte, ..] if *byte < 128 => Some((u32::from(*byte), pos + 1)),
        [low, high, ..] if *high < 128 => Some((u32::from(low & 127) | u32::from(*high) << 7, pos + 2)),
        [a, b, c, ..] if *c < 128 => {
            Some((u32::from(a & 127) | u32::from(b & 127) << 7 | u32::from(*c) << 14, pos + 3))
        }
        _ => None,
    }
}

/// Decodes the field at `pos`; `at` is the offset of `bytes` in the whole input.
#[inline]
fn next<'a>(bytes: &'a [u8], pos: &mut usize, at: usize) -> Wire<Field<'a>> {
    let start = *pos;
    let tag = varint(bytes, pos, at)?;
    let bad = |found: String| bad(at + start, found);
    let Some(number) = u32::try_from(tag >> 3).ok().filter(|&n| n > 0 && n < 1 << 29) else {
        return bad(format!("field number {}", tag >> 3));
    };
    let value_at = *pos;
    let payload = match tag & 7 {
        0 => Payload::Varint(varint(bytes, pos, at)?),
        1 => Payload::Fixed64(u64::from_le_bytes(fixed(bytes, pos, at)?)),
        5 => Payload::Fixed32(u32::from_le_bytes(fixed(bytes, pos, at)?)),
        2 => {
            let length = varint(bytes, pos, at)?;
            let rest = bytes.len() - *pos;
            let Some(length) = usize::try_from(length).ok().filter(|&n| n <= rest) else {
                return bad(format!("a field of {length} bytes, {rest} bytes before the end"));
            };
            *pos += length;
            return Ok(Field { number, at: at + *pos - length, payload: Payload::Bytes(&bytes[*pos - length..*pos]) });
        }
        kind => return bad(format!("wire type {kind}")),
    };
    Ok(Field { number, at: at + value_at, payload })
}

fn fixed<const N: usize>(bytes: &[u8], pos: &mut usize, at: usize) -> Wire<[u8; N]> {
    let found = bytes[*pos..].first_chunk::<N>().copied();
    *pos += N;
    found.ok_or_else(|| end(bytes, at))
}

#[inline]
fn varint(bytes: &[u8], pos: &mut usize, at: usize) -> Wire<u64> {
    // Tags and lengths are mostly one or two bytes.
    match bytes.get(*pos..) {
        Some([byte, ..]) if *byte < 128 => {
            *pos += 1;
            Ok(u64::from(*byte))
        }
        Some([low, high, ..]) if *high < 128 => {
            *pos += 2;
            Ok(u64::from(low & 127) | u64::from(*high) << 7)
        }
        _ => long_varint(bytes, pos, at),
    }
}

fn long_varint(bytes: &[u8], pos: &mut usize, at: usize) -> Wire<u64> {
    let word = bytes.get(*pos..).and_then(<[u8]>::first_chunk).map_or(u64::MAX, |word| u64::from_le_bytes(*word));
    let ends = !word & 0x8080_8080_8080_8080;
    if ends != 0 {
        *pos += ends.trailing_zeros() as usize / 8 + 1;
        // The bytes up to the first without the upper bit have seven bits each; neighbours move together, thrice.
        let sevens = word & (ends ^ (ends - 1)) & 0x7f7f_7f7f_7f7f_7f7f;
        let pairs = sevens & 0x007f_007f_007f_007f | (sevens & 0x7f00_7f00_7f00_7f00) >> 1;
        let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
        return Ok(fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4);
    }
    let start = *pos;
    let mut value = 0u64;
    // The tenth byte has one bit of 64.
    for shift in (0..70).step_by(7) {
        let Some(&byte) = bytes.get(*pos) else { return Err(end(bytes, at)) };
        value |= u64::from(byte & 127) << shift;
        *pos += 1;
        if byte < 128 {
            return Ok(value);
        }
    }
    bad(at + start, "an integer of more than ten bytes")
}

fn end(bytes: &[u8], at: usize) -> WireError {
    WireError { at: at + bytes.len(), found: "the end of the data in the middle of a field".into() }
}

/// A message that is being written.
#[derive(Default)]
pub(crate) struct Encoder(pub Vec<u8>);

impl Encoder {
    fn varint(&mut self, mut v: u64) {
        while v >= 128 {
            self.0.push(v as u8 | 128);
            v >>= 7;
        }
        self.0.push(v as u8);
    }

    /// An integer, even if it is 0.
    pub fn int(&mut self, number: u32, v: i64) {
        self.varint(u64::from(number) << 3);
        self.varint(v as u64);
    }

    /// An integer unless it is 0, the value of an absent field.
    pub fn int_unless_zero(&mut self, number: u32, v: i64) {
        if v != 0 {
            self.int(number, v);
        }
    }

    /// A message with integers in its first fields.
    pub fn row(&mut self, number: u32, all: &[i64]) {
        self.nested(number, |d| (1..).zip(all).for_each(|(number, &v)| d.int_unless_zero(number, v)));
    }

    pub fn f32(&mut self, number: u32, v: f32) {
        self.varint(u64::from(number) << 3 | 5);
        self.0.extend_from_slice(&v.to_le_bytes());
    }

    pub fn f64(&mut self, number: u32, v: f64) {
        self.varint(u64::from(number) << 3 | 1);
        self.0.extend_from_slice(&v.to_le_bytes());
    }

    pub fn data(&mut self, number: u32, bytes: &[u8]) {
        self.varint(u64::from(number) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A field as it was read.
    pub fn field(&mut self, f: Field<'_>) {
        match f.payload {
            Payload::Varint(v) => self.int(f.number, v as i64),
            Payload::Fixed64(v) => self.f64(f.number, f64::from_bits(v)),
            Payload::Fixed32(v) => self.f32(f.number, f32::from_bits(v)),
            Payload::Bytes(bytes) => self.data(f.number, bytes),
        }
    }

    pub fn text_unless_empty(&mut self, number: u32, text: &str) {
        if !text.is_empty() {
            self.data(number, text.as_bytes());
        }
    }

    pub fn message(&mut self, number: u32, message: &Encoder) {
        self.data(number, &message.0);
    }

    /// A message that is written in place.
    #[inline]
    pub fn nested<T>(&mut self, number: u32, write: impl FnOnce(&mut Encoder) -> T) -> T {
        self.varint(u64::from(number) << 3 | 2);
        let at = self.0.len();
        // Most lengths take one byte; a longer one moves the message.
        self.0.push(0);
        let result = write(self);
        let length = self.0.len() - at - 1;
        if length < 128 {
            self.0[at] = length as u8;
        } else {
            let mut long = Encoder(Vec::with_capacity(10));
            long.varint(length as u64);
            self.0.splice(at..=at, long.0);
        }
        result
    }

    /// Packed integers; no field if there are none.
    pub fn ints(&mut self, number: u32, all: &[i64]) {
        self.each_int(number, all.iter().copied());
    }

    /// As [`Encoder::ints`].
    #[inline]
    pub fn each_int(&mut self, number: u32, all: impl Iterator<Item = i64>) {
        let start = self.0.len();
        let is_empty = self.nested(number, |d| {
            let start = d.0.len();
            all.for_each(|v| d.varint(v as u64));
            d.0.len() == start
        });
        if is_empty {
            self.0.truncate(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let mut inner = Encoder::default();
        inner.ints(3, &[0, 300, -1]);
        let mut d = Encoder::default();
        d.int(1, -5);
        d.message(2, &inner);
        d.nested(6, |d| d.data(1, &[b'x'; 300]));
        d.f32(4, 1.5);
        d.data(5, b"text");
        let m = Message::new(&d.0, 0).unwrap();
        assert_eq!(m.int(1), -5);
        assert_eq!(m.sub(2).unwrap().unwrap().ints(3).unwrap(), [0, 300, -1]);
        assert_eq!((m.f32(4), m.text(5).unwrap()), (1.5, "text"));
        assert_eq!(m.sub(6).unwrap().unwrap().text(1).unwrap(), "x".repeat(300));
        for end in 1..d.0.len() {
            // Truncation at the end of a field gives a shorter message, any other an error inside the bytes.
            if let Err(e) = Message::new(&d.0[..end], 0) {
                assert!(e.at <= end);
            }
        }
    }
}
