//! Linear forms over the columns of an integer system, in 128 bits, and the integers between two ends.

use smallvec::SmallVec;

use crate::error::Stop;

/// The number of a column of a system.
pub(crate) type Column = u32;

/// `constant + sum of coefficient * column`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Linear {
    /// The constant.
    pub constant: i128,
    /// The terms in the order of their columns; no coefficient is 0.
    pub terms: SmallVec<[(Column, i128); 4]>,
}

impl Linear {
    /// A constant.
    pub fn constant(constant: i128) -> Linear {
        Linear { constant, terms: SmallVec::new() }
    }

    /// One column.
    pub fn column(column: Column) -> Linear {
        Linear { constant: 0, terms: SmallVec::from_slice(&[(column, 1)]) }
    }

    /// The value, if there is no term.
    pub fn as_const(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The coefficient of a column, 0 if it does not occur.
    pub fn coefficient(&self, column: Column) -> i128 {
        self.terms.binary_search_by_key(&column, |t| t.0).map_or(0, |at| self.terms[at].1)
    }

    /// `self += factor * other`.
    pub fn add_scaled(&mut self, factor: i128, other: &Linear) -> Result<(), Stop> {
        self.constant = add(self.constant, mul(factor, other.constant)?)?;
        for (column, k) in &other.terms {
            self.add_term(mul(factor, *k)?, *column)?;
        }
        Ok(())
    }

    /// `self += coefficient * column`.
    pub fn add_term(&mut self, coefficient: i128, column: Column) -> Result<(), Stop> {
        if coefficient == 0 {
            return Ok(());
        }
        match self.terms.binary_search_by_key(&column, |t| t.0) {
            Ok(at) => {
                let sum = add(self.terms[at].1, coefficient)?;
                if sum == 0 {
                    self.terms.remove(at);
                } else {
                    self.terms[at].1 = sum;
                }
            }
            Err(at) => self.terms.insert(at, (column, coefficient)),
        }
        Ok(())
    }

    /// `self - other`.
    pub fn minus(&self, other: &Linear) -> Result<Linear, Stop> {
        let mut out = self.clone();
        out.add_scaled(-1, other)?;
        Ok(out)
    }

    /// Replaces a column by a form. Returns whether the column occurred.
    pub fn substitute(&mut self, column: Column, by: &Linear) -> Result<bool, Stop> {
        let Ok(at) = self.terms.binary_search_by_key(&column, |t| t.0) else { return Ok(false) };
        let (_, k) = self.terms.remove(at);
        self.add_scaled(k, by)?;
        Ok(true)
    }

    /// Evaluates the form at values of all columns.
    pub fn at(&self, values: &[i128]) -> Result<i128, Stop> {
        self.terms.iter().try_fold(self.constant, |sum, (column, k)| add(sum, mul(*k, values[*column as usize])?))
    }

    /// The smallest and the largest value over the spans of the columns.
    pub fn span(&self, columns: &[Span]) -> Result<Span, Stop> {
        let mut out = Span::point(self.constant);
        for (column, k) in &self.terms {
            let term = columns[*column as usize].scaled(*k)?;
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

pub(crate) fn add(a: i128, b: i128) -> Result<i128, Stop> {
    a.checked_add(b).ok_or(Stop::Overflow)
}

pub(crate) fn sub(a: i128, b: i128) -> Result<i128, Stop> {
    a.checked_sub(b).ok_or(Stop::Overflow)
}

pub(crate) fn mul(a: i128, b: i128) -> Result<i128, Stop> {
    // A product of 64-bit numbers is one instruction, one of 128-bit numbers a call.
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Ok(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b).ok_or(Stop::Overflow),
    }
}

pub(crate) fn neg(a: i128) -> Result<i128, Stop> {
    a.checked_neg().ok_or(Stop::Overflow)
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
