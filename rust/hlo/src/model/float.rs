//! Conversion of decimal text to floating-point bits, rounded once to nearest, ties to even.
//!
//! The 32 and 64-bit formats use the standard library. Narrow formats go through a 64-bit float, which would round
//! twice; the second rounding can be wrong only if that float is exactly half way between two neighbours, and there the
//! digits decide.

use std::cmp::Ordering;

use layout::ElementType;

/// The bit widths of a format and its special values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    mantissa: u32,
    exponent: u32,
    bias: i32,
    ends: Ends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// The largest exponent encodes infinity and nan.
    Ieee,
    /// No infinity; all ones encode nan.
    OneNan,
    /// No infinity and no negative zero, whose bits encode nan.
    NoNegativeZero,
    /// Neither infinity nor nan.
    Finite,
    /// An exponent alone: no sign, no zero; all ones encode nan.
    Scale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    pub bits: u64,
    /// A finite number outside the range of a format that does not saturate.
    pub overflows: bool,
}

impl Format {
    pub fn of(t: ElementType) -> Format {
        let (exponent, mantissa, bias, ends) = match t {
            ElementType::F64 => (11, 52, 1023, Ends::Ieee),
            ElementType::F32 => (8, 23, 127, Ends::Ieee),
            ElementType::F16 => (5, 10, 15, Ends::Ieee),
            ElementType::Bf16 => (8, 7, 127, Ends::Ieee),
            ElementType::F8E5M2 => (5, 2, 15, Ends::Ieee),
            ElementType::F8E4M3 => (4, 3, 7, Ends::Ieee),
            ElementType::F8E3M4 => (3, 4, 3, Ends::Ieee),
            ElementType::F8E4M3Fn => (4, 3, 7, Ends::OneNan),
            ElementType::F8E4M3Fnuz => (4, 3, 8, Ends::NoNegativeZero),
            ElementType::F8E5M2Fnuz => (5, 2, 16, Ends::NoNegativeZero),
            ElementType::F8E4M3B11Fnuz => (4, 3, 11, Ends::NoNegativeZero),
            ElementType::F4E2M1Fn => (2, 1, 1, Ends::Finite),
            ElementType::F6E2M3Fn => (2, 3, 1, Ends::Finite),
            ElementType::F6E3M2Fn => (3, 2, 3, Ends::Finite),
            ElementType::F8E8M0Fnu => (8, 0, 127, Ends::Scale),
            other => unreachable!("{} is not a floating-point format", other.name()),
        };
        Format { mantissa, exponent, bias, ends }
    }

    fn width(self) -> u32 {
        self.mantissa + self.exponent + u32::from(self.ends != Ends::Scale)
    }

    fn sign(self, negative: bool) -> u64 {
        u64::from(negative && self.ends != Ends::Scale) << (self.width() - 1)
    }

    /// The largest payload of a nan; 0 if it has none.
    pub fn largest_payload(self) -> u64 {
        match self.ends {
            Ends::Ieee => (1 << self.mantissa) - 1,
            _ => 0,
        }
    }

    /// The bits of the largest finite number.
    fn max(self) -> u64 {
        let ones = (1u64 << (self.mantissa + self.exponent)) - 1;
        match self.ends {
            Ends::Ieee => ones - (1 << self.mantissa),
            Ends::OneNan | Ends::Scale => ones - 1,
            Ends::NoNegativeZero | Ends::Finite => ones,
        }
    }

    /// The exponent of the first power of two that is too large, and the number of bits of the significand.
    pub fn range(self) -> (i32, u32) {
        ((self.max() >> self.mantissa) as i32 - self.bias + 1, self.mantissa + 1)
    }

    /// Infinity, or the result of overflow if the format has no infinity.
    fn infinity(self, negative: bool) -> u64 {
        match self.ends {
            Ends::Ieee => self.sign(negative) | (self.max() + 1),
            Ends::Finite => self.sign(negative) | self.max(),
            Ends::OneNan | Ends::NoNegativeZero | Ends::Scale => self.nan(negative, None),
        }
    }

