//! Unions of maps in fewer maps, and maps with a dimension or a result more or less.

use quasiaffine::map::State;
use quasiaffine::{coalesce, contains, simplify, Constraint, Expr, Interval, Kind, Map, Result, Var};
use smallvec::SmallVec;

use super::build::{dim, range, range_number, substituted, uses, with_results, DROP, KEEP_POINTS};
use super::ranges::tighten;

/// Maps to one leaf; more become one map of the whole array.
pub(super) const MAX_MAPS: usize = 64;

/// The same union in fewer maps.
pub(super) fn reduced(maps: impl IntoIterator<Item = Map>) -> Vec<Map> {
    let simple = maps.into_iter().map(|m| simplify(&m, KEEP_POINTS));
    joined(distinct(simple.filter(|m| m.state() != State::Empty)))
}

/// The same union, where it takes fewer maps.
pub(super) fn joined(maps: Vec<Map>) -> Vec<Map> {
    if !(2..=MAX_MAPS).contains(&maps.len()) {
        return maps;
    }
    coalesce(&maps).into_iter().map(|found| found.map).collect()
}

/// The maps without repetitions, in order.
pub(super) fn distinct(maps: impl IntoIterator<Item = Map>) -> Vec<Map> {
    let mut found: Vec<Map> = Vec::new();
    for m in maps {
        if !found.contains(&m) {
            found.push(m);
        }
    }
    found
}

/// Whether two unions are equal: they have the same simplest forms, or each contains the maps of the other.
pub(super) fn same_elements(a: &[Map], b: &[Map]) -> Result<bool> {
    let (first, second) = (tight(a)?, tight(b)?);
    let same = first.len() == second.len() && first.iter().all(|m| second.contains(m));
    Ok(same || (covers(a, b) && covers(b, a)))
}

fn tight(maps: &[Map]) -> Result<Vec<Map>> {
    let simple = reduced(maps.iter().cloned());
    Ok(distinct(simple.iter().map(|m| tighten(&simplify(m, DROP))).collect::<Result<Vec<_>>>()?))
}

/// Whether a union surely contains another one.
pub(super) fn covers(larger: &[Map], smaller: &[Map]) -> bool {
    let within = |maps: &[Map], m: &Map| maps.iter().any(|k| contains(k, m) == Some(true));
    if smaller.iter().all(|m| within(larger, m)) {
        return true;
    }
    let fewer = joined(larger.to_vec());
    fewer.len() < larger.len() && smaller.iter().all(|m| within(&fewer, m) || within(larger, m))
}

/// The map of one iteration from (element, clock before) to (element, clock after); it counts down by `shift`.
pub(super) fn by_clock(m: &Map, shift: i64) -> Result<Map> {
    let domain = m.domain();
    let n = domain.n_dims - 1;
    let clock = dim(n);
    let t = clock.add(&Expr::Const(-shift))?;
    let after = clock.add(&Expr::Const(if shift != 0 { -shift } else { 1 }))?;
    let mut dims: SmallVec<[_; 6]> = domain.dims().iter().cloned().collect();
    let before = dims[n].interval;
    dims[n].interval = Interval::new(before.lo + shift, before.hi + shift);
    let replace = |v: Var| Ok(if v.kind == Kind::Dim && v.index as usize == n { t.clone() } else { Expr::Var(v) });
    let moved = substituted(m, &dims, domain.ranges(), &replace, None)?;
    let results = moved.results().iter().cloned().chain([after]).collect();
    Ok(with_results(&moved, results))
}

/// The same map with the iteration as a result, too.
pub(super) fn keep_time(m: &Map) -> Map {
    let last = dim(m.domain().n_dims - 1);
    with_results(m, m.results().iter().cloned().chain([last]).collect())
}

/// A map that does not depend on its last dimension, without that dimension.
pub(super) fn without_last_dim(m: &Map) -> Map {
    let mut domain = m.domain().clone();
    domain.n_dims -= 1;
    domain.vars.remove(domain.n_dims);
    match m.state() {
        State::Defined => Map::from_parts(domain, m.results().iter().cloned().collect()),
        _ => Map::empty(&domain),
    }
}

/// The same map without its last result.
pub(super) fn without_last_result(m: &Map) -> Map {
    let n = m.results().len().saturating_sub(1);
    with_results(m, m.results()[..n].iter().cloned().collect())
}

/// The same union in fewer maps, as far as that is plain: without maps that another one contains, and with one map for
/// two that differ in the interval of one variable. `stands_for` tells whether a map may take the place of another.
pub(super) fn plainly_reduced<T>(
    items: Vec<T>,
    map_of: impl Fn(&T) -> &Map,
    stands_for: impl Fn(&T, &T) -> bool,
    with_map: impl Fn(T, Map) -> T,
) -> Vec<T> {
    if items.len() < 2 {
        return items;
    }
    let mut kept: Vec<T> = Vec::with_capacity(items.len());
    'items: for mut item in items {
        let mut i = 0;
        while i < kept.len() {
            let (a, b) = (&kept[i], &item);
            let (first, second) = (stands_for(a, b), stands_for(b, a));
            if first && plainly_contains(map_of(a), map_of(b)) {
                continue 'items;
            }
            if second && plainly_contains(map_of(b), map_of(a)) {
                kept.remove(i);
                continue;
            }
            match (first && second).then(|| hull_of_neighbours(map_of(a), map_of(b))).flatten() {
                // The larger map is compared with all others again.
                Some(hull) => {
                    item = with_map(kept.remove(i), hull);
                    i = 0;
                }
                None => i += 1,
            }
        }
        kept.push(item);
    }
    kept
}

