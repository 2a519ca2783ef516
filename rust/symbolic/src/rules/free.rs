//! The law of free variables: a value is written without the variables that it does not depend on.
//!
//! Read [`without_free`]. Two values of a variable beside one point of the others show most dependencies; that there is none
//! is shown by all points of a window (`zero.rs`), and only where they are few.

use smallvec::SmallVec;

use crate::expr::{Expr, Op, Var};
use crate::points::value_at;
use crate::sample::{points, Sample, POINTS};
use crate::work::Work;
use crate::zero::is_zero;

/// With fewer quotients and remainders, the laws for each of them seldom leave a free variable: where two are looked at,
/// composed reshapes take 80 % more instructions.
const FEWEST_DIVMODS: u32 = 3;

/// The largest expression that is looked at.
const MAX_NODES: u32 = 512;

/// The most points that may show that there is no dependency.
const MAX_POINTS: u128 = 1 << 12;

/// An expression with a value in place of each variable that its own value does not depend on, anywhere in the box.
pub fn without_free(work: &mut Work, e: &Expr) -> Option<Expr> {
    if e.divmods() < FEWEST_DIVMODS || e.nodes() > MAX_NODES || is_undecided(work, e) {
        return None;
    }
    let mut out: Option<Expr> = None;
    for v in candidates(work, e) {
        let given = out.as_ref().unwrap_or(e);
        let range = work.atoms[work.flat(v)].range;
        let value = if range.contains(0) { 0 } else { range.lo };
        let fixed = given.substitute(&|w| Ok(if w == v { Expr::Const(value) } else { Expr::Var(w) })).ok()?;
        let difference = work.linear(given).and_then(|given| given.minus(&work.linear(&fixed)?)).ok()?;
        if is_zero(work, &difference, MAX_POINTS) == Some(true) {
            out = Some(fixed);
        }
    }
    out
}

/// Whether facts keep the law from saying anything: with another value of a variable a point may lie outside the domain, where
/// a divisor that is an expression need not be positive.
pub fn is_undecided(work: &Work, e: &Expr) -> bool {
    !work.facts.is_empty() && e.divmods() >= FEWEST_DIVMODS && e.nodes() <= MAX_NODES && has_divisor(e)
}

/// Whether something is divided by an expression.
fn has_divisor(e: &Expr) -> bool {
    let here = matches!(e.op(), Some(Op::FloorDiv(_, n) | Op::Mod(_, n)) if n.as_const().is_none());
    here || e.operands().any(has_divisor)
}

/// The variables of an expression but those that alone tell two of its values apart; none where a value does not fit into
/// 64 bits.
fn candidates(work: &Work, e: &Expr) -> SmallVec<[Var; 8]> {
    let mut vars: SmallVec<[Var; 8]> = SmallVec::new();
    let range = |flat: usize| work.atoms[flat].range;
    e.for_each_var(&mut |v| vars.push(v));
    vars.sort_unstable();
    vars.dedup();
    // Where a variable with one value still stands, the caller wants it to.
    vars.retain(|v| range(work.flat(*v)).as_point().is_none());
    let samples: SmallVec<[Sample; 8]> = (0..work.n_vars).map(|flat| points(range(flat), flat)).collect();
    for k in 0..POINTS {
        if vars.is_empty() {
            break;
        }
        let Some(here) = value_at(e, &|v| samples[work.flat(v)][k]) else { return SmallVec::new() };
        vars.retain(|v| {
            let flat = work.flat(*v);
            let own = samples[flat];
            let others = [own[(k + 1) % POINTS], own[k].saturating_add(1), own[k].saturating_sub(1)];
            others.iter().filter(|x| range(flat).contains(**x)).all(|x| {
                let there = value_at(e, &|w| if w == *v { *x } else { samples[work.flat(w)][k] });
                there == Some(here)
            })
        });
    }
    vars
}
