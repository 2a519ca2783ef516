//! Checked integer arithmetic, and the only definition of division and remainder.

use std::fmt::Debug;
use std::hash::Hash;

use crate::error::Stop;

/// The largest integer `q` with `q * b <= a`, for `b >= 1`.
pub const fn floor_div(a: i64, b: i64) -> i64 {
    a.div_euclid(b)
}

/// `a - b * floor_div(a, b)`, which lies in `[0, b)`, for `b >= 1`.
pub const fn floor_mod(a: i64, b: i64) -> i64 {
    a.rem_euclid(b)
}

/// The smallest integer `q` with `q * b >= a`, for `b >= 1`.
pub const fn ceil_div(a: i64, b: i64) -> i64 {
    let q = a.div_euclid(b);
    if a.rem_euclid(b) == 0 {
        q
    } else {
        q + 1
    }
}

/// `floor_div(lo, n)` if it equals `floor_div(hi, n)`, for `lo <= hi` and `n >= 1`.
pub const fn common_quotient(lo: i64, hi: i64, n: i64) -> Option<i64> {
    // A division takes longer than all the rest, and most ranges are wider than the divisor.
    match hi.checked_sub(lo) {
        Some(width) if width < n => {
            let q = floor_div(lo, n);
            let r = lo.wrapping_sub(q.wrapping_mul(n));
            if width < n - r {
                Some(q)
            } else {
                None
            }
        }
        _ => None,
    }
}

/// [`floor_div`] of a number of any size.
pub fn floor_div_wide(a: i128, b: u64) -> i128 {
    // Division of 64-bit numbers is one instruction, of 128-bit numbers a call.
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => i128::from(floor_div(a, b)),
        _ => a.div_euclid(i128::from(b)),
    }
}

/// [`floor_div`] of numbers of any size, for `b >= 1`.
pub fn floor_div_any(a: i128, b: i128) -> i128 {
    match u64::try_from(b) {
        Ok(b) => floor_div_wide(a, b),
        Err(_) => a.div_euclid(b),
    }
}

/// [`ceil_div`] of a number of any size.
pub fn ceil_div_wide(a: i128, b: u64) -> i128 {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => i128::from(ceil_div(a, b)),
        _ => a.div_euclid(i128::from(b)) + i128::from(a.rem_euclid(i128::from(b)) != 0),
    }
}

/// The greatest common divisor of the absolute values; `gcd(0, x) = |x|`. `None` if it is 2^63.
pub fn gcd(a: i64, b: i64) -> Option<i64> {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    if a == 1 || b == 1 {
        return Some(1);
    }
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).ok()
}

/// A number of limited size.
pub trait Limited: Copy + Debug + Default + Eq + Hash {
    /// The number 1.
    const ONE: Self;

    /// `self + other`, if it fits.
    fn plus(self, other: Self) -> Option<Self>;

    /// `self - other`, if it fits.
    fn minus(self, other: Self) -> Option<Self>;

    /// `self * other`, if it fits.
    fn times(self, other: Self) -> Option<Self>;
}

macro_rules! limited {
    ($number:ty, $times:expr) => {
        impl Limited for $number {
            const ONE: $number = 1;

            #[inline]
            fn plus(self, other: $number) -> Option<$number> {
                self.checked_add(other)
            }

            #[inline]
            fn minus(self, other: $number) -> Option<$number> {
                self.checked_sub(other)
            }

            #[inline]
            fn times(self, other: $number) -> Option<$number> {
                $times(self, other)
            }
        }
    };
}

limited!(i64, i64::checked_mul);
// A product of 64-bit numbers is one instruction, one of 128-bit numbers a call.
limited!(i128, |a: i128, b: i128| match (i64::try_from(a), i64::try_from(b)) {
    (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
    _ => a.checked_mul(b),
});

/// `a + b`, or an error.
#[inline]
pub fn add<T: Limited>(a: T, b: T) -> Result<T, Stop> {
    a.plus(b).ok_or(Stop::Overflow)
}

/// `a - b`, or an error.
#[inline]
pub fn sub<T: Limited>(a: T, b: T) -> Result<T, Stop> {
    a.minus(b).ok_or(Stop::Overflow)
}

/// `a * b`, or an error.
#[inline]
pub fn mul<T: Limited>(a: T, b: T) -> Result<T, Stop> {
    a.times(b).ok_or(Stop::Overflow)
}

/// `-a`, or an error.
#[inline]
pub fn neg<T: Limited>(a: T) -> Result<T, Stop> {
    sub(T::default(), a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_down_and_remainder_is_not_negative() {
        for a in -20..=20 {
            for b in 1..=7 {
                assert_eq!(floor_div(a, b), (a as f64 / b as f64).floor() as i64);
                assert_eq!(ceil_div(a, b), (a as f64 / b as f64).ceil() as i64);
                assert_eq!(floor_div(a, b) * b + floor_mod(a, b), a);
            }
        }
        assert_eq!(ceil_div(i64::MIN, 1), i64::MIN);
        assert_eq!(ceil_div(i64::MIN, 3), i64::MIN / 3);
        assert_eq!(ceil_div(i64::MAX, 2), i64::MAX / 2 + 1);
    }

    #[test]
    fn a_common_quotient_is_that_of_both_ends() {
        let ends = [i64::MIN, i64::MIN + 1, -9, -8, -7, -1, 0, 1, 7, 8, 9, i64::MAX - 1, i64::MAX];
        for (i, &lo) in ends.iter().enumerate() {
            for &hi in &ends[i..] {
                for n in [1, 2, 3, 8, 9, i64::MAX - 1, i64::MAX] {
                    let both = Some(floor_div(lo, n)).filter(|q| *q == floor_div(hi, n));
                    assert_eq!(common_quotient(lo, hi, n), both, "{lo} {hi} {n}");
                }
            }
        }
    }

    #[test]
    fn division_of_wide_numbers_is_the_same_division() {
        for a in [-21i128, -20, -1, 0, 1, 20, i128::from(i64::MAX)] {
            for b in [1u64, 2, 7, u64::MAX] {
                let (floor, ceil) = (floor_div_wide(a, b), ceil_div_wide(a, b));
                let wide = i128::from(b) << 60;
                assert!(floor * i128::from(b) <= a && a < (floor + 1) * i128::from(b), "{a} {b}");
                assert!(ceil * i128::from(b) >= a && a > (ceil - 1) * i128::from(b), "{a} {b}");
                assert_eq!(floor_div_wide(a.signum() * wide, b), a.signum() << 60, "{a} {b}");
                assert_eq!(ceil_div_wide(a.signum() * wide + 1, b), (a.signum() << 60) + 1, "{a} {b}");
            }
        }
    }

    #[test]
    fn gcd_of_the_smallest_integer_does_not_wrap() {
        assert_eq!(gcd(i64::MIN, 0), None);
        assert_eq!(gcd(i64::MIN, 6), Some(2));
        assert_eq!(gcd(0, 0), Some(0));
    }
}
