//! Integers of one width in a block of values, and division of a whole block by a constant.
//!
//! A block divides by a multiplication and a shift: for `0 <= x < 2^k`, `2^l >= n` and `m = floor(2^(k + l) / n) + 1`,
//! `x floordiv n = (x * m) >> (k + l)` (Granlund and Montgomery, "Division by invariant integers using multiplication",
//! 1994). Lanes of `k + 1` bits hold such numerators and, if `n` is not a power of two, so that `2^l < 2n` for the
//! smallest `l`, the multiplier. For a negative `x`, `y = !x = -1 - x` is not negative, and `x floordiv n = !(y
//! floordiv n)`.

use std::hint::black_box;

use crate::arithmetic::Number;
use crate::span::Interval;

/// A number in a block of values.
pub(crate) trait Lane: Number + Default {
    /// A value of 64 bits.
    fn narrow(x: i64) -> Self;
    /// The value in 64 bits, if it fits.
    fn wide(self) -> i64;

    /// `x floordiv n` for a block.
    #[inline(always)]
    fn div_all(divisor: &Divisor, x: &[Self], out: &mut [Self]) {
        let n = Self::narrow(divisor.n);
        out.iter_mut().zip(x).for_each(|(o, x)| *o = x.floor_div(n));
    }

    /// `x mod n` for a block.
    #[inline(always)]
    fn mod_all(divisor: &Divisor, x: &[Self], out: &mut [Self]) {
        let n = Self::narrow(divisor.n);
        out.iter_mut().zip(x).for_each(|(o, x)| *o = x.floor_mod(n));
    }
}

/// A constant divisor, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divisor {
    n: i64,
    /// Whether a numerator may be negative.
    is_signed: bool,
    /// Whether the divisor and every numerator have at most 50 bits.
    is_short: bool,
}

impl Divisor {
    /// The divisor `n >= 1` of a numerator with values in `interval`.
    pub fn new(n: i64, interval: Interval) -> Divisor {
        Divisor { n, is_signed: interval.lo < 0, is_short: n <= SHORT && -SHORT < interval.lo && interval.hi < SHORT }
    }

    /// The number.
    pub fn n(self) -> i64 {
        self.n
    }

    /// Whether 32-bit lanes hold the divisor.
    pub fn is_narrow(self) -> bool {
        self.n <= i64::from(i32::MAX)
    }

    /// The exponent, if the divisor is a power of two.
    fn shift(self) -> Option<u32> {
        (self.n & (self.n - 1) == 0).then(|| self.n.trailing_zeros())
    }

    /// The smallest `l` with `2^l >= n`, for `n >= 2`.
    fn l(self) -> u32 {
        64 - (self.n - 1).leading_zeros()
    }
}

/// The limit of [`Fraction`]: numerators lie below it, and divisors are not larger.
const SHORT: i64 = 1 << 50;

/// The lower 32 of 64 bits.
const LOW: u64 = u32::MAX as u64;

/// Blocks of fewer values are divided one by one, since computing the multiplier takes a division itself.
const FEW: usize = 8;

/// Defines both operations on a block by the division of numerators `>= 0`.
macro_rules! divide_by_multiplying {
    ($lane:ty, $inverse:ident $(, $short:ident)?) => {
        #[inline(always)]
        fn div_all(divisor: &Divisor, x: &[$lane], out: &mut [$lane]) {
            let pairs = out.iter_mut().zip(x);
            match divisor.shift() {
                Some(shift) => pairs.for_each(|(o, x)| *o = x >> shift),
                None if pairs.len() < FEW => pairs.for_each(|(o, x)| *o = x.div_euclid(divisor.n as $lane)),
                $(None if divisor.is_short => {
                    let fraction = $short::new(divisor);
                    pairs.for_each(|(o, x)| *o = fraction.floor_div(*x));
                })?
                None => {
                    let inverse = $inverse::new(divisor);
                    if divisor.is_signed {
                        pairs.for_each(|(o, x)| *o = inverse.floor_div(*x));
                    } else {
                        pairs.for_each(|(o, x)| *o = inverse.div(*x));
                    }
                }
            }
        }

        #[inline(always)]
        fn mod_all(divisor: &Divisor, x: &[$lane], out: &mut [$lane]) {
            let n = divisor.n as $lane;
            let pairs = out.iter_mut().zip(x);
            match divisor.shift() {
                Some(_) => pairs.for_each(|(o, x)| *o = x & (n - 1)),
                None if pairs.len() < FEW => pairs.for_each(|(o, x)| *o = x.rem_euclid(n)),
                $(None if divisor.is_short => {
                    let fraction = $short::new(divisor);
                    pairs.for_each(|(o, x)| *o = fraction.floor_mod(*x));
                })?
                None => {
                    let inverse = $inverse::new(divisor);
                    if divisor.is_signed {
                        pairs.for_each(|(o, x)| *o = x.wrapping_sub(inverse.floor_div(*x).wrapping_mul(n)));
                    } else {
                        pairs.for_each(|(o, x)| *o = x.wrapping_sub(inverse.div(*x).wrapping_mul(n)));
                    }
                }
            }
        }
    };
}

