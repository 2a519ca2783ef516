//! Quotients of sums of variables, which most quotients are: what a look at the terms decides.
//!
//! Read [`add_plain_quotient`] and [`stays`]. What they leave open goes through the laws of [`super::div`], whose results they
//! give where they decide.

use smallvec::SmallVec;

use super::div::{affine, balanced, nearest_to_0, quotient_of, sum, unbalanced, Factors};
use super::Rule;
use crate::error::Stop;
use crate::int;
use crate::linear::{Linear, LinearTerm};
use crate::range::Range;
use crate::work::Work;

/// `out += factor * (numerator floordiv n)` for a numerator of variables, where the laws of collapse and of multiples are all
/// that applies; whether that is so.
pub fn add_plain_quotient(
    work: &mut Work,
    factor: i64,
    numerator: &Linear,
    n: i64,
    out: &mut Linear,
) -> Result<bool, Stop> {
    if !work.facts.is_empty() || !work.is_plain(numerator) {
        return Ok(false);
    }
    let Some(range) = work.quick_range(numerator.constant, &numerator.terms) else { return Ok(false) };
    work.spend(numerator.terms.len())?;
    if let Some(k) = quotient_of(range, n) {
        work.fire(Rule::Collapse);
        return out.add_constant(factor, k).map(|()| true);
    }
    let mut whole = Linear::constant(int::floor_div(numerator.constant, n));
    let mut rest = Linear::constant(int::floor_mod(numerator.constant, n));
    for t in &numerator.terms {
        if t.coefficient % n == 0 {
            whole.terms.push(LinearTerm { coefficient: t.coefficient / n, atom: t.atom });
        } else {
            rest.terms.push(*t);
        }
    }
    if whole.constant == 0 && whole.terms.is_empty() {
        return Ok(false);
    }
    if !rest.terms.is_empty() {
        let Some(range) = work.quick_range(rest.constant, &rest.terms) else { return Ok(false) };
        if let Some(k) = quotient_of(range, n) {
            work.fire(Rule::Collapse);
            whole.constant = int::add(whole.constant, k)?;
        } else if let Some(range) = no_rule_applies(work, &rest, n) {
            let atom = work.intern_quotient(rest, range, n);
            whole.terms.push(LinearTerm { coefficient: 1, atom });
        } else {
            return Ok(false);
        }
    }
    work.fire(Rule::Multiples);
    out.add_scaled(factor, &whole)?;
    Ok(true)
}

/// The range of the numerator where a look at its terms shows that no rule applies.
pub fn no_rule_applies(work: &Work, numerator: &Linear, n: i64) -> Option<Range> {
    if !work.facts.is_empty() || work.has_div(numerator) {
        return None;
    }
    let range_of = |t: &LinearTerm| (t.coefficient, work.atoms[t.atom as usize].range);
    stays(numerator.constant, numerator.terms.iter().map(range_of), n)
}

/// The range of a numerator that no rule changes: variables with positive factors below the divisor, which share at most
/// one divisor with it. The terms are factors and ranges.
pub fn stays(constant: i64, terms: impl ExactSizeIterator<Item = (i64, Range)> + Clone, n: i64) -> Option<Range> {
    if !(0..n).contains(&constant) {
        return None;
    }
    let (mut common, n_terms) = (1, terms.len());
    for (k, range) in terms.clone() {
        if !(1..n).contains(&k) {
            return None;
        }
        match int::gcd(k, n)? {
            1 => {}
            g if common == 1 || common == g => common = g,
            _ => return None,
        }
        if n_terms == 1 && (common > 1 || affine(k, constant, n, range).is_some()) {
            return None;
        }
    }
    let whole = Range::point(constant);
    let (mut range, mut nearest, mut low) = (whole, whole, whole);
    for (k, of_atom) in terms.clone() {
        range = sum(range, k, of_atom)?;
        nearest = sum(nearest, nearest_to_0(k, n), of_atom)?;
        if common > 1 {
            low = sum(low, balanced(k, common), of_atom)?;
        }
    }
    let crosses = |range: Range, n: i64| int::common_quotient(range.lo, range.hi, n).is_none();
    if !crosses(range, n) || !crosses(nearest, n) || (common > 1 && !crosses(low, common)) {
        return None;
    }
    if n_terms > 1 && terms.clone().any(|(_, of_atom)| of_atom.size() == 2) {
        for g in [n, common].into_iter().filter(|g| *g > 1) {
            let (mut factors, units): (Factors, SmallVec<[Range; 8]>) =
                terms.clone().map(|(k, unit)| (balanced(k, g), unit)).unzip();
            if unbalanced(&mut factors, &units, constant, g).is_some() {
                return None;
            }
        }
    }
    Some(range)
}
