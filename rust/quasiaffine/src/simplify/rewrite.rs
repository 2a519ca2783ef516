//! Expressions under what a context knows: read as forms, written as the shortest expressions for them.
//!
//! No law lives here.

use crate::limits::{NODES, ROUNDS};
use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::affine::form::{AffineForm, AtomId};
use crate::analysis::wide_interval::fits;
use crate::error::Stop;
use crate::expr::{Expr, Op, Var};
use crate::fast_path::normal::NormalCheck;
use crate::rules::extraction::{extract, Notes};
use crate::rules::related_divs::equalities;
use crate::rules::residues;
use crate::simplify::many_divs::{ManyDivs, Rewritten};

/// The results under what is known, and whether they are certain to stay as they are. `check` is for a domain without
/// constraints.
pub fn rewrite_all(
    cx: &mut AffineContext,
    results: &[Expr],
    check: Option<&NormalCheck>,
) -> (SmallVec<[Expr; 4]>, bool) {
    // Under facts, the order of reading may decide what they state.
    let (mut is_final, order_counts) = (true, check.is_none());
    if cx.has_facts() && results.iter().any(|e| e.divmods() > 0) {
        let known = equalities(cx);
        cx.set_equalities(known, residues::known(cx));
    }
    let mut out = SmallVec::with_capacity(results.len());
    let mut many_divs = ManyDivs::default();
    for e in results {
        let visited = cx.stability.mark();
        let e = match many_divs.rewrite(cx, e, check) {
            Rewritten::Few(e) => e,
            Rewritten::Done(e, stays) => {
                is_final &= stays;
                out.push(e);
                continue;
            }
        };
        let mut form = cx.linear(&e);
        let (mut extracted, of_form) = write_back(cx, &form, &e);
        if check.is_some()
            && !cx.notes.introduces_divs
            && of_form
            && form.as_ref().is_ok_and(|form| is_shallow(cx, form))
        {
            // It reads as the form that it comes from.
            out.push(extracted);
            continue;
        }
        let mut rounds = 0;
        loop {
            if form.as_ref().is_ok_and(|form| cx.is_plain(form)) || check.is_some_and(|g| g.stays(&extracted)) {
                break;
            }
            cx.stability.checks = true;
            let again = cx.linear(&extracted);
            cx.stability.checks = false;
            if again.is_err() || again == form || rounds == ROUNDS {
                is_final &= again.is_ok() && again == form;
                break;
            }
            rounds += 1;
            // What is read next is all that a new context would meet.
            cx.unread(visited);
            (extracted, _) = write_back(cx, &again, &extracted);
            form = again;
        }
        out.push(extracted);
    }
    if cx.has_equalities() || !cx.residues.is_empty() {
        cx.set_equalities(Vec::new(), Vec::new());
    }
    (out, is_final && !(cx.stability.out_of_order && order_counts))
}

/// Whether nothing stands in the divs of a form but variables, so that what is written of them reads as them.
fn is_shallow(cx: &AffineContext, form: &AffineForm) -> bool {
    form.terms.iter().all(|t| cx.depth(t.atom) <= 1)
}

/// An expression under what is known; the expression itself where it does not fit.
pub fn rewrite(cx: &mut AffineContext, e: &Expr) -> Expr {
    let form = cx.linear(e);
    write_back(cx, &form, e).0
}

/// A form as an expression; the one that it comes from where that is shorter, where the form does not fit, or where
/// only what is written could leave 64 bits on the way. Whether it is the form that is written goes with it.
pub(super) fn write_back(cx: &mut AffineContext, form: &Result<AffineForm, Stop>, e: &Expr) -> (Expr, bool) {
    cx.notes = Notes::default();
    let extracted = form.as_ref().ok().and_then(|form| extract(cx, form).ok());
    let given = given(cx, e);
    if let (Err(Stop::Overflow), Some(given)) = (form, &given) {
        return (by_each_operand(cx, given).unwrap_or_else(|| given.clone()), false);
    }
    let (Some(extracted), Some(given)) = (&extracted, &given) else {
        return (extracted.or(given).unwrap_or_else(|| e.clone()), false);
    };
    if cx.notes.may_overflow && fits_alone(cx, given, extracted) {
        (given.clone(), false)
    } else if cost(extracted) > cost(given) {
        let inside = by_operands(cx, given).filter(|inside| cost(inside) < cost(given));
        (inside.filter(|inside| !fits_alone(cx, given, inside)).unwrap_or_else(|| given.clone()), false)
    } else {
        (extracted.clone(), true)
    }
}

/// An expression that does not fit as a whole, with its operands written anew; nothing if that is not shorter.
fn by_each_operand(cx: &mut AffineContext, e: &Expr) -> Option<Expr> {
    if e.nodes() > NODES || e.op().is_none() {
        return None;
    }
    let inside = e.with_operands(|operand| Ok(rewrite(cx, operand)));
    inside.ok().filter(|inside| cost(inside) < cost(e) && !fits_alone(cx, e, inside))
}

/// Whether one expression fits into 64 bits on the way to its value where another may not.
pub(super) fn fits_alone(cx: &AffineContext, e: &Expr, other: &Expr) -> bool {
    let of_var = |v: Var| cx.range_of_var(v);
    !fits(&of_var, other) && fits(&of_var, e)
}

/// An expression whose remainders stay, with what stands in them written anew: where a law takes the quotient of a remainder
/// apart, the remainder may be what is shorter.
fn by_operands(cx: &mut AffineContext, e: &Expr) -> Option<Expr> {
    match e.op().filter(|_| e.nodes() <= NODES)? {
        Op::Mod(a, n) if n.as_const().is_some() => rewrite(cx, a).floor_mod(n).ok(),
        Op::Sum(_) => e.with_operands(|atom| Ok(by_operands(cx, atom).unwrap_or_else(|| atom.clone()))).ok(),
        _ => None,
    }
}

pub(super) fn cost(e: &Expr) -> (u32, u32) {
    (e.divmods(), e.nodes())
}

/// The replacement of a variable: a constant where it has one value, or an equal variable.
fn replacement(cx: &AffineContext, v: Var) -> Option<Expr> {
    let i = cx.flat(v);
    let alias = cx.stands_for(i);
    let keeps = cx.keeps(v);
    match cx.atom_range(alias as AtomId).as_point().filter(|_| !keeps) {
        Some(value) => Some(Expr::Const(value)),
        None => (alias != i).then(|| Expr::Var(cx.var(alias))),
    }
}

/// Whether an expression uses a variable that is written as something else.
fn is_replaced(cx: &AffineContext, e: &Expr) -> bool {
    // The variables of a large expression are walked as a tree, those of a domain are as many for each small one.
    let is_large = e.nodes() as usize > cx.n_vars();
    if is_large
        && cx.alias.is_empty()
        && (0..cx.n_vars()).all(|flat| cx.atom_range(flat as AtomId).as_point().is_none())
    {
        return false;
    }
    let mut found = false;
    e.for_each_var(&mut |v| found |= replacement(cx, v).is_some());
    found
}

/// An expression in the variables that stand for others; nothing where that does not fit.
pub(super) fn given(cx: &AffineContext, e: &Expr) -> Option<Expr> {
    if !is_replaced(cx, e) {
        return Some(e.clone());
    }
    e.substitute(&|v| Ok(replacement(cx, v).unwrap_or(Expr::Var(v)))).ok()
}
