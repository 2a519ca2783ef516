//! Laws that make constraints smaller, move them into the ranges of variables, or drop them.
//!
//! Read [`reduce`] for one constraint, [`propagate`] for what it says of single variables. Law: the set of points of
//! the domain never changes.

use smallvec::SmallVec;

use super::Rule;
use crate::error::Stop;
use crate::expr::Kind;
use crate::int::{self, ceil_div, floor_div, floor_mod};
use crate::linear::Linear;
use crate::range::Range;
use crate::summand::{summands, Summand, Summands};
use crate::work::{AtomKind, Work};

/// What a constraint comes to.
#[allow(clippy::large_enum_variant, reason = "it is taken apart where it is made")]
pub enum Reduced {
    /// It holds everywhere.
    Implied,
    /// It holds nowhere.
    Contradiction,
    /// It is a range of one variable, by flat number.
    Variable(usize, Range),
    /// It stays: the form, whose constant is 0 and whose parts these are, lies in the range.
    Kept(Linear, Range, Summands),
}

/// Brings `form in range` to its smallest form.
pub fn reduce(work: &mut Work, mut form: Linear, mut range: Range) -> Result<Reduced, Stop> {
    let mut n_residues = 0;
    loop {
        (form, range) = without_constant(form, range)?;
        if form.terms.is_empty() {
            return Ok(if range.contains(0) { Reduced::Implied } else { Reduced::Contradiction });
        }
        let mut parts = content(work, &mut form, &mut range);
        if range.is_empty() {
            work.fire(Rule::ConstraintContradicts);
            return Ok(Reduced::Contradiction);
        }
        leading_sign(work, &mut form, &mut range, &mut parts)?;
        if let [t] = form.terms[..] {
            match &work.atoms[t.atom as usize].kind {
                AtomKind::Var(flat) => return Ok(Reduced::Variable(*flat as usize, range)),
                AtomKind::Div(num, n) => {
                    if let Some((num, wider)) = of_quotient(num, *n, range) {
                        work.fire(Rule::ConstraintQuotient);
                        (form, range) = (num, wider);
                        continue;
                    }
                }
                AtomKind::Other(..) => {}
            }
        }
        let residue = if n_residues < MAX_RESIDUES { residue(work, &form, range)? } else { None };
        if let Some((residue, of_residue)) = residue {
            work.fire(Rule::ConstraintResidue);
            if of_residue.is_empty() {
                return Ok(Reduced::Contradiction);
            }
            (form, range) = (residue, of_residue);
            n_residues += 1;
            continue;
        }
        return Ok(match decide(work, &form, &parts, range) {
            Decided::Implied => Reduced::Implied,
            Decided::Contradiction => Reduced::Contradiction,
            Decided::Open => Reduced::Kept(form, range, parts),
        });
    }
}

/// How often a remainder without its constant is looked at again.
const MAX_RESIDUES: u32 = 4;

/// What a constraint says beyond the ranges and the facts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Decided {
    /// Nothing.
    Implied,
    /// That no point is left.
    Contradiction,
    /// Something.
    Open,
}

/// `x in [l, u]` holds everywhere or nowhere, by the range of `x`
pub fn decide(work: &mut Work, form: &Linear, parts: &[Summand], range: Range) -> Decided {
    let all = work.ends_of_parts(form, parts);
    let (lo, hi) = both(all, (range.lo.into(), range.hi.into()));
    if (lo, hi) == all {
        work.fire(Rule::ConstraintImplied);
        Decided::Implied
    } else if lo > hi {
        work.fire(Rule::ConstraintContradicts);
        Decided::Contradiction
    } else {
        Decided::Open
    }
}

/// `x + y in [l, u]` is `x in [a, a]` and `y in [l - a, u - a]` where the range of `y` leaves `x` no other value
pub fn fixed_part(work: &mut Work, form: &Linear, parts: &[Summand], range: Range) -> Option<[(Linear, Range); 2]> {
    if parts.len() < 2 {
        return None;
    }
    let total = total_ends(work, parts)?;
    for part in parts {
        let ends = part.ends(work)?;
        let rest = (total.0.checked_sub(ends.0)?, total.1.checked_sub(ends.1)?);
        // A part is a multiple of its factor.
        let (lo, hi) = minus(range, rest);
        let k = part.factor().unsigned_abs();
        let multiple = |quotient: i128| quotient.saturating_mul(i128::from(k));
        let allowed = (multiple(int::ceil_div_wide(lo, k)), multiple(int::floor_div_wide(hi, k)));
        let allowed = both(ends, allowed);
        if allowed.0 != allowed.1 || ends.0 == ends.1 {
            continue;
        }
        let (part, value) = (part.form(work), i64::try_from(allowed.0).ok()?);
        let (lo, hi) = both(rest, minus(range, allowed));
        // The rest is part of a value, and may need more bits than that.
        let of_rest = Range::exact(lo, hi)?;
        work.fire(Rule::ConstraintFixed);
        return Some([(form.minus(&part).ok()?, of_rest), (part, Range::point(value))]);
    }
    None
}

