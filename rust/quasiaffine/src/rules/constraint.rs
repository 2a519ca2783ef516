//! Laws that make constraints smaller, move them into the ranges of variables, or drop them.
//!
//! [`reduce`] takes one constraint, [`propagate`] carries it to single variables. The set of points of
//! the domain never changes.

use crate::affine::context::{AffineContext, AtomKind};
use crate::affine::form::AffineForm;
use crate::affine::summands::{summands, Summand, Summands};
use crate::domain::Constraint;
use crate::error::Stop;
use crate::expr::{Expr, Kind, Op, Sum, Term};
use crate::int::{self, ceil_div, floor_div, floor_mod};
use crate::laws::Rule;
use crate::limits::ALTERNATIVES;
use crate::span::Congruence;
use crate::span::Interval;
use crate::span::WideInterval;
use crate::trace::Statement;

/// The result of reducing a constraint.
#[allow(clippy::large_enum_variant, reason = "it is taken apart where it is made")]
pub enum Reduced {
    /// The constraint holds everywhere.
    Implied,
    /// The constraint holds nowhere.
    Contradiction,
    /// The constraint is an interval of one variable, by flat number.
    Variable(usize, Interval),
    /// The constraint stays: the form, with constant 0 and these parts, lies in the interval.
    Kept(AffineForm, Interval, Summands),
}

/// A constraint without the quotients, factors and constants around its expression, whose form may not fit into 64 bits;
/// `None` if there are none.
pub fn opened(cx: &AffineContext, c: &Constraint) -> Option<Constraint> {
    let mut opened = None;
    while let Some((rule, inner)) = inside(opened.as_ref().unwrap_or(c)) {
        cx.fired(rule, |_| (vec![opened.as_ref().unwrap_or(c).into()], vec![(&inner).into()]));
        opened = Some(inner);
    }
    opened
}

/// One step of [`opened`].
fn inside(c: &Constraint) -> Option<(Rule, Constraint)> {
    let (rule, expr, interval) = match c.expr.op().filter(|_| !c.interval.is_empty())? {
        Op::FloorDiv(a, Expr::Const(n)) => (Rule::ConstraintDiv, a.clone(), numerator_range(*n, c.interval)?),
        Op::Mod(a, by @ Expr::Const(n)) => {
            let shift = a.constant();
            let bare = if shift == 0 { c.expr.clone() } else { a.sub(&Expr::Const(shift)).ok()?.floor_mod(by).ok()? };
            (Rule::ConstraintResidue, bare, without_shift(c.interval, shift, *n)?)
        }
        Op::Sum(Sum { constant, terms }) => {
            let [Term { coefficient, atom }] = &terms[..] else { return None };
            let ends = WideInterval::from(c.interval).minus(Interval::point(*constant).into()).divided(*coefficient);
            // Only a variable is known to have 64 bits.
            let is_var = matches!(atom, Expr::Var(_));
            (Rule::ConstraintContent, atom.clone(), if is_var { ends.in_64_bits() } else { ends.interval()? })
        }
        _ => return None,
    };
    let inner = Constraint { expr, interval };
    (inner != *c).then_some((rule, inner))
}

