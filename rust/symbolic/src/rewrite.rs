//! Expressions under what a workspace knows: read as forms, written as the shortest expressions for them.
//!
//! Read [`rewrite_all`]. No law lives here.

use smallvec::SmallVec;

use crate::error::Stop;
use crate::expr::{Accumulator, Expr, Kind, Op, Var};
use crate::interval::fits;
use crate::linear::Linear;
use crate::rules::dependent::without_dependent;
use crate::rules::free::{is_undecided, without_free};
use crate::rules::related::equalities;
use crate::rules::stairs::as_stairs;
use crate::rules::write::{has_own_order, write, Notes};
use crate::rules::Rule;
use crate::settled::Glance;
use crate::work::Work;

/// How often one expression may be written and read again.
const MAX_ROUNDS: usize = 12;

/// The largest expression whose operands are written anew. They are walked as a tree, and a small graph can stand for a tree of
/// any size.
const MAX_NODES: u32 = 512;

/// The results under what is known, and whether they are certain to stay as they are. The glance is for a domain without
/// constraints.
pub fn rewrite_all(work: &mut Work, results: &[Expr], glance: Option<&Glance>) -> (SmallVec<[Expr; 4]>, bool) {
    let (mut is_sure, mut order_counts) = (true, glance.is_none());
    if !work.facts.is_empty() && results.iter().any(|e| e.divmods() > 0) {
        let known = equalities(work);
        work.set_equalities(known);
    }
    let mut out = SmallVec::with_capacity(results.len());
    for e in results {
        let met = work.reading.mark();
        let mut form = work.linear(e);
        let (mut written, mut of_form) = write_back(work, &form, e);
        if glance.is_some() && !work.notes.is_turned && is_independent(work, &form, of_form) {
            // It reads as the form that it comes from.
            is_sure &= !by_values(work, &form, &mut written);
            out.push(written);
            continue;
        }
        let mut rounds = 0;
        loop {
            if form.as_ref().is_ok_and(|form| work.is_plain(form)) || glance.is_some_and(|g| g.stays(&written)) {
                break;
            }
            work.reading.checks = true;
            let again = work.linear(&written);
            work.reading.checks = false;
            if again.is_err() || again == form || rounds == MAX_ROUNDS {
                is_sure &= again.is_ok() && again == form;
                order_counts |= !is_independent(work, &form, of_form);
                is_sure &= !by_values(work, &form, &mut written);
                break;
            }
            rounds += 1;
            // What is read next is all that a new workspace would meet.
            work.unread(met);
            (written, of_form) = write_back(work, &again, &written);
            form = again;
        }
        out.push(written);
    }
    if !work.equalities.is_empty() {
        work.set_equalities(Vec::new());
    }
    (out, is_sure && !(work.reading.out_of_order && order_counts))
}

/// Whether what was written last is a form, whatever the numbers of its atoms are.
fn is_independent(work: &Work, form: &Result<Linear, Stop>, of_form: bool) -> bool {
    of_form && !work.notes.by_number && form.as_ref().is_ok_and(|form| has_own_order(work, form))
}

/// Applies the laws that look at the values of a whole result; whether one changes it, or could without the facts. One quotient
/// is never too many.
fn by_values(work: &mut Work, form: &Result<Linear, Stop>, written: &mut Expr) -> bool {
    if written.divmods() < 2 {
        return false;
    }
    let stairs = as_stairs(work, written);
    let mut changes = take_shorter(work, Rule::Stairs, stairs, written);
    changes |= is_undecided(work, written);
    let fixed = without_free(work, written);
    changes |= take_shorter(work, Rule::FreeVariable, fixed, written);
    let by_others = form.as_ref().ok().filter(|_| !changes).and_then(|form| without_dependent(work, form, written));
    changes | take_shorter(work, Rule::DependentQuotient, by_others, written)
}

/// What a law of whole results says in place of one, where that is shorter once it is written; whether it is.
fn take_shorter(work: &mut Work, rule: Rule, by_law: Option<Expr>, written: &mut Expr) -> bool {
    let Some(by_law) = by_law else { return false };
    let shorter = rewrite(work, &by_law);
    let is_shorter = cost(&shorter) < cost(written) && !fits_alone(work, written, &shorter);
    if is_shorter {
        work.fire(rule);
        *written = shorter;
    }
    is_shorter
}

/// An expression under what is known; the expression itself where it does not fit.
pub fn rewrite(work: &mut Work, e: &Expr) -> Expr {
    let form = work.linear(e);
    write_back(work, &form, e).0
}