/// The smallest and the largest value.
pub type Ends = (i128, i128);

fn both(a: Ends, b: Ends) -> Ends {
    (a.0.max(b.0), a.1.min(b.1))
}

/// The ends of `x` where `x + y` lies in the range and `y` between its ends.
fn minus(range: Range, y: Ends) -> Ends {
    (i128::from(range.lo).saturating_sub(y.1), i128::from(range.hi).saturating_sub(y.0))
}

/// The ends of a sum of parts, added up.
fn total_ends(work: &Work, parts: &[Summand]) -> Option<Ends> {
    parts.iter().try_fold((0i128, 0i128), |(lo, hi), part| {
        let (x, y) = part.ends(work)?;
        Some((lo.checked_add(x)?, hi.checked_add(y)?))
    })
}

/// `g*x in [l, u]` is `x in [ceil(l/g), floor(u/g)]`; gives the parts of `x`
fn content(work: &mut Work, form: &mut Linear, range: &mut Range) -> Summands {
    let g = form.content();
    if g > 1 {
        form.terms.iter_mut().for_each(|t| t.coefficient /= g);
        *range = Range::new(ceil_div(range.lo, g), floor_div(range.hi, g));
        work.fire(Rule::ConstraintContent);
    }
    summands(work, form)
}

/// `-x in [l, u]` is `x in [-u, -l]`: the first coefficient becomes positive, or the factor of a lone remainder
fn leading_sign(work: &mut Work, form: &mut Linear, range: &mut Range, parts: &mut Summands) -> Result<(), Stop> {
    let is_negative = match parts[..] {
        [only] => only.factor() < 0,
        _ => form.terms.first().is_some_and(|t| t.coefficient < 0),
    };
    if is_negative {
        *form = form.scaled(-1)?;
        *range = Range::new(int::mul(range.hi, -1)?, int::mul(range.lo, -1)?);
        parts.iter_mut().for_each(Summand::negate);
        work.fire(Rule::ConstraintContent);
    }
    Ok(())
}

/// `x floordiv n in [l, u]` is `x in [l*n, u*n + n - 1]`
fn of_quotient(num: &Linear, n: i64, range: Range) -> Option<(Linear, Range)> {
    Some((num.clone(), numerator_range(n, range)?))
}

/// The range of `x` where `x floordiv n` lies in the range, where its ends have 64 bits.
pub fn numerator_range(n: i64, range: Range) -> Option<Range> {
    Some(Range::new(range.lo.checked_mul(n)?, range.hi.checked_mul(n)?.checked_add(n - 1)?))
}

/// `(x + c) mod n in [l, u]` is `x mod n in [l - c, u - c]`, all modulo `n`, where that does not wrap around
fn residue(work: &mut Work, form: &Linear, range: Range) -> Result<Option<(Linear, Range)>, Stop> {
    let Some((num, n)) = as_residue(work, form) else {
        return Ok(None);
    };
    let c = num.constant;
    if c == 0 {
        return Ok(None);
    }
    let ends = (range.lo.checked_add(c), range.hi.checked_add(c));
    let (Some(lo), Some(hi)) = ends else {
        return Ok(None);
    };
    let Some(without) = without_shift(Range::new(lo, hi), c, n) else { return Ok(None) };
    if without.is_empty() {
        return Ok(Some((form.clone(), Range::EMPTY)));
    }
    let mut bare = Linear { constant: 0, ..num };
    let quotient = work.floor_div(bare.clone(), n)?;
    bare.add_scaled(-n, &quotient)?;
    // Without its constant the remainder may turn out to be something simpler, with a constant of its own.
    let (lo, hi) = (without.lo.checked_sub(bare.constant), without.hi.checked_sub(bare.constant));
    bare.constant = 0;
    Ok(lo.zip(hi).map(|(lo, hi)| (bare, Range::new(lo, hi))))
}

/// The range of `x mod n` where `(x + c) mod n` lies in the range; `None` where that wraps around.
pub fn without_shift(range: Range, c: i64, n: i64) -> Option<Range> {
    let allowed = range.intersect(Range::new(0, n - 1));
    if allowed.is_empty() {
        return Some(Range::EMPTY);
    }
    let start = floor_mod(allowed.lo.checked_sub(c)?, n);
    let end = start.checked_add(allowed.hi - allowed.lo)?;
    (end < n).then_some(Range::new(start, end))
}

