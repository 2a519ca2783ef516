//! Maps with other variables: without those of one value, without unused ones, with one that counts in larger steps.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::analysis::interval::Interval;
use crate::error::Result;
use crate::expr::{Expr, Kind, Op, Var};
use crate::fast_path::normal::is_normal_domain;
use crate::int;
use crate::map::domain::{Constraint, Domain, Source};
use crate::map::{Map, State};
use crate::simplify::options::Options;

/// A map over a normal domain with its point variables written as constants; `None` where there is none.
pub fn without_points(map: &Map, options: Options) -> Option<Map> {
    let domain = map.domain();
    if domain.vars.iter().all(|v| v.interval.as_point().is_none()) {
        // As in most domains.
        return None;
    }
    let point = |v: Var| {
        let keeps = options.keep_point_dims && v.kind == Kind::Dim;
        domain.flat(v).and_then(|i| domain.vars[i].interval.as_point()).filter(|_| !keeps)
    };
    if (0..domain.vars.len()).all(|i| point(domain.var(i)).is_none()) || !is_normal_domain(domain, options) {
        return None;
    }
    let replace = |v: Var| Ok(point(v).map_or(Expr::Var(v), Expr::Const));
    let results = map.results().iter().map(|e| e.substitute(&replace)).collect::<Result<_>>().ok()?;
    Some(map.with_results(results))
}

/// The map with `n*s + r` for a range variable `s` of which a constraint says that `s mod n = r`. What the map touches
/// stays; one number of the variable is another one.
pub fn rescale(map: &Map) -> Option<Map> {
    let domain = map.domain();
    let found = domain.constraints.iter().enumerate().find_map(|(i, c)| {
        let (Some(Op::Mod(Expr::Var(v), Expr::Const(n))), Some(r)) = (c.expr.op(), c.interval.as_point()) else {
            return None;
        };
        (v.kind == Kind::Range && (0..*n).contains(&r)).then_some((i, *v, *n, r))
    });
    let (constraint, v, n, r) = found?;
    let replace = |w: Var| if w == v { Expr::Var(v).scale(n)?.add(&Expr::Const(r)) } else { Ok(Expr::Var(w)) };
    let mut domain = domain.clone();
    domain.constraints.remove(constraint);
    let flat = domain.flat(v)?;
    let Interval { lo, hi } = domain.vars[flat].interval;
    domain.vars[flat].interval =
        Interval::new(int::ceil_div(lo.checked_sub(r)?, n), int::floor_div(hi.checked_sub(r)?, n));
    for c in &mut domain.constraints {
        c.expr = c.expr.substitute(&replace).ok()?;
    }
    for w in &mut domain.vars {
        if let Some(source) = &w.source {
            let index = source.index.iter().map(|e| e.substitute(&replace)).collect::<Result<_>>().ok()?;
            w.source = Some(Arc::new(Source { id: source.id, index }));
        }
    }
    let results = map.results().iter().map(|e| e.substitute(&replace)).collect::<Result<_>>().ok()?;
    Some(Map::from_parts(domain, results))
}

/// Without the runtime variables that became another one, and, where asked for, without those that nothing uses.
pub fn remove_variables(map: &Map, options: Options, aliased: &[bool]) -> Map {
    let domain = map.domain();
    if map.state() != State::Defined || (!options.drop_unused && !aliased.contains(&true)) {
        return map.clone();
    }
    let mut used = vec![false; domain.vars.len()];
    let mark = |e: &Expr, used: &mut Vec<bool>| {
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
            for e in domain.vars[i].source.iter().flat_map(|s| &s.index) {
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
    let rename = |v: Var| {
        let index = domain.flat(v).map_or(v.index, |i| new_index[i]);
        Ok(Expr::Var(Var { kind: v.kind, index }))
    };
    let mut vars = SmallVec::new();
    for (v, _) in domain.vars.iter().zip(used).filter(|(_, used)| **used) {
        let mut v = v.clone();
        if let Some(source) = &v.source {
            let index = source.index.iter().map(|e| e.substitute(&rename)).collect::<Result<_>>()?;
            v.source = Some(Arc::new(Source { id: source.id, index }));
        }
        vars.push(v);
    }
    let constraints = domain
        .constraints
        .iter()
        .map(|c| Ok(Constraint { expr: c.expr.substitute(&rename)?, interval: c.interval }))
        .collect::<Result<_>>()?;
    let results = map.results().iter().map(|e| e.substitute(&rename)).collect::<Result<_>>()?;
    let domain = Domain { vars, n_dims: domain.n_dims, n_ranges: next[Kind::Range as usize] as usize, constraints };
    Ok(Map::from_parts(domain, results))
}