    fn nan(self, negative: bool, payload: Option<u64>) -> u64 {
        match self.ends {
            Ends::Ieee => {
                let quiet = 1 << (self.mantissa - 1);
                let payload = payload.map(|p| p & ((1 << self.mantissa) - 1)).filter(|&p| p != 0);
                self.sign(negative) | (self.max() + 1) | payload.unwrap_or(quiet)
            }
            Ends::OneNan | Ends::Scale => self.sign(negative) | (self.max() + 1),
            Ends::NoNegativeZero => self.sign(true),
            Ends::Finite => self.sign(true),
        }
    }
}

/// The bits of a number in text; `None` if it is not a number.
pub(crate) fn parse(word: &str, format: Format) -> Option<Bits> {
    let (negative, body) = match word.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let exact = |bits| Some(Bits { bits, overflows: false });
    match body.as_bytes().first()? {
        b'i' if body == "inf" || body == "infinity" => {
            return exact(format.infinity(negative));
        }
        b'n' if body == "nan" => return exact(format.nan(negative, None)),
        b'n' => {
            let payload = body.strip_prefix("nan(")?.strip_suffix(')')?;
            let value = match payload.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok()?,
                None => payload.parse().ok()?,
            };
            return exact(format.nan(negative, Some(value)));
        }
        b'0'..=b'9' | b'.' => {}
        _ => return None,
    }
    let hex = match body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) {
        Some(digits) => Some(hex(digits)?),
        None => None,
    };
    let (bits, overflows) = match (format.mantissa, format.exponent) {
        (23, 8) => {
            let value: f32 = hex.map_or_else(|| body.parse().ok(), |value| Some(value as f32))?;
            (u64::from(value.to_bits()), value.is_infinite())
        }
        (mantissa, _) => {
            let value: f64 = hex.map_or_else(|| body.parse().ok(), Some)?;
            if mantissa < 23 {
                let beyond = || hex.map_or_else(|| compare(body, value), |_| Ordering::Equal);
                return Some(round(value, negative, format, beyond));
            }
            (value.to_bits(), value.is_infinite())
        }
    };
    Some(Bits { bits: bits | format.sign(negative), overflows })
}