/// `x` with its constant, and `n`, where a form is `x - n*(x floordiv n)` up to the constant.
pub fn as_residue(work: &Work, form: &Linear) -> Option<(Linear, i64)> {
    let last = form.terms.last()?;
    let (num, n) = work.as_div(last.atom)?;
    let here = &form.terms[..form.terms.len() - 1];
    (last.coefficient == -n && here == &num.terms[..]).then(|| (num.clone(), n))
}

/// What `form in range` says of each variable: `x in (range - the other terms) / coefficient`; where a term is a
/// quotient, `x floordiv n in [l, u]` says `x in [l*n, u*n + n - 1]`
///
/// The range of a runtime variable is part of what it is (the clamp of its operation), so it stays.
pub fn propagate(work: &mut Work, form: &Linear, parts: &[Summand], range: Range, narrowed: &mut [Range]) -> bool {
    let mut changed = of_parts(work, parts, range, narrowed, MAX_NESTED);
    if work.has_div(form) {
        changed |= of_parts(work, &terms(form), range, narrowed, MAX_NESTED);
    }
    if let Some((num, n)) = as_residue(work, form) {
        if let ([t], 0) = (&num.terms[..], num.constant) {
            let flat = t.atom as usize;
            let is_free = t.coefficient == 1 && flat < work.n_vars && work.var(flat).kind != Kind::Runtime;
            if is_free && narrow(narrowed, flat, residue_ends(narrowed[flat], n, range)) {
                work.fire(Rule::ResidueEnds);
                changed = true;
            }
        }
    }
    if changed {
        work.fire(Rule::Propagate);
    }
    changed
}

fn terms(form: &Linear) -> Summands {
    form.terms.iter().map(|t| Summand::Term(*t)).collect()
}

/// How many quotients inside one another are looked through.
const MAX_NESTED: u32 = 4;

/// What `sum of parts in range` says of each part that is a variable or a quotient.
fn of_parts(work: &Work, parts: &[Summand], range: Range, narrowed: &mut [Range], nested: u32) -> bool {
    let Some(total) = total_ends(work, parts) else { return false };
    let mut changed = false;
    for part in parts {
        let Summand::Term(t) = *part else { continue };
        let Some(ends) = part.ends(work) else { continue };
        let (Some(lo), Some(hi)) = (total.0.checked_sub(ends.0), total.1.checked_sub(ends.1)) else { continue };
        let (lo, hi) = minus(range, (lo, hi));
        let by_form = divided((lo, hi), t.coefficient);
        match &work.atoms[t.atom as usize].kind {
            AtomKind::Var(flat) if work.var(*flat as usize).kind != Kind::Runtime => {
                changed |= narrow(narrowed, *flat as usize, by_form);
            }
            AtomKind::Div(num, n) if nested > 0 && !by_form.covers(work.atoms[t.atom as usize].range) => {
                if let Some((num, range)) =
                    of_quotient(num, *n, by_form).and_then(|(num, range)| without_constant(num, range).ok())
                {
                    changed |= of_parts(work, &terms(&num), range, narrowed, nested - 1);
                }
            }
            _ => {}
        }
    }
    changed
}

/// The range of a value `x` of 64 bits where `k*x` lies between the ends.
pub fn divided(ends: Ends, k: i64) -> Range {
    let (lo, hi) = ends_divided(ends, k);
    Range::between(lo, hi)
}

/// The ends of `x` where `k*x` lies between the ends.
pub fn ends_divided((lo, hi): Ends, k: i64) -> Ends {
    let (lo, hi) = if k < 0 { (hi.saturating_neg(), lo.saturating_neg()) } else { (lo, hi) };
    let k = k.unsigned_abs();
    (int::ceil_div_wide(lo, k), int::floor_div_wide(hi, k))
}

fn narrow(narrowed: &mut [Range], flat: usize, to: Range) -> bool {
    let before = narrowed[flat];
    narrowed[flat] = before.intersect(to);
    narrowed[flat] != before
}

/// `x mod n in [l, u]`: the ends of the range of `x` move to values that satisfy it
pub fn residue_ends(of_x: Range, n: i64, range: Range) -> Range {
    let allowed = range.intersect(Range::new(0, n - 1));
    if allowed.is_empty() || of_x.is_empty() {
        return Range::EMPTY;
    }
    let up = |x: i64| {
        let r = floor_mod(x, n);
        let step = if r < allowed.lo {
            allowed.lo - r
        } else if r > allowed.hi {
            n - (r - allowed.lo)
        } else {
            0
        };
        x.checked_add(step)
    };
    let down = |x: i64| {
        let r = floor_mod(x, n);
        let step = if r > allowed.hi {
            r - allowed.hi
        } else if r < allowed.lo {
            n - (allowed.hi - r)
        } else {
            0
        };
        x.checked_sub(step)
    };
    Range::new(up(of_x.lo).unwrap_or(i64::MAX), down(of_x.hi).unwrap_or(i64::MIN))
}

