//! A closed interval of 64-bit integers.
//!
//! An interval is a fact. If the ends of a computed interval do not fit, there is no interval ([`Interval::exact`]): an
//! end is never moved to make it fit, since a value may lie beyond. Arithmetic on ranges runs in 128 bits, in
//! `interval`.

use crate::int::floor_div;

/// The integers `lo <= x <= hi`; none if `lo > hi`.
///
/// ```
/// use quasiaffine::Interval;
/// let digits = Interval::new(0, 9);
/// assert_eq!((digits.size(), digits.contains(10), Interval::new(1, 0).is_empty()), (10, false, true));
/// assert_eq!(digits.intersect(Interval::new(5, 20)), Interval::new(5, 9));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Interval {
    /// The smallest value.
    pub lo: i64,
    /// The largest value.
    pub hi: i64,
}

impl Interval {
    /// Every 64-bit integer.
    pub const ALL: Interval = Interval { lo: i64::MIN, hi: i64::MAX };
    /// No integer.
    pub const EMPTY: Interval = Interval { lo: 0, hi: -1 };

    /// `lo <= x <= hi`.
    pub const fn new(lo: i64, hi: i64) -> Interval {
        Interval { lo, hi }
    }

    /// The one value `x`.
    pub const fn point(x: i64) -> Interval {
        Interval { lo: x, hi: x }
    }

    /// The 64-bit integers between two ends, for a value that is known to have 64 bits, as a variable is; empty if
    /// there is none.
    ///
    /// ```
    /// use quasiaffine::Interval;
    /// let far = i128::from(i64::MAX) + 1;
    /// assert_eq!(Interval::between(0, far), Interval::new(0, i64::MAX));
    /// assert!(Interval::between(far, far).is_empty());
    /// ```
    pub fn between(lo: i128, hi: i128) -> Interval {
        if lo > i128::from(i64::MAX) || hi < i128::from(i64::MIN) {
            return Interval::EMPTY;
        }
        let clamp = |x: i128| x.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        Interval { lo: clamp(lo), hi: clamp(hi) }
    }

    /// The interval with these ends, if both have 64 bits.
    ///
    /// ```
    /// use quasiaffine::Interval;
    /// assert_eq!((Interval::exact(0, 9), Interval::exact(0, 1 << 70)), (Some(Interval::new(0, 9)), None));
    /// ```
    pub fn exact(lo: i128, hi: i128) -> Option<Interval> {
        Some(Interval { lo: i64::try_from(lo).ok()?, hi: i64::try_from(hi).ok()? })
    }

    /// Whether the interval is empty.
    pub const fn is_empty(self) -> bool {
        self.lo > self.hi
    }

    /// The only value, if there is exactly one.
    pub fn as_point(self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// The number of integers in the interval.
    pub fn size(self) -> u128 {
        if self.is_empty() {
            0
        } else {
            (i128::from(self.hi) - i128::from(self.lo) + 1) as u128
        }
    }

    /// Whether `x` lies in it.
    pub const fn contains(self, x: i64) -> bool {
        self.lo <= x && x <= self.hi
    }

    /// Whether every integer of `other` lies in the interval.
    ///
    /// ```
    /// use quasiaffine::Interval;
    /// assert!(Interval::new(0, 9).covers(Interval::new(3, 9)) && Interval::new(0, 9).covers(Interval::EMPTY));
    /// ```
    pub const fn covers(self, other: Interval) -> bool {
        other.is_empty() || (self.lo <= other.lo && other.hi <= self.hi)
    }

    /// The integers in both.
    pub fn intersect(self, other: Interval) -> Interval {
        Interval { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) }
    }

    /// The smallest interval that contains both.
    ///
    /// ```
    /// use quasiaffine::Interval;
    /// assert_eq!(Interval::new(0, 1).hull(Interval::new(5, 6)), Interval::new(0, 6));
    /// ```
    pub fn hull(self, other: Interval) -> Interval {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// The interval of `x + c`, if its ends have 64 bits.
    ///
    /// ```
    /// use quasiaffine::Interval;
    /// assert_eq!((Interval::new(0, 9).plus(5), Interval::ALL.plus(1)), (Some(Interval::new(5, 14)), None));
    /// ```
    pub fn plus(self, c: i64) -> Option<Interval> {
        Some(Interval { lo: self.lo.checked_add(c)?, hi: self.hi.checked_add(c)? })
    }

    /// The interval of `x - c`, if its ends have 64 bits.
    pub fn minus(self, c: i64) -> Option<Interval> {
        Some(Interval { lo: self.lo.checked_sub(c)?, hi: self.hi.checked_sub(c)? })
    }

    /// The interval of `-x`, if its ends have 64 bits.
    pub fn negated(self) -> Option<Interval> {
        Some(Interval { lo: self.hi.checked_neg()?, hi: self.lo.checked_neg()? })
    }

    /// The interval of `x floordiv n` for `n >= 1`.
    pub(crate) fn floor_div(self, n: i64) -> Interval {
        Interval { lo: floor_div(self.lo, n), hi: floor_div(self.hi, n) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_does_not_fit_is_none() {
        let max = i128::from(i64::MAX);
        assert_eq!(Interval::exact(max - 1, max), Some(Interval::new(i64::MAX - 1, i64::MAX)));
        assert_eq!(Interval::exact(max, max + 1), None);
        assert_eq!(Interval::between(max, max + 1), Interval::point(i64::MAX));
        assert_eq!(Interval::between(max + 1, max + 2), Interval::EMPTY);
    }
}
