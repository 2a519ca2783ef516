//! Computed intervals.
//!
//! There are two kinds of intervals. An [`Interval`] is stored: the range of a variable, the bounds of a constraint. A
//! [`WideInterval`] is computed: it holds the mathematical value at every point, in 128 bits, and an end that does not
//! fit there is open, whether it lies above or below; it is never moved to a number that the value may pass. A computed
//! interval becomes a stored one only if both ends have 64 bits, see [`WideInterval::interval`]; every rule that
//! compares sums compares computed ones.

use crate::arithmetic::Number;
use crate::int::{ceil_div_wide, floor_div_any, floor_div_wide};
use crate::span::interval::Interval;

/// The integers between two ends, either of which may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideInterval {
    /// The smallest integer; [`i128::MIN`] if it is open.
    pub lo: i128,
    /// The largest integer; [`i128::MAX`] if it is open.
    pub hi: i128,
}

/// Ends up to here are known. A sum of two of them has 128 bits, and an open end moved by one of them lies past the limit.
const LIMIT: i128 = (1 << 126) - 1;

impl From<Interval> for WideInterval {
    #[inline]
    fn from(interval: Interval) -> WideInterval {
        WideInterval { lo: interval.lo.into(), hi: interval.hi.into() }
    }
}

impl WideInterval {
    /// Every integer.
    pub const ALL: WideInterval = WideInterval { lo: i128::MIN, hi: i128::MAX };

    /// Between two ends, of which those past the limit are open. An end that lies beyond the limit on the other side
    /// comes back to it, which only widens the interval.
    #[inline]
    pub fn between(lo: i128, hi: i128) -> WideInterval {
        // One comparison each, since nearly all ends are known.
        let is_known = |x: i128| x.wrapping_add(LIMIT) as u128 <= 2 * LIMIT as u128;
        if is_known(lo) && is_known(hi) {
            WideInterval { lo, hi }
        } else {
            WideInterval::opened(lo, hi)
        }
    }

    #[cold]
    fn opened(lo: i128, hi: i128) -> WideInterval {
        WideInterval {
            lo: if lo < -LIMIT { i128::MIN } else { lo.min(LIMIT) },
            hi: if hi > LIMIT { i128::MAX } else { hi.max(-LIMIT) },
        }
    }

    /// The interval in 64 bits, if both ends have 64 bits.
    #[inline]
    pub fn interval(self) -> Option<Interval> {
        Interval::exact(self.lo, self.hi)
    }

    /// The integers in both.
    #[inline]
    pub fn intersect(self, other: WideInterval) -> WideInterval {
        WideInterval { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) }
    }

    /// The interval of `x + y`.
    #[inline]
    pub fn plus(self, other: WideInterval) -> WideInterval {
        WideInterval::between(self.lo.saturating_add(other.lo), self.hi.saturating_add(other.hi))
    }

    /// Undoes [`WideInterval::plus`]: the interval of `x`, if this is its sum with the interval of `y`.
    #[inline]
    pub fn without(self, y: WideInterval) -> WideInterval {
        WideInterval::between(self.lo.saturating_sub(y.lo), self.hi.saturating_sub(y.hi))
    }

    /// The interval of `x` if `x + y` lies in this one and `y` in the other.
    #[inline]
    pub fn minus(self, y: WideInterval) -> WideInterval {
        WideInterval::between(self.lo.saturating_sub(y.hi), self.hi.saturating_sub(y.lo))
    }

    /// The interval of `k * x`. An empty one stays empty.
    #[inline]
    pub fn scale(self, k: i64) -> WideInterval {
        let (lo, hi) = if k < 0 { (self.hi, self.lo) } else { (self.lo, self.hi) };
        WideInterval::between(product(lo, k.into()), product(hi, k.into()))
    }

    /// The interval of `x` if `k * x` lies in this one, for `k != 0`.
    #[inline]
    pub fn divided(self, k: i64) -> WideInterval {
        let WideInterval { lo, hi } = if k < 0 { self.scale(-1) } else { self };
        let k = k.unsigned_abs();
        WideInterval {
            lo: if lo == i128::MIN { lo } else { ceil_div_wide(lo, k) },
            hi: if hi == i128::MAX { hi } else { floor_div_wide(hi, k) },
        }
    }

    /// The 64-bit integers in it, for a value that is known to have 64 bits, as a variable is.
    pub fn in_64_bits(self) -> Interval {
        Interval::between(self.lo, self.hi)
    }

    /// Whether the interval is empty.
    pub const fn is_empty(self) -> bool {
        self.lo > self.hi
    }

    /// The only value, if there is exactly one.
    pub fn as_point(self) -> Option<i128> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// The one integer `x`.
    #[inline]
    pub fn point(x: i128) -> WideInterval {
        WideInterval::between(x, x)
    }

    /// Whether both ends are known.
    pub const fn is_closed(self) -> bool {
        self.lo != i128::MIN && self.hi != i128::MAX
    }
}

impl Number for WideInterval {
    #[inline(always)]
    fn constant(c: i64) -> WideInterval {
        Interval::point(c).into()
    }

    #[inline(always)]
    fn add_scaled(self, k: i64, x: WideInterval) -> WideInterval {
        self.plus(x.scale(k))
    }

    fn times(self, other: WideInterval) -> WideInterval {
        let (a, b) = (product(self.lo, other.lo), product(self.lo, other.hi));
        let (c, d) = (product(self.hi, other.lo), product(self.hi, other.hi));
        WideInterval::between(a.min(b).min(c).min(d), a.max(b).max(c).max(d))
    }