/// `q*x + g*y in [l, u]` beside `x mod n = r`, where `g` divides `n`: the ends move to values that are `q*r` modulo `g`
pub fn round_ends(work: &mut Work, kept: &mut [(Linear, Range)]) {
    for j in 0..kept.len() {
        let (Some((x, n)), Some(r)) = (as_residue(work, &kept[j].0), kept[j].1.as_point()) else { continue };
        for i in (0..kept.len()).filter(|i| *i != j) {
            let (form, range) = &kept[i];
            let Some(rounded) = rounded(form, *range, (&x, n, r)) else { continue };
            if rounded != *range {
                work.fire(Rule::ResidueRounds);
                kept[i].1 = rounded;
            }
        }
    }
}

/// The range without what `x mod n = r` forbids, where `x` stands in the form; the constants of both count as 0.
fn rounded(form: &Linear, range: Range, (x, n, r): (&Linear, i64, i64)) -> Option<Range> {
    let lead = x.terms.first()?;
    let k = form.coefficient(lead.atom);
    let q = k.checked_div(lead.coefficient).filter(|q| *q != 0 && k % lead.coefficient == 0)?;
    let mut rest = form.clone();
    rest.add_scaled(q.checked_neg()?, &Linear { constant: 0, ..x.clone() }).ok()?;
    let g = int::gcd(rest.content(), n)?;
    let residue = int::floor_mod(q, g).checked_mul(int::floor_mod(r, g))?;
    let up = range.lo.checked_add(floor_mod(residue.checked_sub(range.lo)?, g))?;
    let down = range.hi.checked_sub(floor_mod(range.hi.checked_sub(residue)?, g))?;
    Some(Range::new(up, down))
}

/// `x mod a = r` and `x mod b = s` are one condition on `x mod lcm(a, b)`, or contradict each other
pub fn merge_residues(work: &mut Work, kept: &mut SmallVec<[(Linear, Range); 2]>) -> Result<bool, Stop> {
    for i in 0..kept.len() {
        for j in 0..i {
            let (Some((x, a)), Some((y, b))) = (as_residue(work, &kept[i].0), as_residue(work, &kept[j].0)) else {
                continue;
            };
            let (Some(r), Some(s)) = (kept[i].1.as_point(), kept[j].1.as_point()) else {
                continue;
            };
            if x != y || x.constant != 0 {
                continue;
            }
            let Some((r, lcm)) = chinese_remainder(r, a, s, b) else {
                work.fire(Rule::MergeResidues);
                kept[i].1 = Range::EMPTY;
                return Ok(true);
            };
            let Some(lcm) = lcm else { continue };
            let mut merged = x.clone();
            let quotient = work.floor_div(x, lcm)?;
            merged.add_scaled(-lcm, &quotient)?;
            work.fire(Rule::MergeResidues);
            // Over a short range the quotient is a constant, which moves to the other side.
            kept[j] = without_constant(merged, Range::point(r))?;
            kept.remove(i);
            return Ok(true);
        }
    }
    Ok(false)
}

/// `x = r mod a` and `x = s mod b`: the residue modulo the least common multiple; `None` where there is no solution,
/// no modulus where it does not fit.
fn chinese_remainder(r: i64, a: i64, s: i64, b: i64) -> Option<(i64, Option<i64>)> {
    let (r, a, s, b) = (i128::from(r), i128::from(a), i128::from(s), i128::from(b));
    // Extended Euclid: g = a*u + b*v.
    let (mut g, mut next, mut u, mut next_u) = (a, b, 1i128, 0i128);
    while next != 0 {
        let q = g / next;
        (g, next) = (next, g - q * next);
        (u, next_u) = (next_u, u - q * next_u);
    }
    if (s - r) % g != 0 {
        return None;
    }
    let lcm = a / g * b;
    let step = ((s - r) / g % (b / g)) * u % (b / g);
    let x = (r + a * step).rem_euclid(lcm);
    Some((x as i64, i64::try_from(lcm).ok()))
}

/// The form of a constraint without its constant, with its range moved along.
fn without_constant(form: Linear, range: Range) -> Result<(Linear, Range), Stop> {
    let shift = int::mul(form.constant, -1)?;
    let range = Range::new(int::add(range.lo, shift)?, int::add(range.hi, shift)?);
    Ok((Linear { constant: 0, ..form }, range))
}
