//! Laws for what is not linear: products, division by an expression, min and max.

use std::cmp::Ordering;

use super::Rule;
use crate::error::Stop;
use crate::linear::{Linear, LinearTerm};
use crate::range::Range;
use crate::work::{AtomKind, OtherOp, Work};

/// The form of an operation that stays closed.
fn closed(work: &mut Work, op: OtherOp, a: Linear, b: Linear) -> Result<Linear, Stop> {
    work.intern(AtomKind::Other(op, Box::new((a, b)))).map(Linear::atom)
}

/// `(g*x) * (h*y) = g*h * (x*y)`; a constant factor scales
pub fn product(work: &mut Work, mut a: Linear, mut b: Linear) -> Result<Linear, Stop> {
    if let Some(c) = a.as_const() {
        return b.scaled(c);
    }
    if let Some(c) = b.as_const() {
        return a.scaled(c);
    }
    let mut factor = 1i64;
    for form in [&mut a, &mut b] {
        let before = factor;
        take_content(form, &mut factor).ok_or(Stop::Overflow)?;
        if factor != before {
            work.fire(Rule::ProductContent);
        }
    }
    let (a, b) = ordered(a, b);
    closed(work, OtherOp::Product, a, b)?.scaled(factor)
}

/// Divides a form by the greatest common divisor of all its numbers, which multiplies `factor`.
fn take_content(form: &mut Linear, factor: &mut i64) -> Option<()> {
    let g = crate::int::gcd(form.content(), form.constant).unwrap_or(1);
    if g > 1 {
        *factor = factor.checked_mul(g)?;
        form.constant /= g;
        form.terms.iter_mut().for_each(|t| t.coefficient /= g);
    }
    Some(())
}

/// One order for operands that may stand in either.
fn ordered(a: Linear, b: Linear) -> (Linear, Linear) {
    let key = |f: &Linear| (f.terms.iter().map(|t| (t.atom, t.coefficient)).collect::<Vec<_>>(), f.constant);
    if key(&a) <= key(&b) {
        (a, b)
    } else {
        (b, a)
    }
}

/// `k` and `rest` in `a = k*b + rest`, with fewer terms in `rest` than in `a`. The rest is only a part of a value: it has to fit
/// into 64 bits for itself.
fn multiple(work: &mut Work, a: &Linear, b: &Linear) -> Option<(Linear, Linear)> {
    without_multiple(work, a, b).filter(|(_, rest)| super::div::fits(work, rest))
}

fn without_multiple(work: &Work, a: &Linear, b: &Linear) -> Option<(Linear, Linear)> {
    let is_product = |t: &LinearTerm| matches!(work.atoms[t.atom as usize].kind, AtomKind::Other(OtherOp::Product, _));
    if a.terms.iter().any(is_product) {
        // The factors of a product have no content, see `product`.
        let (mut primitive, mut g) = (b.clone(), 1);
        take_content(&mut primitive, &mut g)?;
        for (i, t) in a.terms.iter().enumerate() {
            let AtomKind::Other(OtherOp::Product, factors) = &work.atoms[t.atom as usize].kind else { continue };
            let other = match &**factors {
                (x, y) if *x == primitive => y,
                (x, y) if *y == primitive => x,
                _ => continue,
            };
            if t.coefficient % g == 0 {
                let mut rest = a.clone();
                rest.terms.remove(i);
                return Some((other.scaled(t.coefficient / g).ok()?, rest));
            }
        }
    }
    let lead = b.terms.first()?;
    let k = a.coefficient(lead.atom).checked_div(lead.coefficient)?;
    let mut rest = a.clone();
    rest.add_scaled(k.checked_neg()?, b).ok()?;
    (k != 0 && rest.terms.len() + b.terms.len() <= a.terms.len()).then(|| (Linear::constant(k), rest))
}

/// `(k*b + r) floordiv b = k + r floordiv b`, where `k` is a number or a form; `a floordiv b = 0` for `0 <= a < b` and `-1` for `-b <= a < 0`
pub fn floor_div(work: &mut Work, a: Linear, b: Linear) -> Result<Linear, Stop> {
    if work.ends_of(&b).0 >= 1 {
        if let Some((k, rest)) = multiple(work, &a, &b) {
            work.fire(Rule::OtherMultiple);
            let mut out = floor_div(work, rest, b)?;
            out.add_scaled(1, &k)?;
            return Ok(out);
        }
        if let Some(quotient) = small_quotient(work, &a, &b)? {
            work.fire(Rule::OtherCollapse);
            return Ok(Linear::constant(quotient));
        }
        if let Some(n) = work.range_of(&b).and_then(Range::as_point) {
            return work.floor_div(a, n);
        }
    }
    closed(work, OtherOp::FloorDiv, a, b)
}

/// `(k*b + r) mod b = r mod b`; `a mod b = a` for `0 <= a < b` and `a + b` for `-b <= a < 0`
pub fn floor_mod(work: &mut Work, mut a: Linear, b: Linear) -> Result<Linear, Stop> {
    if work.ends_of(&b).0 >= 1 {
        if let Some((_, rest)) = multiple(work, &a, &b) {
            work.fire(Rule::OtherMultiple);
            return floor_mod(work, rest, b);
        }
        if let Some(quotient) = small_quotient(work, &a, &b)? {
            work.fire(Rule::OtherCollapse);
            a.add_scaled(-quotient, &b)?;
            return Ok(a);
        }
        if let Some(n) = work.range_of(&b).and_then(Range::as_point) {
            let quotient = work.floor_div(a.clone(), n)?;
            a.add_scaled(-n, &quotient)?;
            return Ok(a);
        }
    }
    closed(work, OtherOp::Mod, a, b)
}

fn small_quotient(work: &mut Work, a: &Linear, b: &Linear) -> Result<Option<i64>, Stop> {
    let (of_a, below) = (work.ends_of(a), work.ends_of(&a.minus(b)?));
    if of_a.0 >= 0 && below.1 < 0 {
        return Ok(Some(0));
    }
    let mut above = a.clone();
    above.add_scaled(1, b)?;
    Ok((of_a.1 < 0 && work.ends_of(&above).0 >= 0).then_some(-1))
}

/// `min(a, b) = a` where `a <= b` over the domain
pub fn min(work: &mut Work, a: Linear, b: Linear) -> Result<Linear, Stop> {
    extremum(work, OtherOp::Min, a, b)
}

/// `max(a, b) = b` where `a <= b` over the domain
pub fn max(work: &mut Work, a: Linear, b: Linear) -> Result<Linear, Stop> {
    extremum(work, OtherOp::Max, a, b)
}

fn extremum(work: &mut Work, op: OtherOp, a: Linear, b: Linear) -> Result<Linear, Stop> {
    let (lo, hi) = work.ends_of(&a.minus(&b)?);
    let order = if hi <= 0 {
        Some(Ordering::Less)
    } else if lo >= 0 {
        Some(Ordering::Greater)
    } else {
        None
    };
    if let Some(order) = order {
        work.fire(Rule::Order);
        return Ok(if (order == Ordering::Less) == (op == OtherOp::Min) { a } else { b });
    }
    let (a, b) = ordered(a, b);
    closed(work, op, a, b)
}
