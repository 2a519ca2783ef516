//! Range variables in a canonical form: as few as possible, without quotients if their digits are independent.
//!
//! A range variable takes all its values, so every bijection of the ranges keeps what a map relates, and so does every
//! replacement of an expression by a variable with the same set of values. At every point of the dims and for all
//! values of the runtime variables, the compact map has the image of the original.

use crate::limits::{EFFORT, NODES};

use crate::domain::{Domain, Variable};
use crate::error::{Error, Result};
use crate::expr::{Expr, Kind, Op, Var};
use crate::int::{floor_div, gcd};
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::options::Options;
use crate::simplify::simplify_by;
use crate::span::{Interval, WideInterval};

/// The map with its ranges joined where they adjoin, cut where digits are independent, and in canonical order and position:
/// a range begins where it makes the constant of its first result smallest.
pub fn compact_ranges(map: &Map) -> Map {
    compact_ranges_by(map, Options::default())
}

/// See [`Map::compact_ranges`](crate::Map::compact_ranges).
pub fn compact_ranges_by(map: &Map, options: Options) -> Map {
    compact(map, Options { drop_unused: true, rescale: true, ..options }, &mut Meter::new(EFFORT))
}

/// As [`compact_ranges`], for a question that makes several maps compact within the effort of a meter.
pub(crate) fn compact_ranges_within(map: &Map, meter: &mut Meter) -> Map {
    meter.part(EFFORT, |own| compact(map, Options { drop_unused: true, rescale: true, ..Options::default() }, own))
}

fn compact(map: &Map, options: Options, meter: &mut Meter) -> Map {
    let mut map = simplify_by(map, options, meter);
    // Each step simplifies the whole map; all share the effort of one question.
    while meter.left() > 0 {
        if map.state() != State::Defined || map.domain().n_ranges == 0 {
            return map;
        }
        let next =
            join(&map).or_else(|| cut(&map, options, meter)).or_else(|| take_values(&map)).or_else(|| anchor(&map));
        match next {
            Some(next) if meter.spend(next.n_nodes()).is_ok() => map = simplify_by(&next, options, meter),
            _ => break,
        }
    }
    in_order(&map).unwrap_or(map)
}

/// The map with its ranges in canonical order and position, and with as many points.
pub(crate) fn anchored(map: &Map, options: Options, meter: &mut Meter) -> Map {
    if map.state() != State::Defined || map.domain().n_ranges == 0 {
        return map.clone();
    }
    let mut found = map.clone();
    for _ in 0..NODES {
        let Some(next) = anchor(&found) else { break };
        found = next;
    }
    let found = in_order(&found).unwrap_or(found);
    if found == *map {
        found
    } else {
        simplify_by(&found, options, meter)
    }
}

/// The map with a range replaced by an expression, and with other values of that range.
fn replace_range(map: &Map, s: u32, by: &Expr, interval: Interval) -> Result<Map> {
    let mut domain = map.domain().clone();
    let flat = domain.n_dims + s as usize;
    domain.vars[flat] = Variable::new(interval);
    map.with_value(domain, range(s), by)
}

pub(crate) const fn range(index: u32) -> Var {
    Var { kind: Kind::Range, index }
}

/// Whether a range is in any expression of a map.
pub(crate) fn uses(map: &Map, s: u32) -> bool {
    map.expressions().any(|e| e.has_var(range(s)))
}

/// Calls `visit` with every node of the expressions of a map.
fn for_each_node(map: &Map, visit: &mut dyn FnMut(&Expr)) {
    fn walk(e: &Expr, visit: &mut dyn FnMut(&Expr)) {
        visit(e);
        e.operands().for_each(|operand| walk(operand, visit));
    }
    map.expressions().filter(|e| e.nodes() <= NODES).for_each(|e| walk(e, visit));
}

/// The range and the factor of each term of a sum that is a multiple of a range.
pub(crate) fn range_terms(e: &Expr) -> impl Iterator<Item = (u32, i64)> + '_ {
    e.terms().filter_map(|(k, atom)| match atom {
        Expr::Var(Var { kind: Kind::Range, index }) => Some((*index, k)),
        _ => None,
    })
}

