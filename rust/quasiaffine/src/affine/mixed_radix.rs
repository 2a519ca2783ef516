//! The parts of a result: summands whose strides do not overlap, so that the result determines each of them.
//!
//! `r = base + s1*v1 + s2*v2 + …` with `0 <= vi` and each stride larger than what the smaller ones reach together is a
//! mixed-radix number; its digits are the `vi`. [`crate::decide::count`] uses this to see that a map is injective,
//! [`crate::decide::inverse`] to write the map back.

use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::affine::form::AffineForm;
use crate::affine::summands::summands;

/// One digit of a result: `unit = offset + sign * v` with `v` in `[0, width]`, counted in steps of `stride`.
pub struct MixedRadixDigit {
    /// The unit without a factor: a variable, a quotient or a remainder `x - n * (x floordiv n)`.
    pub unit: AffineForm,
    /// The factor of the unit in the result, without its sign.
    pub stride: i64,
    /// Whether the factor is negative.
    pub negative: bool,
    /// The smallest value of the unit.
    pub lower: i64,
    /// The largest value of the unit.
    pub upper: i64,
}

/// The parts of a form in ascending order of stride, where they do not overlap.
pub fn mixed_radix_digits(cx: &mut AffineContext, form: &AffineForm) -> Option<SmallVec<[MixedRadixDigit; 4]>> {
    let mut parts: SmallVec<[MixedRadixDigit; 4]> = SmallVec::new();
    for summand in summands(cx, form) {
        let mut unit = summand.form(cx);
        let stride = unit.content();
        unit.terms.iter_mut().for_each(|t| t.coefficient /= stride);
        // The first coefficient of a remainder is that of its numerator, so that its sign is the sign of the part.
        let negative = unit.terms.first()?.coefficient < 0;
        if negative {
            unit = unit.scaled(-1).ok()?;
        }
        let interval = cx.range_of(&unit)?;
        parts.push(MixedRadixDigit { unit, stride, negative, lower: interval.lo, upper: interval.hi });
    }
    parts.sort_by_key(|p| p.stride);
    let mut span = 0i128;
    for p in &parts {
        if i128::from(p.stride) <= span {
            return None;
        }
        span = span.checked_add(i128::from(p.stride) * (i128::from(p.upper) - i128::from(p.lower)))?;
    }
    Some(parts)
}