    // Only divisors of at least 1 count.
    fn floor_div(self, divisor: WideInterval) -> WideInterval {
        let (d_lo, d_hi) = (divisor.lo.max(1), divisor.hi.max(1));
        let lo = floor_div_any(self.lo, d_lo).min(floor_div_any(self.lo, d_hi));
        let hi = floor_div_any(self.hi, d_lo).max(floor_div_any(self.hi, d_hi));
        WideInterval {
            lo: if self.lo == i128::MIN { i128::MIN } else { lo },
            hi: if self.hi == i128::MAX { i128::MAX } else { hi },
        }
    }

    fn floor_mod(self, divisor: WideInterval) -> WideInterval {
        let (d_lo, d_hi) = (divisor.lo.max(1), divisor.hi.max(1));
        if self.lo >= 0 && self.hi < d_lo {
            return self;
        }
        if d_lo == d_hi && self.is_closed() {
            let (q, last) = (floor_div_any(self.lo, d_lo), floor_div_any(self.hi, d_lo));
            if q == last {
                return WideInterval { lo: self.lo - q * d_lo, hi: self.hi - q * d_lo };
            }
        }
        WideInterval::between(0, if self.lo >= 0 { self.hi.min(d_hi - 1) } else { d_hi - 1 })
    }

    fn minimum(self, other: WideInterval) -> WideInterval {
        WideInterval { lo: self.lo.min(other.lo), hi: self.hi.min(other.hi) }
    }

    fn maximum(self, other: WideInterval) -> WideInterval {
        WideInterval { lo: self.lo.max(other.lo), hi: self.hi.max(other.hi) }
    }
}

impl std::fmt::Display for WideInterval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.lo, self.hi) {
            (i128::MIN, i128::MAX) => write!(f, "(-inf, inf)"),
            (i128::MIN, hi) => write!(f, "(-inf, {hi}]"),
            (lo, i128::MAX) => write!(f, "[{lo}, inf)"),
            (lo, hi) => write!(f, "[{lo}, {hi}]"),
        }
    }
}

/// The product, saturated to 128 bits.
fn product(a: i128, b: i128) -> i128 {
    // A product of 64-bit numbers is one instruction; a checked 128-bit product is a call.
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => i128::from(a) * i128::from(b),
        _ => a.saturating_mul(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::int::{floor_div, floor_mod};

    const OPEN: [WideInterval; 3] =
        [WideInterval { lo: i128::MIN, hi: 3 }, WideInterval { lo: -3, hi: i128::MAX }, WideInterval::ALL];

    fn contains(x: WideInterval, value: i128) -> bool {
        x.lo <= value && value <= x.hi
    }

    #[test]
    fn every_operation_covers_every_pair() {
        let ends: Vec<i64> = vec![-7, -3, -1, 0, 1, 2, 5, 8];
        let mut all: Vec<(WideInterval, Vec<i64>)> = OPEN.iter().map(|x| (*x, vec![-3, -1, 0, 2, 3])).collect();
        all.extend(ends.iter().flat_map(|&lo| {
            let above = ends.iter().filter(move |hi| **hi >= lo);
            above.map(move |&hi| (WideInterval::from(Interval::new(lo, hi)), (lo..=hi).collect()))
        }));
        for (a, xs) in &all {
            for (b, ys) in &all {
                for x in xs {
                    for y in ys {
                        assert!(contains(a.plus(*b), (x + y).into()));
                        assert!(contains(a.times(*b), (x * y).into()), "{a:?} {b:?} {x} {y}");
                        assert!(contains(a.minimum(*b), (*x.min(y)).into()), "{a:?} {b:?} {x} {y}");
                        assert!(contains(a.maximum(*b), (*x.max(y)).into()), "{a:?} {b:?} {x} {y}");
                        assert!(contains(a.scale(*y), (x * y).into()));
                        if *y >= 1 {
                            assert!(contains(a.floor_div(*b), floor_div(*x, *y).into()), "{a:?} {b:?} {x} {y}");
                            assert!(contains(a.floor_mod(*b), floor_mod(*x, *y).into()), "{a:?} {b:?} {x} {y}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn ends_past_the_limit_are_open_and_stay_so() {
        let all = WideInterval::from(Interval::ALL);
        let cube = all.times(all).times(all);
        assert_eq!(cube, WideInterval::ALL);
        let two = WideInterval::from(Interval::point(2));
        assert_eq!((cube.floor_div(two), cube.scale(-1), cube.plus(two)), (cube, cube, cube));
        assert_eq!(cube.floor_mod(two), WideInterval { lo: 0, hi: 1 });
        assert_eq!(cube.scale(0), WideInterval { lo: 0, hi: 0 });
        let positive = WideInterval::from(Interval::new(1 << 62, i64::MAX));
        let large = positive.times(positive).times(positive);
        assert_eq!(large, WideInterval { lo: LIMIT, hi: i128::MAX });
        assert_eq!(large.scale(-1), WideInterval { lo: i128::MIN, hi: -LIMIT });
        assert_eq!(two.floor_div(large), WideInterval { lo: 0, hi: 0 });
        assert_eq!(two.scale(-1).floor_div(large), WideInterval { lo: -1, hi: -1 });
        assert_eq!(two.scale(-1).floor_mod(large), WideInterval { lo: 0, hi: i128::MAX });
    }

    #[test]
    fn ends_past_64_bits_are_known() {
        let d = WideInterval::from(Interval::new(1 << 32, 1 << 34));
        assert_eq!(d.times(d).floor_div(Interval::point(1 << 62).into()).interval(), Some(Interval::new(4, 64)));
        assert_eq!(d.times(d).interval(), None);
    }
}
