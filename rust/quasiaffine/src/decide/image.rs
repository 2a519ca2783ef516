//! The elements that a map reaches: its dims become ranges.

use smallvec::SmallVec;

use crate::analysis::interval::Interval;
use crate::decide::ranges::compact_ranges;
use crate::error::{Error, Result};
use crate::expr::{Expr, Kind, Var};
use crate::map::domain::{Domain, Variable};
use crate::map::Map;

/// The map whose image, over all its ranges, is that of `map` over those points whose first dims lie in `bounds`. The dims
/// that are not bounded stay dims. The ranges are compact, see [`compact_ranges`].
///
/// # Errors
/// [`Error::Arity`] for more bounds than dims.
pub fn image(map: &Map, bounds: &[Interval]) -> Result<Map> {
    let (domain, n) = (map.domain(), bounds.len());
    if n > domain.n_dims {
        let what = "bounds at most, one for each dim";
        return Err(Error::Arity { what, expected: domain.n_dims, found: n });
    }
    let mut vars: SmallVec<[Variable; 6]> = domain.dims()[n..].iter().cloned().collect();
    for (v, bounds) in domain.dims().iter().zip(bounds) {
        vars.push(Variable { interval: v.interval.intersect(*bounds), ..v.clone() });
    }
    vars.extend(domain.vars[domain.n_dims..].iter().cloned());
    let new = Domain { vars, n_dims: domain.n_dims - n, n_ranges: n + domain.n_ranges, constraints: Vec::new() };
    let rename = |v: Var| {
        Ok(match v.kind {
            Kind::Dim if (v.index as usize) < n => Expr::range(v.index),
            Kind::Dim => Expr::dim(v.index - n as u32),
            Kind::Range => Expr::range(v.index + n as u32),
            Kind::Runtime => Expr::Var(v),
        })
    };
    Ok(compact_ranges(&map.substituted(new, &rename)?))
}

/// The map where each runtime variable may have any of its values: they become ranges, after the others. Its image at a
/// point is the union of the images that `map` has for all those values.
///
/// # Errors
/// Those of [`Expr::substitute`].
pub fn for_any_runtime(map: &Map) -> Result<Map> {
    let domain = map.domain();
    if domain.n_runtime() == 0 {
        return Ok(map.clone());
    }
    let vars = domain.vars.iter().map(|v| Variable { source: None, ..v.clone() }).collect();
    let n_ranges = domain.n_ranges + domain.n_runtime();
    let new = Domain { vars, n_dims: domain.n_dims, n_ranges, constraints: Vec::new() };
    let first = domain.n_ranges as u32;
    let rename = |v: Var| Ok(if v.kind == Kind::Runtime { Expr::range(first + v.index) } else { Expr::Var(v) });
    map.substituted(new, &rename)
}
