//! Laws between the quotients of one form: where one can be written by the others, it goes.
//!
//! Read [`merge`]. Of two quotients: `x floordiv n` and `y floordiv n` where `x - y` or `x + y + 1` is a multiple of `n`;
//! two of one value with few values, by any relation that holds at each of them; and one of a remainder that steps once.
//! Of any number of them: what a constraint with a single value says.

use smallvec::SmallVec;

use super::Rule;
use crate::error::Stop;
use crate::int;
use crate::linear::{AtomId, Fact, Linear, LinearTerm, Work};
use crate::range::Range;
use crate::summand::{summands, Summand};

/// Replaces quotients by others of the form as long as their number falls, or that of those which contain others.
pub fn merge(work: &mut Work, form: &mut Linear) -> Result<(), Stop> {
    loop {
        let quotients: SmallVec<[AtomId; 8]> =
            form.terms.iter().map(|t| t.atom).filter(|a| work.as_div(*a).is_some()).take(MAX_QUOTIENTS).collect();
        if quotients.len() < 2 && work.equalities.is_empty() {
            return Ok(());
        }
        work.spend(quotients.len() * quotients.len())?;
        let size = |work: &Work, f: &Linear| (n_quotients(work, f), n_nested(work, f));
        let mut best = (size(work, form), usize::MAX);
        let mut found: Option<(Rule, Linear)> = None;
        let mut consider = |work: &Work, rule: Rule, candidate: Linear| {
            let key = (size(work, &candidate), candidate.terms.len());
            if key < best && key.0 < size(work, form) && super::div::fits(work, &candidate) {
                best = key;
                found = Some((rule, candidate));
            }
        };
        for &a in &quotients {
            for &b in quotients.iter().filter(|b| **b != a) {
                if let Some(candidate) = without(work, form, a, b) {
                    consider(work, Rule::Related, candidate);
                }
            }
            for equality in &work.equalities {
                if let Some(candidate) = by_equality(work, form, a, equality) {
                    consider(work, Rule::Equality, candidate);
                }
            }
        }
        for &a in quotients.iter().filter(|_| quotients.len() > 1) {
            if let Some(candidate) = by_step(work, form, a)? {
                consider(work, Rule::Step, candidate);
            }
        }
        match found {
            Some((rule, merged)) => {
                work.fire(rule);
                *form = merged;
            }
            None => return Ok(()),
        }
    }
}

/// The most quotients of a form that are held against each other.
const MAX_QUOTIENTS: usize = 8;

/// The most constraints with one value that are used.
const MAX_EQUALITIES: usize = 16;

fn n_quotients(work: &Work, form: &Linear) -> usize {
    form.terms.iter().filter(|t| work.as_div(t.atom).is_some()).count()
}

/// The quotients whose numerators have quotients.
fn n_nested(work: &Work, form: &Linear) -> usize {
    form.terms.iter().filter(|t| work.as_div(t.atom).is_some_and(|(num, _)| work.has_div(num))).count()
}

/// Forms that are 0 at every point of the domain: constraints with one value, and what is left of them where one
/// quotient of each is eliminated from the others.
pub fn equalities(work: &Work) -> Vec<Linear> {
    let of_fact = |f: &Fact| {
        let mut form = f.form.clone();
        form.constant = f.range.as_point()?.checked_neg()?;
        Some(form)
    };
    let given: Vec<Linear> = work.facts.iter().filter_map(of_fact).take(MAX_EQUALITIES).collect();
    let mut reduced = given.clone();
    for i in 0..reduced.len() {
        let row = reduced[i].clone();
        let unit = |t: &&LinearTerm| t.coefficient.unsigned_abs() == 1 && work.as_div(t.atom).is_some();
        let Some(pivot) = row.terms.iter().find(unit).copied() else { continue };
        for other in reduced.iter_mut().filter(|other| **other != row) {
            let factor = other.coefficient(pivot.atom).checked_mul(-pivot.coefficient);
            let mut left = other.clone();
            if factor.is_some_and(|factor| left.add_scaled(factor, &row).is_ok()) && !left.terms.is_empty() {
                *other = left;
            }
        }
    }
    reduced.retain(|form| !given.contains(form));
    given.into_iter().chain(reduced).collect()
}

