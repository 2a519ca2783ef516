//! Changes to the variables of maps: removal of variables with one value and of unused ones, and rescaling.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::domain::{Constraint, Domain};
use crate::error::Result;
use crate::expr::intervals::interval;
use crate::expr::{Expr, Kind, Op, Var};
use crate::fast_path::normal::is_normal_domain;
use crate::int;
use crate::map::{Map, State};
use crate::options::Options;
use crate::span::Interval;

/// A map over a normal domain with its point variables written as constants; `None` if its results have none.
pub fn without_points(map: &Map, options: Options) -> Option<Map> {
    let domain = map.domain();
    if domain.vars.iter().all(|v| v.interval.as_point().is_none()) {
        // The common case.
        return None;
    }
    let point = |v: Var| {
        let keeps = options.keep_point_dims && v.kind == Kind::Dim;
        domain.flat(v).and_then(|i| domain.vars[i].interval.as_point()).filter(|_| !keeps)
    };
    let is_point = |v: Var| point(v).is_some();
    if !map.results().iter().any(|e| e.any_var(&is_point)) || !is_normal_domain(domain, options) {
        return None;
    }
    let replace = |v: Var| Ok(point(v).map_or(Expr::Var(v), Expr::Const));
    let results = map.results().iter().map(|e| e.substitute(&replace)).collect::<Result<_>>().ok()?;
    Some(map.with_known_results(results))
}

/// The map with `n*s + r` for a range variable `s` whose constraint is `s mod n = r`. The map touches the same
/// elements, by other values of the variable.
pub fn rescale(map: &Map) -> Option<Map> {
    let domain = map.domain();
    let found = domain.constraints.iter().enumerate().find_map(|(i, c)| {
        let (Some(Op::Mod(Expr::Var(v), Expr::Const(n))), Some(r)) = (c.expr.op(), c.interval.as_point()) else {
            return None;
        };
        (v.kind == Kind::Range && (0..*n).contains(&r)).then_some((i, *v, *n, r))
    });
    let (constraint, v, n, r) = found?;
    let mut domain = domain.clone();
    domain.constraints.remove(constraint);
    let flat = domain.flat(v)?;
    let Interval { lo, hi } = domain.vars[flat].interval;
    domain.vars[flat].interval =
        Interval::new(int::ceil_div(lo.checked_sub(r)?, n), int::floor_div(hi.checked_sub(r)?, n));
    let value = Expr::Var(v).scale(n).and_then(|x| x.add(&Expr::Const(r))).ok()?;
    replaced(map, domain, v, &value).ok()
}

/// The maps without a range variable for which an equality can be solved, if that takes no more div/mod nodes. The
/// interval of the variable becomes a constraint on the others. All maps lose the same variable: maps with ranges must
/// have equal ranges and constraints, or nothing is solved.
///
/// ```
/// use quasiaffine::{solve, Map};
/// let map: Map = "(d0)[s0] -> (s0), domain: d0 in [0, 7], s0 in [2, 9], d0 + s0 in [9, 9]".parse()?;
/// assert_eq!(solve([map].iter()).unwrap()[0].to_string(), "(d0) -> (-d0 + 9), domain: d0 in [0, 7]");
/// # Ok::<(), quasiaffine::Error>(())
/// ```
pub fn solve<'a>(maps: impl Iterator<Item = &'a Map> + Clone) -> Option<Vec<Map>> {
    let given = maps.clone().map(Map::domain).find(|domain| domain.n_ranges > 0)?;
    let equalities = || given.constraints.iter().enumerate().filter(|(_, c)| c.interval.as_point().is_some());
    let intervals = |d: &'a Domain| d.ranges().iter().map(|v| v.interval);
    let is_alike = |d: &'a Domain| d.constraints == given.constraints && intervals(d).eq(intervals(given));
    equalities().next()?;
    if !maps.clone().map(Map::domain).all(|d| d.n_ranges == 0 || is_alike(d)) {
        return None;
    }
    let ranges = (0..given.n_ranges as u32).rev().map(|index| Var { kind: Kind::Range, index });
    ranges.flat_map(|v| equalities().map(move |(i, c)| (v, i, c))).find_map(|(v, i, c)| {
        let value = only_value(given, c, v)?;
        let without = |m: &Map| if m.domain().n_ranges == 0 { Some(m.clone()) } else { solved(m, i, v, &value) };
        let solved = maps.clone().map(without).collect::<Option<Vec<_>>>()?;
        let n_divmods = |maps: &mut dyn Iterator<Item = &Map>| maps.map(n_divmods).sum::<u64>();
        (n_divmods(&mut solved.iter()) <= n_divmods(&mut maps.clone())).then_some(solved)
    })
}