/// `s + r*t` as one range, if nothing else uses `s` or `t` and its values have no gap.
fn join(map: &Map) -> Option<Map> {
    let mut candidates: Vec<(u32, u32, i64)> = Vec::new();
    let mut n_uses = vec![0; map.domain().n_ranges];
    for_each_node(map, &mut |e| {
        if let Expr::Var(Var { kind: Kind::Range, index }) = e {
            n_uses[*index as usize] += 1;
        }
        for (s, k) in range_terms(e) {
            let multiples = range_terms(e).filter(|(t, big)| *t != s && big.checked_rem(k) == Some(0));
            candidates.extend(multiples.map(|(t, big)| (s, t, big / k)));
        }
    });
    candidates.sort_unstable();
    // The two stand nowhere else if they stand together as often as each of them stands anywhere.
    let together = candidates.chunk_by(|a, b| a == b).map(|same| (same[0], same.len()));
    let alone = together.filter(|((s, t, _), n)| n_uses[*s as usize] == *n && n_uses[*t as usize] == *n);
    alone.map(|(candidate, _)| candidate).find_map(|(s, t, r)| {
        let [of_s, of_t] = [s, t].map(|i| map.domain().ranges()[i as usize].interval);
        if u128::from(r.unsigned_abs()) > of_s.size() {
            return None;
        }
        let all = WideInterval::from(of_s).plus(WideInterval::from(of_t).scale(r)).interval()?;
        let by = Expr::range(s).sub(&Expr::range(t).scale(r).ok()?).ok()?;
        // The domain may bound `s` and `t` apart from each other: only their box counts here, as no expression is left of `t`.
        let joined = replace_range(map, s, &by, all).ok()?;
        (!uses(&joined, t)).then_some(joined)
    })
}

/// `s = n*q + r` with independent digits `q` and `r`, if that leaves fewer quotients.
fn cut(map: &Map, options: Options, meter: &mut Meter) -> Option<Map> {
    let options = Options { keep_point_dims: options.keep_point_dims, ..Options::default() };
    let mut candidates: Vec<(u32, i64, i64)> = Vec::new();
    for_each_node(map, &mut |e| {
        let Some(Op::FloorDiv(a, Expr::Const(n)) | Op::Mod(a, Expr::Const(n))) = e.op() else { return };
        for (s, k) in range_terms(a).filter(|(_, k)| n.checked_rem(*k) == Some(0)) {
            let shift = if a.constant().checked_rem(k) == Some(0) { a.constant() / k } else { 0 };
            candidates.push((s, (n / k).saturating_abs(), shift));
        }
    });
    candidates.sort_unstable();
    candidates.dedup();
    let before = divmods(map);
    candidates.into_iter().find_map(|(s, n, shift)| {
        let own = map.domain().ranges()[s as usize].interval;
        let (first, last) = (own.lo.checked_add(shift)?, own.hi.checked_add(shift)?);
        if n < 2 || first % n != 0 || last.checked_add(1)? % n != 0 || own.size() <= n.unsigned_abs().into() {
            return None;
        }
        let mut domain = map.domain().clone();
        domain.vars[domain.n_dims + s as usize] = Variable::new(Interval::new(0, n - 1));
        let q = domain.push_range(Interval::new(floor_div(first, n), floor_div(last, n)));
        let by = q.scale(n).ok()?.add(&Expr::range(s)).ok()?.sub(&Expr::Const(shift)).ok()?;
        meter.spend(map.n_nodes()).ok()?;
        let cut = simplify_by(&map.with_value(domain, range(s), &by).ok()?, options, meter);
        (divmods(&cut) < before).then_some(cut)
    })
}

fn divmods(map: &Map) -> u64 {
    map.expressions().map(|e| u64::from(e.divmods())).sum()
}

