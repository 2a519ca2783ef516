//! Quotients of one quotient: what a look at its interval decides.
//!
//! `nested` is the law of the same name in [`crate::rules::div`], where none before it applies.

use crate::affine::context::AffineContext;
use crate::affine::form::{AffineForm, AffineTerm};
use crate::analysis::interval::Interval;
use crate::rules::div::{affine, fits, quotient_of, sum};

/// `(x floordiv m + c) floordiv n = (x + m*c) floordiv (m*n)`: the numerator and the divisor.
pub fn nested(cx: &mut AffineContext, form: &AffineForm, n: i64) -> Option<(AffineForm, i64)> {
    let [AffineTerm { coefficient: 1, atom }] = form.terms[..] else { return None };
    let (inner, m) = cx.as_div(atom)?;
    let (c, interval) = (form.constant, cx.atom_range(atom));
    if cx.has_facts() || !(0..n).contains(&c) || affine(1, c, n, interval).is_some() {
        return None;
    }
    let shifted = sum(Interval::point(c), 1, interval)?;
    if quotient_of(shifted, n).is_some() {
        return None;
    }
    let divisor = m.checked_mul(n)?;
    let mut numerator = inner.clone();
    numerator.constant = numerator.constant.checked_add(m.checked_mul(c)?)?;
    if !fits(cx, &numerator) {
        return None;
    }
    cx.spend(form.terms.len()).ok()?;
    Some((numerator, divisor))
}