/// A form as an expression; the one that it comes from where that is shorter, where the form does not fit, or where
/// only what is written could leave 64 bits on the way. Whether it is the form that is written goes with it.
fn write_back(work: &mut Work, form: &Result<Linear, Stop>, e: &Expr) -> (Expr, bool) {
    work.notes = Notes::default();
    let written = form.as_ref().ok().and_then(|form| write(work, form).ok());
    let given = if is_replaced(work, e) { replaced(work, e) } else { Some(e.clone()) };
    if let (Err(Stop::Overflow), Some(given)) = (form, &given) {
        return (by_each_operand(work, given).unwrap_or_else(|| given.clone()), false);
    }
    let (Some(written), Some(given)) = (&written, &given) else {
        return (written.or(given).unwrap_or_else(|| e.clone()), false);
    };
    if work.notes.may_overflow && fits_alone(work, given, written) {
        (given.clone(), false)
    } else if cost(written) > cost(given) {
        let inside = by_operands(work, given).filter(|inside| cost(inside) < cost(given));
        (inside.filter(|inside| !fits_alone(work, given, inside)).unwrap_or_else(|| given.clone()), false)
    } else {
        (written.clone(), true)
    }
}

/// An expression that does not fit as a whole, with its operands written anew; nothing where that is no shorter.
fn by_each_operand(work: &mut Work, e: &Expr) -> Option<Expr> {
    let op = e.op().filter(|_| e.nodes() <= MAX_NODES)?;
    let mut of = |e: &Expr| rewrite(work, e);
    let inside = match op {
        Op::Sum(sum) => {
            let mut out = Accumulator::default();
            out.add(1, &Expr::Const(sum.constant)).ok()?;
            for t in &sum.terms {
                out.add(t.coefficient, &of(&t.atom)).ok()?;
            }
            out.finish()
        }
        Op::Product(a, b) => of(a).mul(&of(b)),
        Op::FloorDiv(a, b) => of(a).floor_div(&of(b)),
        Op::Mod(a, b) => of(a).floor_mod(&of(b)),
        Op::Min(a, b) => of(a).minimum(&of(b)),
        Op::Max(a, b) => of(a).maximum(&of(b)),
    };
    inside.ok().filter(|inside| cost(inside) < cost(e) && !fits_alone(work, e, inside))
}

/// Whether one expression fits into 64 bits on the way to its value where another may not.
fn fits_alone(work: &Work, e: &Expr, other: &Expr) -> bool {
    let of_var = |v: Var| work.atoms[work.flat(v)].range;
    !fits(&of_var, other) && fits(&of_var, e)
}

/// An expression whose remainders stay, with what stands in them written anew: where a law takes the quotient of a remainder
/// apart, the remainder may be what is shorter.
fn by_operands(work: &mut Work, e: &Expr) -> Option<Expr> {
    match e.op().filter(|_| e.nodes() <= MAX_NODES)? {
        Op::Mod(a, n) if n.as_const().is_some() => rewrite(work, a).floor_mod(n).ok(),
        Op::Sum(sum) => {
            let mut out = Accumulator::default();
            out.add(1, &Expr::Const(sum.constant)).ok()?;
            for t in &sum.terms {
                let atom = by_operands(work, &t.atom);
                out.add(t.coefficient, atom.as_ref().unwrap_or(&t.atom)).ok()?;
            }
            out.finish().ok()
        }
        _ => None,
    }
}

fn cost(e: &Expr) -> (u32, u32) {
    (e.divmods(), e.nodes())
}

/// What a variable is written as: a constant where it has one value, an equal variable.
fn replacement(work: &Work, v: Var) -> Option<Expr> {
    let i = work.flat(v);
    let alias = work.stands_for(i);
    let keeps = work.keep_point_dims && v.kind == Kind::Dim;
    match work.atoms[alias].range.as_point().filter(|_| !keeps) {
        Some(value) => Some(Expr::Const(value)),
        None => (alias != i).then(|| Expr::Var(work.var(alias))),
    }
}

/// Whether an expression uses a variable that is written as something else.
fn is_replaced(work: &Work, e: &Expr) -> bool {
    if work.alias.is_empty() && work.atoms[..work.n_vars].iter().all(|atom| atom.range.as_point().is_none()) {
        return false;
    }
    let mut found = false;
    e.for_each_var(&mut |v| found |= replacement(work, v).is_some());
    found
}

fn replaced(work: &Work, e: &Expr) -> Option<Expr> {
    e.substitute(&|v| Ok(replacement(work, v).unwrap_or(Expr::Var(v)))).ok()
}