/// `k*a + x = x - (k/c)*y` where `c*a + y = 0` over the domain
///
/// What comes in must be shallower than what goes, or the numerator of a quotient could become a multiple of it.
fn by_equality(work: &Work, form: &Linear, a: AtomId, equality: &Linear) -> Option<Linear> {
    let (k, c) = (form.coefficient(a), equality.coefficient(a));
    let factor = k.checked_div(c).filter(|_| k % c == 0)?;
    let depth = |atom: AtomId| work.atoms[atom as usize].depth;
    let stays = |t: &LinearTerm| form.coefficient(t.atom) != 0 || depth(t.atom) < depth(a);
    if !equality.terms.iter().all(stays) {
        return None;
    }
    let mut out = form.clone();
    out.add_scaled(factor.checked_neg()?, equality).ok()?;
    Some(out)
}

/// `(f*(y mod n) + c) floordiv m = v + ((y + n - t) floordiv n - y floordiv n)` where the left side is `v` below
/// `y mod n = t` and `v + 1` from there on, or the same falling; for a form that has `y floordiv n`, too
fn by_step(work: &mut Work, form: &Linear, a: AtomId) -> Result<Option<Linear>, Stop> {
    let Some(step) = step(work, form, a) else { return Ok(None) };
    let Some((y, n)) = work.as_div(step.quotient) else { return Ok(None) };
    let (mut y, k) = (y.clone(), form.coefficient(a));
    let Some(constant) = y.constant.checked_add(step.shift) else { return Ok(None) };
    y.constant = constant;
    work.reading.out_of_order = true;
    let raised = work.floor_div(y, n)?;
    let mut out = form.clone();
    let replaced = |out: &mut Linear| {
        let k_step = int::mul(k, step.sign)?;
        out.add_term(int::mul(k, -1)?, a)?;
        out.add_constant(k, step.first)?;
        out.add_scaled(k_step, &raised)?;
        out.add_term(int::mul(k_step, -1)?, step.quotient)
    };
    Ok(replaced(&mut out).ok().map(|()| out))
}

/// `first + sign * ((y + shift) floordiv n - quotient)`, where the quotient is `y floordiv n`.
struct Step {
    first: i64,
    sign: i64,
    shift: i64,
    quotient: AtomId,
}

fn step(work: &Work, form: &Linear, a: AtomId) -> Option<Step> {
    let (num, m) = work.as_div(a)?;
    let [Summand::Remainder { factor, finer, modulus, quotient, .. }] = summands(work, num)[..] else { return None };
    if form.coefficient(quotient) == 0 {
        return None;
    }
    // A step of what has quotients itself would bring back as many as it takes away.
    let (y, n) = work.as_div(quotient).filter(|(y, _)| work.is_plain(y))?;
    // The terms of a remainder stand without the constant of what it is a remainder of.
    let of_y = if finer.is_some() { 0 } else { y.constant };
    let c = num.constant.checked_sub(factor.checked_mul(of_y)?)?;
    let value = |r: i64| Some(int::floor_div(factor.checked_mul(r)?.checked_add(c)?, m));
    let (first, last) = (value(0)?, value(modulus - 1)?);
    let sign = last.checked_sub(first)?;
    // The first remainder past the step: `f*t + c >= (v + 1)*m`, or `f*t + c < v*m`.
    let at = match sign {
        1 => int::ceil_div(last.checked_mul(m)?.checked_sub(c)?, factor),
        -1 => int::ceil_div(c.checked_sub(first.checked_mul(m)?)?.checked_add(1)?, factor.checked_neg()?),
        _ => return None,
    };
    Some(Step { first, sign, shift: (n / modulus).checked_mul(modulus - at)?, quotient })
}

