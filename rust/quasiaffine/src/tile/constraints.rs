//! Constraints after which the image of a tile is still a box: they cut the ends of runs off, tie one variable to
//! another, or leave a quotient without a remainder.

use smallvec::SmallVec;

use crate::domain::Constraint;
use crate::expr::{Expr, Kind, Op, Var};
use crate::int;
use crate::span::Interval;

/// `sign * variable + rest` lies in the interval, or `rest` alone; the rest is a constant and runtime values.
#[derive(Debug)]
pub(crate) struct RuntimeCut {
    pub(super) variable: Option<(u32, i64)>,
    pub(super) rest: Expr,
    pub(super) interval: Interval,
}

/// `factor * free + sign * bound` lies in the interval, which is at least as long as the factor: so the points
/// `a, ..., b` of the free variable leave an interval of values of the bound one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partner {
    pub(super) free: u32,
    pub(super) factor: i64,
    pub(super) bound: u32,
    pub(super) sign: i64,
    pub(super) interval: Interval,
}

impl Partner {
    pub fn of(c: &Constraint, vars: &[u32], exprs: &[Expr], n_dims: usize) -> Option<Partner> {
        let ([v, w], [e]) = (vars, exprs) else { return None };
        let (free, bound) = match line(e, var_of(*w as usize, n_dims)) {
            Some(_) => (*v, *w),
            None => line(e, var_of(*v as usize, n_dims)).map(|_| (*w, *v))?,
        };
        let (x, y) = (var_of(free as usize, n_dims), var_of(bound as usize, n_dims));
        let (factor, others) = c.expr.split(x)?;
        let (sign, rest) = others.split(y)?;
        let interval = c.interval.minus(rest.as_const()?)?;
        let is_long = interval.size() >= factor.unsigned_abs().into();
        (sign.abs() == 1 && is_long).then_some(Partner { free, factor, bound, sign, interval })
    }

    /// The values of the bound variable for some points of the free one: the first value, and their number.
    pub(super) fn left(&self, first: i64, last: i64) -> Option<(i64, i64)> {
        let (a, b) = (self.factor.checked_mul(first)?, self.factor.checked_mul(last)?);
        let (lo, hi) = (self.interval.lo.checked_sub(a.max(b))?, self.interval.hi.checked_sub(a.min(b))?);
        let start = if self.sign > 0 { lo } else { hi.checked_neg()? };
        Some((start, hi.checked_sub(lo)?.checked_add(1)?))
    }
}

/// A quotient in some results whose numerator has one remainder by a constraint, with that remainder. Its variables
/// must not occur elsewhere, since the constraint would leave fewer values there, too.
pub(crate) fn exact_quotient(c: &Constraint, exprs: &[Expr]) -> Option<(Expr, i64)> {
    let Some(Op::Mod(numerator, Expr::Const(divisor))) = c.expr.op() else { return None };
    let remainder = c.interval.as_point()?;
    let mut own: SmallVec<[Var; 4]> = SmallVec::new();
    numerator.for_each_var(&mut |v| own.push(v));
    let mut n_uses = 0usize;
    exprs.iter().for_each(|e| e.for_each_var(&mut |v| n_uses += usize::from(own.contains(&v))));
    let mut open: SmallVec<[&Expr; 8]> = exprs.iter().collect();
    while let Some(e) = open.pop() {
        if let Some(Op::FloorDiv(a, Expr::Const(b))) = e.op() {
            let shift = a.sub(numerator).ok().and_then(|shift| shift.as_const()).filter(|_| b == divisor);
            if let Some(remainder) = shift.and_then(|k| k.checked_add(remainder)) {
                return (n_uses == own.len()).then(|| (e.clone(), int::floor_mod(remainder, *b)));
            }
        }
        open.extend(e.operands());
    }
    None
}

/// A constraint on one variable and runtime values, if the variable occurs in at most one result, as a multiple plus
/// runtime values only: a cut-off run is then a run.
pub(crate) fn runtime_cut(c: &Constraint, vars: &[u32], exprs: &[Expr], n_dims: usize) -> Option<RuntimeCut> {
    let is_runtime = |e: &Expr| !e.any_var(&|v| v.kind != Kind::Runtime);
    if is_runtime(&c.expr) {
        return Some(RuntimeCut { variable: None, rest: c.expr.clone(), interval: c.interval });
    }
    for &flat in vars {
        let v = var_of(flat as usize, n_dims);
        let Some((sign, rest)) = c.expr.split(v) else { continue };
        let mut users = exprs.iter().filter(|e| e.has_var(v));
        let is_simple = users.next().is_none_or(|e| e.split(v).is_some_and(|(_, rest)| is_runtime(&rest)));
        if sign.abs() == 1 && is_runtime(&rest) && is_simple && users.next().is_none() {
            return Some(RuntimeCut { variable: Some((flat, sign)), rest, interval: c.interval });
        }
    }
    None
}

pub(crate) fn var_of(flat: usize, n_dims: usize) -> Var {
    Var::at(flat as u32, n_dims as u32, u32::MAX - n_dims as u32)
}

/// An expression without its runtime summands.
pub(crate) fn without_runtime(e: &Expr) -> Expr {
    let is_runtime = |atom: &Expr| !atom.any_var(&|v| v.kind != Kind::Runtime);
    let runtime = e.terms().filter(|(_, atom)| is_runtime(atom));
    let rest = runtime.map(|(k, atom)| atom.scale(k)).try_fold(e.clone(), |rest, term| rest.sub(&term?));
    rest.unwrap_or_else(|_| e.clone())
}

/// `a` and `b` if an expression is `a * v + b`.
pub(super) fn line(e: &Expr, v: Var) -> Option<(i64, i64)> {
    let (a, x, b) = e.as_line()?;
    (*x == Expr::Var(v)).then_some((a, b))
}
