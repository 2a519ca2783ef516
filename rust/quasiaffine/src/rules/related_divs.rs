//! Laws between the divs of one form: a div that the others can express is removed.
//!
//! Of two divs: `x floordiv n` and `y floordiv n` if `x - y` or `x + y + 1` is a multiple of `n`; a quotient of a
//! remainder, which is a quotient of the whole value minus a multiple. Of any number: a constraint with a single value.

use crate::limits::{ALTERNATIVES, VALUES};
use smallvec::SmallVec;

use super::{residues, Rule};
use crate::affine::context::AffineContext;
use crate::affine::facts::Fact;
use crate::affine::form::{AffineForm, AtomId};
use crate::affine::summands::{summands, Summand};
use crate::error::Stop;
use crate::int;
use crate::span::Interval;

/// Replaces divs by others of the form as long as that lowers the number of divs, or of divs that contain divs.
pub fn merge(cx: &mut AffineContext, form: &mut AffineForm) -> Result<(), Stop> {
    loop {
        let divs: SmallVec<[AtomId; 8]> =
            form.terms.iter().map(|t| t.atom).filter(|a| cx.as_div(*a).is_some()).collect();
        if divs.is_empty() || (divs.len() < 2 && !cx.has_equalities() && cx.residues.is_empty()) {
            return Ok(());
        }
        if let Some(moved) = residues::moved(cx, form)? {
            cx.notes.introduces_divs = true;
            cx.fired_on(Rule::ResidueQuotient, form, &moved);
            *form = moved;
            continue;
        }
        // If either of two divs could be removed, the larger or containing one is.
        let mut divs = cx.in_order(divs);
        divs.reverse();
        divs.truncate(ALTERNATIVES);
        cx.spend(divs.len() * (divs.len() + cx.equalities.len()))?;
        let size = |cx: &AffineContext, f: &AffineForm| (n_divs(cx, f), n_nested(cx, f));
        let given = size(cx, form);
        let mut best = (given, usize::MAX);
        let mut found: Option<(Rule, AffineForm)> = None;
        let mut consider = |cx: &AffineContext, rule: Rule, candidate: AffineForm| {
            let key = (size(cx, &candidate), candidate.terms.len());
            if key < best && key.0 < given && super::div::fits(cx, &candidate) {
                best = key;
                found = Some((rule, candidate));
            }
        };
        for &a in &divs {
            for &b in divs.iter().rev().filter(|b| **b != a) {
                if let Some(candidate) = without(cx, form, a, b) {
                    consider(cx, Rule::Related, candidate);
                }
            }
            for equality in &cx.equalities {
                let candidates = [by_equality(cx, form, a, equality), exact(cx, form, a, equality)];
                candidates.into_iter().flatten().for_each(|candidate| consider(cx, Rule::Equality, candidate));
            }
        }
        for &a in divs.iter().filter(|_| divs.len() > 1) {
            if let Some(candidate) = residues::coarser(cx, form, a)? {
                consider(cx, Rule::ResidueQuotient, candidate);
            }
            if let Some(candidate) = by_remainder(cx, form, a)? {
                consider(cx, Rule::RemainderDiv, candidate);
            }
        }
        match found {
            Some((rule, merged)) => {
                cx.notes.introduces_divs = true;
                cx.fired_on(rule, form, &merged);
                *form = merged;
            }
            None => return Ok(()),
        }
    }
}

fn n_divs(cx: &AffineContext, form: &AffineForm) -> usize {
    form.terms.iter().filter(|t| cx.as_div(t.atom).is_some()).count()
}

/// The number of divs whose numerators have divs.
fn n_nested(cx: &AffineContext, form: &AffineForm) -> usize {
    form.terms.iter().filter(|t| cx.as_div(t.atom).is_some_and(|(num, _)| cx.has_div(num))).count()
}

/// Forms that are 0 at every point of the domain: constraints with one value.
pub fn equalities(cx: &mut AffineContext) -> Result<Vec<AffineForm>, Stop> {
    let of_fact = |f: &Fact| Some(AffineForm { constant: f.interval.as_point()?.checked_neg()?, ..f.form.clone() });
    Ok(cx.facts.all(&mut cx.budget.meter)?.filter_map(of_fact).take(ALTERNATIVES).collect())
}

/// Whether all terms that an equality substitutes for `a` are shallower than `a`: otherwise the numerator of a quotient
/// could become a multiple of the quotient.
fn is_shallower(cx: &AffineContext, form: &AffineForm, a: AtomId, equality: &AffineForm) -> bool {
    let depth = |atom: AtomId| cx.depth(atom);
    equality.terms.iter().all(|t| form.coefficient(t.atom) != 0 || depth(t.atom) < depth(a))
}

/// `k*a + x = x - (k/c)*y` where `c*a + y = 0` over the domain
fn by_equality(cx: &AffineContext, form: &AffineForm, a: AtomId, equality: &AffineForm) -> Option<AffineForm> {
    let (k, c) = (form.coefficient(a), equality.coefficient(a));
    let factor = k.checked_div(c).filter(|_| k % c == 0)?;
    if !is_shallower(cx, form, a, equality) {
        return None;
    }
    let mut out = form.clone();
    out.add_scaled(factor.checked_neg()?, equality).ok()?;
    Some(out)
}

