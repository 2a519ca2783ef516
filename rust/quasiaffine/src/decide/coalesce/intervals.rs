//! Joining maps whose intervals adjoin or overlap.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::groups::{joined, Hole};
use super::{is_same, Budget, Coalesced};
use crate::analysis::interval::Interval;
use crate::decide::ranges::compact_ranges;
use crate::map::domain::Domain;
use crate::map::{Map, State};

/// Joins maps whose intervals in one respect overlap or adjoin.
pub(super) fn join_adjoining(mut group: Vec<Coalesced>, hole: Hole) -> Vec<Coalesced> {
    let of = |item: &Coalesced| hole.interval(&item.map).unwrap_or(Interval::EMPTY);
    if group.iter().any(|item| hole.interval(&item.map).is_none()) {
        return group;
    }
    group.sort_by_key(|item| (of(item).lo, item.parts[0]));
    let mut out: Vec<(Interval, Vec<Coalesced>)> = Vec::new();
    for item in group {
        let own = of(&item);
        match out.last_mut() {
            Some((all, run)) if own.lo <= all.hi.saturating_add(1) => {
                all.hi = all.hi.max(own.hi);
                run.push(item);
            }
            _ => out.push((own, vec![item])),
        }
    }
    out.into_iter().flat_map(|(all, run)| joined(run, |first| hole.replaced(first, all))).collect()
}

/// Joins neighbours in one interval whose other intervals follow from it: the hull of both, with the interval of one of
/// them, is that one. Then the hull has no other points.
pub(super) fn join_narrowed(mut group: Vec<Coalesced>, hole: Hole, budget: &mut Budget) -> Vec<Coalesced> {
    let of = |map: &Map| hole.interval(map).unwrap_or(Interval::EMPTY);
    if group.iter().any(|item| of(&item.map).is_empty()) {
        return group;
    }
    group.sort_by_key(|item| (of(&item.map).lo, item.parts[0]));
    let mut out: Vec<Coalesced> = Vec::new();
    for item in group {
        let joined = out.last().and_then(|last| {
            let (a, b) = (of(&last.map), of(&item.map));
            // A joined map may not have the constraint any more, since it always holds.
            let is_next = !a.is_empty() && b.lo <= a.hi.saturating_add(1);
            let left = budget.hulls.checked_sub(1).filter(|_| is_next)?;
            budget.hulls = left;
            let hull = hull(&last.map, &item.map);
            let results = || last.map.results().iter().cloned();
            let is_part = |map: &Map| {
                let part = hole.replaced_in(hull.clone(), results(), of(map)).map(|part| compact_ranges(&part));
                part.is_ok_and(|part| part == *map)
            };
            (is_part(&last.map) && is_part(&item.map)).then(|| Map::new(hull.clone(), results()).ok())?
        });
        match (joined, out.last_mut()) {
            (Some(map), Some(last)) => {
                last.map = compact_ranges(&map);
                last.absorb(item.parts);
            }
            _ => out.push(item),
        }
    }
    out
}

/// The domain with intervals that hold those of both; not normalized, so that each constraint keeps its number.
fn hull(a: &Map, b: &Map) -> Domain {
    let of = |x: Interval, y: Interval| Interval::new(x.lo.min(y.lo), x.hi.max(y.hi));
    let mut domain = a.domain().clone();
    for (v, other) in domain.vars.iter_mut().zip(&b.domain().vars) {
        v.interval = of(v.interval, other.interval);
    }
    for (c, other) in domain.constraints.iter_mut().zip(&b.domain().constraints) {
        c.interval = of(c.interval, other.interval);
    }
    domain
}

/// How many neighbours of a map are tried.
const MAX_NEIGHBOURS: usize = 8;

/// Joins neighbours along a dim of which one, extended to the other's interval, is the other.
pub(super) fn join_extensions(mut group: Vec<Coalesced>, dim: usize, budget: &mut Budget) -> Vec<Coalesced> {
    let of = |map: &Map| map.domain().vars[dim].interval;
    group.sort_by_key(|item| (of(&item.map).lo, item.parts[0]));
    let mut out: Vec<Coalesced> = Vec::new();
    let mut ending: FxHashMap<i64, SmallVec<[usize; 2]>> = FxHashMap::default();
    for item in group {
        let own = of(&item.map);
        let before = own.lo.checked_sub(1).and_then(|end| ending.get(&end)).cloned().unwrap_or_default();
        let mut neighbours = before.iter().rev().take(MAX_NEIGHBOURS);
        let joined = neighbours.find_map(|at| Some((*at, extended(&out[*at].map, &item.map, dim, budget)?)));
        let at = match joined {
            Some((at, map)) => {
                ending.entry(own.lo - 1).or_default().retain(|other| *other != at);
                out[at].map = map;
                out[at].absorb(item.parts);
                at
            }
            None => {
                out.push(item);
                out.len() - 1
            }
        };
        ending.entry(of(&out[at].map).hi).or_default().push(at);
    }
    out
}

/// One of two neighbours along a dim over the box of both, where it is the other one there.
fn extended(a: &Map, b: &Map, dim: usize, budget: &mut Budget) -> Option<Map> {
    let of = |map: &Map| map.domain().vars[dim].interval;
    let (hole, all) = (Hole::Variable(dim), Interval::new(of(a).lo, of(b).hi));
    [(a, b), (b, a)].into_iter().find_map(|(own, other)| {
        let on_other = hole.replaced(own, of(other)).ok()?;
        let both = is_same(&on_other, other, budget).then(|| hole.replaced(own, all).ok()).flatten()?;
        Some(compact_ranges(&both)).filter(|map| map.state() == State::Defined)
    })
}