/// Brings `form in interval` to its smallest form.
pub fn reduce(cx: &mut AffineContext, mut form: AffineForm, mut interval: Interval) -> Result<Reduced, Stop> {
    let mut n_residues = 0;
    loop {
        cx.spend(form.terms.len())?;
        (form, interval) = without_constant(form, interval)?;
        if form.terms.is_empty() {
            return Ok(if interval.contains(0) { Reduced::Implied } else { Reduced::Contradiction });
        }
        let mut parts = content(cx, &mut form, &mut interval);
        if interval.is_empty() {
            cx.fired(Rule::ConstraintContradicts, |cx| {
                (vec![cx.constraint(&form, interval)], vec![Statement::Contradiction])
            });
            return Ok(Reduced::Contradiction);
        }
        leading_sign(cx, &mut form, &mut interval, &mut parts)?;
        if let [t] = form.terms[..] {
            match cx.kind(t.atom) {
                AtomKind::Var(flat) => return Ok(Reduced::Variable(*flat as usize, interval)),
                AtomKind::Div(num, n) => {
                    // If the interval is too wide for 64 bits, the possible quotients bound it.
                    let possible = || numerator_range(*n, interval.intersect(cx.atom_range(t.atom)));
                    if let Some(wider) = numerator_range(*n, interval).or_else(possible) {
                        let num = num.clone();
                        cx.constraint_fired(Rule::ConstraintDiv, (&form, interval), (&num, wider));
                        (form, interval) = (num, wider);
                        continue;
                    }
                }
                AtomKind::Other(..) => {}
            }
        }
        let residue = if n_residues < ALTERNATIVES { residue(cx, &form, interval)? } else { None };
        if let Some((residue, of_residue)) = residue {
            cx.constraint_fired(Rule::ConstraintResidue, (&form, interval), (&residue, of_residue));
            if of_residue.is_empty() {
                return Ok(Reduced::Contradiction);
            }
            (form, interval) = (residue, of_residue);
            n_residues += 1;
            continue;
        }
        return Ok(match decide(cx, &form, &parts, interval) {
            Decided::Implied => Reduced::Implied,
            Decided::Contradiction => Reduced::Contradiction,
            Decided::Open(within) => {
                if within != interval {
                    cx.constraint_fired(Rule::ConstraintImplied, (&form, interval), (&form, within));
                }
                Reduced::Kept(form, within, parts)
            }
        });
    }
}

/// The information in a constraint beyond the ranges and the facts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Decided {
    /// Nothing.
    Implied,
    /// That no point is left.
    Contradiction,
    /// Something: the intersection of its interval with that of the form.
    Open(Interval),
}

/// `x in [l, u]` holds everywhere or nowhere, by the interval of `x`
pub fn decide(cx: &mut AffineContext, form: &AffineForm, parts: &[Summand], interval: Interval) -> Decided {
    let all = cx.ends_of_parts(form, parts);
    let left = all.intersect(interval.into());
    match left.interval() {
        // This comes before the implied case: everything is true of an empty interval.
        _ if left.is_empty() => {
            cx.fired(Rule::ConstraintContradicts, |cx| {
                (vec![cx.constraint(form, interval)], vec![Statement::Contradiction])
            });
            Decided::Contradiction
        }
        Some(left) if all != left.into() => Decided::Open(left),
        _ => {
            cx.fired(Rule::ConstraintImplied, |cx| (vec![cx.constraint(form, interval)], Vec::new()));
            Decided::Implied
        }
    }
}

/// `x + y in [l, u]` is `x in [a, a]` and `y in [l - a, u - a]` where the interval of `y` leaves `x` no other value
pub fn fixed_part(
    cx: &mut AffineContext,
    form: &AffineForm,
    parts: &[Summand],
    interval: Interval,
) -> Option<[(AffineForm, Interval); 2]> {
    if parts.len() < 2 {
        return None;
    }
    let total = total_if_taken(cx, parts, interval)?;
    for part in parts {
        let ends = part.ends(cx);
        let rest = total.without(ends);
        // Every value of a part is a multiple of its factor.
        let (given, k) = (WideInterval::from(interval), part.factor());
        let allowed = ends.intersect(given.minus(rest).divided(k).scale(k));
        let Some(value) = allowed.as_point().filter(|_| ends.as_point().is_none()) else { continue };
        let (part, value) = (part.form(cx), i64::try_from(value).ok()?);
        // The rest is only a part of the value, and may need more bits.
        let of_rest = rest.intersect(given.minus(allowed)).interval()?;
        let split = [(form.minus(&part).ok()?, of_rest), (part, Interval::point(value))];
        cx.fired(Rule::ConstraintFixed, |cx| {
            (vec![cx.constraint(form, interval)], split.iter().map(|(form, i)| cx.constraint(form, *i)).collect())
        });
        return Some(split);
    }
    None
}

