//! Expressions of many divs: their remainders stay closed, and are opened if that leaves fewer divs.
//!
//! Opening `x mod n` as `x - n*(x floordiv n)` lets equal values cancel. If nothing cancels, it takes each quotient
//! of a remainder apart into quotients of both, at every level: the divs of a chain of operations would grow with a
//! power of its length. So both readings are made, and the open one is written only if its estimate is smaller. No law
//! lives here.

use crate::affine::context::{AffineContext, AtomKind};
use crate::affine::form::AffineForm;
use crate::error::Stop;
use crate::expr::{Expr, Op, Parts};
use crate::fast_path::normal::NormalCheck;
use crate::limits::{ALTERNATIVES, FEW_DIVS, GROWTH, NODES, ROUNDS};
use crate::rules::extraction::{estimate, extract};
use crate::rules::remainder;
use crate::simplify::rewrite::{cost, fits_alone, given, write_back};

/// The outcome of rewriting an expression.
pub enum Rewritten {
    /// An expression with few divs, for which the open reading alone decides.
    Few(Expr),
    /// The final expression, and whether it is certain to stay as it is.
    Done(Expr, bool),
}

/// The second context, whose remainders are atoms, once it is needed.
#[derive(Default)]
pub struct ManyDivs {
    closed: Option<AffineContext>,
}

impl ManyDivs {
    /// An expression with fewer div/mod nodes, or the same.
    pub fn rewrite(&mut self, cx: &mut AffineContext, e: &Expr, check: Option<&NormalCheck>) -> Rewritten {
        // An equality replaces divs by others, which shows only when the open form is written.
        let few = if !cx.has_equalities() { FEW_DIVS } else { ALTERNATIVES as u32 };
        if e.divmods() <= few {
            return Rewritten::Few(e.clone());
        }
        let is_few = |cx: &mut AffineContext, e: &Expr| {
            e.divmods() <= few || (e.divmods() <= ALTERNATIVES as u32 && opens_to_few(cx, e))
        };
        let Some(mut e) = given(cx, e) else { return Rewritten::Few(e.clone()) };
        for _ in 0..ROUNDS {
            if is_few(cx, &e) {
                return Rewritten::Few(e);
            }
            let kept = self.with_remainders(cx, &e);
            if check.is_some_and(|check| check.stays(&kept.expr)) {
                return Rewritten::Done(kept.expr, true);
            }
            if kept.expr != e && is_few(cx, &kept.expr) {
                // As if this were the given expression.
                return Rewritten::Few(kept.expr);
            }
            e = kept.expr;
            let form = if shares_variables(&e) { cx.linear(&e) } else { Err(Stop::Effort) };
            let promises_less = form.as_ref().is_ok_and(|form| {
                n_divs(cx, form) < kept.n_divs && estimate(cx, form) <= GROWTH * u64::from(e.divmods())
            });
            let written = if promises_less { write_back(cx, &form, &e).0 } else { e.clone() };
            if written == e {
                return Rewritten::Done(e, true);
            }
            e = written;
        }
        Rewritten::Done(e, false)
    }

    /// Reads an expression with remainders as atoms and writes it, until that changes nothing.
    fn with_remainders(&mut self, cx: &mut AffineContext, e: &Expr) -> Kept {
        let closed = self.closed.get_or_insert_with(|| cx.closing_remainders());
        closed.budget.meter = cx.budget.meter.clone();
        let mut kept = Kept { expr: e.clone(), n_divs: usize::MAX };
        for _ in 0..ROUNDS {
            let form = closed.linear(&kept.expr);
            let form = form.and_then(|mut form| remainder::cancel(closed, &mut form).map(|()| form));
            let Ok(form) = form else { break };
            kept.n_divs = n_divs(closed, &form);
            match extract(closed, &form) {
                Ok(expr) if cost(&expr) < cost(&kept.expr) && !fits_alone(cx, &kept.expr, &expr) => kept.expr = expr,
                _ => break,
            }
        }
        cx.budget.meter = closed.budget.meter.clone();
        kept
    }
}

/// Whether an expression with open remainders has so few divs that the open reading alone decides.
fn opens_to_few(cx: &mut AffineContext, e: &Expr) -> bool {
    cx.linear(e).is_ok_and(|form| n_divs(cx, &form) < FEW_DIVS as usize)
}

/// An expression with closed remainders.
struct Kept {
    expr: Expr,
    /// The different divs and remainders in it.
    n_divs: usize,
}

/// The different divs and nonlinear atoms in a form.
fn n_divs(cx: &AffineContext, form: &AffineForm) -> usize {
    fn count(cx: &AffineContext, form: &AffineForm, seen: &mut [bool]) -> usize {
        let mut n = 0;
        for t in &form.terms {
            if cx.is_var(t.atom) || std::mem::replace(&mut seen[t.atom as usize - cx.n_vars()], true) {
                continue;
            }
            n += match cx.kind(t.atom) {
                AtomKind::Var(_) => 0,
                AtomKind::Div(num, _) => 1 + count(cx, num, seen),
                AtomKind::Other(_, operands) => 1 + count(cx, &operands.0, seen) + count(cx, &operands.1, seen),
            };
        }
        n
    }
    count(cx, form, &mut vec![false; cx.atoms.len() - cx.n_vars()])
}

/// Whether two terms of one sum have a common variable, so that opening a remainder could cancel something. True
/// without a check for expressions with many nodes or variables.
fn shares_variables(e: &Expr) -> bool {
    /// The variables as bits; `None` if two terms share a variable.
    fn variables(e: &Expr) -> Option<u64> {
        match (e, e.op().map(Op::parts)) {
            (Expr::Var(v), _) => 1u64.checked_shl(v.index.checked_mul(3)?.checked_add(v.kind as u32)?),
            (_, Some(Parts::Sum(sum))) => sum.terms.iter().try_fold(0, |seen, t| {
                let of_term = variables(&t.atom)?;
                (seen & of_term == 0).then_some(seen | of_term)
            }),
            (_, Some(Parts::Binary(_, a, b))) => Some(variables(a)? | variables(b)?),
            _ => Some(0),
        }
    }
    e.nodes() > NODES || variables(e).is_none()
}
