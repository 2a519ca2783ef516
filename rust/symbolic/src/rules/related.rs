//! A law between two quotients of one form: where one is a multiple of the other plus terms, it goes.
//!
//! Read [`merge`]. Two relations are looked for. With one divisor: `x floordiv n` and `y floordiv n` where `x - y` or
//! `x + y + 1` is a multiple of `n`. Of one value with few values: any relation that holds at each of them.

use smallvec::SmallVec;

use super::Rule;
use crate::error::Stop;
use crate::int;
use crate::linear::{AtomId, Linear, LinearTerm, Work};
use crate::range::Range;

/// Replaces quotients by others of the form as long as their number falls.
pub fn merge(work: &mut Work, form: &mut Linear) -> Result<(), Stop> {
    loop {
        let quotients: SmallVec<[AtomId; 8]> =
            form.terms.iter().map(|t| t.atom).filter(|a| work.as_div(*a).is_some()).take(MAX_QUOTIENTS).collect();
        if quotients.len() < 2 {
            return Ok(());
        }
        work.spend(quotients.len() * quotients.len())?;
        let pairs = quotients.iter().flat_map(|a| quotients.iter().map(move |b| (*a, *b))).filter(|(a, b)| a != b);
        let merged =
            pairs.filter_map(|(a, b)| without(work, form, a, b)).min_by_key(|f| (n_quotients(work, f), f.terms.len()));
        match merged {
            Some(merged) if n_quotients(work, &merged) < n_quotients(work, form) => {
                work.fire(Rule::Related);
                *form = merged;
            }
            _ => return Ok(()),
        }
    }
}

/// The most quotients of a form that are held against each other.
const MAX_QUOTIENTS: usize = 8;

fn n_quotients(work: &Work, form: &Linear) -> usize {
    form.terms.iter().filter(|t| work.as_div(t.atom).is_some()).count()
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
