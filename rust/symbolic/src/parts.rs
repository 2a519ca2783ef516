//! The parts of a result: summands whose strides do not overlap, so that the result determines each of them.
//!
//! `r = base + s1*v1 + s2*v2 + …` with `0 <= vi` and each stride larger than what the smaller ones reach together is a
//! mixed-radix number; its digits are the `vi`. [`crate::count`] uses this to see that a map is injective,
//! [`crate::inverse`] to write the map back.

use smallvec::SmallVec;

use crate::linear::Linear;
use crate::summand::summands;
use crate::work::Work;

/// One digit of a result: `unit = offset + sign * v` with `v` in `[0, width]`, counted in steps of `stride`.
pub struct Part {
    /// The unit without a factor: a variable, a quotient or a remainder `x - n * (x floordiv n)`.
    pub unit: Linear,
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
pub fn separate(work: &mut Work, form: &Linear) -> Option<SmallVec<[Part; 4]>> {
    let mut parts: SmallVec<[Part; 4]> = SmallVec::new();
    for summand in summands(work, form) {
        let mut unit = summand.form(work);
        let stride = unit.content();
        unit.terms.iter_mut().for_each(|t| t.coefficient /= stride);
        // The first coefficient of a remainder is that of its numerator, so that its sign is the sign of the part.
        let negative = unit.terms.first()?.coefficient < 0;
        if negative {
            unit = unit.scaled(-1).ok()?;
        }
        let range = work.range_of(&unit)?;
        parts.push(Part { unit, stride, negative, lower: range.lo, upper: range.hi });
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
