//! Integers of one width in a block of values, and division of a whole block by a constant.
//!
//! Read [`Lane`]. A 32-bit block divides by a multiplication and a shift: for `0 <= x < 2^31` and
//! `m = floor(2^(31 + l) / n) + 1` with `2^l >= n`, `x floordiv n = (x * m) >> (31 + l)` (Granlund and Montgomery,
//! "Division by invariant integers using multiplication", 1994). Negative values are first moved up by a multiple of
//! the divisor.

use crate::analysis::interval::Interval;

/// An integer of a fixed width. Arithmetic wraps.
pub trait Lane: Copy + Default + Ord {
    /// The low bits of a 64-bit value.
    fn narrow(x: i64) -> Self;
    /// The value in 64 bits.
    fn wide(self) -> i64;
    /// The wrapping sum.
    fn add(self, other: Self) -> Self;
    /// The wrapping product.
    fn mul(self, other: Self) -> Self;
    /// Floor division, by 1 where the divisor is not positive.
    fn div(self, other: Self) -> Self;
    /// The remainder of [`Lane::div`].
    fn rem(self, other: Self) -> Self;
    /// `x floordiv n` for a block.
    fn div_all(divisor: &Divisor, x: &[Self], out: &mut [Self]);
    /// `x mod n` for a block.
    fn mod_all(divisor: &Divisor, x: &[Self], out: &mut [Self]);
}

/// A constant divisor with what is needed to multiply by its inverse.
#[derive(Clone, Copy)]
pub struct Divisor {
    n: i64,
    /// For powers of two: the exponent.
    shift: Option<u32>,
    /// The multiplier; 0 where 32-bit lanes cannot divide. It has 32 bits, since `2^l < 2n` where `n` is no power of two.
    magic: u32,
    magic_shift: u32,
    /// A multiple of `n` that makes every value of the numerator non-negative, and how often `n` is in it.
    up: i32,
    up_quotient: i32,
}

impl Divisor {
    /// Whether 32-bit lanes can divide by it.
    pub fn is_narrow(&self) -> bool {
        self.magic != 0
    }

    /// The number.
    pub fn n(&self) -> i64 {
        self.n
    }

    /// The divisor `n >= 1` of a numerator with values in `interval`.
    pub fn new(n: i64, interval: Interval) -> Divisor {
        let shift = (n & (n - 1) == 0).then(|| n.trailing_zeros());
        let l = 64 - (n - 1).leading_zeros();
        // Only divisors and numerators that stay below 2^31 when moved up are multiplied by an inverse.
        let up_quotient = if interval.lo < 0 { interval.lo.unsigned_abs().div_ceil(n as u64) } else { 0 };
        let highest = i128::from(interval.hi) + i128::from(up_quotient) * i128::from(n);
        let fits = n < 1 << 30 && highest < 1 << 31 && interval.lo >= -(1 << 31);
        let magic = if fits && shift.is_none() { ((1u64 << (31 + l)) / n as u64) + 1 } else { u64::from(fits) };
        let up_quotient = if fits { up_quotient as i64 } else { 0 };
        let up = up_quotient * n;
        Divisor { n, shift, magic: magic as u32, magic_shift: 31 + l, up: up as i32, up_quotient: up_quotient as i32 }
    }
}

impl Lane for i64 {
    fn narrow(x: i64) -> i64 {
        x
    }

    fn wide(self) -> i64 {
        self
    }

    fn add(self, other: i64) -> i64 {
        self.wrapping_add(other)
    }

    fn mul(self, other: i64) -> i64 {
        self.wrapping_mul(other)
    }

    fn div(self, other: i64) -> i64 {
        self.div_euclid(other.max(1))
    }

    fn rem(self, other: i64) -> i64 {
        self.rem_euclid(other.max(1))
    }

    #[inline(always)]
    fn div_all(divisor: &Divisor, x: &[i64], out: &mut [i64]) {
        let n = divisor.n;
        match divisor.shift {
            Some(shift) => out.iter_mut().zip(x).for_each(|(o, x)| *o = x >> shift),
            None => out.iter_mut().zip(x).for_each(|(o, x)| *o = x.div_euclid(n)),
        }
    }

    #[inline(always)]
    fn mod_all(divisor: &Divisor, x: &[i64], out: &mut [i64]) {
        let n = divisor.n;
        match divisor.shift {
            Some(_) => out.iter_mut().zip(x).for_each(|(o, x)| *o = x & (n - 1)),
            None => out.iter_mut().zip(x).for_each(|(o, x)| *o = x.rem_euclid(n)),
        }
    }
}

impl Lane for i32 {
    fn narrow(x: i64) -> i32 {
        x as i32
    }

    fn wide(self) -> i64 {
        i64::from(self)
    }

    fn add(self, other: i32) -> i32 {
        self.wrapping_add(other)
    }

    fn mul(self, other: i32) -> i32 {
        self.wrapping_mul(other)
    }

    fn div(self, other: i32) -> i32 {
        self.div_euclid(other.max(1))
    }

    fn rem(self, other: i32) -> i32 {
        self.rem_euclid(other.max(1))
    }

    #[inline(always)]
    fn div_all(divisor: &Divisor, x: &[i32], out: &mut [i32]) {
        let Divisor { magic, magic_shift, up, up_quotient, .. } = *divisor;
        match divisor.shift {
            Some(shift) => out.iter_mut().zip(x).for_each(|(o, x)| *o = x >> shift.min(31)),
            None => out.iter_mut().zip(x).for_each(|(o, x)| {
                let positive = u64::from(x.wrapping_add(up) as u32);
                *o = (((positive * u64::from(magic)) >> magic_shift) as i32).wrapping_sub(up_quotient);
            }),
        }
    }

    #[inline(always)]
    fn mod_all(divisor: &Divisor, x: &[i32], out: &mut [i32]) {
        let Divisor { n, magic, magic_shift, up, .. } = *divisor;
        let n = n as i32;
        match divisor.shift {
            Some(_) => out.iter_mut().zip(x).for_each(|(o, x)| *o = x & n.wrapping_sub(1)),
            None => out.iter_mut().zip(x).for_each(|(o, x)| {
                let positive = x.wrapping_add(up);
                let quotient = ((u64::from(positive as u32) * u64::from(magic)) >> magic_shift) as i32;
                *o = positive.wrapping_sub(quotient.wrapping_mul(n));
            }),
        }
    }
}
