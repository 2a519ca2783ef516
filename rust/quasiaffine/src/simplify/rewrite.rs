//! Rewriting of expressions under the facts of a context: they are read as forms and written as the shortest
//! expressions.
//!
//! No law lives here.

use crate::limits::{NODES, ROUNDS};
use smallvec::SmallVec;

use crate::affine::context::AffineContext;
use crate::affine::form::{AffineForm, AtomId};
use crate::affine::written::Notes;
use crate::error::Stop;
use crate::expr::intervals::fits;
use crate::expr::{Expr, Op, Var};
use crate::fast_path::normal::NormalCheck;
use crate::rules::extraction::{extract, is_sum};
use crate::rules::related_divs::equalities;
use crate::rules::residues;
use crate::simplify::many_divs::{ManyDivs, Rewritten};

/// Rewrites the results under the facts. Returns whether they are certain to stay as they are. `check` is for a domain
/// without constraints.
pub fn rewrite_all(
    cx: &mut AffineContext,
    results: &[Expr],
    check: Option<&NormalCheck>,
) -> (SmallVec<[Expr; 4]>, bool) {
    // Under facts, the result may depend on the order of reading.
    let (mut is_final, order_counts) = (true, check.is_none());
    if cx.has_facts() && results.iter().any(|e| e.divmods() > 0) {
        // Without effort, none are known.
        if let (Ok(equalities), Ok(residues)) = (equalities(cx), residues::known(cx)) {
            cx.set_equalities(equalities, residues);
        }
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
        if form.as_ref().is_ok_and(|form| is_sum(cx, &e, form)) {
            out.push(e);
            continue;
        }
        let (mut extracted, of_form) = write_back(cx, &form, &e);
        if check.is_some()
            && !cx.notes.introduces_divs
            && of_form
            && form.as_ref().is_ok_and(|form| is_shallow(cx, form))
        {
            // The expression reads back as its form.
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
            // The next expression is read as a new context would read it.
            cx.forget_visited_since(visited);
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

/// Whether the divs of a form contain only variables, so that their expressions read back as the divs.
fn is_shallow(cx: &AffineContext, form: &AffineForm) -> bool {
    form.terms.iter().all(|t| cx.depth(t.atom) <= 1)
}

/// Rewrites an expression under the facts; returns it as it is if its form does not fit.
pub fn rewrite(cx: &mut AffineContext, e: &Expr) -> Expr {
    let form = cx.linear(e);
    write_back(cx, &form, e).0
}

/// Writes a form as an expression. Returns the original expression if that is shorter, if the form does not fit, or if
/// only the new expression could overflow 64 bits; and whether the result is the written form.
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

/// Rewrites the operands of an expression that does not fit as a whole; `None` if that is not shorter.
fn by_each_operand(cx: &mut AffineContext, e: &Expr) -> Option<Expr> {
    if e.nodes() > NODES || e.op().is_none() {
        return None;
    }
    let inside = e.with_operands(|operand| Ok(rewrite(cx, operand)));
    inside.ok().filter(|inside| cost(inside) < cost(e) && !fits_alone(cx, e, inside))
}

/// Whether all intermediate values of one expression fit into 64 bits, while those of another may not.
pub(super) fn fits_alone(cx: &AffineContext, e: &Expr, other: &Expr) -> bool {
    let of_var = |v: Var| cx.range_of_var(v);
    !fits(&of_var, other) && fits(&of_var, e)
}

/// Rewrites an expression inside its remainders, which stay: if a law takes the quotient of a remainder apart, the
/// remainder may be shorter.
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

/// The replacement of a variable: a constant if the variable has one value, or an equal variable.
fn replacement(cx: &AffineContext, v: Var) -> Option<Expr> {
    let i = cx.flat(v);
    let alias = cx.alias_of(i);
    let keeps = cx.keeps(v);
    match cx.atom_range(alias as AtomId).as_point().filter(|_| !keeps) {
        Some(value) => Some(Expr::Const(value)),
        None => (alias != i).then(|| Expr::Var(cx.var(alias))),
    }
}

/// Whether an expression uses a variable that has a replacement.
fn is_replaced(cx: &AffineContext, e: &Expr) -> bool {
    // Walking a large expression as a tree costs more than a pass over the variables of the domain.
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

/// The expression with replaced variables; `None` if that does not fit.
pub(super) fn given(cx: &AffineContext, e: &Expr) -> Option<Expr> {
    if !is_replaced(cx, e) {
        return Some(e.clone());
    }
    e.substitute(&|v| Ok(replacement(cx, v).unwrap_or(Expr::Var(v)))).ok()
}
