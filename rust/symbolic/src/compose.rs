//! Doing one map after another.
//!
//! Law: the points of `then(first, second)` are those of `first` whose image lies in the domain of `second`, and its
//! value there is `second(first(point))`. Variables are numbered `[first's, second's]` for ranges and for runtime
//! variables, and each runtime variable keeps its source, with its index rewritten into the new variables.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::domain::{Constraint, Domain, Source, Variable};
use crate::error::{Error, Result};
use crate::expr::{Expr, Kind, Substitution, Var};
use crate::interval::interval;
use crate::map::{Map, State};
use crate::range::Range;

/// The map of doing `first`, then `second`. Not simplified.
///
/// # Errors
/// [`Error::Arity`] where `first` has another number of results than `second` has dimensions, and overflow.
pub fn then(first: &Map, second: &Map) -> Result<Map> {
    let (a, b) = (first.domain(), second.domain());
    if first.state() != State::Defined || second.state() != State::Defined {
        return unusual(first, second);
    }
    if first.results().len() != b.n_dims {
        let what = "results of the first map, one for each dimension of the second,";
        return Err(Error::Arity { what, expected: b.n_dims, found: first.results().len() });
    }
    let (n_ranges, n_runtime) = (a.n_ranges as u32, a.n_runtime() as u32);
    let replace = |v: Var| {
        Ok(match v.kind {
            Kind::Dim => first.results()[v.index as usize].clone(),
            Kind::Range => Expr::range(v.index + n_ranges),
            Kind::Runtime => Expr::runtime(v.index + n_runtime),
        })
    };
    let of_var = |v: Var| a.flat(v).map_or(Range::ALL, |i| a.vars[i].range);
    let mut substitution = Substitution::new(&replace);
    let results = second.results().iter().map(|e| substitution.apply(e)).collect::<Result<_>>()?;
    let mut constraints = a.constraints.clone();
    for c in &b.constraints {
        constraints.push(Constraint { expr: substitution.apply(&c.expr)?, range: c.range });
    }
    for (e, dim) in first.results().iter().zip(b.dims()) {
        // What the intervals of the variables already say is no constraint.
        if !dim.range.covers(interval(&of_var, e, INTERVAL_NODES)) {
            constraints.push(Constraint { expr: e.clone(), range: dim.range });
        }
    }
    Ok(Map::from_parts(Domain { constraints, ..joined(a, b, &replace)? }, results))
}

/// The largest expression whose interval is worked out for [`then`].
const INTERVAL_NODES: u32 = 48;

/// Empty maps compose to empty ones, undefined ones to undefined ones; empty wins, for it is known.
fn unusual(first: &Map, second: &Map) -> Result<Map> {
    let keep = |v: Var| Ok(Expr::Var(v));
    let domain = joined(first.domain(), second.domain(), &keep)?;
    let is_empty = first.state() == State::Empty || second.state() == State::Empty;
    Ok(if is_empty { Map::empty(&domain) } else { Map::undefined(&domain) })
}

/// The variables of a composition.
fn joined(a: &Domain, b: &Domain, replace: &dyn Fn(Var) -> Result<Expr>) -> Result<Domain> {
    let mut vars: SmallVec<[Variable; 6]> = SmallVec::with_capacity(a.vars.len() + b.vars.len() - b.n_dims);
    vars.extend(a.dims().iter().cloned());
    vars.extend(a.ranges().iter().cloned());
    vars.extend(b.ranges().iter().cloned());
    vars.extend(a.runtime().iter().cloned());
    for v in b.runtime() {
        let mut v = v.clone();
        if let Some(source) = &v.source {
            let index = source.index.iter().map(|e| e.substitute(replace)).collect::<Result<_>>()?;
            v.source = Some(Arc::new(Source { id: source.id, index }));
        }
        vars.push(v);
    }
    let mut domain = Domain { vars, n_dims: a.n_dims, n_ranges: a.n_ranges + b.n_ranges, constraints: Vec::new() };
    if domain.check_names().is_err() {
        // The two maps may use one name for different variables: then the second one's variables lose theirs.
        let from_second = |i: usize| {
            (a.n_dims + a.n_ranges..domain.n_dims + domain.n_ranges).contains(&i)
                || i >= domain.n_dims + domain.n_ranges + a.n_runtime()
        };
        let clear: SmallVec<[bool; 8]> = (0..domain.vars.len()).map(from_second).collect();
        for (v, clear) in domain.vars.iter_mut().zip(&clear) {
            v.name = v.name.take().filter(|_| !clear);
        }
        if domain.check_names().is_err() {
            domain.vars.iter_mut().for_each(|v| v.name = None);
        }
    }
    Ok(domain)
}