/// The multiplier and shift of 32-bit lanes for a divisor that is not a power of two.
struct Inverse32 {
    multiplier: u64,
    shift: u32,
}

impl Inverse32 {
    #[inline(always)]
    fn new(divisor: &Divisor) -> Inverse32 {
        let shift = 31 + divisor.l();
        Inverse32 { multiplier: u64::from(((1 << shift) / divisor.n as u64) as u32 + 1), shift }
    }

    /// `x floordiv n` for `x >= 0`.
    #[inline(always)]
    fn div(&self, x: i32) -> i32 {
        ((u64::from(x as u32) * self.multiplier) >> self.shift) as i32
    }

    #[inline(always)]
    fn floor_div(&self, x: i32) -> i32 {
        let sign = x >> 31;
        self.div(x ^ sign) ^ sign
    }
}

/// The multiplier and shift of 64-bit lanes for a divisor that is not a power of two.
struct Inverse64 {
    /// The lower and the upper 32 bits of the multiplier.
    multiplier: [u64; 2],
    shift: u32,
}

impl Inverse64 {
    #[inline(always)]
    fn new(divisor: &Divisor) -> Inverse64 {
        let l = divisor.l();
        let multiplier = ((1u128 << (63 + l)) / divisor.n as u128) as u64 + 1;
        // Vectors have no instruction for the upper half of a product. A compiler that recognizes these as halves of
        // one number would restore that product, and compute it value by value.
        Inverse64 { multiplier: [multiplier & LOW, multiplier >> 32].map(black_box), shift: l - 1 }
    }

    /// `x floordiv n` for `x >= 0`.
    #[inline(always)]
    fn div(&self, x: i64) -> i64 {
        let [y0, y1] = self.multiplier.map(|half| half & LOW);
        let (x0, x1) = (x as u64 & LOW, x as u64 >> 32);
        // Neither sum passes 64 bits: (2^32 - 1)^2 + 2^32 - 1 < 2^64.
        let middle = x1 * y0 + ((x0 * y0) >> 32);
        let carried = x0 * y1 + (middle & LOW);
        let upper = x1 * y1 + (middle >> 32) + (carried >> 32);
        (upper >> self.shift) as i64
    }

    #[inline(always)]
    fn floor_div(&self, x: i64) -> i64 {
        let sign = x >> 63;
        self.div(x ^ sign) ^ sign
    }
}

/// The factor of short numerators in 64-bit lanes: `1 / n` as a float, which takes half of the instructions.
///
/// `v = (x + 1/2) / n` is at least `1 / 2n` away from every integer, so `x floordiv n` is the integer nearest to `v -
/// 1/2`, even if `v - 1/2` is off by less than `1 / 2n`. With `|x| < 2^50` and `n <= 2^50` the inverse and the product
/// move it by less than `2^-52 (|x| + 1/2) / n <= 4 / 16n`, the difference by at most `2^-53 (|v| + 1/2) <= 3 / 16n`;
/// the rest leaves ample room for second-order terms.
struct Fraction {
    n: f64,
    inverse: f64,
}

/// Floats from here to `2^51` above and below are the integers, and lie as close in bits as in value.
const CENTER: f64 = (3u64 << 51) as f64;

impl Fraction {
    #[inline(always)]
    fn new(divisor: &Divisor) -> Fraction {
        let n = divisor.n as f64;
        Fraction { n, inverse: 1.0 / n }
    }

    /// `CENTER + (x floordiv n)`, for `x` as a float.
    #[inline(always)]
    fn quotient(&self, x: f64) -> f64 {
        ((x + 0.5) * self.inverse - 0.5) + CENTER
    }

    #[inline(always)]
    fn floor_div(&self, x: i64) -> i64 {
        integer(self.quotient(float(x)))
    }

    #[inline(always)]
    fn floor_mod(&self, x: i64) -> i64 {
        let x = float(x);
        // Each of these numbers is an integer of less than 53 bits.
        integer(x - (self.quotient(x) - CENTER) * self.n + CENTER)
    }
}

/// A number of at most 51 bits as a float.
#[inline(always)]
fn float(x: i64) -> f64 {
    f64::from_bits(CENTER.to_bits().wrapping_add(x as u64)) - CENTER
}