/// The sum of the intervals of parts, if `sum of parts in interval` takes a value from one of them: from one that is
/// wider than the distance from an end of the interval to the far end of the sum.
fn total_if_taken(cx: &AffineContext, parts: &[Summand], interval: Interval) -> Option<WideInterval> {
    let (mut total, mut widest) = (WideInterval::point(0), 0);
    for part in parts {
        let ends = part.ends(cx);
        widest = widest.max(ends.hi.saturating_sub(ends.lo));
        total = total.plus(ends);
    }
    let above = total.hi.saturating_sub(interval.lo.into());
    let below = i128::from(interval.hi).saturating_sub(total.lo);
    (widest > above.min(below) || !total.is_closed()).then_some(total)
}

/// `g*x in [l, u]` is `x in [ceil(l/g), floor(u/g)]`; gives the parts of `x`
fn content(cx: &mut AffineContext, form: &mut AffineForm, interval: &mut Interval) -> Summands {
    let g = form.content();
    if g > 1 {
        let before = (form.clone(), *interval);
        form.terms.iter_mut().for_each(|t| t.coefficient /= g);
        *interval = Interval::new(ceil_div(interval.lo, g), floor_div(interval.hi, g));
        cx.constraint_fired(Rule::ConstraintContent, (&before.0, before.1), (form, *interval));
    }
    summands(cx, form)
}

/// `-x in [l, u]` is `x in [-u, -l]`: the first coefficient becomes positive, or the factor of a lone remainder
fn leading_sign(
    cx: &mut AffineContext,
    form: &mut AffineForm,
    interval: &mut Interval,
    parts: &mut Summands,
) -> Result<(), Stop> {
    let is_negative = match parts[..] {
        [only] => only.factor() < 0,
        _ => form.terms.first().is_some_and(|t| t.coefficient < 0),
    };
    if is_negative {
        let before = (form.clone(), *interval);
        *form = form.scaled(-1)?;
        *interval = Interval::new(int::mul(interval.hi, -1)?, int::mul(interval.lo, -1)?);
        // A negated remainder may not fit into 64 bits.
        *parts = match parts.iter().map(|part| part.negated()).collect() {
            Some(negated) => negated,
            None => summands(cx, form),
        };
        cx.constraint_fired(Rule::ConstraintContent, (&before.0, before.1), (form, *interval));
    }
    Ok(())
}

/// `x floordiv n in [l, u]` is `x in [l*n, u*n + n - 1]`: that interval, where its ends have 64 bits
fn numerator_range(n: i64, interval: Interval) -> Option<Interval> {
    Some(Interval::new(interval.lo.checked_mul(n)?, interval.hi.checked_mul(n)?.checked_add(n - 1)?))
}

/// `(x + c) mod n in [l, u]` is `x mod n in [l - c, u - c]`, all modulo `n`, where that does not wrap around
pub(crate) fn residue(
    cx: &mut AffineContext,
    form: &AffineForm,
    interval: Interval,
) -> Result<Option<(AffineForm, Interval)>, Stop> {
    let Some((num, n)) = as_residue(cx, form) else {
        return Ok(None);
    };
    let c = num.constant;
    // With other quotients in the sum, the ends may still be tighter together.
    let of_remainder = Interval::exact(-i128::from(c), i128::from(n - 1) - i128::from(c)).filter(|_| cx.is_plain(&num));
    let allowed = of_remainder.map_or(interval, |all| all.intersect(interval));
    if c == 0 {
        return Ok(None);
    }
    let Some(without) = allowed.plus(c).and_then(|shifted| without_shift(shifted, c, n)) else { return Ok(None) };
    if without.is_empty() {
        return Ok(Some((form.clone(), Interval::EMPTY)));
    }
    let mut bare = cx.floor_mod(AffineForm { constant: 0, ..num }, n)?;
    // Without its constant the remainder may reduce to a simpler form, with its own constant.
    let interval = without.minus(std::mem::take(&mut bare.constant));
    Ok(interval.map(|interval| (bare, interval)))
}