/// Replaces a quotient or remainder by a range, if nothing else uses its variable and its values have no gap.
fn take_values(map: &Map) -> Option<Map> {
    let mut candidates: Vec<(u32, Expr, Interval)> = Vec::new();
    for_each_node(map, &mut |e| {
        candidates.extend(values_of(map.domain(), e).map(|(s, values)| (s, e.clone(), values)))
    });
    candidates.into_iter().find_map(|(s, node, values)| {
        // The replacement is a fresh variable: a constant could make other nodes with the range vanish.
        let other = Expr::range(map.domain().n_ranges as u32);
        let stays = |e: &Expr| replace_node(e, &node, &other).map_or(true, |e| e.has_var(range(s)));
        if map.expressions().any(|e| e.nodes() > NODES || stays(e)) {
            return None;
        }
        let mut domain = map.domain().clone();
        let flat = domain.n_dims + s as usize;
        domain.vars[flat] = Variable::new(values);
        map.rewritten(domain, &|e| replace_node(e, &node, &Expr::range(s))).ok()
    })
}

/// The range in `(k*s + c) floordiv n`, or in `(k*s + x) mod n` for any `x`, and all values, if they have no gap.
fn values_of(domain: &Domain, e: &Expr) -> Option<(u32, Interval)> {
    let (Op::FloorDiv(a, Expr::Const(n)) | Op::Mod(a, Expr::Const(n))) = e.op()? else { return None };
    let values = |s: u32| domain.ranges()[s as usize].interval;
    if matches!(e.op()?, Op::Mod(..)) {
        let has_all = |(s, k): &(u32, i64)| {
            let rest = Expr::range(*s).scale(*k).and_then(|own| a.sub(&own));
            let is_alone = rest.is_ok_and(|rest| !rest.has_var(range(*s)));
            is_alone && gcd(*k, *n) == Some(1) && values(*s).size() >= n.unsigned_abs().into()
        };
        return range_terms(a).find(has_all).map(|(s, _)| (s, Interval::new(0, n - 1)));
    }
    let (k, Expr::Var(Var { kind: Kind::Range, index: s }), c) = a.as_line()? else { return None };
    let own = values(*s);
    let at = |x: i64| i128::from(k) * i128::from(x) + i128::from(c);
    let (a, b) = (at(own.lo), at(own.hi));
    let n = i128::from(*n);
    let values = Interval::exact(a.min(b).div_euclid(n), a.max(b).div_euclid(n))?;
    (i128::from(k).abs() <= n).then_some((*s, values))
}

/// Replaces every node that is equal to the given one.
fn replace_node(e: &Expr, node: &Expr, by: &Expr) -> Result<Expr> {
    if e == node {
        return Ok(by.clone());
    }
    e.with_operands(|operand| replace_node(operand, node, by))
}

/// The constant of a result, and its ranges with their factors, the smallest first.
fn terms_of(e: &Expr) -> (i64, Vec<(u32, i64)>) {
    let mut terms: Vec<(u32, i64)> = range_terms(e).collect();
    terms.sort_by_key(|(s, k)| (k.unsigned_abs(), *s));
    (e.constant(), terms)
}

/// One step towards canonical positions: each range has a positive factor in its first result; the range with the
/// smallest factor absorbs the constant, the others begin at 0.
fn anchor(map: &Map) -> Option<Map> {
    let mut seen = vec![false; map.domain().n_ranges];
    for e in map.results() {
        let (constant, terms) = terms_of(e);
        let mut fresh = terms.iter().filter(|(s, _)| !std::mem::replace(&mut seen[*s as usize], true));
        let finest = fresh.next();
        let step =
            |s: u32, by: Result<Expr>, interval: Option<Interval>| replace_range(map, s, &by.ok()?, interval?).ok();
        for (s, k) in fresh.chain(finest) {
            let own = map.domain().ranges()[*s as usize].interval;
            let moved = if *k < 0 {
                step(*s, Expr::range(*s).scale(-1), own.negated())
            } else {
                let is_finest = finest.is_some_and(|(finest, _)| finest == s);
                let by = if is_finest { floor_div(constant, *k) } else { own.lo.checked_neg()? };
                let substitute = by.checked_neg().ok_or(Error::Overflow("a shift")).map(Expr::Const);
                let substitute = substitute.and_then(|shift| Expr::range(*s).add(&shift));
                (by != 0).then(|| step(*s, substitute, own.plus(by))).flatten()
            };
            if moved.is_some() {
                return moved;
            }
        }
    }
    None
}

