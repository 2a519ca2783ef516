//! Linear forms over the columns of an integer system, in 128 bits, and the integers between two ends.

use crate::affine::form::{self, AtomId, LinearTerm};
use crate::error::Stop;
use crate::int::{add, mul, neg, sub};

/// The number of a column of a system: the columns are the atoms of its forms.
pub(crate) type Column = AtomId;

/// `constant + sum of coefficient * column`.
pub(crate) type Linear = form::Linear<i128>;

/// A term of a form.
pub(crate) type Term = LinearTerm<i128>;

impl Linear {
    /// Evaluates the form at values of all columns.
    pub fn at(&self, values: &[i128]) -> Result<i128, Stop> {
        self.terms.iter().try_fold(self.constant, |sum, t| add(sum, mul(t.coefficient, values[t.atom as usize])?))
    }

    /// The smallest and the largest value over the spans of the columns.
    pub fn span(&self, columns: &[Span]) -> Result<Span, Stop> {
        let mut out = Span::point(self.constant);
        for t in &self.terms {
            let term = columns[t.atom as usize].scaled(t.coefficient)?;
            out = Span { lo: add(out.lo, term.lo)?, hi: add(out.hi, term.hi)? };
        }
        Ok(out)
    }
}

/// The integers from `lo` to `hi`; none if `lo > hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    /// The smallest.
    pub lo: i128,
    /// The largest.
    pub hi: i128,
}

impl Span {
    pub const fn point(value: i128) -> Span {
        Span { lo: value, hi: value }
    }

    pub fn as_point(self) -> Option<i128> {
        (self.lo == self.hi).then_some(self.lo)
    }

    pub fn closest_to_0(self) -> i128 {
        if self.hi < 0 {
            self.hi
        } else {
            self.lo.max(0)
        }
    }

    pub fn covers(self, other: Span) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    pub fn intersect(self, other: Span) -> Span {
        Span { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) }
    }

    /// The values times `k`.
    pub fn scaled(self, k: i128) -> Result<Span, Stop> {
        let (a, b) = (mul(self.lo, k)?, mul(self.hi, k)?);
        Ok(Span { lo: a.min(b), hi: a.max(b) })
    }

    /// The values minus a number.
    pub fn minus(self, shift: i128) -> Result<Span, Stop> {
        Ok(Span { lo: sub(self.lo, shift)?, hi: sub(self.hi, shift)? })
    }

    /// The integers `x` with `k * x` in the span, for `k != 0`.
    pub fn divided(self, k: i128) -> Result<Span, Stop> {
        let (lo, hi) = if k > 0 { (self.lo, self.hi) } else { (neg(self.hi)?, neg(self.lo)?) };
        let k = k.checked_abs().ok_or(Stop::Overflow)?;
        Ok(Span { lo: ceil_div(lo, k), hi: floor_div(hi, k) })
    }
}

impl From<crate::Interval> for Span {
    fn from(interval: crate::Interval) -> Span {
        Span { lo: interval.lo.into(), hi: interval.hi.into() }
    }
}

/// The largest integer that is not above `a / b`, for `b >= 1`.
pub(crate) fn floor_div(a: i128, b: i128) -> i128 {
    crate::int::floor_div_any(a, b)
}

/// The smallest integer that is not below `a / b`, for `b >= 1`.
pub(crate) fn ceil_div(a: i128, b: i128) -> i128 {
    // The product of floor and divisor may have more than 128 bits.
    floor_div(a, b) + i128::from(a.rem_euclid(b) != 0)
}

/// The greatest common divisor of the absolute values; `gcd(0, x) = |x|`.
pub(crate) fn gcd(a: i128, b: i128) -> Result<i128, Stop> {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = match (u64::try_from(a), u64::try_from(b)) {
            (Ok(x), Ok(y)) => (b, u128::from(x % y)),
            _ => (b, a % b),
        };
    }
    i128::try_from(a).map_err(|_| Stop::Overflow)
}