/// `x - CENTER`.
#[inline(always)]
fn integer(x: f64) -> i64 {
    x.to_bits().wrapping_sub(CENTER.to_bits()) as i64
}

/// Wrapping 64-bit integers. If the exact result of an operation fits, it is right, even if a partial sum wrapped.
impl Lane for i64 {
    #[inline(always)]
    fn narrow(x: i64) -> i64 {
        x
    }

    #[inline(always)]
    fn wide(self) -> i64 {
        self
    }

    divide_by_multiplying!(i64, Inverse64, Fraction);
}

/// Wrapping 32-bit integers.
impl Lane for i32 {
    #[inline(always)]
    fn narrow(x: i64) -> i32 {
        x as i32
    }

    #[inline(always)]
    fn wide(self) -> i64 {
        i64::from(self)
    }

    divide_by_multiplying!(i32, Inverse32);
}

macro_rules! wrapping_number {
    ($lane:ty) => {
        impl Number for $lane {
            #[inline(always)]
            fn constant(c: i64) -> $lane {
                c as $lane
            }

            #[inline(always)]
            fn add_scaled(self, k: i64, x: $lane) -> $lane {
                self.wrapping_add((k as $lane).wrapping_mul(x))
            }

            #[inline(always)]
            fn times(self, other: $lane) -> $lane {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn floor_div(self, divisor: $lane) -> $lane {
                self.div_euclid(divisor.max(1))
            }

            #[inline(always)]
            fn floor_mod(self, divisor: $lane) -> $lane {
                self.rem_euclid(divisor.max(1))
            }

            #[inline(always)]
            fn minimum(self, other: $lane) -> $lane {
                self.min(other)
            }

            #[inline(always)]
            fn maximum(self, other: $lane) -> $lane {
                self.max(other)
            }
        }
    };
}

wrapping_number!(i32);
wrapping_number!(i64);

#[cfg(test)]
mod tests {
    use super::*;

    /// Divisors where the multiplier or the shift change, and numbers where a quotient does.
    fn corners(limit: i64) -> Vec<i64> {
        let powers = (0..63).map(|k| 1i64 << k).flat_map(|p| [p - 1, p, p + 1]);
        let mut out: Vec<i64> = powers.chain([3, 7, 10, 641, 1_000_003, 6_700_417, i64::MAX - 1, i64::MAX]).collect();
        out.retain(|n| (1..=limit).contains(n));
        out
    }

    /// Divides numbers from `lowest` to `highest` by divisors up to `largest`.
    fn check<L: Lane>(lowest: i64, highest: i64, largest: i64) {
        for n in corners(largest) {
            let near_multiples = [1, 2, highest / n / 2, highest / n]
                .into_iter()
                .filter_map(|q| q.checked_mul(n))
                .flat_map(|m| [m - 1, m]);
            let mut x: Vec<i64> =
                near_multiples.filter(|x| (0..=highest).contains(x)).chain(corners(highest)).collect();
            x.push(0);
            for is_signed in [false, true] {
                if is_signed {
                    let negative: Vec<i64> = x.iter().map(|x| (-1 - x).max(lowest)).collect();
                    x.extend(negative);
                    x.extend([lowest, lowest + 1]);
                }
                let lanes: Vec<L> = x.iter().map(|x| L::narrow(*x)).collect();
                let divisor = Divisor::new(n, Interval::new(if is_signed { lowest } else { 0 }, highest));
                for few in [1, lanes.len()] {
                    let mut out = vec![L::default(); lanes.len()];
                    let blocks = |out: &mut [L], f: fn(&Divisor, &[L], &mut [L])| {
                        lanes.chunks(few).zip(out.chunks_mut(few)).for_each(|(x, out)| f(&divisor, x, out));
                    };
                    blocks(&mut out, L::div_all);
                    for (x, q) in x.iter().zip(&out) {
                        assert_eq!(q.wide(), x.div_euclid(n), "{x} floordiv {n}");
                    }
                    blocks(&mut out, L::mod_all);
                    for (x, r) in x.iter().zip(&out) {
                        assert_eq!(r.wide(), x.rem_euclid(n), "{x} mod {n}");
                    }
                }
            }
        }
    }

    #[test]
    fn lanes_divide_as_integers_do() {
        check::<i32>(i32::MIN.into(), i32::MAX.into(), i32::MAX.into());
        check::<i64>(i64::MIN, i64::MAX, i64::MAX);
        check::<i64>(1 - SHORT, SHORT - 1, SHORT);
        check::<i64>(-SHORT, SHORT, SHORT + 1);
    }
}