/// Whether a map surely contains another one: it has every condition that is one of the other's, and in each result the
/// same expression, or a range of its own that takes all values that the other's result may have.
pub(super) fn plainly_contains(outer: &Map, inner: &Map) -> bool {
    let (a, b) = (outer.domain(), inner.domain());
    let is_candidate = a.n_dims == b.n_dims
        && a.n_runtime() == b.n_runtime()
        && outer.results().len() == inner.results().len()
        && a.dims().iter().zip(b.dims()).all(|(x, y)| x.interval.covers(y.interval))
        && a.runtime().iter().zip(b.runtime()).all(|(x, y)| x.interval == y.interval && x.source == y.source);
    if !is_candidate {
        return false;
    }
    let is_implied = |c: &Constraint| {
        let same = b.constraints.iter().find(|other| other.expr == c.expr);
        same.is_some_and(|other| c.interval.covers(other.interval))
    };
    if outer.results() == inner.results() {
        let ranges = || a.ranges().iter().zip(b.ranges());
        return a.n_ranges == b.n_ranges
            && ranges().all(|(x, y)| x.interval.covers(y.interval))
            && a.constraints.iter().all(is_implied);
    }
    let takes_all = |(x, y): (&Expr, &Expr)| match range_number(x) {
        Some(number) => inner.bounds(y).is_ok_and(|values| a.ranges()[number as usize].interval.covers(values)),
        None => x == y && !has_range(x),
    };
    let is_alone = |x: &Expr| range_number(x).is_none_or(|number| !is_elsewhere(outer, number));
    outer.results().iter().all(is_alone)
        && a.constraints.iter().all(|c| !has_range(&c.expr) && is_implied(c))
        && a.runtime().iter().all(|v| v.source.as_ref().is_none_or(|s| !s.index.iter().any(has_range)))
        && outer.results().iter().zip(inner.results()).all(takes_all)
}

fn has_range(e: &Expr) -> bool {
    let mut found = false;
    e.for_each_var(&mut |v| found |= v.kind == Kind::Range);
    found
}

/// Whether a range variable is used in more than one result, or in a constraint.
pub(super) fn is_elsewhere(m: &Map, number: u32) -> bool {
    let results = m.results().iter().filter(|e| uses(e, range(number))).count();
    results > 1 || m.domain().constraints.iter().any(|c| uses(&c.expr, range(number)))
}

/// One map for two that differ in the interval of one dim or range, where the intervals overlap or adjoin.
fn hull_of_neighbours(first: &Map, second: &Map) -> Option<Map> {
    let (a, b) = (first.domain(), second.domain());
    let is_candidate = a.n_dims == b.n_dims
        && a.n_ranges == b.n_ranges
        && a.n_runtime() == b.n_runtime()
        && first.results() == second.results()
        && a.constraints == b.constraints
        && a.runtime().iter().zip(b.runtime()).all(|(x, y)| x.interval == y.interval && x.source == y.source);
    if !is_candidate {
        return None;
    }
    let n = a.n_dims + a.n_ranges;
    let mut different = (0..n).filter(|&i| a.vars[i].interval != b.vars[i].interval);
    let (Some(at), None) = (different.next(), different.next()) else { return None };
    let (x, y) = (a.vars[at].interval, b.vars[at].interval);
    if x.lo.max(y.lo) > x.hi.min(y.hi).saturating_add(1) {
        return None;
    }
    let mut whole = a.clone();
    whole.vars[at].interval = Interval::new(x.lo.min(y.lo), x.hi.max(y.hi));
    Some(Map::from_parts(whole, first.results().iter().cloned().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Map {
        text.parse().unwrap()
    }

    #[test]
    fn a_map_plainly_contains_another_one() {
        let over = |results: &str, domain: &str| map(&format!("(d0, d1)[s0] -> ({results}), domain: {domain}"));
        let outer = over("d0, s0", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 4]");
        for (results, domain, contained) in [
            ("d0, s0", "d0 in [2, 6], d1 in [0, 4], s0 in [1, 4]", true),
            ("d0, s0", "d0 in [2, 6], d1 in [0, 4], s0 in [1, 5]", false),
            ("d0, d1", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 0]", true),
            ("d0, d1 + 1", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 0]", false),
            ("d0, s0", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 4], d1 - s0 in [0, 4]", true),
            ("d1, s0", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 4]", false),
        ] {
            assert_eq!(plainly_contains(&outer, &over(results, domain)), contained, "{results}, {domain}");
        }
        // A range that has a second use does not take all values beside it.
        let diagonal = over("s0, s0", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 6]");
        let square = over("d0, d1", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 0]");
        assert!(!plainly_contains(&diagonal, &square));
        let sloped = over("d0, s0", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 6], d0 - s0 in [0, 6]");
        assert!(!plainly_contains(&sloped, &over("d0, d1", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 0]")));
    }

    #[test]
    fn neighbours_become_their_hull() {
        let over = |d0: &str, s0: &str| map(&format!("(d0)[s0] -> (d0, s0), domain: d0 in {d0}, s0 in {s0}"));
        let hull = |a: (&str, &str), b: (&str, &str)| hull_of_neighbours(&over(a.0, a.1), &over(b.0, b.1));
        assert_eq!(hull(("[0, 2]", "[0, 4]"), ("[3, 6]", "[0, 4]")), Some(over("[0, 6]", "[0, 4]")));
        assert_eq!(hull(("[0, 2]", "[3, 4]"), ("[0, 2]", "[0, 3]")), Some(over("[0, 2]", "[0, 4]")));
        assert_eq!(hull(("[0, 2]", "[0, 4]"), ("[4, 6]", "[0, 4]")), None);
        assert_eq!(hull(("[0, 2]", "[0, 4]"), ("[3, 6]", "[0, 3]")), None);
    }
}
