//! A closed range of integers, and the range of each operation on ranges.
//!
//! Ends are 64-bit. A computed end that does not fit is moved to the nearest one that does, which loses nothing:
//! a value outside 64 bits is an error wherever it is evaluated, so it never lies in any range.

/// The integers `lo <= x <= hi`; none where `lo > hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Range {
    /// The smallest value.
    pub lo: i64,
    /// The largest value.
    pub hi: i64,
}

fn clamp(x: i128) -> i64 {
    x.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

impl Range {
    /// Every 64-bit integer.
    pub const ALL: Range = Range { lo: i64::MIN, hi: i64::MAX };
    /// No integer.
    pub const EMPTY: Range = Range { lo: 0, hi: -1 };

    /// `lo <= x <= hi`.
    pub const fn new(lo: i64, hi: i64) -> Range {
        Range { lo, hi }
    }

    /// The one value `x`.
    pub const fn point(x: i64) -> Range {
        Range { lo: x, hi: x }
    }

    /// The integers of 64 bits between two ends; empty where there is none.
    pub fn between(lo: i128, hi: i128) -> Range {
        if lo > i128::from(i64::MAX) || hi < i128::from(i64::MIN) {
            Range::EMPTY
        } else {
            Range::from_wide(lo, hi)
        }
    }

    /// The range with these ends, where both have 64 bits.
    pub fn exact(lo: i128, hi: i128) -> Option<Range> {
        Some(Range { lo: i64::try_from(lo).ok()?, hi: i64::try_from(hi).ok()? })
    }

    /// From ends of any size.
    pub fn from_wide(lo: i128, hi: i128) -> Range {
        Range { lo: clamp(lo), hi: clamp(hi) }
    }

    /// Whether it holds no integer.
    pub const fn is_empty(self) -> bool {
        self.lo > self.hi
    }

    /// The value, where there is just one.
    pub fn as_point(self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// How many integers it holds.
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

    /// Whether every integer of `other` lies in it.
    pub const fn covers(self, other: Range) -> bool {
        other.is_empty() || (self.lo <= other.lo && other.hi <= self.hi)
    }

    /// The integers in both.
    pub fn intersect(self, other: Range) -> Range {
        Range { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) }
    }

    /// The range of `x + y`.
    pub fn plus(self, other: Range) -> Range {
        Range::from_wide(i128::from(self.lo) + i128::from(other.lo), i128::from(self.hi) + i128::from(other.hi))
    }

    /// The range of `k * x`.
    pub fn scale(self, k: i64) -> Range {
        let (a, b) = (i128::from(self.lo) * i128::from(k), i128::from(self.hi) * i128::from(k));
        Range::from_wide(a.min(b), a.max(b))
    }

    /// The range of `x * y`.
    pub fn times(self, other: Range) -> Range {
        let ends = [
            i128::from(self.lo) * i128::from(other.lo),
            i128::from(self.lo) * i128::from(other.hi),
            i128::from(self.hi) * i128::from(other.lo),
            i128::from(self.hi) * i128::from(other.hi),
        ];
        Range::from_wide(ends.into_iter().min().unwrap_or(0), ends.into_iter().max().unwrap_or(0))
    }

    /// The range of `x floordiv y`, where only `y >= 1` counts.
    pub fn floor_div(self, divisor: Range) -> Range {
        let (d_lo, d_hi) = (divisor.lo.max(1), divisor.hi.max(1));
        Range {
            lo: self.lo.div_euclid(d_lo).min(self.lo.div_euclid(d_hi)),
            hi: self.hi.div_euclid(d_lo).max(self.hi.div_euclid(d_hi)),
        }
    }

    /// The range of `x mod y`, where only `y >= 1` counts.
    pub fn floor_mod(self, divisor: Range) -> Range {
        let (d_lo, d_hi) = (divisor.lo.max(1), divisor.hi.max(1));
        if d_lo == d_hi && self.lo.div_euclid(d_lo) == self.hi.div_euclid(d_lo) {
            return Range { lo: self.lo.rem_euclid(d_lo), hi: self.hi.rem_euclid(d_lo) };
        }
        if self.lo >= 0 && self.hi < d_lo {
            return self;
        }
        Range { lo: 0, hi: if self.lo >= 0 { self.hi.min(d_hi - 1) } else { d_hi - 1 } }
    }

    /// The range of the smaller of `x` and `y`.
    pub fn min(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.min(other.hi) }
    }

    /// The range of the larger of `x` and `y`.
    pub fn max(self, other: Range) -> Range {
        Range { lo: self.lo.max(other.lo), hi: self.hi.max(other.hi) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::int::{floor_div, floor_mod};

    #[test]
    fn every_operation_covers_every_pair() {
        let ends: Vec<i64> = vec![-7, -3, -1, 0, 1, 2, 5, 8];
        let ranges: Vec<Range> =
            ends.iter().flat_map(|&a| ends.iter().filter(move |&&b| b >= a).map(move |&b| Range::new(a, b))).collect();
        for &a in &ranges {
            for &b in &ranges {
                for x in a.lo..=a.hi {
                    for y in b.lo..=b.hi {
                        assert!(a.plus(b).contains(x + y));
                        assert!(a.times(b).contains(x * y));
                        assert!(a.min(b).contains(x.min(y)) && a.max(b).contains(x.max(y)));
                        assert!(a.scale(y).contains(x * y));
                        if y >= 1 {
                            assert!(a.floor_div(b).contains(floor_div(x, y)), "{a:?} {b:?} {x} {y}");
                            assert!(a.floor_mod(b).contains(floor_mod(x, y)), "{a:?} {b:?} {x} {y}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn ends_saturate_instead_of_wrapping() {
        assert_eq!(Range::new(i64::MAX - 1, i64::MAX).plus(Range::point(5)), Range::point(i64::MAX));
        assert_eq!(Range::ALL.times(Range::ALL), Range::ALL);
        assert_eq!(Range::ALL.scale(-1), Range::new(-i64::MAX, i64::MAX));
        assert_eq!(Range::ALL.floor_div(Range::point(1)), Range::ALL);
    }
}
