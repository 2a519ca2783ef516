//! Laws for nonlinear operations: products, division by an expression, min and max.

use crate::affine::context::{AffineContext, AtomKind};
use crate::affine::form::{AffineForm, AffineTerm};
use crate::arithmetic::Binary;
use crate::error::Stop;
use crate::laws::Rule;
use crate::span::Interval;
use crate::span::WideInterval;

/// The form of an operation that stays closed.
fn closed(cx: &mut AffineContext, op: Binary, a: AffineForm, b: AffineForm) -> Result<AffineForm, Stop> {
    cx.intern(AtomKind::Other(op, Box::new((a, b))), None).map(AffineForm::atom)
}

/// An operation on two forms.
pub fn binary(cx: &mut AffineContext, op: Binary, a: AffineForm, b: AffineForm) -> Result<AffineForm, Stop> {
    match (op, b.as_const().filter(|n| *n >= 1)) {
        (Binary::Product, _) => product(cx, a, b),
        (Binary::FloorDiv, Some(n)) => cx.floor_div(a, n),
        (Binary::FloorDiv, None) => floor_div(cx, a, b),
        (Binary::Mod, Some(n)) => cx.floor_mod(a, n),
        (Binary::Mod, None) => floor_mod(cx, a, b),
        (Binary::Min | Binary::Max, _) => extremum(cx, op, a, b),
    }
}

/// `(g*x) * (h*y) = g*h * (x*y)`; a constant factor scales
pub fn product(cx: &mut AffineContext, mut a: AffineForm, mut b: AffineForm) -> Result<AffineForm, Stop> {
    if let Some(c) = a.as_const() {
        return b.scaled(c);
    }
    if let Some(c) = b.as_const() {
        return a.scaled(c);
    }
    let (before, mut factor) = (cx.operation(Binary::Product, &a, &b), 1i64);
    for form in [&mut a, &mut b] {
        take_content(form, &mut factor).ok_or(Stop::Overflow)?;
    }
    let (a, b) = ordered(a, b);
    if factor != 1 {
        cx.fired(Rule::ProductContent, |cx| {
            let product = cx.operation(Binary::Product, &a, &b);
            (Vec::from_iter(before), Vec::from_iter(product.map(|product| product.scaled(factor))))
        });
    }
    closed(cx, Binary::Product, a, b)?.scaled(factor)
}

/// Divides a form by the greatest common divisor of all its numbers, which multiplies `factor`.
fn take_content(form: &mut AffineForm, factor: &mut i64) -> Option<()> {
    let g = crate::int::gcd(form.content(), form.constant).unwrap_or(1);
    if g > 1 {
        *factor = factor.checked_mul(g)?;
        form.constant /= g;
        form.terms.iter_mut().for_each(|t| t.coefficient /= g);
    }
    Some(())
}

/// Orders the operands of a commutative operation.
fn ordered(a: AffineForm, b: AffineForm) -> (AffineForm, AffineForm) {
    let key = |f: &AffineForm| (f.terms.iter().map(|t| (t.atom, t.coefficient)).collect::<Vec<_>>(), f.constant);
    if key(&a) <= key(&b) {
        (a, b)
    } else {
        (b, a)
    }
}

/// `k` and `rest` in `a = k*b + rest`, with fewer terms in `rest` than in `a`. The rest is only a part of a value, so
/// it must itself fit into 64 bits.
fn multiple(cx: &mut AffineContext, a: &AffineForm, b: &AffineForm) -> Option<(AffineForm, AffineForm)> {
    without_multiple(cx, a, b).filter(|(_, rest)| super::div::fits(cx, rest))
}

