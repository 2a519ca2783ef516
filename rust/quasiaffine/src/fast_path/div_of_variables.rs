//! Quotients of sums of variables, which most divs are: what a look at the terms decides.
//!
//! What they leave open goes through the laws of [`super::div`], whose results they give where they decide.

use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::affine::form::{AffineForm, AffineTerm};
use crate::analysis::interval::Interval;
use crate::error::Stop;
use crate::int;
use crate::rules::div::{affine, balanced, nearest_to_0, quotient_of, sum, unbalanced, Factors};

/// `out += factor * (numerator floordiv n)` for a numerator of variables, where the laws of collapse and of multiples are all
/// that applies; whether that is so.
pub fn add_div_of_variables(
    cx: &mut AffineContext,
    factor: i64,
    numerator: &AffineForm,
    n: i64,
    out: &mut AffineForm,
) -> Result<bool, Stop> {
    if cx.has_facts() || !cx.is_plain(numerator) {
        return Ok(false);
    }
    let Some(interval) = cx.quick_range(numerator.constant, &numerator.terms) else { return Ok(false) };
    cx.spend(numerator.terms.len())?;
    if let Some(k) = quotient_of(interval, n) {
        return out.add_constant(factor, k).map(|()| true);
    }
    let mut whole = AffineForm::constant(int::floor_div(numerator.constant, n));
    let mut rest = AffineForm::constant(int::floor_mod(numerator.constant, n));
    for t in &numerator.terms {
        if t.coefficient % n == 0 {
            whole.terms.push(AffineTerm { coefficient: t.coefficient / n, atom: t.atom });
        } else {
            rest.terms.push(*t);
        }
    }
    if whole.constant == 0 && whole.terms.is_empty() {
        return Ok(false);
    }
    if !rest.terms.is_empty() {
        let Some(interval) = cx.quick_range(rest.constant, &rest.terms) else { return Ok(false) };
        if let Some(k) = quotient_of(interval, n) {
            whole.constant = int::add(whole.constant, k)?;
        } else if let Some(interval) = no_rule_applies(cx, &rest, n) {
            let atom = cx.intern_div(rest, interval, n);
            whole.terms.push(AffineTerm { coefficient: 1, atom });
        } else {
            return Ok(false);
        }
    }
    out.add_scaled(factor, &whole)?;
    Ok(true)
}

/// The interval of the numerator where a look at its terms shows that no rule applies.
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
