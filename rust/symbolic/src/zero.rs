//! Whether a form is 0 at every point of a box, by the points of one window.
//!
//! Read [`is_zero`]. The terms fall into groups that share no variable, and the form is 0 where each group has one value
//! and these add up to 0. Each group is quasi-periodic: moving a variable by the least common multiple of the divisors
//! above it changes the group by a constant. So a window of one period and one step beyond decides it.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::evaluate::Program;
use crate::linear::{AtomId, AtomKind, Linear, Work};
use crate::points::{box_points, with_points};
use crate::range::Range;

/// Whether a form is 0 all over the box of the variables. `None` where that is not decided, or would take more points than
/// the limit for some group; a form that is not 0 somewhere in the box may still be 0 all over a domain with constraints.
pub(crate) fn is_zero(work: &mut Work, form: &Linear, limit: u128) -> Option<bool> {
    if form.terms.is_empty() {
        return Some(form.constant == 0);
    }
    let range = work.range_of(form);
    if !range.contains(0) {
        return Some(false);
    }
    let mut total = i128::from(form.constant);
    for group in groups(work, form) {
        match constant_value(work, &group, limit)? {
            Some(value) => total += i128::from(value),
            None => return Some(false),
        }
    }
    Some(total == 0)
}

/// The terms of a form, apart where they share no variable.
fn groups(work: &Work, form: &Linear) -> Vec<Linear> {
    let mut out: Vec<(FxHashSet<usize>, Linear)> = Vec::new();
    for t in &form.terms {
        let mut vars = FxHashSet::default();
        vars_of(work, t.atom, &mut vars);
        let mut group = Linear { constant: 0, terms: SmallVec::from_slice(&[*t]) };
        let (touching, apart): (Vec<_>, Vec<_>) = out.into_iter().partition(|(v, _)| !v.is_disjoint(&vars));
        out = apart;
        for (v, f) in touching {
            vars.extend(v);
            group.terms.extend(f.terms);
        }
        group.terms.sort_by_key(|t| t.atom);
        out.push((vars, group));
    }
    out.into_iter().map(|(_, f)| f).collect()
}

fn vars_of(work: &Work, atom: AtomId, out: &mut FxHashSet<usize>) {
    match &work.atoms[atom as usize].kind {
        AtomKind::Var(flat) => {
            out.insert(*flat as usize);
        }
        AtomKind::Div(num, _) => num.terms.iter().for_each(|t| vars_of(work, t.atom, out)),
        AtomKind::Other(_, operands) => {
            operands.0.terms.iter().chain(&operands.1.terms).for_each(|t| vars_of(work, t.atom, out));
        }
    }
}

/// The value of a form that is constant over the box of its variables; `Some(None)` where it is not constant, `None`
/// where it is not decided.
fn constant_value(work: &mut Work, form: &Linear, limit: u128) -> Option<Option<i64>> {
    let mut vars = FxHashSet::default();
    form.terms.iter().for_each(|t| vars_of(work, t.atom, &mut vars));
    let mut vars: Vec<usize> = vars.into_iter().collect();
    vars.sort_unstable();
    let expr = crate::rules::write::write(work, form).ok()?;
    let mut window = work.the_box();
    let mut beyond: Vec<(usize, i64)> = Vec::new();
    for v in &vars {
        let range = window.vars[*v].range;
        let Some(period) = form_period(work, form, *v) else { continue };
        if range.size() > period as u128 {
            window.vars[*v].range = Range::new(range.lo, range.lo + (period - 1));
            beyond.push((*v, range.lo.checked_add(period)?));
        }
    }
    let size = vars.iter().fold(1u128, |n, v| n.saturating_mul(window.vars[*v].range.size()));
    if size > limit {
        return None;
    }
    let ranges: Vec<Range> = window.vars.iter().map(|v| v.range).collect();
    let mut columns = box_points(&ranges, &vars, size as usize);
    // One step of a whole period for each variable, from the lower corner.
    for (v, value) in beyond {
        for (i, column) in columns.iter_mut().enumerate() {
            column.push(if i == v { value } else { ranges[i].lo });
        }
    }
    let program = Program::of(&window, &[expr]).ok()?;
    let values = with_points(&window, &columns, |points| program.run::<false>(points)).ok()?;
    let first = *values.first()?;
    Some(values.iter().all(|v| *v == first).then_some(first))
}

fn form_period(work: &Work, form: &Linear, v: usize) -> Option<i64> {
    form.terms.iter().try_fold(1i64, |m, t| lcm(m, atom_period(work, t.atom, v)?))
}

/// A number `m` such that moving variable `v` by `m` changes the atom by a constant; `None` where none is known.
fn atom_period(work: &Work, atom: AtomId, v: usize) -> Option<i64> {
    match &work.atoms[atom as usize].kind {
        AtomKind::Var(_) => Some(1),
        AtomKind::Other(..) => {
            let mut vars = FxHashSet::default();
            vars_of(work, atom, &mut vars);
            (!vars.contains(&v)).then_some(1)
        }
        AtomKind::Div(num, n) => {
            let inner = form_period(work, num, v)?;
            // Over one inner period the numerator moves by `step`; after `n / gcd(step, n)` of them by a multiple of n.
            let step = form_step(work, num, v, inner)?;
            let g = crate::int::gcd(i64::try_from(step.rem_euclid(i128::from(*n))).ok()?, *n)?;
            inner.checked_mul(n / g)
        }
    }
}

/// By how much a form changes when variable `v` moves by `m`, a multiple of its period.
fn form_step(work: &Work, form: &Linear, v: usize, m: i64) -> Option<i128> {
    form.terms.iter().try_fold(0i128, |sum, t| {
        let step = match &work.atoms[t.atom as usize].kind {
            AtomKind::Var(flat) => i128::from(if *flat as usize == v { m } else { 0 }),
            AtomKind::Other(..) => 0,
            AtomKind::Div(num, n) => form_step(work, num, v, m)?.div_euclid(i128::from(*n)),
        };
        sum.checked_add(step.checked_mul(i128::from(t.coefficient))?)
    })
}

fn lcm(a: i64, b: i64) -> Option<i64> {
    (a / crate::int::gcd(a, b)?).checked_mul(b)
}