/// The ranges renumbered by where they first occur.
fn in_order(map: &Map) -> Option<Map> {
    let domain = map.domain();
    let (first, n_ranges) = (domain.n_dims, domain.n_ranges);
    let mut ranges: Vec<u32> = Vec::new();
    for e in map.results() {
        let (_, mut terms) = terms_of(e);
        let mut others: Vec<u32> = Vec::new();
        e.for_each_var(&mut |v| others.extend((v.kind == Kind::Range).then_some(v.index)));
        others.sort_unstable();
        // Larger strides come first.
        terms.sort_by_key(|(s, k)| (std::cmp::Reverse(k.unsigned_abs()), *s));
        ranges.extend(terms.iter().map(|(s, _)| *s).chain(others));
    }
    ranges.extend(0..n_ranges as u32);
    let mut seen = vec![false; n_ranges];
    ranges.retain(|s| !std::mem::replace(&mut seen[*s as usize], true));
    if ranges.is_sorted() {
        return None;
    }
    let ranges = ranges.into_iter().map(|s| first + s as usize);
    let order: Vec<usize> = (0..first).chain(ranges).chain(first + n_ranges..domain.vars.len()).collect();
    map.reordered(&order, first, n_ranges).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dims_of_one_value_stay_where_they_are_asked_to() {
        let map: Map =
            "(d0, d1)[s0] -> (d0, s0 floordiv 6, s0 mod 6), domain: d0 in [2, 2], d1 in [0, 4], s0 in [0, 11]"
                .parse()
                .unwrap();
        let over = |d0: &str| -> Map {
            format!(
                "(d0, d1)[s0, s1] -> ({d0}, s0, s1), domain: d0 in [2, 2], d1 in [0, 4], s0 in [0, 1], s1 in [0, 5]"
            )
            .parse()
            .unwrap()
        };
        assert_eq!(map.compact_ranges(Options::new().keep_point_dims(true)), over("d0"));
        assert_eq!(compact_ranges(&map), over("2"));
    }

    #[test]
    fn all_steps_share_one_effort() {
        // For each range a step tries to cut it in two digits, in vain.
        let chain = |n: usize| -> Map {
            let list = |of: &dyn Fn(usize) -> String| (0..n).map(of).collect::<Vec<_>>().join(", ");
            let (ranges, intervals) = (list(&|i| format!("s{i}")), list(&|i| format!("s{i} in [0, 9]")));
            let pairs = (1..n).map(|i| format!("(s{} + s{i}) mod 2 in [0, 0]", i - 1)).collect::<Vec<_>>().join(", ");
            format!("()[{ranges}] -> (s0), domain: {intervals}, {pairs}").parse().unwrap()
        };
        let options = Options { drop_unused: true, rescale: true, ..Options::default() };
        let of = |n: usize| {
            let mut meter = Meter::new(EFFORT);
            let map = compact(&chain(n), options, &mut meter);
            (map.domain().n_ranges, meter.left() > 0)
        };
        assert_eq!((of(5), of(500)), ((5, true), (500, false)));
    }

    #[test]
    fn a_remainder_takes_all_values_whatever_stands_beside_the_range() {
        let of = |last: i64| -> Map {
            let domain = format!("d0 in [0, 1], s0 in [0, {last}], rt0 in [0, 5], runtime: rt0 = #1()");
            format!("(d0)[s0]{{rt0}} -> (d0 + ((rt0 - s0) mod 3) * 2), domain: {domain}").parse().unwrap()
        };
        let all: Map = "(d0)[s0] -> (d0 + s0 * 2), domain: d0 in [0, 1], s0 in [0, 2]".parse().unwrap();
        assert_eq!(compact_ranges(&of(2)), all);
        assert_eq!(compact_ranges(&of(3)), all);
        assert!(compact_ranges(&of(1)).domain().n_runtime() == 1);
        let both: Map = "(d0)[s0] -> ((d0 + s0) mod 3, s0), domain: d0 in [0, 1], s0 in [0, 2]".parse().unwrap();
        assert_eq!(compact_ranges(&both), both);
    }
}
