//! Laws for `x mod n` as an atom.
//!
//! [`floor_mod`] reads a remainder in this way; [`cancel`] opens remainders. In the open reading a remainder is a
//! difference, which can cancel but takes each of its quotients apart. Here a remainder is opened only if all terms
//! that opening adds vanish at once, so that a rule never makes two divs of one. `simplify/many_divs.rs` decides when
//! expressions are read in this way.

use smallvec::SmallVec;

use crate::affine::context::{AffineContext, AtomKind};
use crate::affine::form::{AffineForm, AffineTerm, AtomId};
use crate::arithmetic::Binary;
use crate::error::Stop;
use crate::int;
use crate::laws::Rule;
use crate::span::Interval;

/// `form mod n` for `n >= 2`: an atom, unless a law simplifies it.
pub fn floor_mod(cx: &mut AffineContext, mut form: AffineForm, n: i64) -> Result<AffineForm, Stop> {
    cx.spend(form.terms.len())?;
    drop_multiples(cx, &mut form, n)?;
    if form.terms.is_empty() {
        return Ok(form);
    }
    match open(cx, &form, n)? {
        Some(open) => Ok(open),
        None => {
            let kind = AtomKind::Other(Binary::Mod, Box::new((form, AffineForm::constant(n))));
            cx.intern(kind, Some(Interval::new(0, n - 1))).map(AffineForm::atom)
        }
    }
}

/// `(n*k*x + y) mod n = y mod n` and `(k*(x mod m) + y) mod n = (k*x + y) mod n` where `n` divides `k*m`
pub(crate) fn drop_multiples(cx: &mut AffineContext, form: &mut AffineForm, n: i64) -> Result<(), Stop> {
    let before = cx.traces().then(|| form.clone());
    loop {
        form.constant = int::floor_mod(form.constant, n);
        form.terms.iter_mut().for_each(|t| t.coefficient %= n);
        form.terms.retain(|t| t.coefficient != 0);
        let inner = form.terms.iter().find_map(|t| {
            let (x, m) = cx.as_mod(t.atom)?;
            let is_multiple = t.coefficient.checked_mul(m).is_some_and(|km| km % n == 0);
            is_multiple.then(|| (t.atom, x.clone()))
        });
        let Some((atom, x)) = inner else { break };
        *form = form.replaced(atom, &x)?;
    }
    if let Some(before) = before.filter(|before| before != form) {
        let n = AffineForm::constant(n);
        cx.fired(Rule::RemainderMultiples, |cx| {
            let remainder = |x| Vec::from_iter(cx.operation(Binary::Mod, x, &n));
            (remainder(&before), remainder(form))
        });
    }
    Ok(())
}

/// `x mod n = x - n*q` where `q`, the quotient `x floordiv n`, has no div of its own, and
/// `x mod n = x - n*q + n*(y floordiv m) - g*y + g*(y mod m)` where its only one is `y floordiv m`, `n = g*m` and `g >= 2`
///
/// The difference `x - n*q + n*(y floordiv m) - g*y` is the part of `x` that is not a multiple of `g`.
pub(crate) fn open(cx: &mut AffineContext, form: &AffineForm, n: i64) -> Result<Option<AffineForm>, Stop> {
    let quotient = cx.floor_div(form.clone(), n)?;
    let mut open = form.clone();
    open.add_scaled(-n, &quotient)?;
    let is_new = |t: &&AffineTerm| !cx.is_var(t.atom) && form.coefficient(t.atom) == 0;
    let mut new = quotient.terms.iter().filter(is_new);
    if let Some(only) = new.next().copied() {
        let inner = cx.as_div(only.atom).filter(|(_, m)| *m < n && n % m == 0);
        let (Some((y, m)), None, 1 | -1) = (inner, new.next(), only.coefficient) else { return Ok(None) };
        let (y, factor) = (y.clone(), only.coefficient * (n / m));
        open.add_term(int::mul(n, only.coefficient)?, only.atom)?;
        open.add_scaled(-factor, &y)?;
        if open.terms.iter().any(|t| is_new(&t)) {
            return Ok(None);
        }
        let remainder = floor_mod(cx, y, m)?;
        open.add_scaled(factor, &remainder)?;
    }
    cx.fired(Rule::RemainderOpen, |cx| {
        let remainder = cx.operation(Binary::Mod, form, &AffineForm::constant(n));
        (Vec::from_iter(remainder), vec![cx.value(&open)])
    });
    Ok(Some(open))
}