fn without_multiple(cx: &AffineContext, a: &AffineForm, b: &AffineForm) -> Option<(AffineForm, AffineForm)> {
    let is_product = |t: &AffineTerm| matches!(cx.kind(t.atom), AtomKind::Other(Binary::Product, _));
    if a.terms.iter().any(is_product) {
        // The factors of a product have no content, see `product`.
        let (mut primitive, mut g) = (b.clone(), 1);
        take_content(&mut primitive, &mut g)?;
        for (i, t) in a.terms.iter().enumerate() {
            let AtomKind::Other(Binary::Product, factors) = cx.kind(t.atom) else { continue };
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
    (k != 0 && rest.terms.len() + b.terms.len() <= a.terms.len()).then(|| (AffineForm::constant(k), rest))
}

/// `(k*b + r) floordiv b = k + r floordiv b`, where `k` is a number or a form; `a floordiv b = 0` for `0 <= a < b` and `-1` for `-b <= a < 0`
pub fn floor_div(cx: &mut AffineContext, a: AffineForm, b: AffineForm) -> Result<AffineForm, Stop> {
    if cx.ends_of(&b).lo >= 1 {
        if let Some((k, rest)) = multiple(cx, &a, &b) {
            let before = cx.operation(Binary::FloorDiv, &a, &b);
            let mut out = floor_div(cx, rest, b)?;
            out.add_scaled(1, &k)?;
            cx.fired(Rule::NonlinearMultiple, |cx| (Vec::from_iter(before), vec![cx.value(&out)]));
            return Ok(out);
        }
        if let Some(quotient) = small_quotient(cx, &a, &b)? {
            let quotient = AffineForm::constant(quotient);
            cx.fired(Rule::NonlinearCollapse, |cx| {
                (Vec::from_iter(cx.operation(Binary::FloorDiv, &a, &b)), vec![cx.value(&quotient)])
            });
            return Ok(quotient);
        }
        if let Some(n) = cx.range_of(&b).and_then(Interval::as_point) {
            return cx.floor_div(a, n);
        }
    }
    closed(cx, Binary::FloorDiv, a, b)
}

/// `(k*b + r) mod b = r mod b`; `a mod b = a` for `0 <= a < b` and `a + b` for `-b <= a < 0`
pub fn floor_mod(cx: &mut AffineContext, mut a: AffineForm, b: AffineForm) -> Result<AffineForm, Stop> {
    if cx.ends_of(&b).lo >= 1 {
        if let Some((_, rest)) = multiple(cx, &a, &b) {
            let before = cx.operation(Binary::Mod, &a, &b);
            let out = floor_mod(cx, rest, b)?;
            cx.fired(Rule::NonlinearMultiple, |cx| (Vec::from_iter(before), vec![cx.value(&out)]));
            return Ok(out);
        }
        if let Some(quotient) = small_quotient(cx, &a, &b)? {
            let before = cx.operation(Binary::Mod, &a, &b);
            a.add_scaled(-quotient, &b)?;
            cx.fired(Rule::NonlinearCollapse, |cx| (Vec::from_iter(before), vec![cx.value(&a)]));
            return Ok(a);
        }
        if let Some(n) = cx.range_of(&b).and_then(Interval::as_point) {
            return cx.floor_mod(a, n);
        }
    }
    closed(cx, Binary::Mod, a, b)
}

fn small_quotient(cx: &mut AffineContext, a: &AffineForm, b: &AffineForm) -> Result<Option<i64>, Stop> {
    let (of_a, below) = (cx.ends_of(a), cx.ends_of(&a.minus(b)?));
    if of_a.lo >= 0 && below.hi < 0 {
        return Ok(Some(0));
    }
    let mut above = a.clone();
    above.add_scaled(1, b)?;
    Ok((of_a.hi < 0 && cx.ends_of(&above).lo >= 0).then_some(-1))
}

/// `min(a, b) = a` and `max(a, b) = b` where `a <= b` over the domain
pub(crate) fn extremum(cx: &mut AffineContext, op: Binary, a: AffineForm, b: AffineForm) -> Result<AffineForm, Stop> {
    let WideInterval { lo, hi } = cx.ends_of(&a.minus(&b)?);
    if hi <= 0 || lo >= 0 {
        let before = cx.operation(op, &a, &b);
        let extreme = if (hi <= 0) == (op == Binary::Min) { a } else { b };
        cx.fired(Rule::Order, |cx| (Vec::from_iter(before), vec![cx.value(&extreme)]));
        return Ok(extreme);
    }
    let (a, b) = ordered(a, b);
    closed(cx, op, a, b)
}