/// The form with `a` written by `b`, where they are related.
fn without(work: &Work, form: &Linear, a: AtomId, b: AtomId) -> Option<Linear> {
    let ((x, n), (y, m)) = (work.as_div(a)?, work.as_div(b)?);
    let value = if n == m { by_residue(x, y, n, b) } else { None };
    let value = value.or_else(|| by_values(work, (x, n), (y, m), b))?;
    let mut out = form.clone();
    let coefficient = form.coefficient(a);
    out.add_term(coefficient.checked_neg()?, a).ok()?;
    out.add_scaled(coefficient, &value).ok()?;
    Some(out)
}

/// `x floordiv n = y floordiv n + (x - y) / n` where `n` divides `x - y`;
/// `x floordiv n = (x + y + 1) / n - 1 - y floordiv n` where `n` divides `x + y + 1`
fn by_residue(x: &Linear, y: &Linear, n: i64, b: AtomId) -> Option<Linear> {
    for sign in [1i64, -1] {
        let mut sum = x.clone();
        sum.add_scaled(-sign, y).ok()?;
        if sign < 0 {
            sum.constant = sum.constant.checked_add(1)?;
        }
        if sum.constant % n == 0 && sum.terms.iter().all(|t| t.coefficient % n == 0) {
            sum.terms.iter_mut().for_each(|t| t.coefficient /= n);
            sum.constant /= n;
            if sign < 0 {
                sum.constant = sum.constant.checked_sub(1)?;
            }
            sum.add_term(sign, b).ok()?;
            return Some(sum);
        }
    }
    None
}

/// `(k*u + c) floordiv n = f * ((l*u + d) floordiv m) + g*u + h` for every value of `u`, of which there are few
fn by_values(work: &Work, (x, n): (&Linear, i64), (y, m): (&Linear, i64), b: AtomId) -> Option<Linear> {
    let ([s], [t]) = (&x.terms[..], &y.terms[..]) else { return None };
    let range = work.atoms[s.atom as usize].range;
    if s.atom != t.atom || range.size() > MAX_VALUES || range.size() < 2 {
        return None;
    }
    let at =
        |t: &LinearTerm, c: i64, n: i64, u: i64| Some(int::floor_div(t.coefficient.checked_mul(u)?.checked_add(c)?, n));
    let values = |u: i64| Some((at(s, x.constant, n, u)?, at(t, y.constant, m, u)?));
    let Range { lo, hi } = range;
    let first = values(lo)?;
    let step = |u: i64| values(u).zip(values(u + 1)).map(|((p, q), (r, s))| (r - p, s - q));
    let (p, q) = step(lo)?;
    // Two steps in which the known quotient moves differently decide both factors.
    let (r, s) = (lo..hi).filter_map(step).find(|(_, s)| *s != q)?;
    let (f, left) = ((r - p).checked_div(s - q)?, (r - p).checked_rem(s - q)?);
    let g = p.checked_sub(f.checked_mul(q)?)?;
    let h = first.0.checked_sub(f.checked_mul(first.1)?)?.checked_sub(g.checked_mul(lo)?)?;
    let holds = |u: i64| {
        let (of_x, of_y) = values(u)?;
        (f.checked_mul(of_y)?.checked_add(g.checked_mul(u)?)?.checked_add(h)? == of_x).then_some(())
    };
    if left != 0 || f == 0 || !(lo..=hi).all(|u| holds(u).is_some()) {
        return None;
    }
    let mut out = Linear::constant(h);
    out.add_term(g, x.terms[0].atom).ok()?;
    out.add_term(f, b).ok()?;
    Some(out)
}

/// The most values of a variable at which two quotients of it are compared.
const MAX_VALUES: u128 = 16;