/// Opens the remainders of a form whose quotients stand beside them, and joins two digits of one value.
pub fn cancel(cx: &mut AffineContext, form: &mut AffineForm) -> Result<(), Stop> {
    let mut done: SmallVec<[AtomId; 8]> = SmallVec::new();
    loop {
        let is_open = |t: &&AffineTerm| !done.contains(&t.atom) && cx.as_mod(t.atom).is_some();
        let Some(t) = form.terms.iter().find(is_open).copied() else { return Ok(()) };
        done.push(t.atom);
        let found = match with_quotient(cx, form, t)? {
            Some(opened) => Some((Rule::RemainderCancel, opened)),
            None => join(cx, form, t)?.map(|joined| (Rule::RemainderJoin, joined)),
        };
        if let Some((rule, found)) = found {
            cx.fired_on(rule, form, &found);
            *form = found;
            done.clear();
        }
    }
}

/// `k*(x mod n) + k*n*(x floordiv n) = k*x` where all divs of the quotient vanish
pub(crate) fn with_quotient(
    cx: &mut AffineContext,
    form: &AffineForm,
    t: AffineTerm,
) -> Result<Option<AffineForm>, Stop> {
    let Some((x, n)) = cx.as_mod(t.atom) else { return Ok(None) };
    let (mut x, Some(factor)) = (x.clone(), t.coefficient.checked_mul(n)) else { return Ok(None) };
    cx.spend(form.terms.len() + x.terms.len())?;
    let quotient = cx.floor_div(x.clone(), n)?;
    let is_var = |t: &AffineTerm| cx.is_var(t.atom);
    let stands = |q: &AffineTerm| factor.checked_mul(q.coefficient) == Some(form.coefficient(q.atom));
    if !quotient.terms.iter().all(|q| is_var(q) || stands(q)) {
        return Ok(None);
    }
    x.add_scaled(-n, &quotient)?;
    form.replaced(t.atom, &x).map(Some)
}

/// `k*(x mod m) + k*m*(y mod n) = k*((x mod m + m*y) mod (m*n))` where `x mod m + m*y` cancels
///
/// The second remainder is a multiple of `m` below `m*n`, and the first lies below `m`.
pub(crate) fn join(cx: &mut AffineContext, form: &AffineForm, t: AffineTerm) -> Result<Option<AffineForm>, Stop> {
    let Some((_, m)) = cx.as_mod(t.atom) else { return Ok(None) };
    let Some(factor) = t.coefficient.checked_mul(m) else { return Ok(None) };
    let above = |u: &&AffineTerm| u.coefficient == factor && u.atom != t.atom && cx.as_mod(u.atom).is_some();
    let above: SmallVec<[AtomId; 4]> = form.terms.iter().filter(above).map(|u| u.atom).collect();
    for atom in above {
        let Some((y, n)) = cx.as_mod(atom) else { continue };
        let (mut value, Some(modulus)) = (AffineForm::atom(t.atom), m.checked_mul(n)) else { continue };
        if value.add_scaled(m, y).is_err() {
            continue;
        }
        let Some(value) = with_quotient(cx, &value, AffineTerm { coefficient: 1, atom: t.atom })? else { continue };
        let remainder = floor_mod(cx, value, modulus)?;
        return form.replaced(atom, &AffineForm::default())?.replaced(t.atom, &remainder).map(Some);
    }
    Ok(None)
}

/// `(x mod n) floordiv m = (x floordiv m) mod (n/m)`, where `m` divides `n`, for each such quotient in a form
pub(crate) fn digits(cx: &mut AffineContext, form: &mut AffineForm) -> Result<(), Stop> {
    let digit = |t: &AffineTerm| {
        let (num, m) = cx.as_div(t.atom)?;
        let ([AffineTerm { coefficient: 1, atom }], 0) = (&num.terms[..], num.constant) else { return None };
        let (x, n) = cx.as_mod(*atom).filter(|(_, n)| n % m == 0)?;
        Some((t.atom, x.clone(), m, n / m))
    };
    let found: SmallVec<[_; 1]> = form.terms.iter().filter_map(digit).collect();
    for (atom, x, m, n) in found {
        let before = cx.traces().then(|| form.clone());
        let quotient = cx.floor_div(x, m)?;
        let digit = floor_mod(cx, quotient, n)?;
        *form = form.replaced(atom, &digit)?;
        if let Some(before) = before {
            cx.fired_on(Rule::RemainderDigit, &before, form);
        }
    }
    Ok(())
}