/// `x floordiv n = (x + f*y) / n` where `y = 0` over the domain and `n` divides `x + f*y`
fn exact(cx: &AffineContext, form: &AffineForm, a: AtomId, equality: &AffineForm) -> Option<AffineForm> {
    let (num, n) = cx.as_div(a)?;
    if !is_shallower(cx, form, a, equality) {
        return None;
    }
    let quotient = equality.terms.iter().filter(|t| t.atom != a).find_map(|t| {
        let k = num.coefficient(t.atom);
        let f = k.checked_div(t.coefficient).filter(|f| *f != 0 && k % t.coefficient == 0)?;
        let mut sum = num.clone();
        sum.add_scaled(f.checked_neg()?, equality).ok()?;
        sum.divided(n).filter(|quotient| quotient.coefficient(a) == 0)
    });
    form.replaced(a, &quotient?).ok()
}

/// `(f*(x mod n) + c) floordiv m = (k*x + s) floordiv n - k*(x floordiv n)` where that holds for each of the `n` remainders;
/// for a form that has `x floordiv n`, too
pub(crate) fn by_remainder(cx: &mut AffineContext, form: &AffineForm, a: AtomId) -> Result<Option<AffineForm>, Stop> {
    let Some(Scaled { numerator, n, k, quotient }) = scaled(cx, form, a) else { return Ok(None) };
    if !super::div::fits(cx, &numerator) {
        return Ok(None);
    }
    cx.stability.out_of_order = true;
    let mut value = cx.floor_div(numerator, n)?;
    let replaced = value.add_term(int::mul(k, -1)?, quotient).and_then(|()| form.replaced(a, &value));
    Ok(replaced.ok())
}

/// `numerator floordiv n - k*quotient`, where the numerator is `k*x + s` and the quotient is `x floordiv n`.
struct Scaled {
    numerator: AffineForm,
    n: i64,
    k: i64,
    quotient: AtomId,
}

fn scaled(cx: &AffineContext, form: &AffineForm, a: AtomId) -> Option<Scaled> {
    let (num, m) = cx.as_div(a)?;
    let [Summand::Remainder { factor, finer, modulus, quotient, .. }] = summands(cx, num)[..] else { return None };
    if form.coefficient(quotient) == 0 {
        return None;
    }
    // A numerator with divs would bring back as many as it removes.
    let (y, _) = cx.as_div(quotient).filter(|(y, _)| cx.is_plain(y))?;
    let x = finer.map_or_else(|| y.clone(), AffineForm::atom);
    // The terms of a remainder lack the constant of its value.
    let c = num.constant.checked_sub(factor.checked_mul(x.constant)?)?;
    let slope = int::floor_div(factor.checked_mul(modulus)?, m);
    let levels = levels(factor, c, m, modulus)?;
    for k in [slope, slope.checked_add(1)?] {
        if let Some(shift) = shift(&levels, k, modulus) {
            let mut numerator = x.scaled(k).ok()?;
            numerator.constant = numerator.constant.checked_add(shift)?;
            return Some(Scaled { numerator, n: modulus, k, quotient });
        }
    }
    None
}

/// A value of a quotient of `r`, and the first and the last `r` at which it has that value.
type Level = (i64, i64, i64);

/// The levels of `(f*r + c) floordiv m` for `0 <= r < n`; `None` if there are too many.
fn levels(f: i64, c: i64, m: i64, n: i64) -> Option<SmallVec<[Level; 8]>> {
    let value = |r: i64| Some(int::floor_div(f.checked_mul(r)?.checked_add(c)?, m));
    let (start, end) = (value(0)?, value(n - 1)?);
    let (low, high) = (start.min(end), start.max(end));
    if high.checked_sub(low)? >= VALUES as i64 {
        return None;
    }
    let mut out = SmallVec::new();
    for v in low..=high {
        // `v*m <= f*r + c < (v + 1)*m`
        let (least, most) = (v.checked_mul(m)?.checked_sub(c)?, v.checked_mul(m)?.checked_add(m - 1)?.checked_sub(c)?);
        let (least, most) = if f < 0 { (most.checked_neg()?, least.checked_neg()?) } else { (least, most) };
        let f = f.checked_abs()?;
        out.push((v, int::ceil_div(least, f).max(0), int::floor_div(most, f).min(n - 1)));
    }
    Some(out)
}

/// `s` nearest to 0 with `(k*r + s) floordiv n` on every level.
fn shift(levels: &[Level], k: i64, n: i64) -> Option<i64> {
    let mut allowed = Interval::ALL;
    for &(v, first, last) in levels.iter().filter(|(_, first, last)| first <= last) {
        for r in [first, last] {
            let least = v.checked_mul(n)?.checked_sub(k.checked_mul(r)?)?;
            allowed = allowed.intersect(Interval::new(least, least.checked_add(n - 1)?));
        }
    }
    (k != 0 && !allowed.is_empty()).then(|| 0i64.clamp(allowed.lo, allowed.hi))
}

/// The form with `a` expressed by `b`, if they are related.
fn without(cx: &AffineContext, form: &AffineForm, a: AtomId, b: AtomId) -> Option<AffineForm> {
    let ((x, n), (y, m)) = (cx.as_div(a)?, cx.as_div(b)?);
    form.replaced(a, &by_residue(x, y, n, b).filter(|_| n == m)?).ok()
}

/// `x floordiv n = y floordiv n + (x - y) / n` where `n` divides `x - y`;
/// `x floordiv n = (x + y + 1) / n - 1 - y floordiv n` where `n` divides `x + y + 1`
fn by_residue(x: &AffineForm, y: &AffineForm, n: i64, b: AtomId) -> Option<AffineForm> {
    for sign in [1i64, -1] {
        let mut sum = x.clone();
        sum.add_scaled(-sign, y).ok()?;
        if sign < 0 {
            sum.constant = sum.constant.checked_add(1)?;
        }
        if let Some(mut sum) = sum.divided(n) {
            if sign < 0 {
                sum.constant = sum.constant.checked_sub(1)?;
            }
            sum.add_term(sign, b).ok()?;
            return Some(sum);
        }
    }
    None
}
