//! The value of an operation, for every kind of number.
//!
//! Evaluation is the same everywhere (at one point with checks, at blocks of points in wrapping lanes, in 128 bits, at
//! a few sample points, over intervals) but for the numbers, so an operation is defined here once and each kind of
//! number once. `int.rs` defines division and remainder of two integers.
//!
//! Divisors are at least 1 wherever a value counts; division by any other divisor gives an arbitrary value and never
//! panics.

use crate::int::{floor_div, floor_mod};

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    /// The product.
    Product,
    /// Floor division.
    FloorDiv,
    /// The remainder of floor division.
    Mod,
    /// The smaller of two.
    Min,
    /// The larger of two.
    Max,
}

/// A kind of number: integers with or without a limit, several at once, or all integers of an interval.
pub(crate) trait Number: Copy {
    /// A constant.
    fn constant(c: i64) -> Self;
    /// `self + k * x`.
    fn add_scaled(self, k: i64, x: Self) -> Self;
    /// `self * other`.
    fn times(self, other: Self) -> Self;
    /// `self floordiv divisor`.
    fn floor_div(self, divisor: Self) -> Self;
    /// `self mod divisor`.
    fn floor_mod(self, divisor: Self) -> Self;
    /// The smaller one.
    fn minimum(self, other: Self) -> Self;
    /// The larger one.
    fn maximum(self, other: Self) -> Self;
}

/// A constant and multiples of numbers.
#[inline(always)]
pub(crate) fn sum<N: Number>(constant: i64, terms: impl IntoIterator<Item = (i64, N)>) -> N {
    terms.into_iter().fold(N::constant(constant), |sum, (k, x)| sum.add_scaled(k, x))
}

/// The value of an operation on two numbers.
#[inline(always)]
pub(crate) fn binary<N: Number>(op: Binary, a: N, b: N) -> N {
    match op {
        Binary::Product => a.times(b),
        Binary::FloorDiv => a.floor_div(b),
        Binary::Mod => a.floor_mod(b),
        Binary::Min => a.minimum(b),
        Binary::Max => a.maximum(b),
    }
}

/// Checked 64-bit integers: `None` if an intermediate value does not fit, or a divisor is below 1.
impl Number for Option<i64> {
    #[inline(always)]
    fn constant(c: i64) -> Option<i64> {
        Some(c)
    }

    #[inline(always)]
    fn add_scaled(self, k: i64, x: Option<i64>) -> Option<i64> {
        self?.checked_add(k.checked_mul(x?)?)
    }

    #[inline(always)]
    fn times(self, other: Option<i64>) -> Option<i64> {
        self?.checked_mul(other?)
    }

    #[inline(always)]
    fn floor_div(self, divisor: Option<i64>) -> Option<i64> {
        Some(floor_div(self?, divisor.filter(|n| *n >= 1)?))
    }

    #[inline(always)]
    fn floor_mod(self, divisor: Option<i64>) -> Option<i64> {
        Some(floor_mod(self?, divisor.filter(|n| *n >= 1)?))
    }

    #[inline(always)]
    fn minimum(self, other: Option<i64>) -> Option<i64> {
        Some(self?.min(other?))
    }

    #[inline(always)]
    fn maximum(self, other: Option<i64>) -> Option<i64> {
        Some(self?.max(other?))
    }
}

/// Several 64-bit integers at once; `None` if one of them is.
impl<const N: usize> Number for Option<[i64; N]> {
    #[inline(always)]
    fn constant(c: i64) -> Option<[i64; N]> {
        Some([c; N])
    }

    #[inline(always)]
    fn add_scaled(self, k: i64, x: Option<[i64; N]>) -> Option<[i64; N]> {
        pointwise(self?, x?, |sum, x| Some(sum).add_scaled(k, Some(x)))
    }

    #[inline(always)]
    fn times(self, other: Option<[i64; N]>) -> Option<[i64; N]> {
        pointwise(self?, other?, |a, b| Some(a).times(Some(b)))
    }

    #[inline(always)]
    fn floor_div(self, divisor: Option<[i64; N]>) -> Option<[i64; N]> {
        pointwise(self?, divisor?, |a, b| Number::floor_div(Some(a), Some(b)))
    }

    #[inline(always)]
    fn floor_mod(self, divisor: Option<[i64; N]>) -> Option<[i64; N]> {
        pointwise(self?, divisor?, |a, b| Number::floor_mod(Some(a), Some(b)))
    }

    #[inline(always)]
    fn minimum(self, other: Option<[i64; N]>) -> Option<[i64; N]> {
        pointwise(self?, other?, |a, b| Some(a.min(b)))
    }

    #[inline(always)]
    fn maximum(self, other: Option<[i64; N]>) -> Option<[i64; N]> {
        pointwise(self?, other?, |a, b| Some(a.max(b)))
    }
}

#[inline(always)]
fn pointwise<const N: usize>(a: [i64; N], b: [i64; N], f: impl Fn(i64, i64) -> Option<i64>) -> Option<[i64; N]> {
    let mut out = [0; N];
    for (x, (a, b)) in out.iter_mut().zip(a.into_iter().zip(b)) {
        *x = f(a, b)?;
    }
    Some(out)
}