/// The interval of `x mod n` if `(x + c) mod n` lies in the interval; `None` if that wraps around.
fn without_shift(interval: Interval, c: i64, n: i64) -> Option<Interval> {
    let allowed = interval.intersect(Interval::new(0, n - 1));
    if allowed.is_empty() {
        return Some(Interval::EMPTY);
    }
    let start = floor_mod(allowed.lo.checked_sub(c)?, n);
    let end = start.checked_add(allowed.hi - allowed.lo)?;
    (end < n).then_some(Interval::new(start, end))
}

/// `x` with its constant, and `n`, where a form is `x - n*(x floordiv n)` up to the constant.
pub fn as_residue(cx: &AffineContext, form: &AffineForm) -> Option<(AffineForm, i64)> {
    let last = form.terms.last()?;
    let (num, n) = cx.as_div(last.atom)?;
    let here = &form.terms[..form.terms.len() - 1];
    (last.coefficient == -n && here == &num.terms[..]).then(|| (num.clone(), n))
}

/// Narrows each variable by `form in interval`: `x in (interval - the other terms) / coefficient`; if a term is a
/// quotient, `x floordiv n in [l, u]` says `x in [l*n, u*n + n - 1]`
///
/// The interval of a runtime variable is part of what it is (the clamp of its operation), so it stays.
pub fn propagate(
    cx: &mut AffineContext,
    form: &AffineForm,
    parts: &[Summand],
    interval: Interval,
    narrowed: &mut [Interval],
) -> bool {
    let before = cx.traces().then(|| narrowed.to_vec());
    let mut changed = of_parts(cx, parts, interval, narrowed, ALTERNATIVES);
    if cx.has_div(form) {
        changed |= of_parts(cx, &terms(form), interval, narrowed, ALTERNATIVES);
    }
    if let Some((num, n)) = as_residue(cx, form) {
        if let ([t], 0) = (&num.terms[..], num.constant) {
            let flat = t.atom as usize;
            let is_free = t.coefficient == 1 && flat < cx.n_vars() && cx.var(flat).kind != Kind::Runtime;
            if is_free && narrow(narrowed, flat, residue_ends(narrowed[flat], n, interval)) {
                cx.fired(Rule::ResidueEnds, |cx| narrowing(cx, form, interval, before.as_deref(), narrowed));
                return true;
            }
        }
    }
    if changed {
        cx.fired(Rule::Propagate, |cx| narrowing(cx, form, interval, before.as_deref(), narrowed));
    }
    changed
}

/// The statements of a step that narrows variables: the constraint, and the constraint with the narrowed intervals.
fn narrowing(
    cx: &AffineContext,
    form: &AffineForm,
    interval: Interval,
    before: Option<&[Interval]>,
    after: &[Interval],
) -> (Vec<Statement>, Vec<Statement>) {
    let constraint = vec![cx.constraint(form, interval)];
    let of_vars = before.into_iter().flatten().zip(after).enumerate().filter(|(_, (before, after))| before != after);
    let narrower = of_vars.map(|(flat, (_, after))| Statement::Constraint(Expr::Var(cx.var(flat)), *after));
    let both = constraint.iter().cloned().chain(narrower).collect();
    (constraint, both)
}

fn terms(form: &AffineForm) -> Summands {
    form.terms.iter().map(|t| Summand::Term(*t)).collect()
}

/// Narrows each part that is a variable or a quotient by `sum of parts in interval`.
fn of_parts(
    cx: &AffineContext,
    parts: &[Summand],
    interval: Interval,
    narrowed: &mut [Interval],
    nested: usize,
) -> bool {
    let Some(total) = total_if_taken(cx, parts, interval) else { return false };
    let mut changed = false;
    for part in parts {
        let Summand::Term(t) = *part else { continue };
        let rest = total.without(part.ends(cx));
        let by_form = WideInterval::from(interval).minus(rest).divided(t.coefficient).in_64_bits();
        match cx.kind(t.atom) {
            AtomKind::Var(flat) if cx.var(*flat as usize).kind != Kind::Runtime => {
                changed |= narrow(narrowed, *flat as usize, by_form);
            }
            AtomKind::Div(num, n) if nested > 0 && !by_form.covers(cx.atom_range(t.atom)) => {
                let of_numerator = numerator_range(*n, by_form);
                if let Some((num, interval)) = of_numerator.and_then(|i| without_constant(num.clone(), i).ok()) {
                    changed |= of_parts(cx, &terms(&num), interval, narrowed, nested - 1);
                }
            }
            _ => {}
        }
    }
    changed
}

