//! The law of free variables: a value is written without the variables that it does not depend on.
//!
//! Two values of a variable beside one point of the others show most dependencies; that there is none is shown by all
//! points of a window (`periodicity.rs`), and only where they are few.

use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::affine::form::{AffineForm, AtomId};
use crate::analysis::periodicity::is_zero;
use crate::analysis::samples::{points, Sample, POINTS};
use crate::eval::points::value_at;
use crate::expr::{Expr, Op, Var};
use crate::rules::extraction::extract;

/// With fewer divs and remainders, the laws for each of them seldom leave a free variable: where two are looked at,
/// composed reshapes take 80 % more instructions.
const FEWEST_DIVMODS: u32 = 3;

/// The largest expression that is looked at.
const MAX_NODES: u32 = 512;

/// The most points that may show that there is no dependency.
const MAX_POINTS: u128 = 1 << 12;

/// An expression with a value in place of each variable that its own value does not depend on, anywhere in the box.
pub fn without_irrelevant_variables(cx: &mut AffineContext, _: Option<&AffineForm>, e: &Expr) -> Option<Expr> {
    if e.divmods() < FEWEST_DIVMODS || e.nodes() > MAX_NODES || is_undecided(cx, e) {
        return None;
    }
    let mut out: Option<Expr> = None;
    for v in candidates(cx, e) {
        let given = out.as_ref().unwrap_or(e);
        let interval = cx.range_of_var(v);
        let value = if interval.contains(0) { 0 } else { interval.lo };
        let fixed = given.substitute(&|w| Ok(if w == v { Expr::Const(value) } else { Expr::Var(w) })).ok()?;
        // To write it takes less than to show that it is the same everywhere.
        if !is_shorter(cx, &fixed, given) {
            continue;
        }
        let difference = cx.linear(given).and_then(|given| given.minus(&cx.linear(&fixed)?)).ok()?;
        if is_zero(cx, &difference, MAX_POINTS) == Some(true) {
            out = Some(fixed);
        }
    }
    out
}

/// Whether an expression is shorter than another once it is written.
fn is_shorter(cx: &mut AffineContext, e: &Expr, than: &Expr) -> bool {
    let cost = |e: &Expr| (e.divmods(), e.nodes());
    let form = cx.linear(e);
    form.and_then(|form| extract(cx, &form)).is_ok_and(|written| cost(&written) < cost(than))
}

/// Whether facts keep the law from saying anything: with another value of a variable a point may lie outside the domain, where
/// a divisor that is an expression need not be positive.
pub fn is_undecided(cx: &AffineContext, e: &Expr) -> bool {
    cx.has_facts() && e.divmods() >= FEWEST_DIVMODS && e.nodes() <= MAX_NODES && has_divisor(e)
}

/// Whether something is divided by an expression.
fn has_divisor(e: &Expr) -> bool {
    let here = matches!(e.op(), Some(Op::FloorDiv(_, n) | Op::Mod(_, n)) if n.as_const().is_none());
    here || e.operands().any(has_divisor)
}

/// The variables of an expression but those that alone tell two of its values apart; none where a value does not fit into
/// 64 bits.
fn candidates(cx: &AffineContext, e: &Expr) -> SmallVec<[Var; 8]> {
    let mut vars: SmallVec<[Var; 8]> = SmallVec::new();
    let interval = |flat: usize| cx.atom_range(flat as AtomId);
    e.for_each_var(&mut |v| vars.push(v));
    vars.sort_unstable();
    vars.dedup();
    // Where a variable with one value still stands, the caller wants it to.
    vars.retain(|v| interval(cx.flat(*v)).as_point().is_none());
    let samples: SmallVec<[Sample; 8]> = (0..cx.n_vars()).map(|flat| points(interval(flat), flat)).collect();
    for k in 0..POINTS {
        if vars.is_empty() {
            break;
        }
        let Some(here) = value_at(e, &|v| samples[cx.flat(v)][k]) else { return SmallVec::new() };
        vars.retain(|v| {
            let flat = cx.flat(*v);
            let own = samples[flat];
            let others = [own[(k + 1) % POINTS], own[k].saturating_add(1), own[k].saturating_sub(1)];
            others.iter().filter(|x| interval(flat).contains(**x)).all(|x| {
                let there = value_at(e, &|w| if w == *v { *x } else { samples[cx.flat(w)][k] });
                there == Some(here)
            })
        });
    }
    vars
}
