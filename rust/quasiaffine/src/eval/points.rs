//! Points of a domain as columns, one for each variable, and as the rows that a program takes; the value of an expression
//! at one point.

use crate::analysis::interval::Interval;
use crate::eval::program::Points;
use crate::expr::{Expr, Op, Var};
use crate::int::floor_div;
use crate::map::domain::Domain;

/// The value of an expression, node by node; `None` where something on the way does not fit into 64 bits.
pub(crate) fn value_at(e: &Expr, of_var: &impl Fn(Var) -> i64) -> Option<i64> {
    let of = |e: &Expr| value_at(e, of_var);
    match e {
        Expr::Const(c) => Some(*c),
        Expr::Var(v) => Some(of_var(*v)),
        Expr::Node(_) => match e.op()? {
            Op::Sum(sum) => {
                sum.terms.iter().try_fold(sum.constant, |x, t| x.checked_add(t.coefficient.checked_mul(of(&t.atom)?)?))
            }
            Op::Product(a, b) => of(a)?.checked_mul(of(b)?),
            Op::FloorDiv(a, b) => of(b).filter(|n| *n >= 1).and_then(|n| Some(floor_div(of(a)?, n))),
            Op::Mod(a, b) => of(b).filter(|n| *n >= 1).and_then(|n| Some(of(a)?.rem_euclid(n))),
            Op::Min(a, b) => Some(of(a)?.min(of(b)?)),
            Op::Max(a, b) => Some(of(a)?.max(of(b)?)),
        },
    }
}

/// All points of some variables in their ranges, the others at their lower ends, as columns.
pub(crate) fn box_points(ranges: &[Interval], vars: &[usize], n: usize) -> Vec<Vec<i64>> {
    let mut columns: Vec<Vec<i64>> = ranges.iter().map(|r| vec![r.lo; n]).collect();
    let mut period = 1usize;
    for v in vars {
        let size = ranges[*v].size() as usize;
        for (i, value) in columns[*v].iter_mut().enumerate() {
            *value = ranges[*v].lo + (i / period % size) as i64;
        }
        period *= size;
    }
    columns
}

/// The rows of some columns, for evaluation.
fn rows(columns: &[Vec<i64>], from: usize, to: usize, n: usize) -> Vec<i64> {
    let mut out = Vec::with_capacity((to - from) * n);
    for i in 0..n {
        out.extend(columns[from..to].iter().map(|c| c[i]));
    }
    out
}

pub(crate) fn with_points<T>(domain: &Domain, columns: &[Vec<i64>], run: impl FnOnce(&Points<'_>) -> T) -> T {
    let n = columns.first().map_or(1, Vec::len);
    let ranges = domain.n_dims + domain.n_ranges;
    let dims = rows(columns, 0, domain.n_dims, n);
    let of_ranges = rows(columns, domain.n_dims, ranges, n);
    let runtime = rows(columns, ranges, domain.vars.len(), n);
    run(&Points { n, dims: &dims, ranges: &of_ranges, runtime: &runtime })
}