fn narrow(narrowed: &mut [Interval], flat: usize, to: Interval) -> bool {
    let before = narrowed[flat];
    narrowed[flat] = before.intersect(to);
    narrowed[flat] != before
}

/// `x mod n in [l, u]`: the ends of the interval of `x` move to values that satisfy it
pub fn residue_ends(of_x: Interval, n: i64, interval: Interval) -> Interval {
    let Interval { lo, hi } = interval.intersect(Interval::new(0, n - 1));
    if lo > hi || of_x.is_empty() {
        return Interval::EMPTY;
    }
    let up = |x: i64| {
        let r = floor_mod(x, n);
        x.checked_add(if r > hi { n - (r - lo) } else { (lo - r).max(0) })
    };
    let down = |x: i64| {
        let r = floor_mod(x, n);
        x.checked_sub(if r < lo { n - (hi - r) } else { (r - hi).max(0) })
    };
    Interval::new(up(of_x.lo).unwrap_or(i64::MAX), down(of_x.hi).unwrap_or(i64::MIN))
}

/// `q*x + g*y in [l, u]` beside `x mod n = r`, where `g` divides `n`: the ends move to values that are `q*r` modulo `g`
pub fn round_ends(cx: &mut AffineContext, kept: &mut [(AffineForm, Interval)]) -> bool {
    let mut changed = false;
    for j in 0..kept.len() {
        let Some((x, of_x)) = congruence(cx, &kept[j]) else { continue };
        if cx.spend(kept.len()).is_err() {
            break;
        }
        for i in (0..kept.len()).filter(|i| *i != j) {
            let (form, interval) = &kept[i];
            let Some(rounded) = rounded(form, *interval, &x, of_x) else { continue };
            if rounded != *interval {
                cx.fired(Rule::ResidueRounds, |cx| {
                    let residue = cx.constraint(&kept[j].0, kept[j].1);
                    let with = |interval| vec![residue.clone(), cx.constraint(form, interval)];
                    (with(*interval), with(rounded))
                });
                kept[i].1 = rounded;
                changed = true;
            }
        }
    }
    changed
}

/// The interval without the ends that `x mod n = r` forbids, if the form contains `x`; both constants count as 0.
fn rounded(form: &AffineForm, interval: Interval, x: &AffineForm, of_x: Congruence) -> Option<Interval> {
    let lead = x.terms.first()?;
    let k = form.coefficient(lead.atom);
    let q = k.checked_div(lead.coefficient).filter(|q| *q != 0 && k % lead.coefficient == 0)?;
    let mut rest = form.clone();
    rest.add_scaled(q.checked_neg()?, &AffineForm { constant: 0, ..x.clone() }).ok()?;
    Some(of_x.scaled_plus_multiple(q, rest.content())?.tighten(interval))
}

/// `x` and its congruence, where a constraint is `x mod n = r` up to the constant.
fn congruence(cx: &AffineContext, (form, interval): &(AffineForm, Interval)) -> Option<(AffineForm, Congruence)> {
    let (x, n) = as_residue(cx, form)?;
    let r = interval.as_point().filter(|r| (0..n).contains(r))?;
    Some((x, Congruence::new(n, r)?))
}

/// Moves the constant of a form into its interval.
fn without_constant(form: AffineForm, interval: Interval) -> Result<(AffineForm, Interval), Stop> {
    let interval = interval.minus(form.constant).ok_or(Stop::Overflow)?;
    Ok((AffineForm { constant: 0, ..form }, interval))
}
