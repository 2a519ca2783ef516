//! A shortcut for quotients of sums of variables, the most common divs: their terms often show that no law applies.

use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::affine::form::{AffineForm, AffineTerm};
use crate::int;
use crate::rules::div::{affine, balanced, nearest_to_0, sum, unbalanced, Factors};
use crate::span::Interval;

/// The interval of the numerator, if its terms show that no rule applies.
pub fn no_rule_applies(cx: &AffineContext, numerator: &AffineForm, n: i64) -> Option<Interval> {
    if cx.has_facts() || cx.has_div(numerator) {
        return None;
    }
    let range_of = |t: &AffineTerm| (t.coefficient, cx.atom_range(t.atom));
    stays(numerator.constant, numerator.terms.iter().map(range_of), n)
}

/// The interval of a numerator that no rule changes: variables with positive factors below the divisor, which share at most
/// one divisor with it. The terms are factors and ranges.
pub fn stays(constant: i64, terms: impl ExactSizeIterator<Item = (i64, Interval)> + Clone, n: i64) -> Option<Interval> {
    if !(0..n).contains(&constant) {
        return None;
    }
    let (mut common, n_terms) = (1, terms.len());
    for (k, interval) in terms.clone() {
        if !(1..n).contains(&k) {
            return None;
        }
        match int::gcd(k, n)? {
            1 => {}
            g if common == 1 || common == g => common = g,
            _ => return None,
        }
        if n_terms == 1 && (common > 1 || affine(k, constant, n, interval).is_some()) {
            return None;
        }
    }
    let whole = Interval::point(constant);
    let (mut interval, mut nearest, mut low) = (whole, whole, whole);
    for (k, of_atom) in terms.clone() {
        interval = sum(interval, k, of_atom)?;
        nearest = sum(nearest, nearest_to_0(k, n), of_atom)?;
        if common > 1 {
            low = sum(low, balanced(k, common), of_atom)?;
        }
    }
    let crosses = |interval: Interval, n: i64| int::common_quotient(interval.lo, interval.hi, n).is_none();
    if !crosses(interval, n) || !crosses(nearest, n) || (common > 1 && !crosses(low, common)) {
        return None;
    }
    if n_terms > 1 && terms.clone().any(|(_, of_atom)| of_atom.size() == 2) {
        for g in [n, common].into_iter().filter(|g| *g > 1) {
            let (mut factors, units): (Factors, SmallVec<[Interval; 8]>) =
                terms.clone().map(|(k, unit)| (balanced(k, g), unit)).unzip();
            if unbalanced(&mut factors, &units, constant, g).is_some() {
                return None;
            }
        }
    }
    Some(interval)
}
