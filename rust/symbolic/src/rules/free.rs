//! The law of free variables: a value is written without the variables that it does not depend on.
//!
//! Read [`without_free`]. Two values of a variable beside one point of the others show most dependencies; that there is none
//! is shown by all points of a window ([`crate::zero`]), and only where they are few.

use smallvec::SmallVec;

use super::{write, Rule};
use crate::expr::{Expr, Var};
use crate::linear::Work;
use crate::points::value_at;
use crate::sample::{points, Sample, POINTS};
use crate::zero::is_zero;

/// With fewer quotients and remainders, the laws for each of them leave no free variable.
const FEWEST_DIVMODS: u32 = 3;

/// The largest expression that is looked at.
const MAX_NODES: u32 = 512;

/// The most points that may show that there is no dependency.
const MAX_POINTS: u128 = 1 << 12;

/// A shorter expression with the same value everywhere in the box. What it reads on the way goes to `read`, which has to
/// live as long as the workspace.
pub fn without_free(work: &mut Work, e: &Expr, read: &mut SmallVec<[Expr; 4]>) -> Option<Expr> {
    if e.divmods() < FEWEST_DIVMODS || e.nodes() > MAX_NODES || !work.facts.is_empty() {
        return None;
    }
    let mut out: Option<Expr> = None;
    for v in candidates(work, e) {
        let given = out.as_ref().unwrap_or(e);
        if let Some(shorter) = without(work, given, v, read) {
            work.fire(Rule::FreeVariable);
            out = Some(shorter);
        }
    }
    out
}

fn without(work: &mut Work, e: &Expr, v: Var, read: &mut SmallVec<[Expr; 4]>) -> Option<Expr> {
    let range = work.atoms[work.flat(v)].range;
    let value = Expr::Const(if range.contains(0) { 0 } else { range.lo });
    let fixed = e.substitute(&|w| Ok(if w == v { value.clone() } else { Expr::Var(w) })).ok()?;
    read.extend([e.clone(), fixed.clone()]);
    let (given, form) = (work.linear(e).ok()?, work.linear(&fixed).ok()?);
    if is_zero(work, &given.minus(&form).ok()?, MAX_POINTS) != Some(true) {
        return None;
    }
    let written = write::write(work, &form).ok()?;
    let cost = |e: &Expr| (e.divmods(), e.nodes());
    (cost(&written) < cost(e)).then_some(written)
}

/// The variables of an expression but those that alone tell two of its values apart; none where a value does not fit into
/// 64 bits.
fn candidates(work: &Work, e: &Expr) -> SmallVec<[Var; 8]> {
    let mut vars: SmallVec<[Var; 8]> = SmallVec::new();
    e.for_each_var(&mut |v| vars.push(v));
    vars.sort_unstable();
    vars.dedup();
    let range = |flat: usize| work.atoms[flat].range;
    let samples: SmallVec<[Sample; 8]> = (0..work.vars.len()).map(|flat| points(range(flat), flat)).collect();
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
