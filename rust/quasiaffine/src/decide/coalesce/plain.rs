//! Containment that is read off the expressions of two maps.

use super::Counting;
use crate::decide::ranges::range;
use crate::domain::Constraint;
use crate::expr::{Expr, Kind, Var};
use crate::map::Map;

/// See [`Map::plainly_contains`](crate::Map::plainly_contains).
pub fn plainly_contains(outer: &Map, inner: &Map, counting: Counting) -> bool {
    let (a, b) = (outer.domain(), inner.domain());
    let has_same_runtime = a.n_runtime() == b.n_runtime()
        && a.runtime().iter().zip(b.runtime()).all(|(x, y)| x.interval == y.interval && x.source == y.source);
    // A map without runtime variables has its elements for all values of the other map's runtime variables.
    let is_candidate = (has_same_runtime || (a.n_runtime() == 0 && counting != Counting::Reads))
        && a.n_dims == b.n_dims
        && outer.results().len() == inner.results().len()
        && a.dims().iter().zip(b.dims()).all(|(x, y)| x.interval.covers(y.interval));
    if !is_candidate {
        return false;
    }
    let same_of = |c: &Constraint, all: &[Constraint]| all.iter().find(|o| o.expr == c.expr).map(|o| o.interval);
    let is_implied = |c: &Constraint| same_of(c, &b.constraints).is_some_and(|other| c.interval.covers(other));
    if outer.results() == inner.results() && a.n_ranges == b.n_ranges {
        let ranges = || a.ranges().iter().zip(b.ranges());
        if counting != Counting::Reads {
            return ranges().all(|(x, y)| x.interval.covers(y.interval)) && a.constraints.iter().all(is_implied);
        }
        // Both maps must have equal ranges at each point.
        let is_kept = |c: &Constraint| has_dims_alone(&c.expr) || same_of(c, &a.constraints) == Some(c.interval);
        let is_implied = |c: &Constraint| match has_dims_alone(&c.expr) {
            true => is_implied(c),
            false => same_of(c, &b.constraints) == Some(c.interval),
        };
        return ranges().all(|(x, y)| x.interval == y.interval)
            && a.constraints.iter().all(is_implied)
            && b.constraints.iter().all(is_kept);
    }
    let is_alone =
        |x: &Expr| range_number(x).is_none_or(|s| outer.results().iter().filter(|e| e.has_var(range(s))).count() == 1);
    let takes_all = |(x, y): (&Expr, &Expr)| match range_number(x) {
        Some(number) => inner.bounds(y).is_ok_and(|values| a.ranges()[number as usize].interval.covers(values)),
        None => x == y && !has_range(x),
    };
    counting != Counting::Reads
        && outer.results().iter().all(is_alone)
        && a.constraints.iter().all(|c| !has_range(&c.expr) && is_implied(c))
        && a.runtime().iter().all(|v| !v.index().iter().any(has_range))
        && outer.results().iter().zip(inner.results()).all(takes_all)
}

/// Whether all variables of an expression are dims.
pub(super) fn has_dims_alone(e: &Expr) -> bool {
    !e.any_var(&|v| v.kind != Kind::Dim)
}

fn has_range(e: &Expr) -> bool {
    e.any_var(&|v| v.kind == Kind::Range)
}

/// The number of the range variable that an expression is.
pub(super) fn range_number(e: &Expr) -> Option<u32> {
    match e {
        Expr::Var(Var { kind: Kind::Range, index }) => Some(*index),
        _ => None,
    }
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
            assert_eq!(
                plainly_contains(&outer, &over(results, domain), Counting::Pairs),
                contained,
                "{results}, {domain}"
            );
        }
        // A runtime variable chooses among elements that the outer map all has, or among others as well.
        let row = over("d0, s0", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 4]");
        for (greatest, contained) in [(4, true), (5, false)] {
            let chosen =
                format!("(d0, d1){{rt0}} -> (d0, rt0), domain: d0 in [0, 6], d1 in [0, 4], rt0 in [0, {greatest}]");
            assert_eq!(plainly_contains(&row, &map(&chosen), Counting::Elements), contained, "{chosen}");
            assert!(
                !plainly_contains(&row, &map(&chosen), Counting::Reads)
                    && !plainly_contains(&map(&chosen), &row, Counting::Elements)
            );
        }
        // A range with a second use does not take all its values independently of that use.
        let diagonal = over("s0, s0", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 6]");
        let square = over("d0, d1", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 0]");
        assert!(!plainly_contains(&diagonal, &square, Counting::Pairs));
        let sloped = over("d0, s0", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 6], d0 - s0 in [0, 6]");
        let inner = over("d0, d1", "d0 in [0, 6], d1 in [0, 4], s0 in [0, 0]");
        assert!(!plainly_contains(&sloped, &inner, Counting::Pairs));
    }
}