/// Text that [`parse`] reads as these bits: the shortest decimal, `inf`, or `nan` with its payload.
pub(crate) fn print(bits: u64, t: ElementType) -> String {
    let format = Format::of(t);
    let negative = format.ends != Ends::Scale && bits >> (format.width() - 1) & 1 == 1;
    let sign = if negative { "-" } else { "" };
    let magnitude = bits & !format.sign(true);
    let is_nan = match format.ends {
        Ends::Ieee => magnitude > format.max() + 1,
        Ends::OneNan | Ends::Scale => magnitude > format.max(),
        Ends::NoNegativeZero => bits == format.sign(true),
        Ends::Finite => false,
    };
    if is_nan {
        let plain = format.nan(negative, None);
        return match format.ends {
            Ends::Ieee if bits != plain => format!("{sign}nan(0x{:x})", magnitude & ((1 << format.mantissa) - 1)),
            Ends::NoNegativeZero | Ends::Scale => "nan".into(),
            _ => format!("{sign}nan"),
        };
    }
    if format.ends == Ends::Ieee && magnitude == format.max() + 1 {
        return format!("{sign}inf");
    }
    if t == ElementType::F64 {
        let value = f64::from_bits(bits);
        return if is_moderate(value) { format!("{value}") } else { format!("{value:e}") };
    }
    // A narrower number is exact in 32 bits, and its shortest decimal there identifies it.
    let value = match t {
        ElementType::F32 => f32::from_bits(bits as u32),
        _ => {
            let (e, m) = ((magnitude >> format.mantissa) as i32, magnitude & ((1 << format.mantissa) - 1));
            let (m, e) = match format.ends {
                Ends::Scale => (1, e),
                _ if e == 0 => (m, 1),
                _ => (m | 1 << format.mantissa, e),
            };
            let value = m as f64 * 2f64.powi(e - format.bias - format.mantissa as i32);
            (if negative { -value } else { value }) as f32
        }
    };
    if is_moderate(f64::from(value)) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// Whether a number is short without an exponent.
fn is_moderate(value: f64) -> bool {
    value == 0.0 || (1e-5..1e16).contains(&value.abs())
}

/// Rounds a nonnegative 64-bit number to a narrow format. `beyond` compares the exact number with `value`.
fn round(value: f64, negative: bool, format: Format, beyond: impl Fn() -> Ordering) -> Bits {
    let is_scale = format.ends == Ends::Scale;
    if value.is_infinite() || is_scale && (negative || value == 0.0) {
        return Bits { bits: format.infinity(negative), overflows: true };
    }
    // The scale has no subnormal numbers: its smallest exponent has all bits 0.
    let smallest = i32::from(!is_scale) - format.bias;
    let exponent = ((value.to_bits() >> 52) as i32 - 1023).max(smallest);
    // The number in units of the last bit, which is exact. Bits count such units, also from one exponent to the next.
    // The inverse of the largest unit becomes 0, for which the number is out of range in any case.
    let n = value * f64::from_bits(((1023 + format.mantissa as i32 - exponent) as u64) << 52);
    let down = (i64::from(exponent + format.bias - 1) << format.mantissa) + n as i64;
    let up = match n.fract().total_cmp(&0.5).then_with(beyond) {
        Ordering::Less => false,
        Ordering::Greater => true,
        // To the even significand; that of a scale is 1, so the next power is the even one.
        Ordering::Equal => is_scale || down & 1 == 1,
    };
    let rounded = (down + i64::from(up)).max(0) as u64;
    if rounded > format.max() {
        return Bits { bits: format.infinity(negative), overflows: format.ends != Ends::Finite };
    }
    let is_positive = rounded == 0 && format.ends == Ends::NoNegativeZero;
    Bits { bits: rounded | format.sign(negative && !is_positive), overflows: false }
}

/// `1.8p3` after its `0x`: exact as long as the digits fit in 53 bits, rounded to nearest beyond.
fn hex(body: &str) -> Option<f64> {
    let (digits, exponent) = match body.find(['p', 'P']) {
        Some(at) => (&body[..at], body[at + 1..].parse::<i32>().ok()?),
        None => (body, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0u64;
    let mut scale = i64::from(exponent);
    for (i, c) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(c.to_digit(16)?);
        let in_fraction = i >= whole.len();
        if value >> 58 == 0 {
            value = value * 16 + digit;
            scale -= if in_fraction { 4 } else { 0 };
        } else {
            // Digits beyond the sixteenth only record that the number is not exact.
            value |= u64::from(digit != 0);
            scale += if in_fraction { 0 } else { 4 };
        }
    }
    let scale = scale.clamp(-3000, 3000) as i32;
    // Two steps, so that neither power overflows.
    let half = scale / 2;
    Some(value as f64 * 2f64.powi(half) * 2f64.powi(scale - half))
}

/// Compares the number that decimal digits spell with `value`.
fn compare(body: &str, value: f64) -> Ordering {
    let (a, a_exponent) = digits(body);
    // 1100 digits represent every 64-bit float exactly.
    let (b, b_exponent) = digits(&format!("{value:.1100}"));
    match (a.is_empty(), b.is_empty()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => a_exponent.cmp(&b_exponent).then_with(|| a.cmp(&b)),
    }
}

/// Digits without leading and trailing zeros, and the decimal exponent of the first.
fn digits(body: &str) -> (Vec<u8>, i64) {
    let (number, exponent) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], body[at + 1..].parse::<i64>().unwrap_or(0)),
        None => (body, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let zeros = all.iter().take_while(|&&c| c == b'0').count();
    let end = all.iter().rposition(|&c| c != b'0').map_or(zeros, |n| n + 1);
    (all[zeros..end].to_vec(), exponent + whole.len() as i64 - zeros as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(word: &str, t: ElementType) -> u64 {
        parse(word, Format::of(t)).unwrap().bits
    }

    #[test]
    fn known_values() {
        for (word, t, expected) in [
            ("1", ElementType::F32, 0x3f80_0000),
            ("nan", ElementType::F32, 0x7fc0_0000),
            ("-nan(0x123)", ElementType::F32, 0xff80_0123),
            ("1.5", ElementType::Bf16, 0x3fc0),
            ("-0", ElementType::Bf16, 0x8000),
            ("65504", ElementType::F16, 0x7bff),
            ("inf", ElementType::F16, 0x7c00),
            ("5.9604644775390625e-8", ElementType::F16, 1),
            ("448", ElementType::F8E4M3Fn, 0x7e),
            ("-nan", ElementType::F8E4M3Fn, 0xff),
            ("-0", ElementType::F8E4M3Fnuz, 0),
            ("0.00195", ElementType::F8E4M3Fn, 1),
            ("-6", ElementType::F4E2M1Fn, 0xf),
            ("7.5", ElementType::F6E2M3Fn, 0x1f),
            ("-0.125", ElementType::F6E2M3Fn, 0x21),
            ("28", ElementType::F6E3M2Fn, 0x1f),
            ("1e3", ElementType::F6E3M2Fn, 0x1f),
            ("1", ElementType::F8E8M0Fnu, 127),
            ("2", ElementType::F8E8M0Fnu, 128),
            ("3", ElementType::F8E8M0Fnu, 129),
            ("0x1.8p1", ElementType::F64, 3f64.to_bits()),
        ] {
            assert_eq!(bits(word, t), expected, "{word} as {}", t.name());
        }
    }

    #[test]
    fn what_is_printed_reads_back() {
        let narrow = ElementType::all().filter(|t| t.kind() == layout::ElementKind::Float && t.bits() <= 16);
        for t in narrow {
            for b in 0..1u64 << t.bits() {
                let text = print(b, t);
                assert_eq!(bits(&text, t), b, "{text} of {}", t.name());
            }
        }
        let wide = [0, 1, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0001, 0x3f80_0001, 0x7f7f_ffff, 0x0080_0000];
        for b in wide {
            assert_eq!(bits(&print(b, ElementType::F32), ElementType::F32), b);
            assert_eq!(bits(&print(b << 32, ElementType::F64), ElementType::F64), b << 32);
        }
    }

    #[test]
    fn rounds_once() {
        // Half way between 1 and the next bf16, then slightly above: a 64-bit float cannot tell them apart.
        assert_eq!(bits("1.00390625", ElementType::Bf16), 0x3f80);
        assert_eq!(bits("1.003906250000000000000000001", ElementType::Bf16), 0x3f81);
        assert_eq!(bits("1.01171875", ElementType::Bf16), 0x3f82);
        assert_eq!(bits("1.011718749999999999999999999", ElementType::Bf16), 0x3f81);
    }

    #[test]
    fn outside_the_range() {
        for (word, t) in [("65520", ElementType::F16), ("500", ElementType::F8E4M3Fn), ("1e39", ElementType::F32)] {
            assert!(parse(word, Format::of(t)).unwrap().overflows, "{word}");
        }
        assert!(!parse("3.39e+38", Format::of(ElementType::Bf16)).unwrap().overflows);
        for word in ["", "-", "e5", "1e", "nan(", "0x", "1.2.3", "abc"] {
            assert!(parse(word, Format::of(ElementType::Bf16)).is_none(), "{word}");
        }
    }
}