/// The map with a range variable replaced by the value that constraint `i` gives it.
fn solved(map: &Map, i: usize, v: Var, value: &Expr) -> Option<Map> {
    let mut domain = map.domain().clone();
    domain.constraints.remove(i);
    let (of_v, of_var) = (domain.range_of(&Expr::Var(v)), |w: Var| map.domain().range_of(&Expr::Var(w)));
    if !interval(&of_var, value, value.nodes()).interval().is_some_and(|values| of_v.covers(values)) {
        domain.constraints.push(Constraint { expr: value.clone(), interval: of_v });
    }
    let used: SmallVec<[bool; 8]> = (0..domain.vars.len()).map(|flat| domain.var(flat) != v).collect();
    renumber(&replaced(map, domain, v, value).ok()?, &used).ok()
}

/// The number of div/mod nodes of a map, including its constraints.
pub fn n_divmods(map: &Map) -> u64 {
    map.cost().divmods + map.domain().constraints.iter().map(|c| u64::from(c.expr.divmods())).sum::<u64>()
}

/// `s = l - x` if `s + x = l`, and `s = a + (l - x - a) mod n` if `(s + x) mod n = l` and `s` lies in `[a, a + n - 1]`
pub fn only_value(domain: &Domain, c: &Constraint, s: Var) -> Option<Expr> {
    let l = c.interval.as_point()?;
    let (sum, modulus) = match c.expr.op()? {
        Op::Sum(sum) => (sum, None),
        Op::Mod(a, Expr::Const(n)) if (0..*n).contains(&l) => match a.op()? {
            Op::Sum(sum) => (sum, Some(*n)),
            _ => return None,
        },
        _ => return None,
    };
    let of_s = domain.range_of(&Expr::Var(s));
    let k = sum.terms.iter().find(|t| t.atom == Expr::Var(s))?.coefficient;
    if k.checked_abs()? != 1 || modulus.is_some_and(|n| of_s.size() > n as u128) {
        return None;
    }
    let mut rest = sum.clone();
    rest.terms.retain(|t| t.atom != Expr::Var(s));
    let rest = rest.finish().ok()?;
    let mut is_apart = true;
    rest.for_each_var(&mut |v| is_apart &= v != s);
    let value = Expr::Const(l).sub(&rest).and_then(|x| x.scale(k)).ok().filter(|_| is_apart)?;
    let Some(n) = modulus else { return Some(value) };
    let a = Expr::Const(of_s.lo);
    value.sub(&a).and_then(|x| x.floor_mod(&Expr::Const(n))).and_then(|x| x.add(&a)).ok()
}

/// The map over another domain of the same variables, with a value in place of one of them.
fn replaced(map: &Map, domain: Domain, v: Var, value: &Expr) -> Result<Map> {
    let map = Map::from_parts(domain, map.results().into());
    map.with_value(map.domain().clone(), v, value)
}

/// Removes the runtime variables that were replaced by another one, and unused variables if the options say so.
pub fn remove_variables(map: &Map, options: Options, aliased: &[bool]) -> Map {
    let domain = map.domain();
    if map.state() != State::Defined || (!options.drop_unused && !aliased.contains(&true)) {
        return map.clone();
    }
    let mut used: SmallVec<[bool; 16]> = SmallVec::from_elem(false, domain.vars.len());
    let mark = |e: &Expr, used: &mut [bool]| {
        e.for_each_var(&mut |v| {
            if let Some(i) = domain.flat(v) {
                used[i] = true;
            }
        });
    };
    for e in map.results().iter().chain(domain.constraints.iter().map(|c| &c.expr)) {
        mark(e, &mut used);
    }
    // An index uses only earlier runtime variables, so one walk from the last to the first sees every use.
    for i in (0..domain.vars.len()).rev() {
        used[i] |= i < domain.n_dims || (!options.drop_unused && !aliased.get(i).copied().unwrap_or(false));
        if used[i] {
            for e in domain.vars[i].index() {
                mark(e, &mut used);
            }
        }
    }
    if used.iter().all(|u| *u) {
        return map.clone();
    }
    renumber(map, &used).unwrap_or_else(|_| map.clone())
}

fn renumber(map: &Map, used: &[bool]) -> Result<Map> {
    let domain = map.domain();
    let mut next = [0u32; 3];
    let mut new_index = vec![0u32; used.len()];
    for (i, used) in used.iter().enumerate() {
        let slot = &mut next[domain.var(i).kind as usize];
        new_index[i] = *slot;
        *slot += u32::from(*used);
    }
    let vars = domain.vars.iter().zip(used).filter(|(_, used)| **used).map(|(v, _)| v.clone()).collect();
    let n_ranges = next[Kind::Range as usize] as usize;
    let mut renumbered = Domain { vars, n_dims: domain.n_dims, n_ranges, constraints: Vec::new() };
    let is_same = |i: usize| !used[i] || new_index[i] == domain.var(i).index;
    if map.state() == State::Defined && (0..used.len()).all(is_same) {
        // Only the last variables of their kinds are removed, so that no expression changes.
        renumbered.constraints.clone_from(&domain.constraints);
        return Ok(Map::of_normal(Arc::new(renumbered), map.results().into()));
    }
    let rename = |v: Var| {
        let index = domain.flat(v).map_or(v.index, |i| new_index[i]);
        Ok(Expr::Var(Var { kind: v.kind, index }))
    };
    map.substituted(renumbered, &rename)
}
