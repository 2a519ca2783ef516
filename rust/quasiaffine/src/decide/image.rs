//! The elements that a map reaches: its dims become ranges; and maps without conditions on runtime values.

use smallvec::SmallVec;

use crate::components::components;
use crate::decide::ranges::compact_ranges;
use crate::domain::Constraint;
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::map::{Map, State};
use crate::options::Options;
use crate::simplify::simplify;
use crate::span::Interval;

/// See [`Map::image`](crate::Map::image).
pub fn image(map: &Map, bounds: &[Interval]) -> Result<Map> {
    let (domain, n) = (map.domain(), bounds.len());
    if n > domain.n_dims {
        let what = "bounds at most, one for each dim";
        return Err(Error::Arity { what, expected: domain.n_dims, found: n });
    }
    let order: SmallVec<[usize; 8]> = (n..domain.n_dims).chain(0..n).chain(domain.n_dims..domain.vars.len()).collect();
    let whole = map.reordered(&order, domain.n_dims - n, n + domain.n_ranges)?;
    let mut within = whole.domain().clone();
    for (v, bounds) in within.vars[domain.n_dims - n..].iter_mut().zip(bounds) {
        v.interval = v.interval.intersect(*bounds);
    }
    Ok(compact_ranges(&whole.rewritten(within, &|e| Ok(e.clone()))?))
}

/// See [`Map::for_any_runtime`](crate::Map::for_any_runtime).
pub fn for_any_runtime(map: &Map) -> Result<Map> {
    let domain = map.domain();
    if domain.n_runtime() == 0 {
        return Ok(map.clone());
    }
    map.regrouped(domain.n_dims, domain.n_ranges + domain.n_runtime())
}

/// See [`Map::unconditional`](crate::Map::unconditional).
pub fn unconditional(map: &Map, options: Options) -> Option<Map> {
    let domain = map.domain();
    if domain.n_runtime() == 0 || domain.constraints.is_empty() || map.state() != State::Defined {
        return None;
    }
    let flat = |e: &Expr| domain.vars_of(e);
    let (n_free, n) = (domain.n_dims + domain.n_ranges, domain.vars.len());
    let moved = (n_free..n).map(|at| {
        let mut vars: SmallVec<[usize; 8]> = domain.vars[at].index().iter().flat_map(flat).collect();
        vars.push(at);
        vars
    });
    let together = components(n, domain.constraints.iter().map(|c| flat(&c.expr)).chain(moved));
    let of = |vars: &mut dyn Iterator<Item = usize>| vars.map(|at| together[at]).collect::<SmallVec<[usize; 8]>>();
    let (ranges, runtime) = (of(&mut (domain.n_dims..n_free)), of(&mut (n_free..n)));
    let asked = of(&mut (0..domain.n_dims).chain(map.results().iter().flat_map(flat)));
    let is_condition = |group: usize| ranges.contains(&group) && runtime.contains(&group) && !asked.contains(&group);
    let is_left_out = |c: &Constraint| flat(&c.expr).first().is_some_and(|at| is_condition(together[*at]));
    if !domain.constraints.iter().any(is_left_out) {
        return None;
    }
    let mut free = domain.clone();
    free.constraints.retain(|c| !is_left_out(c));
    let map = Map::new(free, map.results().iter().cloned()).ok()?;
    Some(simplify(&map, Options { drop_unused: true, ..options }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_left_out_where_ranges_and_runtime_values_decide_it() {
        let free = |text: &str| unconditional(&text.parse().unwrap(), Options::default()).map(|map| map.to_string());
        let hit = |of: &str, results: &str, index: &str| {
            let domain = "d0 in [0, 3], s0 in [0, 5], s1 in [0, 2], rt0 in [-1, 6]";
            format!("(d0)[s0, s1]{{rt0}} -> ({results}), domain: {domain}, {of} in [0, 0], runtime: rt0 = #1({index})")
        };
        let all = "(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [0, 5]";
        assert_eq!(free(&hit("s1 - rt0", "s0", "0")).as_deref(), Some(all));
        assert_eq!(free(&hit("rt0 * 1", "s0", "s1")).as_deref(), Some(all));
        // The condition depends on a single runtime value.
        assert_eq!(free(&hit("rt0 * 1", "s0", "0")), None);
        // A dim or a result takes part.
        assert_eq!(free(&hit("d0 - rt0", "s0", "s1")), None);
        assert_eq!(free(&hit("s0 - rt0", "s0", "s1")), None);
        assert_eq!(free(&hit("s1 - rt0", "s1", "0")), None);
        // No runtime value takes part.
        assert_eq!(free(&hit("(s1 * s1) mod 5", "s0, rt0", "0")), None);
    }
}
