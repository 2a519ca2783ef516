//! Maps from their parts, and what expressions are made of.

use quasiaffine::{Constraint, Domain, Error, Expr, Interval, Map, Op, Options, Result, Var, Variable};
use smallvec::SmallVec;

use crate::maps::SIMPLIFY;

/// Simplification that drops variables that nothing uses, with dimensions of one value as variables.
pub(super) const KEEP_POINTS: Options = SIMPLIFY.keep_point_dims(true);

/// Inclusive bounds.
pub(super) type Bounds = (i64, i64);

/// An expression and its inclusive bounds.
pub(super) type Bounded = (Expr, i64, i64);

/// A map without runtime variables.
pub(super) fn map(dims: &[Bounds], ranges: &[Bounds], results: Vec<Expr>, constraints: Vec<Bounded>) -> Map {
    let vars = dims.iter().chain(ranges).map(|&(lo, hi)| Variable::new(Interval::new(lo, hi))).collect();
    let constraint = |(expr, lo, hi): Bounded| Constraint { expr, interval: Interval::new(lo, hi) };
    let constraints = constraints.into_iter().map(constraint).collect();
    let domain = Domain { vars, n_dims: dims.len(), n_ranges: ranges.len(), constraints };
    Map::new_unchecked(domain, results)
}

/// The map with other results.
pub(super) fn with_results(m: &Map, results: SmallVec<[Expr; 4]>) -> Map {
    match m.state() {
        quasiaffine::State::Defined => m.with_results_unchecked(results.into_vec()),
        _ => m.clone(),
    }
}

/// The map with one more dimension, from 0 to `last`.
pub(super) fn with_dim(m: &Map, last: i64) -> Map {
    let mut domain = m.domain().clone();
    domain.vars.insert(domain.n_dims, Variable::new(Interval::new(0, last)));
    domain.n_dims += 1;
    Map::new_unchecked(domain, m.results().to_vec())
}

/// The map with one more constraint.
pub(super) fn with_constraint(m: &Map, (expr, lo, hi): Bounded) -> Map {
    if m.state() != quasiaffine::State::Defined {
        return m.clone();
    }
    let mut domain = m.domain().clone();
    domain.constraints.push(Constraint { expr, interval: Interval::new(lo, hi) });
    Map::new_unchecked(domain, m.results().to_vec())
}

/// The map with its variables replaced, over other dimensions and ranges; runtime variables keep their numbers.
pub(super) fn substituted(
    m: &Map,
    dims: &[Variable],
    ranges: &[Variable],
    replace: &dyn Fn(Var) -> Result<Expr>,
) -> Result<Map> {
    let vars = dims.iter().chain(ranges).chain(m.domain().runtime()).cloned().collect();
    m.substituted(Domain { vars, n_dims: dims.len(), n_ranges: ranges.len(), constraints: Vec::new() }, replace)
}

/// The value of a key in a list in which keys stand in the order in which they are found.
pub(super) fn value_of<K: PartialEq, V: Default>(list: &mut Vec<(K, V)>, key: K) -> &mut V {
    let at = list.iter().position(|(own, _)| *own == key).unwrap_or_else(|| {
        list.push((key, V::default()));
        list.len() - 1
    });
    &mut list[at].1
}

pub(super) fn dim(i: usize) -> Expr {
    Expr::dim(i as u32)
}

pub(super) fn dims(n: usize) -> impl Iterator<Item = Expr> {
    (0..n).map(dim)
}

pub(super) fn bounds_of(variables: &[Variable]) -> impl Iterator<Item = Bounds> + '_ {
    variables.iter().map(|v| (v.interval.lo, v.interval.hi))
}

/// `a + factor * b + constant`.
pub(super) fn sum(a: &Expr, factor: i64, b: &Expr, constant: i64) -> Result<Expr> {
    a.add(&b.scale(factor)?)?.add(&Expr::Const(constant))
}

/// `(a, b)` where the expression is `a + b * variable`.
pub(super) fn linear(e: &Expr, variable: Var) -> Option<Bounds> {
    match e {
        Expr::Const(c) => Some((*c, 0)),
        Expr::Var(v) => (*v == variable).then_some((0, 1)),
        Expr::Node(_) => match e.op() {
            Some(Op::Sum(_)) => {
                let mut terms = e.terms();
                match (terms.next(), terms.next()) {
                    (Some((factor, Expr::Var(v))), None) if *v == variable => Some((e.constant(), factor)),
                    _ => None,
                }
            }
            _ => None,
        },
    }
}

/// A bound that does not fit is an error, never a wrap.
pub(super) fn fits(value: i128) -> Result<i64> {
    i64::try_from(value).map_err(|_| Error::Overflow("a bound of a loop's map"))
}
